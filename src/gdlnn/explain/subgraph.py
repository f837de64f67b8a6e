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


class Shrunk(NamedTuple):
    """The remaining subgraph of one graph.

    Attributes
    ----------
    nodes
        The remaining nodes, sorted; empty if no program matched.
    places
        Per program its image among `nodes`, the node of each variable; none where it did not match.
    complete
        False if a search ran out of steps: some remaining node may not be needed.
    """

    nodes: tuple[int, ...]
    places: tuple[tuple[tuple[int, ...], ...], ...]
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
    results = []
    node = mark = image = 0
    for row, graph in enumerate(encoded.graphs):
        left = np.flatnonzero(kept[node : node + graph.n_nodes])
        node += graph.n_nodes
        places: list[tuple[tuple[int, ...], ...]] = [()] * len(programs)
        for column in np.flatnonzero(chosen[row]).tolist():
            if matched[mark]:
                end = image + len(programs[column].nodes)
                places[column] = (tuple(images[image:end].tolist()),)
                image = end
            mark += 1
        results.append(Shrunk(tuple(left.tolist()), tuple(places), bool(complete[row])))
    return results


def _orders(graphs: Sequence[Graph], order: Sequence[npt.ArrayLike] | None) -> npt.NDArray[np.int64]:
    rows = [np.arange(graph.n_nodes) for graph in graphs] if order is None else order
    given = [np.asarray(row, dtype=np.int64) for row in rows]
    if len(given) != len(graphs):
        raise ExplanationError(f"order: expected one row per graph ({len(graphs)}), got {len(given)}")
    for index, (graph, row) in enumerate(zip(graphs, given, strict=True)):
        if not np.array_equal(np.sort(row), np.arange(graph.n_nodes)):
            raise ExplanationError(f"order: graph {index}: expected each of its {graph.n_nodes} nodes once")
    return np.concatenate([*given, np.zeros(0, dtype=np.int64)])
