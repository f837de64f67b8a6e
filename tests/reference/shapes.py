"""Graphs of a plain shape, without features."""

from typing import Any

import numpy as np
import numpy.typing as npt

from gdlnn import Graph, Program
from gdlnn.matching import ProgramPlan, as_graph_set


def _plain(n: int, edges: npt.ArrayLike, directed: bool = False) -> Graph:
    return Graph(np.zeros((n, 0)), edges, directed=directed)


def path(n: int, directed: bool = False) -> Graph:
    """Return n nodes in a row."""
    return _plain(n, np.column_stack([np.arange(n - 1), np.arange(1, n)]), directed)


def ring(n: int) -> Graph:
    """Return n nodes in a circle."""
    return _plain(n, np.column_stack([np.arange(n), (np.arange(n) + 1) % n]))


def complete(n: int) -> Graph:
    """Return n nodes with all edges between them."""
    return _plain(n, np.column_stack(np.triu_indices(n, 1)))


def star(leaves: int, directed: bool = False, isolated: int = 0) -> Graph:
    """Return a node with leaves, and isolated nodes."""
    edges = np.column_stack([np.zeros(leaves, dtype=int), np.arange(1, leaves + 1)])
    return _plain(leaves + 1 + isolated, edges, directed)


def ladder(n: int) -> Graph:
    """Return a ladder with two nodes hanging from every node of one rail: no path has more than 2 n + 4."""
    rails = [(v, v + 1) for v in range(n - 1)] + [(n + v, n + v + 1) for v in range(n - 1)]
    rungs = [(v, n + v) for v in range(n)]
    tails = [(v, 2 * n + v) for v in range(n)] + [(2 * n + v, 3 * n + v) for v in range(n)]
    return _plain(4 * n, rails + rungs + tails)


def tables(programs: list[Program], graphs: Graph | list[Graph], step_budget: int) -> list[npt.NDArray[Any]]:
    """Return which programs match which graphs, and of which pairs this is unknown within a budget."""
    encoded = as_graph_set(graphs)
    found = ProgramPlan(programs, encoded).match(encoded, step_budget=step_budget)
    return [found.table(), found.unknown_table()]
