"""Decide whether graphs are equal: fingerprints, refined colors, canonical forms, duplicates."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.graphs.arrays import GraphArrays

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from gdlnn.graphs.dataset import GraphDataset
    from gdlnn.graphs.graph import FloatArray, Graph, IntArray

Hashes = npt.NDArray[np.uint64]
Columns = tuple[list[int], list[int]]
"""Some features of nodes and of edges, by column."""
ROUNDS = 6
"""Rounds of refinement: enough to distinguish nearly all molecules; canonical forms decide the rest."""


def fingerprint(graphs: Sequence[Graph], *more: npt.NDArray[Any]) -> str:
    """Return a hash of graphs (features, edges, direction) and of other arrays, such as label codes."""
    arrays = GraphArrays.of(graphs)
    digest = hashlib.sha256()
    for array in (*arrays[:5], np.array([arrays.is_directed]), *more):
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def mix64(values: Hashes) -> Hashes:
    """Spread every bit over the whole word (splitmix64)."""
    x = values + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def first_twins(graphs: Sequence[Graph], groups: Sequence[Hashable] | None = None) -> list[int]:
    """Return for each graph the first one of its group that is isomorphic to it, usually itself.

    Graphs agree on features and direction, as those of a dataset do. Without `groups` they are all in one.
    Sums of refined colors distinguish nearly all graphs; canonical forms decide the rest.
    """
    colors, offsets = refined_colors(graphs)
    totals = color_sums(colors, offsets)
    buckets: dict[Hashable, list[int]] = defaultdict(list)
    for row, (graph, total) in enumerate(zip(graphs, totals.tolist(), strict=True)):
        group = None if groups is None else groups[row]
        buckets[group, graph.n_nodes, graph.n_edges, total].append(row)
    first = list(range(len(graphs)))
    for rows in buckets.values():
        if len(rows) > 1:
            firsts: dict[Hashable, int] = {}
            for row in rows:
                first[row] = firsts.setdefault(canonical_form(graphs[row]), row)
    return first


def canonical_form(
    graph: Graph, node_features: FloatArray | None = None, edge_features: FloatArray | None = None
) -> tuple[Hashable, ...]:
    """Return a value that is equal exactly for isomorphic graphs with the same features.

    Features that are given take the place of the graph's own.
    """
    nodes = graph.node_features if node_features is None else node_features
    edges = graph.edge_features if edge_features is None else edge_features
    order = _canonical_order(graph, nodes, edges)
    place = np.argsort(order)
    ends = graph.edges
    ends = place[ends] if graph.directed else np.sort(place[ends], axis=1)
    by_ends = np.lexsort((ends[:, 1], ends[:, 0]))
    return (
        graph.directed,
        nodes.shape,
        edges.shape,
        nodes[order].tobytes(),
        ends[by_ends].tobytes(),
        edges[by_ends].tobytes(),
    )


def canonical_order(graph: Graph, hidden: Sequence[str] = ()) -> npt.NDArray[np.int32]:
    """Return the nodes in an order that does not depend on their numbering, up to an automorphism.

    Features named in `hidden` are ignored.
    """
    nodes, edges = graph.node_features, graph.edge_features
    if hidden and graph.schema is not None:
        nodes = nodes[:, [f.name not in hidden for f in graph.schema.node]]
        edges = edges[:, [f.name not in hidden for f in graph.schema.edge]]
    return _canonical_order(graph, nodes, edges)


def _canonical_order(graph: Graph, nodes: FloatArray, edges: FloatArray) -> npt.NDArray[np.int32]:
    from gdlnn import _core  # only here, so that datasets can be read and written without the core

    ends = graph.edges if graph.directed else np.sort(graph.edges, axis=1)
    order: npt.NDArray[np.int32] = _core.canonical_order(
        _ranks(nodes), ends.astype(np.int32), _ranks(edges), graph.directed
    )
    return order


def _ranks(matrix: FloatArray) -> npt.NDArray[np.int32]:
    """Return the rank of each row among the distinct rows: a color that does not depend on their order."""
    if not matrix.size:
        return np.zeros(len(matrix), dtype=np.int32)
    matrix = np.where(np.isnan(matrix), np.inf, matrix)  # missing values are equal, and come last
    order = np.lexsort(matrix.T[::-1])  # a tenth of the time of np.unique with an axis
    rows = matrix[order]
    ranks = np.zeros(len(matrix), dtype=np.int32)
    ranks[order[1:]] = np.cumsum((rows[1:] != rows[:-1]).any(axis=1))
    return ranks


def refined_colors(
    graphs: Sequence[Graph], rounds: int = ROUNDS, columns: Columns | None = None
) -> tuple[Hashes, IntArray]:
    """Color all nodes of all graphs at once, so that nodes an isomorphism could exchange have one color.

    Parameters
    ----------
    graphs
        Graphs that agree on features and direction.
    rounds
        How far a color reaches: after one round it is that of a node, its edges and its neighbors.
    columns
        Features of nodes and of edges to look at, by column; by default all.

    Returns
    -------
    The colors, and where the nodes of each graph begin.
    """
    arrays = GraphArrays.of(graphs)
    directed = arrays.is_directed
    if columns is not None:
        nodes, edges = (
            features[:, chosen] if len(features) else np.zeros((0, len(chosen)))
            for features, chosen in zip((arrays.node_features, arrays.edge_features), columns, strict=True)
        )
        arrays = arrays._replace(node_features=nodes, edge_features=edges)
        directed = any(graph.directed for graph in graphs if graph.n_edges)
    colors = _row_hashes(arrays.node_features)
    ends = arrays.global_edges()
    edge_colors = _row_hashes(arrays.edge_features)
    out = np.uint64(0x9E3779B97F4A7C15)
    into = np.uint64(0xC2B2AE3D27D4EB4F) if directed else out
    back = ends[:, 0] != ends[:, 1]  # an undirected loop is one line at its node, not two
    for _ in range(rounds):
        messages = np.zeros(len(colors), dtype=np.uint64)
        np.add.at(messages, ends[:, 0], mix64(mix64(colors[ends[:, 1]]) + edge_colors + out))
        np.add.at(messages, ends[back, 1], mix64(mix64(colors[ends[back, 0]]) + edge_colors[back] + into))
        colors = mix64(colors * np.uint64(3) + mix64(messages))
    return colors, arrays.node_offsets


def color_sums(colors: Hashes, offsets: IntArray) -> Hashes:
    """Return one number per graph: equal for isomorphic graphs, and hardly ever for others."""
    totals = np.zeros(len(offsets) - 1, dtype=np.uint64)
    np.add.at(totals, np.repeat(np.arange(len(totals)), np.diff(offsets)), mix64(colors))
    return totals


def _row_hashes(matrix: npt.NDArray[np.float64]) -> Hashes:
    """Hash each row by the bytes of its numbers; 0.0 and -0.0 are one value."""
    result = np.zeros(len(matrix), dtype=np.uint64)
    for column in (matrix + 0.0).T:
        result = mix64(result + np.ascontiguousarray(column).view(np.uint64))
    return result


def among(values: npt.NDArray[Any], known: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which values are among known ones, which must be sorted."""
    if not len(known):
        return np.zeros(len(values), dtype=bool)
    return np.asarray(known[np.minimum(np.searchsorted(known, values), len(known) - 1)] == values)


