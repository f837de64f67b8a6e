"""How good models are on graphs inside, at the edge of and outside their domain, on scaffold splits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
import pandas as pd

from gdlnn import GDLNNClassifier, GraphDataset, load_smiles
from gdlnn.model.domain import DomainName
from gdlnn.model.scores import classification_scores
from repro import options as opt
from repro.cells import Study, by_dataset, run_seeds
from repro.tables import frame_markdown, write_results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repro.cells import Result, RunConfig, Task

TABLES = {"BBBP": ("BBBP/BBBP.csv", "p_np"), "BACE": ("BACE/bace.csv", "Class")}
"""Files in the folder of the datasets, and their columns of labels."""
SCORES = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "roc_auc": "ROC-AUC"}


def load_table(name: str, folder: str | None) -> GraphDataset:
    """Read a table of molecules from a folder, by default that of GDLNN_DATA."""
    file, label = TABLES[name]
    return load_smiles(Path(folder or os.environ["GDLNN_DATA"]) / file, label=label)


def domain(
    datasets: opt.Datasets = "BBBP,BACE",
    runs: opt.Runs = 5,
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = None,
    data: opt.Data = None,
) -> None:
    """Measure how good predictions are by domain, on scaffold splits of tables of molecules.

    Example: python -m repro domain --datasets BACE --runs 2
    """
    names = opt.read_names("--datasets", datasets, list(TABLES))
    with Study("domain", opt.run_config(out, data, "cpu", jobs), opt.report) as study:
        cells = run_seeds(study, names, range(runs), compute_domains)
    rows = [
        {"dataset": name, **row} for name, several in by_dataset(cells).items() for row in by_domain(several)
    ]
    table = pd.DataFrame(rows)
    opt.finish(write_results(out, "domain", cells, frame_markdown(table), table), out, cells)


def compute_domains(task: Task, config: RunConfig) -> Result:
    """Fit a model on one split and predict its test set."""
    train, val, test = load_table(task.dataset, config.data).split("scaffold", task.seed)
    model = GDLNNClassifier(random_state=task.seed, n_jobs=1, verbose=False).fit(train, validation=val)
    found = model.represent(test)
    return {
        "classes": model.classes_.tolist(),
        "truth": np.asarray(test.y).tolist(),
        "chances": np.asarray(found.probabilities).tolist(),
        "labels": np.asarray(found.labels).tolist(),
        "domains": [str(where.domain) for where in found.domains],
    }


def by_domain(runs: Sequence[Result]) -> list[dict[str, str]]:
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
        values = {title: scores[key] for key, title in SCORES.items()}
        values["majority class"] = max(float((y[own] == label).mean()) for label in classes)
        shown = {title: "–" if value is None else f"{value:.3f}" for title, value in values.items()}
        rows.append({"domain": part, "test graphs": str(own.sum()), **shown})
    return rows
