"""Descents: the tasks of a mining call, their results, and the threads or processes that run them.

The tasks do not depend on the number of threads or on what has been mined before: the same call always has
the same ones.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gdlnn import _core
from gdlnn.errors import MiningError
from gdlnn.gdl.program import ANY, EdgeDescription, FloatArray, Interval, Intervals, NodeDescription, Program
from gdlnn.graphs.arrays import GraphArrays, GraphSet, components, offsets_of
from gdlnn.graphs.identity import first_twins
from gdlnn.graphs.splits import stratified_sample
from gdlnn.jobs import has_processes, run_jobs
from gdlnn.mining.program_files import format_rows, parse_rows
from gdlnn.mining.settings import FINAL_BUDGET, MOST_TARGETS, wrong

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from gdlnn.graphs import Graph, GraphDataset, Schema
    from gdlnn.mining.settings import Settings, Targets

POLL = 0.1
"""Seconds between checks of the clock and of Ctrl-C."""
Codes = npt.NDArray[np.int32]
IntArray = npt.NDArray[np.int64]


# --- tasks --------------------------------------------------------------------------------------------------


class Task(NamedTuple):
    """One descent, from some nodes of one graph."""

    graph: int
    nodes: tuple[int, ...]


def list_tasks(dataset: GraphDataset, codes: Codes, targets: IntArray, *, connected: bool) -> list[Task]:
    """List the tasks, target by target; isomorphic targets (or components) of one label are mined once."""
    starts = _parts([dataset.graphs[row] for row in targets], connected)
    parts = [Task(row, nodes) for row, sets in zip(targets.tolist(), starts, strict=True) for nodes in sets]
    first = first_twins(
        [_induced(dataset.graphs[row], nodes) for row, nodes in parts],
        [int(codes[row]) for row, _ in parts],
    )
    return [part for number, part in enumerate(parts) if first[number] == number]


def _parts(graphs: Sequence[Graph], connected: bool) -> Iterator[list[tuple[int, ...]]]:
    """Yield for each graph the sets of nodes that descents start from."""
    if not connected:
        yield from ([tuple(range(graph.n_nodes))] if graph.n_nodes else [] for graph in graphs)
        return
    arrays = GraphArrays.of(graphs)
    pieces = components(len(arrays.node_features), arrays.global_edges())
    for first, last in pairwise(arrays.node_offsets.tolist()):
        members: dict[int, list[int]] = defaultdict(list)
        for node, component in enumerate(pieces[first:last].tolist()):
            members[component].append(node)
        yield [tuple(nodes) for nodes in members.values()]


def _induced(graph: Graph, nodes: tuple[int, ...]) -> Graph:
    return graph if len(nodes) == graph.n_nodes else graph.subgraph(nodes)


def choose_targets(targets: Targets, codes: Codes, random_state: int) -> IntArray:
    """Return the sorted rows to mine: all, given ones, or for "auto" at most `MOST_TARGETS`.

    Those are drawn with the random_state so that labels keep their shares.
    """
    n = len(codes)
    if isinstance(targets, str) and targets == "auto":
        return stratified_sample(codes, MOST_TARGETS, random_state) if n > MOST_TARGETS else np.arange(n)
    if targets is None:
        return np.arange(n)
    rows = np.asarray(targets)
    if rows.ndim != 1 or (rows.size and not np.issubdtype(rows.dtype, np.integer)):
        raise wrong("targets", "None, auto or row numbers", targets)
    bad = rows[(rows < 0) | (rows >= n)]
    if bad.size:
        raise MiningError(f"mine: targets: expected rows from 0 to {n - 1}, got {int(bad[0])}")
    return np.unique(rows.astype(np.int64))


# --- results ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TaskResult:
    """The program of one task in canonical form, where it matches, and the cost of the search.

    Attributes
    ----------
    task
        Number of the task.
    support
        Which graphs the program matches, as text: ``"0-5,7"``.
    mutations
        Number of mutations applied.
    unresolved
        Graphs on which the answer is unknown even with the larger budget; they count as not matched.
    tests, unknown
        Tests, and tests whose search ran out of budget.
    seconds
        CPU time of the descent.
    """

    task: int
    program: Program
    score: float
    support: str
    mutations: int
    unresolved: int
    tests: int
    unknown: int
    seconds: float

    @classmethod
    def from_native(cls, task: int, graph: Graph, mined: _core.MinedProgram) -> Self:
        """Convert the core's result for a target."""
        program = native_program(graph, mined).canonical(directed=graph.directed)
        support = format_rows(np.flatnonzero(mined.support))
        steps = (mined.n_mutations, mined.unresolved, mined.tests, mined.unknown, mined.seconds)
        return cls(task, program, mined.score, support, *steps)

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return {**vars(self), "program": self.program.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], n_tasks: int, n_graphs: int) -> Self:
        """Build a result from what `to_json` gave, of a call with so many tasks and graphs."""
        found = cls(**{**data, "program": Program.from_json(data["program"])})
        for name, kinds, most in (
            ("task", (int,), n_tasks - 1),
            ("score", (float,), 1),
            *((name, (int,), 2**63) for name in ("mutations", "unresolved", "tests", "unknown")),
            ("seconds", (int, float), 2**63),
        ):
            value = getattr(found, name)
            if type(value) not in kinds or not 0 <= value <= most:  # NaN is neither
                raise ValueError(f"{name}: expected a number from 0 to {most}, got {value!r:.40}")
        parse_rows([found.support], n_graphs)
        return found


