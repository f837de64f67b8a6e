"""TaskResult: the result of one descent. Checkpoint: the file of results that a call resumes from."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from filelock import FileLock, Timeout

from gdlnn.errors import GDLNNError, MiningError
from gdlnn.gdl.program import ANY, EdgeDescription, FloatArray, Interval, Intervals, NodeDescription, Program
from gdlnn.io import bounded
from gdlnn.mining.supports import format_rows, parse_runs
from gdlnn.version import package_version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdlnn import _core
    from gdlnn.graphs import Graph
    from gdlnn.mining.settings import Settings
    from gdlnn.mining.tasks import Plan

logger = logging.getLogger(__name__)
KIND = "gdlnn mining checkpoint"
FORMAT = 2
_NAMES = {
    "data": "the dataset (its graphs, or which of them share a label)",
    "labels": "the labels",
    "version": "the version of gdlnn",
    "format": "the format of the file",
    "tasks": "the targets",
}
_WHOLE = ("task", "mutations", "unresolved", "tests", "searches", "unknown")
_KINDS = {**dict.fromkeys(_WHOLE, int), "score": float, "seconds": float | int, "support": str}


@dataclass(frozen=True)
class TaskResult:
    """The program of one task in canonical form, where it matches, and the cost of the search.

    Attributes
    ----------
    task
        Number of the task in the plan.
    support
        Which graphs the program matches, as text: ``"0-5,7"``.
    mutations
        Number of mutations applied.
    unresolved
        Graphs on which the answer is unknown even with the larger budget; they count as not matched.
    tests, searches, unknown
        Tests, searches, and tests whose search ran out of budget.
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
    searches: int
    unknown: int
    seconds: float

    @classmethod
    def from_native(cls, task: int, graph: Graph, mined: _core.MinedProgram) -> Self:
        """Convert the core's result for a target."""
        program = native_program(graph, mined).canonical(directed=graph.directed)
        return cls(
            task,
            program,
            mined.score,
            format_rows(np.flatnonzero(mined.support)),
            mined.n_mutations,
            mined.unresolved,
            mined.tests,
            mined.searches,
            mined.unknown,
            mined.seconds,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return {**vars(self), "program": self.program.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build a result from what `to_json` gave."""
        found = cls(**{**data, "program": Program.from_json(data["program"])})
        for name, kind in _KINDS.items():
            value = getattr(found, name)
            if not isinstance(value, kind) or isinstance(value, bool):
                raise TypeError(f"{name}: expected {kind}, got {value!r:.40}")
            if not isinstance(value, str) and not 0 <= value < 2**63:  # NaN is neither
                raise ValueError(f"{name}: expected a number of at least 0, got {value!r:.40}")
        if found.score > 1:
            raise ValueError(f"score: expected at most 1, got {found.score}")
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


def checkpoint_header(
    fingerprint: str, labels: Sequence[Any], settings: Settings, plan: Plan
) -> dict[str, Any]:
    """Return the settings that determine the results of a call, which must be equal in its file."""
    tasks = hashlib.sha256(json.dumps([plan.tasks, plan.rows]).encode()).hexdigest()
    return {
        "format": FORMAT,
        "version": package_version(),
        "data": fingerprint,
        "labels": list(labels),
        "n_tasks": len(plan),
        "tasks": tasks,
        **settings.to_json(),
    }


class Checkpoint:
    """An open checkpoint: lines of JSON, the first of which describes the call; locked against other runs.

    A line that a kill cut short is dropped when the next run opens the file.

    Parameters
    ----------
    path
        The file; created if it does not exist.
    header
        What `checkpoint_header` gave.
    n_graphs
        Number of graphs.

    Attributes
    ----------
    finished
        The results found in the file, by task.

    Raises
    ------
    MiningError
        If the file is not a checkpoint, is damaged, belongs to another call or is in use.
    """

    def __init__(self, path: str | os.PathLike[str], header: Mapping[str, Any], n_graphs: int) -> None:
        self.path = Path(path)
        self.finished: dict[int, TaskResult] = {}
        self._header = {"kind": KIND, **header}
        self._n_tasks, self._n_graphs = int(header.get("n_tasks", 0)), n_graphs
        self._lock = FileLock(
            self.path.with_name(f".{self.path.name}.lock"), blocking=False, fallback_to_soft=False
        )
        if self.path.is_fifo() or self.path.is_char_device():
            raise self._failed("expected a file, got a device or a pipe")
        try:
            self._file = self.path.open("ab", buffering=0)
        except OSError as error:
            raise self._failed(f"cannot be opened: {error.strerror}") from error
        try:
            self._acquire()
            self._read()
        except BaseException:
            self.close()
            raise

    def add(self, results: Sequence[TaskResult]) -> None:
        """Add finished descents."""
        self._write("".join(_line(result.to_json()) for result in results))

    def close(self) -> None:
        """Close the file and release the lock."""
        self._file.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _failed(self, what: str) -> MiningError:
        return MiningError(f"checkpoint {self.path.name}: {what}")

    def _acquire(self) -> None:
        try:
            self._lock.acquire()
        except Timeout:  # callers wait if they see this cause
            raise self._failed("another run is writing to it") from BlockingIOError()
        except OSError as error:  # some cluster file systems have no locks
            logger.warning(
                "checkpoint %s: cannot be locked (%s); make sure that no other run writes to it",
                self.path.name,
                error.strerror,
            )

    def _read(self) -> None:
        """Read the results, cut off a line that is incomplete, and write the header of a new file."""
        data = self.path.read_bytes()
        header = _line(self._header).encode()
        if header.startswith(data):  # new, or killed while the header was written
            os.truncate(self.path, 0)
            self._write(header.decode())
            return
        lines = data.splitlines(keepends=True)
        self._check(lines[0])
        place = len(lines[0])
        for line in lines[1:]:
            try:
                value = bounded.loads(line)
            except ValueError as error:
                if place + len(line) < len(data):
                    raise self._failed(f"the record at byte {place} is damaged") from error
                value = None
            if value is None or not line.endswith(b"\n"):
                break
            self._add(value, place)
            place += len(line)
        os.truncate(self.path, place)

    def _check(self, line: bytes) -> None:
        """Compare the header with that of this call."""
        try:
            found = bounded.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("kind") != KIND:
            raise self._failed("expected a checkpoint of mining, got another file, which is unchanged")
        expected = json.loads(_line(self._header))
        differing = [name for name in expected if found.get(name) != expected[name]]
        if differing:
            words = [
                _NAMES.get(name) or f"{name} ({found.get(name)!r} there, {expected[name]!r} now)"
                for name in differing
                if name != "n_tasks" or "tasks" not in differing
            ]
            raise self._failed(f"belongs to another call, which differs in {'; '.join(words)}")

    def _add(self, value: Any, place: int) -> None:
        """Add a record, which may be JSON and still not be a result of this call."""
        try:
            result = TaskResult.from_json(value)
            parse_runs(str(result.task), self._n_tasks)
            parse_runs(result.support, self._n_graphs)
        except (TypeError, KeyError, ValueError, AttributeError, GDLNNError) as error:
            raise self._failed(f"the record at byte {place} is not a valid result: {error}") from error
        self.finished[result.task] = result

    def _write(self, text: str) -> None:
        data = text.encode()
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise self._failed(
                f"cannot be written: {error.strerror or error}; run the same call again to resume from it"
            ) from error


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"
