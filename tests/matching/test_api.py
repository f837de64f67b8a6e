"""match() and its kin at the edges: nothing in, mixed graphs, features that do not fit, sets encoded once."""

from typing import Any

import numpy as np
import pytest

from gdlnn import Graph, Program, _core
from gdlnn.errors import MatchError
from gdlnn.gdl.matching import fitted_batch
from gdlnn.graphs.arrays import GraphSet
from gdlnn.matching import count_matches, match

EMPTY = Program()
ONE = Program([("x", [(0, 1)])])
EDGE = Program([("x", None), ("y", None)], [("x", "y", [(0, 1)])])
TRIANGLE = Graph([[0.0], [1.0], [2.0]], [(0, 1), (1, 2), (0, 2)], [[0.0], [1.0], [2.0]])
NO_NODES = Graph(np.zeros((0, 0)), np.zeros((0, 2), dtype=int))
NO_EDGES = Graph([[0.0], [5.0]], [])


def test_no_graphs_or_no_programs() -> None:
    assert match([ONE, EDGE], []).shape == (0, 2)
    assert match([], [TRIANGLE, NO_EDGES]).shape == (2, 0)
    assert match([], []).shape == (0, 0)
    assert count_matches([ONE], []).shape == (0, 1)


def test_a_graph_without_edges_may_lack_edge_features() -> None:
    assert not EDGE.matches(NO_EDGES)
    assert match([EMPTY, ONE, EDGE], [NO_NODES, TRIANGLE, NO_EDGES]).tolist() == [
        [True, False, False],
        [True, True, True],
        [True, True, False],
    ]


def test_features_that_do_not_fit() -> None:
    with pytest.raises(MatchError, match=r"program 1: expected 1 interval\(s\) per node, .* got 2"):
        match([ONE, Program([("x", [(0, 1), (0, 1)])])], TRIANGLE)
    with pytest.raises(MatchError, match=r"program 0: expected 1 interval\(s\) per edge, .* got 2"):
        match(Program([("x", None)], [("x", "x", [(0, 1), (0, 1)])]), TRIANGLE)
    with pytest.raises(MatchError, match=r"program 0: .*got 2"):
        Program([("x", [(0, 1), (0, 1)])]).matches(TRIANGLE)


def test_graphs_that_do_not_fit_each_other() -> None:
    wide = Graph([[0.0, 0.0]], [])
    with pytest.raises(MatchError, match=r"graph 2: expected 1 node feature\(s\), as in graph 1, got 2"):
        GraphSet([NO_NODES, TRIANGLE, wide])
    bare = Graph([[0.0], [0.0]], [(0, 1)])
    with pytest.raises(MatchError, match=r"graph 1: expected 1 edge feature\(s\), as in graph 0, got 0"):
        match(ONE, [TRIANGLE, bare])


def test_what_is_no_program_or_no_graph() -> None:
    wrong: Any = "node x"
    with pytest.raises(MatchError, match="program 0: expected a Program, got str"):
        match([wrong], TRIANGLE)
    with pytest.raises(MatchError, match="graph 1: expected a Graph, got str"):
        match(ONE, [TRIANGLE, wrong])


def test_the_core_refuses_a_graph_that_is_not_there() -> None:
    graphs = GraphSet([TRIANGLE])
    batch = fitted_batch([ONE], graphs)
    for index in (-1, 1):
        with pytest.raises(IndexError):
            _core.Witnesses(graphs.native, index, batch)
        with pytest.raises(IndexError):
            _core.conflict(graphs.native, index, batch, -1)
    with pytest.raises(IndexError):
        _core.Witnesses(graphs.native, 0, fitted_batch([], graphs))


def test_packed_programs_are_kept_for_the_same_programs_alone() -> None:
    graph = Graph([[1.0], [2.0]], [(0, 1)], [[3.0]])
    ones = [Program.parse(f"node x <[1, {i}]>") for i in range(1, 21)]
    nines = [Program.parse(f"node x <[9, {9 + i}]>") for i in range(20)]
    for programs, expected in ((ones, True), (nines, False), (ones, True), (ones[::-1], True)):
        assert match(programs, [graph]).all() == expected
        assert match(programs, [graph]).any() == expected
    wide = Graph([[1.0, 5.0]], [], np.zeros((0, 1)))
    with pytest.raises(MatchError, match="program 0: expected 2 interval"):
        match(ones, [wide])
    assert match(ones[:-1] + nines[:1], [graph]).tolist() == [[True] * 19 + [False]]
