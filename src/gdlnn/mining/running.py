"""Running tasks on threads of this process, and the data that is mined. Executors are in `executor_run`."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from gdlnn import _core
from gdlnn.errors import WorkerError
from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.encoding import GraphSet
from gdlnn.graphs.packing import pack_graphs, unpack_graphs
from gdlnn.mining.results import TaskResult
from gdlnn.version import package_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.graphs import Graph
    from gdlnn.mining.settings import Settings
    from gdlnn.mining.tasks import Task

POLL = 0.1
"""Seconds between looks at the clock, at Ctrl-C and at the bar."""
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

    def pack(self) -> bytes:
        """Return all that a worker needs, small enough to be sent around."""
        return pickle.dumps(
            (package_version(), pack_graphs(self.graphs), self.codes, self.n_labels, self.fingerprint)
        )

    @classmethod
    def unpack(cls, data: bytes) -> MiningData:
        """Read what `pack` gave; another version of gdlnn might mine something else."""
        version, graphs, codes, n_labels, fingerprint = pickle.loads(data)
        if version != package_version():
            raise WorkerError(
                f"a worker: expected gdlnn {version}, as the caller has, got {package_version()}"
            )
        return cls(unpack_graphs(graphs), codes, n_labels, fingerprint)


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
