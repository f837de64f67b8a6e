"""The studies of explanations and of cost: data sets × explainers, kept cell by cell."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gdlnn.errors import GDLNNError
from gdlnn.evaluation.cells import Result, Store
from gdlnn.evaluation.explain_cells import ExplainPlace, ExplainStore, ExplainTask, Step
from gdlnn.evaluation.explain_running import (
    PROTOCOL,
    OutOfTimeError,
    network_task,
    programs_file,
    run_explain_task,
    time_limit,
)
from gdlnn.evaluation.explainers import EXPLAINERS, Explainer, chosen_configuration
from gdlnn.evaluation.pool import Pool
from gdlnn.evaluation.programs import ensure_programs
from gdlnn.evaluation.running import failure, load_split

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gdlnn.evaluation.programs import MiningSpec

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
        self._n_train: dict[str, int] = {}
        self._waiting: dict[str, list[ExplainTask]] = {}

    def run(self) -> int:
        """Do what is not done yet; return the number of cells that failed."""
        tasks = self._plan()
        self._total += len(tasks)
        left = [task for task in tasks if not self._known(task)]
        networks = [task for task in left if EXPLAINERS[task.method].kind == "network"]
        others = [task for task in left if EXPLAINERS[task.method].kind != "network"]
        with Pool(self.place, self.settings.n_workers, run_explain_task) as pool:
            # What others wait for comes first, then what takes long in one piece, then graph by graph; what
            # has to be mined comes last, and keeps this process busy while workers do the rest.
            for task in networks:
                self._begin_network(network_task(task, task.options["device"]), pool)
            if self.settings.step == "cost":  # the time of a fit is taken on the processor
                for task in (task for task in tasks if EXPLAINERS[task.method].kind == "network"):
                    self._begin_network(network_task(task, self.place.device), pool)
            # A list: mining for one cell may be all that another one waits for.
            unmined = [task for task in others if self._to_mine(task)]
            for task in (task for task in others if task not in unmined):
                pool.add(task)
            for task in networks:
                self._after_its_network(task, pool)
            for task in unmined:
                if self._mined(task):
                    pool.add(task)
                if self.settings.n_workers > 1:
                    self._collect(pool, block=False)
            while pool:
                self._collect(pool, block=True)
        return self._failed

    # --- planning -----------------------------------------------------------------------------------------

    def _plan(self) -> list[ExplainTask]:
        """Return the cells, those of large data sets first, so that none of them is left for last."""
        planned: list[tuple[int, list[ExplainTask]]] = []
        for name in self.settings.datasets:
            try:
                split, self._fingerprints[name] = load_split(name, PROTOCOL, PROTOCOL, self.place)
            except (GDLNNError, OSError) as error:
                for method in self.settings.methods:
                    task = ExplainTask(self.settings.step, name, method, {}, self.settings.seed)
                    self._total += 1
                    self._finished(task, {**task.to_json(), **failure(error)})
                continue
            self._n_train[name] = len(split.train)
            planned.append((len(split.train), self._plan_dataset(name, len(split.test))))
        planned.sort(key=lambda pair: -pair[0])
        return [task for _, tasks in planned for task in tasks]

    def _plan_dataset(self, name: str, n_test: int) -> list[ExplainTask]:
        rows = sampled_rows(n_test, self.settings.sample, self.settings.seed)
        stores = [Store(self.place.programs or self.place.out)]
        tasks = []
        for method in self.settings.methods:
            explainer = EXPLAINERS[method]
            fingerprint = self._fingerprints[name]
            configuration, _ = chosen_configuration(stores, name, explainer.method, fingerprint)
            task = ExplainTask(self.settings.step, name, method, configuration, self.settings.seed, rows)
            if explainer.kind == "network":
                task = replace(task, options={"device": self._network_device(task)})
            groups = [(row,) for row in rows] if explainer.one_by_one else [rows]
            tasks += [replace(task, rows=group) for group in groups]
        return tasks

    def _network_device(self, task: ExplainTask) -> str:
        """Return where the network that a cell explains is fitted.

        What an explanation costs does not depend on that: a network that the study of explanations fitted on
        an accelerator will do, while the time of a fit is taken on the processor.
        """
        if self.settings.step == "cost":
            for device in ("cuda", "auto"):
                before = self._network(network_task(task, device))
                if before is not None and before["status"] == "ok":
                    return device
        return self.place.device

    # --- doing --------------------------------------------------------------------------------------------

    def _known(self, task: ExplainTask) -> bool:
        known = self.store.finished(task, self._fingerprints[task.dataset], self.place.limit) is not None
        self._done += known
        return known

    def _begin_network(self, network: ExplainTask, pool: Work) -> None:
        """Fit a network that is not there yet; once."""
        if network.name not in self._waiting and self._network(network) is None:
            self._waiting[network.name] = []
            pool.add(network)

    def _network(self, network: ExplainTask) -> Result | None:
        return self.store.finished(network, self._fingerprints[network.dataset], self.place.limit)

    def _after_its_network(self, task: ExplainTask, pool: Work) -> None:
        """Start a cell, or let it wait for its network together with others."""
        network = network_task(task, task.options["device"])
        if network.name in self._waiting:
            self._waiting[network.name].append(task)
            return
        before = self._network(network)
        assert before is not None
        self._go_on(task, before, pool)

    def _go_on(self, task: ExplainTask, network: Result, pool: Work) -> None:
        if network["status"] == "ok":
            pool.add(task)
            return
        lost: Result = {key: network[key] for key in ("status", "limit", "fingerprint") if key in network}
        reason = f"its network: {network['reason']}"
        self._finished(task, {**task.to_json(), **lost, "reason": reason})

    def _to_mine(self, task: ExplainTask) -> list[tuple[MiningSpec, Path]]:
        """Return what a cell needs and nobody has mined yet, with the files it goes to."""
        programs = EXPLAINERS[task.method].method.programs
        assert programs is not None
        fingerprint = self._fingerprints[task.dataset]
        split, _ = load_split(task.dataset, PROTOCOL, PROTOCOL, self.place)
        wanted = [
            (spec, programs_file(self.place, task.dataset, fingerprint, spec.key))
            for spec in programs(task.configuration, len(split.train))
        ]
        return [(spec, file) for spec, file in wanted if not file.is_file()]

    def _mined(self, task: ExplainTask) -> bool:
        """Mine what a cell needs; where that fails or takes too long, so does the cell."""
        split, _ = load_split(task.dataset, PROTOCOL, PROTOCOL, self.place)
        lost: Result
        try:
            with time_limit(self.place.limit):
                for spec, file in self._to_mine(task):
                    self._say(f"mining {task.dataset}, ε = {spec.epsilon}, {spec.strategy}")
                    ensure_programs(split.train, spec, file, self.settings.n_workers)
        except OutOfTimeError:
            # A failure and not late: it is tried again once the programs are there.
            lost = {"status": "failed", "reason": f"mining not finished in {self.place.limit:g} s"}
        except Exception as error:
            logger.debug("mining failed", exc_info=True)
            lost = failure(error)
        else:
            return True
        self._finished(task, {**task.to_json(), **lost})
        return False

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
