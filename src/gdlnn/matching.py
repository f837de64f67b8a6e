"""match() and ProgramPlan: match many programs against many graphs, in one walk over each graph."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn import _core
from gdlnn.errors import MatchError, UnknownMatchError
from gdlnn.gdl.matching import NO_BUDGET, fitted_batch
from gdlnn.gdl.program import ANY, Program
from gdlnn.graphs import Graph, GraphDataset
from gdlnn.graphs.arrays import GraphArrays, GraphSet, offsets_of
from gdlnn.graphs.molecules import hidden_by_default
from gdlnn.graphs.structure import fill_structure

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Graphs = GraphSet | GraphDataset | Graph | Iterable[Graph]

MOST_WITNESSES = 60
"""Maximum number of images of a program searched for in one graph."""

__all__ = ["GraphSet", "Matches", "ProgramPlan", "as_graph_set", "count_matches", "match", "n_threads_for"]


def as_graph_set(graphs: Graphs) -> GraphSet:
    """Encode graphs, unless they are encoded already."""
    if isinstance(graphs, GraphSet):
        return graphs
    return GraphSet([graphs] if isinstance(graphs, Graph) else graphs)


def _fitting_set(programs: Sequence[Program], graphs: Graphs) -> GraphSet:
    """Encode graphs, adding structure features that the programs' schema has and the graphs lack."""
    if isinstance(graphs, GraphSet):
        return graphs
    listed = [graphs] if isinstance(graphs, Graph) else list(graphs)
    schema = getattr(programs[0], "schema", None) if programs else None
    given: list[object] = list(listed)  # anything else than a graph is reported with its index
    alike = all(isinstance(graph, Graph) for graph in given) and len({g.directed for g in listed}) < 2
    return GraphSet(fill_structure(listed, schema) if alike else listed)


