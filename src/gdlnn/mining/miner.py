"""mine(): from labeled graphs to programs, and the checkpoint that it resumes from.

The search itself is in the core.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from filelock import FileLock, Timeout

from gdlnn.errors import GDLNNError, MiningError
from gdlnn.graphs.identity import fingerprint
from gdlnn.io import bounded
from gdlnn.matching import n_threads_for
from gdlnn.mining.descents import MiningData, TaskResult, choose_targets, list_tasks, run_tasks
from gdlnn.mining.program_files import parse_rows
from gdlnn.mining.program_set import MinedProgram, ProgramSet, SetInfo, support_matrix
from gdlnn.mining.settings import (
    STEP_BUDGET,
    Nominal,
    Settings,
    Strategy,
    Targets,
    checked_labels,
    checked_seconds,
    find_hidden,
    resolved_epsilon,
    whole,
)
from gdlnn.progress import progress_bar
from gdlnn.version import package_version

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from gdlnn.gdl.program import Program
    from gdlnn.graphs import GraphDataset
    from gdlnn.mining.descents import Codes, IntArray, Task

logger = logging.getLogger(__name__)
KIND = "gdlnn mining checkpoint"


def mine(
    dataset: GraphDataset,
    epsilon: float | str = 0.1,
    strategy: Strategy = "greedy",
    connected: bool = True,
    targets: Targets = None,
    min_support: int = 1,
    ignore: Sequence[str] = (),
    nominal: Nominal = "value",
    step_budget: int = STEP_BUDGET,
    n_jobs: int | None = 1,
    random_state: int = 0,
    time_limit: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: bool = True,
) -> ProgramSet:
    """Mine programs from labeled graphs: one descent from every target, by the paper's Algorithm 3.

    A descent starts with the whole target as a program and takes the best one-step generalization as long as
    the score, matched graphs of the target's label over all matched graphs plus ε, does not fall. The result
    depends only on the data, the settings and the seed, not on threads, speed, or whether a run was stopped
    and resumed.

    Parameters
    ----------
    dataset
        Graphs with labels.
    epsilon
        ε of the score, or a percentage of the training graphs such as ``"1%"``. A larger ε favors programs
        with more support.
    strategy
        "greedy" is the paper's search; "sequential" the cheaper one after PL4XGL.
    connected
        Offer no mutation that splits the program; a target in several components then gives one program for
        each. False follows the paper's rules literally.
    targets
        Which graphs to start from: None for all, or row numbers. "auto": all up to 2,000, of more graphs
        2,000 drawn with the random_state, so that the cost of mining in bags stops growing with their number.
    min_support
        Drop programs that match fewer graphs.
    ignore
        Names of features, as in the schema, that programs do not use: without chirality, radicals and
        stereo, every program over molecules can be written as SMARTS.
    nominal
        "value": a condition on a nominal feature names one value, and a mutation opens it as a whole; bounds
        that exclude nothing are left out of programs. "interval": all features are ordered, as in the paper.
    step_budget
        Maximum steps of one search while mining. A search that runs out counts as no match until the program
        has lost a node; the support of a finished program is counted again with a much larger budget.
    n_jobs
        Number of threads; -1 for all CPU cores. Within ``joblib.parallel_config("loky", n_jobs=…)`` or
        ``joblib.parallel_config("dask")``, their processes mine instead.
    random_state
        Seed of the choice of targets.
    time_limit
        Seconds after which mining stops; finished programs are returned.
    checkpoint
        A file to which finished descents are appended. The same call resumes from it.
    verbose
        Show a bar in terminals and notebooks.

    Returns
    -------
    The programs; those of one label with the same canonical form are merged. After Ctrl-C or `time_limit`,
    the finished programs are returned; `.complete` is then False and `.stopped_by` gives the reason.
    """
    labels, codes = checked_labels(dataset)
    least, n_threads = whole("min_support", min_support, 0), n_threads_for(n_jobs)
    rows = choose_targets(targets, codes, whole("random_state", random_state, 0))
    settings = Settings(
        resolved_epsilon(epsilon, len(dataset)),
        strategy,
        bool(connected),
        whole("step_budget", step_budget, 1),
        int(random_state),
        nominal,
    )
    stop = time.monotonic() + checked_seconds("time_limit", time_limit)
    cpu, wall = time.process_time(), time.monotonic()
    hidden = find_hidden(dataset, ignore)
    searched = hidden.hide(dataset)
    tasks = list_tasks(searched, codes, rows, connected=settings.connected)
    data = MiningData(searched.graphs, codes, len(labels), searched.schema)
    with ExitStack() as stack:
        saved: Checkpoint | None = None
        if checkpoint is not None:
            known = {"version": package_version(), "dataset": fingerprint(searched.graphs, codes)}
            wanted = hashlib.sha256(json.dumps(tasks).encode()).hexdigest()
            call = {**known, "labels": labels, "targets": wanted, **vars(settings)}
            saved = stack.enter_context(Checkpoint(checkpoint, call, len(tasks), len(dataset)))
        results = {} if saved is None else dict(saved.finished)
        left = {number: task for number, task in enumerate(tasks) if number not in results}
        batches = run_tasks(data, settings, left, n_threads)
        stopped_by = _collect(batches, len(tasks), results, saved, stop, verbose=verbose)
    described = {**vars(settings), **({"ignore": list(ignore)} if hidden else {})}
    info = SetInfo.of(dataset, described, (labels, codes), complete=stopped_by is None)
    items, supports = _merged(tasks, results, codes, labels)
    if hidden:
        items = [replace(item, program=hidden.open(item.program, dataset.directed)) for item in items]
    found = ProgramSet(items, support_matrix(supports, len(dataset)), info, stopped_by)
    found = found.filter(least) if least > 1 else found
    found.stats = {
        "tasks": len(results),
        "tests": sum(result.tests for result in results.values()),
        "unknown": sum(result.unknown for result in results.values()),
        "descent_seconds": sum(result.seconds for result in results.values()),
        "cpu_seconds": time.process_time() - cpu,
        "wall_seconds": time.monotonic() - wall,
    }
    return found


def _collect(
    batches: Generator[list[TaskResult]],
    n_tasks: int,
    results: dict[int, TaskResult],
    saved: Checkpoint | None,
    stop: float,
    *,
    verbose: bool,
) -> str | None:
    """Take the results of descents; return why it stopped early, or None if all are done."""
    programs = {result.program for result in results.values()}
    stopped_by = None
    try:
        with (
            progress_bar("mining", n_tasks, completed=len(results), wanted=verbose) as update,
            closing(batches),
        ):
            for batch in batches if len(results) < n_tasks else ():
                results.update((result.task, result) for result in batch)
                if saved is not None:
                    saved.add(batch)
                programs.update(result.program for result in batch)
                update(advance=len(batch), text=f"descents, {len(programs)} programs")
                if time.monotonic() >= stop:
                    stopped_by = "time limit"
                    break
    except KeyboardInterrupt:  # a record cut short by it is dropped when the checkpoint is read
        stopped_by = "interrupt"
    if len(results) == n_tasks:
        return None
    done = f"{len(results)} of {n_tasks} descents"
    logger.warning("mine: stopped by %s after %s; the result is incomplete", stopped_by, done)
    return stopped_by


def _merged(
    tasks: Sequence[Task], results: Mapping[int, TaskResult], codes: Codes, labels: Sequence[Any]
) -> tuple[list[MinedProgram], list[IntArray]]:
    """Merge programs of one label with the same canonical form, and return them with their supports.

    They are in the order of the tasks they were first found by.
    """
    groups: dict[tuple[int, Program], list[TaskResult]] = {}
    for number in sorted(results):
        code = int(codes[tasks[number].graph])
        groups.setdefault((code, results[number].program), []).append(results[number])
    # Supports differ only if a search ran out of budget; the most certain one is kept.
    best = [min(found, key=lambda result: (result.unresolved, result.task)) for found in groups.values()]
    supports = parse_rows([result.support for result in best], len(codes))
    items = [
        MinedProgram(program, labels[code], result.score, len(rows), result.unresolved == 0)
        for (code, program), result, rows in zip(groups, best, supports, strict=True)
    ]
    return items, supports


# --- the checkpoint ---------------------------------------------------------------------------------------


class Checkpoint:
    """An open checkpoint: lines of JSON, the first of which describes the call; locked against other runs.

    A line that a kill cut short is dropped when the next run opens the file.

    Parameters
    ----------
    path
        The file; created if it does not exist.
    call
        What determines the results of a call, and must be equal in its file.
    n_tasks, n_graphs
        Number of tasks and of graphs.

    Attributes
    ----------
    finished
        The results found in the file, by task.

    Raises
    ------
    MiningError
        If the file is not a checkpoint, is damaged, belongs to another call or is in use.
    """

    def __init__(
        self, path: str | os.PathLike[str], call: Mapping[str, Any], n_tasks: int, n_graphs: int
    ) -> None:
        self.path = Path(path)
        self.finished: dict[int, TaskResult] = {}
        self._lock = FileLock(
            self.path.with_name(f".{self.path.name}.lock"), blocking=False, fallback_to_soft=False
        )
        if self.path.is_fifo() or self.path.is_char_device():
            raise self._failed("expected a file, got a device or a pipe")
        try:
            self._file = self.path.open("ab", buffering=0)
        except OSError as error:
            raise self._failed(f"cannot be opened: {error.strerror}") from error
        try:
            self._acquire()
            self._read(_line({"kind": KIND, **call}), n_tasks, n_graphs)
        except BaseException:
            self.close()
            raise

    def add(self, results: Sequence[TaskResult]) -> None:
        """Add finished descents."""
        self._write(b"".join(_line(result.to_json()) for result in results))

    def close(self) -> None:
        """Close the file and release the lock."""
        self._file.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _failed(self, what: str) -> MiningError:
        return MiningError(f"checkpoint {self.path.name}: {what}")

    def _acquire(self) -> None:
        try:
            self._lock.acquire()
        except Timeout:
            raise self._failed("another run is writing to it") from None
        except OSError as error:  # some cluster file systems have no locks
            logger.warning("%s; make sure that no other run writes to it", self._failed(str(error)))

    def _read(self, header: bytes, n_tasks: int, n_graphs: int) -> None:
        """Read the results, cut off a line that is incomplete, and write the header of a new file."""
        data = self.path.read_bytes()
        if header.startswith(data):  # new, or killed while the header was written
            os.truncate(self.path, 0)
            self._write(header)
            return
        first, *lines = data.split(b"\n")
        self._check(first, json.loads(header))
        for number, line in enumerate(lines[:-1], start=2):
            try:
                result = TaskResult.from_json(bounded.loads(line), n_tasks, n_graphs)
            except (TypeError, KeyError, ValueError, AttributeError, GDLNNError) as error:
                raise self._failed(f"line {number} is damaged: {error}") from error
            self.finished[result.task] = result
        os.truncate(self.path, len(data) - len(lines[-1]))

    def _check(self, line: bytes, expected: Mapping[str, Any]) -> None:
        """Compare the header with that of this call."""
        try:
            found = bounded.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("kind") != KIND:
            raise self._failed("expected a checkpoint of mining, got another file, which is unchanged")
        differing = [
            f"{name} ({found.get(name)!r:.24} there, {value!r:.24} now)"
            for name, value in expected.items()
            if found.get(name) != value
        ]
        if differing:
            raise self._failed(f"belongs to another call, which differs in {'; '.join(differing)}")

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise self._failed(
                f"cannot be written: {error.strerror or error}; run the same call again to resume from it"
            ) from error


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
