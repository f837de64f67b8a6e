"""What mining on a Dask cluster of this machine costs compared with threads, with the same bytes as a result.

Rounds alternate between both, so that a busy machine treats them alike. CPU time counts all processes, and is
the fairer figure where others use the machine.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import joblib
import psutil
import typer
from distributed import Client

from gdlnn import load_dataset, mine

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn import GraphDataset, ProgramSet

SHORT = {"dataset": "MUTAG"}


def run(
    dataset: str = "BBBP",
    workers: Annotated[int, typer.Option(help="Number of threads, and of workers.")] = 2,
    rounds: Annotated[int, typer.Option(help="Number of runs of each kind.")] = 1,
) -> None:
    """Compare Dask with threads."""
    train = load_dataset(dataset, download=False).split("paper")[0]
    options: Any = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
    with Client(n_workers=workers, **options):  # type: ignore[no-untyped-call]
        kinds: dict[str, Callable[[], ProgramSet]] = {
            "threads": lambda: mine(train, n_jobs=workers, verbose=False),
            "Dask": lambda: _mine_on_dask(train),
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
        texts = set()
        for _ in range(rounds):
            for name, call in kinds.items():
                wall, cpu = time.monotonic(), _cpu_seconds()
                texts.add(call().to_text())
                found[name].append((time.monotonic() - wall, _cpu_seconds() - cpu))
                print(f"{name}: {found[name][-1][0]:.1f} s, {found[name][-1][1]:.1f} CPU seconds", flush=True)
    assert len(texts) == 1, "the results differ"
    best = {name: [min(column) for column in zip(*rows, strict=True)] for name, rows in found.items()}
    wall, cpu = (best["Dask"][i] / best["threads"][i] - 1 for i in (0, 1))
    print(f"{dataset}, {len(train)} targets, {workers} workers, equal bytes:")
    print(f"overhead of Dask {wall:+.1%} of time, {cpu:+.1%} of CPU time")


def _mine_on_dask(train: GraphDataset) -> ProgramSet:
    with joblib.parallel_config("dask"):
        return mine(train, verbose=False)


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of its living children."""
    me = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in (me, *me.children(recursive=True)))
