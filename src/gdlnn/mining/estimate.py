"""estimate(): estimate the cost of a mining call from a sample of its descents."""

from __future__ import annotations

import sys
import time
import tracemalloc
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.matching import n_threads_for
from gdlnn.mining.bags import bag_rows, n_bags
from gdlnn.mining.descents import LocalRun, MiningData
from gdlnn.mining.results import TaskResult
from gdlnn.mining.settings import (
    STEP_BUDGET,
    Nominal,
    Strategy,
    Targets,
    checked_jobs,
    checked_labels,
    checked_settings,
    whole,
)
from gdlnn.mining.tasks import Plan, choose_targets, make_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import GraphDataset
    from gdlnn.mining.bags import Bags

SAMPLE = 50
"""Number of descents in a sample."""
QUANTILE = 1.645
"""A normal variable is within this many standard deviations nine times out of ten."""
TEXT_COPIES = 3
"""Number of copies of the programs' text in memory while it is written."""


@dataclass(frozen=True)
class Estimate:
    """The expected cost of a mining call.

    Attributes
    ----------
    n_graphs, n_targets, n_tasks, n_sampled
        Training graphs, targets, descents, and descents of the sample.
    cpu_seconds, cpu_error
        CPU time of all descents, and the half-width of its 90 % interval.
    longest_seconds
        The longest descent of the sample: a run cannot be shorter than its longest descent.
    n_workers, wall_seconds
        Number of threads or processes, and the wall time with them.
    memory_bytes
        Peak memory of the calling process: the data, the encoding and all results.
    worker_bytes
        Memory of a worker process.
    sent_bytes
        The size of the data sent to each worker.
    checkpoint_bytes
        The size of the checkpoint file at the end.
    """

    n_graphs: int
    n_targets: int
    n_tasks: int
    n_sampled: int
    cpu_seconds: float
    cpu_error: float
    longest_seconds: float
    n_workers: int
    wall_seconds: float
    memory_bytes: int
    worker_bytes: int
    sent_bytes: int
    checkpoint_bytes: int

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        share = self.cpu_error / max(self.cpu_seconds, 1e-9)
        tasks, targets, graphs = f"{self.n_tasks:,}", f"{self.n_targets:,}", f"{self.n_graphs:,}"
        return (
            f"{tasks} descents from {targets} targets over {graphs} graphs; {self.n_sampled:,} were mined\n"
            f"CPU time: {told_time(self.cpu_seconds)} (± {share:.0%}); the longest one mined took "
            f"{told_time(self.longest_seconds)}\n"
            f"workers: {self.n_workers:,} take {told_time(self.wall_seconds)}\n"
            f"memory: at most {_bytes(self.memory_bytes)} here, {_bytes(self.worker_bytes)} for each worker "
            f"process, which is sent {_bytes(self.sent_bytes)}\n"
            f"checkpoint: {_bytes(self.checkpoint_bytes)}"
        )


def estimate(
    dataset: GraphDataset,
    epsilon: float | str = 0.1,
    strategy: Strategy = "greedy",
    connected: bool = True,
    targets: Targets = None,
    nominal: Nominal = "value",
    step_budget: int = STEP_BUDGET,
    n_jobs: int | None = 1,
    seed: int = 0,
    restarts: int = 0,
    bags: Bags = None,
    sample: int = SAMPLE,
    n_workers: int | None = None,
) -> Estimate:
    """Estimate time and memory of `mine` with the same parameters, from a sample of its descents.

    The sample is spread evenly over the descents in order of their sizes, which decide most of the cost.

    Parameters
    ----------
    dataset, epsilon, strategy, connected, targets, nominal, step_budget, seed, restarts, bags
        As for `mine`. With several bags, the first is sampled, and the others are assumed to cost as much.
    n_jobs
        Threads that mine the sample. As many as will mine in the end make the estimate better: threads share
        caches.
    sample
        How many descents to mine.
    n_workers
        The number of threads or processes to estimate the time for; by default `n_jobs`.
    """
    options = {name: value for name, value in locals().items() if name not in ("dataset", "bags")}
    labels, codes = checked_labels(dataset)
    if bags is not None:
        return _estimate_bags(dataset, codes, bags, options)
    settings = checked_settings(options, len(dataset))
    threads = n_threads_for(checked_jobs(n_jobs))
    wanted = whole("sample", sample, 1)
    workers = threads if n_workers is None else whole("n_workers", n_workers, 1)
    plan = make_plan(dataset, codes, choose_targets(targets, codes, settings.seed), settings)
    data = MiningData(dataset.graphs, codes, len(labels), dataset.schema)
    before = _resident()
    sent = len(data.pack())
    chosen = _spread(plan, wanted)
    started = time.process_time()
    run = LocalRun(data, settings, [plan.tasks[i] for i in chosen], chosen, threads)
    results: list[TaskResult] = []
    peak = _resident()
    for batch in run.results():
        results += batch
        peak = max(peak, _resident())
    # Time spent outside the descents (mainly on canonical forms) is added to them.
    per_second = (time.process_time() - started) / max(sum(r.seconds for r in results), 1e-9)
    order = {number: place for place, number in enumerate(chosen)}
    times = np.array([r.seconds for r in sorted(results, key=lambda r: order[r.task])]) * max(1.0, per_second)
    cpu, error = _total(times, len(plan))
    per_result, text, record = _sizes(results)
    kept = len(plan) * (per_result + len(dataset) + TEXT_COPIES * text)
    longest = float(times.max(initial=0.0))
    return Estimate(
        n_graphs=len(dataset),
        n_targets=len(plan.targets),
        n_tasks=len(plan),
        n_sampled=len(results),
        cpu_seconds=cpu,
        cpu_error=error,
        longest_seconds=longest,
        n_workers=workers,
        wall_seconds=max(cpu / workers, longest),
        memory_bytes=int(max(peak, before) + kept),
        worker_bytes=int(max(peak, before)),
        sent_bytes=sent,
        checkpoint_bytes=int(len(plan) * record),
    )


