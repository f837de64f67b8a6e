"""Variants of a model on the same random splits, and their paired differences.

Splits have seeds from 301, which no reported figure uses: defaults may be chosen on them.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.stability import DATASETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gdlnn import GraphDataset

FIRST_SEED = 301
SCORES = ("accuracy", "ROC-AUC", "log loss")
Scores = dict[str, list[float]]
"""The scores of every variant on one split."""


def compare(
    title: str,
    words: Sequence[str],
    measured: Callable[[str, int, str], Scores],
    pairs: Callable[[Scores], Iterable[tuple[str, str]]],
) -> None:
    """Measure the variants on every split; print means and paired differences with 95 % intervals.

    Parameters
    ----------
    title
        The name of the benchmark.
    words
        Its command line.
    measured
        Gives the scores of a dataset, a seed and the folder of the datasets.
    pairs
        Gives the variants whose difference is shown.
    """
    parser = argparse.ArgumentParser(f"python -m benchmarks {title}")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args(list(words))
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print(f"{title}: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    seeds = range(FIRST_SEED, FIRST_SEED + options.splits)
    with ProcessPoolExecutor(options.jobs) as pool:
        waiting = {
            name: [pool.submit(measured, name, seed, root) for seed in seeds] for name in options.datasets
        }
        for name, tasks in waiting.items():
            _print(name, [task.result() for task in tasks], pairs)


def scores(said: Any, test: GraphDataset, classes: Any) -> list[float]:
    """Return accuracy, ROC-AUC of the second of two classes, and log loss."""
    from sklearn.metrics import roc_auc_score

    codes = np.searchsorted(classes, np.asarray(test.y))
    area = float(roc_auc_score(codes, said[:, 1])) if len(classes) == 2 else float("nan")
    loss = float(-np.log(np.clip(said[np.arange(len(codes)), codes], 1e-9, 1)).mean())
    return [float((said.argmax(axis=1) == codes).mean()), area, loss]


def _print(name: str, splits: Sequence[Scores], pairs: Callable[[Scores], Iterable[tuple[str, str]]]) -> None:
    from scipy.stats import t

    print(f"{name}, {len(splits)} splits: {', '.join(SCORES)}")
    for title in splits[0]:
        means = np.mean([split[title] for split in splits], axis=0)
        print(f"  {title:28}" + "".join(f"{value:9.3f}" for value in means))
    width = t.ppf(0.975, max(1, len(splits) - 1)) / np.sqrt(len(splits))
    for first, second in pairs(splits[0]):
        change = np.array([np.subtract(split[first], split[second]) for split in splits])
        spread = change.std(axis=0, ddof=1) if len(change) > 1 else np.full(3, np.nan)
        told = (f"{m:+.3f} ± {width * s:.3f}" for m, s in zip(change.mean(axis=0), spread, strict=True))
        print(f"  {first} less {second}: {', '.join(told)}", flush=True)
