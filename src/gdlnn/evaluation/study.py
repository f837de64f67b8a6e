"""A study: methods × data sets under a protocol, kept cell by cell, so that a killed one goes on."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gdlnn.errors import GDLNNError
from gdlnn.evaluation.cells import Result, Store, Task, config_key, read_result
from gdlnn.evaluation.methods import Configuration, Grid, Method, find_method
from gdlnn.evaluation.pool import Pool
from gdlnn.evaluation.programs import MiningSpec, ensure_programs
from gdlnn.evaluation.protocols import Protocol, SplitPlan, plan_splits
from gdlnn.evaluation.running import Place, failure, load_data, load_split, run_task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StudySettings:
    """What is studied and how.

    Attributes
    ----------
    datasets, methods
        Names.
    protocol
        "paper", "repeated", "cv" or "scaffold": see `plan_splits`.
    grid
        "quick": the documented configuration of each method; "paper": its whole space, or
        `n_configurations` of it, chosen by the validation part.
    n_runs
        Seeds on one split, or repeated splits.
    n_workers
        Processes; mining takes as many threads.
    """

    datasets: Sequence[str]
    methods: Sequence[str]
    protocol: Protocol = "paper"
    grid: Grid = "quick"
    n_configurations: int | None = None
    n_runs: int = 5
    n_workers: int = 1


@dataclass
class Group:
    """A method on a split: trials first, where there is something to choose, then its cells."""

    dataset: str
    split: SplitPlan
    fingerprint: str
    method: Method
    grid: str
    configurations: list[Configuration]
    size: int
    results: dict[str, Result] = field(default_factory=dict)

    def task(self, protocol: Protocol, seed: int, configuration: Configuration | None) -> Task:
        """Return a cell, or with no seed to come a trial of a configuration."""
        return Task(
            "trial" if configuration is not None else "cell",
            self.dataset,
            protocol,
            self.split.name,
            self.method.name,
            self.grid,
            len(self.configurations),
            config_key({"space": self.configurations, "fixed": self.method.fixed}),
            self.chosen() if configuration is None else configuration,
            seed,
        )

    def chosen(self) -> Configuration:
        """Return the configuration with the best validation accuracy, of equals the lowest loss."""
        if len(self.configurations) == 1:
            return self.configurations[0]
        fine = [result for result in self.results.values() if result["status"] == "ok"]
        if not fine:
            return self.configurations[0]
        best = min(fine, key=lambda r: (-r["val_accuracy"], r["val_loss"]))
        configuration: Configuration = best["configuration"]
        return configuration

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the cells: one where the method is not random."""
        return self.split.seeds if self.method.random else self.split.seeds[:1]

    @property
    def selection_seconds(self) -> float:
        """What choosing the configuration took."""
        return float(sum(r["times"]["fit"] for r in self.results.values() if r["status"] == "ok"))


