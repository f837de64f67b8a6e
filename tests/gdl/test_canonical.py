"""The canonical form: equal exactly for programs that differ only in names, order and orientation."""

import math
from collections.abc import Hashable
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdlnn import Program
from gdlnn.gdl.canonical import merged_edges
from reference import matcher
from reference.random_cases import Shape, random_case, random_program, shuffled
from reference.strategies import programs, small_intervals


def parts(program: Program, directed: bool) -> tuple[list[Hashable], dict[tuple[int, int], Hashable]]:
    """Return what an isomorphism must keep."""
    number = {variable: i for i, variable in enumerate(program.variables)}
    nodes: list[Hashable] = [node.intervals for node in program.nodes]
    if directed:
        return nodes, {(number[e.source], number[e.target]): e.intervals for e in program.edges}
    return nodes, {ends: tuple(vectors) for ends, vectors in merged_edges(program).items()}


def isomorphic(one: Program, other: Program, directed: bool) -> bool:
    """Try every renaming: slow and obvious."""
    (nodes, edges), (others, other_edges) = parts(one, directed), parts(other, directed)
    if len(nodes) != len(others) or len(edges) != len(other_edges):
        return False
    for image in permutations(range(len(nodes))):
        if any(nodes[v] != others[image[v]] for v in range(len(nodes))):
            continue
        mapped = {(image[u], image[v]): what for (u, v), what in edges.items()}
        if not directed:
            mapped = {(min(ends), max(ends)): what for ends, what in mapped.items()}
        if mapped == other_edges:
            return True
    return False


few = programs(max_nodes=6, widths=(1, 1), interval=small_intervals, max_edges=7)
plain = programs(max_nodes=6, widths=(0, 0), max_edges=9)


@given(few | plain, few | plain, st.booleans())
def test_equal_exactly_when_isomorphic(one: Program, other: Program, directed: bool) -> None:
    same = one.canonical(directed) == other.canonical(directed)
    assert same == isomorphic(one, other, directed)


def test_equal_exactly_when_isomorphic_on_near_twins(n_cases: float) -> None:
    """Programs of one size and few kinds, so that many pairs are isomorphic and many nearly so."""
    rng = np.random.default_rng(0)
    for directed in (False, True):
        shape, size = Shape(directed, 0, 0), int(60 * n_cases**0.5)
        group = [random_program(rng, shape, 4, density=0.5) for _ in range(size)]
        forms = [program.canonical(directed) for program in group]
        for one, form in zip(group, forms, strict=True):
            for other, other_form in zip(group, forms, strict=True):
                assert (form == other_form) == isomorphic(one, other, directed), f"{one}\n\n{other}"


@given(programs(max_nodes=12, max_edges=24, interval=small_intervals), st.booleans(), st.integers(0, 2**32))
def test_invariant_under_renaming_and_reordering(program: Program, directed: bool, seed: int) -> None:
    form = program.canonical(directed)
    assert shuffled(np.random.default_rng(seed), program, directed).canonical(directed) == form
    assert form.canonical(directed) == form
    assert Program(form.nodes, form.edges) == form
    assert form.variables == tuple(f"x{i}" for i in range(len(program.nodes)))


def test_the_form_matches_what_the_program_matches() -> None:
    for seed in range(300):
        case = random_case(seed, max_graph_nodes=6, max_program_nodes=4)
        form = case.program.canonical(directed=case.graph.directed)
        for distinct in (False, True):
            expected = matcher.count(case.program, case.graph, distinct=distinct)
            assert matcher.count(form, case.graph, distinct=distinct) == expected, case


def test_orientation_counts_in_directed_programs_only() -> None:
    one, other = (
        Program.parse("node x <[1,1]> node y edge (x, y)"),
        Program.parse("node x <[1,1]> node y edge (y, x)"),
    )
    assert one.canonical() == other.canonical()
    assert one.canonical(directed=True) != other.canonical(directed=True)


