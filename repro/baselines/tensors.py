"""From graphs to the tensors of a network: features as columns, graphs end to end, sliced into batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.schema import Feature

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.graphs import Graph, Schema

FloatArray = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
MAX_VALUES = 16
"""Most values of a whole-number quantity that still get a column each."""


# --- features ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """How one feature is encoded: a 0/1 column per value, a standardised number, or both."""

    values: FloatArray | None
    mean: float = 0.0
    scale: float | None = None

    @property
    def width(self) -> int:
        """Number of columns."""
        return (0 if self.values is None else len(self.values)) + (self.scale is not None)


class FeatureEncoder:
    """One-hot columns for nominal features, standardised numbers for quantities, both for ordinal ones.

    A whole-number quantity with few values, such as a degree, also gets both. Values not seen in training get
    zeros. Without any feature there is one column of ones, so that a network has an input.

    Attributes
    ----------
    node_, edge_
        How each feature is encoded.
    """

    node_: list[Column]
    edge_: list[Column]

    def fit(self, graphs: Sequence[Graph], schema: Schema | None) -> FeatureEncoder:
        """Learn values, means and deviations from the training graphs."""
        nodes = np.concatenate([graph.node_features for graph in graphs])
        edges = np.concatenate([graph.edge_features for graph in graphs])
        self.node_ = [_learn(f, c) for f, c in zip(_named(schema, "node", nodes), nodes.T, strict=True)]
        self.edge_ = [_learn(f, c) for f, c in zip(_named(schema, "edge", edges), edges.T, strict=True)]
        return self

    @property
    def n_node_columns(self) -> int:
        """Number of columns for nodes, at least one."""
        return max(1, sum(column.width for column in self.node_))

    @property
    def n_edge_columns(self) -> int:
        """Number of columns for edges."""
        return sum(column.width for column in self.edge_)

    def nodes(self, table: FloatArray) -> Float32Array:
        """Encode the rows of node features."""
        encoded = _encode(table, self.node_)
        return encoded if encoded.shape[1] else np.ones((len(table), 1), dtype=np.float32)

    def edges(self, table: FloatArray) -> Float32Array:
        """Encode the rows of edge features."""
        return _encode(table, self.edge_)


def _named(schema: Schema | None, of: str, table: FloatArray) -> list[Feature]:
    known = () if schema is None else getattr(schema, of)
    if len(known) == table.shape[1]:
        return list(known)
    return [Feature(f"feature {i}") for i in range(table.shape[1])]


def _learn(feature: Feature, column: FloatArray) -> Column:
    seen = np.unique(column)
    if feature.kind == "nominal":
        return Column(seen)
    mean = float(column.mean()) if len(column) else 0.0
    deviation = float(column.std()) if len(column) else 0.0
    scale = deviation if deviation > 1e-7 * max(1.0, abs(mean)) else 1.0
    whole = bool((seen == np.floor(seen)).all()) and len(seen) <= MAX_VALUES
    return Column(seen if feature.kind == "ordinal" or whole else None, mean, scale)


def _encode(table: FloatArray, columns: Sequence[Column]) -> Float32Array:
    parts = [np.zeros((len(table), 0), dtype=np.float32)]
    for values, column in zip(table.T, columns, strict=False):
        if column.values is not None:
            parts.append((values[:, None] == column.values).astype(np.float32))
        if column.scale is not None:
            parts.append(((values - column.mean) / column.scale).astype(np.float32)[:, None])
    return np.hstack(parts)


# --- batches ----------------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """Graphs side by side: one disconnected graph, and the graph that each node belongs to."""

    x: torch.Tensor
    edge_index: torch.Tensor
    edge_attr: torch.Tensor | None
    graph: torch.Tensor
    n_graphs: int
    y: torch.Tensor


class GraphTensors:
    """Graphs end to end on a device, encoded once and reordered as a whole every epoch.

    An undirected edge is there in both directions, a self-loop once. Edge ends count from the first node of
    their own graph, so that reordering graphs moves rows and changes no number.

    Parameters
    ----------
    graphs, codes
        The graphs and the numbers of their labels.
    encoder
        The fitted encoder of their features.
    device
        The device of the tensors.
    """

    def __init__(
        self, graphs: Sequence[Graph], codes: IntArray, encoder: FeatureEncoder, device: torch.device
    ) -> None:
        flat = GraphArrays.of(graphs)
        rows, ends = _both_directions(flat)
        edge_graph = flat.edge_graph()[rows]
        order = np.argsort(edge_graph, kind="stable")
        self.node_sizes: IntArray = np.diff(flat.node_offsets)
        self.edge_sizes: IntArray = np.bincount(edge_graph, minlength=len(graphs)).astype(np.int64)
        self.x = torch.from_numpy(encoder.nodes(flat.node_features)).to(device)
        self.ends = torch.from_numpy(np.ascontiguousarray(ends[order].T)).to(device)
        self.edge_attr: torch.Tensor | None = None
        if encoder.n_edge_columns:
            self.edge_attr = torch.from_numpy(encoder.edges(flat.edge_features)[rows[order]]).to(device)
        self.y = torch.from_numpy(codes).to(device)
        self.device = device

    def __len__(self) -> int:
        return len(self.node_sizes)

    def batches(self, batch_size: int, order: IntArray | None = None) -> Iterator[Batch]:
        """Yield batches of graphs, reordered if an order is given."""
        x, ends, edge_attr, y = self.x, self.ends, self.edge_attr, self.y
        node_sizes, edge_sizes = self.node_sizes, self.edge_sizes
        if order is not None:
            nodes = self._to_device(_rows(node_sizes, order))
            edges = self._to_device(_rows(edge_sizes, order))
            x, ends, y = x[nodes], ends[:, edges], y[self._to_device(order)]
            edge_attr = None if edge_attr is None else edge_attr[edges]
            node_sizes, edge_sizes = node_sizes[order], edge_sizes[order]
        n = len(node_sizes)
        node_starts, edge_starts = _starts(node_sizes), _starts(edge_sizes)
        graph = self._to_device(np.repeat(np.arange(n), node_sizes))
        ends = ends + self._to_device(np.repeat(node_starts[:-1], edge_sizes))
        for first in range(0, n, batch_size):
            last = min(n, first + batch_size)
            a, b = int(node_starts[first]), int(node_starts[last])
            c, d = int(edge_starts[first]), int(edge_starts[last])
            attributes = None if edge_attr is None else edge_attr[c:d]
            yield Batch(x[a:b], ends[:, c:d] - a, attributes, graph[a:b] - first, last - first, y[first:last])

    def copies(self, x: torch.Tensor) -> Batch:
        """Return copies of one graph side by side, each with its own features: copies × nodes × columns."""
        n_copies, n = x.shape[:2]
        copies = torch.arange(n_copies, device=x.device)
        ends = (self.ends[:, None, :] + (copies * n)[None, :, None]).reshape(2, -1)
        attributes = None if self.edge_attr is None else self.edge_attr.repeat(n_copies, 1)
        graph = copies[:, None].expand(n_copies, n).reshape(-1)
        return Batch(x.reshape(n_copies * n, x.shape[2]), ends, attributes, graph, n_copies, copies)

    def subgraphs(self, kept: torch.Tensor) -> Batch:
        """Return induced subgraphs of one graph side by side, one for each row of a mask over its nodes."""
        n_copies, n = kept.shape
        rows, nodes = kept.nonzero(as_tuple=True)
        # The number of a node among those that are kept, over all subgraphs.
        number = torch.cumsum(kept.reshape(-1), 0).reshape(n_copies, n) - 1
        of_copy, edges = (kept[:, self.ends[0]] & kept[:, self.ends[1]]).nonzero(as_tuple=True)
        ends = torch.stack([number[of_copy, self.ends[0][edges]], number[of_copy, self.ends[1][edges]]])
        attributes = None if self.edge_attr is None else self.edge_attr[edges]
        copies = torch.arange(n_copies, device=self.device)
        return Batch(self.x[nodes], ends, attributes, rows, n_copies, copies)

    def _to_device(self, array: IntArray) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device)


def _both_directions(flat: GraphArrays) -> tuple[IntArray, npt.NDArray[np.int64]]:
    """Return for every directed edge the row it comes from, and its ends."""
    rows = np.arange(len(flat.edges))
    if flat.directed:
        return rows, flat.edges
    other = rows[flat.edges[:, 0] != flat.edges[:, 1]]
    return np.concatenate([rows, other]), np.concatenate([flat.edges, flat.edges[other][:, ::-1]])


def _starts(sizes: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _rows(sizes: IntArray, order: IntArray) -> IntArray:
    """Return the rows of graphs in another order."""
    chosen = sizes[order]
    return np.repeat(_starts(sizes)[:-1][order] - _starts(chosen)[:-1], chosen) + np.arange(chosen.sum())
