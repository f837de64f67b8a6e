"""The canonical form: one program for all that differ only in variable names and order of descriptions.

The order of the variables comes from the core; what counts as the same description is decided here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdlnn.gdl.program import ANY, EdgeDescription, Interval, NodeDescription, Program

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from gdlnn.gdl.program import Intervals

Ends = tuple[int, int]
Vectors = list["Intervals | None"]


def intersection(first: Intervals | None, second: Intervals | None) -> Intervals | None:
    """Return the vector that admits what both admit; raise a ValueError where that is nothing."""
    if first is None or second is None:
        return second if first is None else first
    common = tuple(
        Interval(max(a.lower, b.lower), min(a.upper, b.upper)) for a, b in zip(first, second, strict=True)
    )
    if any(lower > upper for lower, upper in common):
        raise ValueError("the intervals have nothing in common")
    return None if all(interval == ANY for interval in common) else common


def merged_edges(program: Program) -> dict[Ends, Vectors]:
    """Return the edges between numbered variables as undirected graphs see them, the smaller number first.

    ``edge (x, y)`` and ``edge (y, x)`` speak of one edge there, so their intervals are intersected. Where
    nothing is left the program matches no undirected graph; the two vectors then stay, in a fixed order.
    """
    edges: dict[Ends, Vectors] = {}
    for (source, target), edge in zip(program.ends.tolist(), program.edges, strict=True):
        ends = (source, target) if source <= target else (target, source)
        if ends not in edges:
            edges[ends] = [edge.intervals]
            continue
        first = edges[ends][0]
        try:
            edges[ends] = [intersection(first, edge.intervals)]
        except ValueError:
            edges[ends] = sorted([first, edge.intervals], key=_sort_key)
    return edges


def canonical(program: Program, *, directed: bool) -> Program:
    """Return the canonical form, with variables x0, x1 and so on."""
    from gdlnn import _core  # only here, so that programs can be read and printed without the core

    if directed:
        pairs = zip(program.ends.tolist(), program.edges, strict=True)
        edges: dict[Ends, Vectors] = {(u, v): [edge.intervals] for (u, v), edge in pairs}
    else:
        edges = merged_edges(program)
    order = _core.canonical_order(
        _ranks(_sort_key(node.intervals) for node in program.nodes),
        np.array(list(edges), dtype=np.int32).reshape(-1, 2),
        _ranks(tuple(map(_sort_key, vectors)) for vectors in edges.values()),
        directed,
    ).tolist()
    place = [0] * len(order)
    for position, variable in enumerate(order):
        place[variable] = position
    names = [f"x{i}" for i in range(len(order))]
    described = []
    for (u, v), vectors in edges.items():
        source, target = place[u], place[v]
        if not directed and source > target:
            source, target = target, source
        described.append((source, target, vectors[0]))
        described.extend((target, source, vector) for vector in vectors[1:])
    described.sort(key=lambda edge: edge[:2])
    return Program._trusted(
        tuple(NodeDescription(names[i], program.nodes[v].intervals) for i, v in enumerate(order)),
        tuple(EdgeDescription(names[u], names[v], vector) for u, v, vector in described),
    )


def _sort_key(intervals: Intervals | None) -> tuple[Interval, ...]:
    return () if intervals is None else intervals


def _ranks(keys: Iterable[Hashable]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Return the rank of each key among the distinct ones: a color that does not depend on the order."""
    listed = list(keys)
    rank = {key: i for i, key in enumerate(sorted(set(listed)))}  # type: ignore[type-var]
    return np.array([rank[key] for key in listed], dtype=np.int32)
