"""Heads of regressors: the mean of a ridge regression and a forest, a ridge regression, a short table.

Each says what a column adds to the predicted value, exactly, and gives the arrays that a model file holds.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted, validate_data

from gdlnn.errors import ModelError, uninterrupted
from gdlnn.jobs import one_thread
from gdlnn.model.base import RegressorMixin, StoredHead, Tensors, check_shapes, joined_tensors, part_tensors
from gdlnn.model.forest import Forest
from gdlnn.model.inputs import is_whole

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
PENALTIES = tuple(10.0 ** (power / 2) for power in range(-2, 7))
"""Strengths of the L2 penalty to choose from, by the error of leaving one row out."""
MOST_ROWS = 3000
"""The penalty is chosen on at most this many rows: the closed form takes the cube of their number."""
CANDIDATES = 0.05
"""Share of the columns among which a split of a tree chooses."""
FEWEST_ROWS = 5
"""Fewest training rows in which a column of a short table occurs."""
ROWS_PER_COLUMN = 10
"""Training rows for each column of a short table."""


class RegressionHead(RegressorMixin, StoredHead):
    """A regressor of rows that explains itself and can be stored.

    Weights of rows are not called sample_weight, since a row of weight 2 is not the same as the row twice to
    the choice of a penalty.
    """

    @abstractmethod
    def values(self, X: FloatArray) -> FloatArray:
        """Return the predicted value of every row."""

    def predict(self, X: Any) -> FloatArray:
        """Return the predicted value of every row."""
        check_is_fitted(self, "n_features_in_")
        X = validate_data(self, X, dtype=np.float64, reset=False, accept_sparse="csr")
        return self.values(X.toarray() if issparse(X) else X)

    def checked(self, X: Any, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Check the rows and values of a fit."""
        X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr", y_numeric=True)
        return X.toarray() if issparse(X) else X, np.asarray(y, dtype=np.float64)


class LinearSum(RegressionHead):
    """A head whose value is a sum over columns.

    Attributes
    ----------
    coef_, intercept_
        What one more in each column adds, and the value of a row of zeros.
    """

    coef_: FloatArray
    intercept_: float

    def values(self, X: FloatArray) -> FloatArray:
        """Return the sum of every row."""
        return np.asarray(csr_array(X) @ self.coef_ + self.intercept_)  # sparse: no sum depends on threads

    def contributions(self, X: FloatArray, baseline: FloatArray, wanted: IntArray) -> FloatArray:  # noqa: ARG002
        """Return coefficient times difference from the baseline."""
        return np.asarray((X - baseline) * self.coef_)

    def tensors(self) -> Tensors:
        """Return coefficients and constant."""
        return {"coef": self.coef_, "intercept": np.array([self.intercept_])}

    def restore(self, tensors: Tensors, n_features: int, n_classes: int) -> None:  # noqa: ARG002
        """Set coefficients and constant."""
        check_shapes(tensors, {"coef": (n_features,), "intercept": (1,)}, np.float64)
        self.coef_, self.intercept_ = tensors["coef"], float(tensors["intercept"][0])
        self.n_features_in_ = n_features


@dataclass(eq=False, repr=False)
class RidgeHead(LinearSum):
    """A linear regression with an L2 penalty, whose strength leave-one-out decides in closed form."""

    @one_thread()
    def fit(self, X: Any, y: npt.ArrayLike, row_weights: FloatArray | None = None) -> Self:
        """Fit the coefficients; columns with a deviation above 1 are scaled to 1 first."""
        with uninterrupted():
            from sklearn.linear_model import Ridge, RidgeCV

        X, y = self.checked(X, y)
        scale = np.maximum(1.0, X.std(axis=0))
        rows = np.unique(np.linspace(0, len(y) - 1, min(len(y), MOST_ROWS)).astype(np.int64))
        of_rows = None if row_weights is None else row_weights[rows]
        chosen = RidgeCV(PENALTIES).fit(X[rows] / scale, y[rows], of_rows)
        if len(rows) < len(y):
            solver = "sparse_cg" if X.shape[1] > MOST_ROWS else "auto"
            chosen = Ridge(chosen.alpha_, solver=solver, tol=1e-8).fit(X / scale, y, row_weights)
        self.coef_, self.intercept_ = chosen.coef_ / scale, float(chosen.intercept_)
        return self


