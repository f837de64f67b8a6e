"""GraphSet: graphs encoded once for the core, so that repeated matching and mining encode nothing again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdlnn import _core
from gdlnn.errors import MatchError
from gdlnn.graphs.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class GraphSet:
    """Graphs with the same numbers of features, encoded for the core.

    Parameters
    ----------
    graphs
        The graphs; directed and undirected ones may be mixed.
    """

    def __init__(self, graphs: Iterable[Graph]) -> None:
        self.graphs: Sequence[Graph] = list(graphs)
        for index, graph in enumerate(self.graphs):
            if not isinstance(graph, Graph):
                raise MatchError(f"graph {index}: expected a Graph, got {type(graph).__name__}")
        self.native = _encode(self.graphs)
        # Without a node (or an edge) anywhere, any number of features fits.
        self.has_nodes = any(graph.n_nodes for graph in self.graphs)
        self.has_edges = any(graph.n_edges for graph in self.graphs)

    @property
    def n_node_features(self) -> int:
        """Number of node features."""
        return self.native.n_node_features

    @property
    def n_edge_features(self) -> int:
        """Number of edge features."""
        return self.native.n_edge_features

    @property
    def nbytes(self) -> int:
        """Memory that the encoding takes."""
        return self.native.nbytes

    def __len__(self) -> int:
        return len(self.graphs)

    def __repr__(self) -> str:
        return f"<GraphSet: {len(self)} graphs, {self.nbytes / 1e6:.1f} MB>"


def encoded(graph: Graph) -> GraphSet:
    """Return the encoding of one graph, made on the first call and kept with the graph."""
    if graph._encoded is None:
        object.__setattr__(graph, "_encoded", GraphSet([graph]))
    return graph._encoded  # type: ignore[no-any-return]


def _encode(graphs: Sequence[Graph]) -> _core.GraphSet:
    n_node_features = _common_width(
        "node", [(len(g.node_features), g.node_features.shape[1]) for g in graphs]
    )
    n_edge_features = _common_width(
        "edge", [(len(g.edge_features), g.edge_features.shape[1]) for g in graphs]
    )
    node_features = [g.node_features for g in graphs if g.n_nodes] or [np.zeros((0, n_node_features))]
    edge_features = [g.edge_features for g in graphs if g.n_edges] or [np.zeros((0, n_edge_features))]
    return _core.GraphSet(
        np.ascontiguousarray(np.concatenate(node_features)),
        np.cumsum([0] + [graph.n_nodes for graph in graphs], dtype=np.int64),
        np.ascontiguousarray(
            np.concatenate([graph.edges for graph in graphs] or [np.zeros((0, 2), dtype=np.int64)])
        ),
        np.ascontiguousarray(np.concatenate(edge_features)),
        np.cumsum([0] + [graph.n_edges for graph in graphs], dtype=np.int64),
        np.array([graph.directed for graph in graphs], dtype=bool),
    )


def _common_width(what: str, shapes: Sequence[tuple[int, int]]) -> int:
    """Return the number of features that all graphs share; one without rows may come without columns."""
    expected, first = 0, -1
    for index, (rows, width) in enumerate(shapes):
        if rows == 0 and width == 0:
            continue
        if first < 0:
            expected, first = width, index
        elif width != expected:
            raise MatchError(
                f"graph {index}: expected {expected} {what} feature(s), as in graph {first}, got {width}"
            )
    return expected
