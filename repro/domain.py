"""How good models are on graphs inside, at the edge of and outside their domain, on scaffold splits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, get_args

import numpy as np
import typer
from repro.tables import markdown, replace_part

from gdlnn import GDLNNClassifier, GraphDataset, load_smiles
from gdlnn.model.domain import DomainName
from gdlnn.model.metrics import classification_scores

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
    document: Annotated[
        Path | None, typer.Option(help="A Markdown file in which to update the table.")
    ] = None,
) -> None:
    """Measure how good predictions are by domain."""
    rows = [row for name in tables.split(",") for row in measured(name, load_table(name), seeds)]
    table = markdown(HEADER, rows)
    typer.echo(table)
    if document is not None:
        replace_part(document, "domain", table)


def measured(name: str, data: GraphDataset, n_seeds: int) -> list[list[str]]:
    """Return a row for each domain, the test graphs of all splits taken together."""
    truths, chances, labels, domains = [], [], [], []
    for seed in range(n_seeds):
        train, val, test = data.split("scaffold", seed)
        model = GDLNNClassifier(seed=seed, n_jobs=-1, progress=False).fit(train, validation=val)
        found = model.represent(test)
        truths.append(np.asarray(test.y))
        chances.append(found.probabilities)
        labels.append(found.labels)
        domains += [str(where.domain) for where in found.domains]
    y, proba, predicted = np.concatenate(truths), np.concatenate(chances), np.concatenate(labels)
    rows = []
    for part in ("all", *get_args(DomainName)):
        own = np.array([part in ("all", where) for where in domains])
        if not own.any():
            continue
        scores = classification_scores(y[own], proba[own], model.classes_, predicted[own])
        values = [scores[key] for key in ("accuracy", "balanced_accuracy", "roc_auc")]
        values.append(max(float((y[own] == label).mean()) for label in model.classes_))
        shown = ["–" if value is None else f"{value:.3f}" for value in values]
        rows.append([name, part, str(own.sum()), *shown])
    return rows
