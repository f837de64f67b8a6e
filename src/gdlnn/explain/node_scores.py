"""Divide contributions of programs over the nodes of a graph."""

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


class Scored(NamedTuple):
    """What present programs add to the probability of the target in one graph.

    Attributes
    ----------
    nodes
        The score of each node: the contribution of each program is divided evenly over its places, and over
        the nodes of each. The scores add up to the contributions.
    programs, columns, weights
        The programs that are present, their columns, and what each adds. Columns of quantities come after the
        programs of the model.
    there, owner
        The nodes of all places of all programs, and the position of the program that each is of.
    """

    nodes: FloatArray
    programs: list[Program]
    columns: list[int]
    weights: FloatArray
    there: IntArray
    owner: IntArray

    def shares(self, nodes: Sequence[int]) -> FloatArray:
        """Return what each program adds to some nodes."""
        inside = np.zeros(len(self.nodes))
        inside[list(nodes)] = 1.0
        n = len(self.weights)
        sizes = np.maximum(np.bincount(self.owner, minlength=n), 1)
        return np.round(self.weights * np.bincount(self.owner, inside[self.there], minlength=n) / sizes, 12)


def score_nodes(
    graph: Graph,
    programs: list[Program],
    columns: list[int],
    weights: FloatArray,
    images: Sequence[Images],
) -> Scored:
    """Divide what programs add over the nodes of their places, see `Scored`."""
    sizes = np.array([one.size for one in images], dtype=np.int64)
    flat = np.concatenate([np.zeros(0, dtype=np.int32), *(one.reshape(-1) for one in images)])
    there, owner = flat.astype(np.int64), np.repeat(np.arange(len(sizes)), sizes)
    nodes = np.zeros(graph.n_nodes)
    nodes += np.bincount(there, (weights / np.maximum(sizes, 1))[owner], minlength=graph.n_nodes)
    return Scored(nodes, programs, columns, weights, there, owner)


def extreme_images(graph: Graph, extreme: Extreme, threshold: float) -> Images:
    """Return the nodes, or the ends of the edges, whose quantity is above a threshold; see `Extreme`."""
    table = graph.node_features if extreme.of == "node" else graph.edge_features
    there = extreme.sign * table[:, extreme.feature] >= threshold
    for position, value in extreme.values:
        there &= table[:, position] == value
    rows = np.flatnonzero(there)
    return np.asarray(rows[:, None] if extreme.of == "node" else graph.edges[rows], dtype=np.int32)
