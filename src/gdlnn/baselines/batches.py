"""Graphs as tensors on a device: encoded once, reordered as a whole every epoch, sliced into batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from gdlnn.graphs.arrays import GraphArrays

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.baselines.encoding import FeatureEncoder
    from gdlnn.graphs import Graph

IntArray = npt.NDArray[np.int64]


class Batch(NamedTuple):
    """Graphs side by side: one disconnected graph, and which node belongs to which."""

    x: torch.Tensor
    edge_index: torch.Tensor
    edge_attr: torch.Tensor | None
    graph: torch.Tensor
    n_graphs: int
    y: torch.Tensor


class GraphTensors:
    """Graphs laid end to end on a device.

    An undirected edge stands in both directions, a self-loop once. Edge ends count from the first node of
    their own graph, so that reordering graphs moves rows and changes no number.

    Parameters
    ----------
    graphs, codes
        The graphs and the numbers of their labels.
    encoder
        The fitted encoder of their features.
    device
        Where the tensors live.
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
        """Give batches of graphs, in an order where one is given."""
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