class Study:
    """Run a study into a folder.

    Parameters
    ----------
    settings
        What is studied and how.
    place
        Where results go and with what tasks are run.
    report
        Called with the number of tasks that are done, of those known so far, and words on the last one.
    """

    def __init__(
        self,
        settings: StudySettings,
        place: Place,
        report: Callable[[int, int, str], None] | None = None,
    ) -> None:
        self.settings, self.place = settings, place
        self.store = Store(place.out)
        self._report = report
        self._done, self._total, self._failed = 0, 0, 0
        self._groups: dict[tuple[str, str, str], Group] = {}
        self._open: dict[tuple[str, str, str], int] = {}

    def run(self) -> int:
        """Do what is not done yet; return the number of failed cells."""
        groups = self._plan()
        with Pool(self.place, self.settings.n_workers, run_task) as pool:
            # Tasks without programs keep the workers busy while this process mines.
            for group in (g for g in groups if g.method.programs is None):
                self._begin(group, pool)
            for group in (g for g in groups if g.method.programs is not None):
                if self._mine(group):
                    self._begin(group, pool)
                if self.settings.n_workers > 1:
                    self._collect(pool, block=False)
            while pool:
                self._collect(pool, block=True)
        return self._failed

    # --- planning -----------------------------------------------------------------------------------------

    def _plan(self) -> list[Group]:
        """Return the groups, those on large data sets first, so that none is left for last."""
        groups: list[Group] = []
        for name in self.settings.datasets:
            for split in plan_splits(self.settings.protocol, self.settings.n_runs):
                try:
                    _, fingerprint = load_split(name, self.settings.protocol, split.name, self.place)
                    size = len(load_data(name, self.place.data))
                except (GDLNNError, OSError) as error:
                    self._no_split(name, split, error)
                    continue
                groups += [self._group(name, split, fingerprint, m, size) for m in self.settings.methods]
        groups.sort(key=lambda group: -group.size)
        for group in groups:
            self._total += len(group.seeds)
            self._total += len(group.configurations) if len(group.configurations) > 1 else 0
        return groups

    def _group(self, name: str, split: SplitPlan, fingerprint: str, method_name: str, size: int) -> Group:
        method = find_method(method_name)
        configurations = method.configurations(self.settings.grid, self.settings.n_configurations)
        grid = "quick" if self.settings.grid == "quick" else f"paper-{len(configurations)}"
        group = Group(name, split, fingerprint, method, grid, configurations, size)
        self._groups[name, split.name, method_name] = group
        return group

    def _no_split(self, name: str, split: SplitPlan, error: Exception) -> None:
        """Leave a failed cell for every method of a data set that cannot be had."""
        for method in self.settings.methods:
            group = self._group(name, split, "", method, 0)
            self._total += len(group.seeds)
            self._fail(group, error)

    def _fail(self, group: Group, error: BaseException) -> None:
        for seed in group.seeds:
            task = group.task(self.settings.protocol, seed, None)
            self.store.write(task, {**task.to_json(), **failure(error)})
            self._finished(task, failure(error))

    # --- doing --------------------------------------------------------------------------------------------

    def _mine(self, group: Group) -> bool:
        """Mine what a group needs; where that fails, so do its cells."""
        if all(self._known(group, seed) for seed in group.seeds):
            return True
        assert group.method.programs is not None
        try:
            split, _ = load_split(group.dataset, self.settings.protocol, group.split.name, self.place)
            n_train = len(split.train)
            specs = {spec: None for c in group.configurations for spec in group.method.programs(c, n_train)}
            for spec in specs:
                self._mine_spec(group, spec)
        except Exception as error:
            logger.debug("mining failed", exc_info=True)
            self._fail(group, error)
            return False
        return True

    def _mine_spec(self, group: Group, spec: MiningSpec) -> None:
        file = self.store.programs_file(group.dataset, group.fingerprint, spec.key)
        if file.is_file():
            return
        says = f"mining {group.dataset} {group.split.name}, ε = {spec.epsilon}, {spec.strategy}"
        self._say(says)
        split, _ = load_split(group.dataset, self.settings.protocol, group.split.name, self.place)
        ensure_programs(split.train, spec, file, self.settings.n_workers)

    def _known(self, group: Group, seed: int) -> Result | None:
        return self.store.finished(group.task(self.settings.protocol, seed, None), group.fingerprint)

    def _begin(self, group: Group, pool: Pool[Task, Place]) -> None:
        """Start with the trials of a group, or with its cells where there is nothing to choose."""
        if all(self._known(group, seed) for seed in group.seeds):
            skipped = len(group.seeds) + (len(group.configurations) if len(group.configurations) > 1 else 0)
            self._done += skipped
            return
        if len(group.configurations) == 1:
            self._cells(group, pool)
            return
        tasks = []
        for configuration in group.configurations:
            task = group.task(self.settings.protocol, 0, configuration)
            before = self._trial_before(task, group.fingerprint)
            if before is None:
                tasks.append(task)
            else:
                group.results[task.name] = before
                self._done += 1
        self._open[group.dataset, group.split.name, group.method.name] = len(tasks)
        for task in tasks:
            pool.add(task)
        if not tasks:
            self._cells(group, pool)

    def _trial_before(self, task: Task, fingerprint: str) -> Result | None:
        # A trial is the same whatever number of others it was drawn with.
        result = read_result(self.store.task_file(task))
        fine = result is not None and result["status"] == "ok" and result["fingerprint"] == fingerprint
        return result if fine else None

    def _cells(self, group: Group, pool: Pool[Task, Place]) -> None:
        for seed in group.seeds:
            if self._known(group, seed):
                self._done += 1
            else:
                pool.add(group.task(self.settings.protocol, seed, None))

    def _collect(self, pool: Pool[Task, Place], *, block: bool) -> None:
        """Take what has ended, and start what waited for it."""
        for task, result in pool.collect(block=block):
            key = (task.dataset, task.split, task.method)
            group = self._groups[key]
            if task.kind == "cell":
                result["selection_seconds"] = group.selection_seconds
            self.store.write(task, result)
            self._finished(task, result)
            if task.kind == "trial":
                group.results[task.name] = result
                self._open[key] -= 1
                if self._open[key] == 0:
                    self._cells(group, pool)

    def _finished(self, task: Task, result: Result) -> None:
        self._done += 1
        self._failed += task.kind == "cell" and result["status"] != "ok"
        said = f"{task.dataset} {task.split} {task.method} seed {task.seed}"
        if result["status"] != "ok":
            said += f": {result['reason']}"
        elif task.kind == "cell":
            said += f": accuracy {100 * result['metrics']['accuracy']:.1f} %"
        else:
            said += f": validation {100 * result['val_accuracy']:.1f} %"
        self._say(said)

    def _say(self, says: str) -> None:
        if self._report is not None:
            self._report(self._done, self._total, says)