def n_threads_for(n_jobs: int | None) -> int:
    """Return the number of threads for `n_jobs`: None is one, -1 all processors, -2 all but one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise MatchError("n_jobs: expected a positive number, or -1 for all CPU cores, got 0")
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
        f"program {program} on graph {graph}; raise step_budget or leave it out"
    )


@dataclass(frozen=True)
class Matches:
    """Which programs match which graphs, by graph.

    Attributes
    ----------
    start, programs
        The programs that match graph i, sorted, are ``programs[start[i]:start[i + 1]]``.
    unknown_start, unknown
        The same for programs on which the step budget ran out.
    n_programs
        Number of programs that were matched.
    """

    start: IntArray
    programs: npt.NDArray[np.int32]
    unknown_start: IntArray
    unknown: npt.NDArray[np.int32]
    n_programs: int

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def n_unknown(self) -> int:
        """Number of pairs that are unknown."""
        return len(self.unknown)

    def matrix(self) -> csr_array:
        """Return graphs × programs as a sparse matrix with ones where a program matches."""
        from scipy.sparse import csr_array

        ones = np.ones(len(self.programs), dtype=np.float32)
        return csr_array((ones, self.programs, self.start), shape=(len(self), self.n_programs))

    def table(self) -> BoolArray:
        """Return graphs × programs: where a program matches."""
        return self._filled(self.start, self.programs)

    def unknown_table(self) -> BoolArray:
        """Return graphs × programs: where the answer is unknown."""
        return self._filled(self.unknown_start, self.unknown)

    def _filled(self, start: IntArray, programs: npt.NDArray[np.int32]) -> BoolArray:
        table = np.zeros((len(self), self.n_programs), dtype=bool)
        table[np.repeat(np.arange(len(self)), np.diff(start)), programs] = True
        return table


class Witnesses(NamedTuple):
    """Where programs are in graphs, one entry per question.

    Attributes
    ----------
    nodes, at
        The nodes of all images, one image after another, and where those of each question begin; the last
        number is the end. Images that cover the same subgraph count once.
    counts
        Per question the number of images.
    complete
        Per question whether these are all images.
    """

    nodes: npt.NDArray[np.int32]
    at: IntArray
    counts: IntArray
    complete: BoolArray

    @property
    def images(self) -> list[npt.NDArray[np.int32]]:
        """Per question an array, images × variables, of nodes."""
        bounds = zip(self.at[:-1].tolist(), self.at[1:].tolist(), self.counts.tolist(), strict=True)
        return [self.nodes[a:b].reshape(n, (b - a) // max(n, 1)) for a, b, n in bounds]


class ProgramPlan:
    """Programs compiled once, to be matched together against any number of graphs.

    Parameters
    ----------
    programs
        The programs.
    like
        Graphs of the kind to be matched: their numbers of features and whether they are directed.
    """

    def __init__(self, programs: Sequence[Program], like: GraphSet) -> None:
        self.programs = programs
        self._batch = fitted_batch(programs, like)
        self._widths = like.n_node_features, like.n_edge_features
        self._fits_rows = like.has_nodes, like.has_edges
        self._plans: dict[bool, _core.Plan] = {}
        for directed in np.unique(like.arrays.directed).tolist():
            self._plan(directed)

    def _plan(self, directed: bool) -> _core.Plan:
        """Return the plan for directed or undirected graphs, compiled on first use."""
        if directed not in self._plans:
            self._plans[directed] = _core.Plan(self._batch, directed)
        return self._plans[directed]

    def _directions(self, graphs: GraphSet) -> list[bool]:
        """Return whether each graph is directed; check that it has the features the plan was compiled for."""
        for what, any_row, expected, got in (
            ("node", graphs.has_nodes, self._widths[0], graphs.n_node_features),
            ("edge", graphs.has_edges, self._widths[1], graphs.n_edge_features),
        ):
            if any_row and expected != got:
                raise MatchError(f"plan: expected graphs with {expected} {what} feature(s), got {got}")
        if graphs.has_nodes > self._fits_rows[0] or graphs.has_edges > self._fits_rows[1]:
            fitted_batch(self.programs, graphs)  # names a program that graphs without rows let pass
        directed = graphs.arrays.directed
        return [kind for kind in (False, True) if (directed == kind).any()]

    @cached_property
    def _open(self) -> dict[str, BoolArray]:
        """For node and edge features which of them no program has a condition on."""
        described = {
            "node": [node.intervals for program in self.programs for node in program.nodes],
            "edge": [edge.intervals for program in self.programs for edge in program.edges],
        }
        given = {of: [row for row in rows if row is not None] for of, rows in described.items()}
        return {
            of: np.array([all(one == ANY for one in column) for column in zip(*rows, strict=True)])
            for of, rows in given.items()
        }

    def _without_hidden(self, graphs: GraphSet) -> GraphArrays:
        """Return the arrays of graphs, without features that depend on how a molecule is written.

        Which images are found first would depend on them too.
        """
        arrays, schema = graphs.arrays, next((graph.schema for graph in graphs.graphs), None)
        hidden = hidden_by_default(schema)
        if schema is None or not hidden:
            return arrays
        parts = {}
        for of in ("node", "edge"):
            table = getattr(arrays, f"{of}_features").copy()
            features = getattr(schema, of)
            for column in np.flatnonzero(self._open[of]).tolist():
                if features[column].name in hidden:
                    table[:, column] = 0.0
            parts[f"{of}_features"] = table
        return arrays._replace(**parts)

    @property
    def nbytes(self) -> int:
        """Memory that the plan takes."""
        return sum(plan.nbytes for plan in self._plans.values())

    def match(self, graphs: GraphSet, n_jobs: int | None = 1, step_budget: int | None = None) -> Matches:
        """Find which programs match which graphs."""
        budget, threads = _budget(step_budget), n_threads_for(n_jobs)
        kinds = self._directions(graphs) or [False]
        if len(kinds) == 1:
            found = self._plan(kinds[0]).match(*graphs.arrays, budget, threads)
            return Matches(*found, len(self.programs))
        rows = [
            self._plan(graph.directed).match(*GraphSet([graph]).arrays, budget, threads)
            for graph in graphs.graphs
        ]
        start, unknown_start = (offsets_of([len(row[at]) for row in rows]) for at in (1, 3))
        programs, unknown = (np.concatenate([row[at] for row in rows]) for at in (1, 3))
        return Matches(start, programs, unknown_start, unknown, len(self.programs))

    def witnesses(
        self,
        graphs: GraphSet,
        rows: npt.ArrayLike,
        columns: npt.ArrayLike,
        most: int = MOST_WITNESSES,
        n_jobs: int | None = 1,
    ) -> Witnesses:
        """Find where programs are in graphs that are all directed or all undirected.

        Parameters
        ----------
        graphs
            The graphs.
        rows, columns
            One graph and one program per question; rows must not fall.
        most
            Maximum images per question. Their order does not depend on how nodes are numbered.
        n_jobs
            Threads.
        """
        asked, programs = np.asarray(rows, dtype=np.int32), np.asarray(columns, dtype=np.int32)
        kinds = self._directions(graphs) or [False]
        if len(kinds) > 1:
            raise MatchError("witnesses: expected graphs that are all directed or all undirected, got both")
        if len(asked) != len(programs) or (np.diff(asked) < 0).any():
            raise MatchError("witnesses: expected as many columns as rows, and rows that do not fall")
        for what, given, size in (("rows", asked, len(graphs)), ("columns", programs, len(self.programs))):
            if len(given) and (given.min() < 0 or given.max() >= size):
                raise MatchError(f"witnesses: {what}: expected numbers from 0 to {size - 1}")
        plan = self._plan(kinds[0])
        start, nodes, at, complete = plan.witnesses(
            *self._without_hidden(graphs), asked, programs, most, n_threads_for(n_jobs)
        )
        return Witnesses(nodes, at, np.diff(start), complete.astype(bool))


def match(
    programs: Program | Iterable[Program],
    graphs: Graphs,
    n_jobs: int | None = 1,
    step_budget: int | None = None,
) -> BoolArray:
    """Return which graphs contain which programs.

    Parameters
    ----------
    programs
        The programs.
    graphs
        The graphs; a `GraphSet` is not encoded again.
    n_jobs
        Number of threads; -1 for all CPU cores. The result does not depend on it.
    step_budget
        Maximum steps (assignments of a node to a variable) per pair; None for no limit.

    Returns
    -------
    A bool array, graphs × programs.

    Raises
    ------
    UnknownMatchError
        If the budget runs out on a pair; `ProgramPlan.match` says on which.
    """
    listed: Sequence[Program] = [programs] if isinstance(programs, Program) else list(programs)
    encoded = _fitting_set(listed, graphs)
    found = ProgramPlan(listed, encoded).match(encoded, n_jobs, step_budget)
    if found.n_unknown:
        _raise_unknown(found.unknown_table(), step_budget)
    return found.table()


def count_matches(
    programs: Program | Iterable[Program],
    graphs: Graphs,
    n_jobs: int | None = 1,
    step_budget: int | None = None,
    *,
    distinct: bool = False,
) -> IntArray:
    """Count valuations, or with `distinct` the distinct subgraphs: an int array, graphs × programs."""
    listed: Sequence[Program] = [programs] if isinstance(programs, Program) else list(programs)
    encoded = _fitting_set(listed, graphs)
    batch = fitted_batch(listed, encoded)
    values, unknown = _core.counts(
        encoded.native, batch, distinct, _budget(step_budget), n_threads_for(n_jobs)
    )
    if unknown.any():
        _raise_unknown(unknown.astype(bool), step_budget)
    return values
