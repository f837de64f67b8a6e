"""Connect to Dask clusters, and give their workers the data that all jobs share. Imported on first use.

The shared data is a worker plugin: the scheduler keeps it and gives it once to every worker, also to those
that join later, before the first job. Jobs lost with a worker are run again by Dask.
"""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from gdlnn.errors import GDLNNError, WorkerError, require

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

    from gdlnn.workers import Shared

WAIT_SECONDS = 30
"""How long to wait for a cluster to answer and to have a first worker, in seconds."""


def client_of(executor: Executor) -> Any:
    """Return the Dask client of an executor, or None if it is not a Dask executor."""
    module = sys.modules.get("distributed.cfexecutor")
    if module is None or not isinstance(executor, module.ClientExecutor):
        return None
    return getattr(executor, "_client", None)


def n_cluster_threads(client: Any) -> int:
    """Return how many jobs the cluster runs at once now."""
    return sum(client.nthreads().values())


def died_with_workers(error: BaseException) -> bool:
    """Say whether an error means that Dask gave up on a job because its workers died repeatedly."""
    return type(error).__name__ == "KilledWorker"


@contextmanager
def broadcast(client: Any, shared: Shared, what: str) -> Iterator[None]:
    """Give shared data to all workers of a cluster, also to those that join, while the context lasts."""
    from gdlnn.cluster_plugin import SharedPlugin

    plugin = SharedPlugin(shared.key, shared.unpack, shared.payload)
    try:
        client.register_plugin(plugin, name=plugin.name)
    except GDLNNError:
        raise
    except Exception as error:
        raise WorkerError(
            f"{what}: Dask: the workers cannot load the data; gdlnn must be installed on each: {error!r}"
        ) from error
    try:
        yield
    finally:
        if client.status == "running":
            with suppress(Exception):  # a scheduler that is gone needs no clean-up
                client.unregister_worker_plugin(plugin.name)


@contextmanager
def dask_executor(where: str) -> Iterator[tuple[Executor, str]]:
    """Connect to a cluster; yield its executor and a description of it.

    Parameters
    ----------
    where
        The address of a scheduler such as ``tcp://10.0.0.1:8786``, the path of a scheduler file (.json), or
        ``local:4`` for a cluster of four worker processes on this machine that ends with the context.
    """
    distributed = require("distributed", "cluster", "Running on a Dask cluster")
    if where.startswith("local:"):
        with _local_cluster(distributed, where) as cluster, distributed.Client(cluster) as client:
            yield client.get_executor(), f"{len(cluster.workers)} worker processes on this machine"
        return
    place = {"scheduler_file": where} if where.endswith(".json") else {"address": where}
    try:
        client = distributed.Client(**place, timeout=WAIT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise WorkerError(
            f"--dask: expected local:N or a scheduler such as tcp://HOST:8786, got {where!r}: {error}"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=WAIT_SECONDS)
        except (TimeoutError, ValueError) as error:
            raise WorkerError(
                f"--dask: {where}: expected at least one worker, got none in {WAIT_SECONDS} s"
            ) from error
        n_workers = len(client.nthreads())
        yield client.get_executor(), f"{n_workers} workers, {n_cluster_threads(client)} threads at {where}"


def _local_cluster(distributed: Any, where: str) -> Any:
    number = where.removeprefix("local:")
    n_workers = int(number) if number.isdecimal() else 0
    if not n_workers:
        raise WorkerError(f"--dask: expected local:N with a number of processes, got {where!r}")
    # One thread each: between searches a job holds the GIL, and workers take little memory.
    with _deaf_children():
        return distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address=None,
            silence_logs=50,
        )


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Make processes started now ignore Ctrl-C, which a terminal sends to all; the caller stops them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
