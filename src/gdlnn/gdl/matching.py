"""Matching one program with one graph, and packing programs for the core. Batches are in `gdlnn.matching`."""

from __future__ import annotations

import atexit
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn import _core
from gdlnn.errors import MatchError, ProgramError
from gdlnn.gdl.program import Program
from gdlnn.graphs.arrays import encoded
from gdlnn.graphs.structure import fill_structure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gdlnn.graphs import Graph
    from gdlnn.graphs.arrays import GraphSet

NO_BUDGET = -1  # as the core takes it
UNKNOWN = 2  # the core's third answer, besides 0 (no) and 1 (yes)
_WORTH_KEEPING = 16  # programs; a model asks about the same ones again and again
# The last large batch: its key, the programs (kept so that their ids stay taken), and the batch.
_last_batch: list[tuple[tuple[object, ...], list[Program], _core.ProgramBatch]] = []
atexit.register(_last_batch.clear)  # before the core goes


def program_batch(
    programs: Iterable[Program], n_node_features: int, n_edge_features: int
) -> _core.ProgramBatch:
    """Pack programs for the core; a program that does not fit the features is named in the error."""
    packed = []
    for index, program in enumerate(programs):
        if not isinstance(program, Program):
            raise MatchError(f"program {index}: expected a Program, got {type(program).__name__}")
        try:
            packed.append(program.arrays(n_node_features, n_edge_features))
        except ProgramError as error:
            raise MatchError(f"program {index}: {error}") from error

    def stack(column: int, width: int, dtype: type) -> npt.NDArray[Any]:
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


def fitted_batch(programs: Iterable[Program], graphs: GraphSet) -> _core.ProgramBatch:
    """Pack programs for a graph set. Intervals over features that no node or no edge has are left out.

    Such a program needs a node or an edge that is not there, so that it cannot match anyway.
    """

    def fit(program: Program) -> Program:
        if not isinstance(program, Program):
            return program  # reported with its index when packed
        nodes, edges = program.nodes, program.edges
        if not graphs.has_nodes and graphs.n_node_features == 0:
            nodes = tuple(replace(node, intervals=None) for node in nodes)
        if not graphs.has_edges and graphs.n_edge_features == 0:
            edges = tuple(replace(edge, intervals=None) for edge in edges)
        return program if nodes is program.nodes and edges is program.edges else Program(nodes, edges)

    listed = list(programs)
    widths = (graphs.n_node_features, graphs.n_edge_features)
    if len(listed) < _WORTH_KEEPING or not all(widths):
        return program_batch(map(fit, listed), *widths)
    key = (*widths, *map(id, listed))
    for known, _, batch in _last_batch:
        if known == key:
            return batch
    batch = program_batch(listed, *widths)
    _last_batch[:] = [(key, listed, batch)]
    return batch


def _prepare(program: Program, graph: Graph) -> tuple[_core.GraphSet, _core.ProgramBatch]:
    (graph,) = fill_structure([graph], program.schema)
    graphs = encoded(graph)
    return graphs.native, fitted_batch([program], graphs)


def matches(program: Program, graph: Graph) -> bool:
    """Whether the graph contains the program's pattern."""
    native, batch = _prepare(program, graph)
    return bool(_core.exists(native, batch, NO_BUDGET, 1)[0, 0])


def witnesses(program: Program, graph: Graph) -> Iterator[dict[str, int]]:
    """Yield every witness, one after another, in a fixed order."""
    native, batch = _prepare(program, graph)
    return _enumerate(_core.Witnesses(native, 0, batch), program.variables)


def _enumerate(search: _core.Witnesses, variables: Sequence[str]) -> Iterator[dict[str, int]]:
    while True:
        answer, image = search.next(NO_BUDGET)
        if answer == UNKNOWN:  # the core comes back now and then, which lets Ctrl-C through
            continue
        if image is None:
            return
        yield dict(zip(variables, image.tolist(), strict=True))


def count(program: Program, graph: Graph, *, distinct: bool = False) -> int:
    """Count the witnesses, or with `distinct` the subgraphs they cover: image nodes and image edges."""
    native, batch = _prepare(program, graph)
    values, _ = _core.counts(native, batch, distinct, NO_BUDGET, 1)
    return int(values[0, 0])
