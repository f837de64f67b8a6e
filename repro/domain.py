"""How good models are on graphs inside, at the edge of and outside their domain, on scaffold splits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import numpy as np
import typer

from repro.rows import OUT, measure_all
from repro.tables import markdown, replace_part

if TYPE_CHECKING:
    from collections.abc import Sequence

from gdlnn import GDLNNClassifier, GraphDataset, load_smiles
from gdlnn.model.domain import DomainName
from gdlnn.model.scores import classification_scores

TABLES = {"BBBP": ("BBBP/BBBP.csv", "p_np"), "BACE": ("BACE/bace.csv", "Class")}
"""Files in the folder of GDLNN_DATA, and their columns of labels."""
HEADER = ("dataset", "domain", "test graphs", "accuracy", "balanced accuracy", "ROC-AUC", "majority class")


def load_table(name: str) -> GraphDataset:
    """Read a table of molecules."""
    file, label = TABLES[name]
    return load_smiles(Path(os.environ["GDLNN_DATA"]) / file, label=label)


def domain(
    tables: Annotated[str, typer.Option(help="Tables of molecules, separated by commas.")] = "BBBP,BACE",
    seeds: Annotated[int, typer.Option(min=1, help="Number of scaffold splits.")] = 5,
    jobs: Annotated[int, typer.Option(help="Number of processes.")] = 1,
    out: Annotated[Path, typer.Option(help=OUT)] = Path("build/results/domain.jsonl"),
    document: Annotated[
        Path | None, typer.Option(help="A Markdown file in which to update the table.")
    ] = None,
) -> None:
    """Measure how good predictions are by domain."""
    rows = []
    for name in tables.split(","):
        settings = [{"name": name, "seed": seed} for seed in range(seeds)]
        rows += [[name, *row] for row in by_domain(measure_all(predicted, settings, out, jobs))]
    table = markdown(HEADER, rows)
    typer.echo(table)
    if document is not None:
        replace_part(document, "domain", table)


def predicted(name: str, seed: int) -> dict[str, list[Any]]:
    """Fit a model on one split and predict its test set."""
    train, val, test = load_table(name).split("scaffold", seed)
    model = GDLNNClassifier(random_state=seed, verbose=False).fit(train, validation=val)
    found = model.represent(test)
    return {
        "classes": model.classes_.tolist(),
        "truth": np.asarray(test.y).tolist(),
        "chances": np.asarray(found.probabilities).tolist(),
        "labels": np.asarray(found.labels).tolist(),
        "domains": [str(where.domain) for where in found.domains],
    }


def by_domain(runs: Sequence[dict[str, list[Any]]]) -> list[list[str]]:
    """Return a row for each domain, the test graphs of all splits taken together."""
    classes = np.array(runs[0]["classes"])
    y, chances, labels, domains = (
        np.concatenate([run[key] for run in runs]) for key in ("truth", "chances", "labels", "domains")
    )
    rows = []
    for part in ("all", *get_args(DomainName)):
        own = np.full(len(y), True) if part == "all" else domains == part
        if not own.any():
            continue
        scores = classification_scores(y[own], chances[own], classes, labels[own])
        values = [scores[key] for key in ("accuracy", "balanced_accuracy", "roc_auc")]
        values.append(max(float((y[own] == label).mean()) for label in classes))
        rows.append([part, str(own.sum()), *("–" if v is None else f"{v:.3f}" for v in values)])
    return rows
