"""Random graphs and programs of every kind the language allows, from a seeded generator."""

import math
from typing import NamedTuple

import numpy as np

from gdlnn import Graph
from gdlnn.gdl.program import FloatArray, Interval, Intervals, Program

Rng = np.random.Generator


class Shape(NamedTuple):
    """What the graphs and programs of one case have in common."""

    directed: bool
    n_node_features: int
    n_edge_features: int
    n_values: int = 3
    missing: float = 0.0


def random_shape(rng: Rng) -> Shape:
    """Directed or undirected, 0 to 3 node features, 0 to 2 edge features, 1 to 4 values per feature.

    In one of three cases some values are missing.
    """
    numbers = bool(rng.integers(2)), int(rng.integers(4)), int(rng.integers(3)), int(rng.integers(1, 5))
    return Shape(*numbers, missing=float(rng.choice([0.0, 0.0, 0.2])))


def random_features(rng: Rng, rows: int, columns: int, n_values: int, missing: float = 0.0) -> FloatArray:
    """Return small whole numbers, some shifted, so that bounds are met exactly and missed, some missing."""
    values = rng.integers(n_values, size=(rows, columns)).astype(float)
    shifts: FloatArray = rng.choice([0.0, 0.0, 0.0, 0.5, -1.0], size=(rows, columns))
    return np.where(rng.random((rows, columns)) < missing, math.nan, values + shifts)


def random_graph(rng: Rng, shape: Shape, max_nodes: int = 8, density: float | None = None) -> Graph:
    """Return a graph that may have self-loops, isolated nodes, several components, or no node at all."""
    n = int(rng.integers(max_nodes + 1))
    p = rng.choice([0.1, 0.25, 0.5, 0.9]) if density is None else density
    loops = rng.random() < 0.3
    edges = [
        (u, v)
        for u in range(n)
        for v in range(n)
        if (shape.directed or u <= v) and (loops or u != v) and rng.random() < p
    ]
    rng.shuffle(edges)
    if not shape.directed:  # an undirected edge may be listed in either orientation
        edges = [(u, v) if rng.integers(2) else (v, u) for u, v in edges]
    return Graph(
        random_features(rng, n, shape.n_node_features, shape.n_values, shape.missing),
        np.array(edges, dtype=np.int64).reshape(-1, 2),
        random_features(rng, len(edges), shape.n_edge_features, shape.n_values, shape.missing),
        directed=shape.directed,
    )


def renumbered(rng: Rng, graph: Graph) -> Graph:
    """Return the same graph with its nodes and edges in another order; undirected ones are turned round."""
    place, order = rng.permutation(graph.n_nodes), rng.permutation(graph.n_edges)
    ends = place[graph.edges[order]].reshape(-1, 2)
    if not graph.directed:
        turned = rng.integers(2, size=len(ends)).astype(bool)
        ends[turned] = ends[turned, ::-1]
    return Graph(
        graph.node_features[np.argsort(place)],
        ends,
        graph.edge_features[order],
        directed=graph.directed,
        schema=graph.schema,
        name=graph.name,
    )


def random_interval(rng: Rng, n_values: int) -> Interval:
    """Return an interval: one value, a range, open on one side, or open on both."""
    low, high = sorted(float(v) for v in rng.integers(-1, n_values + 1, size=2))
    kind = rng.integers(6)
    if kind == 0:
        return Interval()
    if kind == 1:
        return Interval(-math.inf, high)
    if kind == 2:
        return Interval(low, math.inf)
    if kind == 3:
        return Interval(low, low)
    return Interval(low, high + 0.5 * float(rng.integers(2)))


def random_intervals(rng: Rng, width: int, n_values: int) -> Intervals | None:
    """Return a vector, or None for "any" in one case of four."""
    if not width or rng.random() < 0.25:
        return None
    return tuple(random_interval(rng, n_values) for _ in range(width))


def random_program(rng: Rng, shape: Shape, max_nodes: int = 5, density: float | None = None) -> Program:
    """Return a program that may be empty, disconnected, have self-loops, or both orientations of an edge."""
    n = int(rng.integers(max_nodes + 1))
    p = rng.choice([0.15, 0.3, 0.6]) if density is None else density
    names = [f"x{i}" for i in range(n)]
    pairs = [(u, v) for u in range(n) for v in range(n) if rng.random() < (p if u < v else p / 6)]
    rng.shuffle(pairs)
    return Program(
        [(name, random_intervals(rng, shape.n_node_features, shape.n_values)) for name in names],
        [
            (names[u], names[v], random_intervals(rng, shape.n_edge_features, shape.n_values))
            for u, v in pairs
        ],
    )


def planted_program(rng: Rng, graph: Graph, max_nodes: int = 5) -> Program:
    """Return a program that matches the graph: part of it, generalised here and there, in another order."""
    whole = Program.from_graph(graph)
    size = int(rng.integers(min(max_nodes, graph.n_nodes) + 1))
    kept = {whole.variables[i] for i in rng.permutation(graph.n_nodes)[:size]}

    def widened(intervals: Intervals | None) -> Intervals | None:
        if intervals is None or rng.random() < 0.2:
            return None
        slack = rng.choice([0.0, 0.0, 1.0, math.inf], size=(len(intervals), 2)).tolist()
        return tuple(Interval(a - s, b + t) for (a, b), (s, t) in zip(intervals, slack, strict=True))

    nodes = [(n.variable, widened(n.intervals)) for n in whole.nodes if n.variable in kept]
    edges = []
    for edge in whole.edges:
        if edge.source in kept and edge.target in kept and rng.random() < 0.8:
            ends = (edge.source, edge.target)
            if not graph.directed and rng.integers(2):
                ends = (edge.target, edge.source)
            edges.append((*ends, widened(edge.intervals)))
    return shuffled(rng, Program(nodes, edges))


def shuffled(rng: Rng, program: Program, directed: bool = True) -> Program:
    """Return the program with other variable names and another order of descriptions.

    With ``directed=False`` edges are also turned round here and there, where that gives no edge twice.
    """
    fresh = dict(zip(program.variables, rng.permutation(len(program.nodes)).tolist(), strict=True))
    nodes = [(f"v{fresh[n.variable]}", n.intervals) for n in program.nodes]
    pairs = {(e.source, e.target) for e in program.edges}
    edges = []
    for edge in program.edges:
        source, target = edge.source, edge.target
        if not directed and (target, source) not in pairs and rng.integers(2):
            source, target = target, source
        edges.append((f"v{fresh[source]}", f"v{fresh[target]}", edge.intervals))
    return Program(
        [nodes[i] for i in rng.permutation(len(nodes))], [edges[i] for i in rng.permutation(len(edges))]
    )


class Case(NamedTuple):
    """A program and a graph with the same features."""

    seed: int
    program: Program
    graph: Graph

    def __str__(self) -> str:
        graph = self.graph
        return (
            f"seed {self.seed}\n{self.program}\n{graph!r}\nnode features {graph.node_features.tolist()}\n"
            f"edges {graph.edges.tolist()}\nedge features {graph.edge_features.tolist()}"
        )


def random_case(seed: int, max_graph_nodes: int = 8, max_program_nodes: int = 5) -> Case:
    """Return a random program and graph; in half of the cases the program is planted, so that it matches."""
    rng = np.random.default_rng(seed)
    shape = random_shape(rng)
    graph = random_graph(rng, shape, max_graph_nodes)
    if rng.integers(2):
        return Case(seed, planted_program(rng, graph, max_program_nodes), graph)
    return Case(seed, random_program(rng, shape, max_program_nodes), graph)
