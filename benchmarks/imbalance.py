"""Probabilities and rare classes on tables of molecules, compared with ECFP4 and a forest, over splits.

::

    python -m benchmarks imbalance [--tables BBBP BACE rare] [--splits 10] [-j 1]

"rare" is made from BBBP: all molecules of class 1, and as many of class 0 as make 7 %. There the forest
balances its classes, and GDLNN is also trained with balanced class weights. Stratified splits with seeds from
11. The calibration error has ten bins of equal mass, over the test sets of all splits together.
"""

from __future__ import annotations

import argparse
import logging
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.domain import DATA
from gdlnn import GDLNNClassifier, GraphDataset, load_smiles
from gdlnn.model.metrics import classification_scores, log_loss
from repro.baselines import FingerprintForestClassifier
from repro.inputs import FIRST_SPLIT
from repro.statistics import t_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

SHARE = 0.07
N_BINS = 10
SCORES = ("ROC-AUC", "PR-AUC", "log loss", "balanced accuracy", "recall")
Found = tuple[list[float], "npt.NDArray[np.float64]", "npt.NDArray[np.bool_]"]
"""Scores, the probability of the rarer class for each test graph, and which test graphs are of it."""


def run(words: Sequence[str] = ("--tables", "rare", "--splits", "2")) -> None:
    """Measure and print a table for each dataset."""
    parser = argparse.ArgumentParser("python -m benchmarks imbalance")
    parser.add_argument(
        "--tables", nargs="+", choices=("BBBP", "BACE", "rare"), default=["BBBP", "BACE", "rare"]
    )
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args(list(words))
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("imbalance: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    seeds = range(FIRST_SPLIT, FIRST_SPLIT + options.splits)
    with ProcessPoolExecutor(options.jobs) as pool:
        for name in options.tables:
            print_table(name, list(pool.map(measured, [name] * len(seeds), seeds, [root] * len(seeds))))


def measured(name: str, seed: int, root: str) -> dict[str, Found]:
    """Fit every method on one split and score it on the test set."""
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    file, label = DATA["BBBP" if name == "rare" else name]
    data = load_smiles(Path(root) / file, label=label)
    data = with_rare_class(data, seed) if name == "rare" else data
    train, val, test = data.split("stratified", seed)
    methods: dict[str, Any] = {"GDLNN": GDLNNClassifier(seed=seed, progress=False)}
    if name == "rare":
        weighted = GDLNNClassifier(class_weight="balanced", decide=0.5, seed=seed, progress=False)
        methods["GDLNN, decided at 0.5"] = GDLNNClassifier(decide=0.5, seed=seed, progress=False)
        methods["GDLNN, balanced weights, 0.5"] = weighted
    weight = "balanced" if name == "rare" else None
    methods["ECFP4 + forest"] = FingerprintForestClassifier(class_weight=weight, seed=seed)
    return {title: scored(model.fit(train, validation=val), test) for title, model in methods.items()}


def with_rare_class(data: GraphDataset, seed: int) -> GraphDataset:
    """Keep class 1, and as much of class 0 as makes 7 %."""
    y, rng = np.asarray(data.y), np.random.default_rng(seed)
    common = np.flatnonzero(y == 1)
    rare = rng.permutation(np.flatnonzero(y == 0))[: round(len(common) * SHARE / (1 - SHARE))]
    return data.take(np.sort(np.concatenate([common, rare])))


def scored(model: Any, test: GraphDataset) -> Found:
    """Return the scores of a model, and what it says of the rarer class."""
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
    return [float(value or 0.0) for value in values], proba[:, rare], own


def calibration_error(said: npt.NDArray[np.float64], own: npt.NDArray[np.bool_]) -> float:
    """Return the mean gap between probability and frequency, over bins of equal mass."""
    bins = np.array_split(np.argsort(said, kind="stable"), N_BINS)
    return float(sum(len(rows) * abs(said[rows].mean() - own[rows].mean()) for rows in bins) / len(said))


def print_table(name: str, splits: Sequence[dict[str, Found]]) -> None:
    """Print means over the splits, and the first method less each other with 95 % intervals."""
    print(f"\n{name}, {len(splits)} splits\n\n| | {' | '.join(SCORES)} | calibration error |\n|{'---|' * 7}")
    first = next(iter(splits[0]))
    for title in splits[0]:
        values = np.array([split[title][0] for split in splits])
        said, own = (np.concatenate([split[title][place] for split in splits]) for place in (1, 2))
        shown = [f"{mean:.3f}" for mean in values.mean(axis=0)]
        print(f"| {title} | {' | '.join(shown)} | {calibration_error(said, own):.3f} |")
    for title in list(splits[0])[1:]:
        gaps = np.array([np.subtract(split[first][0], split[title][0]) for split in splits])
        shown = [f"{column.mean():+.3f} ± {t_interval(column.tolist()) or 0:.3f}" for column in gaps.T]
        print(f"| {first} less {title} | {' | '.join(shown)} | |")
