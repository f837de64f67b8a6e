"""LIME and KernelSHAP, the techniques of the paper, over programs that match a graph or do not.

Both explain the probability of the target class by a weighted linear regression over artificial
representations. Programs outside the graph's own representation follow their frequencies in training.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack
from sklearn.linear_model import Ridge

from gdlnn.errors import ExplanationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation

FloatArray = npt.NDArray[np.float64]
SELECTION_PENALTY = 0.01
"""Ridge penalty of LIME's fit over all programs, which chooses the important ones (as in `lime`)."""
FINAL_PENALTY = 1.0
"""Ridge penalty of LIME's fit over the important programs, which gives the weights (as in `lime`)."""
WIDTH_PER_ROOT = 0.75
"""The width of LIME's kernel is this times the root of the number of programs (as in `lime`)."""
_MORE_COALITIONS = 2048
_TINY = 1e-9  # on the diagonal, for programs that the coalitions cannot distinguish


class Weights(NamedTuple):
    """The weights of programs, graphs × programs, and per graph how well they describe the model (R²)."""

    weights: FloatArray
    quality: FloatArray | None = None


@dataclass(frozen=True)
class Context:
    """The input of a technique, which finds the programs that moved the prediction of each graph.

    Attributes
    ----------
    values
        What the programs find in the graphs, graphs × programs.
    targets
        Per graph the position of the class to explain.
    predict
        ``predict(values, row)`` gives probabilities, rows × classes. `row` names the graph whose pooled
        features the model is given; without such features it makes no difference.
    means
        The share of training graphs that each program matches.
    n_reasons
        How many programs are requested; a technique may give weights to more.
    seed
        Random seed.
    pooled
        Whether the model is given pooled features.
    """

    values: FloatArray
    targets: npt.NDArray[np.int64]
    predict: Callable[[FloatArray, int], FloatArray]
    means: FloatArray
    n_reasons: int
    seed: int = 0
    pooled: bool = False

    @classmethod
    def of(
        cls,
        model: GDLNNClassifier,
        representation: Representation,
        targets: npt.NDArray[np.int64],
        n_reasons: int,
        seed: int,
    ) -> Context:
        """Return the context of represented graphs, which are not matched again."""
        n_programs = len(model.programs_)
        others = representation.features[:, n_programs:]

        def predict(rows: FloatArray, graph: int) -> FloatArray:
            if not others.shape[1]:
                return model.head_outputs(rows)
            fixed = np.broadcast_to(others[graph], (len(rows), others.shape[1]))
            return model.head_outputs(np.hstack([rows, fixed]))

        values = np.ascontiguousarray(representation.features[:, :n_programs])
        means = model.programs_.frequencies
        return cls(values, targets, predict, means, n_reasons, seed, others.shape[1] > 0)

    def target_probabilities(self) -> FloatArray:
        """Return per graph the probability of its target class."""
        if not self.pooled:
            chances = self.predict(self.values, 0)
            return np.asarray(chances[np.arange(len(chances)), self.targets])
        rows = range(len(self.values))
        single = [self.predict(self.values[i : i + 1], i)[0, self.targets[i]] for i in rows]
        return np.array(single, dtype=np.float64)


