"""neighborhoods() and the structure features against slow, obvious code on random graphs."""

from typing import Any, NamedTuple

import networkx
import numpy as np
import pytest

from gdlnn import Graph, Program
from gdlnn.errors import MiningError
from gdlnn.gdl.program import ANY, Interval, Intervals
from gdlnn.graphs import Feature, GraphDataset, Schema
from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.structure import structure_columns
from gdlnn.matching import ProgramPlan, as_graph_set, match
from gdlnn.mining import ProgramSet, neighborhoods
from gdlnn.mining.neighborhood_programs import FIRST_BUDGET
from reference import matcher
from reference.random_cases import Rng, renumbered


class Kind(NamedTuple):
    """What the graphs of one case have in common."""

    directed: bool
    n_node_features: int
    n_edge_features: int
    quantity: bool


def random_graph(rng: Rng, kind: Kind) -> Graph:
    """Return a graph with few values per feature; it may have self-loops and several components."""
    n = int(rng.integers(1, 8))
    pairs = [(u, v) for u in range(n) for v in range(n) if kind.directed or u <= v]
    edges = [(u, v) for u, v in pairs if rng.random() < (0.25 if u != v else 0.08)]
    nodes = rng.integers(2, size=(n, kind.n_node_features)).astype(float)
    if kind.quantity:
        nodes = np.column_stack([nodes, rng.normal(size=n)])
    features = rng.integers(2, size=(len(edges), kind.n_edge_features)).astype(float)
    return Graph(nodes, np.array(edges, dtype=np.int64).reshape(-1, 2), features, directed=kind.directed)


def random_dataset(seed: int) -> GraphDataset:
    rng = np.random.default_rng(seed)
    kind = Kind(
        bool(rng.integers(2)), int(rng.integers(1, 3)), int(rng.integers(3)), bool(rng.integers(4) == 0)
    )
    return GraphDataset([random_graph(rng, kind) for _ in range(int(rng.integers(2, 9)))])


def exact(table: Any, row: int) -> Intervals | None:
    """Return the exact values of a row; quantities and what all rows share are left open."""
    stated = [
        np.ptp(table[:, c]) > 0 and bool((table[:, c] == np.floor(table[:, c])).all())
        for c in range(table.shape[1])
    ]
    if not any(stated):
        return None
    values = table[row].tolist()
    return tuple(Interval(v, v) if is_stated else ANY for v, is_stated in zip(values, stated, strict=True))


def slow_balls(data: GraphDataset, radius: int) -> dict[Program, set[int]]:
    """Return every ball of every node as a program in canonical form, with the graphs it is a ball in."""
    nodes = np.concatenate([graph.node_features for graph in data.graphs])
    edges = np.concatenate([graph.edge_features for graph in data.graphs])
    found: dict[Program, set[int]] = {}
    first_node = first_edge = 0
    for g, graph in enumerate(data.graphs):
        shape = networkx.Graph(graph.edges.tolist())
        shape.add_nodes_from(range(graph.n_nodes))
        for centre in range(graph.n_nodes):
            for reach in range(radius + 1):
                ball = networkx.ego_graph(shape, centre, reach).nodes
                program = Program(
                    [(f"x{v}", exact(nodes, first_node + v)) for v in sorted(ball)],
                    [
                        (f"x{u}", f"x{v}", exact(edges, first_edge + e))
                        for e, (u, v) in enumerate(graph.edges.tolist())
                        if u in ball and v in ball
                    ],
                )
                found.setdefault(program.canonical(data.directed), set()).add(g)
        first_node, first_edge = first_node + graph.n_nodes, first_edge + graph.n_edges
    return found


def size(program: Program) -> tuple[int, int]:
    return len(program.nodes), len(program.edges)


def sizes(programs: ProgramSet) -> dict[tuple[bool, ...], tuple[int, int]]:
    """Return the sizes of programs by where they match."""
    matched = (programs.supports.toarray() > 0).T.tolist()
    return {tuple(column): size(program) for column, program in zip(matched, programs.programs, strict=True)}


@pytest.mark.parametrize("block", range(6))
def test_all_balls_in_enough_graphs_are_found(block: int, n_cases: float) -> None:
    n = int(8 * n_cases)
    for seed in range(block * n, (block + 1) * n):
        data = random_dataset(seed)
        radius, least = seed % 4, 1 + seed % 3
        balls = slow_balls(data, radius)
        frequent = [program for program, graphs in balls.items() if len(graphs) >= least]
        smallest: dict[tuple[bool, ...], tuple[int, int]] = {}
        for program in frequent:
            support = tuple(matcher.matches(program, graph) for graph in data.graphs)
            smallest[support] = min(size(program), smallest.get(support, size(program)))
        found = neighborhoods(data, radius, least, structure=False)
        assert sizes(found) == smallest, f"seed {seed}"
        assert len(found) == len(smallest), f"seed {seed}: two programs match the same graphs"
        assert {item.program for item in found} <= set(frequent), f"seed {seed}"
        if len(found):
            assert np.array_equal(found.supports.toarray(), match(found.programs, data.graphs)), (
                f"seed {seed}"
            )


