"""LIME as for tables: resample the representation, weight samples by closeness, fit a linear model.

The numbers equal those of the `lime` package on the same samples (kernel, selection and ridge). Only the
computation differs: all graphs of a batch share one set of samples, so that the head runs once, and the large
ridge regression is solved for all of them together by conjugate gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.attribution import Attribution
from gdlnn.explain.linalg import CentredRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdlnn.explain.context import Context, FloatArray
    from gdlnn.explain.linalg import SymmetricInverse

SELECTION_PENALTY = 0.01
"""Ridge penalty of the fit over all programs, which chooses the important ones (as in `lime`)."""
FINAL_PENALTY = 1.0
"""Ridge penalty of the fit over the important programs, which gives the weights (as in `lime`)."""
WIDTH_PER_ROOT = 0.75
"""The kernel's width is this times the root of the number of programs (as in `lime`)."""
# Samples × programs; above, single precision is enough to choose and twice as quick.
_DOUBLE_LIMIT = 500_000
_BATCH = 256  # graphs solved together; bounds memory
_MAX_ITERATIONS = 60
CACHE = "lime"
"""The cache key of the samples: one set for all kinds of LIME."""


@dataclass(frozen=True)
class Neighbourhood:
    """Samples around the training data and the model's predictions for them, shared by all graphs.

    Attributes
    ----------
    samples
        Representations, samples × programs.
    probabilities
        Samples × classes; empty where they differ from graph to graph.
    rows
        The samples less their mean, as the solver takes them, where programs match or do not.
    preconditioner
        Inverse of the regression's matrix with all samples weighed alike.
    n_present
        Per sample how many programs match, where programs match or do not.
    """

    samples: FloatArray
    probabilities: FloatArray
    rows: CentredRows | None
    preconditioner: SymmetricInverse | None
    n_present: npt.NDArray[Any] | None


class Lime:
    """LIME over the programs.

    Parameters
    ----------
    n_samples
        Representations drawn, the explained one included.
    kernel_width
        Width σ of the kernel √exp(−d²/σ²), where d² is the number of programs whose value differs from the
        explained graph's; by default 0.75·√k.
    present_only
        Choose among the programs that match the graph. With hundreds of rare programs, nearly all of them
        absent, the largest weights would otherwise belong to absent ones, and there would be no subgraph.
    contributions
        Weight a program by what it adds in this graph compared with an average one: its coefficient times 1
        minus the share of its value in training. That is its Shapley value in the fitted linear model. The
        absence of a rare program then carries almost no weight.
    """

    def __init__(
        self,
        n_samples: int = 5000,
        kernel_width: float | None = None,
        present_only: bool = False,
        contributions: bool = False,
    ) -> None:
        if n_samples < 2:
            raise ExplanationError(f"lime: n_samples: expected at least 2, got {n_samples}")
        if kernel_width is not None and not kernel_width > 0:
            raise ExplanationError(f"lime: kernel_width: expected a positive number, got {kernel_width}")
        self.n_samples = n_samples
        self.kernel_width = kernel_width
        self.present_only = present_only
        self.contributions = contributions
        self.name = "lime_contribution" if contributions else "lime"

    def options(self) -> Mapping[str, Any]:
        """Return the settings."""
        return {
            "n_samples": self.n_samples,
            "kernel_width": self.kernel_width,
            "present_only": self.present_only,
            "contributions": self.contributions,
        }

    def attribute(self, context: Context) -> Attribution:
        """Return the weights of the `n_features` most important programs; the others get zero."""
        values = context.values
        weights = np.zeros_like(values)
        quality = np.zeros(len(values))
        if not values.size:
            return Attribution(weights, quality)
        around = self.neighbourhood(context)
        said = context.target_probabilities()
        present_only = self.present_only or context.matching_only
        for first in range(0, len(values), _BATCH):
            rows = np.arange(first, min(first + _BATCH, len(values)))
            closeness = self.closeness(around, values[rows])
            labels, own = _labels(context, around, rows), said[rows]
            coefficients = _coefficients(context, around, values[rows], closeness, labels, own)
            rarity = 1.0 - context.background.shares_of(values[rows])
            for i, row in enumerate(rows.tolist()):
                fit = _Fit(around, values[row], closeness[:, i], labels[:, i], float(own[i]))
                scale = rarity[i] if self.contributions else np.ones_like(rarity[i])
                sizes = np.abs(coefficients[i]) * scale
                chosen = _largest(sizes, values[row], context.n_features, present_only)
                weights[row, chosen], quality[row] = fit.over(chosen, scale)
        return Attribution(weights, quality)

    def neighbourhood(self, context: Context) -> Neighbourhood:
        """Return the samples for a model and a seed, drawn once."""
        key = (CACHE, self.n_samples, context.seed)
        if context.cache is not None and key in context.cache:
            kept: Neighbourhood = context.cache[key]
            return kept
        rng = np.random.default_rng(context.seed)
        # By columns, since a few programs are picked later.
        samples = np.asfortranarray(context.background.sample(self.n_samples - 1, rng))
        probabilities = context.predict(samples, 0) if context.shared else np.zeros((len(samples), 0))
        rows, preconditioner, n_present = None, None, None
        if context.background.is_binary:
            rows = CentredRows(samples, np.float64 if samples.size <= _DOUBLE_LIMIT else np.float32)
            preconditioner = rows.inverse(SELECTION_PENALTY)
            n_present = samples.sum(axis=1)
        around = Neighbourhood(samples, probabilities, rows, preconditioner, n_present)
        if context.cache is not None:
            for old in [k for k in context.cache if k[0] == CACHE]:
                del context.cache[old]  # one at a time: they are large
            context.cache[key] = around
        return around

    def closeness(self, around: Neighbourhood, values: FloatArray) -> FloatArray:
        """Return the weight of each sample for each graph, samples × graphs."""
        k = values.shape[1]
        width = WIDTH_PER_ROOT * np.sqrt(k) if self.kernel_width is None else self.kernel_width
        if around.rows is not None and around.n_present is not None:
            # The number of programs that differ, without comparing one by one. Rounding undoes the small
            # errors of single precision: it is a whole number.
            both = around.rows.products(values.T.astype(around.rows.dtype))
            differing = np.rint(around.n_present[:, None] + values.sum(axis=1) - 2 * both)
        else:
            differing = np.stack([(around.samples != row).sum(axis=1) for row in values], axis=1)
        closeness: FloatArray = np.sqrt(np.exp(-differing / width**2))
        return closeness


