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
    there, owner = flat_images(images)
    sizes = np.bincount(owner, minlength=len(images))
    nodes: FloatArray = np.zeros(graph.n_nodes)
    nodes += np.bincount(there, contributions[owner] / sizes[owner], minlength=graph.n_nodes)
    number = _edge_numbers(graph)
    if number is None:
        return nodes, np.zeros(graph.n_edges)
    lines = [
        number[places[:, program.ends[:, 0]], places[:, program.ends[:, 1]]].reshape(-1)
        if program.edges
        else np.zeros(0, dtype=np.int32)
        for program, places in zip(programs, images, strict=True)
    ]
    there, owner = flat_images(lines)
    sizes = np.bincount(owner, minlength=len(lines))
    edges: FloatArray = np.zeros(graph.n_edges)
    edges += np.bincount(there, contributions[owner] / sizes[owner], minlength=graph.n_edges)
    return nodes, edges


def flat_images(images: Sequence[Images]) -> tuple[IntArray, IntArray]:
    """Return the nodes of all images one after another, and the number of the program that each is of."""
    sizes = [one.size for one in images]
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *(one.reshape(-1) for one in images)])
    return flat.astype(np.int64), np.repeat(np.arange(len(sizes)), sizes)


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
