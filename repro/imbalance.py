"""Probabilities and rare classes on tables of molecules, compared with ECFP4 and a forest, over splits.

"rare" is made from BBBP: all molecules of class 1, and as many of class 0 as make 7%. There the forest
balances its classes, and GDLNN is also trained with balanced class weights. Stratified splits with seeds from
11. The calibration error has ten bins of equal mass, over the test sets of all splits together.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn import GDLNNClassifier, GraphDataset
from gdlnn.model.scores import classification_scores
from repro import options as opt
from repro.baselines.base import FingerprintForestClassifier
from repro.cells import Study, run_seeds
from repro.domain import load_table
from repro.inputs import FIRST_SPLIT
from repro.metrics import log_loss
from repro.paired import write_paired

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repro.cells import Result, RunConfig, Task

SHARE = 0.07
N_BINS = 10
SCORES = ("ROC-AUC", "PR-AUC", "log loss", "balanced accuracy", "recall")


def imbalance(
    datasets: opt.Datasets = "BBBP,BACE,rare",
    runs: opt.Runs = 10,
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = None,
    data: opt.Data = None,
) -> None:
    """Compare probabilities and the recall of rare classes with ECFP4 and a forest.

    Example: python -m repro imbalance --datasets rare --runs 2
    """
    names = opt.read_names("--datasets", datasets, ["BBBP", "BACE", "rare"])
    with Study("imbalance", opt.run_config(out, data, "cpu", jobs), opt.report) as study:
        cells = run_seeds(study, names, range(FIRST_SPLIT, FIRST_SPLIT + runs), compute_methods)
    opt.finish(write_paired(out, "imbalance", cells, SCORES, calibration), out, cells)


def compute_methods(task: Task, config: RunConfig) -> Result:
    """Fit every method on one split and score it on the test set."""
    name, seed = task.dataset, task.seed
    table = load_table("BBBP" if name == "rare" else name, config.data)
    train, val, test = (with_rare_class(table, seed) if name == "rare" else table).split("stratified", seed)
    options: dict[str, Any] = {"random_state": seed, "n_jobs": 1, "verbose": False}
    methods: dict[str, Any] = {"GDLNN": GDLNNClassifier(**options)}
    if name == "rare":
        chosen = GDLNNClassifier(threshold="balanced-accuracy", **options)
        methods["GDLNN, threshold by balanced accuracy"] = chosen
        methods["GDLNN, balanced weights"] = GDLNNClassifier(class_weight="balanced", **options)
    weight = "balanced" if name == "rare" else None
    methods["ECFP4 + forest"] = FingerprintForestClassifier(class_weight=weight, random_state=seed)
    found = {title: scored(model.fit(train, validation=val), test) for title, model in methods.items()}
    kept = ("scores", "chances", "is_rare")
    return {key: {title: one[key] for title, one in found.items()} for key in kept}


def with_rare_class(data: GraphDataset, seed: int) -> GraphDataset:
    """Keep class 1, and as much of class 0 as makes 7%."""
    y, rng = np.asarray(data.y), np.random.default_rng(seed)
    common = np.flatnonzero(y == 1)
    rare = rng.permutation(np.flatnonzero(y == 0))[: round(len(common) * SHARE / (1 - SHARE))]
    return data.take(np.sort(np.concatenate([common, rare])))


def scored(model: Any, test: GraphDataset) -> dict[str, list[float]]:
    """Return "scores", the "chances" of the rarer class, and "is_rare" of a model on a test set."""
    from sklearn.metrics import average_precision_score

    y, proba = np.asarray(test.y), np.asarray(model.predict_proba(test))
    predicted = np.asarray(model.predict(test))
    rare = int(np.argmin([(y == label).sum() for label in model.classes_]))
    own = y == model.classes_[rare]
    found = classification_scores(y, proba, model.classes_, predicted)
    area = float(average_precision_score(own, proba[:, rare]))
    loss = log_loss(y, proba, model.classes_)
    recall = float((predicted[own] == y[own]).mean())
    values = [found["roc_auc"], area, loss, found["balanced_accuracy"], recall]
    scores = [float(value or 0.0) for value in values]
    return {"scores": scores, "chances": proba[:, rare].tolist(), "is_rare": own.tolist()}


def calibration(cells: Sequence[Result]) -> str:
    """Return a line with the calibration error of each method over the test sets of all splits."""
    errors = []
    for title in cells[0]["scores"]:
        chances, own = (
            np.concatenate([cell[key][title] for cell in cells]) for key in ("chances", "is_rare")
        )
        errors.append(f"{title} {calibration_error(chances, own):.3f}")
    return f"Calibration error: {'; '.join(errors)}."


def calibration_error(chances: npt.NDArray[np.float64], own: npt.NDArray[np.bool_]) -> float:
    """Return the mean gap between probability and frequency, over bins of equal mass."""
    bins = np.array_split(np.argsort(chances, kind="stable"), min(N_BINS, len(chances)))
    gaps = (len(rows) * abs(chances[rows].mean() - own[rows].mean()) for rows in bins)
    return float(sum(gaps) / len(chances))
