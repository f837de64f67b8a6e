"""match(): the typed front of the core for batches of programs and graphs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from gdlnn import _core
from gdlnn.errors import MatchError, UnknownMatchError
from gdlnn.gdl.matching import NO_BUDGET, UNKNOWN, fitted_batch
from gdlnn.gdl.program import Program
from gdlnn.graphs import Graph, GraphDataset
from gdlnn.graphs.arrays import GraphSet

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Graphs = GraphSet | GraphDataset | Graph | Iterable[Graph]

__all__ = ["GraphSet", "as_graph_set", "count_matches", "match", "n_threads_for"]


def as_graph_set(graphs: Graphs) -> GraphSet:
    """Encode graphs, unless they are encoded already."""
    if isinstance(graphs, GraphSet):
        return graphs
    return GraphSet([graphs] if isinstance(graphs, Graph) else graphs)


def n_threads_for(n_jobs: int | None) -> int:
    """Return the number of threads for `n_jobs`: None is one, -1 all processors, -2 all but one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise MatchError("n_jobs: expected a positive number, or -1 for all processors, got 0")
    if n_jobs > 0:
        return n_jobs
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, processors + 1 + n_jobs)


def _budget(step_budget: int | None) -> int:
    if step_budget is None:
        return NO_BUDGET
    if step_budget < 1:
        raise MatchError(f"step_budget: expected a positive number of steps or None, got {step_budget}")
    return min(int(step_budget), 2**62)


def _raise_unknown(unknown: BoolArray, step_budget: int | None) -> None:
    graph, program = (int(i) for i in np.argwhere(unknown)[0])
    raise UnknownMatchError(
        f"{int(unknown.sum())} of {unknown.size} matches are unknown after {step_budget} steps, the first of "
        f"program {program} on graph {graph}; raise step_budget, leave it out, or ask for return_unknown=True"
    )


@overload
def match(
    programs: Program | Iterable[Program],
    graphs: Graphs,
    n_jobs: int | None = 1,
    step_budget: int | None = None,
    return_unknown: Literal[False] = False,
) -> BoolArray: ...
@overload
def match(
    programs: Program | Iterable[Program],
    graphs: Graphs,
    n_jobs: int | None = 1,
    step_budget: int | None = None,
    *,
    return_unknown: Literal[True],
) -> tuple[BoolArray, BoolArray]: ...
def match(
    programs: Program | Iterable[Program],
    graphs: Graphs,
    n_jobs: int | None = 1,
    step_budget: int | None = None,
    return_unknown: bool = False,
) -> BoolArray | tuple[BoolArray, BoolArray]:
    """Return which graphs contain which programs.

    Parameters
    ----------
    programs
        The programs.
    graphs
        The graphs; a `GraphSet` is not encoded again.
    n_jobs
        Threads; -1 means all processors. The answer does not depend on it.
    step_budget
        Most steps (assignments of a node to a variable) per pair; None: until the answer is known.
    return_unknown
        Also return where the budget ran out, instead of raising.

    Returns
    -------
    A bool array, graphs × programs; with `return_unknown` also one that is True where the answer is unknown.
    """
    encoded = as_graph_set(graphs)
    listed: Sequence[Program] = [programs] if isinstance(programs, Program) else list(programs)
    batch = fitted_batch(listed, encoded)
    answers = _core.exists(encoded.native, batch, _budget(step_budget), n_threads_for(n_jobs))
    unknown = answers == UNKNOWN
    if return_unknown:
        return answers == 1, unknown
    if step_budget is not None and unknown.any():
        _raise_unknown(unknown, step_budget)
    return answers.view(np.bool_)


def count_matches(
    programs: Program | Iterable[Program],
    graphs: Graphs,
    n_jobs: int | None = 1,
    step_budget: int | None = None,
    *,
    distinct: bool = False,
) -> IntArray:
    """Count valuations, or with `distinct` the subgraphs they pick out: an int array, graphs × programs."""
    encoded = as_graph_set(graphs)
    listed: Sequence[Program] = [programs] if isinstance(programs, Program) else list(programs)
    batch = fitted_batch(listed, encoded)
    values, unknown = _core.counts(
        encoded.native, batch, distinct, _budget(step_budget), n_threads_for(n_jobs)
    )
    if unknown.any():
        _raise_unknown(unknown.astype(bool), step_budget)
    return values
