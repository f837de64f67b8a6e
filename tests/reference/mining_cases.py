"""Random labeled datasets to mine, of graphs that resemble each other, so that programs match several."""

import itertools
from dataclasses import dataclass

import numpy as np

from gdlnn import Feature, Graph, GraphDataset, Schema
from reference.random_cases import Rng, Shape, random_features, random_graph

EPSILONS = (0.01, 0.1, 1.0, 5.0)


@dataclass(frozen=True)
class MiningCase:
    """A dataset with the settings it is mined with."""

    seed: int
    graphs: list[Graph]
    y: list[int]
    epsilon: float
    connected: bool

    @property
    def dataset(self) -> GraphDataset:
        return GraphDataset(self.graphs, self.y)

    @property
    def nominal(self) -> tuple[frozenset[int], frozenset[int]]:
        """The features of nodes and edges that are nominal, drawn with the seed."""
        rng = np.random.default_rng([2026, self.seed])
        widths = [self.graphs[0].node_features.shape[1], self.graphs[0].edge_features.shape[1]]
        node, edge = (frozenset(np.flatnonzero(rng.random(width) < 0.6).tolist()) for width in widths)
        return node, edge

    @property
    def schema(self) -> Schema:
        """A schema in which those features are nominal and the others ordinal."""

        def features(width: int, nominal: frozenset[int]) -> tuple[Feature, ...]:
            return tuple(Feature(f"f{i}", "nominal" if i in nominal else "ordinal") for i in range(width))

        first, (node, edge) = self.graphs[0], self.nominal
        return Schema(
            features(first.node_features.shape[1], node), features(first.edge_features.shape[1], edge)
        )

    def __str__(self) -> str:
        lines = [f"seed {self.seed}, ε = {self.epsilon}, connected = {self.connected}, labels {self.y}"]
        lines += [
            f"Graph({g.node_features.tolist()}, {g.edges.tolist()}, {g.edge_features.tolist()}, "
            f"directed={g.directed})"
            for g in self.graphs
        ]
        return "\n".join(lines)


def mining_case(seed: int, max_nodes: int = 5) -> MiningCase:
    """Return a case: 3 to 7 graphs, 1 to 3 labels, 0 to 3 features; half the graphs resemble another."""
    rng = np.random.default_rng([2024, seed])
    shape = Shape(bool(rng.integers(2)), int(rng.integers(4)), int(rng.integers(4)), int(rng.integers(1, 4)))
    graphs: list[Graph] = []
    for _ in range(int(rng.integers(3, 8))):
        if graphs and rng.random() < 0.5:
            graphs.append(relative(rng, graphs[int(rng.integers(len(graphs)))], shape))
        else:
            graphs.append(random_graph(rng, shape, max_nodes))
    n_labels = int(rng.integers(1, 4))
    y = [int(label) for label in rng.integers(n_labels, size=len(graphs))]
    # 0.01 |D| is among the values of ε that the paper searches.
    epsilon = float(rng.choice([*EPSILONS, 0.01 * len(graphs)]))
    return MiningCase(seed, graphs, y, epsilon, bool(rng.random() < 0.7))


def large_case(seed: int) -> MiningCase:
    """Return a case of larger graphs: more than one machine word of nodes, of values, of kinds of edges."""
    rng = np.random.default_rng([2025, seed])
    directed, size = bool(rng.integers(2)), int(rng.choice([12, 20, 30, 68]))
    widths = int(rng.integers(3)), int(rng.integers(2))
    n_values = int(rng.choice([1, 2, 3, 100])), int(rng.choice([1, 2, 100]))
    graphs: list[Graph] = []
    for _ in range(int(rng.integers(4, 10))):
        n = int(rng.integers(size - 4, size + 5))
        pairs = {(int(rng.integers(max(0, v - 4), v)), v) for v in range(1, n)}
        for _ in range(int(rng.integers(4))):
            u, v = sorted(rng.integers(n, size=2).tolist())
            pairs.add((u, v))
        edges = [(v, u) if directed and rng.integers(2) else (u, v) for u, v in sorted(pairs)]
        values = (
            rng.integers(count, size=(rows, width)).astype(float)
            for rows, width, count in zip((n, len(edges)), widths, n_values, strict=True)
        )
        graphs.append(Graph(next(values), edges, next(values), directed=directed))
    shape = Shape(directed, *widths, n_values[0])
    graphs += [relative(rng, graph, shape) for graph in graphs[: len(graphs) // 2]]
    y = [int(label) for label in rng.integers(2, size=len(graphs))]
    epsilon = float(rng.choice(EPSILONS[:3]))
    return MiningCase(seed, graphs, y, epsilon, bool(rng.random() < 0.7))


def relative(rng: Rng, graph: Graph, shape: Shape) -> Graph:
    """Return a graph like another: renumbered, a value changed, edges lost, perhaps a node more."""
    nodes, links, ends = graph.node_features.copy(), graph.edge_features.copy(), graph.edges.copy()
    for matrix in (nodes, links):
        if matrix.size and rng.random() < 0.6:
            row, column = int(rng.integers(matrix.shape[0])), int(rng.integers(matrix.shape[1]))
            matrix[row, column] = float(rng.integers(shape.n_values))
    kept = rng.random(len(ends)) > 0.2
    ends, links = ends[kept], links[kept]
    order = rng.permutation(graph.n_nodes)
    ends = order[ends].reshape(-1, 2)
    nodes = nodes[np.argsort(order)]
    if graph.n_nodes and rng.integers(2):
        nodes = np.concatenate([nodes, random_features(rng, 1, nodes.shape[1], shape.n_values)])
        ends = np.concatenate([ends, [[graph.n_nodes, int(rng.integers(graph.n_nodes))]]])
        links = np.concatenate([links, random_features(rng, 1, links.shape[1], shape.n_values)])
    return Graph(nodes, ends, links, directed=graph.directed)


def random_trees(n: int, seed: int = 0, nodes: int = 14) -> GraphDataset:
    """Return labeled graphs that take the miner a moment: trees with a few rings, like small molecules.

    Graphs with label "ring" have a ring of six with one value set; the others are trees.
    """
    rng = np.random.default_rng(seed)
    graphs, labels = [], []
    for number in range(n):
        size = int(rng.integers(nodes // 2, nodes + 1))
        edges = [(int(rng.integers(max(0, v - 3), v)), v) for v in range(1, size)]
        features = rng.choice([0.0, 0.0, 0.0, 1.0, 2.0], size=(size, 1))
        labels.append("ring" if number % 3 == 0 else "tree")
        if labels[-1] == "ring":
            ring = list(range(size, size + 5))
            edges += [(0, ring[0]), *itertools.pairwise(ring), (ring[-1], 0)]
            features = np.concatenate([features, np.zeros((5, 1))])
        links = rng.choice([1.0, 1.0, 2.0], size=(len(edges), 1))
        graphs.append(Graph(features, edges, links))
    return GraphDataset(graphs, np.array(labels), name="random trees")
