"""Evaluation: what a program finds in one graph. Batches over many programs and graphs are in `gdlnn.matching`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdlnn import _core
from gdlnn.errors import MatchError, ProgramError
from gdlnn.graphs.encoding import encoded

if TYPE_CHECKING:
    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Graph

NO_BUDGET = -1


def program_batch(programs: Iterable[Program], n_node_features: int, n_edge_features: int) -> _core.ProgramBatch:
    """Pack programs for the core; a program that does not fit the features is named in the error."""
    packed = []
    for index, program in enumerate(programs):
        try:
            packed.append(program.arrays(n_node_features, n_edge_features))
        except ProgramError as error:
            raise MatchError(f"program {index}: {error}") from error

    def stack(column: int, width: int, dtype: type) -> np.ndarray:  # type: ignore[type-arg]
        parts = [arrays[column] for arrays in packed] or [np.zeros((0, width), dtype=dtype)]
        return np.ascontiguousarray(np.concatenate(parts))

    return _core.ProgramBatch(
        stack(0, n_node_features, float),
        stack(1, n_node_features, float),
        np.cumsum([0] + [len(arrays.node_lower) for arrays in packed], dtype=np.int64),
        stack(2, 2, np.int64),
        stack(3, n_edge_features, float),
        stack(4, n_edge_features, float),
        np.cumsum([0] + [len(arrays.edges) for arrays in packed], dtype=np.int64),
    )


def _prepare(program: Program, graph: Graph) -> tuple[_core.GraphSet, _core.ProgramBatch]:
    native = encoded(graph).native
    return native, program_batch([program], native.n_node_features, native.n_edge_features)


def matches(program: Program, graph: Graph) -> bool:
    """Whether the graph contains the program's pattern."""
    native, batch = _prepare(program, graph)
    return bool(_core.exists(native, batch, NO_BUDGET, 1)[0, 0])


def witnesses(program: Program, graph: Graph) -> Iterator[dict[str, int]]:
    """Every valuation, one after another, in a fixed order."""
    native, batch = _prepare(program, graph)
    search = _core.Witnesses(native, 0, batch)
    variables: Sequence[str] = program.variables
    while True:
        answer, image = search.next(NO_BUDGET)
        if answer == -1:  # still searching; the pause lets Ctrl-C through
            continue
        if answer != 1 or image is None:
            return
        yield dict(zip(variables, image.tolist(), strict=True))


def count(program: Program, graph: Graph, *, distinct: bool = False) -> int:
    """Count valuations, or distinct subgraphs: pairs of image nodes and image edges."""
    native, batch = _prepare(program, graph)
    values, _ = _core.counts(native, batch, distinct, NO_BUDGET, 1)
    return int(values[0, 0])
