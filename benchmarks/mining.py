"""The cost of mining on the nine datasets, its growth with |D|, and the objective next to random programs.

::

    python -m benchmarks mining [--datasets NAME …] [--epsilon 0.1] [--targets N] [--jobs N] [--out FILE]
    python -m benchmarks mining --training [--sizes 500 2000 …] [--jobs N] [--out FILE]
    python -m benchmarks mining --against PYTHON [--rounds N] [--datasets NAME …] [--targets N]

The second form measures the whole of `gdlnn train` on tables of up to 41,127 molecules, and its exponent. The
third only compares the speed of this build with that of another one, in turns.
Finished figures are kept as JSON and finished descents in a checkpoint, so that a stopped run resumes.
Figures of another build of the core are measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import platform
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._mining_report import report
from benchmarks._side_by_side import report as side_by_side
from benchmarks._training_curve import SIZES, measured
from benchmarks._training_curve import report as training_report
from gdlnn import _core, mine
from gdlnn.datasets import load_dataset
from gdlnn.mining import objective, random_programs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn import GraphDataset

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
CURVE = ("NCI1", (8, 4, 2, 1), 100)
"""Dataset, parts of it, and the number of targets that all parts share."""
MEMORY = ("NCI1", 2, 200)
"""Dataset, threads, and targets whose peak of memory is measured."""
OBJECTIVE = ("MUTAG", "BBBP")
TOP = (10, 30, 100)
RESULTS = Path("build/benchmarks/mining")
QUICK_TARGETS = 20


def run(argv: Sequence[str] | None = None) -> None:
    """Measure; without arguments a few targets of each dataset, and nothing is written."""
    options = _options(argv)
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("mining: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    if options.against is not None:
        targets = options.targets or QUICK_TARGETS
        print(side_by_side(options.datasets, root, options.epsilon, targets, options.against, options.rounds))
        return
    if options.training:
        runs = [measured(size, Path(root), options.jobs) for size in options.sizes]
        _write(training_report(runs, " ".join(["python -m benchmarks mining", *(argv or [])])), options.out)
        return
    quick = argv is None
    settings = {
        "epsilon": options.epsilon,
        "targets": QUICK_TARGETS if quick else options.targets,
        "jobs": options.jobs,
        "root": root,
    }
    costs = [_kept(f"cost {name}", measure_cost, {"name": name, **settings}) for name in options.datasets]
    found: dict[str, Any] = {"costs": costs, "aims": AIMS, "machine": _machine()}
    shared = {"epsilon": options.epsilon, "jobs": options.jobs, "root": root}
    if not quick and options.targets is None:
        if CURVE[0] in options.datasets:
            found["curve"] = _kept("curve", measure_curve, shared)
            memory = {"epsilon": options.epsilon, "root": root}
            found["memory"] = _kept("memory", measure_memory, memory)
        names = [name for name in OBJECTIVE if name in options.datasets]
        found["objective"] = [
            _kept(
                f"objective {name}",
                measure_objective,
                {"name": name, **shared},
            )
            for name in names
        ]
    text = report(found, " ".join(["python -m benchmarks mining", *(argv or [])]))
    _write(text, options.out)


def _write(text: str, out: Path | None) -> None:
    print(text)
    if out is not None:
        out.write_text(text)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks mining")
    parser.add_argument("--datasets", nargs="+", default=list(AIMS), choices=list(AIMS), metavar="NAME")
    parser.add_argument("--epsilon", default="0.1", help="ε, a number or such as 1%%")
    parser.add_argument("--targets", type=int, help="this many targets of each dataset, for a first look")
    parser.add_argument(
        "--jobs", type=int, default=1, help="threads; each descent counts its own processor time"
    )
    parser.add_argument("--training", action="store_true", help="the whole of training on several sizes")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help="with --training")
    parser.add_argument(
        "--against", metavar="PYTHON", help="the interpreter of an environment with another build"
    )
    parser.add_argument("--rounds", type=int, default=20, help="with --against: turns of each build")
    parser.add_argument("--out", type=Path, help="a Markdown file to write")
    return parser.parse_args([] if argv is None else list(argv))


def _machine() -> str:
    return f"{platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} processors"


def _core_hash() -> str:
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:12]


def _kept(title: str, measure: Callable[..., dict[str, Any]], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a figure that is there, or measure it in a process of its own, for the peak of memory."""
    key = {**{k: v for k, v in arguments.items() if k != "root"}, "core": _core_hash()}
    stem = hashlib.sha256(json.dumps([title, key]).encode()).hexdigest()[:12]
    path = RESULTS / f"{title.replace(' ', '-')}-{stem}.json"
    if path.exists():
        return dict(json.loads(path.read_text()))
    path.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        result = pool.submit(measure, checkpoint=str(path.with_suffix(".checkpoint")), **arguments).result()
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps({**key, **result}, indent=1))
    partial.replace(path)
    print(f"{title}: {time.monotonic() - started:.1f} s", flush=True)
    return {**key, **result}