@dataclass(eq=False, repr=False)
class ShortTableHead(LinearSum):
    """A linear regression on a few columns, chosen one by one by what they explain of the rest.

    Parameters
    ----------
    max_programs
        Maximum number of columns; with few rows there is one for every `ROWS_PER_COLUMN`.

    Attributes
    ----------
    selected_
        The chosen columns.
    """

    max_programs: int = 30

    @one_thread()
    def fit(self, X: Any, y: npt.ArrayLike, row_weights: FloatArray | None = None) -> Self:
        """Choose columns by orthogonal matching pursuit, and fit their coefficients."""
        with uninterrupted():
            from sklearn.linear_model import RidgeCV, orthogonal_mp

        if not is_whole(self.max_programs, 1):
            raise ModelError(
                f"max_programs: expected a whole number of at least 1, got {self.max_programs!r}"
            )
        X, y = self.checked(X, y)
        weights = np.ones(len(y)) if row_weights is None else row_weights
        centered = X - np.average(X, axis=0, weights=weights)
        deviation = np.sqrt(np.average(centered**2, axis=0, weights=weights))
        allowed = np.flatnonzero(((X != 0).sum(axis=0) >= min(FEWEST_ROWS, len(y) // 2)) & (deviation > 1e-9))
        self.selected_: IntArray = allowed[:0]
        most = min(self.max_programs, max(1, len(y) // ROWS_PER_COLUMN), len(allowed))
        if most:
            root = np.sqrt(weights)
            with warnings.catch_warnings():  # columns that add nothing to the chosen ones end the choice
                warnings.simplefilter("ignore", RuntimeWarning)
                path = orthogonal_mp(
                    centered[:, allowed] / deviation[allowed] * root[:, None],
                    (y - np.average(y, weights=weights)) * root,
                    n_nonzero_coefs=most,
                )
            self.selected_ = allowed[np.flatnonzero(path)]
        self.coef_, self.intercept_ = np.zeros(X.shape[1]), float(np.average(y, weights=weights))
        if len(self.selected_):
            fitted = RidgeCV(PENALTIES).fit(X[:, self.selected_], y, row_weights)
            self.coef_[self.selected_], self.intercept_ = fitted.coef_, float(fitted.intercept_)
        return self

    def drop_unselected(self) -> IntArray:
        """Drop the columns that were not chosen; return the previous indices of the others.

        If none was chosen, the first one stays, without weight: tables need a column.
        """
        columns = self.selected_ if len(self.selected_) else np.zeros(1, dtype=np.int64)
        self.coef_, self.n_features_in_ = self.coef_[columns], len(columns)
        self.selected_ = np.flatnonzero(self.coef_)
        return columns

    def restore(self, tensors: Tensors, n_features: int, n_classes: int) -> None:
        """Set coefficients and constant."""
        super().restore(tensors, n_features, n_classes)
        self.selected_ = np.flatnonzero(self.coef_)


@dataclass(eq=False, repr=False)
class RidgeForestHead(RegressionHead):
    """The mean of a ridge regression and of extremely randomized trees; the default head.

    Parameters
    ----------
    n_trees
        Number of trees.
    random_state
        Seed of the trees; None: that of the regressor that the head belongs to, or 0.
    n_jobs
        Number of threads for growing trees; the result does not depend on it.

    Attributes
    ----------
    ridge_, forest_
        The two members.
    """

    n_trees: int = 100
    random_state: int | None = None
    n_jobs: int | None = 1

    def fit(self, X: Any, y: npt.ArrayLike, row_weights: FloatArray | None = None) -> Self:
        """Fit both members."""
        with uninterrupted():
            from sklearn.ensemble import ExtraTreesRegressor

        if not is_whole(self.n_trees, 1):
            raise ModelError(f"n_trees: expected a whole number of at least 1, got {self.n_trees!r}")
        X, y = self.checked(X, y)
        self.ridge_ = RidgeHead().fit(X, y, row_weights)
        trees = ExtraTreesRegressor(
            self.n_trees, max_features=CANDIDATES, random_state=self.random_state or 0, n_jobs=self.n_jobs
        )
        self.forest_ = Forest.of(trees.fit(X.astype(np.float32), y, row_weights))
        return self

    def values(self, X: FloatArray) -> FloatArray:
        """Return the mean of both members."""
        return np.asarray((self.ridge_.values(X) + self.forest_.predict(X)[:, 0]) / 2)

    def contributions(self, X: FloatArray, baseline: FloatArray, wanted: IntArray) -> FloatArray:
        """Average the terms of the sum and the Shapley values of the forest."""
        ridge, forest = (one.contributions(X, baseline, wanted) for one in (self.ridge_, self.forest_))
        return np.asarray((ridge + forest) / 2)

    def tensors(self) -> Tensors:
        """Return the arrays of both members."""
        return joined_tensors({"ridge": self.ridge_, "forest": self.forest_})

    def restore(self, tensors: Tensors, n_features: int, n_classes: int) -> None:
        """Set the arrays of both members, which must fit the columns."""
        self.ridge_ = RidgeHead()
        self.ridge_.restore(part_tensors(tensors, "ridge"), n_features, n_classes)
        self.forest_ = Forest.from_tensors(part_tensors(tensors, "forest"), n_features)
        self.forest_.check(1)
        self.n_features_in_ = n_features
