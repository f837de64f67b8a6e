"""Heads with a random forest: alone, or averaged with a logistic regression, which is the default head."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array
from scipy.special import softmax

from gdlnn.errors import ModelError, uninterrupted
from gdlnn.model.base import FloatArray, IntArray, Tensors, joined_tensors, part_tensors
from gdlnn.model.forest import Forest
from gdlnn.model.head import Head
from gdlnn.model.inputs import is_whole
from gdlnn.model.linear import LinearHead
from gdlnn.progress import stage

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDS = 4
"""Folds in which the logistic regression predicts rows that it was not fitted to, to be calibrated."""
FEWEST_PER_CLASS = 8
"""With fewer rows of some class, nothing is calibrated."""
FEWEST_TREES, MOST_TREE_ROWS = 100, 5_000_000
"""From 5,000 rows on a forest of 1000 trees has fewer, but not fewer than 100."""
MOST_DENSE = 100_000_000
"""A table of more values is given to the forest as a sparse one, which takes longer and less memory."""
MOST_CANDIDATES = 400
"""Where there are quantities, a split chooses among a tenth of the columns, but no more than these.

A quantity is one column that stands for many programs: a choice among the square root of the number of
columns, scikit-learn's default, rarely includes it.
"""
_NARROW = 0.5  # standard deviation of the prior over the logarithm of the sharpness


@dataclass(eq=False, repr=False)
class ForestHead(Head):
    """A random forest, as scikit-learn grows it; stored, evaluated and explained as arrays.

    Parameters
    ----------
    n_trees
        Number of trees. Above `MOST_TREE_ROWS` trees times rows there are fewer, down to `FEWEST_TREES`: more
        predict no better, but with them models of other seeds explain alike.
    class_weight
        "balanced", weights by label, or None.
    random_state
        Seed; None: that of the classifier that the head belongs to, or 0.
    n_jobs
        Number of threads; the result is the same.

    Attributes
    ----------
    forest_
        The trees.
    held_out_
        The probabilities of the training rows, each by the trees that have not seen it; None in models read
        from a file.
    """

    n_trees: int = 1000
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None
    random_state: int | None = None
    n_jobs: int | None = 1

    def fit(
        self, X: Any, y: npt.ArrayLike, row_weights: FloatArray | None = None, n_quantities: int = 0
    ) -> Self:
        """Grow the trees on rows, dense or sparse; the last `n_quantities` columns are quantities."""
        with uninterrupted():
            from sklearn.ensemble import RandomForestClassifier

        if not is_whole(self.n_trees, 1):
            raise ModelError(f"n_trees: expected a whole number of at least 1, got {self.n_trees!r}")
        X, codes = self.checked(X, y)
        table: Any = csc_array(X, dtype=np.float32)
        if X.shape[0] * X.shape[1] <= MOST_DENSE:
            table = table.toarray()
        candidates = max(1, isqrt(X.shape[1]))
        if n_quantities:
            candidates = max(candidates, min(X.shape[1] // 10, MOST_CANDIDATES))
        model = RandomForestClassifier(
            min(self.n_trees, max(FEWEST_TREES, MOST_TREE_ROWS // X.shape[0])),
            max_features=candidates,
            class_weight=self.weights_by_code(),
            random_state=self.random_state or 0,
            n_jobs=self.n_jobs,
        )
        with stage("growing the forest"):
            model.fit(table, codes, sample_weight=row_weights)
        self.forest_ = Forest.of(model)
        self.held_out_: FloatArray | None = self._out_of_bag(model, table, codes)
        return self

    def _out_of_bag(self, model: Any, table: Any, codes: IntArray) -> FloatArray:
        """Return the probabilities of each row by the trees that have not seen it."""
        sums, counts = np.zeros((len(codes), len(self.classes_))), np.zeros(len(codes))
        leaves = model.apply(table)
        for tree, sample, leaf in zip(model.estimators_, model.estimators_samples_, leaves.T, strict=True):
            outside = np.ones(len(codes), dtype=bool)
            outside[sample] = False
            sums[outside] += tree.tree_.value[leaf[outside], 0]
            counts += outside
        shares = np.bincount(codes) / len(codes)
        return np.where(counts[:, None] > 0, sums / np.maximum(counts[:, None], 1), shares)

    def members(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of the one member."""
        return self.forest_.predict(X)[None]

    def contributions(self, X: FloatArray, baseline: FloatArray, wanted: IntArray) -> FloatArray:
        """Return exact Shapley values."""
        return self.forest_.contributions(X, baseline, wanted)

    def splits(self, column: int) -> FloatArray:
        """Return the thresholds at which trees divide a column, sorted."""
        return self.forest_.splits(column)

    def tensors(self) -> Tensors:
        """Return the arrays of the trees."""
        return self.forest_.tensors()

    def restore(self, tensors: Tensors, n_features: int, n_classes: int) -> None:
        """Set the arrays of the trees, which must fit the columns and classes."""
        self.forest_, self.held_out_ = Forest.from_tensors(tensors, n_features), None
        self.forest_.check(n_classes)
        self.classes_, self.n_features_in_ = np.arange(n_classes), n_features


