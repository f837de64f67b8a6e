"""The cells of studies: one JSON line each, computed by several processes; a stopped study resumes.

A study has a folder with a file of lines for each kind of cell. Cells of another version of the package are
not used. What cells share, such as mined programs and fitted models, is computed once and kept in the folder
``cache``.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import signal
import threading
import time
import tomllib
import traceback
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import joblib
from filelock import FileLock, Timeout
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from gdlnn.errors import GDLNNError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Result = dict[str, Any]
Configuration = dict[str, Any]
Protocol = Literal["paper", "repeated", "cv", "scaffold"]
NOT_APPLICABLE = "n/a"
"""The status of a method that cannot be used on a dataset, such as fingerprints without molecules."""
PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "torch_geometric", "rdkit")
"""Packages whose versions affect results, besides GDLNN."""
PROJECT = Path(__file__).parents[1] / "pyproject.toml"


@dataclass(frozen=True)
class RunConfig:
    """Where results go, where datasets are looked for, and with what cells are computed.

    `device` is "auto", "cpu" or "cuda"; after `limit` seconds a cell is given up.
    """

    out: str
    data: str | None = None
    device: str = "auto"
    n_workers: int = 1
    limit: float | None = None


@dataclass(frozen=True)
class Task:
    """What a cell is computed from.

    `study` is the kind of cell: the name of a study; "trial" scores a configuration on the validation set,
    "model" fits what others explain.
    `fingerprint` is a hash of dataset and split, `n_configurations` among how many the configuration was
    chosen, and `rows` are positions in the test set of the graphs to explain.
    """

    study: str
    dataset: str
    method: str
    configuration: Configuration = field(default_factory=dict)
    seed: int = 0
    protocol: Protocol = "paper"
    split: str = "paper"
    fingerprint: str = ""
    n_configurations: int = 1
    rows: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """A hash of all fields."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


# --- files ------------------------------------------------------------------------------------------------


def read_cells(file: Path) -> list[Result]:
    """Return the cells of a file, the last line of each; a success is not replaced by a failure.

    A line that was cut off when a study was killed is ignored.
    """
    found: dict[str, Result] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines() if file.is_file() else ()):
        try:
            cell = json.loads(line)
        except ValueError:
            continue
        key = cell.get("key", str(number))
        if cell["status"] == "ok" or found.get(key, cell)["status"] != "ok":
            found[key] = cell
    return list(found.values())


def append_cell(file: Path, cell: Result) -> None:
    """Add a line to a file, after a line break where a killed study has left half a line."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab+") as lines:
        text = json.dumps(cell, default=list).encode() + b"\n"
        if lines.tell():
            lines.seek(-1, os.SEEK_END)
            text = text if lines.read() == b"\n" else b"\n" + text
        lines.write(text)


def once(config: RunConfig, key: Sequence[Any], make: Callable[[], Any]) -> Any:
    """Return what `make` returns; it is called once for a key and a folder, other processes wait for it."""
    folder = Path(config.out) / "cache"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{key[0]}-{joblib.hash(tuple(key))}.joblib"
    with FileLock(file.with_suffix(".lock")):
        if not file.is_file():
            unfinished = file.with_suffix(".tmp")
            joblib.dump(make(), unfinished, compress=3)
            unfinished.replace(file)
        return joblib.load(file)


# --- one cell ---------------------------------------------------------------------------------------------


class OutOfTimeError(BaseException):
    """A cell's time is up. Not an `Exception`, so that no handler on the way catches it."""


def run_cell(compute: Callable[[Task, RunConfig], Result], task: Task, config: RunConfig) -> Result:
    """Compute a cell; a failure and running out of time become results with their reasons."""
    started = time.perf_counter()
    try:
        with time_limit(config.limit):
            status: Result = {"status": "ok", **compute(task, config)}
    except OutOfTimeError:
        status = {"status": "late", "reason": f"not finished in {config.limit:g} s", "limit": config.limit}
    except Exception as error:  # the failure of one cell must not end the study
        status = failure(error)
    seconds = time.perf_counter() - started
    return {**described(task), **status, "seconds": seconds}


def described(task: Task) -> Result:
    """Return the fields that all cells have."""
    finished = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    about = {"key": task.key, "versions": versions(), "machine": machine(), "finished": finished}
    return {**asdict(task), "rows": list(task.rows), **about}


