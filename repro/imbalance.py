"""Probabilities and rare classes on tables of molecules, compared with ECFP4 and a forest, over splits.

"rare" is made from BBBP: all molecules of class 1, and as many of class 0 as make 7 %. There the forest
balances its classes, and GDLNN is also trained with balanced class weights. Stratified splits with seeds from
11. The calibration error has ten bins of equal mass, over the test sets of all splits together.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from gdlnn import GDLNNClassifier, GraphDataset
from gdlnn.model.scores import classification_scores
from repro.baselines.base import FingerprintForestClassifier
from repro.domain import load_table
from repro.inputs import FIRST_SPLIT
from repro.metrics import log_loss
from repro.paired import paired_table
from repro.rows import OUT, measure_all

SHARE = 0.07
N_BINS = 10
SCORES = ("ROC-AUC", "PR-AUC", "log loss", "balanced accuracy", "recall")


Found = dict[str, list[float]]
"""What a method reached on a test set: "scores", the "chances" of the rarer class, and "is_rare"."""


def imbalance(
    tables: Annotated[str, typer.Option(help="Some of BBBP,BACE,rare.")] = "BBBP,BACE,rare",
    splits: Annotated[int, typer.Option(min=1, help="Number of stratified splits.")] = 10,
    jobs: Annotated[int, typer.Option(help="Number of processes.")] = 1,
    out: Annotated[Path, typer.Option(help=OUT)] = Path("build/results/imbalance.jsonl"),
) -> None:
    """Compare probabilities and the recall of rare classes with ECFP4 and a forest."""
    for name in tables.split(","):
        settings = [{"name": name, "seed": seed} for seed in range(FIRST_SPLIT, FIRST_SPLIT + splits)]
        found = measure_all(measured, settings, out, jobs)
        first, *others = found[0]
        scores = [{title: one["scores"] for title, one in split.items()} for split in found]
        table = paired_table(SCORES, scores, [(first, other) for other in others])
        typer.echo(f"{name}, {splits} splits\n\n{table}\n")
        for title in found[0]:
            chances, own = (
                np.concatenate([split[title][key] for split in found]) for key in ("chances", "is_rare")
            )
            typer.echo(f"Calibration error of {title}: {calibration_error(chances, own):.3f}")


def measured(name: str, seed: int) -> dict[str, Found]:
    """Fit every method on one split and score it on the test set."""
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    data = with_rare_class(load_table("BBBP"), seed) if name == "rare" else load_table(name)
    train, val, test = data.split("stratified", seed)
    methods: dict[str, Any] = {"GDLNN": GDLNNClassifier(random_state=seed, verbose=False)}
    if name == "rare":
        weighted = GDLNNClassifier(class_weight="balanced", random_state=seed, verbose=False)
        chosen = GDLNNClassifier(threshold="balanced-accuracy", random_state=seed, verbose=False)
        methods["GDLNN, threshold by balanced accuracy"] = chosen
        methods["GDLNN, balanced weights"] = weighted
    weight = "balanced" if name == "rare" else None
    methods["ECFP4 + forest"] = FingerprintForestClassifier(class_weight=weight, random_state=seed)
    return {title: scored(model.fit(train, validation=val), test) for title, model in methods.items()}


def with_rare_class(data: GraphDataset, seed: int) -> GraphDataset:
    """Keep class 1, and as much of class 0 as makes 7 %."""
    y, rng = np.asarray(data.y), np.random.default_rng(seed)
    common = np.flatnonzero(y == 1)
    rare = rng.permutation(np.flatnonzero(y == 0))[: round(len(common) * SHARE / (1 - SHARE))]
    return data.take(np.sort(np.concatenate([common, rare])))


def scored(model: Any, test: GraphDataset) -> Found:
    """Return the scores of a model, and its probabilities of the rarer class."""
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


def calibration_error(chances: npt.NDArray[np.float64], own: npt.NDArray[np.bool_]) -> float:
    """Return the mean gap between probability and frequency, over bins of equal mass."""
    bins = np.array_split(np.argsort(chances, kind="stable"), N_BINS)
    gaps = (len(rows) * abs(chances[rows].mean() - own[rows].mean()) for rows in bins)
    return float(sum(gaps) / len(chances))
