"""The strongest programs of a model: what each adds to the baseline that explanations start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array

if TYPE_CHECKING:
    from gdlnn.mining import MinedProgram
    from gdlnn.model.estimator import GDLNNEstimator
    from gdlnn.model.regressor import GDLNNRegressor

FloatArray = npt.NDArray[np.float64]
SIDES = ("higher", "lower")
"""What a program of a regressor makes the value."""
SAME = 0.6
"""Share of matched training graphs that variants of one pattern have in common at least."""
ROWS = 256
"""Number of rows predicted at a time."""


class StrongProgram(NamedTuple):
    """A program, its column, the class it supports, and by how much it alone raises its probability."""

    column: int
    mined: MinedProgram
    label: object
    strength: float


def ranked_programs(model: GDLNNEstimator) -> list[StrongProgram]:
    """Return all programs, those first that change predictions most: by strength times spread.

    The spread is the deviation of their presence, so that a pattern of three graphs is not ahead of a common
    one. Programs of a regressor make its value higher or lower.
    """
    effects, classes = _effects(model), getattr(model, "classes_", None)
    if classes is None:
        effects, classes = np.hstack([effects, -effects]), np.array(SIDES)
    best = effects.max(axis=1, initial=-np.inf)
    share = np.array([mined.n_matched for mined in model.programs_]) / model.programs_.info.n_graphs
    order = np.argsort(-best * np.sqrt(share * (1 - share)), kind="stable").tolist()
    labels = classes[effects.argmax(axis=1)] if len(effects) else []
    return [StrongProgram(i, model.programs_[i], labels[i], float(best[i])) for i in order]


def strongest_programs(model: GDLNNEstimator, n: int = 10) -> list[StrongProgram]:
    """Return the first of `ranked_programs`, one of those that match nearly the same training graphs."""
    supports = csc_array(model.programs_.supports, dtype=np.int64)
    chosen: list[StrongProgram] = []
    for program in ranked_programs(model):
        own = supports[:, [program.column]]
        others = supports[:, [one.column for one in chosen]]
        shared = (own.T @ others).toarray()
        if not (shared >= SAME * (own.sum() + others.sum(axis=0) - shared)).any():
            chosen.append(program)
        if len(chosen) == n:
            break
    return chosen


class GroupContribution(NamedTuple):
    """A program of a regressor, what one place of it adds, and how many training graphs have it."""

    column: int
    words: str
    adds: float
    n_graphs: int


def group_contributions(model: GDLNNRegressor, n: int | None = None) -> list[GroupContribution]:
    """Return what one place of each program adds to the baseline; with `n` of the strongest programs alone.

    With the head "linear" or "scorecard" each place adds the same: this table and the constant are the model.
    """
    directed = model.programs_.info.directed
    return [
        GroupContribution(
            one.column,
            one.mined.program.describe(model.schema_, directed=directed),
            one.strength if one.label == SIDES[0] else -one.strength,
            one.mined.n_matched,
        )
        for one in (ranked_programs(model) if n is None else strongest_programs(model, n))
        if one.strength
    ]


def sides(model: Any, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels; of a regressor whether each value is higher or lower than the training median."""
    if hasattr(model, "classes_"):
        return labels
    return np.where(labels < np.median(model.training_.labels), SIDES[1], SIDES[0])


def _effects(model: GDLNNEstimator) -> FloatArray:
    """Return what one place of each program adds to the outputs of the baseline, programs × outputs."""
    value = np.log(2) if model.layer_.activation == "log_count" else 1.0
    n_programs = len(model.programs_)
    baseline = model.baseline()
    start = model.head_outputs(baseline)[0]
    effects = np.zeros((n_programs, len(start)))
    for first in range(0, n_programs, ROWS):
        columns = np.arange(first, min(first + ROWS, n_programs))
        rows = np.repeat(baseline, len(columns), axis=0)
        rows[np.arange(len(columns)), columns] = value
        effects[columns] = model.head_outputs(rows) - start
    return effects
