"""The kinds of graphs that the core encodes differently: many nodes, many values, many edge types, hubs."""

from typing import NamedTuple

import numpy as np
import pytest

from gdlnn import Graph, Program
from gdlnn.gdl import Interval
from gdlnn.gdl.program import FloatArray
from gdlnn.graphs.arrays import GraphSet, encoded
from gdlnn.matching import match
from reference import conflicts, matcher
from reference.random_cases import Rng
from reference.shapes import path, ring, star, tables


class Kind(NamedTuple):
    """How the graphs of one kind are drawn; a number of values of 0 means continuous."""

    n_graphs: int
    nodes: tuple[int, int]
    degree: float
    node_values: tuple[int, ...]
    edge_values: tuple[int, ...]
    hub: bool = False
    n_cases: int = 6


KINDS = {
    "two words": Kind(3, (65, 140), 2.5, (12,), (3,)),
    "full words": Kind(3, (64, 64), 2.5, (12,), (3,)),
    "continuous nodes": Kind(8, (8, 20), 3.0, (0, 3, 0), (2,)),
    "continuous nodes over 256": Kind(2, (260, 300), 3.0, (0, 3), (2,)),
    "continuous edges": Kind(8, (8, 20), 4.0, (4,), (0, 2)),
    "many edge types": Kind(4, (12, 24), 6.0, (4,), (13,)),
    "more than 64 edge types": Kind(4, (12, 24), 6.0, (4,), (13, 13)),
    "lists": Kind(2, (513, 600), 3.0, (40,), (3,), n_cases=3),
    "lists, continuous": Kind(2, (513, 560), 3.0, (0,), (0,), n_cases=3),
    "hubs": Kind(2, (300, 340), 2.0, (30,), (3,), hub=True, n_cases=4),
}


def random_columns(rng: Rng, rows: int, values: tuple[int, ...]) -> FloatArray:
    columns = [rng.integers(n, size=rows).astype(float) if n else rng.normal(size=rows) for n in values]
    return np.array(columns).T.reshape(rows, len(values))


def draw_graph(rng: Rng, kind: Kind, directed: bool) -> Graph:
    n = int(rng.integers(kind.nodes[0], kind.nodes[1] + 1))
    pairs = {(int(u), int(v)) for u, v in rng.integers(n, size=(int(n * kind.degree / 2), 2))}
    if kind.hub:
        pairs |= {(0, v) for v in range(1, 280)}
    if not directed:
        pairs = {(min(pair), max(pair)) for pair in pairs}
    edges = sorted(pairs)
    features = random_columns(rng, len(edges), kind.edge_values)
    return Graph(random_columns(rng, n, kind.node_values), edges, features, directed=directed)


def interval_round(rng: Rng, value: float, values: int) -> Interval:
    """Return a narrow interval round a value, one that just misses it now and then."""
    width = 0.15 if values == 0 else values / 20
    shift = float(rng.choice([0.0, 0.0, 0.0, 2.5 * width + 0.001]))
    low, high = value - width * rng.random() + shift, value + width * rng.random() + shift
    side = rng.integers(6)
    return Interval(-np.inf if side == 0 else low, np.inf if side == 1 else high)


def grown_program(rng: Rng, graph: Graph, kind: Kind, size: int) -> Program:
    """Return a program round a random part of a graph: connected, or with an isolated node now and then."""
    start = 0 if kind.hub and rng.random() < 0.6 else int(rng.integers(graph.n_nodes))
    nodes = [start]
    for _ in range(size - 1):
        near = [
            w for u, v in graph.edges.tolist() for w in ((v,) if u in nodes else (u,)) if {u, v} & set(nodes)
        ]
        near = [w for w in near if w not in nodes]
        fresh = near if near and rng.random() < 0.85 else [int(rng.integers(graph.n_nodes))]
        nodes.append(int(rng.choice([w for w in fresh if w not in nodes] or [max(nodes) + 1])))
    nodes = [v for v in nodes if v < graph.n_nodes]

    def vector(row: list[float], values: tuple[int, ...]) -> list[Interval]:
        return [interval_round(rng, x, n) for x, n in zip(row, values, strict=True)]

    described = [(f"x{v}", vector(graph.node_features[v].tolist(), kind.node_values)) for v in nodes]
    edges = []
    for number, (u, v) in enumerate(graph.edges.tolist()):
        if u in nodes and v in nodes and rng.random() < 0.9:
            wide = rng.random() < 0.5
            intervals = None if wide else vector(graph.edge_features[number].tolist(), kind.edge_values)
            edges.append((f"x{u}", f"x{v}", intervals))
    return Program(described, edges)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_every_encoding_agrees_with_the_reference(name: str, directed: bool, n_cases: float) -> None:
    kind = KINDS[name]
    for seed in range(max(1, int(kind.n_cases * n_cases / 2))):
        rng = np.random.default_rng([seed, directed, *name.encode()])
        graphs = [draw_graph(rng, kind, directed) for _ in range(kind.n_graphs)]
        size = 3 if kind.nodes[1] > 100 else 4
        programs = [
            grown_program(rng, graph, kind, int(rng.integers(1, size + 1)))
            for graph in graphs
            for _ in range(3)
        ]
        conflicts.check_table(programs, graphs)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("leaves", [3, 255, 256, 257, 600])
def test_a_star_needs_as_many_leaves_as_it_has(leaves: int, directed: bool) -> None:
    program = Program.from_graph(star(leaves, directed))
    graphs = GraphSet([star(leaves + k, directed, isolated=2 - k) for k in (-1, 0, 1)])
    assert match(program, graphs)[:, 0].tolist() == [False, True, True]
    conflict = conflicts.find_conflict(program, graphs, 0)
    assert len(conflict.edges) == leaves


def test_programs_with_more_variables_than_fit_a_word() -> None:
    graphs = [ring(130), path(130)]
    of_ring, of_path = programs = [Program.from_graph(graph) for graph in graphs]
    assert match(programs, graphs).tolist() == [[True, True], [False, True]]
    assert of_ring.count(graphs[0]) == 260
    assert of_ring.count(graphs[0], distinct=True) == 1
    assert of_path.count(graphs[0], distinct=True) == 130


@pytest.mark.parametrize("directed", [False, True])
def test_long_chains_that_wind_through_a_graph(directed: bool, n_cases: float) -> None:
    """Searches long enough for the tests that only hard questions get."""
    n_hard = 0
    for seed in range(int(8 * n_cases)):
        rng = np.random.default_rng([seed, directed])
        n = int(rng.integers(12, 15))
        pairs = [(u, v) for u in range(n) for v in range(u) if rng.random() < (0.32 if directed else 0.26)]
        edges = [(v, u) if rng.random() < 0.5 else (u, v) for u, v in pairs]
        graph = Graph(np.zeros((n, 0)), edges, directed=directed)
        size = n - int(rng.integers(3))
        program = Program.from_graph(path(size, directed))
        expected = matcher.matches(program, graph)
        assert program.matches(graph) == expected, f"seed {seed}"
        n_hard += bool(tables([program], graph, 600)[1].any())
        conflict = conflicts.find_conflict(program, encoded(graph))
        assert (conflict is None) == expected
        if conflict is not None:
            conflicts.check_conflict(program, graph, conflict)
    assert directed or n_hard
