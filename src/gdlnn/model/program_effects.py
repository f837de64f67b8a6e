"""The strongest programs of a model: the effect of each on the prediction of an average graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from gdlnn.mining import MinedProgram
    from gdlnn.model.classifier import GDLNNClassifier

ROWS = 256
"""Number of rows predicted at a time."""


class StrongProgram(NamedTuple):
    """A program, its column, the class it supports, and by how much it raises its log odds."""

    column: int
    mined: MinedProgram
    label: object
    strength: float


def strongest_programs(model: GDLNNClassifier, n: int = 10) -> list[StrongProgram]:
    """Return the programs that change the prediction of an average graph most when they begin to match it."""
    n_programs = len(model.programs_)
    network = getattr(model.head_, "network_", None)
    n_features = len(model.layer_.get_feature_names_out())
    base = np.zeros(n_features) if network is None else network.mean.double().cpu().numpy().copy()
    base[:n_programs] = model.programs_.frequencies
    effects = np.zeros((n_programs, len(model.classes_)))
    for start in range(0, n_programs, ROWS):
        columns = np.arange(start, min(start + ROWS, n_programs))
        rows = np.tile(base, (2 * len(columns), 1))
        rows[np.arange(len(columns)), columns] = 1.0
        rows[len(columns) + np.arange(len(columns)), columns] = 0.0
        chances = np.clip(model.head_.predict_proba(rows), 1e-9, 1 - 1e-9)
        odds = np.log(chances) - np.log1p(-chances)
        effects[columns] = odds[: len(columns)] - odds[len(columns) :]
    best = effects.max(axis=1, initial=-np.inf)
    order = np.argsort(-best, kind="stable")[:n].tolist()
    labels = model.classes_[effects.argmax(axis=1)] if n_programs else []
    return [StrongProgram(i, model.programs_[i], labels[i], float(best[i])) for i in order]
