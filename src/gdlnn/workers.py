"""Run jobs on an executor's workers; data that all jobs share is sent to each worker about once.

Any `concurrent.futures.Executor` works. A job is first sent without the shared data; a worker that lacks it
says so, and the job is sent again with it. Dask clusters get the data beforehand, see `cluster`.
"""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from gdlnn.cluster import broadcast, client_of, died_with_workers, n_cluster_threads
from gdlnn.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor, Future

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_KEPT = 2
"""How many shared values a worker keeps: the current one and the previous one."""
LOOK_SECONDS = 2.0
"""How often the number of workers is checked: they may join and leave."""
AHEAD = 2
"""Jobs submitted per worker thread, so that no thread waits for the next."""
POLL = 0.1
"""Seconds between checks of the clock and of Ctrl-C."""
BLAMES = 3
"""How often one job may be sent again after Dask blamed it for the death of its workers."""

_KEPT: dict[str, Any] = {}
_KEEPING = threading.Lock()  # a worker may have several threads


@dataclass(frozen=True)
class Shared:
    """What all jobs need.

    Attributes
    ----------
    key
        A hash of the content.
    pack
        Gives it as bytes; called once, when the first worker asks.
    unpack
        Reads the bytes in a worker: a function that can be imported there.
    """

    key: str
    pack: Callable[[], bytes]
    unpack: Callable[[bytes], Any]

    @cached_property
    def payload(self) -> bytes:
        """The bytes, made once."""
        return self.pack()


class Unknown:
    """The answer of a worker that has not been sent the shared data."""


def keep(key: str, value: Any) -> None:
    """Keep shared data in this process, and drop the oldest beyond `MAX_KEPT`."""
    with _KEEPING:
        _KEPT.pop(key, None)
        _KEPT[key] = value
        while len(_KEPT) > MAX_KEPT:
            _KEPT.pop(next(iter(_KEPT)), None)


def run_job(
    key: str, sent: tuple[Callable[[bytes], Any], bytes] | None, job: Callable[..., Any], arguments: Any
) -> Any:
    """Run a job in a worker; it gets the shared data first."""
    if sent is not None:
        unpack, payload = sent
        keep(key, unpack(payload))
    known = _KEPT.get(key)
    return Unknown() if known is None else job(known, *arguments)


