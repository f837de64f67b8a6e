"""Compare heads on splits that no reported figure uses: the basis of the head's defaults.

``python -m benchmarks.heads [NAME …]`` mines each training set (seeds 100 to 104) with the default ε, trains
every head on it and counts right answers on the rest. Minutes for MUTAG and PTC_MR, longer for the others.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from gdlnn.datasets import load_dataset
from gdlnn.graphs import GraphDataset
from gdlnn.model.classifier import GDLNNClassifier
from gdlnn.model.head import MLPHead
from gdlnn.model.vocabulary import Mined, RunOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

SPLIT_SEEDS = range(100, 105)
NAMES = ("MUTAG", "PTC_MR", "ENZYMES", "PROTEINS")
HEADS: dict[str, dict[str, Any]] = {
    "default": {},
    "labels as they are": {"head": MLPHead(soft_labels=None)},
    "always taught": {"head": MLPHead(soft_labels="forest")},
    "no input dropout": {"head": MLPHead(input_dropout=0.0)},
    "pooled": {"pooled": True},
    "not pooled": {"pooled": False},
    "random forest": {"head": RandomForestClassifier(500, random_state=0)},
}


def run() -> None:
    """Say how to run it: it is too long for `make bench`."""
    print("heads: half an hour; run `python -m benchmarks.heads`")


def compare(name: str) -> None:
    """Print the accuracy of every head, as mean and deviation over the splits."""
    data = load_dataset(name)
    right: dict[str, list[float]] = {title: [] for title in HEADS}
    for seed in SPLIT_SEEDS:
        train, val, test = data.split("random", seed=seed)
        # No early stopping here, so that the validation set can be used for scoring too.
        assert val.y is not None
        assert test.y is not None
        rest = GraphDataset([*val.graphs, *test.graphs], np.concatenate([val.y, test.y]), data.schema)
        sets = Mined().find(train, RunOptions(n_jobs=-1, progress=False))
        for title, changes in HEADS.items():
            model = GDLNNClassifier("mined", progress=False, n_jobs=-1, **changes).fit(train, programs=sets)
            right[title].append(model.score(rest))
    for title, values in right.items():
        print(f"{name:10} {title:20} {100 * np.mean(values):5.1f} ± {100 * np.std(values):3.1f}", flush=True)


def main(names: Sequence[str]) -> None:
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    for name in names or NAMES:
        compare(name)


if __name__ == "__main__":
    main(sys.argv[1:])
