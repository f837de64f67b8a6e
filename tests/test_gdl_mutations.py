"""The one-step mutation rules: each by example, and that none ever loses a match."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gdlnn import Graph, Program, ProgramError
from reference import matcher
from reference.mutations import generalize_edge, generalize_node, mutations, remove_edge, remove_node
from reference.random_cases import random_case

# The running example: four nodes in a row.
START = Program.parse("""
    node x <[3.0, 3.0]>
    node y <[2.0, 2.0]>
    node z <[1.0, 1.0]>
    node h <[3.0, 3.0]>
    edge (x, y)
    edge (y, z)
    edge (z, h)
""")
EDGES = Program.parse("node a node b edge (a, b) <[1, 2], [3, 4]> edge (b, a) <[5, 5], [6, 6]>")


def test_remove_node_takes_its_edges_along() -> None:
    assert remove_node(START, "h") == Program.parse(
        "node x <[3, 3]> node y <[2, 2]> node z <[1, 1]> edge (x, y) edge (y, z)"
    )
    assert remove_node(START, "y") == Program.parse(
        "node x <[3, 3]> node z <[1, 1]> node h <[3, 3]> edge (z, h)"
    )
    assert remove_node(Program.parse("node x edge (x, x)"), "x") == Program()


def test_remove_edge_leaves_its_ends() -> None:
    assert remove_edge(START, "y", "z").variables == ("x", "y", "z", "h")
    assert [(e.source, e.target) for e in remove_edge(START, "y", "z").edges] == [("x", "y"), ("z", "h")]
    assert remove_edge(EDGES, "a", "b") == Program.parse("node a node b edge (b, a) <[5, 5], [6, 6]>")


def test_generalize_node_opens_one_side() -> None:
    opened = generalize_node(START, "x", 0, "upper")
    assert opened.nodes[0].intervals == ((3.0, math.inf),)
    assert opened.nodes[1:] == START.nodes[1:]
    assert opened.edges == START.edges
    assert generalize_node(opened, "x", 0, "lower").nodes[0].intervals is None
    assert generalize_node(opened, "x", 0, "upper") == opened, "open already"


def test_generalize_edge_opens_one_side() -> None:
    opened = generalize_edge(EDGES, "a", "b", 1, "lower")
    assert [edge.intervals for edge in opened.edges] == [
        ((1.0, 2.0), (-math.inf, 4.0)),
        ((5.0, 5.0), (6.0, 6.0)),
    ]


def test_all_mutations_in_order() -> None:
    program = Program.parse("node x <[1, inf]> node y edge (x, y) <[2, 3]>")
    assert [(m.rule, m.target, m.feature, m.side) for m in mutations(program)] == [
        ("remove node", "x", None, None),
        ("remove node", "y", None, None),
        ("remove edge", ("x", "y"), None, None),
        ("generalize node", "x", 0, "lower"),
        ("generalize edge", ("x", "y"), 0, "lower"),
        ("generalize edge", ("x", "y"), 0, "upper"),
    ]
    assert all(m.program != program for m in mutations(program))
    assert list(mutations(Program())) == []
    assert len(list(mutations(START))) == 4 + 3 + 8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: remove_node(START, "w"), "expected a node variable of the program, but there is no node w"),
        (
            lambda: remove_edge(START, "y", "x"),
            "expected an edge variable of the program, but there is no edge (y, x)",
        ),
        (lambda: generalize_node(START, "x", 1, "lower"), "node x: expected a feature from 0 to 0, got 1"),
        (
            lambda: generalize_edge(EDGES, "a", "b", 0, "top"),  # type: ignore[arg-type]
            "edge (a, b): expected side 'lower', 'upper' or 'both', got 'top'",
        ),
    ],
)
def test_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ProgramError) as caught:
        call()
    assert str(caught.value) == message


def test_mutations_only_ever_generalise(n_cases: float) -> None:
    checked = 0
    for seed in range(int(300 * n_cases)):
        case = random_case(seed, max_graph_nodes=6, max_program_nodes=4)
        if not matcher.matches(case.program, case.graph):
            continue
        for mutation in mutations(case.program):
            assert Program(mutation.program.nodes, mutation.program.edges) == mutation.program
            assert matcher.matches(mutation.program, case.graph), f"{mutation}\n{case}"
            checked += 1
    assert checked > 500


def test_a_descent_ends_at_the_empty_program() -> None:
    rng = np.random.default_rng(0)
    program = Program.from_graph(
        Graph(rng.random((5, 2)), [(0, 1), (1, 2), (2, 2), (3, 4)], rng.random((4, 1)))
    )
    steps = 0
    while options := list(mutations(program)):
        program = options[rng.integers(len(options))].program
        steps += 1
    assert program == Program()
    assert steps <= 5 + 4 + 2 * (5 * 2 + 4)