class Workers:
    """The workers of an executor, for jobs that share data.

    Parameters
    ----------
    executor
        Any executor.
    shared
        What all jobs get.
    what
        The name of the caller, for messages.
    """

    def __init__(self, executor: Executor, shared: Shared, what: str) -> None:
        self._executor, self._shared, self._what = executor, shared, what
        self._client = client_of(executor)
        self._options: dict[str, Any] = {} if self._client is None else {"pure": False}
        self._stack = ExitStack()
        self._n_threads, self._looked = 1, float("-inf")
        self._warm = False

    def __enter__(self) -> Self:
        if self._client is not None:
            self._stack.enter_context(broadcast(self._client, self._shared, self._what))
            self._warm = True
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def n_threads(self) -> int:
        """How many jobs can run at once, at least 1."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._looked = time.monotonic()
            if self._client is not None:
                with suppress(Exception):  # the jobs report that the scheduler is gone
                    self._n_threads = max(1, n_cluster_threads(self._client))
            else:
                self._n_threads = getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1
        return self._n_threads

    @property
    def room(self) -> int:
        """How many jobs to submit: one per thread until the data has arrived, then a few more."""
        return self.n_threads * AHEAD if self._warm else self.n_threads

    def submit(self, job: Callable[..., Any], *arguments: Any, with_data: bool = False) -> Future[Any]:
        """Submit a job: an importable function, called with the shared data and the arguments."""
        sent = (self._shared.unpack, self._shared.payload) if with_data else None
        try:
            return self._executor.submit(run_job, self._shared.key, sent, job, arguments, **self._options)
        except Exception as error:  # executors raise different errors when they accept no more jobs
            raise self._broken(error) from error

    def answer(self, future: Future[Any]) -> Any:
        """Return the result of a finished job; an `Unknown` if it must be sent again with the data.

        Raises
        ------
        WorkerError
            If the workers are gone for good.
        WorkerDiedError
            If Dask blames the job for the death of its workers.
        """
        try:
            found = future.result()
        except (BrokenExecutor, CancelledError) as error:
            raise self._broken(error) from error
        except Exception as error:
            if died_with_workers(error):
                raise WorkerDiedError(str(error)) from error
            raise
        self._warm = self._warm or not isinstance(found, Unknown)
        return found

    def _broken(self, error: BaseException) -> WorkerError:
        said = str(error) or type(error).__name__
        return WorkerError(
            f"{self._what}: executor: a worker ended before its work was done, or the scheduler ({said}); "
            "with a checkpoint the same call resumes from the finished jobs"
        )


class WorkerDiedError(Exception):
    """A job that was running on several workers when they died."""


@dataclass
class _Sent(Generic[Item]):
    item: Item
    blames: int = 0


class Done(Generic[Item, Result]):
    """Submitted jobs, returned as they finish, in any order."""

    def __init__(self, workers: Workers, job: Callable[..., Result]) -> None:
        self._workers, self._job = workers, job
        self._running: dict[Future[Any], _Sent[Item]] = {}
        self._ended: SimpleQueue[Future[Any]] = SimpleQueue()
        self._stopped = False

    def __len__(self) -> int:
        return len(self._running)

    def send(self, item: Item, *, with_data: bool = False, blames: int = 0) -> None:
        """Send a job for an item, which is a tuple of arguments."""
        arguments: Any = item
        future = self._workers.submit(self._job, *arguments, with_data=with_data)
        self._running[future] = _Sent(item, blames)
        future.add_done_callback(self._ended.put)

    def take(self, seconds: float) -> Iterator[tuple[Item, Result | WorkerDiedError]]:
        """Yield finished jobs, after waiting up to `seconds` for the first; a blamed job has the error."""
        try:
            future = self._ended.get(timeout=seconds)
            while True:
                yield from self._answered(future)
                future = self._ended.get_nowait()
        except Empty:
            return

    def _answered(self, future: Future[Any]) -> Iterator[tuple[Item, Result | WorkerDiedError]]:
        sent = self._running.pop(future, None)
        if sent is None or (self._stopped and future.cancelled()):
            return
        try:
            found = self._workers.answer(future)
        except WorkerDiedError as error:
            if sent.blames < BLAMES and not self._stopped:
                self.send(sent.item, blames=sent.blames + 1)
                return
            yield sent.item, error
            return
        if not isinstance(found, Unknown):
            yield sent.item, found
        elif not self._stopped:
            self.send(sent.item, with_data=True, blames=sent.blames)

    def stop(self) -> None:
        """Cancel the jobs that have not begun."""
        self._stopped = True
        for future in list(self._running):
            future.cancel()


def ordered(
    executor: Executor | None,
    shared: Shared,
    value: Any,
    job: Callable[..., Result],
    items: Iterable[tuple[Any, ...]],
    what: str,
) -> Iterator[Result]:
    """Yield the result of a job for every item, in order, with a bounded number submitted at a time.

    Without an executor the jobs run in this process, with `value` as the shared data.
    """
    if executor is None:
        for item in items:
            yield job(value, *item)
        return
    waiting: dict[int, Result] = {}
    numbered = enumerate(items)
    given, more = 0, True
    with Workers(executor, shared, what) as workers:
        done: Done[Any, Any] = Done(workers, _numbered_job)
        try:
            while more or done:
                while more and len(done) + len(waiting) < max(2, workers.room):
                    number, item = next(numbered, (-1, ()))
                    more = number >= 0
                    if more:
                        done.send((number, job, item))
                for (number, _, _), found in done.take(POLL):
                    if isinstance(found, WorkerDiedError):
                        raise WorkerError(f"{what}: part {number}: its workers died repeatedly: {found}")
                    waiting[number] = found
                while given in waiting:
                    yield waiting.pop(given)
                    given += 1
        finally:
            done.stop()


def _numbered_job(value: Any, number: int, job: Callable[..., Any], item: tuple[Any, ...]) -> Any:  # noqa: ARG001
    return job(value, *item)
