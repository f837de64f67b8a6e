"""A pool of worker processes that outlives its workers: a task whose process dies leaves a reason."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from gdlnn.evaluation.running import Place, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from gdlnn.evaluation.cells import Result


class Job(Protocol):
    """What a pool knows of a task."""

    def to_json(self) -> Result:
        """Return the task as plain JSON values."""
        ...


T = TypeVar("T", bound=Job)
P = TypeVar("P", bound=Place)


class Pool(Generic[T, P]):
    """Run tasks in `n_workers` processes, or in this one where that is 1.

    Tasks that were running when a process died are tried again, one at a time; the one that dies alone is to
    blame and fails.

    Parameters
    ----------
    place
        Where and with what tasks are run.
    n_workers
        Number of processes.
    run
        Runs one task; a function of a module, so that workers find it.
    """

    def __init__(self, place: P, n_workers: int, run: Callable[[T, P], Result]) -> None:
        self.place, self.n_workers, self._run = place, n_workers, run
        self._waiting: list[T] = []
        self._running: dict[Future[Result], T] = {}
        self._suspects: list[T] = []
        self._executor = self._start(n_workers) if n_workers > 1 else None

    def _start(self, n_workers: int) -> ProcessPoolExecutor:
        # CUDA cannot be used in a forked process.
        return ProcessPoolExecutor(
            n_workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(os.getpid(),)
        )

    def add(self, task: T) -> None:
        """Add a task; tasks are begun in the order they come."""
        self._waiting.append(task)
        self._feed()

    def _feed(self) -> None:
        # No more than the processes can take: a broken pool then blames few.
        while self._executor is not None and self._waiting and len(self._running) < self.n_workers:
            task = self._waiting.pop(0)
            self._running[self._executor.submit(self._run, task, self.place)] = task

    def __bool__(self) -> bool:
        return bool(self._waiting or self._running or self._suspects)

    def collect(self, *, block: bool) -> Iterator[tuple[T, Result]]:
        """Give the tasks that have ended; with `block`, wait for at least one where some are left."""
        if self._executor is None:
            if block and self._waiting:
                task = self._waiting.pop(0)
                yield task, self._run(task, self.place)
            return
        if not self._running and self._suspects:
            task = self._suspects.pop(0)
            yield task, self._alone(task)
            return
        done, _ = wait(self._running, timeout=None if block else 0, return_when=FIRST_COMPLETED)
        broken = False
        for future in done:
            task = self._running.pop(future)
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                self._suspects.append(task)
                broken = True
            else:
                yield task, future.result() if error is None else _failed(task, error)
        if broken:
            self._suspects += self._running.values()
            self._running.clear()
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = self._start(self.n_workers)
        self._feed()

    def _alone(self, task: T) -> Result:
        with self._start(1) as executor:
            try:
                return executor.submit(self._run, task, self.place).result()
            except BrokenProcessPool:
                return _failed(task, RuntimeError("the process that ran it died, perhaps for want of memory"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._executor is None:
            return
        if kind is not None:  # do not wait for tasks whose results nobody will take
            for process in list((self._executor._processes or {}).values()):
                process.terminate()
        self._executor.shutdown(wait=kind is None, cancel_futures=True)


def _failed(task: Job, error: BaseException) -> Result:
    return {**task.to_json(), **failure(error)}


def _begin(parent: int) -> None:
    """Prepare a worker: Ctrl-C is the parent's to handle, and with the parent gone there is nothing to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # There is a process for every core: threads of numerical libraries would only get in each other's way.
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    threadpool_limits(1)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
