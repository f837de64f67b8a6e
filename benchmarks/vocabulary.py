"""The effect of mined programs, honest columns and calibration on a model, paired over splits.

::

    python -m benchmarks vocabulary [--datasets MUTAG PTC_MR …] [--splits 4] [-j 1]

"both": neighbourhoods and programs mined in bags. "masked": while the head is trained, a mined program is
absent from the rows of its own bag and counts for more in the others, so that no column has seen the label of
its row.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._paired_splits import compare, scores
from benchmarks.stability import loaded
from gdlnn import GDLNNClassifier, Mined, MLPHead, Neighbourhoods
from gdlnn.graphs.structure import fill_structure
from gdlnn.mining.bags import bag_rows, n_bags
from gdlnn.model.inputs import MIN_VALIDATION
from gdlnn.model.vocabulary import GENERAL_EPSILONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn import GraphDataset

PAIRS = (
    ("both, calibrated", "neighbourhoods, calibrated"),
    ("masked", "both"),
    ("both, calibrated", "both"),
)


def run(words: Sequence[str] = ("--datasets", "MUTAG", "--splits", "2")) -> None:
    """Measure, and print means and paired differences."""
    compare("vocabulary", words, measured, lambda _: PAIRS)


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
