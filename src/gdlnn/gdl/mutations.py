"""The one-step mutation rules of mining, as pure functions on programs. The search itself is in the core."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

from gdlnn.errors import ProgramError
from gdlnn.gdl.program import ANY, EdgeDescription, Interval, NodeDescription, Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gdlnn.gdl.program import Intervals

Side = Literal["lower", "upper"]
Rule = Literal["remove node", "remove edge", "generalize node", "generalize edge"]


class Mutation(NamedTuple):
    """One mutation of a program: the rule, what it was applied to, and what came out.

    ``target`` is the variable or the pair of variables; ``feature`` (from 0) and ``side`` say which bound was
    opened, and are None for removals.
    """

    rule: Rule
    target: str | tuple[str, str]
    feature: int | None
    side: Side | None
    program: Program


def remove_node(program: Program, variable: str) -> Program:
    """Return the program without a node variable and without the edge variables that touch it."""
    _node(program, variable)
    return Program._trusted(
        tuple(node for node in program.nodes if node.variable != variable),
        tuple(edge for edge in program.edges if variable not in (edge.source, edge.target)),
    )


def remove_edge(program: Program, source: str, target: str) -> Program:
    """Return the program without an edge variable; its ends stay."""
    _edge(program, source, target)
    edges = tuple(edge for edge in program.edges if (edge.source, edge.target) != (source, target))
    return Program._trusted(program.nodes, edges)


def generalize_node(program: Program, variable: str, feature: int, side: Side) -> Program:
    """Return the program with one side of one interval of a node variable opened."""
    vector = _opened(_node(program, variable).intervals, feature, side, f"node {variable}")
    nodes = (NodeDescription(variable, vector) if n.variable == variable else n for n in program.nodes)
    return Program._trusted(tuple(nodes), program.edges)


def generalize_edge(program: Program, source: str, target: str, feature: int, side: Side) -> Program:
    """Return the program with one side of one interval of an edge variable opened."""
    vector = _opened(_edge(program, source, target).intervals, feature, side, f"edge ({source}, {target})")
    edges = (
        EdgeDescription(source, target, vector) if (e.source, e.target) == (source, target) else e
        for e in program.edges
    )
    return Program._trusted(program.nodes, tuple(edges))


def mutations(program: Program) -> Iterator[Mutation]:
    """Enumerate the programs one step more general, in the order of the rules.

    Removals of nodes, then of edges, then openings of node and of edge intervals; within a rule in the order
    of the descriptions, features and sides. A side that is open already gives none: nothing would change.
    """
    for node in program.nodes:
        yield Mutation("remove node", node.variable, None, None, remove_node(program, node.variable))
    for edge in program.edges:
        ends = (edge.source, edge.target)
        yield Mutation("remove edge", ends, None, None, remove_edge(program, *ends))
    for node in program.nodes:
        for feature, side in _closed_sides(node.intervals):
            opened = generalize_node(program, node.variable, feature, side)
            yield Mutation("generalize node", node.variable, feature, side, opened)
    for edge in program.edges:
        ends = (edge.source, edge.target)
        for feature, side in _closed_sides(edge.intervals):
            opened = generalize_edge(program, *ends, feature, side)
            yield Mutation("generalize edge", ends, feature, side, opened)


def _node(program: Program, variable: str) -> NodeDescription:
    for node in program.nodes:
        if node.variable == variable:
            return node
    raise ProgramError(f"expected a node variable of the program, but there is no node {variable}")


def _edge(program: Program, source: str, target: str) -> EdgeDescription:
    for edge in program.edges:
        if (edge.source, edge.target) == (source, target):
            return edge
    raise ProgramError(f"expected an edge variable of the program, but there is no edge ({source}, {target})")


def _closed_sides(intervals: Intervals | None) -> Iterator[tuple[int, Side]]:
    for feature, interval in enumerate(intervals or ()):
        if interval.lower != -math.inf:
            yield feature, "lower"
        if interval.upper != math.inf:
            yield feature, "upper"


def _opened(intervals: Intervals | None, feature: int, side: Side, where: str) -> Intervals | None:
    if side not in ("lower", "upper"):
        raise ProgramError(f"{where}: expected side 'lower' or 'upper', got {side!r}")
    if intervals is None:
        return None  # open on every side already
    if not 0 <= feature < len(intervals):
        raise ProgramError(f"{where}: expected a feature from 0 to {len(intervals) - 1}, got {feature}")
    old = intervals[feature]
    new = Interval(-math.inf, old.upper) if side == "lower" else Interval(old.lower, math.inf)
    opened = (*intervals[:feature], new, *intervals[feature + 1 :])
    return None if all(interval == ANY for interval in opened) else opened
