"""Scores of nodes: what programs add to a probability, divided over the nodes that they match."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdlnn.graphs import Graph
    from gdlnn.model.quantities import Extreme

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
MOST_PLACES = 240
"""Places of a program in a graph among which its contribution is divided.

Few molecules have more of one program; a part of the places would give equal atoms unequal scores.
"""


class Scored(NamedTuple):
    """What present programs add to the probability of the target in one graph.

    Attributes
    ----------
    nodes
        The score of each node: the contribution of each program is divided evenly over its places, and over
        the nodes of each. The scores add up to the contributions.
    columns, weights
        The columns of the programs that are present, and what each adds. Columns of quantities come after the
        programs of the model.
    thresholds
        For each column of a quantity the threshold that decided.
    there, owner
        The nodes of all places of all programs, and the position of the program that each is of.
    sizes
        How many nodes all places of each program have.
    """

    nodes: FloatArray
    columns: list[int]
    weights: FloatArray
    thresholds: Mapping[int, float]
    there: IntArray
    owner: IntArray
    sizes: IntArray

    def shares(self, nodes: Sequence[int]) -> FloatArray:
        """Return what each program adds to some nodes."""
        inside = np.zeros(len(self.nodes), dtype=bool)
        inside[list(nodes)] = True
        counts = np.bincount(self.owner[inside[self.there]], minlength=len(self.weights))
        return np.round(self.weights * counts / np.maximum(self.sizes, 1), 12)


def score_nodes(
    n_nodes: int,
    columns: list[int],
    weights: FloatArray,
    there: IntArray,
    sizes: Sequence[int],
    thresholds: Mapping[int, float],
) -> Scored:
    """Divide what programs add over the nodes of their places, see `Scored`."""
    own = np.array(sizes, dtype=np.int64)
    owner = np.repeat(np.arange(len(own)), own)
    nodes = np.bincount(there, (weights / np.maximum(own, 1))[owner], minlength=n_nodes)
    return Scored(nodes.astype(np.float64), columns, weights, thresholds, there, owner, own)


def extreme_nodes(graph: Graph, extreme: Extreme, threshold: float) -> IntArray:
    """Return the nodes, or the ends of the edges, whose quantity is above a threshold; see `Extreme`."""
    table = graph.node_features if extreme.of == "node" else graph.edge_features
    there = extreme.sign * table[:, extreme.feature] >= threshold
    for position, value in extreme.values:
        there &= table[:, position] == value
    rows = np.flatnonzero(there)
    return rows if extreme.of == "node" else graph.edges[rows].reshape(-1)
