"""The subgraph step: Algorithm 2 against the obvious way, minimal, in a fixed order, on any kind of graph."""

import numpy as np
import pytest

from gdlnn import Graph, Program
from gdlnn.errors import ExplanationError, MatchError
from gdlnn.explain import shrink
from reference.matcher import matches as reference_matches
from reference.random_cases import planted_program, random_graph, random_program, random_shape


def obvious(graph: Graph, programs: list[Program], order: list[int]) -> list[int]:
    """Remove nodes one by one while a reference matcher still finds every program that it found at first."""
    held = [p for p in programs if reference_matches(p, graph)]
    if not held:
        return []
    left = set(range(graph.n_nodes))
    for node in order:
        rest = graph.subgraph(sorted(left - {node}))
        if all(reference_matches(p, rest) for p in held):
            left.discard(node)
    return sorted(left)


def test_random_graphs_against_the_obvious_way(n_cases: float) -> None:
    for seed in range(int(250 * n_cases)):
        rng = np.random.default_rng(seed)
        shape = random_shape(rng)
        graph = random_graph(rng, shape, 8)
        programs = [
            planted_program(rng, graph, 4) if rng.integers(3) else random_program(rng, shape, 3)
            for _ in range(int(rng.integers(1, 4)))
        ]
        order = rng.permutation(graph.n_nodes).tolist()
        (found,) = shrink([graph], programs, order=[order])
        case = f"seed {seed}\n{programs}\n{graph.node_features.tolist()}\n{graph.edges.tolist()}"
        assert list(found.nodes) == obvious(graph, programs, order), case
        assert found.complete
        subgraph = graph.subgraph(list(found.nodes))
        for program, places in zip(programs, found.places, strict=True):
            assert bool(places) == program.matches(graph), case
            assert not places or program.matches(subgraph), case
            assert all(set(place) <= set(found.nodes) for place in places), case
        held = [p for p, places in zip(programs, found.places, strict=True) if places]
        for node in found.nodes:  # no single node can go
            rest = graph.subgraph([v for v in found.nodes if v != node])
            assert not all(p.matches(rest) for p in held), case


def test_a_batch_gives_what_single_graphs_give() -> None:
    rng = np.random.default_rng(5)
    shape = random_shape(rng)
    graphs = [random_graph(rng, shape, 8) for _ in range(30)]
    programs = [random_program(rng, shape, 3) for _ in range(4)]
    use = rng.random((30, 4)) < 0.6
    together = shrink(graphs, programs, use)
    assert together == shrink(graphs, programs, use, n_jobs=2)
    for i, graph in enumerate(graphs):
        assert shrink([graph], programs, use[i : i + 1]) == together[i : i + 1]


def test_nothing_matched_leaves_nothing() -> None:
    graph = Graph([[1.0], [2.0]], [(0, 1)])
    (found,) = shrink([graph], [Program.parse("node x <[5, 5]>")])
    assert found == ((), ((),), True)
    (found,) = shrink([graph], [Program()])
    assert found == ((), (((),),), True)
    assert shrink([], []) == []
    (empty,) = shrink([Graph(np.zeros((0, 1)), [])], [Program.parse("node x")])
    assert empty.nodes == ()


def test_a_search_that_runs_out_of_steps_is_reported() -> None:
    n = 30
    graph = Graph(np.zeros((n, 1)), [(i, j) for i in range(n) for j in range(i) if (i * j) % 3 != 1])
    clique = Graph(np.zeros((9, 1)), [(i, j) for i in range(9) for j in range(i)])
    (found,) = shrink([graph], [Program.from_graph(clique)], step_budget=5)
    assert not found.complete


def test_bad_input_is_refused() -> None:
    graph = Graph([[1.0], [2.0]], [(0, 1)])
    program = Program.parse("node x")
    with pytest.raises(
        ExplanationError, match=r"use: expected shape \(1, 1\), graphs × programs, got \(2, 1\)"
    ):
        shrink([graph], [program], np.ones((2, 1)))
    with pytest.raises(ExplanationError, match="order: graph 0: expected each of its 2 nodes once"):
        shrink([graph], [program], order=[[0, 0]])
    with pytest.raises(ExplanationError, match=r"order: expected one row per graph \(1\), got 0"):
        shrink([graph], [program], order=[])
    with pytest.raises(MatchError, match="program 0: expected 1 interval"):
        shrink([graph], [Program.parse("node x <[1, 1], [2, 2]>")])
