"""NodeExplanation: the nodes that an explainer of graph networks names, in the shape the metrics take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from gdlnn.graphs import Graph

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeExplanation:
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

    @property
    def node_mask(self) -> BoolArray:
        """Which nodes of the graph are in the explanation."""
        mask = np.zeros(self.graph.n_nodes, dtype=bool)
        mask[list(self.nodes)] = True
        return mask

    @property
    def edge_mask(self) -> BoolArray:
        """Which edges of the graph have both ends in the explanation."""
        if not self.graph.n_edges:
            return np.zeros(0, dtype=bool)
        return np.asarray(self.node_mask[self.graph.edges].all(axis=1))

    @property
    def subgraph(self) -> Graph:
        """The explanation as a graph of its own, renumbered; features stay as they were."""
        return self.graph.subgraph(np.array(self.nodes, dtype=np.int64))

    @property
    def is_empty(self) -> bool:
        """Whether it names no node."""
        return not self.nodes


def most_important(scores: FloatArray, n_nodes: int) -> tuple[int, ...]:
    """Return the nodes with the largest scores, rising; of equals those with the lower number."""
    return tuple(np.sort(np.argsort(-scores, kind="stable")[: max(0, n_nodes)]).tolist())
