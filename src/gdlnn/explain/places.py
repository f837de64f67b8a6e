"""Places: connected parts of a graph whose nodes carry a reason, found from the scores of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.gdl.program import EdgeDescription, Interval, NodeDescription, Program
from gdlnn.graphs.identity import canonical_order
from gdlnn.graphs.molecules import hidden_by_default

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import Graph

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
SHARE_OF_HIGHEST = 0.4
"""A node belongs to a place from this share of the highest score of its side on."""
LEAST_POINTS = 0.01
"""A place that adds less than this to a probability is not one."""


class Place(NamedTuple):
    """A connected set of nodes, and what they add to the probability together."""

    nodes: tuple[int, ...]
    points: float


def find_places(graph: Graph, scores: FloatArray, most: int) -> list[Place]:
    """Return the places for and against the target, the largest first.

    On each side these are the connected parts of the nodes whose score is at least `SHARE_OF_HIGHEST` of the
    highest one.
    """
    found = []
    for sign in (1.0, -1.0):
        own = np.round(sign * scores, 9)  # sums of equal scores differ in their last bits with the numbering
        highest = float(own.max(initial=0.0))
        if highest <= 0:
            continue
        chosen = np.flatnonzero(own >= SHARE_OF_HIGHEST * highest)
        for part in connected_parts(graph, chosen):
            points = float(np.sort(scores[list(part)]).sum())
            if abs(points) >= LEAST_POINTS:
                found.append(Place(part, points))
    found.sort(key=_size)
    if len(found) > most and _size(found[most - 1]) == _size(found[most]):  # which of equals does not depend
        order = canonical_order(graph, hidden_by_default(graph.schema))  # on how the nodes are numbered
        positions = np.argsort(order)
        found.sort(key=lambda place: (*_size(place), *np.sort(positions[list(place.nodes)]).tolist()))
    return found[:most]


def _size(place: Place) -> tuple[float, int]:
    """Return what places are sorted by: the largest points first, of equals the one with fewer nodes."""
    return -round(abs(place.points), 9), len(place.nodes)


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
    described = tuple(NodeDescription(names[node], _exact(graph.node_features[node])) for node in nodes)
    edges = tuple(
        EdgeDescription(names[u], names[v], _exact(graph.edge_features[i]))
        for i, (u, v) in enumerate(graph.edges.tolist())
        if u in names and v in names
    )
    return Program(described, edges)


def _exact(values: FloatArray) -> tuple[Interval, ...] | None:
    return tuple(Interval(float(value), float(value)) for value in values) or None
