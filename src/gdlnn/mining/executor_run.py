"""Tasks mined in chunks by the workers of an executor: any of `concurrent.futures`, or a Dask cluster's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdlnn.errors import MiningError, WorkerError
from gdlnn.mining.running import POLL, LocalRun, MiningData
from gdlnn.workers import Done, Shared, WorkerDiedError, Workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Executor

    from gdlnn.mining.results import TaskResult
    from gdlnn.mining.settings import Settings
    from gdlnn.mining.tasks import Task

CHUNK_SECONDS = 0.5
"""How long a chunk should take: long beside its sending, short since one that runs cannot be stopped."""
SECONDS_PER_THREAD = 0.02
"""On many workers chunks are longer, so that the caller has to answer 50 of them a second at most."""
MAX_CHUNK = 4096
"""Most tasks of a chunk."""
Chunk = tuple["Settings", "Sequence[Task]", "Sequence[int]"]


def mine_chunk(
    data: MiningData, settings: Settings, tasks: Sequence[Task], numbers: Sequence[int]
) -> list[TaskResult]:
    """Mine some tasks in a worker."""
    run = LocalRun(data, settings, tasks, numbers, 1)
    return [result for batch in run.results() for result in batch]


class ExecutorRun:
    """Tasks mined by the workers of an executor.

    How many tasks a chunk has follows from what those before it took; towards the end chunks become small, so
    that the workers end together. A chunk whose workers die again and again is cut into single tasks, so that
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
        """Give results as they come, a chunk at a time."""
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
                    f"mine: executor: target {tasks[0].graph}: its workers die again and again: {found}"
                ) from found
            for task, number in zip(tasks, numbers, strict=True):
                self._done.send((settings, [task], [number]))
            return []
        self._seconds += sum(result.seconds for result in found)
        self._finished += len(found)
        return found

    def stop(self) -> None:
        """Cancel the chunks that have not begun; those that run are short and are waited for."""
        self._stopped = True
        self._done.stop()