def _labels(context: Context, around: Neighbourhood, rows: npt.NDArray[np.int64]) -> FloatArray:
    """Return the predictions for the samples, samples × graphs: computed once, or graph by graph."""
    if context.shared:
        return np.asarray(around.probabilities[:, context.targets[rows]])
    columns = [context.predict(around.samples, i)[:, context.targets[i]] for i in rows.tolist()]
    return np.stack(columns, axis=1)


def _coefficients(
    context: Context,
    around: Neighbourhood,
    values: FloatArray,
    closeness: FloatArray,
    labels: FloatArray,
    own: FloatArray,
) -> FloatArray:
    """Return the coefficients of all programs, graphs × programs."""
    if context.background.is_binary:
        return solve_shared(around, values, closeness, labels, own)
    return solve_each(around.samples, values, closeness, labels, own)


def _largest(
    sizes: FloatArray, values: FloatArray, n_features: int, present_only: bool = False
) -> npt.NDArray[np.int64]:
    """Return the programs with the largest absolute values; ties go to the first."""
    order = np.argsort(-np.where(values == 0, -1.0, sizes) if present_only else -sizes, kind="stable")
    chosen = order[:n_features]
    return np.asarray(chosen[values[chosen] != 0] if present_only else chosen, dtype=np.int64)


@dataclass(frozen=True)
class _Fit:
    """The regression over a few programs for one graph."""

    around: Neighbourhood
    values: FloatArray
    closeness: FloatArray
    labels: FloatArray
    own: float

    def over(self, chosen: npt.NDArray[np.int64], scale: FloatArray) -> tuple[FloatArray, float]:
        """Return the weights of the chosen programs on a scale, and R²."""
        same = (self.around.samples[:, chosen] == self.values[chosen]).astype(np.float64)
        solution, r2 = _final_fit(same, self.closeness, self.labels, self.own)
        return solution * scale[chosen], r2


