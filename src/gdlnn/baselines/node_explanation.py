"""NodeExplanation: the nodes that an explainer of graph networks names, in the shape the metrics take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.graphs.graph import NodeSubset

if TYPE_CHECKING:
    from gdlnn.graphs import Graph

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeExplanation(NodeSubset):
    """A part of a graph that is meant to explain what a graph network says of it.

    Attributes
    ----------
    graph
        The graph.
    prediction, probability
        The predicted class and its probability.
    target
        The class that is explained.
    nodes
        The nodes of the explanation, rising.
    score
        How much the explainer makes of it: of SubgraphX the Shapley value; None where there is none.
    node_scores
        How much each node of the graph matters to the explainer.
    """

    graph: Graph
    prediction: Any
    probability: float
    target: Any
    nodes: tuple[int, ...]
    score: float | None
    node_scores: FloatArray


def most_important(scores: FloatArray, n_nodes: int) -> tuple[int, ...]:
    """Return the nodes with the largest scores, rising; of equals those with the lower number."""
    return tuple(np.sort(np.argsort(-scores, kind="stable")[: max(0, n_nodes)]).tolist())