@dataclass(eq=False, repr=False)
class MixtureHead(Head):
    """The mean of the probabilities of a logistic regression and of a random forest.

    A factor of the regression's log odds is fitted on rows that neither member has learned, so that the mean
    has the least log loss there: the regression predicts them in folds, the forest by the trees that have not
    seen them.

    Parameters
    ----------
    n_trees, class_weight, random_state, n_jobs
        As in `ForestHead`.
    calibrate
        Whether to fit the factor.

    Attributes
    ----------
    linear_, forest_
        The members: a `LinearHead` and a `ForestHead`.
    held_out_
        The probabilities of the training rows by members not trained on them; None without calibration, and
        in models read from a file.
    """

    n_trees: int = 1000
    calibrate: bool = True
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None
    random_state: int | None = None
    n_jobs: int | None = 1

    def fit(
        self, X: Any, y: npt.ArrayLike, row_weights: FloatArray | None = None, n_quantities: int = 0
    ) -> Self:
        """Fit both members to rows, dense or sparse; only the forest gets the last `n_quantities` columns."""
        X, codes = self.checked(X, y)
        rows = csr_array(X)
        columns = rows[:, : rows.shape[1] - n_quantities]
        self._new_members()
        with stage("fitting the linear model"):
            self.linear_.fit(columns, codes, row_weights)
        self.forest_.fit(rows, codes, row_weights, n_quantities)
        self.held_out_: FloatArray | None = None
        if self.calibrate and np.bincount(codes).min() >= FEWEST_PER_CLASS:
            with stage("calibrating"):
                self._calibrate(columns, codes, row_weights)
        return self

    def _new_members(self) -> None:
        weights = self.weights_by_code() if hasattr(self, "classes_") else None
        self.linear_ = LinearHead(weights)
        self.forest_ = ForestHead(self.n_trees, weights, self.random_state, self.n_jobs)

    def _calibrate(self, columns: csr_array, codes: IntArray, weights: FloatArray | None) -> None:
        """Choose the factor of the log odds; little data changes little."""
        from scipy.optimize import minimize_scalar
        from sklearn.model_selection import StratifiedKFold

        logits = np.zeros((len(codes), len(self.classes_)))
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)  # seeds differ by the forest alone
        for inside, outside in folds.split(codes[:, None], codes):
            of_fold = None if weights is None else weights[inside]
            fitted = LinearHead(self.linear_.class_weight).fit(columns[inside], codes[inside], of_fold)
            logits[outside] = fitted.logits(columns[outside])
        of_rows = np.ones(len(codes)) if weights is None else weights * (len(codes) / weights.sum())

        def mean(power: float) -> FloatArray:
            return np.asarray((softmax(np.exp(power) * logits, axis=1) + self.forest_.held_out_) / 2)

        def loss(power: float) -> float:
            own = np.maximum(mean(power)[np.arange(len(codes)), codes], 1e-12)
            return float(-(of_rows * np.log(own)).sum() + (power / _NARROW) ** 2 / 2)

        found = minimize_scalar(loss, bounds=(-2.5, 2.5), method="bounded", options={"xatol": 1e-4})
        factor = round(float(np.exp(found.x)), 6)
        self.linear_.set_odds(factor * self.linear_.coef_, factor * self.linear_.intercept_)
        self.held_out_ = mean(np.log(factor))

    @property
    def shares(self) -> FloatArray:
        """The weight of each member."""
        return np.full(2, 0.5)

    def members(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of both members, members × rows × classes."""
        return np.concatenate([self.linear_.members(self._columns(X)), self.forest_.members(X)])

    def contributions(self, X: FloatArray, baseline: FloatArray, wanted: IntArray) -> FloatArray:
        """Average those of the members."""
        weights = self.forest_.contributions(X, baseline, wanted)
        own = self.linear_.contributions(self._columns(X), self._columns(baseline), wanted)
        weights[:, : own.shape[1]] += own
        return weights / 2

    def _columns(self, X: FloatArray) -> FloatArray:
        """Return the columns of the logistic regression."""
        return X[..., : self.linear_.n_features_in_]

    def splits(self, column: int) -> FloatArray:
        """Return the thresholds at which trees divide a column, sorted."""
        return self.forest_.splits(column)

    def tensors(self) -> Tensors:
        """Return the arrays of both members."""
        return joined_tensors({"linear": self.linear_, "forest": self.forest_})

    def restore(self, tensors: Tensors, n_features: int, n_classes: int) -> None:
        """Set the arrays of both members, which must fit the columns and classes."""
        self._new_members()
        linear = part_tensors(tensors, "linear")
        n_columns = min(linear["coef"].shape[-1], n_features)
        self.linear_.restore(linear, n_columns, n_classes)
        self.forest_.restore(part_tensors(tensors, "forest"), n_features, n_classes)
        self.classes_, self.n_features_in_, self.held_out_ = np.arange(n_classes), n_features, None