def _estimate_bags(
    dataset: GraphDataset, codes: npt.NDArray[np.int32], bags: Bags, options: dict[str, Any]
) -> Estimate:
    """Estimate the first bag with a target, and scale it to the number of targets."""
    seed = whole("seed", options["seed"], 0)
    parts = bag_rows(dataset, n_bags(bags, len(dataset)), seed)
    chosen = choose_targets(options["targets"], codes, seed)
    rows = next(part for part in parts if np.isin(part, chosen).any())
    places = np.flatnonzero(np.isin(rows, chosen))
    found = estimate(dataset.take(rows), **{**options, "targets": places})
    factor = len(chosen) / len(places)
    scaled = {
        name: type(getattr(found, name))(getattr(found, name) * factor)
        for name in ("n_tasks", "cpu_seconds", "cpu_error", "wall_seconds", "checkpoint_bytes")
    }
    kept = (found.memory_bytes - found.worker_bytes) * factor
    return replace(
        found,
        n_graphs=len(dataset),
        n_targets=len(chosen),
        memory_bytes=int(found.worker_bytes + kept),
        **scaled,
    )


def _spread(plan: Plan, wanted: int) -> list[int]:
    """Return tasks at even distances in the order of their sizes."""
    order = sorted(range(len(plan)), key=lambda number: (len(plan.tasks[number].nodes), number))
    count = min(wanted, len(order))
    return [order[int((place + 0.5) * len(order) / count)] for place in range(count)]


def _total(times: npt.NDArray[np.float64], n_tasks: int) -> tuple[float, float]:
    """Return the sum over all tasks and the half-width of its interval.

    In a sample in order of sizes, neighbours differ by chance alone: their differences give the variance.
    """
    n = len(times)
    if not n:
        return 0.0, 0.0
    total = float(times.mean()) * n_tasks
    if n < 2 or n == n_tasks:
        return total, 0.0 if n == n_tasks else total
    variance = float((np.diff(times) ** 2).sum()) / (2 * (n - 1))
    return total, QUANTILE * n_tasks * float(np.sqrt(variance / n * (1 - n / n_tasks)))


def _sizes(results: Sequence[TaskResult]) -> tuple[float, float, float]:
    """Return the memory of a result, the length of its program's text and that of its record, on average."""
    if not results:
        return 0.0, 0.0, 0.0
    import json

    values = [result.to_json() for result in results]
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    copies = [TaskResult.from_json(value) for value in values]
    memory = tracemalloc.get_traced_memory()[0] - start
    if not tracing:
        tracemalloc.stop()
    text = sum(len(str(copy.program)) + len(copy.support) for copy in copies)
    records = sum(len(json.dumps(value)) for value in values)
    return memory / len(results), text / len(results), records / len(results)


def _resident() -> int:
    """Return the memory of this process in bytes, or its peak if the system does not give it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - read ten times a second
            pages = int(file.read().split()[1])
        import resource

        return pages * resource.getpagesize()
    except (OSError, ImportError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


def told_time(seconds: float) -> str:
    """Return a time in words."""
    for unit, size in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds * 1000:.1f} ms"


def _bytes(count: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1e3:.1f} kB"
