"""Places: connected parts of a graph whose nodes carry a reason, found from the scores of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.gdl.place_names import with_whole_groups
from gdlnn.gdl.program import EdgeDescription, NodeDescription, Program, exact_intervals
from gdlnn.graphs.identity import canonical_order
from gdlnn.graphs.molecules import hidden_by_default

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import Graph

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
SHARE_OF_HIGHEST, SHARE_IN_MOLECULES = 0.3, 0.7
"""A node belongs to a place from this share of the highest score of its side on.

In molecules it is higher, since the groups of these nodes are then taken whole.
"""
LEAST_POINTS = 0.01
"""A place that adds less than this to a probability is not one."""


class Place(NamedTuple):
    """A connected set of nodes, and what they add to the probability together."""

    nodes: tuple[int, ...]
    points: float


def find_places(graph: Graph, scores: FloatArray) -> list[Place]:
    """Return the places for and against the target, the largest first.

    On each side these are the connected parts of the nodes whose score is at least `SHARE_OF_HIGHEST` of the
    highest one; in molecules with the functional groups of these nodes. Of equal places the first is the same
    for every numbering of the graph.
    """
    sides = []
    share = SHARE_OF_HIGHEST if with_whole_groups(graph, ()) is None else SHARE_IN_MOLECULES
    for sign in (1.0, -1.0):
        own = np.round(sign * scores, 9)  # sums of equal scores differ in their last bits with the numbering
        highest = float(own.max(initial=0.0))
        there = np.flatnonzero(own >= share * highest) if highest > 0 else ()
        sides.append(frozenset(map(int, there)))
    first, second = sides
    grown = (with_whole_groups(graph, first) or first) - second
    other = (with_whole_groups(graph, second) or second) - grown
    parts = [*connected_parts(graph, sorted(grown)), *connected_parts(graph, sorted(other))]
    return [place for place in sorted_places(graph, scores, parts) if abs(place.points) >= LEAST_POINTS]


def sorted_places(graph: Graph, scores: FloatArray, parts: Sequence[tuple[int, ...]]) -> list[Place]:
    """Return parts of a graph with the sum of their scores, the largest first, of equals the smaller."""
    found = [Place(part, float(np.sort(scores[list(part)]).sum())) for part in parts]
    sizes = [(-round(abs(place.points), 9), len(place.nodes)) for place in found]
    order = sorted(range(len(found)), key=sizes.__getitem__)
    if len(set(sizes)) < len(sizes):
        ranks = _ranks(graph)
        order.sort(key=lambda i: (*sizes[i], *np.sort(ranks[list(found[i].nodes)]).tolist()))
    return [found[i] for i in order]


def growing_parts(graph: Graph, scores: FloatArray) -> list[tuple[int, ...]]:
    """Return parts of a graph that may matter by themselves, the smallest first.

    These are the places for the target, alone and together, and more and more of the nodes that add most, up
    to all but one. The nodes of a part are in the order of what they add.
    """
    ranks = _ranks(graph)
    order = sorted(range(graph.n_nodes), key=lambda v: (-round(float(scores[v]), 9), ranks[v]))
    places = [frozenset(place.nodes) for place in find_places(graph, scores) if place.points > 0]
    together = [frozenset[int]().union(*places[: n + 1]) for n in range(len(places))]
    sizes = [min(2**n, graph.n_nodes - 1) for n in range(graph.n_nodes.bit_length() + 1)]
    found = [*places, *together, *(frozenset(order[:n]) for n in sizes if n > 0)]
    return [tuple(v for v in order if v in part) for part in sorted(dict.fromkeys(found), key=len)]


def _ranks(graph: Graph) -> IntArray:
    """Return the place of each node in an order that does not depend on how the nodes are numbered."""
    return np.argsort(canonical_order(graph, hidden_by_default(graph.schema)))


def connected_parts(graph: Graph, nodes: Sequence[int] | IntArray) -> list[tuple[int, ...]]:
    """Return the connected parts of some nodes, each sorted, by their first nodes."""
    owner = {int(node): int(node) for node in nodes}

    def root(node: int) -> int:
        while owner[node] != node:
            owner[node] = owner[owner[node]]
            node = owner[node]
        return node

    for u, v in graph.edges.tolist():
        if u in owner and v in owner:
            a, b = sorted((root(u), root(v)))
            owner[b] = a
    parts: dict[int, list[int]] = {}
    for node in sorted(owner):
        parts.setdefault(root(node), []).append(node)
    return [tuple(part) for part in parts.values()]


def induced_program(graph: Graph, nodes: Sequence[int]) -> Program:
    """Return the program that describes some nodes and the edges between them with exactly their values."""
    names = {node: f"x{i}" for i, node in enumerate(nodes)}
    described = tuple(
        NodeDescription(names[node], exact_intervals(graph.node_features[node].tolist())) for node in nodes
    )
    edges = tuple(
        EdgeDescription(names[u], names[v], exact_intervals(graph.edge_features[i].tolist()))
        for i, (u, v) in enumerate(graph.edges.tolist())
        if u in names and v in names
    )
    return Program._trusted(described, edges)
