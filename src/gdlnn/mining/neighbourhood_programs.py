"""neighbourhoods(): the surroundings of every node as programs, found without labels."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gdlnn import _core
from gdlnn.errors import MiningError
from gdlnn.gdl.program import ANY, EdgeDescription, Interval, NodeDescription, Program
from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.molecules import hidden_by_default
from gdlnn.graphs.structure import structure_is_wanted
from gdlnn.matching import ProgramPlan, as_graph_set, n_threads_for
from gdlnn.mining.hidden_features import find_hidden
from gdlnn.mining.program_set import MinedProgram, MiningStats, ProgramSet, SetInfo
from gdlnn.mining.settings import FINAL_BUDGET, checked_labels, whole
from gdlnn.progress import stage_done

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gdlnn.gdl.program import Intervals
    from gdlnn.graphs import Feature, GraphDataset
    from gdlnn.matching import GraphSet

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
MOST_NODES = 128
"""Larger neighbourhoods are skipped: around a hub they cover most of the graph and are unreadable."""
FEW_GRAPHS = 500
"""With fewer training graphs, a neighbourhood must occur in two of them, otherwise in three."""
MOST_VALUES = 64
"""A numeric feature with more values, or with fractional values, is a quantity and left unconstrained."""
logger = logging.getLogger(__name__)


def neighbourhoods(
    dataset: GraphDataset,
    radius: int = 3,
    min_support: int | Literal["auto"] = "auto",
    *,
    structure: bool | Literal["auto"] = "auto",
    ignore: Sequence[str] | Literal["auto"] = "auto",
    max_programs: int | None = None,
    n_jobs: int | None = 1,
) -> ProgramSet:
    """Return the surroundings of all nodes as programs: what circular fingerprints hash, but readable.

    For every node and every radius from 0 to `radius`, the nodes within that distance and the edges between
    them become a program with exactly their values. Equal programs are merged, and of those that match the
    same graphs the smallest is kept. Labels are not used, so the columns of a model do not leak the labels of
    its training graphs.

    Parameters
    ----------
    dataset
        Graphs, with or without labels.
    radius
        The largest distance from the centre, at least 0. The direction of edges is ignored.
    min_support
        In how many graphs a neighbourhood must occur; "auto": 3, or 2 below 500 graphs.
    structure
        Whether degree and ring are added to the node features first; "auto": if nodes have labels only.
    ignore
        Features that programs do not use. "auto": for molecules with the features of the Open Graph Benchmark
        those that depend on how a molecule is written, or that SMARTS cannot express; else none.
    max_programs
        Keep this many of the programs, those that match most graphs; None for all.
    n_jobs
        Number of threads; -1 for all CPU cores. The result does not depend on it.

    Returns
    -------
    Programs without a label, smallest first. Quantities, whose exact values never repeat, are left open, and
    surroundings of more than 128 nodes are left out.
    """
    started = time.monotonic(), time.process_time()
    if not len(dataset):
        raise MiningError("neighbourhoods: expected at least one graph, got none")
    reach = whole("radius", radius, 0)
    least = least_support(min_support, len(dataset))
    data = dataset
    if structure_is_wanted(structure, dataset.schema, dataset.n_node_features, MiningError):
        data = dataset.with_structure()
    names = hidden_by_default(data.schema) if isinstance(ignore, str) else tuple(ignore)
    hidden = find_hidden(data, names)
    arrays = GraphArrays.of(data.graphs)
    schema = data.schema
    nodes = _Values(arrays.node_features, hidden.nodes, schema.node if schema else (), "node")
    edges = _Values(arrays.edge_features, hidden.edges, schema.edge if schema else (), "edge")
    found = _core.neighbourhoods(
        nodes.colours,
        arrays.node_offsets,
        np.ascontiguousarray(arrays.edges),
        edges.colours,
        arrays.edge_offsets,
        arrays.directed,
        reach,
        least,
        MOST_NODES,
        n_threads_for(n_jobs),
    )
    programs, occurs = _programs(found, arrays, nodes, edges)
    encoded = as_graph_set(data.graphs)
    items = _distinct(programs, occurs, encoded, n_jobs)
    if max_programs is not None and len(items) > whole("max_programs", max_programs, 1):
        logger.info("neighbourhoods: kept %d of %d programs", max_programs, len(items))
        kept = sorted(range(len(items)), key=lambda i: (-items[i].n_matched, i))[:max_programs]
        items = [items[i] for i in sorted(kept)]
    stats = MiningStats(
        tasks=len(programs),
        cpu_seconds=time.process_time() - started[1],
        wall_seconds=time.monotonic() - started[0],
    )
    settings: dict[str, Any] = {"vocabulary": "neighbourhoods", "radius": reach, "min_support": least}
    if names:
        settings["ignore"] = list(names)
    labels, codes = ([], None) if data.y is None else checked_labels(data)
    return ProgramSet(items, SetInfo.of(data, labels, codes, settings, n_targets=len(data)), stats)


def least_support(min_support: int | Literal["auto"], n_graphs: int) -> int:
    """Return in how many of the graphs a neighbourhood must occur."""
    least = (2 if n_graphs < FEW_GRAPHS else 3) if min_support == "auto" else min_support
    return whole("min_support", least, 1)


class _Values:
    """The feature values of nodes, or of edges, that programs can use: those that repeat.

    Attributes
    ----------
    colours
        One number per node or edge, the same where all these values are the same.
    """

    def __init__(
        self, table: FloatArray, hidden: tuple[int, ...], features: Sequence[Feature], what: str
    ) -> None:
        self._table = table
        said = [column for column in range(table.shape[1]) if column not in hidden]
        quantities = [c for c in said if _is_quantity(table[:, c], features[c] if features else None)]
        if quantities:
            names = [features[c].name if features else str(c + 1) for c in quantities]
            logger.info("neighbourhoods: %s feature(s) %s are quantities and left unconstrained", what, names)
        # A value that all nodes share excludes nothing and is left out.
        self._said = [c for c in said if c not in quantities and len(table) and np.ptp(table[:, c]) > 0]
        if self._said:
            rows = np.ascontiguousarray(table[:, self._said])
            self.colours = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)
        else:
            self.colours = np.zeros(len(table), dtype=np.int32)
        self._known: dict[int, Intervals | None] = {}

    def intervals(self, row: int) -> Intervals | None:
        """Return the conditions that hold for a node or edge; equal ones are one object."""
        colour = int(self.colours[row])
        if colour not in self._known:
            exact = [ANY] * self._table.shape[1]
            for column in self._said:
                value = float(self._table[row, column]) + 0.0
                exact[column] = Interval(value, value)
            self._known[colour] = tuple(exact) if self._said else None
        return self._known[colour]


def _is_quantity(column: FloatArray, feature: Feature | None) -> bool:
    if feature is not None and feature.kind != "numeric":
        return False
    values = np.unique(column)
    return len(values) > MOST_VALUES or bool((values != np.floor(values)).any())


def _programs(
    found: tuple[npt.NDArray[Any], ...], arrays: GraphArrays, nodes: _Values, edges: _Values
) -> tuple[list[Program], list[IntArray]]:
    """Build the programs that the core found, and return the graphs that each occurs in."""
    graph, _, _, node_start, members, graph_start, occurs = found
    programs, rows = [], []
    for k in range(len(graph)):
        g = int(graph[k])
        ball = members[node_start[k] : node_start[k + 1]].tolist()
        place = {node: i for i, node in enumerate(ball)}
        first, start, end = (int(arrays.node_offsets[g]), *map(int, arrays.edge_offsets[g : g + 2]))
        described = tuple(
            NodeDescription(f"x{i}", nodes.intervals(first + node)) for i, node in enumerate(ball)
        )
        inside = [
            EdgeDescription(f"x{place[u]}", f"x{place[v]}", edges.intervals(start + i))
            for i, (u, v) in enumerate(arrays.edges[start:end].tolist())
            if u in place and v in place
        ]
        programs.append(Program._trusted(described, tuple(inside)).canonical(arrays.directed))
        if k % 100 == 0:
            stage_done(k, len(graph))
        rows.append(occurs[graph_start[k] : graph_start[k + 1]].astype(np.int64))
    return programs, rows


def _distinct(
    programs: list[Program], occurs: list[IntArray], graphs: GraphSet, n_jobs: int | None
) -> list[MinedProgram]:
    """Match the programs; of those that match the same graphs keep the smallest, which comes first."""
    if not programs:
        return []
    found = ProgramPlan(programs, graphs).match(graphs, n_jobs, FINAL_BUDGET)

    def items() -> Iterator[MinedProgram]:
        for program, rows, (support, certain) in zip(programs, occurs, found.supports(), strict=True):
            support[rows] = True  # whatever the budget of the search
            yield MinedProgram(program, None, 0.0, support, rows, 0, certain)

    return smallest_of_equals(items())


def smallest_of_equals(items: Iterable[MinedProgram]) -> list[MinedProgram]:
    """Keep the smallest of the programs that match the same graphs, in the place of the first of them."""
    kept: dict[bytes, MinedProgram] = {}
    for item in items:
        best = kept.setdefault(item.support_key, item)
        if _size(item.program) < _size(best.program):
            kept[item.support_key] = item
    return list(kept.values())


def _size(program: Program) -> tuple[int, int]:
    return len(program.nodes), len(program.edges)
