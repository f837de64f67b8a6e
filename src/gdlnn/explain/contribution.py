"""Contributions of programs to a prediction, compared with no program."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from gdlnn.explain.context import Attribution, make_context

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gdlnn.explain.context import Context, FloatArray, IntArray, SplitHead
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation

BoolArray = npt.NDArray[np.bool_]


class Contribution:
    """What each present program adds to the log odds of the target class, compared with no program.

    Absent programs add nothing, and pooled features are one entry of their own. Contributions add up to the
    log odds beyond the baseline: exactly for a linear head of two classes, within one percent for
    perceptrons, whose gradients are integrated along the straight path from the baseline to the graph. For
    other heads they are Shapley values over present programs, from `N_ORDERS` random orders.

    Parameters
    ----------
    known
        The contributions in the graphs that are explained, where they were computed before.
    """

    name = "contribution"

    def __init__(self, known: Attribution | None = None) -> None:
        self._known = known

    def options(self) -> Mapping[str, Any]:
        """Return no settings: there are none."""
        return {}

    def attribute(self, context: Context) -> Attribution:
        """Compute the weights; they do not depend on the seed."""
        if self._known is not None:
            return self._known
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


class ClassContributions(NamedTuple):
    """What present programs add to the log odds of every class, in some graphs.

    Attributes
    ----------
    by_class
        For each class what each program adds, graphs × programs.
    predicted
        The attribution of the predicted class in the first graphs.
    """

    by_class: list[csr_array]
    predicted: Attribution

    def means(self, code: int, rows: BoolArray | None = None) -> FloatArray:
        """Return what each program adds to a class, as a mean over graphs that have it; zero without any."""
        chosen = self.by_class[code] if rows is None else self.by_class[code][np.flatnonzero(rows)]
        counts = np.bincount(chosen.indices, minlength=chosen.shape[1])
        return np.asarray(chosen.sum(axis=0) / np.maximum(counts, 1))


def class_contributions(
    model: GDLNNClassifier, representation: Representation, n_first: int = 0
) -> ClassContributions:
    """Compute what programs add to the log odds of each class, in one pass over the graphs.

    Parameters
    ----------
    model
        The classifier.
    representation
        The graphs as the model represents them.
    n_first
        For how many of the first graphs the whole attribution of the predicted class is returned.
    """
    n_classes = len(model.classes_)
    by_class: list[list[csr_array]] = [[] for _ in range(n_classes)]
    predicted = []
    for start in range(0, max(1, len(representation)), _BATCH_GRAPHS):
        part = representation.take(range(start, min(start + _BATCH_GRAPHS, len(representation))))
        found = [
            Contribution().attribute(make_context(model, part, np.full(len(part), code), n_features=1))
            for code in range(1 if n_classes == 2 else n_classes)
        ]
        if n_classes == 2:  # what speaks for one class speaks against the other
            found.append(_combined(lambda values: -values[0], found))
        for code, attribution in enumerate(found):
            rows, columns = np.nonzero(part.matches)
            present = attribution.weights[rows, columns]
            by_class[code].append(csr_array((present, (rows, columns)), shape=part.matches.shape))
        codes = part.codes[: max(0, n_first - start)]
        predicted.append(_combined(partial(_of_classes, codes=codes), found))
    weights = [vstack(parts, format="csr") for parts in by_class]
    return ClassContributions(weights, _combined(np.concatenate, predicted))


def _combined(change: Callable[[Any], FloatArray], found: Sequence[Attribution]) -> Attribution:
    """Return an attribution each of whose parts is made of the same part of others."""
    values: Any = (None if part[0] is None else change(part) for part in zip(*found, strict=True))
    return Attribution(*values)


def _of_classes(values: Sequence[FloatArray], codes: IntArray) -> FloatArray:
    """Return the values of one class of each graph, from those of all classes."""
    rows = np.arange(len(codes))
    return np.asarray(np.stack([value[: len(codes)] for value in values])[codes, rows])