@dataclass(frozen=True)
class Duplicates:
    """The groups of isomorphic graphs in a dataset.

    Attributes
    ----------
    groups
        Rows of each group of two or more, sorted.
    conflicting
        The groups whose graphs do not have the same label.
    n_graphs
        Number of graphs in the dataset.
    """

    groups: tuple[tuple[int, ...], ...]
    conflicting: tuple[tuple[int, ...], ...]
    n_graphs: int
    indices: IntArray

    @classmethod
    def of(cls, dataset: GraphDataset) -> Duplicates:
        """Find all groups of isomorphic graphs, node and edge features included."""
        rows: dict[int, list[int]] = defaultdict(list)
        for row, first in enumerate(first_twins(dataset.graphs)):
            rows[first].append(row)
        groups = tuple(tuple(group) for group in rows.values() if len(group) > 1)
        y = dataset.y
        differing = () if y is None else (group for group in groups if len(set(y[list(group)].tolist())) > 1)
        return cls(groups, tuple(differing), len(dataset), dataset.indices)

    @property
    def twin_of(self) -> IntArray:
        """For each graph the first of its group, usually itself."""
        first = np.arange(self.n_graphs)
        for group in self.groups:
            first[list(group)] = group[0]
        return first

    @property
    def n_extra(self) -> int:
        """Number of graphs beyond the first of their group."""
        return sum(len(group) - 1 for group in self.groups)

    def across(self, *parts: GraphDataset) -> tuple[tuple[int, ...], ...]:
        """Return the groups with twins in two or more parts of a split."""
        part_of = np.full(self.n_graphs, -1, dtype=np.int64)
        for number, part in enumerate(parts):
            part_of[np.isin(self.indices, part.indices)] = number
        return tuple(group for group in self.groups if len(set(part_of[list(group)].tolist()) - {-1}) > 1)
