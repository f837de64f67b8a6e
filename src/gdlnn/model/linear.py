"""LinearHead: a logistic regression, whose contributions have a closed form; and standardized columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack, issparse
from scipy.special import softmax

from gdlnn.errors import uninterrupted
from gdlnn.jobs import one_thread
from gdlnn.model.base import FloatArray, IntArray, Tensors, check_shapes
from gdlnn.model.head import Head

if TYPE_CHECKING:
    from collections.abc import Mapping

PENALTY = 0.01
"""Inverse strength of the L2 penalty on coefficients."""
EVENNESS = 0.75
"""How far columns are scaled to equal deviations before the penalty: 0 not at all, 1 fully.

Unscaled, a rare program hardly counts; fully scaled, it counts as much as a common one.
"""
_POINTS, _SHARES = np.polynomial.legendre.leggauss(32)
POINTS, SHARES = (_POINTS[:, None, None] + 1) / 2, _SHARES[:, None] / 2
"""Points of a path at which gradients of three or more classes are taken, and their weights."""


class AdditiveHead(Head):
    """A head whose logits are sums over columns.

    Attributes
    ----------
    coef_, intercept_
        Classes × columns, and one constant per class. Of two classes each has half of the log odds.
    """

    coef_: FloatArray
    intercept_: FloatArray

    def set_odds(self, coef: FloatArray, intercept: FloatArray) -> None:
        """Set coefficients and constants; one row of two classes is shared out evenly."""
        if len(coef) < len(self.classes_):
            coef, intercept = np.concatenate([-coef, coef]) / 2, np.concatenate([-intercept, intercept]) / 2
        self.coef_, self.intercept_ = np.ascontiguousarray(coef), np.ascontiguousarray(intercept)
        self.n_features_in_ = int(coef.shape[1])

    def logits(self, X: Any) -> FloatArray:
        """Return the log odds of every class, up to a constant of the row."""
        return times(X, self.coef_.T) + self.intercept_

    def members(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of the one member."""
        return np.asarray(softmax(self.logits(X), axis=1))[None]

    def contributions(self, X: FloatArray, baseline: FloatArray, wanted: IntArray) -> FloatArray:
        """Integrate the gradient of the probability from the baseline to each row, exactly."""
        return linear_contributions(self.coef_, self.intercept_, X, baseline, wanted)

    def tensors(self) -> Tensors:
        """Return coefficients and constants."""
        return {"coef": self.coef_, "intercept": self.intercept_}

    def restore(self, tensors: Tensors, n_features: int, n_classes: int) -> None:
        """Set coefficients and constants."""
        shapes = {"coef": (n_classes, n_features), "intercept": (n_classes,)}
        check_shapes(tensors, shapes, np.float64)
        self.classes_ = np.arange(n_classes)
        self.set_odds(tensors["coef"], tensors["intercept"])


def times(X: Any, weights: FloatArray) -> FloatArray:
    """Multiply rows, mostly zeros, by a matrix; each sum runs over the columns in order, on one thread."""
    if issparse(X) or len(X) > 1:
        return np.asarray(csr_array(X) @ weights)
    columns = np.flatnonzero(X[0])  # of one row far quicker than a sparse product, and the same to the bit
    return np.asarray((X[0, columns, None] * weights[columns]).sum(axis=0, keepdims=True))


def linear_contributions(
    coef: FloatArray, intercept: FloatArray, X: FloatArray, baseline: FloatArray, wanted: IntArray
) -> FloatArray:
    """Return what each column adds to a probability along the straight line from the baseline to each row.

    Along it the logits are linear, so that only the mean of the softmax's gradient is needed: of two classes
    it is the change in probability over the change in log odds.
    """
    steps = X - baseline
    start = times(baseline[None], coef.T)[0] + intercept
    change = times(steps, coef.T)
    rows = np.arange(len(X))
    gradient = np.zeros_like(change)
    if change.shape[1] == 2:
        odds = change[rows, wanted] - change[rows, 1 - wanted]
        before, after = softmax(start), softmax(start + change, axis=1)
        differs = np.abs(odds) > 1e-9
        slope = np.where(
            differs,
            (after[rows, wanted] - before[wanted]) / np.where(differs, odds, 1.0),
            before[0] * before[1],
        )
        gradient[rows, wanted], gradient[rows, 1 - wanted] = slope, -slope
        return np.asarray(steps * (gradient @ coef))
    chances = softmax(start + POINTS * change, axis=2)  # points × rows × classes
    own = SHARES * chances[:, rows, wanted]
    gradient -= (own[:, :, None] * chances).sum(axis=0)
    gradient[rows, wanted] += own.sum(axis=0)
    return np.asarray(steps * (gradient @ coef))


@dataclass(eq=False, repr=False)
class LinearHead(AdditiveHead):
    """A logistic regression with an L2 penalty.

    Parameters
    ----------
    class_weight
        "balanced", weights by label, or None.
    """

    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None

    @one_thread()
    def fit(self, X: Any, y: npt.ArrayLike, row_weights: FloatArray | None = None) -> Self:
        """Fit the coefficients; columns are scaled first, see `EVENNESS`, and numbers standardized."""
        with uninterrupted():
            from sklearn.linear_model import LogisticRegression
            from sklearn.utils.sparsefuncs import inplace_column_scale, mean_variance_axis

        X, codes = self.checked(X, y)
        rows = csr_array(X)
        mean, scale = standardization(rows)
        table = standardized(rows, mean, scale)
        variances = mean_variance_axis(table, axis=0)[1]
        factors = np.where(variances > 1e-12, variances, 1.0) ** (-EVENNESS / 2)
        inplace_column_scale(table, factors)
        model = LogisticRegression(C=PENALTY, max_iter=2000, class_weight=self.weights_by_code())
        model.fit(table, codes, sample_weight=row_weights)
        coef = model.coef_ * factors / scale
        self.set_odds(coef, model.intercept_ - coef @ mean)
        return self


def standardization(X: Any) -> tuple[FloatArray, FloatArray]:
    """Return what to subtract and to divide by; columns of zeros and ones are unchanged."""
    if issparse(X):
        columns = X.tocsc()
        mean, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        of_entry = np.repeat(np.arange(X.shape[1]), np.diff(columns.indptr))
        numbers = np.unique(of_entry[columns.data != 1])
        mean[numbers], scale[numbers] = standardization(columns[:, numbers].toarray())
        return mean, scale
    binary = ((X == 0) | (X == 1)).all(axis=0)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    # Equal values give a deviation of rounding errors, not of zero.
    constant = scale <= 1e-7 * np.maximum(1.0, np.abs(mean))
    return np.where(binary, 0.0, mean), np.where(binary | constant, 1.0, scale)


def standardized(X: csr_array, mean: FloatArray, scale: FloatArray) -> csr_array:
    """Return standardized features; those of programs, which are zeros and ones, stay sparse."""
    numeric = np.flatnonzero((mean != 0) | (scale != 1))
    if not len(numeric):
        return csr_array(X, copy=True)
    columns = X.tocsc()
    numbers = csr_array((columns[:, numeric].toarray() - mean[numeric]) / scale[numeric])
    others = np.setdiff1d(np.arange(X.shape[1]), numeric)
    order = np.argsort(np.concatenate([others, numeric]))
    return csr_array(hstack([columns[:, others], numbers]).tocsc()[:, order])
