"""Running descents: on threads of this process, or in chunks on the workers of an executor."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import numpy.typing as npt

from gdlnn import _core
from gdlnn.errors import MiningError, WorkerError
from gdlnn.graphs.arrays import GraphSet, pack_graphs, unpack_graphs
from gdlnn.graphs.identity import fingerprint
from gdlnn.mining.results import TaskResult
from gdlnn.version import package_version
from gdlnn.workers import POLL, Done, Shared, WorkerDiedError, Workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Executor

    from gdlnn.graphs import Graph, Schema
    from gdlnn.mining.settings import Settings
    from gdlnn.mining.tasks import Task

CHUNK_SECONDS = 0.5
"""Target time of a chunk: long compared with sending it, short because it cannot be stopped."""
SECONDS_PER_THREAD = 0.02
"""With many workers chunks are longer, so that the caller handles at most 50 per second."""
MAX_CHUNK = 4096
"""Maximum number of tasks per chunk."""
Codes = npt.NDArray[np.int32]
Chunk = tuple["Settings", "Sequence[Task]", "Sequence[int]"]


@dataclass
class MiningData:
    """Labelled graphs, encoded for the core on first use; other processes are sent only the arrays."""

    graphs: Sequence[Graph]
    codes: Codes
    n_labels: int
    schema: Schema | None = None
    fingerprint: str = field(default="")

    def __post_init__(self) -> None:
        self.fingerprint = self.fingerprint or fingerprint(self.graphs, self.codes)

    @cached_property
    def encoded(self) -> GraphSet:
        """The graphs in the core's encoding."""
        return GraphSet(self.graphs)

    def pack(self) -> bytes:
        """Return the data that a worker needs, in small arrays."""
        return pickle.dumps(
            (
                package_version(),
                pack_graphs(self.graphs),
                self.codes,
                self.n_labels,
                self.schema,
                self.fingerprint,
            )
        )

    @classmethod
    def unpack(cls, data: bytes) -> MiningData:
        """Read what `pack` gave; a worker with another version of gdlnn is an error."""
        version, graphs, *rest = pickle.loads(data)
        if version != package_version():
            raise WorkerError(
                f"a worker: expected gdlnn {version}, as the caller has, got {package_version()}"
            )
        return cls(unpack_graphs(graphs), *rest)

    def nominal(self, of: Literal["node", "edge"]) -> npt.NDArray[np.bool_]:
        """Return which features of nodes or edges are nominal; without a schema none is."""
        encoded = self.encoded
        width = encoded.n_node_features if of == "node" else encoded.n_edge_features
        features = getattr(self.schema, of) if self.schema is not None else ()
        if len(features) != width:
            return np.zeros(width, dtype=bool)
        return np.array([feature.kind == "nominal" for feature in features], dtype=bool)


class Run(Protocol):
    """Tasks being mined."""

    def results(self) -> Iterator[list[TaskResult]]:
        """Yield results as descents finish, or an empty list after `POLL` seconds, until all are done."""

    def stop(self) -> None:
        """Start no more tasks; running ones are dropped or finished."""


def start_job(data: MiningData, settings: Settings, tasks: Sequence[Task], n_threads: int) -> _core.MiningJob:
    """Start the core on some tasks."""
    return _core.MiningJob(
        data.encoded.native,
        data.codes,
        data.n_labels,
        settings.epsilon,
        settings.strategy == "sequential",
        settings.connected,
        settings.step_budget,
        settings.final_budget,
        True,
        settings.nominal == "value",
        data.nominal("node"),
        data.nominal("edge"),
        np.array([task.graph for task in tasks], dtype=np.int64),
        np.cumsum([0] + [len(task.nodes) for task in tasks], dtype=np.int64),
        np.array([node for task in tasks for node in task.nodes], dtype=np.int64),
        n_threads,
    )


