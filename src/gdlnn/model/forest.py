"""Forest: a random forest as arrays, which the core evaluates and explains exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from gdlnn import _core

if TYPE_CHECKING:
    from collections.abc import Mapping

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TENSORS = ("roots", "feature", "threshold", "left", "right", "values")


@dataclass(frozen=True)
class Forest:
    """The trees of a fitted random forest, end to end.

    Attributes
    ----------
    n_features
        Number of columns of its input.
    roots
        The first node of each tree.
    feature, threshold, left, right
        Per node the column that is compared, -1 for a leaf, and where a row goes on: left if its value is at
        most the threshold. A leaf has its row of `values` in `left`.
    values
        Leaves × classes: the shares of the classes; or one column of predicted numbers.
    """

    n_features: int
    roots: npt.NDArray[np.int32]
    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float32]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    values: FloatArray

    @classmethod
    def of(cls, fitted: Any) -> Self:
        """Take the trees of a fitted forest of scikit-learn."""
        trees = [estimator.tree_ for estimator in fitted.estimators_]
        starts = np.cumsum([0, *(tree.node_count for tree in trees)])
        parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in TENSORS[1:]}
        n_leaves = 0
        for tree, start in zip(trees, starts.tolist(), strict=False):
            leaf = tree.children_left < 0
            left = tree.children_left + start
            left[leaf] = n_leaves + np.arange(leaf.sum())
            n_leaves += int(leaf.sum())
            parts["feature"].append(np.where(leaf, -1, tree.feature))
            parts["threshold"].append(_rounded_down(tree.threshold))
            parts["left"].append(left)
            parts["right"].append(np.where(leaf, 0, tree.children_right + start))
            parts["values"].append(tree.value[leaf, 0])
        joined = {name: np.concatenate(arrays) for name, arrays in parts.items()}
        return cls.from_tensors({"roots": starts[:-1], **joined}, int(fitted.n_features_in_))

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]], n_features: int) -> Self:
        """Build a forest from its arrays; they are checked when it is first used."""
        kinds = (np.int32, np.int32, np.float32, np.int32, np.int32, np.float64)
        arrays = (np.ascontiguousarray(tensors[n], dtype=k) for n, k in zip(TENSORS, kinds, strict=True))
        return cls(n_features, *arrays)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name, for a file."""
        return {name: getattr(self, name) for name in TENSORS}

    @cached_property
    def _native(self) -> _core.Forest:
        try:
            return _core.Forest(self.n_features, **self.tensors())
        except TypeError as error:
            raise ValueError(f"forest: {error}") from None

    @cached_property
    def _splits(self) -> tuple[IntArray, FloatArray]:
        """The thresholds of all columns, one column after another, and where each begins."""
        inner = np.flatnonzero(self.feature >= 0)
        order = inner[np.lexsort((self.threshold[inner], self.feature[inner]))]
        starts = np.searchsorted(self.feature[order], np.arange(self.n_features + 1))
        return starts, self.threshold[order].astype(np.float64)

    def splits(self, column: int) -> FloatArray:
        """Return the thresholds at which the trees divide a column, sorted."""
        starts, thresholds = self._splits
        return thresholds[starts[column] : starts[column + 1]]

    def check(self, n_values: int) -> None:
        """Raise a ValueError unless the leaves have so many values, all finite."""
        if self.values.shape[1:] != (n_values,):
            raise ValueError(f"forest: expected {n_values} values in each leaf")
        if not (np.isfinite(self.values).all() and np.isfinite(self.threshold).all()):
            raise ValueError("forest: expected finite numbers")
        _ = self._native

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the mean of the trees, rows × classes; inputs are compared as float32, as in training."""
        return self._native.predict(_single(X), 1)

    def contributions(self, X: FloatArray, baseline: FloatArray, wanted: IntArray) -> FloatArray:
        """Return Shapley values, rows × columns.

        They say what each column adds to the probability of the class `wanted` of its row, on the way from
        the baseline to the row; their sum is the difference of the two predictions.
        """
        codes = np.ascontiguousarray(wanted, dtype=np.int32)
        return self._native.contributions(_single(X), _single(baseline[None])[0], codes, 1)


def _single(X: FloatArray) -> npt.NDArray[np.float32]:
    return np.ascontiguousarray(X, dtype=np.float32)


def _rounded_down(thresholds: FloatArray) -> npt.NDArray[np.float32]:
    """Return the largest single-precision numbers that are not above: a float32 compares the same."""
    single = thresholds.astype(np.float32)
    above = single.astype(np.float64) > thresholds
    single[above] = np.nextafter(single[above], np.float32(-np.inf))
    return single
