"""Contributions of programs to a prediction, compared with no program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.explain.context import Attribution, make_context

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdlnn.explain.context import Context, FloatArray, IntArray, SplitHead
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation


class Contribution:
    """What each present program adds to the log odds of the target class, compared with no program.

    Absent programs add nothing, and pooled features are one entry of their own. Contributions add up to the
    log odds beyond the baseline: exactly for a linear head of two classes, within one percent for
    perceptrons, whose gradients are integrated along the straight path from the baseline to the graph. For
    other heads they are Shapley values over present programs, from `N_ORDERS` random orders.
    """

    name = "contribution"

    def options(self) -> Mapping[str, Any]:
        """Return no settings: there are none."""
        return {}

    def attribute(self, context: Context) -> Attribution:
        """Compute the weights; they do not depend on the seed."""
        if context.split is None:
            return _shapley(context)
        weights = np.zeros_like(context.values)
        baseline, others = np.zeros(len(weights)), np.zeros(len(weights))
        absent = None if context.means is None else np.zeros_like(weights)
        for start in range(0, len(weights), _BATCH_GRAPHS):
            rows = slice(start, start + _BATCH_GRAPHS)
            weights[rows], others[rows], baseline[rows] = _integrated(context.split, context, rows)
            if absent is not None and context.means is not None:
                absent[rows] = _of_absence(context.split, context, rows, context.means)
        return Attribution(weights, None, baseline, others, absent)


N_POINTS = 32
"""Points of the path at which gradients are taken; four times as many if the sum is inaccurate."""
LARGEST_ERROR = 0.01
"""Maximum error of the sum of contributions, relative to the change in log odds."""
N_ORDERS = 16
"""Random orders in which programs are added for heads without gradients, each also reversed."""
_BATCH_GRAPHS = 256
_LEAST_PROBABILITY = 1e-3  # forests give 0 and 1, whose log odds are infinite


def _integrated(head: SplitHead, context: Context, rows: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return contributions, what pooled features add, and the log odds at the baseline."""
    values, targets = context.values[rows], context.targets[rows]
    others = None if context.others is None else context.others[rows]
    start, added, of_others = head.path(values, others)
    base, _ = head.log_odds(start, targets)
    end, _ = head.log_odds(start + added + of_others, targets)
    mean = _mean_gradient(head, start, added + of_others, targets, N_POINTS)
    totals = ((added + of_others) * mean).sum(axis=1)
    off = np.abs(totals - (end - base)) > LARGEST_ERROR * np.maximum(np.abs(end - base), 1e-6)
    if off.any():
        mean[off] = _mean_gradient(head, start[off], (added + of_others)[off], targets[off], 4 * N_POINTS)
    weights = np.zeros_like(values)
    for row, of_row in enumerate(mean):
        present = np.flatnonzero(values[row])
        weights[row, present] = values[row, present] * (head.program_weights[present] @ of_row)
    return weights, (of_others * mean).sum(axis=1), base


def _of_absence(head: SplitHead, context: Context, rows: slice, means: FloatArray) -> FloatArray:
    """Return what the absence of programs adds, to first order around each graph."""
    values, targets = context.values[rows], context.targets[rows]
    others = None if context.others is None else context.others[rows]
    start, added, of_others = head.path(values, others)
    _, gradient = head.log_odds(start + added + of_others, targets)
    return np.where(values == 0, -means * (gradient @ head.program_weights.T), 0.0)


def _mean_gradient(
    head: SplitHead, start: FloatArray, change: FloatArray, targets: IntArray, n_points: int
) -> FloatArray:
    points, shares = np.polynomial.legendre.leggauss(n_points)
    total = np.zeros_like(start)
    for point, share in zip((points + 1) / 2, shares / 2, strict=True):
        total += share * head.log_odds(start + point * change, targets)[1]
    return total


def _shapley(context: Context) -> Attribution:
    """Return Shapley values of present programs; added in any order, they sum to the change in log odds."""
    weights = np.zeros_like(context.values)
    baseline, others = np.zeros(len(weights)), np.zeros(len(weights))
    rng = np.random.default_rng(0)
    for row, values in enumerate(context.values):
        present = np.flatnonzero(values)
        target = int(context.targets[row])
        if context.linear is not None and context.linear.shape[0] == 2 and context.others is None:
            weights[row] = (context.linear[target] - context.linear[1 - target]) * values
            baseline[row] = _log_odds(context, np.zeros((1, len(values))), row, target)[0]
            continue
        drawn = [rng.permutation(present) for _ in range(N_ORDERS)]
        orders = [*drawn, *(order[::-1] for order in drawn)]
        for order in orders:
            table = np.zeros((len(present) + 1, len(values)))
            for step, program in enumerate(order):
                table[step + 1 :, program] = values[program]
            odds = _log_odds(context, table, row, target)
            weights[row, order] += np.diff(odds) / len(orders)
            baseline[row] = odds[0]
    return Attribution(weights, None, baseline, others)


def _log_odds(context: Context, table: FloatArray, row: int, target: int) -> FloatArray:
    chances = np.clip(context.predict(table, row)[:, target], _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    return np.asarray(np.log(chances) - np.log1p(-chances))


def mean_contributions(model: GDLNNClassifier, representation: Representation, code: int) -> FloatArray:
    """Return what each program adds to the log odds of a class, as a mean over the graphs that have it.

    Zero for a program that matches none of the graphs.
    """
    total = np.zeros(len(model.programs_))
    for start in range(0, len(representation), _BATCH_GRAPHS):
        part = representation.take(range(start, min(start + _BATCH_GRAPHS, len(representation))))
        targets = np.full(len(part), code, dtype=np.int64)
        context = make_context(model, part, targets, n_features=1)
        total += np.where(part.matches, Contribution().attribute(context).weights, 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(representation.matches.sum(axis=0), 1))
