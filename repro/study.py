"""A study: a plan says which cells there are, `Study` computes those that are missing, one file each."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from gdlnn.errors import GDLNNError
from repro.inputs import ensure_programs, find_programs, load_split
from repro.pool import OutOfTimeError, Pool, failure, run_task, time_limit
from repro.store import PREREQUISITES, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gdlnn.graphs.splits import Split
    from repro.inputs import MiningSpec, SplitPlan
    from repro.store import Protocol, Result, RunConfig, Task

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Job:
    """A task of a study and what it needs before it can start.

    Attributes
    ----------
    task
        The task; `StudyPlan.settle` may change it once its prerequisites are done.
    fingerprint
        Of the split.
    after
        Tasks whose results it needs.
    programs
        Programs that it or its prerequisites need.
    """

    task: Task
    fingerprint: str
    after: tuple[Task, ...] = ()
    programs: tuple[MiningSpec, ...] = ()


class StudyPlan(ABC):
    """One kind of study: its cells, how a cell is computed, and how results are presented.

    Attributes
    ----------
    datasets, methods
        Names.
    protocol
        How datasets are split.
    """

    datasets: Sequence[str]
    methods: Sequence[str]
    protocol: Protocol

    @property
    @abstractmethod
    def lock(self) -> str:
        """A word for locks: studies with the same word compute the same for a dataset and a method."""

    @abstractmethod
    def splits(self) -> list[SplitPlan]:
        """Return the splits of every dataset."""

    @abstractmethod
    def jobs(
        self, dataset: str, plan: SplitPlan, split: Split, fingerprint: str, config: RunConfig
    ) -> list[Job]:
        """Return the cells on a split."""

    @abstractmethod
    def without_data(self, dataset: str, plan: SplitPlan) -> list[Task]:
        """Return the cells that fail if a dataset cannot be loaded or split."""

    @property
    @abstractmethod
    def compute(self) -> Callable[[Task, RunConfig], Result]:
        """The function that computes one task; one of a module, so that workers can import it."""

    def settle(self, task: Task, before: list[Result]) -> Task | Result:
        """Return a task as the results of its prerequisites make it, or its result if they rule it out."""
        del before
        return task

    @abstractmethod
    def describe(self, task: Task, result: Result) -> str:
        """Return one line on a task that has ended."""


class Study:
    """Run a study into a folder; what is there already is not computed again.

    Parameters
    ----------
    plan
        What is studied.
    config
        Where results go and with what tasks are run.
    report
        Called with the number of tasks done, the number of tasks, and a line on the last one.
    """

    def __init__(
        self, plan: StudyPlan, config: RunConfig, report: Callable[[int, int, str], Any] | None = None
    ) -> None:
        self.plan, self.config = plan, config
        self.store = Store(config.out)
        self._report = report
        self._done, self._total, self._failed = 0, 0, 0
        self._results: dict[str, Result] = {}  # of prerequisites, by name
        self._started: set[str] = set()
        self._waiting: list[Job] = []
        self._unmined: dict[Path, Result] = {}

    def run(self) -> int:
        """Compute what is missing; return the number of failed cells."""
        jobs = self._missing(self._plan())
        unmined = [job for job in jobs if self._to_mine(job)]
        ready = [job for job in jobs if job not in unmined]
        with Pool(self.config, partial(run_task, self.plan.compute)) as pool:
            # Prerequisites come first, then jobs without any. Mining comes last: it keeps this process busy
            # while the workers do the rest.
            for job in ready:
                self._start_prerequisites(job, pool)
            for job in sorted(ready, key=lambda job: bool(job.after)):
                self._start(job, pool)
            for job in unmined:
                if self._mine(job):
                    self._start_prerequisites(job, pool)
                    self._start(job, pool)
                if self.config.n_workers > 1:
                    self._collect(pool, block=False)
            while pool:
                self._collect(pool, block=True)
        return self._failed

    # --- planning -----------------------------------------------------------------------------------------

    def _plan(self) -> list[Job]:
        """Return all jobs, those of large datasets first, so that none of them is left for last."""
        sized: list[tuple[int, list[Job]]] = []
        for name in self.plan.datasets:
            for planned in self.plan.splits():
                try:
                    split, fingerprint = load_split(name, self.plan.protocol, planned.name, self.config)
                except (GDLNNError, OSError) as error:
                    tasks = self.plan.without_data(name, planned)
                    self._total += len(tasks)
                    for task in tasks:
                        self._finish(task, {**task.to_json(), **failure(error)})
                    continue
                sized.append(
                    (len(split.train), self.plan.jobs(name, planned, split, fingerprint, self.config))
                )
        sized.sort(key=lambda pair: -pair[0])
        return [job for _, jobs in sized for job in jobs]

    def _missing(self, jobs: list[Job]) -> list[Job]:
        """Return the jobs that are not done, and count all tasks."""
        left = [job for job in jobs if self._finished(job.task, job.fingerprint) is None]
        counted = {task.name for job in jobs for task in (job.task, *job.after) if _is_counted(task)}
        needed = {task.name for job in left for task in (job.task, *job.after)}
        self._total += len(counted)
        self._done += len(counted - needed)
        return left

    def _finished(self, task: Task, fingerprint: str) -> Result | None:
        return self.store.finished(task, fingerprint, self.config.limit)

    # --- mining -------------------------------------------------------------------------------------------

    def _to_mine(self, job: Job) -> list[tuple[MiningSpec, Path]]:
        """Return the programs that a job needs and nobody has mined, with the files they go to."""
        wanted = [
            (spec, find_programs(self.config, job.task.dataset, job.fingerprint, spec))
            for spec in job.programs
        ]
        return [(spec, file) for spec, file in wanted if not file.is_file()]

    def _mine(self, job: Job) -> bool:
        """Mine what a job needs; if that fails or takes too long, the job fails."""
        wanted = self._to_mine(job)
        lost = next((self._unmined[file] for _, file in wanted if file in self._unmined), None)
        if lost is None:
            lost = self._mine_files(job.task, wanted)
        if lost is not None:
            self._finish(job.task, {**job.task.to_json(), **lost})
        return lost is None

    def _mine_files(self, task: Task, wanted: list[tuple[MiningSpec, Path]]) -> Result | None:
        """Mine programs; return what went wrong, or None."""
        split, _ = load_split(task.dataset, task.protocol, task.split, self.config)
        try:
            with time_limit(self.config.limit):
                for spec, file in wanted:
                    self._say(f"mining {_where(task)}, ε = {spec.epsilon}, {spec.strategy}")
                    ensure_programs(split.train, spec, file, self.config.n_workers)
        except OutOfTimeError:
            # A failure, not "late": it is tried again, by the next job too, from what is mined by then.
            return {"status": "failed", "reason": f"mining not finished in {self.config.limit:g} s"}
        except Exception as error:
            logger.debug("mining failed", exc_info=True)
            lost = failure(error)
            self._unmined |= {file: lost for _, file in wanted if not file.is_file()}
            return lost
        return None

    # --- running ------------------------------------------------------------------------------------------

    def _start_prerequisites(self, job: Job, pool: Pool) -> None:
        for task in job.after:
            if task.name in self._started or task.name in self._results:
                continue
            before = self._finished(task, job.fingerprint)
            if before is None:
                self._add(task, pool)
            else:
                self._results[task.name] = before
                self._done += _is_counted(task)

    def _start(self, job: Job, pool: Pool) -> None:
        """Start a job, or let it wait for its prerequisites."""
        if any(task.name not in self._results for task in job.after):
            self._waiting.append(job)
            return
        settled = self.plan.settle(job.task, [self._results[task.name] for task in job.after])
        if isinstance(settled, dict):
            self._finish(job.task, {**job.task.to_json(), **settled})
        else:
            self._add(settled, pool)

    def _add(self, task: Task, pool: Pool) -> None:
        if task.name not in self._started:
            self._started.add(task.name)
            pool.add(task)

    def _collect(self, pool: Pool, *, block: bool) -> None:
        """Take what has ended, and start what waited for it."""
        for task, result in pool.collect(block=block):
            self._finish(task, result)
            if task.kind in PREREQUISITES:
                self._results[task.name] = result
                waiting, self._waiting = self._waiting, []
                for job in waiting:
                    self._start(job, pool)

    def _finish(self, task: Task, result: Result) -> None:
        self.store.write(task, result)
        self._done += _is_counted(task)
        self._failed += task.kind not in PREREQUISITES and result["status"] == "failed"
        self._say(f"{_where(task)} {self.plan.describe(task, result)}")

    def _say(self, words: str) -> None:
        if self._report is not None:
            self._report(self._done, self._total, words)


def _is_counted(task: Task) -> bool:
    """Say whether progress counts a task: networks are few, and shared by cells."""
    return task.kind != "network"


def _where(task: Task) -> str:
    return f"{task.dataset} {task.split}" if task.is_accuracy else task.dataset
