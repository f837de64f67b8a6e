"""Other heads and other inputs on the programs of the default model, paired over splits.

All variants of a split share the programs. "counts": how often a program matches, not whether.
Splits have seeds from 301, which no reported figure uses: defaults may be chosen on them.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gdlnn import GDLNNClassifier, load_dataset
from gdlnn.model.scores import classification_scores
from repro.metrics import log_loss
from repro.paired import DATASETS, paired_table
from repro.rows import OUT, measure_all

FIRST_SEED = 301
SCORES = ("accuracy", "ROC-AUC", "log loss")
DEFAULT = "default"
VARIANTS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "without pooled features": {"pooled": False},
    "counts": {"activation": "count"},
    "perceptrons": {"head": "mlp"},
    "forest": {"head": "forest"},
    "linear": {"head": "linear"},
}


def heads(
    datasets: Annotated[str, typer.Option(help="Datasets, separated by commas.")] = DATASETS,
    splits: Annotated[int, typer.Option(min=1, help="Number of random splits.")] = 4,
    jobs: Annotated[int, typer.Option(help="Number of processes.")] = 1,
    out: Annotated[Path, typer.Option(help=OUT)] = Path("build/results/heads.jsonl"),
) -> None:
    """Compare heads and inputs on the programs of the default model."""
    for name in datasets.split(","):
        settings = [{"name": name, "seed": seed} for seed in range(FIRST_SEED, FIRST_SEED + splits)]
        found = measure_all(measured, settings, out, jobs)
        pairs = [(title, DEFAULT) for title in found[0] if title != DEFAULT]
        typer.echo(f"{name}, {splits} splits\n\n{paired_table(SCORES, found, pairs)}\n")


def measured(name: str, seed: int) -> dict[str, list[float]]:
    """Return the scores of every variant on the test set of one split."""
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    train, val, test = load_dataset(name, download=False).split("random", seed)
    chances: dict[str, Any] = {}
    programs = None
    for title, changes in VARIANTS.items():
        model = GDLNNClassifier(verbose=False, **changes)
        model.fit(train, validation=val, programs=programs)
        programs = model.programs_ if programs is None else programs
        chances[title] = np.asarray(model.predict_proba(test))
    return {title: _scores(found, np.asarray(test.y), model.classes_) for title, found in chances.items()}


def _scores(proba: Any, y: Any, classes: Any) -> list[float]:
    found = classification_scores(y, proba, classes, classes[proba.argmax(axis=1)])
    values = [found["accuracy"], found["roc_auc"], log_loss(y, proba, classes)]
    return [float("nan") if value is None else value for value in values]