def solve_shared(
    around: Neighbourhood,
    values: FloatArray,
    closeness: FloatArray,
    labels: FloatArray,
    own: FloatArray,
) -> FloatArray:
    """Solve the ridge regression over all programs for many graphs at once; programs match or do not.

    "Equal to the graph's value" is the sample's value itself or one minus it. So the regression on equality
    is the one on the samples with some signs changed, and the matrices of the graphs differ only in the
    weights of the rows. These differ little, which makes the inverse for equal weights an excellent
    preconditioner: a few steps of conjugate gradients are enough.

    Parameters
    ----------
    around
        The samples.
    values
        Representations of the graphs, graphs × programs.
    closeness, labels
        Weight and probability of each sample for each graph, samples × graphs.
    own
        The probability of each graph itself, which counts as one more sample of weight one.

    Returns
    -------
    Coefficients of equality, graphs × programs.
    """
    rows, preconditioner = around.rows, around.preconditioner
    assert rows is not None
    assert preconditioner is not None
    dtype = rows.dtype
    weights = closeness.astype(dtype)
    offsets = (values - rows.mean).astype(dtype).T  # the graphs themselves, programs × graphs
    total = weights.sum(axis=0) + 1
    centre = (rows.rmatvec(weights) + offsets) / total
    label_mean = ((closeness * labels).sum(axis=0) + own) / (closeness.sum(axis=0) + 1)
    residuals = (labels - label_mean).astype(dtype)
    own_residual = (own - label_mean).astype(dtype)
    # The weighted residuals add up to zero, so that the centre drops out of the right side.
    right = rows.rmatvec(weights * residuals) + offsets * own_residual

    def apply(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        result = rows.rmatvec(weights * rows.matvec(x))
        result += offsets * (offsets * x).sum(axis=0)
        result -= total * centre * (centre * x).sum(axis=0)
        return np.asarray(result + SELECTION_PENALTY * x)

    solution = _conjugate_gradients(apply, preconditioner, right)
    signs = 2.0 * values - 1.0
    return np.asarray(solution.T * signs, dtype=np.float64)


def _conjugate_gradients(
    apply: Any, preconditioner: SymmetricInverse, right: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Solve for every column of the right side; a solved column is left unchanged."""
    tolerance = 1e-10 if right.dtype == np.float64 else 1e-5
    x = np.zeros_like(right)
    residual = right.copy()
    preconditioned = preconditioner.matvec(residual)
    direction = preconditioned.copy()
    size = (residual * preconditioned).sum(axis=0)
    goal = tolerance**2 * size
    for _ in range(_MAX_ITERATIONS):
        active = size > goal
        if not active.any():
            break
        image = apply(direction)
        curvature = (direction * image).sum(axis=0)
        step = np.where(active, size / np.where(curvature > 0, curvature, 1), 0).astype(right.dtype)
        x += step * direction
        residual -= step * image
        preconditioned = preconditioner.matvec(residual)
        fresh = (residual * preconditioned).sum(axis=0)
        direction = preconditioned + np.where(active, fresh / np.where(size > 0, size, 1), 0) * direction
        size = np.where(active, fresh, size)
    return x


def solve_each(
    samples: FloatArray, values: FloatArray, closeness: FloatArray, labels: FloatArray, own: FloatArray
) -> FloatArray:
    """Solve the same regression graph by graph, for programs that count."""
    solutions = []
    for i, row in enumerate(values):
        same = (samples == row).astype(np.float64)
        solutions.append(_ridge(same, closeness[:, i], labels[:, i], float(own[i]), SELECTION_PENALTY)[0])
    return np.array(solutions).reshape(values.shape)


def _ridge(
    same: FloatArray, closeness: FloatArray, labels: FloatArray, own: float, penalty: float
) -> tuple[FloatArray, float]:
    """Fit a ridge regression with a free intercept; the graph itself is one more row of ones."""
    total = closeness.sum() + 1
    centre = (closeness @ same + 1) / total
    label_mean = (closeness @ labels + own) / total
    rows = same - centre
    residuals = labels - label_mean
    matrix = (rows.T * closeness) @ rows + np.outer(1 - centre, 1 - centre)
    right = rows.T @ (closeness * residuals) + (1 - centre) * (own - label_mean)
    matrix[np.diag_indices_from(matrix)] += penalty
    solution = np.linalg.solve(matrix, right)
    return solution, float(label_mean)


def _final_fit(
    same: FloatArray, closeness: FloatArray, labels: FloatArray, own: float
) -> tuple[FloatArray, float]:
    """Return the weights of the chosen programs, and R² of what they say about the samples."""
    solution, label_mean = _ridge(same, closeness, labels, own, FINAL_PENALTY)
    centre = (closeness @ same + 1) / (closeness.sum() + 1)
    errors = labels - label_mean - (same - centre) @ solution
    own_error = own - label_mean - float((1 - centre) @ solution)
    spread = closeness @ (labels - label_mean) ** 2 + (own - label_mean) ** 2
    if spread <= 1e-24 * (closeness.sum() + 1):
        return solution, 1.0  # the model is constant, and so is the fit
    return solution, float(1 - (closeness @ errors**2 + own_error**2) / spread)
