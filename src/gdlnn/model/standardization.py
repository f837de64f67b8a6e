"""Standardized columns: programs stay zeros and ones, others get mean 0 and deviation 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack, issparse

FloatArray = npt.NDArray[np.float64]


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
    moved = np.flatnonzero((mean != 0) | (scale != 1))
    if not len(moved):
        return csr_array(X)
    columns = X.tocsc()
    numbers = csr_array((columns[:, moved].toarray() - mean[moved]) / scale[moved])
    others = np.setdiff1d(np.arange(X.shape[1]), moved)
    order = np.argsort(np.concatenate([others, moved]))
    return csr_array(hstack([columns[:, others], numbers]).tocsc()[:, order])
