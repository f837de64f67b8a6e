"""Program as a value: what it refuses, equality, JSON, pickling, from a graph."""

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from gdlnn import Graph, Program
from gdlnn.errors import ProgramError
from reference import matcher
from reference.random_cases import random_graph, random_shape
from reference.strategies import programs

INF = math.inf


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ([("x", None), ("x", None)], [], "node x: expected each variable once, but it is described twice"),
        (
            [("x", None)],
            [("x", "y", None)],
            "edge (x, y): expected a declared variable, but there is no node y",
        ),
        (
            [("x", None)],
            [("x", "x", None)] * 2,
            "edge (x, x): expected each edge once, but it is described twice",
        ),
        ([("x", [(2, 1)])], [], "node x: interval 1: expected [a, b] with a ≤ b, got [2, 1]"),
        (
            [("x", [(0, 1), (math.nan, 1)])],
            [],
            "node x: interval 2: expected [a, b] with a ≤ b, got [nan, 1]",
        ),
        ([("x", [(INF, INF)])], [], "node x: interval 1: expected [a, b] with a ≤ b, got [inf, inf]"),
        (
            [("x", [(0, 1)]), ("y", [(0, 1), (2, 3)])],
            [],
            "node y: expected 1 interval(s), as for node x, got 2",
        ),
        (
            [("x", None), ("y", None)],
            [("x", "y", [(0, 1)]), ("y", "x", [(0, 1), (2, 3)])],
            "edge (y, x): expected 1 interval(s), as for edge (x, y), got 2",
        ),
        (
            [("x y", None)],
            [],
            "node 'x y': expected a variable of letters, digits and _ that is none of edge, node, program",
        ),
        (
            [("edge", None)],
            [],
            "node 'edge': expected a variable of letters, digits and _ that is none of edge, node, program",
        ),
    ],
)
def test_programs_that_are_none_are_refused(nodes: Any, edges: Any, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        Program(nodes, edges)
    assert str(caught.value) == message


def test_a_program_is_a_value() -> None:
    one, same = (Program([("x", [(1, 2)]), ("y", None)], [("x", "y", None)]) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != Program([("y", None), ("x", [(1, 2)])], [("x", "y", None)]), (
        "the order belongs to the value"
    )
    assert one != "node x"
    with pytest.raises(AttributeError, match="a Program cannot be changed"):
        one.nodes = ()
    with pytest.raises(AttributeError, match="a Program cannot be changed"):
        del one.nodes


def test_equal_vectors_are_one_value() -> None:
    assert Program([("x", [(-INF, INF)])]) == Program([("x", None)]) == Program([("x", ())])
    assert repr(Program([("x", [(-0.0, 1)])])) == "<Program: node x <[0.0, 1.0]>>"


@given(programs())
def test_json_and_pickle_round_trip(program: Program) -> None:
    text = json.dumps(program.to_json(), allow_nan=False)
    assert Program.from_json(json.loads(text)) == program
    assert pickle.loads(pickle.dumps(program)) == program


def test_json_has_null_for_an_open_side() -> None:
    assert Program.parse("node x <[1, inf]> edge (x, x)").to_json() == {
        "nodes": [{"variable": "x", "intervals": [[1.0, None]]}],
        "edges": [{"source": "x", "target": "x", "intervals": None}],
    }


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "program in JSON: expected lists of nodes and edges"),
        (
            {"nodes": []},
            "program in JSON: expected lists of nodes and edges, got other data: KeyError('edges')",
        ),
        ({"nodes": [{}], "edges": []}, "program in JSON: expected lists of nodes and edges"),
        ({"nodes": [3], "edges": []}, "program in JSON: expected lists of nodes and edges"),
        (
            {"nodes": [{"variable": "x", "intervals": [[1, "2"]]}], "edges": []},
            "program in JSON: intervals: expected null or pairs of numbers or null, got [1, '2']",
        ),
        (
            {"nodes": [{"variable": "x", "intervals": 3}], "edges": []},
            "program in JSON: intervals: expected null or pairs of numbers or null, got 3",
        ),
        ({"nodes": [{"variable": "1"}], "edges": []}, "node '1': expected a variable of letters"),
    ],
)
def test_damaged_json_is_refused(data: Any, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        Program.from_json(data)
    assert str(caught.value).startswith(message)


def test_from_graph_is_the_most_specific_program() -> None:
    graph = Graph([[3.0], [2.0]], [(0, 1), (1, 1)], [[5.0], [7.0]], directed=True)
    assert str(Program.from_graph(graph)).splitlines() == [
        "node x0 <[3.0, 3.0]>",
        "node x1 <[2.0, 2.0]>",
        "edge (x0, x1) <[5.0, 5.0]>",
        "edge (x1, x1) <[7.0, 7.0]>",
    ]
    assert Program.from_graph(Graph([], [])) == Program()
    assert Program.from_graph(Graph(np.zeros((1, 0)), [])) == Program([("x0", None)])


def test_from_graph_matches_its_graph() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        graph = random_graph(rng, random_shape(rng), max_nodes=6)
        program = Program.from_graph(graph)
        assert Program(program.nodes, program.edges) == program
        assert matcher.matches(program, graph), (seed, program)
