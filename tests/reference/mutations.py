"""The one-step mutation rules of mining, as pure functions on programs. The search itself is in the core."""

import math
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

from gdlnn.gdl.program import EdgeDescription, Interval, Intervals, NodeDescription, Program

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
    return Program(
        [node for node in program.nodes if node.variable != variable],
        [edge for edge in program.edges if variable not in (edge.source, edge.target)],
    )


def remove_edge(program: Program, ends: tuple[str, str]) -> Program:
    """Return the program without an edge variable; its ends stay."""
    return Program(program.nodes, [edge for edge in program.edges if (edge.source, edge.target) != ends])


def generalize_node(program: Program, variable: str, feature: int, side: Side) -> Program:
    """Return the program with one side of one interval of a node variable opened, or both."""
    nodes = [
        NodeDescription(variable, opened(n.intervals, feature, side)) if n.variable == variable else n
        for n in program.nodes
    ]
    return Program(nodes, program.edges)


def generalize_edge(program: Program, ends: tuple[str, str], feature: int, side: Side) -> Program:
    """Return the program with one side of one interval of an edge variable opened, or both."""
    edges = [
        EdgeDescription(*ends, opened(e.intervals, feature, side)) if (e.source, e.target) == ends else e
        for e in program.edges
    ]
    return Program(program.nodes, edges)


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
        yield Mutation("remove edge", ends, None, None, remove_edge(program, ends))
    for node in program.nodes:
        for feature, side in _closed_sides(node.intervals, nominal_node):
            mutant = generalize_node(program, node.variable, feature, side)
            yield Mutation("generalize node", node.variable, feature, side, mutant)
    for edge in program.edges:
        ends = (edge.source, edge.target)
        for feature, side in _closed_sides(edge.intervals, nominal_edge):
            mutant = generalize_edge(program, ends, feature, side)
            yield Mutation("generalize edge", ends, feature, side, mutant)


def _closed_sides(intervals: Intervals | None, nominal: Collection[int]) -> Iterator[tuple[int, Side]]:
    for feature, interval in enumerate(intervals or ()):
        if feature in nominal and interval.lower == interval.upper:
            yield feature, "both"
            continue
        if interval.lower != -math.inf:
            yield feature, "lower"
        if interval.upper != math.inf:
            yield feature, "upper"


def opened(intervals: Intervals | None, feature: int, side: Side) -> Intervals:
    """Return a vector with one interval opened."""
    vector = list(intervals or ())
    old = vector[feature]
    low, high = old.lower if side == "upper" else -math.inf, old.upper if side == "lower" else math.inf
    vector[feature] = Interval(low, high)
    return tuple(vector)