def test_both_orientations_of_an_undirected_edge_are_one_edge() -> None:
    both = Program.parse("node x node y edge (x, y) <[1, 3]> edge (y, x) <[2, inf]>")
    assert both.canonical() == Program.parse("node a node b edge (b, a) <[2, 3]>").canonical()
    assert both.canonical(directed=True) != both.canonical()
    implied = Program.parse("node x node y edge (x, y) <[1, 3]> edge (y, x)")
    assert implied.canonical() == Program.parse("node a node b edge (a, b) <[1, 3]>").canonical()


def from_networkx(graph: nx.Graph, colors: int = 1) -> Program:
    graph = nx.convert_node_labels_to_integers(graph)
    intervals = [(float(i % colors), math.inf) for i in range(len(graph))]
    return Program(
        [(f"x{i}", [intervals[i]] if colors > 1 else None) for i in graph],
        [(f"x{u}", f"x{v}", None) for u, v in graph.edges],
    )


def on_a_hub(part: nx.Graph, copies: int) -> nx.Graph:
    graph = nx.disjoint_union_all([part] * copies)
    graph.add_edges_from(("hub", i * len(part)) for i in range(copies))
    return graph


SHAPES = {
    "600 isolated nodes": lambda: nx.empty_graph(600),
    "star": lambda: nx.star_graph(599),
    "path": lambda: nx.path_graph(600),
    "binary tree": lambda: nx.balanced_tree(2, 8),
    "cycle": lambda: nx.cycle_graph(600),
    "complete graph": lambda: nx.complete_graph(30),
    "complete bipartite graph": lambda: nx.complete_bipartite_graph(30, 30),
    "grid": lambda: nx.grid_2d_graph(24, 25),
    "torus": lambda: nx.grid_2d_graph(24, 25, periodic=True),
    "100 hexagons": lambda: nx.disjoint_union_all([nx.cycle_graph(6)] * 100),
    "60 Petersen graphs": lambda: nx.disjoint_union_all([nx.petersen_graph()] * 60),
    "100 hexagons on a hub": lambda: on_a_hub(nx.cycle_graph(6), 100),
    "60 Petersen graphs on a hub": lambda: on_a_hub(nx.petersen_graph(), 60),
    "rook's graph": lambda: nx.line_graph(nx.complete_bipartite_graph(8, 8)),
    "triangular graph": lambda: nx.line_graph(nx.complete_graph(12)),
    "Paley graph": lambda: nx.Graph(nx.paley_graph(29)),
    "hypercube": lambda: nx.hypercube_graph(9),
    "random 3-regular graph": lambda: nx.random_regular_graph(3, 600, seed=1),
    "random graph": lambda: nx.gnp_random_graph(600, 0.005, seed=1),
    "cliques in a ring": lambda: nx.ring_of_cliques(60, 10),
}


@pytest.mark.parametrize("name", SHAPES)
def test_large_and_symmetric_programs(name: str) -> None:
    graph = SHAPES[name]()
    rng = np.random.default_rng(0)
    for colors in (1, 2):
        program = from_networkx(graph, colors)
        other = shuffled(rng, program, directed=False)
        assert other.canonical() == program.canonical()


def test_regular_graphs_that_refinement_cannot_tell_apart() -> None:
    """Srg(16, 6, 2, 2) twice, and a hexagon against two triangles: equal in every count, not isomorphic."""
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    steps = {(0, 1), (1, 0), (1, 1), (0, 3), (3, 0), (3, 3)}
    cells = [(i, j) for i in range(4) for j in range(4)]
    shrikhande = nx.Graph(
        [(a, b) for a in cells for b in cells if ((a[0] - b[0]) % 4, (a[1] - b[1]) % 4) in steps]
    )
    assert {d for _, d in shrikhande.degree()} == {d for _, d in rook.degree()} == {6}
    assert from_networkx(rook).canonical() != from_networkx(shrikhande).canonical()
    hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    assert from_networkx(hexagon).canonical() != from_networkx(triangles).canonical()


def test_long_programs_do_not_exhaust_the_stack() -> None:
    for graph in (nx.path_graph(20_000), nx.cycle_graph(20_000), nx.complete_bipartite_graph(2, 5000)):
        program = from_networkx(graph)
        assert len(program.canonical().nodes) == len(program.nodes)
