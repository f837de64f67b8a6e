"""Running tasks: on threads of this process, or in chunks on an executor. Results come in any order."""

from __future__ import annotations

import hashlib
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from gdlnn import _core
from gdlnn.errors import MiningError
from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.encoding import GraphSet
from gdlnn.mining.results import TaskResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.graphs import Graph
    from gdlnn.mining.settings import Settings
    from gdlnn.mining.tasks import Task

POLL = 0.1
"""Seconds between looks at the clock, at Ctrl-C and at the bar."""
CHUNKS = 200
"""Into how many chunks the tasks are cut at least, where there are as many, for an executor."""
MAX_CHUNK = 32
"""Most tasks of a chunk: a chunk that runs cannot be stopped."""
Codes = npt.NDArray[np.int32]


@dataclass
class MiningData:
    """Labelled graphs, encoded for the core when first needed; another process gets the arrays alone."""

    graphs: Sequence[Graph]
    codes: Codes
    n_labels: int
    fingerprint: str = field(default="")

    def __post_init__(self) -> None:
        self.fingerprint = self.fingerprint or fingerprint(self.graphs, self.codes)

    @cached_property
    def encoded(self) -> GraphSet:
        """The graphs as the core takes them."""
        return GraphSet(self.graphs)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "encoded"}


def fingerprint(graphs: Sequence[Graph], codes: Codes) -> str:
    """Return a hash of what mining sees of a data set: features, edges, direction, who shares a label."""
    arrays = GraphArrays.of(graphs)
    digest = hashlib.sha256()
    for array in (
        arrays.node_features,
        arrays.node_offsets,
        arrays.edges,
        arrays.edge_features,
        arrays.edge_offsets,
        np.array([arrays.directed]),
        codes,
    ):
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


class Run(Protocol):
    """Tasks being mined."""

    def results(self) -> Iterator[list[TaskResult]]:
        """Give results as they come, at least every `POLL` seconds an empty list, until all are there."""

    def stop(self) -> None:
        """Ask for the end: what is being mined is dropped or finished, the rest is not begun."""


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
        np.array([task.graph for task in tasks], dtype=np.int64),
        np.cumsum([0] + [len(task.nodes) for task in tasks], dtype=np.int64),
        np.array([node for task in tasks for node in task.nodes], dtype=np.int64),
        np.array([task.random_ties for task in tasks], dtype=bool),
        np.array([task.seed for task in tasks], dtype=np.uint64),
        n_threads,
    )


class LocalRun:
    """Tasks mined on threads of this process; `numbers` are their places in the plan."""

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
        """Give results as they come."""
        graphs, tasks, numbers = self._data.graphs, self._tasks, self._numbers
        while self._job.running:
            mined = self._job.poll(POLL)
            yield [TaskResult.from_native(numbers[m.task], graphs[tasks[m.task].graph], m) for m in mined]

    def stop(self) -> None:
        """Stop within a search."""
        self._job.stop()


# --- executors --------------------------------------------------------------------------------------------

# The data sets that this process has been sent, by fingerprint. One that is mined, one before.
_SENT: dict[str, MiningData] = {}
_MAX_SENT = 2


def mine_chunk(
    key: str, data: MiningData | None, settings: Settings, tasks: Sequence[Task], numbers: Sequence[int]
) -> list[TaskResult] | None:
    """Mine some tasks in a worker; None where the data set is neither sent along nor known from before."""
    if data is not None:
        _SENT[key] = data
        while len(_SENT) > _MAX_SENT:
            _SENT.pop(next(iter(_SENT)))
    known = _SENT.get(key)
    if known is None:
        return None
    run = LocalRun(known, settings, tasks, numbers, 1)
    return [result for batch in run.results() for result in batch]


class ExecutorRun:
    """Tasks mined in chunks by the workers of an executor.

    A chunk is first sent without the data set. A worker that does not know it yet says so, and the chunk is
    sent again with it: each worker gets the data about once, whatever kind of executor it belongs to.
    """

    def __init__(
        self,
        executor: Executor,
        data: MiningData,
        settings: Settings,
        tasks: Sequence[Task],
        numbers: Sequence[int],
    ) -> None:
        self._executor, self._data, self._settings = executor, data, settings
        size = max(1, min(MAX_CHUNK, len(tasks) // CHUNKS))
        chunks = [(tasks[i : i + size], numbers[i : i + size]) for i in range(0, len(tasks), size)]
        self._chunks = deque(chunks)
        self._running: dict[Future[list[TaskResult] | None], tuple[Sequence[Task], Sequence[int]]] = {}
        self._stopped = False

    def results(self) -> Iterator[list[TaskResult]]:
        """Give results as they come."""
        try:
            while self._chunks:
                self._submit(self._chunks.popleft(), None)
            while self._running:
                done, _ = wait(self._running, POLL, FIRST_COMPLETED)
                yield [result for future in done for result in self._collect(future)]
        except BrokenExecutor as error:
            raise MiningError(
                f"mine: executor: a worker ended before its work was done ({error}); with checkpoint= the "
                "same call goes on from what was finished"
            ) from error
        finally:
            self.stop()

    def _submit(self, chunk: tuple[Sequence[Task], Sequence[int]], data: MiningData | None) -> None:
        key = self._data.fingerprint
        self._running[self._executor.submit(mine_chunk, key, data, self._settings, *chunk)] = chunk

    def _collect(self, future: Future[list[TaskResult] | None]) -> list[TaskResult]:
        chunk = self._running.pop(future)
        if future.cancelled():
            return []
        results = future.result()
        if results is None and not self._stopped:
            self._submit(chunk, self._data)
        return results or []

    def stop(self) -> None:
        """Cancel the chunks that have not begun; those that run are short and are waited for."""
        self._stopped = True
        for future in list(self._running):
            future.cancel()