class LocalRun:
    """Tasks mined on threads of this process; `numbers` are their indices in the plan."""

    def __init__(
        self,
        data: MiningData,
        settings: Settings,
        tasks: Sequence[Task],
        numbers: Sequence[int],
        n_threads: int,
    ) -> None:
        self._data, self._tasks, self._numbers = data, tasks, numbers
        self._job = start_job(data, settings, tasks, n_threads)

    def results(self) -> Iterator[list[TaskResult]]:
        """Yield results as descents finish."""
        graphs, tasks, numbers = self._data.graphs, self._tasks, self._numbers
        while self._job.running:
            mined = self._job.poll(POLL)
            yield [TaskResult.from_native(numbers[m.task], graphs[tasks[m.task].graph], m) for m in mined]

    def stop(self) -> None:
        """Stop within a search."""
        self._job.stop()


def mine_chunk(
    data: MiningData, settings: Settings, tasks: Sequence[Task], numbers: Sequence[int]
) -> list[TaskResult]:
    """Mine some tasks in a worker."""
    run = LocalRun(data, settings, tasks, numbers, 1)
    return [result for batch in run.results() for result in batch]


class ExecutorRun:
    """Tasks mined by the workers of an executor: any of `concurrent.futures`, or a Dask cluster's.

    The size of a chunk depends on the time of earlier ones; towards the end chunks become small, so that
    the workers finish together. A chunk whose workers die repeatedly is cut into single tasks, so that
    the error can name the target.
    """

    def __init__(
        self,
        executor: Executor,
        data: MiningData,
        settings: Settings,
        tasks: Sequence[Task],
        numbers: Sequence[int],
    ) -> None:
        shared = Shared(data.fingerprint, data.pack, MiningData.unpack)
        self._workers = Workers(executor, shared, "mine")
        self._settings, self._tasks, self._numbers = settings, tasks, numbers
        self._next = 0
        self._seconds, self._finished = 0.0, 0
        self._done: Done[Chunk, list[TaskResult]] = Done(self._workers, mine_chunk)
        self._stopped = False

    def results(self) -> Iterator[list[TaskResult]]:
        """Yield results as chunks finish."""
        try:
            with self._workers:
                while self._done or (self._next < len(self._tasks) and not self._stopped):
                    self._fill()
                    nothing = True
                    for chunk, found in self._done.take(POLL):
                        nothing = False
                        yield self._taken(chunk, found)
                    if nothing:
                        yield []
        except WorkerError as error:
            raise MiningError(str(error)) from error
        finally:
            self.stop()

    def _fill(self) -> None:
        while not self._stopped and self._next < len(self._tasks) and len(self._done) < self._workers.room:
            size = self._size()
            chosen = slice(self._next, self._next + size)
            self._done.send((self._settings, self._tasks[chosen], self._numbers[chosen]))
            self._next += size

    def _size(self) -> int:
        """Return how many tasks the next chunk has."""
        n_threads = self._workers.n_threads
        left = len(self._tasks) - self._next
        fair = -(-left // (2 * n_threads))
        if not self._finished:
            return min(fair, 2)
        wanted = max(CHUNK_SECONDS, SECONDS_PER_THREAD * n_threads)
        per_task = max(self._seconds / self._finished, 1e-6)
        return max(1, min(int(wanted / per_task), fair, MAX_CHUNK))

    def _taken(self, chunk: Chunk, found: list[TaskResult] | WorkerDiedError) -> list[TaskResult]:
        if isinstance(found, WorkerDiedError):
            settings, tasks, numbers = chunk
            if len(tasks) == 1:
                raise MiningError(
                    f"mine: executor: target {tasks[0].graph}: its workers die repeatedly: {found}"
                ) from found
            for task, number in zip(tasks, numbers, strict=True):
                self._done.send((settings, [task], [number]))
            return []
        self._seconds += sum(result.seconds for result in found)
        self._finished += len(found)
        return found

    def stop(self) -> None:
        """Cancel the chunks that have not begun, and wait for those that run, which are short."""
        self._stopped = True
        self._done.stop()
