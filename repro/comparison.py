"""Compare mined programs: the paper's objective, and random programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import MiningError
from gdlnn.gdl.program import Program
from gdlnn.matching import Graphs, as_graph_set, match
from gdlnn.mining.program_set import MinedProgram

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdlnn.graphs import Graph, GraphDataset

ATTEMPTS = 50
"""Draws per program before a dataset counts as having too few distinct subgraphs."""


def objective(
    programs: Iterable[Program | MinedProgram],
    graphs: Graphs,
    y: npt.ArrayLike,
    *,
    mean: bool = False,
) -> float:
    """Return how well programs separate labels: graphs alike within a label, different between labels.

    The sum over all ordered pairs (i, j) of graphs, i = j included, of the Hamming similarity of their
    representations, with + where the labels are equal and - where they differ. A representation says which
    programs match; the similarity is the share of programs on which two graphs agree.

    If classes differ in size, programs that match nothing score well: all graphs are then alike, and most
    pairs share a label. docs/mining.md has figures. With `mean`, it is divided by the number
    of pairs, so that datasets of different sizes compare: from -1 to 1.
    """
    listed = [item.program if isinstance(item, MinedProgram) else item for item in programs]
    if not listed:
        raise MiningError("objective: programs: expected at least one, got none")
    encoded = as_graph_set(graphs)
    labels = np.asarray(y)
    if labels.shape != (len(encoded),):
        raise MiningError(
            f"objective: y: expected {len(encoded)} labels, one per graph, got shape {labels.shape}"
        )
    value = _signed_agreement(match(listed, encoded), labels)
    return value / max(1, len(labels)) ** 2 if mean else value


def _signed_agreement(table: npt.NDArray[np.bool_], labels: npt.NDArray[Any]) -> float:
    """Count agreeing pairs from the number of matches alone: within labels twice, less all of them."""

    def agreeing(rows: npt.NDArray[np.bool_]) -> int:
        matched = rows.sum(axis=0, dtype=np.int64)
        return int((matched**2 + (len(rows) - matched) ** 2).sum())

    n_programs: int = table.shape[1]
    within = sum(agreeing(table[labels == label]) for label in np.unique(labels))
    return (2 * within - agreeing(table)) / n_programs


def random_programs(
    dataset: GraphDataset, n: int, seed: int = 0, sizes: Sequence[int] = (2, 3, 4, 5, 6, 7, 8)
) -> list[Program]:
    """Return n different programs, each a random connected subgraph of a random graph with all its values.

    `sizes` are numbers of nodes to draw from; those of mined programs make a fair comparison. A smaller
    component is taken whole.

    Raises
    ------
    MiningError
        If n distinct subgraphs of these sizes were not found in `ATTEMPTS` draws for each.
    """
    rng = np.random.default_rng(seed)
    graphs = [graph for graph in dataset.graphs if graph.n_nodes]
    found: dict[Program, None] = {}
    for _ in range(ATTEMPTS * n if graphs else 0):
        if len(found) == n:
            break
        graph = graphs[int(rng.integers(len(graphs)))]
        piece = graph.subgraph(_grown(rng, graph, sizes[int(rng.integers(len(sizes)))]))
        found.setdefault(Program.from_graph(piece).canonical(directed=dataset.directed))
    if len(found) < n:
        raise MiningError(
            f"random_programs: n: expected at most {len(found)} for these graphs and sizes, got {n}"
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
