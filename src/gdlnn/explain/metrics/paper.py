"""The paper's two metrics: Sparsity and Fidelity, exactly as its appendix defines them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gdlnn.explain.metrics.checks import same_length


def sparsity(sizes: npt.ArrayLike, whole: npt.ArrayLike) -> float:
    """Return the mean over graphs of ``1 − |m| / |M|``: how much of a graph is left out. Higher is better.

    Parameters
    ----------
    sizes
        Number of nodes of each explanation.
    whole
        Number of nodes of each graph. A graph without nodes counts as 1.
    """
    kept, total = np.asarray(sizes, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    same_length("sparsity", sizes=kept, whole=total)
    return float(np.mean(1 - kept / np.maximum(total, 1)))


def fidelity(y: npt.ArrayLike, predicted: npt.ArrayLike, predicted_subgraph: npt.ArrayLike) -> float:
    """Return the mean of ``1[ŷ = y] − 1[ŷ of the explanation = y]``. Lower is better; it may be negative.

    All graphs count, those that the model gets wrong too.

    Parameters
    ----------
    y
        The labels.
    predicted
        What the model says of the graphs.
    predicted_subgraph
        What it says of the subgraph explanations.
    """
    truth, whole, part = np.asarray(y), np.asarray(predicted), np.asarray(predicted_subgraph)
    same_length("fidelity", y=truth, predicted=whole, predicted_subgraph=part)
    return float(np.mean((whole == truth).astype(float) - (part == truth).astype(float)))
