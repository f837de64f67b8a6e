"""GraphSet: graphs encoded once for the core, so that repeated matching and mining encode nothing again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gdlnn import _core
from gdlnn.errors import MatchError
from gdlnn.graphs.graph import Graph


class GraphSet:
    """Graphs with the same numbers of features, encoded for the core.

    Parameters
    ----------
    graphs
        The graphs; directed and undirected ones may be mixed.
    """

    def __init__(self, graphs: Iterable[Graph]) -> None:
        self.graphs: Sequence[Graph] = list(graphs)
        self.native = _encode(self.graphs)

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
    for what, widths in (
        ("node", [graph.node_features.shape[1] for graph in graphs]),
        ("edge", [graph.edge_features.shape[1] for graph in graphs]),
    ):
        for index, width in enumerate(widths):
            # A graph without edges may come without edge features.
            if width != max(widths) and not (what == "edge" and graphs[index].n_edges == 0):
                raise MatchError(f"graph {index}: expected {widths[0]} {what} features, as in graph 0, got {width}")
    n_edge_features = max((graph.edge_features.shape[1] for graph in graphs), default=0)
    node_features = [graph.node_features for graph in graphs] or [np.zeros((0, 0))]
    edge_features = [g.edge_features for g in graphs if g.n_edges] or [np.zeros((0, n_edge_features))]
    return _core.GraphSet(
        np.ascontiguousarray(np.concatenate(node_features)),
        np.cumsum([0] + [graph.n_nodes for graph in graphs], dtype=np.int64),
        np.ascontiguousarray(np.concatenate([graph.edges for graph in graphs] or [np.zeros((0, 2), dtype=np.int64)])),
        np.ascontiguousarray(np.concatenate(edge_features)),
        np.cumsum([0] + [graph.n_edges for graph in graphs], dtype=np.int64),
        np.array([graph.directed for graph in graphs], dtype=bool),
    )