class Lime:
    """LIME as for tables: draw representations, weight them by closeness, fit a linear model.

    The weights equal those of the `lime` package on the same samples. All graphs share their samples, so that
    the head runs once on them unless it also gets pooled features.

    Parameters
    ----------
    n_samples
        Representations drawn, the explained one included.
    kernel_width
        Width σ of the kernel √exp(−d²/σ²), where d² is the number of programs whose value differs from the
        explained graph's; by default 0.75·√k.
    """

    name = "lime"

    def __init__(self, n_samples: int = 5000, kernel_width: float | None = None) -> None:
        if n_samples < 2:
            raise ExplanationError(f"lime: n_samples: expected at least 2, got {n_samples}")
        if kernel_width is not None and not kernel_width > 0:
            raise ExplanationError(f"lime: kernel_width: expected a positive number, got {kernel_width}")
        self.n_samples = n_samples
        self.kernel_width = kernel_width

    def options(self) -> Mapping[str, Any]:
        """Return the settings."""
        return {"n_samples": self.n_samples, "kernel_width": self.kernel_width}

    def attribute(self, context: Context) -> Weights:
        """Return the weights of the `n_reasons` most important programs; the others get zero."""
        values = context.values
        weights, quality = np.zeros_like(values), np.zeros(len(values))
        if not values.size:
            return Weights(weights, quality)
        samples = self.samples(context)
        table = csr_array(samples)
        own = context.target_probabilities()
        shared = context.predict(samples, 0) if not context.pooled else None
        for row, of_graph in enumerate(values):
            predicted = context.predict(samples, row) if shared is None else shared
            labels = np.append(predicted[:, context.targets[row]], own[row])
            closeness = np.append(self._closeness(table, of_graph), 1.0)
            # The regression is on equality with the graph's values: x, or 1 − x, which only changes signs.
            rows = vstack([table, csr_array(of_graph[None])], format="csr")
            sizes = np.abs(_ridge(rows, labels, closeness, SELECTION_PENALTY).coef_)
            chosen = np.argsort(-sizes, kind="stable")[: context.n_reasons]
            if len(chosen):
                same = np.vstack([samples[:, chosen] == of_graph[chosen], np.ones(len(chosen), dtype=bool)])
                fit = _ridge(same.astype(np.float64), labels, closeness, FINAL_PENALTY)
                weights[row, chosen] = fit.coef_
                quality[row] = fit.score(same, labels, closeness)
        return Weights(weights, quality)

    def samples(self, context: Context) -> FloatArray:
        """Draw representations, each program independently with its frequency in training."""
        rng = np.random.default_rng(context.seed)
        means = context.means
        drawn = rng.random((self.n_samples - 1, len(means))) < means
        return np.asfortranarray(drawn, dtype=np.float64)  # by columns, since a few programs are picked later

    def _closeness(self, table: csr_array, values: FloatArray) -> FloatArray:
        """Return the weight of each sample, which falls with the number of programs that differ."""
        differing = table.sum(axis=1) + values.sum() - 2 * (table @ values)
        width = WIDTH_PER_ROOT * np.sqrt(len(values)) if self.kernel_width is None else self.kernel_width
        return np.asarray(np.sqrt(np.exp(-differing / width**2)))


def _ridge(rows: Any, labels: FloatArray, closeness: FloatArray, penalty: float) -> Ridge:
    """Fit a ridge regression with a free intercept; a sparse table is solved by conjugate gradients."""
    return Ridge(alpha=penalty, tol=1e-8).fit(rows, labels, sample_weight=closeness)


class KernelShap:
    """Shapley values of the target's probability.

    A program outside a coalition has its mean value in training; the values add up to the graph's
    probability less that of the mean representation. Where all coalitions fit into the sample, they are
    exact.

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

    def attribute(self, context: Context) -> Weights:
        """Compute the weights of the programs."""
        n, k = context.values.shape
        if not n or not k:
            return Weights(np.zeros_like(context.values))
        mean = context.means
        gains = context.target_probabilities() - [
            context.predict(mean[None], i)[0, context.targets[i]] for i in range(n)
        ]
        if k == 1:
            return Weights(gains[:, None])
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
            predicted = context.predict(mixed, i)[:, context.targets[i]]
            right[:, i] = weighted @ (predicted - base - inside[:, -1] * gains[i])
        first = np.linalg.solve(matrix, right).T
        return Weights(np.column_stack([first, gains - first.sum(axis=1)]))

    def _coalitions(self, k: int, seed: int) -> tuple[npt.NDArray[np.bool_], FloatArray]:
        """Return coalitions, neither empty nor full, and their weights in the regression."""
        wanted = 2 * k + _MORE_COALITIONS if self.n_samples is None else self.n_samples
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
