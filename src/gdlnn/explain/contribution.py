"""What columns add to a probability beyond a graph without any program."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from gdlnn.model.base import StoredHead
from gdlnn.model.forest import Forest
from gdlnn.model.linear import linear_contributions

if TYPE_CHECKING:
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
N_ORDERS = 16
"""Random orders in which columns are added for heads without a closed form, each also reversed."""
_BATCH_GRAPHS = 256


class Attribution(NamedTuple):
    """What columns add to the probability of a class in some graphs.

    Attributes
    ----------
    baseline
        Per graph the probability of its class where no program is present.
    weights
        Graphs × programs: what present programs add to it; absent ones add nothing.
    others
        Graphs × other columns: what pooled features and extremes of quantities add.
    """

    baseline: FloatArray
    weights: FloatArray
    others: FloatArray


def contributions_of(
    model: GDLNNClassifier, representation: Representation, targets: IntArray
) -> Attribution:
    """Compute what each column adds to the probability of a class, compared with no program.

    Pooled features start at their medians in training. The probability is that of the baseline plus all
    contributions: exactly for forests (Shapley values) and linear heads, whose gradients are integrated along
    the straight path from the baseline to the graph, and within 1e-6 for a perceptron; what is left is known.
    For other heads they are Shapley values from `N_ORDERS` random orders.
    """
    features, n = np.ascontiguousarray(representation.features), len(model.programs_)
    baseline, weights = model.baseline()[0], np.zeros_like(features)
    for first in range(0, len(features), _BATCH_GRAPHS):
        rows = slice(first, first + _BATCH_GRAPHS)
        weights[rows] = _contributions(model, features[rows], baseline, targets[rows])
    # The last bits of products depend on where arrays lie in memory.
    weights = np.asarray(np.round(weights, 12), dtype=np.float64)
    return Attribution(model.baseline_outputs()[targets], weights[:, :n], weights[:, n:])


def _contributions(
    model: GDLNNClassifier, features: FloatArray, baseline: FloatArray, targets: IntArray
) -> FloatArray:
    """Return what each column adds, rows × columns."""
    head = model.head_
    if isinstance(head, StoredHead):
        return head.contributions(features, baseline, targets)
    if isinstance(head, LogisticRegression):
        coef, intercept = head.coef_, head.intercept_
        if len(coef) == 1:
            coef, intercept = np.concatenate([-coef, coef]) / 2, np.concatenate([-intercept, intercept]) / 2
        return linear_contributions(coef, intercept, features, baseline, targets)
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
        changed = np.flatnonzero(values != baseline)
        drawn = [rng.permutation(changed) for _ in range(N_ORDERS)]
        for order in (*drawn, *(order[::-1] for order in drawn)):
            table = np.repeat(baseline[None], len(changed) + 1, axis=0)
            for step, column in enumerate(order):
                table[step + 1 :, column] = values[column]
            chances = model.head_outputs(table)[:, targets[row]]
            weights[row, order] += np.diff(chances) / (2 * N_ORDERS)
    return weights


def contributions_and_means(
    model: GDLNNClassifier, representation: Representation, n_kept: int
) -> tuple[Attribution, FloatArray]:
    """Compute what columns add in each graph once, both for explanations and as means over all graphs.

    Returns
    -------
    What columns add to the predicted class in each of the first `n_kept` graphs, and what each program adds
    to each class, as a mean over the graphs that have it (classes × programs).
    """
    n_classes = len(model.classes_)
    sums, kept = np.zeros((n_classes, len(model.programs_))), []
    for start in range(0, len(representation), _BATCH_GRAPHS):
        part = representation.take(range(start, min(start + _BATCH_GRAPHS, len(representation))))
        codes = range(1 if n_classes == 2 else n_classes)
        found = [contributions_of(model, part, np.full(len(part), code)) for code in codes]
        if n_classes == 2:  # what speaks for one class speaks against the other
            first = found[0]
            found.append(Attribution(1 - first.baseline, -first.weights, -first.others))
        sums += [np.where(part.matches, one.weights, 0.0).sum(axis=0) for one in found]
        rows = np.arange(min(len(part), max(0, n_kept - start)))
        own = part.codes[: len(rows)]
        kept.append([np.stack(values)[own, rows] for values in zip(*found, strict=True)])
    predicted = Attribution(*(np.concatenate(parts) for parts in zip(*kept, strict=True)))
    return predicted, np.asarray(sums / np.maximum(representation.matches.sum(axis=0), 1))
