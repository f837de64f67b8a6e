"""CentredRows: samples minus their mean, for products with vectors; sparse if that is faster."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import get_blas_funcs, get_lapack_funcs
from scipy.sparse import csr_array

Array = npt.NDArray[Any]

SPARSE_BELOW = 0.15
"""Share of non-zero values up to which the table is kept sparse: most programs are rare."""


class CentredRows:
    """A table of samples minus the mean of each column.

    The mean is never subtracted in memory: a sparse table stays sparse, and products are corrected.

    Parameters
    ----------
    samples
        Samples × columns.
    dtype
        Precision of all products.
    """

    def __init__(self, samples: npt.NDArray[np.float64], dtype: type[np.floating[Any]]) -> None:
        self.dtype = np.dtype(dtype)
        self.n_rows = len(samples)
        self.mean = samples.mean(axis=0)
        self._mean = self.mean.astype(dtype)
        sparse = samples.size > 0 and np.count_nonzero(samples) < SPARSE_BELOW * samples.size
        self._table: Any = (csr_array(samples) if sparse else samples).astype(dtype)
        # A copy by rows: products are several times as fast as by columns.
        self._turned: Any = csr_array(self._table.T) if sparse else self._table.T

    def matvec(self, x: Array) -> Array:
        """Return the centred table times columns × anything."""
        return np.asarray(self._table @ x - self._mean @ x)

    def rmatvec(self, y: Array) -> Array:
        """Return the transposed centred table times rows × anything."""
        return np.asarray(self._turned @ y - np.multiply.outer(self._mean, y.sum(axis=0)))

    def products(self, x: Array) -> Array:
        """Return the table itself, not centred, times columns × anything."""
        return np.asarray(self._table @ x)

    def inverse(self, penalty: float) -> SymmetricInverse:
        """Return the inverse of centredᵀ centred + penalty, as nearly as the precision allows.

        With more columns than rows the penalty alone keeps the matrix from being singular, and single
        precision may lose it: it is then raised until there is an inverse.
        """
        matrix = self._turned @ self._table
        counts = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
        # Counts are whole numbers, exact in any precision; what is taken off is nearly as large.
        centred = np.multiply.outer(self.n_rows * self.mean, self.mean)
        np.subtract(counts, centred, out=centred)
        while True:
            raised = centred.astype(self.dtype)
            raised[np.diag_indices_from(raised)] += self.dtype.type(penalty)
            with suppress(np.linalg.LinAlgError):
                return SymmetricInverse(raised)
            penalty *= 10


class SymmetricInverse:
    """The inverse of a positive definite matrix, using its symmetry: a third of the usual work.

    Parameters
    ----------
    matrix
        The matrix; it is overwritten.
    """

    def __init__(self, matrix: Array) -> None:
        factorise, invert = get_lapack_funcs(("potrf", "potri"), (matrix,))
        factor, failed = factorise(matrix.T, lower=1, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError(f"expected a positive definite matrix, minor {failed} is not")
        self._lower, _ = invert(factor, lower=1, overwrite_c=1)
        self._times_one, self._times_many = get_blas_funcs(("symv", "symm"), (matrix,))

    def matvec(self, x: Array) -> Array:
        """Return the inverse times columns × anything."""
        if x.shape[1] == 1:
            return np.asarray(self._times_one(1.0, self._lower, x[:, 0], lower=1))[:, None]
        return np.asarray(self._times_many(1.0, self._lower, x, lower=1))
