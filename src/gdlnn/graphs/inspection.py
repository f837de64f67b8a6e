"""Statistics of a dataset, as in the paper's table, and its duplicates."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.graphs.identity import first_twins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs.dataset import GraphDataset
    from gdlnn.graphs.graph import IntArray
    from gdlnn.io.frames import Columns

HEADER = ("", "Graphs", "Avg nodes", "Avg edges", "Labels", "Node features", "Edge features")


@dataclass(frozen=True)
class Summary:
    """One row of the table; as text it is the row below its header.

    An undirected self-loop counts as half an edge, as it adds 1 to the degree: the average is half that of
    the sum of degrees, as in the table of the paper.
    """

    name: str
    n_graphs: int
    avg_nodes: float
    avg_edges: float
    n_labels: int
    n_node_features: int
    n_edge_features: int
    class_counts: dict[Any, int]

    def row(self) -> tuple[str, ...]:
        """Return the cells of the row."""
        return (
            self.name,
            str(self.n_graphs),
            f"{self.avg_nodes:.2f}",
            f"{self.avg_edges:.2f}",
            str(self.n_labels),
            str(self.n_node_features),
            str(self.n_edge_features),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain JSON values."""
        return {
            "name": self.name,
            "graphs": self.n_graphs,
            "avg_nodes": round(self.avg_nodes, 4),
            "avg_edges": round(self.avg_edges, 4),
            "labels": self.n_labels,
            "node_features": self.n_node_features,
            "edge_features": self.n_edge_features,
            "classes": {str(label): count for label, count in self.class_counts.items()},
        }

    def __str__(self) -> str:
        widths = [max(len(a), len(b)) for a, b in zip(HEADER, self.row(), strict=True)]

        def line(cells: tuple[str, ...]) -> str:
            return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))

        return f"{line(HEADER)}\n{line(self.row())}"

    __repr__ = __str__


def summarise(dataset: GraphDataset) -> Summary:
    """Count graphs, nodes, edges, labels and features."""
    n = len(dataset)
    loops = sum(int((g.edges[:, 0] == g.edges[:, 1]).sum()) for g in dataset.graphs if not g.directed)
    nodes = sum(g.n_nodes for g in dataset.graphs)
    edges = sum(g.n_edges for g in dataset.graphs) - loops / 2
    counts: dict[Any, int] = {}
    if dataset.y is not None:
        labels, sizes = np.unique(dataset.y, return_counts=True)
        counts = dict(zip(labels.tolist(), sizes.tolist(), strict=True))
    return Summary(
        dataset.name or "dataset",
        n,
        nodes / n if n else 0.0,
        edges / n if n else 0.0,
        len(counts),
        dataset.n_node_features,
        dataset.n_edge_features,
        counts,
    )


def dataset_columns(dataset: GraphDataset) -> Columns:
    """Return a dataset as columns: identifier, SMILES, label, sizes, and the columns of its table."""
    columns: Columns = {"id": dataset.ids or [graph.name for graph in dataset.graphs]}
    if dataset.smiles is not None:
        columns["smiles"] = list(dataset.smiles)
    if dataset.y is not None:
        columns["label"] = dataset.y.tolist()
    columns["nodes"] = [graph.n_nodes for graph in dataset.graphs]
    columns["edges"] = [graph.n_edges for graph in dataset.graphs]
    return columns | {name: list(cells) for name, cells in dataset.columns.items() if name not in columns}


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
        return self.across_rows([np.flatnonzero(np.isin(self.indices, part.indices)) for part in parts])

    def across_rows(self, parts: Sequence[IntArray]) -> tuple[tuple[int, ...], ...]:
        """Return the groups with twins in two or more sets of rows."""
        part_of = np.full(self.n_graphs, -1, dtype=np.int64)
        for number, rows in enumerate(parts):
            part_of[rows] = number
        return tuple(
            group for group in self.groups if len({int(p) for p in part_of[list(group)] if p >= 0}) > 1
        )

    def __str__(self) -> str:
        return (
            f"{self.n_graphs} graphs, {len(self.groups)} groups of duplicates, {self.n_extra} redundant "
            f"graphs, {len(self.conflicting)} groups with conflicting labels"
        )


def find_duplicates(dataset: GraphDataset) -> Duplicates:
    """Find all groups of isomorphic graphs, node and edge features included."""
    rows: dict[int, list[int]] = defaultdict(list)
    for row, first in enumerate(first_twins(dataset.graphs)):
        rows[first].append(row)
    groups = [tuple(group) for group in rows.values() if len(group) > 1]
    y = dataset.y
    conflicting = [] if y is None else [group for group in groups if len(set(y[list(group)].tolist())) > 1]
    return Duplicates(tuple(groups), tuple(conflicting), len(dataset), dataset.indices)
