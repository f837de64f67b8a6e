"""random_programs(): connected pieces of random graphs, the yardstick for mined programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdlnn.errors import MiningError
from gdlnn.gdl.program import Program
from gdlnn.mining.settings import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import Graph, GraphDataset

ATTEMPTS = 50
"""Draws per program before a data set counts as too poor in different pieces."""


def random_programs(
    dataset: GraphDataset, n: int, seed: int = 0, sizes: Sequence[int] = (2, 3, 4, 5, 6, 7, 8)
) -> list[Program]:
    """Return n different programs, each a random connected subgraph of a random graph with all its values.

    Parameters
    ----------
    dataset
        Where the graphs come from.
    n
        Number of programs.
    seed
        Seed of the random numbers.
    sizes
        Numbers of nodes to draw from; those of mined programs make a fair comparison. A smaller component
        is taken whole.

    Raises
    ------
    MiningError
        Where the graphs do not hold n different pieces of these sizes, as far as drawing can tell.
    """
    count = whole("n", n, 0)
    if not sizes:
        raise MiningError("random_programs: sizes: expected at least one number of nodes, got none")
    wanted = [whole("sizes", size, 1) for size in sizes]
    rng = np.random.default_rng(seed)
    graphs = [graph for graph in dataset.graphs if graph.n_nodes]
    found: dict[Program, None] = {}
    for _ in range(ATTEMPTS * count if graphs else 0):
        if len(found) == count:
            break
        graph = graphs[int(rng.integers(len(graphs)))]
        piece = graph.subgraph(_grown(rng, graph, wanted[int(rng.integers(len(wanted)))]))
        found.setdefault(Program.from_graph(piece).canonical(directed=dataset.directed))
    if len(found) < count:
        raise MiningError(
            f"random_programs: n: expected at most {len(found)} for these graphs and sizes, got {count}"
        )
    return list(found)


def _grown(rng: np.random.Generator, graph: Graph, size: int) -> list[int]:
    """Grow a connected set of nodes from a random one, a random neighbour at a time."""
    neighbours: list[set[int]] = [set() for _ in range(graph.n_nodes)]
    for u, v in graph.edges.tolist():
        neighbours[u].add(v)
        neighbours[v].add(u)
    kept = {int(rng.integers(graph.n_nodes))}
    front = sorted(neighbours[next(iter(kept))] - kept)
    while front and len(kept) < size:
        node = front[int(rng.integers(len(front)))]
        kept.add(node)
        front = sorted((set(front) | neighbours[node]) - kept)
    return sorted(kept)
