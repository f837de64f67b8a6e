"""The cost of mining on the nine datasets, and its growth with the number of graphs."""

from __future__ import annotations

import os
import platform
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path  # noqa: TC003 typer reads it
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

from benchmarks._measuring import some_rows
from gdlnn import load_dataset, mine

if TYPE_CHECKING:
    from collections.abc import Sequence

# Dataset to the aims of design: seconds per target, and for the whole training set.
AIMS = {
    "MUTAG": (0.003, 0.5),
    "PTC_MR": (0.001, 0.3),
    "BBBP": (0.015, 25),
    "BACE": (0.02, 25),
    "PROTEINS": (0.004, 4),
    "ENZYMES": (0.004, 2),
    "BA-2Motifs": (0.008, 7),
    "Mutagenicity": (0.06, 240),
    "NCI1": (0.15, 480),
}
EPSILON = 0.1
CURVE = ("NCI1", (8, 4, 2, 1), 100)
"""Dataset, parts of it, and the number of targets that all parts share."""
SHORT = {"targets": 20}
HEADER = (
    *("dataset", "graphs", "targets", "programs", "ms per target / aim", "whole set, s / aim", "tests"),
    *("unknown", "peak MB"),
)


class Cost(NamedTuple):
    """What mining a training set took."""

    name: str
    n_graphs: int
    n_targets: int
    n_programs: int
    cpu_seconds: float
    tests: int
    unknown: int
    peak_mb: float


def run(
    datasets: Annotated[str, typer.Option(help="Datasets, separated by commas.")] = ",".join(AIMS),
    targets: Annotated[
        int | None, typer.Option(help="This many targets of each dataset, without the growth.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Number of threads.")] = 1,
    out: Annotated[Path | None, typer.Option(help="A Markdown file to write.")] = None,
) -> None:
    """Mine the training sets, each in a process of its own, for its peak of memory."""
    names = datasets.split(",")
    costs = []
    for name in names:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            costs.append(pool.submit(measure, name, targets, jobs).result())
    machine = f"{platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} processors"
    parts = [
        "# What mining costs",
        (
            f"Written by `python -m benchmarks mining --jobs {jobs}` ({machine}). CPU seconds over all "
            "threads, set-up and canonical forms included. A ✗ marks a figure that misses its aim."
        ),
        f"ε = {EPSILON}\n\n{_table(HEADER, [_cells(cost) for cost in costs])}",
    ]
    if targets is None and CURVE[0] in names:
        parts += ["## Cost against the number of graphs", growth(jobs)]
    text = "\n\n".join(parts) + "\n"
    print(text)
    if out is not None:
        out.write_text(text, encoding="utf-8")


def measure(name: str, targets: int | None, jobs: int) -> Cost:
    """Mine a training set."""
    train = load_dataset(name, download=False).split("paper")[0]
    rows = some_rows(len(train), targets)
    start = time.process_time()
    programs = mine(train, EPSILON, targets=rows, n_jobs=jobs, verbose=False)
    cpu = time.process_time() - start
    n_targets = len(train) if rows is None else len(rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    stats = programs.stats
    return Cost(
        name, len(train), n_targets, len(programs), cpu, int(stats["tests"]), int(stats["unknown"]), peak
    )


def growth(jobs: int) -> str:
    """Mine the same targets with parts of a training set, each part within the next."""
    name, parts, n_targets = CURVE
    train = load_dataset(name, download=False).split("paper")[0]
    order = np.random.default_rng(0).permutation(len(train))
    points = []
    for part in parts:
        rows = order[: len(train) // part]
        found = mine(train[rows], EPSILON, targets=np.arange(n_targets), n_jobs=jobs, verbose=False)
        points.append((len(rows), found.stats["descent_seconds"], found.stats["tests"]))
    exponent = np.polyfit(np.log([n for n, _, _ in points]), np.log([s for _, s, _ in points]), 1)[0]
    lines = [
        [str(n), f"{1000 * seconds / n_targets:.3g}", f"{tests / n_targets:,.0f}"]
        for n, seconds, tests in points
    ]
    return (
        f"{n_targets} targets of {name}, mined with 1/{parts[0]} to all of its training graphs, "
        f"each part within the next.\n\n{_table(['graphs', 'ms per target', 'tests per target'], lines)}\n\n"
        f"Fitted: cost ∝ |D|^{exponent:.2f}."
    )


def _cells(cost: Cost) -> list[str]:
    per_target, whole = AIMS[cost.name]
    complete = cost.n_targets == cost.n_graphs
    return [
        cost.name,
        str(cost.n_graphs),
        str(cost.n_targets),
        str(cost.n_programs),
        _met(1000 * cost.cpu_seconds / cost.n_targets, 1000 * per_target),
        _met(cost.cpu_seconds, whole) if complete else "–",
        f"{cost.tests:,}",
        f"{cost.unknown / max(1, cost.tests):.4%}",
        f"{cost.peak_mb:.0f}",
    ]


def _met(value: float, aim: float) -> str:
    return f"{value:.3g} / {aim:g}" + ("" if value <= aim else " ✗")


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
