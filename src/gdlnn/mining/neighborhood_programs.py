"""neighborhoods(): the surroundings of every node as programs, found without labels."""

from __future__ import annotations

import logging
from itertools import compress, pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gdlnn import _core
from gdlnn.errors import MiningError
from gdlnn.gdl.program import EdgeDescription, NodeDescription, Program, exact_intervals
from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.graph import MAX_FEATURE
from gdlnn.graphs.molecules import hidden_by_default
from gdlnn.graphs.schema import is_quantity
from gdlnn.graphs.structure import structure_is_wanted
from gdlnn.matching import ProgramPlan, as_graph_set, n_threads_for
from gdlnn.mining.program_set import MinedProgram, ProgramSet, SetInfo, smallest_of_equals, support_matrix
from gdlnn.mining.settings import FINAL_BUDGET, checked_labels, find_hidden, whole
from gdlnn.progress import stage_done

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csc_array

    from gdlnn.gdl.program import Intervals
    from gdlnn.graphs import Feature, GraphDataset
    from gdlnn.matching import GraphSet

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
MOST_NODES = 128
"""Larger neighborhoods are skipped: around a hub they cover most of the graph and are unreadable."""
FEW_GRAPHS = 500
"""With fewer training graphs, a neighborhood must occur in two of them, otherwise in three."""
LEVELS = ("full", "coarse")
"""How much of a neighborhood a program keeps: all features, or one nominal feature of its nodes."""
CANDIDATES_PER_PROGRAM = 4
"""How many neighborhoods are matched for each program that is kept, where there are more than that."""
FIRST_BUDGET, MOST_UNKNOWN = 20_000, 0.01
"""A program is skipped if its search takes more steps than this in a larger share of the graphs."""
logger = logging.getLogger(__name__)


def neighborhoods(
    dataset: GraphDataset,
    radius: int = 3,
    min_support: int | Literal["auto"] = "auto",
    *,
    structure: bool | Literal["auto"] = "auto",
    ignore: Sequence[str] | Literal["auto"] = "auto",
    levels: Sequence[str] = ("full",),
    max_programs: int | None = None,
    n_jobs: int | None = 1,
) -> ProgramSet:
    """Return the surroundings of all nodes as programs: what circular fingerprints hash, but readable.

    For every node and every radius from 0 to `radius`, the nodes within that distance and the edges between
    them become a program: on the level "full" with exactly their values, on the level "coarse" with the
    first nominal feature of the nodes, such as the element, and nothing else. Equal programs are merged, and
    of those that match the same graphs the smaller is kept, then the coarser, which is easier to read.
    Labels are not used, so the columns of a model do not leak the labels of its training graphs.

    Parameters
    ----------
    dataset
        Graphs, with or without labels.
    radius
        The largest distance from the center, at least 0. The direction of edges is ignored.
    min_support
        In how many graphs a neighborhood must occur; "auto": 3, or 2 below 500 graphs.
    structure
        Whether degree and ring are added to the node features first; "auto": if nodes have labels only.
    ignore
        Features that programs do not use. "auto": for molecules with the features of the Open Graph Benchmark
        those that depend on how a molecule is written, or that SMARTS cannot express; else none.
    levels
        Of "full" and "coarse" one or both.
    max_programs
        Keep this many of the programs, those that match most graphs; None for all.
    n_jobs
        Number of threads; -1 for all CPU cores. The result does not depend on it.

    Returns
    -------
    Programs without a label, smallest first. Quantities, whose exact values never repeat, are left open, and
    surroundings of more than 128 nodes are left out, as are those that take too long to match.
    """
    if not len(dataset):
        raise MiningError("neighborhoods: expected at least one graph, got none")
    reach = whole("radius", radius, 0)
    least = least_support(min_support, len(dataset))
    most = None if max_programs is None else whole("max_programs", max_programs, 1)
    data = dataset
    if structure_is_wanted(structure, dataset.schema, dataset.n_node_features, MiningError):
        data = dataset.with_structure()
    names = hidden_by_default(data.schema) if isinstance(ignore, str) else tuple(ignore)
    hidden = find_hidden(data, names)
    arrays = GraphArrays.of(data.graphs)
    schema = data.schema
    balls = []
    for level in _checked_levels(levels):
        only = [_coarse_column(data, hidden.nodes)] if level == "coarse" else None
        nodes = _Values(arrays.node_features, hidden.nodes, schema.node if schema else (), "node", only)
        edges = _Values(
            arrays.edge_features, hidden.edges, schema.edge if schema else (), "edge", [] if only else None
        )
        found = _core.neighborhoods(
            nodes.colors,
            arrays.node_offsets,
            np.ascontiguousarray(arrays.edges),
            edges.colors,
            arrays.edge_offsets,
            arrays.is_directed,
            reach,
            least,
            MOST_NODES,
            n_threads_for(n_jobs),
        )
        balls.append((found, nodes, edges))
    programs: list[Program] = []
    occurs: list[IntArray] = []
    candidates = _commonest([found for found, _, _ in balls], most)
    for (found, nodes, edges), wanted in zip(balls, candidates, strict=True):
        for program, rows in zip(*_programs(found, wanted, arrays, nodes, edges), strict=True):
            programs.append(program)
            occurs.append(rows)
    programs, supports, certain = _matched(programs, occurs, as_graph_set(data.graphs), n_jobs)
    chosen = smallest_of_equals(programs, supports)
    counts = np.diff(supports.indptr).tolist()
    if most is not None and len(chosen) > most:
        logger.info("neighborhoods: %d of %d programs are left out", len(chosen) - most, len(chosen))
        largest = sorted(range(len(chosen)), key=lambda place: (-counts[chosen[place]], place))[:most]
        chosen = [chosen[place] for place in sorted(largest)]
    items = [MinedProgram(programs[i], None, 0.0, counts[i], bool(certain[i])) for i in chosen]
    settings: dict[str, Any] = {"vocabulary": "neighborhoods", "radius": reach, "min_support": least}
    settings["levels"] = list(levels)
    if names:
        settings["ignore"] = list(names)
    info = SetInfo.of(data, settings, None if data.y is None else checked_labels(data))
    return ProgramSet(items, supports[:, chosen], info)


