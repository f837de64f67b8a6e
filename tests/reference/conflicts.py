"""What a conflict must be: enough to fail, closed, and made of constraints that exclude something."""

import math
from typing import NamedTuple

from gdlnn import Graph, Program, _core
from gdlnn.gdl import Interval
from gdlnn.gdl.matching import NO_BUDGET, fitted_batch
from gdlnn.gdl.program import Intervals
from gdlnn.graphs.arrays import GraphSet
from gdlnn.matching import count_matches, match
from reference import matcher

Side = tuple[int, int, bool]


class Conflict(NamedTuple):
    """The constraints of a conflict: nodes and edges by number, sides as (owner, feature, upper)."""

    nodes: list[int]
    edges: list[int]
    node_sides: list[Side]
    edge_sides: list[Side]


def find_conflict(program: Program, graphs: GraphSet, index: int = 0) -> Conflict | None:
    """Return the core's conflict of a program on a graph, or None where the program matches."""
    answer, nodes, edges, node_sides, edge_sides = _core.conflict(
        graphs.native, index, fitted_batch([program], graphs), NO_BUDGET
    )
    assert answer in (0, 1)
    return None if answer == 1 else Conflict(nodes, edges, node_sides, edge_sides)


def reduced(program: Program, conflict: Conflict) -> Program:
    """Return the program that consists of the constraints of the conflict alone."""

    def kept(intervals: Intervals | None, owner: int, sides: list[Side]) -> Intervals | None:
        if intervals is None:
            return None
        return tuple(
            Interval(
                low if (owner, f, False) in sides else -math.inf,
                high if (owner, f, True) in sides else math.inf,
            )
            for f, (low, high) in enumerate(intervals)
        )

    nodes = [
        (program.nodes[x].variable, kept(program.nodes[x].intervals, x, conflict.node_sides))
        for x in conflict.nodes
    ]
    edges = [
        (
            program.edges[e].source,
            program.edges[e].target,
            kept(program.edges[e].intervals, e, conflict.edge_sides),
        )
        for e in conflict.edges
    ]
    return Program(nodes, edges)


def _excludes(intervals: Intervals | None, feature: int, upper: bool, rows: list[list[float]]) -> bool:
    low, high = intervals[feature]
    return any(not (row[feature] <= high if upper else row[feature] >= low) for row in rows)  # NaN too


def check_conflict(program: Program, graph: Graph, conflict: Conflict) -> None:
    """Assert that a conflict is closed, that it fails, and that each constraint in it excludes something."""
    variables = program.variables
    for e in conflict.edges:
        assert variables.index(program.edges[e].source) in conflict.nodes
        assert variables.index(program.edges[e].target) in conflict.nodes
    nodes, edges = graph.node_features.tolist(), graph.edge_features.tolist()
    for x, f, upper in conflict.node_sides:
        assert x in conflict.nodes
        assert _excludes(program.nodes[x].intervals, f, upper, nodes), (
            f"node side {x, f, upper} excludes no node"
        )
    for e, f, upper in conflict.edge_sides:
        assert e in conflict.edges
        assert _excludes(program.edges[e].intervals, f, upper, edges), (
            f"edge side {e, f, upper} excludes no edge"
        )
    assert not matcher.matches(reduced(program, conflict), graph), f"not a conflict: {conflict}"


def check_table(programs: list[Program], graphs: list[Graph]) -> None:
    """Assert that matches, witnesses, counts and conflicts of a batch are those of the reference matcher."""
    encoding = GraphSet(graphs)
    table, counts = match(programs, encoding), count_matches(programs, encoding)
    distinct = count_matches(programs, encoding, n_jobs=2, distinct=True)
    assert table.shape == counts.shape == distinct.shape == (len(graphs), len(programs))
    for g, graph in enumerate(graphs):
        for p, program in enumerate(programs):
            expected = {tuple(sorted(w.items())) for w in matcher.witnesses(program, graph)}
            message = f"graph {g}, program {p}\n{program}"
            assert {tuple(sorted(w.items())) for w in program.witnesses(graph)} == expected, message
            assert counts[g, p] == len(expected), message
            assert table[g, p] == bool(expected), message
            assert distinct[g, p] == matcher.count(program, graph, distinct=True), message
            conflict = find_conflict(program, encoding, g)
            assert (conflict is None) == bool(expected), message
            if conflict is not None:
                check_conflict(program, graph, conflict)