def _train(name: str, root: str) -> GraphDataset:
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    train: GraphDataset = load_dataset(name, root=root, download=False).split("paper")[0]
    return train


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _descent_seconds(checkpoint: str) -> list[float]:
    """Return the processor time of each finished descent in a checkpoint; none if there is no file."""
    if not Path(checkpoint).exists():
        return []
    return [json.loads(line)["seconds"] for line in Path(checkpoint).read_bytes().splitlines()[1:]]


def measure_cost(
    name: str, epsilon: str, targets: int | None, jobs: int, root: str, checkpoint: str
) -> dict[str, Any]:
    """Mine a training set; the time of a target is the processor time of all its descents."""
    train = _train(name, root)
    before = sum(_descent_seconds(checkpoint))
    start, peak = time.process_time(), _peak_mb()
    programs = mine(train, epsilon, targets=targets, n_jobs=jobs, checkpoint=checkpoint)
    cpu = before + time.process_time() - start
    times = np.array(_descent_seconds(checkpoint))
    return {
        "n_graphs": len(train),
        "n_targets": programs.info.n_targets,
        "n_programs": len(programs),
        "cpu_seconds": cpu,
        "descent_seconds": float(times.sum()),
        "median": float(np.median(times)),
        "p97": float(np.quantile(times, 0.97)),
        "largest": float(times.max()),
        "tests": programs.stats.tests,
        "searches": programs.stats.searches,
        "unknown": programs.stats.unknown,
        "unresolved": programs.stats.unresolved,
        "peak_mb": _peak_mb(),
        "peak_mb_before": peak,
        "mean_score": float(programs.scores.mean()),
    }


def measure_curve(epsilon: str, jobs: int, root: str, checkpoint: str) -> dict[str, Any]:
    """Mine the same targets with parts of a training set, each part within the next."""
    name, parts, n_targets = CURVE
    train = _train(name, root)
    order = np.random.default_rng(0).permutation(len(train))
    points = []
    for part in parts:
        rows = order[: len(train) // part]
        targets = np.arange(n_targets)
        programs = mine(train[rows], epsilon, targets=targets, n_jobs=jobs, checkpoint=f"{checkpoint}.{part}")
        stats = programs.stats
        points.append({"n_graphs": len(rows), "seconds": stats.descent_seconds, "tests": stats.tests})
    sizes, costs = (np.log([point[key] for point in points]) for key in ("n_graphs", "seconds"))
    return {
        "name": name,
        "n_targets": n_targets,
        "points": points,
        "exponent": float(np.polyfit(sizes, costs, 1)[0]),
    }


def measure_memory(epsilon: str, root: str, checkpoint: str) -> dict[str, Any]:
    """Measure the peak of memory with two threads."""
    name, threads, n_targets = MEMORY
    train = _train(name, root)
    mine(train, epsilon, targets=n_targets, n_jobs=threads, checkpoint=checkpoint)
    return {"name": name, "threads": threads, "n_targets": n_targets, "peak_mb": _peak_mb()}


def measure_objective(name: str, epsilon: str, jobs: int, root: str, checkpoint: str) -> dict[str, Any]:
    """Compare the best mined programs with random connected pieces of the same sizes."""
    train = _train(name, root)
    y = np.asarray(train.y)
    programs = mine(train, epsilon, n_jobs=jobs, checkpoint=checkpoint)
    shares = np.unique(y, return_counts=True)[1] / len(y)
    rows = []
    for k in TOP:
        top = programs.top(k)
        sizes = [len(item.program.nodes) for item in top]
        chance = [
            objective(random_programs(train, len(top), seed, sizes), train, y, mean=True) for seed in range(5)
        ]
        rows.append({"k": k, "mined": objective(top, train, y, mean=True), "random": chance})
    # Representations that are all alike: pairs of one label less pairs of two.
    return {"name": name, "rows": rows, "alike": float(2 * (shares**2).sum() - 1)}