def failure(error: BaseException) -> Result:
    """Return the fields of a failure."""
    lines = str(error).strip().splitlines()
    reason = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    text = "".join(traceback.format_exception(error))[-4000:]
    return {"status": "failed", "reason": reason, "traceback": text}


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `OutOfTimeError` in the block after this many seconds; works only in the main thread."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:  # noqa: ARG001
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Clock:
    """Wall and CPU seconds since its creation."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self, name: str) -> dict[str, float]:
        """Return both, under a name and the name with ``_cpu``."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return {name: wall, f"{name}_cpu": cpu}


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of the packages that affect results."""
    own = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"]
    found = {"python": platform.python_version(), "gdlnn": own}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@lru_cache(maxsize=1)
def machine() -> dict[str, Any]:
    """Return the kind of this machine, without its name."""
    import torch

    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        processor = platform.processor() or platform.machine()
    return {"processor": processor, "cpus": os.cpu_count(), "gpu": gpu}


# --- several cells ----------------------------------------------------------------------------------------


class Study:
    """Computes cells and keeps them; those that are there already are not computed again.

    Used as a context, it keeps other processes from computing the same kind of cells in its folder.

    `report` is called with a line on each cell that has ended.
    """

    def __init__(self, name: str, config: RunConfig, report: Callable[[str], Any] | None = None) -> None:
        self.file = Path(config.out) / f"{name}.jsonl"
        self.config, self._report = config, report
        self._lock = FileLock(self.file.with_suffix(".lock"), timeout=0)

    def __enter__(self) -> Self:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire()
        except Timeout:
            raise GDLNNError(f"{self.file}: another study is computing these cells") from None
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def run(
        self, tasks: Sequence[Task], compute: Callable[[Task, RunConfig], Result], kind: str = ""
    ) -> list[Result]:
        """Return the results of tasks in their order; `kind` names another file than that of the study."""
        file = self.file.with_name(f"{kind}.jsonl") if kind else self.file
        known = {cell["key"]: cell for cell in read_cells(file) if self._is_done(cell)}
        missing = list({task.key: task for task in tasks if task.key not in known}.values())
        for number, cell in enumerate(self._computed(missing, compute), start=1):
            known[cell["key"]] = cell
            self.record(cell, file, f"[{number}/{len(missing)}] ")
        return [known[task.key] for task in tasks]

    def record(self, cell: Result, file: Path | None = None, place: str = "") -> None:
        """Keep a cell, by default in the file of the study, and report it."""
        append_cell(file or self.file, cell)
        if self._report is not None:
            self._report(f"{place}{described_briefly(cell)}")

    def _is_done(self, cell: Result) -> bool:
        """Say whether a cell need not be computed: one that ran out of time may have more of it now."""
        if cell["versions"]["gdlnn"] != versions()["gdlnn"]:
            return False
        if cell["status"] == "late":
            return self.config.limit is not None and self.config.limit <= cell["limit"]
        return cell["status"] in ("ok", NOT_APPLICABLE)

    def _computed(
        self, tasks: Sequence[Task], compute: Callable[[Task, RunConfig], Result]
    ) -> Iterator[Result]:
        n_workers = min(self.config.n_workers, len(tasks))
        if n_workers <= 1:
            yield from (run_cell(compute, task, self.config) for task in tasks)
            return
        left = {task.key: task for task in tasks}
        call = joblib.delayed(run_cell)
        while left:
            jobs = [call(compute, task, self.config) for task in left.values()]
            try:
                # One thread each: there is a process for every core.
                with joblib.parallel_config("loky", n_jobs=n_workers, inner_max_num_threads=1):
                    parallel = joblib.Parallel(
                        return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1
                    )
                    for cell in parallel(jobs):
                        del left[cell["key"]]
                        yield cell
            except TerminatedWorkerError:
                # One of the cells that were being computed is to blame: the one that ends its process alone.
                for task in list(left.values())[:n_workers]:
                    yield self._computed_alone(left.pop(task.key), compute)

    def _computed_alone(self, task: Task, compute: Callable[[Task, RunConfig], Result]) -> Result:
        try:
            with ProcessPoolExecutor(max_workers=1) as executor:
                cell: Result = executor.submit(run_cell, compute, task, self.config).result()
        except TerminatedWorkerError:
            error = RuntimeError("the process that computed it died, perhaps for want of memory")
            return {**described(task), **failure(error)}
        return cell


def run_seeds(
    study: Study, datasets: Sequence[str], seeds: Sequence[int], compute: Callable[[Task, RunConfig], Result]
) -> list[Result]:
    """Compute one cell, with all methods in it, for each dataset and seed."""
    return study.run(
        [Task(study.file.stem, name, "all", seed=seed) for name in datasets for seed in seeds], compute
    )


def by_dataset(cells: Sequence[Result]) -> dict[str, list[Result]]:
    """Return the cells that went well by dataset."""
    found: dict[str, list[Result]] = {}
    for cell in cells:
        if cell["status"] == "ok":
            found.setdefault(cell["dataset"], []).append(cell)
    return found


def described_briefly(cell: Result) -> str:
    """Return one line on a cell that has ended."""
    where = f"{cell['dataset']} {cell['split']} {cell['method']} seed {cell['seed']}"
    if cell["status"] != "ok":
        return f"{where}: {cell['reason']}"
    accuracy = cell.get("metrics", cell).get("accuracy")
    result = "" if accuracy is None else f", accuracy {100 * accuracy:.1f}%"
    return f"{where}: {cell['seconds']:.1f} s{result}"
