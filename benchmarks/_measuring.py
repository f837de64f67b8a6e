"""What the benchmarks share: clocks, samples of rows, and commands whose cost is measured."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gdlnn import Graph
from gdlnn.errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

GDLNN = (sys.executable, "-c", "from gdlnn.cli import main; main()")


def data_folder() -> Path:
    """Return the folder with the datasets."""
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        raise DatasetError(f"expected a folder with the datasets in GDLNN_DATA, got {root}")
    return Path(root)


def least(
    work: Callable[[], object], rounds: int = 3, clock: Callable[[], float] = time.process_time
) -> float:
    """Return the least time that the work took, by default in CPU seconds."""
    times = []
    for _ in range(rounds):
        began = clock()
        work()
        times.append(clock() - began)
    return min(times)


def cpu_ms(work: Callable[[], object]) -> float:
    """Return the milliseconds of CPU that the work takes."""
    return 1000 * least(work, 1)


def some_rows(n: int, most: int | None) -> npt.NDArray[np.int64] | None:
    """Return some of n rows, always the same; None, which means all, without a limit."""
    return None if most is None or most >= n else np.random.default_rng(0).permutation(n)[:most]


def fresh(graph: Graph) -> Graph:
    """Return the same graph without anything kept from earlier calls."""
    parts = (graph.node_features, graph.edges, graph.edge_features)
    return Graph(*parts, directed=graph.directed, schema=graph.schema)


class Cost(NamedTuple):
    """What a command took: seconds, CPU seconds, and its peak of memory in MB."""

    seconds: float
    cpu: float
    peak_mb: float


def run_gdlnn(*words: str) -> Cost:
    """Run a command of gdlnn in a process of its own and measure it."""
    began = time.monotonic()
    process = subprocess.Popen([*GDLNN, *words])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return Cost(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
