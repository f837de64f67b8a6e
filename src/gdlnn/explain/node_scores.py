"""Divide contributions of programs over nodes and edges, and choose the programs to list."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.gdl.program import ANY
from gdlnn.graphs import Graph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn.explain.context import Context
    from gdlnn.gdl.program import Intervals, Program

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
SMALL_CHANGE = 0.1
"""A program whose removal costs less than this share of its contribution is replaced by one it contains."""
WORTH_SHOWING = 0.4
"""A node is worth showing from this share of the highest score on."""
APART = 0.25
"""The same for nodes that are not adjacent to those already shown."""
CANDIDATES = 60
"""Number of candidate programs for the list: the strongest of each side."""
MOST_PLACES = 8
"""Maximum number of places considered per candidate."""


def spread(
    graph: Graph,
    programs: Sequence[Program],
    contributions: FloatArray,
    images: Sequence[npt.NDArray[np.int32]],
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
    """What present programs add to the log odds of the target in one graph.

    Attributes
    ----------
    nodes, edges
        The scores of nodes and of edges, see `spread`.
    columns, weights, images
        The programs that are present, what each adds, and its places, images × variables.
    ends
        The edges of the graph, edges × 2.
    """

    nodes: FloatArray
    edges: FloatArray
    columns: IntArray
    weights: FloatArray
    images: Sequence[npt.NDArray[np.int32]]
    ends: IntArray

    def strongest(self, n_features: int) -> list[int]:
        """Return the programs to list, those first whose places add most, for or against the target.

        A node is worth showing if its score is at least `WORTH_SHOWING` of the highest, or `APART` of it
        for nodes apart from those already chosen: one of two groups that decide together may be weaker. For
        each side in turn, the place is chosen whose nodes exceed that in sum by most, then the place that
        adds most to it, until none does. So a reason that many programs share is listed once.
        """
        found = [(adds, column) for sign in (1.0, -1.0) for adds, column in self._of_side(sign, n_features)]
        found.sort(key=lambda pair: -round(pair[0], 9))
        return list(dict.fromkeys(column for _, column in found))[:n_features]

    def _of_side(self, sign: float, most: int) -> list[tuple[float, int]]:
        scores = sign * self.nodes
        highest = float(scores.max(initial=0.0))
        order = np.argsort(-np.round(sign * self.weights, 9), kind="stable")[:CANDIDATES]
        order = order[sign * self.weights[order] > 0]
        pairs = [(int(i), place) for i in order for place in self.images[i][:MOST_PLACES]]
        if highest <= 0 or not pairs:
            return []
        covers = np.zeros((len(pairs), len(scores)))
        for row, (_, place) in enumerate(pairs):
            covers[row, place] = 1.0
        sizes = covers.sum(axis=1)
        owners = np.array([i for i, _ in pairs])
        left = np.ones(len(scores))
        found: list[tuple[float, int]] = []
        while len(found) < most:
            excess = scores - np.where(self._beside(left), WORTH_SHOWING, APART) * highest
            gains = np.round(covers @ (excess * left), 9)
            # Algorithm 2 would add no node for a program that also matches inside the chosen nodes.
            gains[np.isin(owners, owners[covers @ left == 0])] = -np.inf
            best = int(np.lexsort((sizes, -gains))[0])
            if gains[best] <= 0:
                break
            found.append((float(covers[best] @ scores), int(self.columns[pairs[best][0]])))
            left[covers[best] > 0] = 0.0
        return found

    def _beside(self, left: FloatArray) -> npt.NDArray[np.bool_]:
        """Return which nodes are chosen or adjacent to chosen ones; all of them at first."""
        taken = left == 0
        if not taken.any():
            return np.ones(len(left), dtype=bool)
        beside: npt.NDArray[np.bool_] = taken.copy()
        beside[self.ends[taken[self.ends[:, 0]], 1]] = True
        beside[self.ends[taken[self.ends[:, 1]], 0]] = True
        return beside


def carried_by_the_smallest(
    context: Context,
    row: int,
    weights: FloatArray,
    columns: Sequence[int],
    contained: Callable[[int], IntArray],
) -> IntArray:
    """Return programs, each replaced by the smallest one that carries its reason.

    Suppose a program contains another that is present and on the same side. If leaving the larger one out of
    the model changes the log odds by less than a tenth of its contribution, the smaller one is listed: of
    several the one that adds most.

    Parameters
    ----------
    context, row
        The question, and the graph of it.
    weights
        The contributions of all programs.
    columns
        The programs.
    contained
        Returns the programs that a program contains, by column.
    """
    can_go = _can_be_left_out(context, row, np.array(columns, dtype=np.int64), weights)
    listed: dict[int, None] = {}
    for column in columns:
        smallest = column
        while can_go.get(smallest, False):
            parts = contained(smallest)
            parts = parts[(parts != smallest) & (weights[parts] * weights[column] > 0)]
            if not len(parts):
                break
            smallest = int(parts[np.argmax(np.abs(weights[parts]))])
        listed[smallest] = None
    return np.array(list(listed), dtype=np.int64)


def _can_be_left_out(context: Context, row: int, columns: IntArray, weights: FloatArray) -> dict[int, bool]:
    """Return which programs can be left out: other present programs carry the same reason."""
    if not len(columns):
        return {}
    values = context.values[row]
    if context.split is not None:
        others = None if context.others is None else context.others[row : row + 1]
        first = sum(context.split.path(values[None], others))
        less = values[columns, None] * context.split.program_weights[columns]
        rows = np.vstack([first - less, first])
        odds, _ = context.split.log_odds(rows, np.full(len(rows), context.targets[row]))
    else:
        table = np.repeat(values[None], len(columns) + 1, axis=0)
        table[np.arange(len(columns)), columns] = 0
        chances = np.clip(context.predict(table, row)[:, context.targets[row]], 1e-3, 1 - 1e-3)
        odds = np.log(chances) - np.log1p(-chances)
    change = np.abs(odds[-1] - odds[:-1])
    return dict(
        zip(columns.tolist(), (change < SMALL_CHANGE * np.abs(weights[columns])).tolist(), strict=True)
    )


def as_graph(program: Program, n_node_features: int, n_edge_features: int, *, directed: bool) -> Graph | None:
    """Return the graph that a program of exact conditions describes; None where some condition is a range.

    An open feature gets a value that no exact condition has.
    """
    nodes = [_exact(node.intervals, n_node_features) for node in program.nodes]
    edges = [_exact(edge.intervals, n_edge_features) for edge in program.edges]
    if any(values is None for values in (*nodes, *edges)):
        return None
    arrays = program.arrays(n_node_features, n_edge_features)
    return Graph._trusted(
        np.array(nodes, dtype=np.float64).reshape(len(nodes), n_node_features),
        arrays.edges,
        np.array(edges, dtype=np.float64).reshape(len(edges), n_edge_features),
        directed,
        None,
        None,
    )


_NOWHERE = -1.2345678e300


def _exact(intervals: Intervals | None, width: int) -> list[float] | None:
    if intervals is None:
        return [_NOWHERE] * width
    if any(interval != ANY and interval.lower != interval.upper for interval in intervals):
        return None
    return [_NOWHERE if interval == ANY else interval.lower for interval in intervals]