def native_program(graph: Graph, mined: _core.MinedProgram) -> Program:
    """Return the program the core mined from a graph; the variable of node v is called ``xv``."""
    nodes, ends = mined.nodes.tolist(), graph.edges[mined.edges].tolist()
    node_vectors = _vectors(mined.node_lower, mined.node_upper, len(nodes))
    edge_vectors = _vectors(mined.edge_lower, mined.edge_upper, len(ends))
    return Program._trusted(  # the core gives valid programs, and there are thousands
        tuple(NodeDescription(f"x{v}", vector) for v, vector in zip(nodes, node_vectors, strict=True)),
        tuple(EdgeDescription(f"x{u}", f"x{v}", w) for (u, v), w in zip(ends, edge_vectors, strict=True)),
    )


def _vectors(lower: FloatArray, upper: FloatArray, count: int) -> list[Intervals | None]:
    """Cut flat bounds into the vectors of `count` descriptions; None for one without any bound."""
    intervals = list(map(Interval, lower.tolist(), upper.tolist()))
    width = len(intervals) // max(1, count)
    vectors = [tuple(intervals[i * width : (i + 1) * width]) for i in range(count)]
    return [vector if any(interval != ANY for interval in vector) else None for vector in vectors]


# --- running ------------------------------------------------------------------------------------------------


@dataclass
class MiningData:
    """Labeled graphs, encoded for the core on first use; pickles hold the graphs in small arrays."""

    graphs: Sequence[Graph]
    codes: Codes
    n_labels: int
    schema: Schema | None = None

    @cached_property
    def encoded(self) -> GraphSet:
        """The graphs in the core's encoding."""
        return GraphSet(self.graphs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (GraphArrays.of(self.graphs), self.codes, self.n_labels, self.schema)

    def nominal(self, of: Literal["node", "edge"]) -> npt.NDArray[np.bool_]:
        """Return which features of nodes or edges are nominal; without a schema none is."""
        width = getattr(self.encoded, f"n_{of}_features")
        kinds = [feature.kind == "nominal" for feature in getattr(self.schema, of, ())]
        return np.array(kinds if len(kinds) == width else [False] * width, dtype=bool)


def _unpacked(packed: GraphArrays, *rest: Any) -> MiningData:
    return MiningData(packed.graphs(), *rest)


def run_tasks(
    data: MiningData, settings: Settings, tasks: Mapping[int, Task], n_threads: int
) -> Generator[list[TaskResult]]:
    """Mine tasks, by their numbers, and yield results as descents finish; closing it stops them.

    They run on threads of this process, or on the processes that joblib is set to use.
    """
    if not has_processes():
        yield from run_here(data, settings, tasks, n_threads)
        return
    jobs = ((settings, number, task) for number, task in tasks.items())
    with closing(run_jobs(mine_task, data, jobs, ordered=False)) as results:
        for result in results:
            yield [result]


def run_here(
    data: MiningData, settings: Settings, tasks: Mapping[int, Task], n_threads: int
) -> Iterator[list[TaskResult]]:
    """Mine tasks on threads of this process; empty lists let the caller check the clock."""
    numbers, starts = list(tasks), list(tasks.values())
    job = _core.MiningJob(
        data.encoded.native,
        data.codes,
        data.n_labels,
        settings.epsilon,
        settings.strategy == "sequential",
        settings.connected,
        settings.step_budget,
        FINAL_BUDGET,
        True,
        settings.nominal == "value",
        data.nominal("node"),
        data.nominal("edge"),
        np.array([task.graph for task in starts], dtype=np.int64),
        offsets_of([len(task.nodes) for task in starts]),
        np.array([node for task in starts for node in task.nodes], dtype=np.int64),
        n_threads,
    )
    try:
        while job.running:
            yield [
                TaskResult.from_native(numbers[mined.task], data.graphs[starts[mined.task].graph], mined)
                for mined in job.poll(POLL)
            ]
    finally:
        job.stop()


def mine_task(data: MiningData, settings: Settings, number: int, task: Task) -> TaskResult:
    """Mine one task in a worker."""
    ((result,),) = (found for found in run_here(data, settings, {number: task}, 1) if found)
    return result
