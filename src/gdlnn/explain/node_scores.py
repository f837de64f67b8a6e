"""From contributions of programs to those of nodes and edges, and which program tells a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdlnn.gdl.program import ANY
from gdlnn.graphs import Graph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn.explain.attribution import Attribution
    from gdlnn.explain.context import Context
    from gdlnn.gdl.program import Intervals, Program

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
SMALL_CHANGE = 0.1
"""A program that can be left out at less than this share of its contribution is told by one it contains."""
CANDIDATES = 4
"""Programs that are looked at for each one that is listed."""


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


def told_by_the_smallest(
    context: Context, attribution: Attribution, contained: Callable[[int], IntArray], n_features: int
) -> list[IntArray]:
    """Choose the programs to list: the strongest, each told by the smallest program that carries its reason.

    Where a program contains another that is present and speaks for the same side, and leaving the larger one
    out of the model changes the log odds by less than a tenth of its contribution, the smaller one is listed:
    of several the one that adds most.

    Parameters
    ----------
    context, attribution
        The question and the contributions.
    contained
        Returns the programs that a program contains, by column.
    n_features
        How many programs to list at most.
    """
    chosen = []
    for row, weights in enumerate(attribution.weights):
        strongest = np.argsort(-np.abs(weights), kind="stable")[: CANDIDATES * n_features]
        strongest = strongest[weights[strongest] != 0]
        can_go = _can_be_left_out(context, row, strongest, weights)
        listed: list[int] = []
        for column in strongest.tolist():
            if len(listed) == n_features:
                break
            told = column
            while can_go.get(told, False):
                parts = contained(told)
                parts = parts[(parts != told) & (weights[parts] * weights[column] > 0)]
                if not len(parts):
                    break
                told = int(parts[np.argmax(np.abs(weights[parts]))])
            if told not in listed:
                listed.append(told)
        chosen.append(np.array(listed, dtype=np.int64))
    return chosen


def _can_be_left_out(context: Context, row: int, columns: IntArray, weights: FloatArray) -> dict[int, bool]:
    """Return which programs the model hardly misses: others that are present say the same."""
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

    What a program leaves open gets a value that no exact condition asks for.
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
