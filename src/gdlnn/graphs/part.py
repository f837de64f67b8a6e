"""GraphPart: some nodes of a graph, and the subgraph they make."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from gdlnn.graphs.graph import Graph

BoolArray = npt.NDArray[np.bool_]


class GraphPart:
    """What can be said of some nodes of a graph; a class that names both says the rest through this one.

    Attributes
    ----------
    graph
        The graph.
    nodes
        The nodes of the part, rising.
    """

    graph: Graph
    nodes: tuple[int, ...]

    @property
    def node_mask(self) -> BoolArray:
        """Which nodes of the graph are in the subgraph."""
        mask = np.zeros(self.graph.n_nodes, dtype=bool)
        mask[list(self.nodes)] = True
        return mask

    @property
    def edge_mask(self) -> BoolArray:
        """Which edges of the graph are in the subgraph: those with both ends in it."""
        mask = self.node_mask
        return np.asarray(mask[self.graph.edges].all(axis=1)) if self.graph.n_edges else np.zeros(0, bool)

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The edges of the subgraph, as pairs of nodes of the graph."""
        return tuple((int(u), int(v)) for u, v in self.graph.edges[self.edge_mask].tolist())

    @property
    def subgraph(self) -> Graph:
        """The subgraph as a graph of its own, renumbered; features stay as they were."""
        return self.graph.subgraph(np.array(self.nodes, dtype=np.int64))

    @property
    def is_empty(self) -> bool:
        """Whether there is no node, and so no subgraph to show."""
        return not self.nodes
