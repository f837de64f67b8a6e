"""Running descents: on threads of this process, or on the processes that joblib is set to use."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from gdlnn import _core
from gdlnn.graphs.arrays import GraphSet, PackedGraphs, pack_graphs, unpack_graphs
from gdlnn.graphs.identity import fingerprint
from gdlnn.jobs import run_jobs
from gdlnn.mining.results import TaskResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.graphs import Graph, Schema
    from gdlnn.mining.settings import Settings
    from gdlnn.mining.tasks import Task

POLL = 0.1
"""Seconds between checks of the clock and of Ctrl-C."""
Codes = npt.NDArray[np.int32]


@dataclass
class MiningData:
    """Labelled graphs, encoded for the core on first use; pickles hold the graphs in small arrays."""

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

    def __reduce__(self) -> tuple[Any, ...]:
        packed = pack_graphs(self.graphs)
        return _unpacked, (packed, self.codes, self.n_labels, self.schema, self.fingerprint)

    def nominal(self, of: Literal["node", "edge"]) -> npt.NDArray[np.bool_]:
        """Return which features of nodes or edges are nominal; without a schema none is."""
        encoded = self.encoded
        width = encoded.n_node_features if of == "node" else encoded.n_edge_features
        features = getattr(self.schema, of) if self.schema is not None else ()
        if len(features) != width:
            return np.zeros(width, dtype=bool)
        return np.array([feature.kind == "nominal" for feature in features], dtype=bool)


def _unpacked(packed: PackedGraphs, *rest: Any) -> MiningData:
    return MiningData(unpack_graphs(packed), *rest)


class Run(Protocol):
    """Tasks being mined."""

    def results(self) -> Iterator[list[TaskResult]]:
        """Yield results as descents finish, until all are done."""

    def stop(self) -> None:
        """Start no more descents; running ones are dropped or finished."""


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


def mine_task(data: MiningData, settings: Settings, task: Task, number: int) -> TaskResult:
    """Mine one task in a worker."""
    ((result,),) = (found for found in LocalRun(data, settings, [task], [number], 1).results() if found)
    return result


class ProcessRun:
    """Tasks mined by the processes that joblib is set to use, on this machine or on a cluster."""

    def __init__(
        self, data: MiningData, settings: Settings, tasks: Sequence[Task], numbers: Sequence[int]
    ) -> None:
        self._data, self._stopped = data, False
        self._jobs = ((settings, *job) for job in zip(tasks, numbers, strict=True) if not self._stopped)

    def results(self) -> Iterator[list[TaskResult]]:
        """Yield results as descents finish."""
        for result in run_jobs(mine_task, self._data, self._jobs, ordered=False):
            yield [result]

    def stop(self) -> None:
        """Submit no more descents; those submitted are finished."""
        self._stopped = True
