"""Contributions of programs to a prediction, compared with no program or with an average graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import ExplanationError, require
from gdlnn.explain.attribution import Attribution

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdlnn.explain.context import Context, FloatArray, IntArray, SplitHead

_BATCH_ROWS = 20_000  # rows of one pass through the head: graphs × steps


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
        absent = np.zeros_like(weights)
        for start in range(0, len(weights), _BATCH_GRAPHS):
            rows = slice(start, start + _BATCH_GRAPHS)
            weights[rows], others[rows], baseline[rows] = _integrated(context.split, context, rows)
            absent[rows] = _of_absence(context.split, context, rows)
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


def _of_absence(head: SplitHead, context: Context, rows: slice) -> FloatArray:
    """Return what the absence of programs adds, to first order around each graph."""
    values, targets = context.values[rows], context.targets[rows]
    others = None if context.others is None else context.others[rows]
    start, added, of_others = head.path(values, others)
    _, gradient = head.log_odds(start + added + of_others, targets)
    return np.where(values == 0, -context.background.means * (gradient @ head.program_weights.T), 0.0)


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


class IntegratedGradients:
    """Integrated gradients of the target's probability over the programs.

    The path leads from the mean representation of the training graphs to the graph's own, so that the
    weights add up to its probability less that of the mean.

    Parameters
    ----------
    n_steps
        Points on the path (Gauss–Legendre).
    """

    name = "integrated_gradients"

    def __init__(self, n_steps: int = 50) -> None:
        if n_steps < 1:
            raise ExplanationError(f"integrated_gradients: n_steps: expected at least 1, got {n_steps}")
        self.n_steps = n_steps

    def options(self) -> Mapping[str, Any]:
        """Return the settings."""
        return {"n_steps": self.n_steps}

    def attribute(self, context: Context) -> Attribution:
        """Compute the weights of the programs."""
        if context.network is None:
            raise ExplanationError("technique 'integrated_gradients': the head has no gradients; use 'lime'")
        if not context.values.size:
            return Attribution(np.zeros_like(context.values))
        if context.shared:
            return Attribution(self._rows(context, np.arange(len(context.values))))
        parts = [self._rows(context, np.array([i])) for i in range(len(context.values))]
        return Attribution(np.concatenate(parts))

    def _rows(self, context: Context, rows: Any) -> Any:
        import torch

        captum = require("captum.attr", "gradients", "The technique integrated_gradients")
        assert context.network is not None
        network = context.network(int(rows[0]))
        explained = captum.IntegratedGradients(lambda x: network(x).exp(), multiply_by_inputs=True)
        weights = explained.attribute(
            torch.from_numpy(context.values[rows].astype(np.float32)),
            baselines=torch.from_numpy(context.background.means[None].astype(np.float32)),
            target=torch.from_numpy(context.targets[rows]),
            n_steps=self.n_steps,
            internal_batch_size=_BATCH_ROWS,
        )
        return weights.detach().cpu().numpy().astype(np.float64)


class LinearWeights:
    """The contribution of each program to the score of a linear head.

    The weight of program j for class c is ``w[c, j] · (x[j] − mean of x[j] in training)``: the share it has
    in this graph's score compared with an average graph, which is also its exact Shapley value. For two
    classes with one score, the weights of the first class are those of the second with opposite signs.
    """

    name = "linear"

    def options(self) -> Mapping[str, Any]:
        """Return no settings: there are none."""
        return {}

    def attribute(self, context: Context) -> Attribution:
        """Compute the weights of the programs."""
        table = context.linear
        if table is None:
            raise ExplanationError("technique 'linear': the head is not linear; use 'lime'")
        return Attribution(table[context.targets] * (context.values - context.background.means))
