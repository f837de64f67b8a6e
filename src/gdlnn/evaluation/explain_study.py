"""The studies of explanations and of cost: data sets × explainers, kept cell by cell."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gdlnn.errors import GDLNNError
from gdlnn.evaluation.cells import Result, Store
from gdlnn.evaluation.explain_cells import ExplainPlace, ExplainStore, ExplainTask, Step
from gdlnn.evaluation.explain_running import PROTOCOL, network_task, programs_file, run_explain_task
from gdlnn.evaluation.explainers import EXPLAINERS, Explainer, chosen_configuration
from gdlnn.evaluation.pool import Pool
from gdlnn.evaluation.programs import ensure_programs
from gdlnn.evaluation.running import failure, load_data, load_split

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

logger = logging.getLogger(__name__)
Work = Pool[ExplainTask, ExplainPlace]


@dataclass(frozen=True)
class ExplainSettings:
    """What is studied.

    Attributes
    ----------
    step
        "explain" or "cost".
    datasets, methods
        Names of data sets and of `EXPLAINERS`.
    sample
        Test graphs of a data set that are explained, drawn with the seed; None for all of them.
    seed
        Seed of sample, models and explanations.
    n_workers
        Processes; mining takes as many threads.
    """

    step: Step
    datasets: Sequence[str]
    methods: Sequence[str]
    sample: int | None = 30
    seed: int = 0
    n_workers: int = 1


def sampled_rows(n_test: int, sample: int | None, seed: int) -> tuple[int, ...]:
    """Return the positions of the test graphs that are explained, rising; always the same for a seed."""
    if sample is None or sample >= n_test:
        return tuple(range(n_test))
    drawn = np.random.default_rng(seed).permutation(n_test)[:sample]
    return tuple(np.sort(drawn).tolist())


class ExplainStudy:
    """Run a study of explanations or of cost into a folder.

    Parameters
    ----------
    settings
        What is studied.
    place
        Where results go and with what cells are run.
    report
        Called with the number of cells that are done, of those known, and words on the last one.
    """

    def __init__(
        self,
        settings: ExplainSettings,
        place: ExplainPlace,
        report: Callable[[int, int, str], None] | None = None,
    ) -> None:
        self.settings, self.place = settings, place
        self.store = ExplainStore(place.out)
        self._report = report
        self._done, self._total, self._failed = 0, 0, 0
        self._fingerprints: dict[str, str] = {}
        self._waiting: dict[str, list[ExplainTask]] = {}

    def run(self) -> int:
        """Do what is not done yet; return the number of cells that failed."""
        tasks = [task for name in self._by_size() for task in self._plan(name)]
        self._total = len(tasks)
        with Pool(self.place, self.settings.n_workers, run_explain_task) as pool:
            # Networks first: most cells wait for them. Then what needs programs, while networks are fitted.
            for task in (t for t in tasks if EXPLAINERS[t.method].kind == "network"):
                self._after_its_network(task, pool)
            for task in (t for t in tasks if EXPLAINERS[t.method].kind != "network"):
                if not self._known(task) and self._mined(task):
                    pool.add(task)
                if self.settings.n_workers > 1:
                    self._collect(pool, block=False)
            while pool:
                self._collect(pool, block=True)
        return self._failed

    # --- planning -----------------------------------------------------------------------------------------

    def _by_size(self) -> list[str]:
        """Return the data sets that can be had, the largest first, so that none is left for last."""
        sizes = {}
        for name in self.settings.datasets:
            try:
                _, self._fingerprints[name] = load_split(name, PROTOCOL, PROTOCOL, self.place)
                sizes[name] = len(load_data(name, self.place.data))
            except (GDLNNError, OSError) as error:
                for method in self.settings.methods:
                    task = ExplainTask(self.settings.step, name, method, {}, self.settings.seed)
                    self._finished(task, {**task.to_json(), **failure(error)})
        return sorted(sizes, key=lambda name: -sizes[name])

    def _plan(self, name: str) -> list[ExplainTask]:
        (_, _, test), fingerprint = load_split(name, PROTOCOL, PROTOCOL, self.place)
        rows = sampled_rows(len(test), self.settings.sample, self.settings.seed)
        stores = [Store(self.place.programs or self.place.out)]
        tasks = []
        for method in self.settings.methods:
            explainer = EXPLAINERS[method]
            configuration, _ = chosen_configuration(stores, name, explainer.method, fingerprint)
            options = {"device": self.place.device} if explainer.kind == "network" else {}
            groups = [(row,) for row in rows] if explainer.one_by_one else [rows]
            tasks += [
                ExplainTask(
                    self.settings.step, name, method, configuration, self.settings.seed, group, options
                )
                for group in groups
            ]
        return tasks

    # --- doing --------------------------------------------------------------------------------------------

    def _known(self, task: ExplainTask) -> bool:
        known = self.store.finished(task, self._fingerprints[task.dataset], self.place.limit) is not None
        self._done += known and task.step != "network"
        return known

    def _after_its_network(self, task: ExplainTask, pool: Work) -> None:
        """Start a cell, or the fit of its network first; cells that share a network wait for it together."""
        if self._known(task):
            return
        network = network_task(task, self.place.device)
        before = self.store.finished(network, self._fingerprints[task.dataset], self.place.limit)
        if before is not None:
            self._go_on(task, before, pool)
        elif network.name in self._waiting:
            self._waiting[network.name].append(task)
        else:
            self._waiting[network.name] = [task]
            pool.add(network)

    def _go_on(self, task: ExplainTask, network: Result, pool: Work) -> None:
        if network["status"] == "ok":
            pool.add(task)
            return
        lost = {key: network[key] for key in ("status", "limit", "fingerprint") if key in network}
        reason = f"its network: {network['reason']}"
        self._finished(task, {**task.to_json(), **lost, "reason": reason})

    def _mined(self, task: ExplainTask) -> bool:
        """Mine what a cell needs; where that fails, so does the cell."""
        method = EXPLAINERS[task.method].method
        assert method.programs is not None
        split, fingerprint = load_split(task.dataset, PROTOCOL, PROTOCOL, self.place)
        try:
            for spec in method.programs(task.configuration):
                file = programs_file(self.place, task.dataset, fingerprint, spec.key)
                if not file.is_file():
                    self._say(f"mining {task.dataset}, ε = {spec.epsilon}, {spec.strategy}")
                    ensure_programs(split.train, spec, file, self.settings.n_workers)
        except Exception as error:
            logger.debug("mining failed", exc_info=True)
            self._finished(task, {**task.to_json(), **failure(error)})
            return False
        return True

    def _collect(self, pool: Work, *, block: bool) -> None:
        for task, result in pool.collect(block=block):
            self._finished(task, result)
            if task.step == "network":
                for waiting in self._waiting.pop(task.name, []):
                    self._go_on(waiting, result, pool)

    def _finished(self, task: ExplainTask, result: Result) -> None:
        self.store.write(task, result)
        if task.step != "network":
            self._done += 1
            self._failed += result["status"] == "failed"
        self._say(f"{task.dataset} {_words(task)}: {_outcome(task, result)}")

    def _say(self, says: str) -> None:
        if self._report is not None:
            self._report(self._done, self._total, says)


def _words(task: ExplainTask) -> str:
    explainer: Explainer = EXPLAINERS[task.method]
    if task.step == "network":
        return f"network {explainer.method.title}"
    return f"{task.method} graph {task.rows[0]}" if len(task.rows) == 1 else f"{task.method}"


def _outcome(task: ExplainTask, result: Result) -> str:
    if result["status"] != "ok":
        return str(result["reason"])
    if task.step == "network":
        return f"accuracy {100 * result['accuracy']:.1f} %, {result['times']['fit']:.1f} s"
    if task.step == "cost":
        return f"{np.mean([g['explain'] for g in result['graphs']]):.3g} s for an explanation"
    return f"{len(result['graphs'])} explained, {result['times']['explain']:.1f} s"
