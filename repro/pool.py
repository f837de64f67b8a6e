"""Run tasks in this process or in a pool that survives its workers; every failure has a reason."""

from __future__ import annotations

import atexit
import datetime
import os
import platform
import signal
import threading
import time
import traceback
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Self

import gdlnn
from repro.inputs import forget, load_split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from repro.store import Result, RunConfig, Task

PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "torch_geometric", "rdkit")
"""Packages whose versions affect results."""


# --- one task ---------------------------------------------------------------------------------------------


class OutOfTimeError(BaseException):
    """A task's time is up. Not an `Exception`, so that no handler on the way catches it."""


def run_task(compute: Callable[[Task, RunConfig], Result], task: Task, config: RunConfig) -> Result:
    """Run a task; a failure and running out of time become results with their reasons.

    Parameters
    ----------
    compute
        Returns the result of a task.
    task, config
        Its arguments.
    """
    result: Result = {**task.to_json(), "versions": versions(), "machine": machine()}
    try:
        split, result["fingerprint"] = load_split(task.dataset, task.protocol, task.split, config)
        result["sizes"] = [len(part) for part in split]
        with time_limit(config.limit):
            status: Result = {"status": "ok", **compute(task, config)}
    except OutOfTimeError:
        status = {"status": "late", "reason": f"not finished in {config.limit:g} s", "limit": config.limit}
    except Exception as error:  # the failure of one task must not end the study
        status = failure(error)
    finished = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {**result, **status, "finished": finished}


def failure(error: BaseException) -> Result:
    """Return the record of a failure."""
    lines = str(error).strip().splitlines()
    reason = lines[0] if lines else type(error).__name__
    return {
        "status": "failed",
        "reason": f"{type(error).__name__}: {reason}",
        "traceback": "".join(traceback.format_exception(error))[-4000:],
    }


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `OutOfTimeError` in the block after this many seconds; works only in the main thread."""
    able = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not able:
        yield
        return

    def stop(number: int, frame: Any) -> None:  # noqa: ARG001
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Clock:
    """Wall and CPU seconds since its creation."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Return both."""
        return time.perf_counter() - self._wall, time.process_time() - self._cpu


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of the packages that affect results."""
    found = {"python": platform.python_version(), "gdlnn": gdlnn.__version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@lru_cache(maxsize=1)
def machine() -> dict[str, Any]:
    """Return the kind of this machine, without its name."""
    import torch

    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {"processor": _processor(), "cpus": os.cpu_count(), "gpu": gpu}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123 - a file of the system
            line = next(line for line in file if line.startswith("model name"))
        return line.partition(":")[2].strip()
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


# --- several tasks ----------------------------------------------------------------------------------------


class Pool:
    """Run tasks in `config.n_workers` processes, or in this one if that is 1.

    When a process dies, the tasks that were running are tried again one at a time; the one that dies alone
    is to blame and fails.

    Parameters
    ----------
    config
        Passed on with every task.
    run
        Runs one task; must be picklable.
    """

    def __init__(self, config: RunConfig, run: Callable[[Task, RunConfig], Result]) -> None:
        self._config, self._run, self._n_workers = config, run, config.n_workers
        self._waiting: list[Task] = []
        self._running: dict[Future[Result], Task] = {}
        self._suspects: list[Task] = []
        self._executor = _start(self._n_workers) if self._n_workers > 1 else None

    def add(self, task: Task) -> None:
        """Add a task; tasks start in the order they are added."""
        self._waiting.append(task)
        self._feed()

    def _feed(self) -> None:
        # No more than the processes can take: fewer tasks are suspects when one dies.
        while self._executor is not None and self._waiting and len(self._running) < self._n_workers:
            task = self._waiting.pop(0)
            self._running[self._executor.submit(self._run, task, self._config)] = task

    def __bool__(self) -> bool:
        return bool(self._waiting or self._running or self._suspects)

    def collect(self, *, block: bool) -> Iterator[tuple[Task, Result]]:
        """Yield the tasks that have ended; with `block`, wait for at least one if any are left."""
        if self._executor is None:
            if block and self._waiting:
                task = self._waiting.pop(0)
                yield task, self._run(task, self._config)
            return
        if not self._running and self._suspects:
            task = self._suspects.pop(0)
            yield task, self._run_alone(task)
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
            self._executor = _start(self._n_workers)
        self._feed()

    def _run_alone(self, task: Task) -> Result:
        with _start(1) as executor:
            try:
                return executor.submit(self._run, task, self._config).result()
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


def _failed(task: Task, error: BaseException) -> Result:
    return {**task.to_json(), **failure(error)}


def _start(n_workers: int) -> ProcessPoolExecutor:
    # CUDA cannot be used in a forked process.
    return ProcessPoolExecutor(
        n_workers, mp_context=get_context("spawn"), initializer=_prepare_worker, initargs=(os.getpid(),)
    )


def _prepare_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent, use one thread, and exit when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    atexit.register(
        forget
    )  # graphs that are still alive when the interpreter ends look like leaks of the core
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
