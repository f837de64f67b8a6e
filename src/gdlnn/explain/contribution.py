"""Contributions of programs to a probability, compared with a graph without any program."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from gdlnn.explain.context import Attribution, make_context
from gdlnn.model.forest import Forest
from gdlnn.model.head import Head
from gdlnn.model.linear import linear_contributions
from gdlnn.model.regression import RegressionHead

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gdlnn.explain.context import Context, FloatArray, IntArray
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation

BoolArray = npt.NDArray[np.bool_]
N_ORDERS = 16
"""Random orders in which columns are added for heads without a closed form, each also reversed."""
_BATCH_GRAPHS = 256


class Contribution:
    """What each present program adds to the probability of the target class, compared with no program.

    Absent programs add nothing. Pooled features start at their medians in training. The probability is that
    of the baseline plus all contributions: exactly for forests (Shapley values) and linear heads, within
    1e-6 for perceptrons, whose gradients are integrated along the straight path from the baseline to the
    graph; what is left is known. For other heads they are Shapley values from `N_ORDERS` random orders.

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
        model, n = context.model, context.values.shape[1]
        others = np.zeros((len(context.values), 0)) if context.others is None else context.others
        features = np.hstack([context.values, others])
        baseline = model.baseline()
        start = model.baseline_outputs()[context.targets]
        weights = np.zeros_like(features)
        for first in range(0, len(features), _BATCH_GRAPHS):
            rows = slice(first, first + _BATCH_GRAPHS)
            weights[rows] = _contributions(model, features[rows], baseline[0], context.targets[rows])
        # The last bits of products depend on where arrays lie in memory.
        weights = np.asarray(np.round(weights, 12), dtype=np.float64)
        return Attribution(weights[:, :n], None, start, weights[:, n:])


def _contributions(
    model: GDLNNClassifier, features: FloatArray, baseline: FloatArray, targets: IntArray
) -> FloatArray:
    """Return what each column adds, rows × columns."""
    head = model.head_
    if isinstance(head, Head | RegressionHead):
        return head.contributions(features, baseline, targets)[0]
    if isinstance(head, LogisticRegression):
        coef, intercept = head.coef_, head.intercept_
        if len(coef) == 1:
            coef, intercept = np.concatenate([-coef, coef]) / 2, np.concatenate([-intercept, intercept]) / 2
        return linear_contributions(coef, intercept, features, baseline, targets)[0]
    if isinstance(head, RandomForestClassifier | ExtraTreesClassifier):
        return Forest.of(head).contributions(features, baseline, targets)
    return _sampled(model, features, baseline, targets)


def _sampled(
    model: GDLNNClassifier, features: FloatArray, baseline: FloatArray, targets: IntArray
) -> FloatArray:
    """Return Shapley values by random orders; added in any order, they sum to the change in probability."""
    weights = np.zeros_like(features)
    rng = np.random.default_rng(0)
    for row, values in enumerate(features):
        moved = np.flatnonzero(values != baseline)
        drawn = [rng.permutation(moved) for _ in range(N_ORDERS)]
        for order in (*drawn, *(order[::-1] for order in drawn)):
            table = np.repeat(baseline[None], len(moved) + 1, axis=0)
            for step, column in enumerate(order):
                table[step + 1 :, column] = values[column]
            chances = model.head_outputs(table)[:, targets[row]]
            weights[row, order] += np.diff(chances) / (2 * N_ORDERS)
    return weights


class ClassContributions(NamedTuple):
    """What present programs add to the probability of every class, in some graphs.

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
    """Compute what programs add to the probability of each class, in one pass over the graphs.

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
            Contribution().attribute(make_context(model, part, np.full(len(part), code), n_reasons=1))
            for code in range(1 if n_classes == 2 else n_classes)
        ]
        if n_classes == 2:  # what speaks for one class speaks against the other
            first = found[0]
            assert first.baseline is not None
            found.append(_combined(lambda values: -values[0], found)._replace(baseline=1 - first.baseline))
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
