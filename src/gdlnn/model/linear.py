"""LinearHead: a logistic regression, whose contributions have a closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import softmax

from gdlnn.model.head import FloatArray, Head, IntArray, Tensors, check_shapes
from gdlnn.model.standardization import standardization, standardized

if TYPE_CHECKING:
    from collections.abc import Mapping

PENALTY = 0.3
"""Inverse strength of the L2 penalty on coefficients."""
N_POINTS = 32
"""Points of a path at which gradients of three or more classes are taken."""


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

    def members(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of the one member."""
        return np.asarray(softmax(csr_array(X) @ self.coef_.T + self.intercept_, axis=1))[None]

    def contributions(
        self, X: FloatArray, baseline: FloatArray, wanted: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Integrate the gradient of the probability from the baseline to each row, exactly."""
        return linear_contributions(self.coef_, self.intercept_, X, baseline, wanted)

    def tensors(self) -> Tensors:
        """Return coefficients and constants."""
        return {"coef": self.coef_, "intercept": self.intercept_}

    def restore(self, tensors: Tensors, n_features: int, classes: npt.NDArray[Any]) -> None:
        """Set coefficients and constants."""
        shapes = {"coef": (len(classes), n_features), "intercept": (len(classes),)}
        check_shapes(tensors, shapes, np.float64)
        self.classes_ = classes
        self.set_odds(tensors["coef"], tensors["intercept"])


def linear_contributions(
    coef: FloatArray, intercept: FloatArray, X: FloatArray, baseline: FloatArray, wanted: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return what each column adds to a probability along the straight line from the baseline to each row.

    Along it the logits are linear, so that only the mean of the softmax's gradient is needed: of two classes
    it is the change in probability over the change in log odds.
    """
    steps = X - baseline
    start = coef @ baseline + intercept
    change = steps @ coef.T
    points, shares = np.polynomial.legendre.leggauss(N_POINTS)
    gradient = np.zeros_like(change)
    rows = np.arange(len(X))
    for at, share in zip((points + 1) / 2, shares / 2, strict=True):
        chances = softmax(start + at * change, axis=1)
        own = chances[rows, wanted]
        slope = -chances * own[:, None]
        slope[rows, wanted] += own
        gradient += share * slope
    ends = softmax(start + change, axis=1)[rows, wanted] - softmax(start)[wanted]
    if change.shape[1] == 2:
        odds = change[rows, wanted] - change[rows, 1 - wanted]
        moved = np.abs(odds) > 1e-9
        mean = np.where(moved, ends / np.where(moved, odds, 1.0), gradient[rows, wanted])
        gradient[rows, wanted], gradient[rows, 1 - wanted] = mean, -mean
    weights = steps * (gradient @ coef)
    return weights, ends - weights.sum(axis=1)


@dataclass(eq=False, repr=False)
class LinearHead(AdditiveHead):
    """A logistic regression with an L2 penalty.

    Parameters
    ----------
    class_weight
        "balanced", weights by label, or None.
    """

    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None

    def fit(self, X: Any, y: npt.ArrayLike, row_weights: FloatArray | None = None) -> Self:
        """Fit the coefficients; columns that are not zeros and ones are standardized first."""
        from sklearn.linear_model import LogisticRegression

        X, codes = self.checked(X, y)
        rows = csr_array(X)
        mean, scale = standardization(rows)
        model = LogisticRegression(C=PENALTY, max_iter=2000, class_weight=self.weights_by_code())
        model.fit(standardized(rows, mean, scale), codes, sample_weight=row_weights)
        coef = model.coef_ / scale
        self.set_odds(coef, model.intercept_ - coef @ mean)
        return self
