"""Faithfulness as PyTorch Geometric (GraphFramEx, GraphXAI) defines it: fidelity±, characterization, GEF."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.metrics.checks import same_length


def fidelity_plus(
    predicted: npt.ArrayLike, predicted_rest: npt.ArrayLike, y: npt.ArrayLike | None = None
) -> float:
    """Return how often removing the explanation changes the answer. Higher is better.

    Without labels, of the model: ``1 − mean(1[ŷ of the rest = ŷ])``. With labels, of the phenomenon:
    ``mean |1[ŷ = y] − 1[ŷ of the rest = y]|``.

    Parameters
    ----------
    predicted
        What the model says of the graphs.
    predicted_rest
        What it says of the graphs without the explanation.
    y
        The labels.
    """
    return _changed("fidelity_plus", predicted, predicted_rest, y)


def fidelity_minus(
    predicted: npt.ArrayLike, predicted_subgraph: npt.ArrayLike, y: npt.ArrayLike | None = None
) -> float:
    """Return how often the explanation alone gives another answer. Lower is better.

    The formulas are those of `fidelity_plus` with the explanation in the place of the rest.
    """
    return _changed("fidelity_minus", predicted, predicted_subgraph, y)


def _changed(metric: str, predicted: npt.ArrayLike, other: npt.ArrayLike, y: npt.ArrayLike | None) -> float:
    whole, part = np.asarray(predicted), np.asarray(other)
    same_length(metric, predicted=whole, other=part)
    if y is None:
        return float(1 - np.mean(part == whole))
    truth = np.asarray(y)
    same_length(metric, predicted=whole, y=truth)
    return float(np.mean((whole == truth) != (part == truth)))


def characterization(plus: float, minus: float, plus_weight: float = 0.5, minus_weight: float = 0.5) -> float:
    """Return the weighted harmonic mean of fidelity+ and 1 − fidelity−. Higher is better.

    ``(w₊ + w₋) / (w₊ / fid₊ + w₋ / (1 − fid₋))``; zero where one of the two is zero.
    """
    if not np.isclose(plus_weight + minus_weight, 1.0):
        raise ExplanationError(
            f"characterization: expected weights that add up to 1, got {plus_weight} and {minus_weight}"
        )
    if plus <= 0 or minus >= 1:
        return 0.0
    return 1.0 / (plus_weight / plus + minus_weight / (1.0 - minus))


def unfaithfulness(probabilities: npt.ArrayLike, subgraph_probabilities: npt.ArrayLike) -> float:
    """Return the mean of ``1 − exp(−KL(p̂ ‖ p))``, p of the graph, p̂ of its explanation. Lower is better.

    This is the direction of the divergence that PyTorch Geometric computes.

    Parameters
    ----------
    probabilities, subgraph_probabilities
        Graphs × classes.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    q = np.asarray(subgraph_probabilities, dtype=np.float64)
    same_length("unfaithfulness", probabilities=p, subgraph_probabilities=q)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(q > 0, q * (np.log(q) - np.log(p)), 0.0)
    return float(np.mean(1 - np.exp(-terms.sum(axis=1))))