@pytest.mark.parametrize("seed", range(10))
def test_threads_and_the_order_of_nodes_change_nothing(seed: int) -> None:
    data = random_dataset(1000 + seed)
    one = neighborhoods(data, min_support=1)
    for n_jobs in (2, 3, 8):
        assert [str(p) for p in neighborhoods(data, min_support=1, n_jobs=n_jobs).programs] == [
            str(p) for p in one.programs
        ]
    rng = np.random.default_rng(seed)
    turned = GraphDataset([renumbered(rng, graph) for graph in data.graphs])
    other = neighborhoods(turned, min_support=1)
    assert sizes(other) == sizes(one)


def test_quantities_are_left_open() -> None:
    rng = np.random.default_rng(0)
    graphs = [
        Graph(
            np.column_stack([[0.0, 1.0, 0.0], rng.normal(size=3)]), [(0, 1), (1, 2)], rng.normal(size=(2, 1))
        )
        for _ in range(4)
    ]
    for schema in (None, Schema((Feature("kind", "nominal"), Feature("mass")), (Feature("length"),))):
        found = neighborhoods(GraphDataset(graphs, schema=schema), min_support=4)
        assert len(found) == 1
        for item in found:
            assert all(node.intervals is None or node.intervals[1] == ANY for node in item.program.nodes)
            assert all(edge.intervals is None for edge in item.program.edges)
    nominal = Schema((Feature("kind", "nominal"), Feature("mass", "nominal")), (Feature("length"),))
    found = neighborhoods(GraphDataset(graphs, schema=nominal), min_support=1, structure=False)
    assert any(node.intervals and node.intervals[1] != ANY for item in found for node in item.program.nodes)


def test_min_support_and_max_programs() -> None:
    data = random_dataset(3)
    everything = neighborhoods(data, min_support=1)
    assert all(item.n_matched >= 3 for item in neighborhoods(data, min_support=3))
    few = neighborhoods(data, min_support=1, max_programs=3)
    assert (
        sorted((item.n_matched for item in few), reverse=True)
        == sorted((item.n_matched for item in everything), reverse=True)[:3]
    )
    with pytest.raises(MiningError):
        neighborhoods(data, radius=-1)
    with pytest.raises(MiningError):
        neighborhoods(GraphDataset([]))


def slow_structure(graph: Graph) -> Any:
    """Return degrees, and whether a node lies on a cycle of at least two (directed) or three nodes."""
    edges = [(u, v) for u, v in graph.edges.tolist() if u != v]
    shape: Any = networkx.DiGraph(edges) if graph.directed else networkx.Graph(edges)
    shape.add_nodes_from(range(graph.n_nodes))
    cycles = list(networkx.simple_cycles(shape))
    ring = [any(v in cycle for cycle in cycles) for v in range(graph.n_nodes)]
    ends = graph.edges.tolist()
    if graph.directed:
        out, into = ([sum(edge[side] == v for edge in ends) for v in range(graph.n_nodes)] for side in (0, 1))
        return np.array([out, into, ring], dtype=float).T
    return np.array([[sum(v in edge for edge in ends) for v in range(graph.n_nodes)], ring], dtype=float).T


@pytest.mark.parametrize("directed", [False, True])
def test_structure_features_are_those_of_the_slow_way(directed: bool, n_cases: float) -> None:
    for seed in range(int(60 * n_cases)):
        rng = np.random.default_rng([seed, directed])
        graphs = [random_graph(rng, Kind(directed, 1, 0, False)) for _ in range(5)]
        expected = np.concatenate([slow_structure(graph) for graph in graphs])
        assert np.array_equal(structure_columns(GraphArrays.of(graphs)), expected), f"seed {seed}"


def test_structure_of_known_shapes() -> None:
    loop = Graph(np.zeros((2, 0)), [(0, 0), (0, 1)])
    assert structure_columns(GraphArrays.of([loop])).tolist() == [[2, 0], [1, 0]]
    there_and_back = Graph(np.zeros((3, 0)), [(0, 1), (1, 0), (1, 2)], directed=True)
    assert structure_columns(GraphArrays.of([there_and_back])).tolist() == [[1, 1, 1], [2, 1, 1], [0, 1, 0]]
    n = 200_000
    chain = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    for directed in (False, True):
        columns = structure_columns(GraphArrays.of([Graph(np.zeros((n, 0)), chain, directed=directed)]))
        assert not columns[:, -1].any()
        closed = np.concatenate([chain, [[n - 1, 0]]])
        columns = structure_columns(GraphArrays.of([Graph(np.zeros((n, 0)), closed, directed=directed)]))
        assert columns[:, -1].all()


def test_programs_that_take_too_long_to_match_are_left_out() -> None:
    rng = np.random.default_rng(0)
    edges = [np.argwhere(np.triu(rng.random((24, 24)) < 0.5, 1)) for _ in range(4)]
    data = GraphDataset([Graph(np.zeros((24, 1)), pairs) for pairs in edges])
    found, graphs = neighborhoods(data, 1, 1, structure=False), as_graph_set(data)
    unknown = ProgramPlan(found.programs, graphs).match(graphs, step_budget=FIRST_BUDGET).unknown
    assert len(found) > 5
    assert np.bincount(unknown).max() == 1
