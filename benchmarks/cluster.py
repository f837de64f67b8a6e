"""What mining on a Dask cluster of this machine costs compared with threads, with the same bytes as a result.

::

    python -m benchmarks cluster [--dataset BBBP] [--targets N] [--workers 2] [--rounds 1]

Rounds alternate between both, so that a busy machine treats them alike. Processor time counts all processes,
and is the fairer figure where others use the machine.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from gdlnn import load_dataset, mine
from gdlnn.cluster import dask_executor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn import ProgramSet


def run(argv: Sequence[str] | None = None) -> None:
    """Measure; without arguments a few targets of MUTAG."""
    parser = argparse.ArgumentParser("python -m benchmarks cluster")
    parser.add_argument("--dataset", default="BBBP" if argv else "MUTAG")
    parser.add_argument("--targets", type=int, help="number of targets; all if left out")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args([] if argv is None else list(argv))
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("cluster: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    train = load_dataset(options.dataset, root, download=False).split("paper")[0]
    targets = options.targets
    with dask_executor(f"local:{options.workers}") as (executor, _):
        kinds: dict[str, Callable[[], ProgramSet]] = {
            "threads": lambda: mine(train, targets=targets, n_jobs=options.workers, progress=False),
            "Dask": lambda: mine(train, targets=targets, executor=executor, progress=False),
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
        texts = set()
        for _ in range(options.rounds):
            for name, call in kinds.items():
                wall, processor = time.monotonic(), _processor_seconds()
                programs = call()
                found[name].append((time.monotonic() - wall, _processor_seconds() - processor))
                texts.add(programs.to_text())
                print(
                    f"{name}: {found[name][-1][0]:.1f} s, {found[name][-1][1]:.1f} s of processors",
                    flush=True,
                )
    assert len(texts) == 1, "the results differ"
    best = {name: [min(column) for column in zip(*rows, strict=True)] for name, rows in found.items()}
    wall, processor = (best["Dask"][i] / best["threads"][i] - 1 for i in (0, 1))
    n_targets = targets if targets is not None else len(train)
    print(f"{options.dataset}, {n_targets} targets, {options.workers} workers, equal bytes:")
    print(f"overhead of Dask {wall:+.1%} of time, {processor:+.1%} of processor time")


def _processor_seconds() -> float:
    """Return the processor time of this process and of its living children."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        times = process.cpu_times()
        total += times.user + times.system
    return total


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
