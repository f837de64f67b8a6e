"""The one-step mutation rules of mining, as pure functions on programs. The search itself is in the core."""

import math
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple, get_args

from gdlnn.errors import ProgramError
from gdlnn.gdl.program import ANY, EdgeDescription, Interval, Intervals, NodeDescription, Program

Side = Literal["lower", "upper", "both"]
Rule = Literal["remove node", "remove edge", "generalize node", "generalize edge"]


class Mutation(NamedTuple):
    """One mutation of a program: the rule, what it was applied to, and what came out.

    ``target`` is the variable or the pair of variables; ``feature`` (from 0) and ``side`` say what was
    opened, and are None for removals. Both sides are opened at once where a feature is nominal.
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
    """Return the program with one side of one interval of a node variable opened, or both."""
    vector = _opened(_node(program, variable).intervals, feature, side, f"node {variable}")
    nodes = (NodeDescription(variable, vector) if n.variable == variable else n for n in program.nodes)
    return Program._trusted(tuple(nodes), program.edges)


def generalize_edge(program: Program, source: str, target: str, feature: int, side: Side) -> Program:
    """Return the program with one side of one interval of an edge variable opened, or both."""
    vector = _opened(_edge(program, source, target).intervals, feature, side, f"edge ({source}, {target})")
    edges = (
        EdgeDescription(source, target, vector) if (e.source, e.target) == (source, target) else e
        for e in program.edges
    )
    return Program._trusted(program.nodes, tuple(edges))


def mutations(
    program: Program, nominal_node: Collection[int] = (), nominal_edge: Collection[int] = ()
) -> Iterator[Mutation]:
    """Enumerate the programs one step more general, in the order of the rules.

    Removals of nodes, then of edges, then openings of node and of edge intervals; within a rule in the order
    of the descriptions, features and sides. A side that is open already gives none: nothing would change.

    Parameters
    ----------
    program
        The program.
    nominal_node, nominal_edge
        The nominal features of nodes and of edges, by position: where one has a single value, both sides of
        its interval are opened at once.
    """
    for node in program.nodes:
        yield Mutation("remove node", node.variable, None, None, remove_node(program, node.variable))
    for edge in program.edges:
        ends = (edge.source, edge.target)
        yield Mutation("remove edge", ends, None, None, remove_edge(program, *ends))
    for node in program.nodes:
        for feature, side in _closed_sides(node.intervals, nominal_node):
            opened = generalize_node(program, node.variable, feature, side)
            yield Mutation("generalize node", node.variable, feature, side, opened)
    for edge in program.edges:
        ends = (edge.source, edge.target)
        for feature, side in _closed_sides(edge.intervals, nominal_edge):
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


def _closed_sides(intervals: Intervals | None, nominal: Collection[int]) -> Iterator[tuple[int, Side]]:
    for feature, interval in enumerate(intervals or ()):
        if feature in nominal and interval.lower == interval.upper:
            yield feature, "both"
            continue
        if interval.lower != -math.inf:
            yield feature, "lower"
        if interval.upper != math.inf:
            yield feature, "upper"


def _opened(intervals: Intervals | None, feature: int, side: Side, where: str) -> Intervals | None:
    if side not in get_args(Side):
        raise ProgramError(f"{where}: expected side 'lower', 'upper' or 'both', got {side!r}")
    if intervals is None:
        return None  # open on every side already
    if not 0 <= feature < len(intervals):
        raise ProgramError(f"{where}: expected a feature from 0 to {len(intervals) - 1}, got {feature}")
    old = intervals[feature]
    new = Interval(old.lower if side == "upper" else -math.inf, old.upper if side == "lower" else math.inf)
    opened = (*intervals[:feature], new, *intervals[feature + 1 :])
    return None if all(interval == ANY for interval in opened) else opened
