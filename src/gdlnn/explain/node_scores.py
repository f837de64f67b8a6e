"""Divide contributions of programs over the nodes and edges of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Graph
    from gdlnn.model.quantities import Extreme

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Images = npt.NDArray[np.int32]


def spread(
    graph: Graph,
    programs: Sequence[Program],
    contributions: FloatArray,
    images: Sequence[Images],
) -> tuple[FloatArray, FloatArray]:
    """Divide the contribution of each program evenly over its places, and over the nodes and edges of each.

    The scores of nodes add up to the contributions; those of edges to the contributions of programs that have
    edges.
    """
    nodes, edges = np.zeros(graph.n_nodes), np.zeros(graph.n_edges)
    number = _edge_numbers(graph)
    for program, contribution, places in zip(programs, contributions.tolist(), images, strict=True):
        if not places.size:
            continue
        np.add.at(nodes, places, contribution / places.size)
        if program.edges and number is not None:
            there = number[places[:, program.ends[:, 0]], places[:, program.ends[:, 1]]]
            np.add.at(edges, there, contribution / there.size)
    return nodes, edges


_MOST_NODES = 2000


def _edge_numbers(graph: Graph) -> npt.NDArray[np.int32] | None:
    """Return the number of the edge between two nodes; None for graphs too large for such a table."""
    if graph.n_nodes > _MOST_NODES or not graph.n_edges:
        return None
    table = np.zeros((graph.n_nodes, graph.n_nodes), dtype=np.int32)
    table[graph.edges[:, 0], graph.edges[:, 1]] = np.arange(graph.n_edges)
    if not graph.directed:
        table[graph.edges[:, 1], graph.edges[:, 0]] = np.arange(graph.n_edges)
    return table


class Scored(NamedTuple):
    """What present programs add to the probability of the target in one graph.

    Attributes
    ----------
    nodes, edges
        The scores of nodes and of edges, see `spread`.
    programs, weights, images
        The programs that are present, what each adds, and its places, images × variables.
    columns
        Their columns; those of quantities come after the programs of the model.
    """

    nodes: FloatArray
    edges: FloatArray
    programs: list[Program]
    columns: list[int]
    weights: FloatArray
    images: Sequence[Images]


def extreme_images(graph: Graph, extreme: Extreme, threshold: float) -> Images:
    """Return the nodes, or the ends of the edges, whose quantity is above a threshold; see `Extreme`."""
    table = graph.node_features if extreme.of == "node" else graph.edge_features
    there = extreme.sign * table[:, extreme.feature] >= threshold
    for position, value in extreme.values:
        there &= table[:, position] == value
    rows = np.flatnonzero(there)
    return np.asarray(rows[:, None] if extreme.of == "node" else graph.edges[rows], dtype=np.int32)
