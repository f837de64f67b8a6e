"""`gdlnn train --estimate` compared with actual training, and the time left that the bar shows meanwhile.

::

    python -m benchmarks estimate [--datasets NAME …] [--molecules N] [--seeds 0 …] [--jobs N] [--out FILE]

All times are CPU times, so that a busy machine gives nearly the same figures; the time left can be judged
so with one job only. ``--molecules`` adds a table of this many molecules, recombined from pieces of BBBP
and BACE; 41127 is the size of the HIV set.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._recombined import write_table
from gdlnn import GraphDataset, load_dataset, load_smiles, progress
from gdlnn.model import GDLNNClassifier
from gdlnn.model import training_time as training_time_module
from gdlnn.model.training_time import training_time

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = Path("build/benchmarks/estimate")
DATASETS = ("BBBP", "Mutagenicity")


def run(argv: Sequence[str] | None = None) -> None:
    """Measure; without arguments on MUTAG alone."""
    parser = argparse.ArgumentParser("python -m benchmarks estimate")
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS) if argv is not None else ["MUTAG"])
    parser.add_argument("--molecules", type=int, help="size of a table of molecules")
    parser.add_argument("--seeds", nargs="*", type=int, default=[0], help="seeds of split and model")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a Markdown file to write")
    options = parser.parse_args([] if argv is None else list(argv))
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("estimate: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    names = [*options.datasets, *([f"{options.molecules}"] if options.molecules else [])]
    found = []
    for name in names:
        for seed in options.seeds:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                found.append(pool.submit(_measured, name, root, seed, options.jobs).result())
            print(json.dumps(found[-1]), flush=True)
    text = _report(found, " ".join(["python -m benchmarks estimate", *(argv or [])]))
    print(text)
    if options.out is not None:
        options.out.write_text(text)


def _dataset(name: str, root: str) -> GraphDataset:
    if not name.isdecimal():
        return load_dataset(name)
    table = FOLDER / f"molecules-{name}.csv"
    saved = table.with_suffix(".gdlds")
    if not saved.exists():
        write_table(table, int(name), Path(root))
        load_smiles(table, label="active").save(saved)
    return GraphDataset.load(saved)


def _measured(name: str, root: str, seed: int, jobs: int) -> dict[str, Any]:
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    import_module("gdlnn.model.network")  # loads torch, which belongs to neither
    train, val, _ = _dataset(name, root).split("auto", seed)
    model = GDLNNClassifier(seed=seed, n_jobs=jobs)
    validation = val if len(val) else None
    started = time.process_time()
    told = training_time(model, train, validation=validation)
    estimating = time.process_time() - started
    lefts = _watched_bar()
    started = time.process_time()
    model.fit(train, validation=validation)
    ended = time.process_time()
    return {
        "name": name,
        "seed": seed,
        "n_graphs": len(train),
        "n_programs": [told.n_programs, len(model.programs_)],
        "estimate": told.cpu_seconds,
        "estimating": estimating,
        "stages": {of: round(seconds.cpu, 2) for of, seconds in told.stages.items()},
        "actual": ended - started,
        "epochs": max((row["epoch"] for row in model.history_), default=0),
        "left": _worst_factor(lefts, started, ended),
    }


def _watched_bar() -> list[tuple[float, float]]:
    """Let bars be drawn into nothing, by CPU time; return a list of moments and the time left they show."""
    from rich.console import Console

    screen = Console(file=io.StringIO(), force_terminal=True, width=120, _environ={"TERM": "xterm"})
    lefts: list[tuple[float, float]] = []

    class Bar(progress._StagedBar):
        def move(self, position: float, says: str) -> None:
            super().move(position, says)
            lefts.append((time.process_time(), self.time_left()))

    progress._console = lambda: screen
    training_time_module.waiting_factor = lambda *_: 1.0  # CPU time does not wait
    progress._StagedBar = partial(Bar, clock=time.process_time)  # type: ignore[assignment,misc]
    return lefts


def _worst_factor(lefts: list[tuple[float, float]], started: float, ended: float) -> list[float]:
    """Return the factors between shown and actual time left, least and most, from a tenth to nine tenths."""
    length = ended - started
    factors = [
        left / (ended - moment)
        for moment, left in lefts
        if started + 0.1 * length <= moment <= started + 0.9 * length
    ]
    return [round(min(factors), 2), round(max(factors), 2)] if factors else []


def _report(found: list[dict[str, Any]], command: str) -> str:
    head = ["# Estimates of training", "", f"Written by `{command}`. Seconds are CPU time.", ""]
    names = ["dataset", "seed", "graphs", "programs, estimated", "actual", "seconds, estimated", "actual"]
    names += ["factor", "estimating took", "epochs", "factor of the time left"]
    head += [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    rows = [
        f"| {one['name']} | {one['seed']} | {one['n_graphs']:,} | {one['n_programs'][0]:,} "
        f"| {one['n_programs'][1]:,} | {one['estimate']:.1f} | {one['actual']:.1f} "
        f"| {one['estimate'] / one['actual']:.2f} | {one['estimating']:.1f} | {one['epochs']} "
        f"| {' to '.join(f'{factor:.2f}' for factor in one['left'])} |"
        for one in found
    ]
    return "\n".join([*head, *rows, ""])
