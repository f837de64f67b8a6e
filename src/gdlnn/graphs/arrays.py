"""Many graphs as a few arrays and back: checked once as a whole, then cut into views.

Files live elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gdlnn.errors import GraphError
from gdlnn.graphs.graph import FloatArray, Graph, IntArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs.schema import Schema


@dataclass(frozen=True)
class GraphArrays:
    """Graphs laid end to end.

    ``nodes`` and ``edges`` hold all rows; graph i owns the rows ``offsets[i]`` to ``offsets[i + 1]``. Edge
    ends count from 0 within their graph, and an undirected edge stands once.
    """

    node_features: FloatArray
    node_offsets: IntArray
    edges: IntArray
    edge_features: FloatArray
    edge_offsets: IntArray
    directed: bool = False

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> GraphArrays:
        """Lay graphs end to end; they agree on features and direction, as those of a data set do."""
        if not graphs:
            zero = np.zeros(1, dtype=np.int64)
            empty = np.zeros((0, 0))
            return cls(empty, zero, np.zeros((0, 2), dtype=np.int64), empty, zero)
        return cls(
            np.concatenate([graph.node_features for graph in graphs]),
            offsets_of([graph.n_nodes for graph in graphs]),
            np.concatenate([graph.edges for graph in graphs]),
            np.concatenate([graph.edge_features for graph in graphs]),
            offsets_of([graph.n_edges for graph in graphs]),
            graphs[0].directed,
        )

    @property
    def n_graphs(self) -> int:
        """Number of graphs."""
        return len(self.node_offsets) - 1

    def edge_graph(self) -> IntArray:
        """Return the graph of each edge."""
        return np.repeat(np.arange(self.n_graphs), np.diff(self.edge_offsets))

    def global_edges(self) -> IntArray:
        """Return the edges with ends counted over all graphs."""
        return self.edges + self.node_offsets[:-1][self.edge_graph()][:, None]

    def check(self) -> None:
        """Refuse what `Graph` would refuse, in whole-array steps."""
        for what, offsets, rows in (
            ("node_offsets", self.node_offsets, len(self.node_features)),
            ("edge_offsets", self.edge_offsets, len(self.edges)),
        ):
            if len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != rows or (np.diff(offsets) < 0).any():
                raise GraphError(f"{what}: expected numbers rising from 0 to {rows}, got others")
        if len(self.node_offsets) != len(self.edge_offsets):
            raise GraphError(
                f"edge_offsets: expected {len(self.node_offsets)} numbers, as in node_offsets, "
                f"got {len(self.edge_offsets)}"
            )
        if len(self.edge_features) != len(self.edges):
            raise GraphError(
                f"edge_features: expected {len(self.edges)} rows, one per edge, got {len(self.edge_features)}"
            )
        for what, matrix, offsets in (
            ("node", self.node_features, self.node_offsets),
            ("edge", self.edge_features, self.edge_offsets),
        ):
            bad = np.argwhere(~np.isfinite(matrix))
            if len(bad):
                row, column = (int(i) for i in bad[0])
                graph = int(np.searchsorted(offsets, row, side="right")) - 1
                raise GraphError(
                    f"graph {graph}: {what} {row - int(offsets[graph])}, feature {column}: "
                    f"expected a finite number, got {matrix[row, column]}"
                )
        self._check_edges()

    def _check_edges(self) -> None:
        owner = self.edge_graph()
        sizes = np.diff(self.node_offsets)[owner]
        bad = np.argwhere((self.edges < 0) | (self.edges >= sizes[:, None]))
        if len(bad):
            row = int(bad[0, 0])
            graph, node = int(owner[row]), int(self.edges[row, bad[0, 1]])
            raise GraphError(
                f"graph {graph}: edge {row - int(self.edge_offsets[graph])}: "
                f"expected nodes from 0 to {int(sizes[row]) - 1}, got node {node}"
            )
        ends = self.global_edges()
        if not self.directed:
            ends = np.sort(ends, axis=1)
        keys = ends[:, 0] * max(len(self.node_features), 1) + ends[:, 1]
        order = np.argsort(keys, kind="stable")
        same = np.flatnonzero(keys[order][1:] == keys[order][:-1])
        if len(same):
            row = int(order[same[0] + 1])
            graph = int(owner[row])
            u, v = (int(end) for end in self.edges[row])
            raise GraphError(f"graph {graph}: edge ({u}, {v}): expected no parallel edges, got two")

    def graphs(self, schema: Schema | None = None, names: Sequence[str | None] | None = None) -> list[Graph]:
        """Cut into graphs that share memory; call `check` first unless the arrays are known good."""
        for of, expected, got in (
            ("node", len(schema.node) if schema else -1, self.node_features.shape[1]),
            ("edge", len(schema.edge) if schema else -1, self.edge_features.shape[1]),
        ):
            if schema is not None and expected != got:
                raise GraphError(f"expected {expected} {of} feature(s), as in the schema, got {got}")
        # A view taken from a read-only array is read-only, so the graphs stay immutable.
        nodes, edges, features = self.node_features + 0.0, self.edges.copy(), self.edge_features + 0.0
        for array in (nodes, edges, features):
            array.setflags(write=False)
        node_at, edge_at = self.node_offsets.tolist(), self.edge_offsets.tolist()
        labels = names if names is not None else [None] * self.n_graphs
        build = Graph._trusted
        return [
            build(nodes[a:b], edges[c:d], features[c:d], self.directed, schema, name)
            for a, b, c, d, name in zip(node_at, node_at[1:], edge_at, edge_at[1:], labels, strict=False)
        ]

    def degrees(self) -> IntArray:
        """Return every node's degree; a self-loop adds 1."""
        ends = self.global_edges()
        loop = ends[:, 0] == ends[:, 1]
        counted = np.concatenate([ends[:, 0], ends[~loop, 1]])
        return np.bincount(counted, minlength=len(self.node_features)).astype(np.int64)


def offsets_of(sizes: Sequence[int] | IntArray) -> IntArray:
    """Return where each block starts, with the total at the end."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets
