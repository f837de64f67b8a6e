"""Subgraph explanations: Algorithm 2 in the core, and the subgraph it gives for each graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn import _core
from gdlnn.errors import ExplanationError
from gdlnn.gdl.matching import NO_BUDGET, fitted_batch
from gdlnn.matching import Graphs, as_graph_set, n_threads_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Graph

BoolArray = npt.NDArray[np.bool_]


class Shrunk(NamedTuple):
    """The remaining subgraph of one graph.

    Attributes
    ----------
    nodes
        The remaining nodes, sorted; empty if no program matched.
    matched
        Whether each program matched the graph; only those that were asked about can.
    witnesses
        Where each program is among `nodes`, variable to node; None where it did not match.
    complete
        False if a search ran out of steps: some remaining node may not be needed.
    """

    nodes: tuple[int, ...]
    matched: tuple[bool, ...]
    witnesses: tuple[dict[str, int] | None, ...]
    complete: bool


def shrink(
    graphs: Graphs,
    programs: Sequence[Program],
    use: npt.ArrayLike | None = None,
    *,
    order: Sequence[npt.ArrayLike] | None = None,
    step_budget: int | None = None,
    n_jobs: int | None = 1,
) -> list[Shrunk]:
    """Remove nodes from graphs one at a time while every program that matched still matches.

    The result is the paper's Algorithm 2 with a fixed order. No remaining node can be removed: a node that
    was needed once is needed by every smaller subgraph, so one pass is enough. Features are unchanged: a
    degree feature is not recomputed.

    Parameters
    ----------
    graphs
        The graphs.
    programs
        The programs.
    use
        Graphs × programs, which programs count for which graph; by default all for all.
    order
        For each graph its nodes in the order in which they are tried; by default increasing.
    step_budget
        Maximum steps per search; None for no limit.
    n_jobs
        Threads.
    """
    encoded = as_graph_set(graphs)
    shape = (len(encoded), len(programs))
    chosen = np.ones(shape, dtype=bool) if use is None else np.ascontiguousarray(use, dtype=bool)
    if chosen.shape != shape:
        raise ExplanationError(f"use: expected shape {shape}, graphs × programs, got {chosen.shape}")
    kept, matched, images, complete = _core.shrink(
        encoded.native,
        fitted_batch(programs, encoded),
        chosen,
        _orders(encoded.graphs, order),
        NO_BUDGET if step_budget is None else step_budget,
        n_threads_for(n_jobs),
    )
    return _unpack(encoded.graphs, programs, chosen, kept, matched, images, complete)


def _orders(graphs: Sequence[Graph], order: Sequence[npt.ArrayLike] | None) -> npt.NDArray[np.int64]:
    if order is None:
        rows = [np.arange(graph.n_nodes, dtype=np.int64) for graph in graphs]
        return np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
    if len(order) != len(graphs):
        raise ExplanationError(f"order: expected one row per graph ({len(graphs)}), got {len(order)}")
    given = [np.asarray(row, dtype=np.int64) for row in order]
    for index, (graph, row) in enumerate(zip(graphs, given, strict=True)):
        if not np.array_equal(np.sort(row), np.arange(graph.n_nodes)):
            raise ExplanationError(f"order: graph {index}: expected each of its {graph.n_nodes} nodes once")
    return np.concatenate([*given, np.zeros(0, dtype=np.int64)])


def _unpack(
    graphs: Sequence[Graph],
    programs: Sequence[Program],
    use: BoolArray,
    kept: npt.NDArray[np.uint8],
    matched: npt.NDArray[np.uint8],
    images: npt.NDArray[np.int32],
    complete: npt.NDArray[np.uint8],
) -> list[Shrunk]:
    """Split the core's concatenated arrays into one result per graph."""
    results = []
    node = mark = image = 0
    for row, graph in enumerate(graphs):
        left = np.flatnonzero(kept[node : node + graph.n_nodes])
        node += graph.n_nodes
        found = [False] * len(programs)
        where: list[dict[str, int] | None] = [None] * len(programs)
        for column in np.flatnonzero(use[row]).tolist():
            if matched[mark]:
                variables = programs[column].variables
                values = images[image : image + len(variables)].tolist()
                where[column] = dict(zip(variables, values, strict=True))
                found[column] = True
                image += len(variables)
            mark += 1
        results.append(Shrunk(tuple(left.tolist()), tuple(found), tuple(where), bool(complete[row])))
    return results
