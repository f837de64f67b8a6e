"""Running one task, in this process or in a worker: load, fit, judge, and say what it took."""

from __future__ import annotations

import datetime
import os
import platform
import time
import traceback
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

import gdlnn
from gdlnn.datasets import resolve_dataset
from gdlnn.evaluation.cells import Result, Store, Task
from gdlnn.evaluation.methods import find_method
from gdlnn.evaluation.metrics import score_predictions, validation_loss
from gdlnn.evaluation.programs import load_programs
from gdlnn.evaluation.protocols import plan_splits, stored_split

if TYPE_CHECKING:
    from gdlnn.graphs import GraphDataset
    from gdlnn.graphs.splits import Split

PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "torch_geometric", "rdkit")


@dataclass(frozen=True)
class Place:
    """Where and with what tasks are run.

    Attributes
    ----------
    out
        The folder of the study.
    data
        A folder to look for data sets in, or None.
    device
        "auto", "cpu" or "cuda".
    n_jobs
        Threads of one task.
    n_runs
        Seeds, or repeated splits.
    """

    out: str
    data: str | None = None
    device: str = "auto"
    n_jobs: int = 1
    n_runs: int = 5


@lru_cache(maxsize=3)
def load_data(name: str, data: str | None) -> GraphDataset:
    """Load a data set; the last ones are kept."""
    return resolve_dataset(name, root=data)


@lru_cache(maxsize=4)
def load_split(name: str, protocol: Any, split: str, place: Place) -> tuple[Split, str]:
    """Return a split of a data set and its fingerprint."""
    plan = next(plan for plan in plan_splits(protocol, place.n_runs) if plan.name == split)
    file = Store(place.out).split_file(name, protocol, split)
    return stored_split(load_data(name, place.data), protocol, plan, file)


def run_task(task: Task, place: Place) -> Result:
    """Run a task; whatever goes wrong becomes a result with its reason."""
    common = {**task.to_json(), "versions": versions(), "machine": machine()}
    try:
        found = _run(task, place)
        status: Result = {"status": "ok", **found}
    except Exception as error:  # one method's failure must not end the study
        status = failure(error)
    finished = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {**common, **status, "finished": finished}


def failure(error: BaseException) -> Result:
    """Return what is kept of a failure."""
    lines = str(error).strip().splitlines()
    reason = lines[0] if lines else type(error).__name__
    return {
        "status": "failed",
        "reason": f"{type(error).__name__}: {reason}",
        "traceback": "".join(traceback.format_exception(error))[-4000:],
    }


def _run(task: Task, place: Place) -> Result:
    (train, val, test), fingerprint = load_split(task.dataset, task.protocol, task.split, place)
    method = find_method(task.method)
    estimator = method.make(task.configuration, task.seed, place.device, place.n_jobs)
    extra, mining = _given_programs(task, place, fingerprint, len(train))
    started, cpu = time.perf_counter(), time.process_time()
    estimator.fit(train, validation=val, **extra)
    times = {"fit": time.perf_counter() - started, "fit_cpu": time.process_time() - cpu, "mining_cpu": mining}
    part = test if task.kind == "cell" else val
    assert part.y is not None
    started = time.perf_counter()
    proba = np.asarray(estimator.predict_proba(part), dtype=np.float64)
    times["predict"] = time.perf_counter() - started
    predicted = np.asarray(estimator.predict(part))
    result: Result = {
        "fingerprint": fingerprint,
        "split_source": train.split_source,
        "sizes": [len(train), len(val), len(test)],
        "times": times,
    }
    if task.kind == "trial":
        # The test part plays no role here: choices are made on the validation part alone.
        result["val_accuracy"] = float((predicted == part.y).mean())
        result["val_loss"] = validation_loss(part.y, proba, estimator.classes_)
        return result
    result["metrics"] = score_predictions(part.y, predicted, proba, estimator.classes_)
    result["truth"], result["predicted"] = part.y.tolist(), predicted.tolist()
    result["n_programs"] = len(estimator.programs_) if hasattr(estimator, "programs_") else None
    result["n_epochs"] = len(estimator.history_) if getattr(estimator, "history_", None) else None
    return result


def _given_programs(task: Task, place: Place, fingerprint: str, n_train: int) -> tuple[dict[str, Any], float]:
    """Return the programs for `fit` and the CPU seconds it took to mine them."""
    method = find_method(task.method)
    if method.programs is None:
        return {}, 0.0
    store = Store(place.out)
    files = [
        store.programs_file(task.dataset, fingerprint, spec.key)
        for spec in method.programs(task.configuration, n_train)
    ]
    sets = [load_programs(file) for file in files]
    programs = sets[0] if len(sets) == 1 else sets
    return {"programs": programs}, float(sum(programs.stats.cpu_seconds for programs in sets))


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of what results depend on."""
    found = {"python": platform.python_version(), "gdlnn": gdlnn.__version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@lru_cache(maxsize=1)
def machine() -> dict[str, Any]:
    """Return what kind of machine this is, without naming it."""
    import torch

    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {"processor": _processor(), "cpus": os.cpu_count(), "gpu": gpu}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123 - a file of the system
            line = next(line for line in file if line.startswith("model name"))
        return line.partition(":")[2].strip()
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
