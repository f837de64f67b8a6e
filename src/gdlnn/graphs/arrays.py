"""Many graphs as a few arrays: GraphArrays for readers and other processes, GraphSet for the core."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gdlnn.errors import MatchError
from gdlnn.graphs.graph import BoolArray, FloatArray, Graph, IntArray, same_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdlnn import _core
    from gdlnn.graphs.schema import Schema


class GraphArrays(NamedTuple):
    """Graphs as concatenated arrays, without names and schema, as the core takes them.

    Graph i owns the rows ``offsets[i]`` to ``offsets[i + 1]`` of nodes and of edges. Edge ends count from 0
    within their graph, and an undirected edge is listed once.
    """

    node_features: FloatArray
    node_offsets: IntArray
    edges: IntArray
    edge_features: FloatArray
    edge_offsets: IntArray
    directed: BoolArray

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> GraphArrays:
        """Concatenate graphs, which must agree on features, as those of a dataset do.

        Graphs without nodes or edges may lack the features of those.
        """
        empty = np.zeros((0, _common_width("node", [graph.node_features for graph in graphs])))
        no_edges = np.zeros((0, _common_width("edge", [graph.edge_features for graph in graphs])))
        return cls(
            np.concatenate([empty, *(graph.node_features for graph in graphs if graph.n_nodes)]),
            offsets_of([graph.n_nodes for graph in graphs]),
            np.concatenate([np.zeros((0, 2), dtype=np.int64), *(graph.edges for graph in graphs)]),
            np.concatenate([no_edges, *(graph.edge_features for graph in graphs if graph.n_edges)]),
            offsets_of([graph.n_edges for graph in graphs]),
            np.array([graph.directed for graph in graphs], dtype=bool),
        )

    @property
    def n_graphs(self) -> int:
        """Number of graphs."""
        return len(self.node_offsets) - 1

    @property
    def is_directed(self) -> bool:
        """Whether the graphs are directed, where all of them agree."""
        return bool(self.directed[:1].any())

    def edge_graph(self) -> IntArray:
        """Return the graph of each edge."""
        return np.repeat(np.arange(self.n_graphs), np.diff(self.edge_offsets))

    def global_edges(self) -> IntArray:
        """Return the edges with ends counted over all graphs."""
        return self.edges + self.node_offsets[:-1][self.edge_graph()][:, None]

    def graphs(
        self,
        schema: Schema | None = None,
        names: Sequence[str | None] | None = None,
        node_names: Sequence[Sequence[str] | None] | None = None,
    ) -> list[Graph]:
        """Split into graphs that share memory; nothing is checked."""
        if schema is not None:
            schema.check_widths(self.node_features.shape[1], self.edge_features.shape[1])
        # A view taken from a read-only array is read-only, so the graphs stay immutable.
        nodes, features = same_bytes(self.node_features), same_bytes(self.edge_features)
        edges = self.edges.copy()
        for array in (nodes, edges, features):
            array.setflags(write=False)
        node_at, edge_at = self.node_offsets.tolist(), self.edge_offsets.tolist()
        labels = names if names is not None else [None] * self.n_graphs
        of_nodes = node_names if node_names is not None else [None] * self.n_graphs
        build = Graph._trusted
        return [
            build(nodes[a:b], edges[c:d], features[c:d], directed, schema, name, own and tuple(own))
            for a, b, c, d, directed, name, own in zip(
                *(node_at, node_at[1:], edge_at, edge_at[1:], self.directed.tolist(), labels, of_nodes),
                strict=False,
            )
        ]

    def with_degrees(self) -> GraphArrays:
        """Return the same graphs with the degree as the only node feature."""
        found = degrees(len(self.node_features), self.global_edges())
        return self._replace(node_features=found.astype(np.float64)[:, None])


def degrees(n_nodes: int, edges: IntArray) -> IntArray:
    """Return the degree of each node; a self-loop adds 1."""
    loop = edges[:, 0] == edges[:, 1]
    ends = np.concatenate([edges[:, 0], edges[~loop, 1]])
    return np.bincount(ends, minlength=n_nodes).astype(np.int64)


def components(n_nodes: int, edges: IntArray) -> IntArray:
    """Return the number of each node's connected component, directions aside."""
    from scipy.sparse import coo_array  # late: scipy takes longer to load than this whole package
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(edges), dtype=bool), (edges[:, 0], edges[:, 1])), shape=(n_nodes, n_nodes))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)


def offsets_of(sizes: Sequence[int] | IntArray) -> IntArray:
    """Return where each block starts, with the total at the end."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


class GraphSet:
    """Graphs with the same numbers of features, in the core's encoding.

    Parameters
    ----------
    graphs
        The graphs; directed and undirected ones may be mixed.

    Attributes
    ----------
    arrays
        The concatenated graphs.
    """

    def __init__(self, graphs: Iterable[Graph]) -> None:
        self.graphs: Sequence[Graph] = list(graphs)
        for index, graph in enumerate(self.graphs):
            if not isinstance(graph, Graph):
                raise MatchError(f"graph {index}: expected a Graph, got {type(graph).__name__}")
        self.arrays = GraphArrays.of(self.graphs)
        # Without a node (or an edge) anywhere, any number of features fits.
        self.has_nodes = len(self.arrays.node_features) > 0
        self.has_edges = len(self.arrays.edge_features) > 0

    @cached_property
    def native(self) -> _core.GraphSet:
        """The graphs encoded for single searches and for mining."""
        from gdlnn import _core  # only here, so that datasets can be read and written without the core

        return _core.GraphSet(*self.arrays)

    @property
    def n_node_features(self) -> int:
        """Number of node features."""
        return int(self.arrays.node_features.shape[1])

    @property
    def n_edge_features(self) -> int:
        """Number of edge features."""
        return int(self.arrays.edge_features.shape[1])

    @property
    def kind(self) -> tuple[int, int, bool, bool, tuple[bool, ...]]:
        """What programs are compiled for: the numbers of features, and whether graphs are directed."""
        nodes, edges = self.n_node_features, self.n_edge_features
        directions = tuple(np.unique(self.arrays.directed).tolist())
        return nodes, edges, self.has_nodes or nodes > 0, self.has_edges or edges > 0, directions

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


def _common_width(what: str, matrices: Sequence[FloatArray]) -> int:
    """Return the number of features that all graphs share; one without rows may lack columns."""
    if len({matrix.shape[1] for matrix in matrices}) == 1:
        return int(matrices[0].shape[1])
    expected, first = 0, -1
    for index, (rows, width) in enumerate(matrix.shape for matrix in matrices):
        if rows == 0 and width == 0:
            continue
        if first < 0:
            expected, first = width, index
        elif width != expected:
            raise MatchError(
                f"graph {index}: expected {expected} {what} feature(s), as in graph {first}, got {width}"
            )
    return expected
