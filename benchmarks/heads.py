"""Other heads and other inputs on the programs of the default model, paired over splits.

::

    python -m benchmarks heads [--datasets MUTAG PTC_MR …] [--splits 4] [-j 1]

All variants of a split share the programs. "pooled": pooled features in addition. "log counts": how often
a program matches, not whether. "taught by a forest": an MLP trained on the forest's probabilities. The last
row averages the probabilities of the default and of the forest.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks._paired_splits import compare, scores
from benchmarks.stability import loaded
from gdlnn import GDLNNClassifier, MLPHead

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DEFAULT, FOREST, AVERAGE = "default", "forest", "default and forest"
VARIANTS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "pooled": {"pooled": True},
    "log counts": {"activation": "log_count"},
    "log counts and pooled": {"activation": "log_count", "pooled": True},
    "linear": {"head": "linear"},
    "taught by a forest": {"head": MLPHead(soft_labels="forest", device="cpu")},
    FOREST: {"head": RandomForestClassifier(500, random_state=0)},
}


def run(words: Sequence[str] = ("--datasets", "MUTAG", "--splits", "1")) -> None:
    """Measure, and print means and differences from the default."""
    compare("heads", words, measured, _pairs)


def measured(name: str, seed: int, root: str) -> dict[str, list[float]]:
    """Return the scores of every variant on the test set of one split."""
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    train, val, test = loaded(name, root).split("random", seed)
    said: dict[str, Any] = {}
    programs = None
    for title, changes in VARIANTS.items():
        model = GDLNNClassifier(decide=0.5, progress=False, **changes)
        model.fit(train, validation=val, programs=programs)
        programs = model.programs_ if programs is None else programs
        said[title] = np.asarray(model.predict_proba(test))
    said[AVERAGE] = (said[DEFAULT] + said[FOREST]) / 2
    return {title: scores(found, test, model.classes_) for title, found in said.items()}


def _pairs(variants: Iterable[str]) -> list[tuple[str, str]]:
    return [(title, DEFAULT) for title in variants if title != DEFAULT]
