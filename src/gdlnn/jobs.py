"""Run jobs on the processes that `joblib.parallel_config` sets: "loky" on this machine, "dask" on a cluster.

The data that all jobs share is sent to each process about once: joblib maps large arrays into the processes
of this machine, and Dask copies the data to its workers before the first job.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import threadpoolctl
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import LibController, ThreadpoolController

from gdlnn.errors import WorkerError
from gdlnn.version import package_version

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

Result = TypeVar("Result")
WINDOW = 8
"""Jobs per process that are submitted before their results are taken, where these come in order."""


def has_processes() -> bool:
    """Return whether `joblib.parallel_config` sets other processes to run jobs on."""
    backend, _ = get_active_backend(prefer="threads")
    return not getattr(backend, "supports_sharedmem", False)


def run_jobs(
    job: Callable[..., Result], value: Any, items: Iterable[tuple[Any, ...]], *, ordered: bool = True
) -> Generator[Result]:
    """Yield ``job(value, *item)`` for every item; without joblib's processes, run in this one.

    Parameters
    ----------
    job
        A function that can be imported.
    value
        What all jobs share.
    items
        The other arguments of each job.
    ordered
        Yield the results in the order of the items, and take a bounded number of these at a time. Otherwise
        yield results as they come; short jobs are then sent several at once.

    Raises
    ------
    WorkerError
        If the processes are gone, or there are none.
    """
    try:
        n_jobs = effective_n_jobs(None)
        if n_jobs == 1:
            for item in items:
                yield job(value, *item)
        else:
            yield from _run_on(n_jobs, job, _Shared.of(value), items, ordered=ordered)
    except Exception as error:
        lost = isinstance(error, BrokenExecutor | CancelledError | TimeoutError)
        if not lost and type(error).__name__ != "KilledWorker":  # Dask's, after several workers
            raise
        raise WorkerError(
            f"the worker processes are gone: {error!r}; mining resumes from its checkpoint"
        ) from error


def _run_on(
    n_jobs: int,
    job: Callable[..., Result],
    shared: _Shared,
    items: Iterable[tuple[Any, ...]],
    *,
    ordered: bool,
) -> Iterator[Result]:
    backend, _ = get_active_backend()
    if hasattr(backend, "client"):  # Dask: all workers get the data, so that it is not lost with one of them
        backend = type(backend)(client=backend.client, scatter=[shared])
    parallel = Parallel(
        n_jobs,
        backend=backend,
        return_as="generator" if ordered else "generator_unordered",
        batch_size=1 if ordered else "auto",
    )
    calls = (delayed(_run)(job, shared, item) for item in items)
    if not ordered:
        yield from _taken(parallel(calls))
        return
    # joblib submits new jobs however many results wait, so memory is bounded here.
    while window := list(islice(calls, WINDOW * n_jobs)):
        yield from _taken(parallel(window))


class _StoppedError(Exception):
    """Ends joblib's jobs without its warning that they were not all needed."""


def _taken(results: Generator[Result]) -> Iterator[Result]:
    try:
        for result in results:  # noqa: UP028 - not `yield from`, which would close joblib's generator
            yield result
    except GeneratorExit:
        with suppress(_StoppedError):
            results.throw(_StoppedError())
        raise


# --- in a worker ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shared:
    """A pickled value; equal ones have the same digest."""

    digest: str
    version: str
    packed: npt.NDArray[np.uint8] = field(compare=False, repr=False)

    @classmethod
    def of(cls, value: Any) -> _Shared:
        packed = pickle.dumps(value)
        digest = hashlib.sha256(packed).hexdigest()
        return cls(digest, package_version(), np.frombuffer(packed, dtype=np.uint8))


@lru_cache(maxsize=2)
def _unpacked(shared: _Shared) -> Any:
    if shared.version != package_version():
        raise WorkerError(
            f"a worker: expected gdlnn {shared.version}, as the caller has, got {package_version()}"
        )
    return pickle.loads(shared.packed.data)


def _run(job: Callable[..., Result], shared: _Shared, item: tuple[Any, ...]) -> Result:
    return job(_unpacked(shared), *item)


# --- threads of libraries -----------------------------------------------------------------------------------


class _TorchMKL(LibController):  # type: ignore[misc]
    """MKL inside torch, which threadpoolctl does not know; its limit is that of the calling thread."""

    user_api = "torch"
    internal_api = "torch_mkl"
    filename_prefixes = ("libtorch_cpu",)
    check_symbols = ("MKL_Set_Num_Threads_Local",)

    def get_num_threads(self) -> int:
        """Return the limit of this thread; 0 for none."""
        before: int = self.dynlib.MKL_Set_Num_Threads_Local(0)
        self.set_num_threads(before)
        return before

    def set_num_threads(self, num_threads: int) -> None:
        """Limit this thread."""
        self.dynlib.MKL_Set_Num_Threads_Local(num_threads)

    def get_version(self) -> None:
        """Return no version: torch does not say."""


@cache
def _libraries(_loaded: tuple[str, ...]) -> tuple[ThreadpoolController, ThreadpoolController]:
    """Return the libraries with a limit for each thread, and those with one for the process."""
    import scipy.linalg  # noqa: F401 - SciPy has a BLAS of its own, which is found once it is loaded

    threadpoolctl.register(_TorchMKL)
    every = ThreadpoolController()
    return every.select(user_api=["openmp", "torch"]), every.select(user_api="blas")


class _SharedLimit:
    """A limit of the whole process: the first that needs it sets it, and the last one restores it."""

    def __init__(self) -> None:
        self._lock, self._users, self._undo = Lock(), 0, ExitStack()

    @contextmanager
    def set(self, libraries: ThreadpoolController) -> Iterator[None]:
        """Limit the libraries to one thread."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                _claim(libraries)
                self._undo.enter_context(libraries.limit(limits=1))
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    _claim(libraries)
                    self._undo.close()


def _claim(libraries: ThreadpoolController) -> None:
    """Let this thread change limits: threadpoolctl ignores all but the first thread that did, from 3.8 on."""
    for library in libraries.lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


_BLAS = _SharedLimit()


@contextmanager
def one_thread() -> Iterator[None]:
    """Run BLAS, OpenMP and torch on one thread, and restore the number of threads.

    Products are small, so a second thread costs more than it gains, and the order of sums, hence every
    last bit, depends on the number of threads. `torch.set_num_threads` would also decide for other threads.
    """
    if "torch" in sys.modules:
        sys.modules["torch"].get_num_threads()  # at its first use in a thread, torch sets a number there
    own, shared = _libraries(tuple(name for name in ("sklearn", "torch") if name in sys.modules))
    with own.limit(limits=1), _BLAS.set(shared):
        yield
