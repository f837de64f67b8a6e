"""The effect of mined programs, honest columns and calibration on a model, paired over splits.

::

    python -m benchmarks vocabulary [--datasets MUTAG PTC_MR …] [--splits 4] [-j 1]

Random splits with seeds from 301, which no reported figure uses. "both": neighbourhoods and programs mined in
bags. "masked": while the head is trained, a mined program is absent from the rows of its own bag and counts
for more in the others, so that no column has seen the label of its row.
"""

from __future__ import annotations

import argparse
import logging
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.stability import DATASETS, loaded
from gdlnn import GDLNNClassifier, Mined, MLPHead, Neighbourhoods
from gdlnn.graphs.structure import fill_structure
from gdlnn.mining.bags import bag_rows, n_bags
from gdlnn.model.inputs import MIN_VALIDATION
from gdlnn.model.vocabulary import GENERAL_EPSILONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn import GraphDataset

FIRST_SEED = 301
SCORES = ("accuracy", "ROC-AUC", "log loss")
PAIRS = (
    ("both, calibrated", "neighbourhoods, calibrated"),
    ("masked", "both"),
    ("both, calibrated", "both"),
)


def run(words: Sequence[str] = ("--datasets", "MUTAG", "--splits", "2")) -> None:
    """Measure, and print means and paired differences with 95 % intervals."""
    parser = argparse.ArgumentParser("python -m benchmarks vocabulary")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args(list(words))
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("vocabulary: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    seeds = range(FIRST_SEED, FIRST_SEED + options.splits)
    tasks = [(name, seed, root) for name in options.datasets for seed in seeds]
    with ProcessPoolExecutor(options.jobs) as pool:
        found = list(pool.map(measured, *zip(*tasks, strict=True)))
    for start in range(0, len(found), options.splits):
        _print(tasks[start][0], found[start : start + options.splits])


def measured(name: str, seed: int, root: str) -> dict[str, list[float]]:
    """Return the scores of every variant on the test set of one split."""
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    train, val, test = loaded(name, root).split("random", seed)
    mined = Mined(GENERAL_EPSILONS, bags="auto")
    results: dict[str, list[float]] = {}
    sources: dict[str, list[Neighbourhoods | Mined]] = {
        "neighbourhoods": [Neighbourhoods()],
        "both": [Neighbourhoods(), mined],
    }
    for title, source in sources.items():
        model = GDLNNClassifier(source, MLPHead(device="cpu"), decide=0.5, progress=False)
        model.fit(train, validation=val)
        features = model.transform(test)
        said = np.asarray(model.head_.predict_proba(features))
        results[title] = scores(said, test, model.classes_)
        results[f"{title}, calibrated"] = scores(model.calibration_.apply(said), test, model.classes_)
    head = MLPHead(device="cpu", seed=0)
    codes = np.searchsorted(model.classes_, np.asarray(train.y))
    held_out = None
    if len(val) >= MIN_VALIDATION:
        held_out = model.transform(val), np.searchsorted(model.classes_, np.asarray(val.y))
    head.fit(masked(model, train), codes, validation=held_out)
    results["masked"] = scores(head.predict_proba(features), test, model.classes_)
    return results


def masked(model: GDLNNClassifier, train: GraphDataset) -> Any:
    """Return the training features with every mined program absent from the rows of its own bags."""
    graphs = fill_structure(train.graphs, model.schema_)
    table = model.layer_.with_pooled(graphs, model.programs_.supports.astype(np.float64))
    bag = np.empty(len(train), dtype=np.int64)
    for number, rows in enumerate(bag_rows(train, n_bags("auto", len(train)), model.seed)):
        bag[rows] = number
    for column, item in enumerate(model.programs_):
        if item.held_out_score is None:
            continue
        own = np.isin(bag, np.unique(bag[item.targets]))
        table[own, column] = 0
        if not own.all():
            table[:, column] /= 1 - own.mean()
    return table


def scores(said: Any, test: GraphDataset, classes: Any) -> list[float]:
    """Return accuracy, ROC-AUC of the second of two classes, and log loss."""
    from sklearn.metrics import roc_auc_score

    codes = np.searchsorted(classes, np.asarray(test.y))
    area = float(roc_auc_score(codes, said[:, 1])) if len(classes) == 2 else float("nan")
    loss = float(-np.log(np.clip(said[np.arange(len(codes)), codes], 1e-9, 1)).mean())
    return [float((said.argmax(axis=1) == codes).mean()), area, loss]


def _print(name: str, splits: Sequence[dict[str, list[float]]]) -> None:
    from scipy.stats import t

    print(f"{name}, {len(splits)} splits: {', '.join(SCORES)}")
    for title in splits[0]:
        means = np.mean([split[title] for split in splits], axis=0)
        print(f"  {title:28}" + "".join(f"{value:9.3f}" for value in means))
    width = t.ppf(0.975, max(1, len(splits) - 1)) / np.sqrt(len(splits))
    for first, second in PAIRS:
        change = np.array([np.subtract(split[first], split[second]) for split in splits])
        spread = change.std(axis=0, ddof=1) if len(change) > 1 else np.full(3, np.nan)
        told = (f"{m:+.3f} ± {width * s:.3f}" for m, s in zip(change.mean(axis=0), spread, strict=True))
        print(f"  {first} less {second}: {', '.join(told)}")