def least_support(min_support: int | Literal["auto"], n_graphs: int) -> int:
    """Return in how many of the graphs a neighborhood must occur."""
    least = (2 if n_graphs < FEW_GRAPHS else 3) if min_support == "auto" else min_support
    return whole("min_support", least, 1)


def _checked_levels(levels: Sequence[str]) -> list[str]:
    if isinstance(levels, str) or not levels or not set(levels) <= set(LEVELS):
        raise MiningError(f"levels: expected some of {', '.join(LEVELS)}, got {levels!r}")
    return [level for level in LEVELS if level in levels]


def _coarse_column(data: GraphDataset, hidden: tuple[int, ...]) -> int:
    """Return the node feature of the coarse level: the first nominal one, else the first."""
    features = data.schema.node if data.schema else ()
    nominal = (i for i, feature in enumerate(features) if feature.kind == "nominal" and i not in hidden)
    return next(nominal, 0)


class _Values:
    """The feature values of nodes, or of edges, that programs can use: those that repeat.

    Attributes
    ----------
    colors
        One number per node or edge, the same where all these values are the same.
    """

    def __init__(
        self,
        table: FloatArray,
        hidden: tuple[int, ...],
        features: Sequence[Feature],
        what: str,
        only: Sequence[int] | None = None,
    ) -> None:
        self._table = table
        used = [c for c in range(table.shape[1]) if c not in hidden and (only is None or c in only)]
        quantities = [c for c in used if is_quantity(table[:, c], features[c] if features else None)]
        if quantities:
            names = [features[c].name if features else str(c + 1) for c in quantities]
            logger.info("neighborhoods: %s feature(s) %s are quantities and left unconstrained", what, names)
        # A value that all nodes share excludes nothing and is left out.
        known = np.where(np.isnan(table), 2 * MAX_FEATURE, table)  # a missing value is one of its own
        self._used = [c for c in used if c not in quantities and len(table) and np.ptp(known[:, c]) > 0]
        if self._used:
            rows = np.ascontiguousarray(known[:, self._used])
            self.colors = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)
        else:
            self.colors = np.zeros(len(table), dtype=np.int32)
        self._vectors: dict[int, Intervals | None] = {}

    def intervals(self, row: int) -> Intervals | None:
        """Return the conditions that hold for a node or edge; equal ones are one object."""
        color = int(self.colors[row])
        if color not in self._vectors:
            values = np.full(self._table.shape[1], np.nan)
            values[self._used] = self._table[row, self._used] + 0.0
            self._vectors[color] = exact_intervals(values.tolist())
        return self._vectors[color]


def _commonest(found: Sequence[tuple[npt.NDArray[Any], ...]], max_programs: int | None) -> list[IntArray]:
    """Return the balls of each level that become programs: all, or those that occur in most graphs.

    Most balls of large datasets occur in a few graphs; matching them all would take gigabytes.
    """
    counts = [np.diff(starts) for *_, starts, _ in found]
    order = np.argsort(-np.concatenate(counts), kind="stable")
    kept = np.sort(order[: None if max_programs is None else CANDIDATES_PER_PROGRAM * max_programs])
    edges = np.cumsum([0, *map(len, counts)])
    return [kept[(kept >= low) & (kept < high)] - low for low, high in pairwise(edges)]


def _programs(
    found: tuple[npt.NDArray[Any], ...], wanted: IntArray, arrays: GraphArrays, nodes: _Values, edges: _Values
) -> tuple[list[Program], list[IntArray]]:
    """Build the wanted programs that the core found, and return the graphs that each occurs in."""
    graph, _, _, node_start, members, graph_start, occurs = found
    programs, rows = [], []
    for done, k in enumerate(wanted.tolist()):
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
        programs.append(Program._trusted(described, tuple(inside)).canonical(arrays.is_directed))
        if done % 100 == 0:
            stage_done(done, len(wanted))
        rows.append(occurs[graph_start[k] : graph_start[k + 1]].astype(np.int64))
    return programs, rows


def _matched(
    programs: list[Program], occurs: list[IntArray], graphs: GraphSet, n_jobs: int | None
) -> tuple[list[Program], csc_array, BoolArray]:
    """Return the programs that can be matched, graphs × programs, and of which all matches are known.

    In dense graphs the search for a large program with few conditions may not end.
    """
    found = ProgramPlan(programs, graphs).match(graphs, n_jobs, FIRST_BUDGET)
    if found.n_unknown:
        kept = np.bincount(found.unknown, minlength=len(programs)) <= max(1, MOST_UNKNOWN * len(graphs))
        if not kept.all():
            logger.info("neighborhoods: %d programs take too many steps to match", (~kept).sum())
        programs, occurs = list(compress(programs, kept)), list(compress(occurs, kept))
        found = ProgramPlan(programs, graphs).match(graphs, n_jobs, FINAL_BUDGET)
    # A program matches where it was found, whatever the budget of the search.
    supports = found.matrix().tocsc() + support_matrix(occurs, len(graphs))
    supports.data[:] = 1
    return programs, supports, ~np.isin(np.arange(len(programs)), found.unknown)
