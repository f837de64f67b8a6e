"""KernelSHAP: Shapley values of the programs by one weighted regression over coalitions.

captum and shap solve it graph by graph; here all graphs share their coalitions, so that the regression's
matrix is factorised once. Where all coalitions fit into the sample, the values are exact.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.attribution import Attribution

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdlnn.explain.context import Context, FloatArray

_MORE_SAMPLES = 2048
_TINY = 1e-9  # on the diagonal, for programs that the sample cannot distinguish


class KernelShap:
    """Shapley values of the target's probability.

    A program outside a coalition has its mean value in training; the values add up to the graph's
    probability less that of the mean representation.

    Parameters
    ----------
    n_samples
        Coalitions; by default 2·k + 2048, as in the `shap` package. They come in pairs, each with its
        complement, which halves the noise.
    """

    name = "kernel_shap"

    def __init__(self, n_samples: int | None = None) -> None:
        if n_samples is not None and n_samples < 2:
            raise ExplanationError(f"kernel_shap: n_samples: expected at least 2, got {n_samples}")
        self.n_samples = n_samples

    def options(self) -> Mapping[str, Any]:
        """Return the settings."""
        return {"n_samples": self.n_samples}

    def attribute(self, context: Context) -> Attribution:
        """Compute the weights of the programs."""
        n, k = context.values.shape
        if not n or not k:
            return Attribution(np.zeros_like(context.values))
        mean = context.background.means
        gains = context.target_probabilities() - [
            context.predict(mean[None], i)[0, context.targets[i]] for i in range(n)
        ]
        if k == 1:
            return Attribution(gains[:, None])
        coalitions, chances = self._coalitions(k, context.seed)
        inside = coalitions.astype(np.float64)
        # The last program's value follows from the sum, so the regression has no constraint.
        rows = inside[:, :-1] - inside[:, -1:]
        weighted = rows.T * chances
        matrix = weighted @ rows
        matrix[np.diag_indices_from(matrix)] += _TINY * max(1.0, float(matrix.diagonal().max()))
        right = np.empty((k - 1, n))
        for i in range(n):
            mixed = np.where(coalitions, context.values[i], mean)
            base = context.predict(mean[None], i)[0, context.targets[i]]
            said = context.predict(mixed, i)[:, context.targets[i]]
            right[:, i] = weighted @ (said - base - inside[:, -1] * gains[i])
        first = np.linalg.solve(matrix, right).T
        return Attribution(np.column_stack([first, gains - first.sum(axis=1)]))

    def _coalitions(self, k: int, seed: int) -> tuple[npt.NDArray[np.bool_], FloatArray]:
        """Return coalitions, neither empty nor full, and their weights in the regression."""
        wanted = 2 * k + _MORE_SAMPLES if self.n_samples is None else self.n_samples
        sizes = np.arange(1, k)
        if k <= 20 and 2**k - 2 <= wanted:
            table = (np.arange(1, 2**k - 1)[:, None] >> np.arange(k)) & 1 == 1
            size = table.sum(axis=1)
            shapley = np.array([(k - 1) / (comb(k, int(s)) * s * (k - s)) for s in sizes])
            return table, shapley[size - 1]
        rng = np.random.default_rng(seed)
        chances = 1.0 / (sizes * (k - sizes))
        drawn = rng.choice(sizes, size=(wanted + 1) // 2, p=chances / chances.sum())
        ranks = rng.random((len(drawn), k)).argsort(axis=1).argsort(axis=1)
        half = ranks < drawn[:, None]
        return np.concatenate([half, ~half]), np.ones(2 * len(drawn))
