"""Twins in a data set: isomorphic graphs, features included, found by refined colours, then proved."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdlnn.graphs.arrays import GraphArrays

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.graphs.dataset import GraphDataset
    from gdlnn.graphs.graph import Graph, IntArray

Hashes = npt.NDArray[np.uint64]
ROUNDS = 6
"""Rounds of refinement: they tell nearly all molecules apart; the exact test settles the rest."""


@dataclass(frozen=True)
class Duplicates:
    """The groups of isomorphic graphs in a data set.

    Attributes
    ----------
    groups
        Rows of each group of two or more, rising.
    conflicting
        The groups whose graphs do not have the same label.
    n_graphs
        Number of graphs in the data set.
    """

    groups: tuple[tuple[int, ...], ...]
    conflicting: tuple[tuple[int, ...], ...]
    n_graphs: int
    indices: IntArray

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
            f"{self.n_graphs} graphs, {len(self.groups)} groups of twins, {self.n_extra} graphs too many, "
            f"{len(self.conflicting)} groups with conflicting labels"
        )


def find_duplicates(dataset: GraphDataset) -> Duplicates:
    """Find all groups of isomorphic graphs, node and edge features included."""
    graphs = dataset.graphs
    colours, offsets = refined_colours(graphs)
    buckets: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    totals = np.zeros(len(graphs), dtype=np.uint64)
    np.add.at(totals, np.repeat(np.arange(len(graphs)), np.diff(offsets)), _mix(colours))
    for row, (graph, total) in enumerate(zip(graphs, totals.tolist(), strict=True)):
        buckets[(graph.n_nodes, graph.n_edges, total)].append(row)
    groups: list[tuple[int, ...]] = []
    for rows in buckets.values():
        if len(rows) > 1:
            cut = [_Coloured(graphs[row], colours[offsets[row] : offsets[row + 1]]) for row in rows]
            groups.extend(tuple(rows[i] for i in group) for group in _prove(cut))
    groups.sort()
    y = dataset.y
    conflicting = [] if y is None else [group for group in groups if len(set(y[list(group)].tolist())) > 1]
    return Duplicates(tuple(groups), tuple(conflicting), len(graphs), dataset.indices)


def isomorphic(first: Graph, second: Graph) -> bool:
    """Say whether two graphs are the same up to the numbering of their nodes, features included."""
    if (first.n_nodes, first.n_edges, first.directed) != (second.n_nodes, second.n_edges, second.directed):
        return False
    if first.node_features.shape[1] != second.node_features.shape[1]:
        return False
    if first.edge_features.shape[1] != second.edge_features.shape[1]:
        return False
    colours, offsets = refined_colours([first, second])
    return _same(_Coloured(first, colours[: offsets[1]]), _Coloured(second, colours[offsets[1] :]))


def refined_colours(graphs: Sequence[Graph]) -> tuple[Hashes, IntArray]:
    """Colour all nodes of all graphs at once, so that nodes an isomorphism could exchange have one colour."""
    arrays = GraphArrays.of(graphs)
    colours = _row_hashes(arrays.node_features)
    ends = arrays.global_edges()
    edge_colours = _row_hashes(arrays.edge_features)
    out = np.uint64(0x9E3779B97F4A7C15)
    into = np.uint64(0xC2B2AE3D27D4EB4F) if arrays.directed else out
    loop = ends[:, 0] == ends[:, 1]
    for _ in range(ROUNDS):
        messages = np.zeros(len(colours), dtype=np.uint64)
        np.add.at(messages, ends[:, 0], _mix(_mix(colours[ends[:, 1]]) + edge_colours + out))
        back = ~loop  # an undirected loop is one line at its node, not two
        np.add.at(messages, ends[back, 1], _mix(_mix(colours[ends[back, 0]]) + edge_colours[back] + into))
        colours = _mix(colours * np.uint64(3) + _mix(messages))
    return colours, arrays.node_offsets


def _mix(values: Hashes) -> Hashes:
    """Spread every bit over the whole word (splitmix64)."""
    x = values + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _row_hashes(matrix: npt.NDArray[np.float64]) -> Hashes:
    """Hash each row by the bytes of its numbers; 0.0 and -0.0 are one value."""
    result = np.zeros(len(matrix), dtype=np.uint64)
    for column in (matrix + 0.0).T:
        result = _mix(result + np.ascontiguousarray(column).view(np.uint64))
    return result


class _Coloured:
    """A graph with what the exact test asks again and again."""

    def __init__(self, graph: Graph, colours: Hashes) -> None:
        self.graph = graph
        self.colours: list[int] = colours.tolist()
        self.sorted_colours = sorted(self.colours)
        self.nodes = [row.tobytes() for row in graph.node_features]
        self.adjacent: list[dict[int, bytes]] = [{} for _ in range(graph.n_nodes)]
        for (u, v), row in zip(graph.edges.tolist(), graph.edge_features, strict=True):
            features = row.tobytes()
            self.adjacent[u][v] = features
            if not graph.directed:
                self.adjacent[v][u] = features
        self.neighbours: list[set[int]] = [set(a) for a in self.adjacent]
        if graph.directed:
            for u, v in graph.edges.tolist():
                self.neighbours[v].add(u)
        self.by_colour: dict[int, list[int]] = defaultdict(list)
        for node, colour in enumerate(self.colours):
            self.by_colour[colour].append(node)

    def order(self) -> list[int]:
        """Return the nodes so that each, where it can, has an earlier neighbour; rare colours first."""
        rank = [(len(self.by_colour[c]), c, node) for node, c in enumerate(self.colours)]
        left, order = set(range(len(self.nodes))), list[int]()
        front: set[int] = set()
        while left:
            node = min(front or left, key=rank.__getitem__)
            order.append(node)
            left.discard(node)
            front = (front | self.neighbours[node]) & left
        return order


def _prove(items: list[_Coloured]) -> Iterator[list[int]]:
    """Give the groups, by position, of two or more graphs that are isomorphic."""
    classes: list[list[int]] = []
    for i, item in enumerate(items):
        home = next((group for group in classes if _same(items[group[0]], item)), None)
        if home is None:
            classes.append([i])
        else:
            home.append(i)
    return (group for group in classes if len(group) > 1)


def _same(first: _Coloured, second: _Coloured) -> bool:
    """Search for an isomorphism, depth first without recursion; both have equally many nodes and edges."""
    if first.sorted_colours != second.sorted_colours:
        return False
    order = first.order()
    image: dict[int, int] = {}
    used: set[int] = set()
    choices: list[Iterator[int]] = []
    while len(image) < len(order):
        if len(choices) == len(image):
            choices.append(_candidates(order[len(image)], first, second, image))
        node = order[len(choices) - 1]
        target = next(
            (t for t in choices[-1] if t not in used and _fits(node, t, first, second, image)), None
        )
        if target is not None:
            image[node] = target
            used.add(target)
            continue
        choices.pop()
        if not choices:
            return False
        used.discard(image.pop(order[len(choices) - 1]))
    return True


def _candidates(node: int, first: _Coloured, second: _Coloured, image: dict[int, int]) -> Iterator[int]:
    """Give the nodes of one colour, beside the image of a neighbour where there is one."""
    colour = first.colours[node]
    placed = next((n for n in first.neighbours[node] if n in image), None)
    if placed is None:
        return iter(second.by_colour[colour])
    return iter([t for t in sorted(second.neighbours[image[placed]]) if second.colours[t] == colour])


def _fits(node: int, target: int, first: _Coloured, second: _Coloured, image: dict[int, int]) -> bool:
    if first.nodes[node] != second.nodes[target] or len(first.neighbours[node]) != len(
        second.neighbours[target]
    ):
        return False
    if first.adjacent[node].get(node) != second.adjacent[target].get(target):
        return False
    for other in first.neighbours[node]:
        if other in image:
            there = image[other]
            if first.adjacent[node].get(other) != second.adjacent[target].get(there):
                return False
            if first.adjacent[other].get(node) != second.adjacent[there].get(target):
                return False
    return True
