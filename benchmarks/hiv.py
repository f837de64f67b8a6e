"""A run of the size of the HIV set: 41,127 molecules, a sample of targets mined, all graphs featurised.

::

    python -m benchmarks hiv [--molecules 41127] [--targets 200] [--sample 40] [--jobs 2] [--out FILE]

The molecules are recombined from pieces of BBBP and BACE, see `_recombined`, and kept in build/benchmarks.
Each step runs in a process of its own for its peak of memory; the estimate never sees what mining then takes.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._recombined import write_table
from gdlnn import GraphDataset, load_smiles, mine
from gdlnn.mining import ProgramSet, estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FOLDER = Path("build/benchmarks/hiv")
EPSILON = 0.1


def run(argv: Sequence[str] | None = None) -> None:
    """Measure; without arguments a small share of it."""
    parser = argparse.ArgumentParser("python -m benchmarks hiv")
    parser.add_argument("--molecules", type=int, default=41_127 if argv is not None else 500)
    parser.add_argument("--targets", type=int, default=200 if argv is not None else 20)
    parser.add_argument("--sample", type=int, default=40 if argv is not None else 8)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a Markdown file to write")
    options = parser.parse_args([] if argv is None else list(argv))
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("hiv: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    table = FOLDER / f"molecules-{options.molecules}.csv"
    data, programs = table.with_suffix(".gdlds"), table.with_suffix(f".{options.targets}.gdl")
    steps: list[tuple[str, Callable[..., dict[str, Any]], tuple[Any, ...]]] = [
        ("recombine", _recombine, (table, options.molecules, root)),
        ("read", _read, (table, data)),
        ("estimate", _estimate, (data, options.targets, options.sample, options.jobs)),
        ("mine", _mine, (data, options.targets, options.jobs, programs)),
        ("featurise", _featurise, (data, programs, options.jobs)),
    ]
    found: dict[str, dict[str, Any]] = {}
    for name, step, arguments in steps:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found[name] = pool.submit(_measured, step, arguments).result()
        print(f"{name}: {json.dumps(found[name])}", flush=True)
    text = _report(found, " ".join(["python -m benchmarks hiv", *(argv or [])]))
    print(text)
    if options.out is not None:
        options.out.write_text(text)


def _measured(step: Callable[..., dict[str, Any]], arguments: tuple[Any, ...]) -> dict[str, Any]:
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    wall, processor = time.monotonic(), time.process_time()
    result = step(*arguments)
    return {
        **result,
        "seconds": time.monotonic() - wall,
        "cpu_seconds": time.process_time() - processor,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _recombine(table: Path, n: int, root: str) -> dict[str, Any]:
    if not table.exists():
        write_table(table, n, Path(root))
    return {}


def _read(table: Path, data: Path) -> dict[str, Any]:
    dataset = load_smiles(table, label="active")
    dataset.save(data)
    y = np.asarray(dataset.y)
    nodes = np.array([graph.n_nodes for graph in dataset.graphs])
    edges = np.array([graph.n_edges for graph in dataset.graphs])
    return {
        "n_graphs": len(dataset),
        "avg_nodes": float(nodes.mean()),
        "avg_edges": float(edges.mean()),
        "actives": float(y.mean()),
    }


def _estimate(data: Path, targets: int, sample: int, jobs: int) -> dict[str, Any]:
    dataset = GraphDataset.load(data)
    some = estimate(dataset, EPSILON, targets=targets, sample=sample, n_jobs=jobs)
    share = len(dataset) / targets
    return {
        "for_targets": some.cpu_seconds,
        "error": some.cpu_error,
        "memory_mb": some.memory_bytes / 2**20,
        "all_days": some.cpu_seconds * share / 86_400,
    }


def _mine(data: Path, targets: int, jobs: int, out: Path) -> dict[str, Any]:
    dataset = GraphDataset.load(data)
    started = time.process_time()
    found = mine(dataset, EPSILON, targets=targets, n_jobs=jobs, progress=False)
    mining_seconds = time.process_time() - started
    found.save(out)
    return {
        "n_programs": len(found),
        "mining_seconds": mining_seconds,
        "descent_seconds": found.stats.descent_seconds,
        "unknown": found.stats.unknown,
    }


def _featurise(data: Path, programs: Path, jobs: int) -> dict[str, Any]:
    from gdlnn import GDLTransformer

    dataset = GraphDataset.load(data)
    layer = GDLTransformer(ProgramSet.load(programs), n_jobs=jobs).fit(dataset[:1])
    ones = rows = 0
    for start in range(0, len(dataset), 1024):
        part = layer.transform(dataset.graphs[start : start + 1024])
        ones += int(part.sum())
        rows += len(part)
    return {"rows": rows, "matches": ones}


def _report(found: dict[str, dict[str, Any]], command: str) -> str:
    read, guess, mined, table = (found[name] for name in ("read", "estimate", "mine", "featurise"))
    off = guess["for_targets"] / mined["mining_seconds"] - 1
    peak = max(step["peak_mb"] for step in found.values())
    lines = [
        f"{read['n_graphs']:,} molecules of {read['avg_nodes']:.1f} atoms and {read['avg_edges']:.1f} bonds,",
        f"{read['actives']:.1%} of them active.",
        f"{mined['n_programs']} programs, {mined['unknown']} unknown answers;",
        f"{table['rows']:,} graphs featurised, {table['matches']:,} matches.",
        f"Time of mining: estimate {guess['for_targets']:.0f} s of processors (± {guess['error']:.0f}),",
        f"actual {mined['mining_seconds']:.0f} s: off by {off:+.0%}.",
        f"Memory of mining: estimate {guess['memory_mb']:.0f} MB, actual {mined['peak_mb']:.0f} MB;",
        f"most of any step {peak:.0f} MB.",
        f"All targets would take {guess['all_days']:.1f} days of one processor.",
    ]
    rows = [
        f"| {name} | {step['seconds']:.0f} | {step['cpu_seconds']:.0f} | {step['peak_mb']:.0f} |"
        for name, step in found.items()
    ]
    head = ["# A run of the size of the HIV set", "", f"Written by `{command}`.", ""]
    head += ["| step | seconds | of processors | peak MB |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, "", *lines, ""])
