"""The strongest programs of a model: what each adds to the baseline that explanations start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from gdlnn.mining import MinedProgram
    from gdlnn.model.classifier import GDLNNClassifier

ROWS = 256
"""Number of rows predicted at a time."""


class StrongProgram(NamedTuple):
    """A program, its column, the class it supports, and by how much it alone raises its probability."""

    column: int
    mined: MinedProgram
    label: object
    strength: float


def strongest_programs(model: GDLNNClassifier, n: int = 10) -> list[StrongProgram]:
    """Return the programs that raise a probability most when one of them is added to the baseline."""
    n_programs = len(model.programs_)
    baseline = model.baseline()
    start = model.head_outputs(baseline)[0]
    effects = np.zeros((n_programs, len(model.classes_)))
    for first in range(0, n_programs, ROWS):
        columns = np.arange(first, min(first + ROWS, n_programs))
        rows = np.repeat(baseline, len(columns), axis=0)
        rows[np.arange(len(columns)), columns] = 1.0
        effects[columns] = model.head_outputs(rows) - start
    best = effects.max(axis=1, initial=-np.inf)
    order = np.argsort(-best, kind="stable")[:n].tolist()
    labels = model.classes_[effects.argmax(axis=1)] if n_programs else []
    return [StrongProgram(i, model.programs_[i], labels[i], float(best[i])) for i in order]
