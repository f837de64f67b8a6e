"""mine(): from labelled graphs to programs. The search itself is in the core."""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.jobs import has_processes
from gdlnn.matching import n_threads_for
from gdlnn.mining.bags import Bags, bag_rows, mine_in_bags, n_bags
from gdlnn.mining.descents import LocalRun, MiningData, ProcessRun, Run
from gdlnn.mining.hidden_features import find_hidden
from gdlnn.mining.program_set import MinedProgram, MiningStats, ProgramSet, SetInfo
from gdlnn.mining.results import Checkpoint, TaskResult, checkpoint_header
from gdlnn.mining.settings import (
    STEP_BUDGET,
    Nominal,
    Settings,
    Strategy,
    Targets,
    checked_jobs,
    checked_labels,
    checked_settings,
    non_negative,
    resolved_epsilon,
    whole,
)
from gdlnn.mining.supports import parse_rows
from gdlnn.mining.tasks import Plan, choose_targets, make_plan
from gdlnn.progress import progress_bar

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from gdlnn.graphs import GraphDataset

IntArray = npt.NDArray[np.int64]
logger = logging.getLogger(__name__)


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
    seed: int = 0,
    bags: Bags = None,
    time_limit: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> ProgramSet:
    """Mine programs from labelled graphs: one descent from every target, by the paper's Algorithm 3.

    A descent starts with the whole target as a program and takes the best one-step generalisation as long as
    the score, matched graphs of the target's label over all matched graphs plus ε, does not fall. The result
    depends only on the data, the settings and the seed, not on threads, speed, or whether a run was stopped
    and resumed.

    Parameters
    ----------
    dataset
        Graphs with labels.
    epsilon
        ε of the score, or a percentage of the training graphs such as ``"1%"``. A larger ε favours programs
        with more support.
    strategy
        "greedy" is the paper's search; "sequential" the cheaper one after PL4XGL.
    connected
        Offer no mutation that splits the program; a target in several components then gives one program for
        each. False follows the paper's rules literally.
    targets
        Which graphs to start from: None for all, or row numbers. "auto": all up to 2,000, of more graphs
        2,000 drawn with the seed, so that the cost of mining in bags stops growing with their number.
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
    seed
        Seed of the choice of targets and bags.
    bags
        Split the graphs into this many bags, mine each separately, and count the programs over all graphs:
        cheaper by about that factor. Each program then has a `held_out_score`, its score outside its own bag.
        "auto": four bags, and beyond 1,600 graphs bags of about 400. A percentage for ε refers to a bag.
    time_limit
        Seconds after which mining stops; finished programs are returned.
    checkpoint
        A file to which finished descents are appended. The same call resumes from it.
    progress
        Show a bar in terminals and notebooks.

    Returns
    -------
    The programs; those of one label with the same canonical form are merged. After Ctrl-C or `time_limit`,
    the finished programs are returned; `.complete` is then False and `.stopped_by` gives the reason.
    """
    _, codes = checked_labels(dataset)
    least = whole("min_support", min_support, 0)
    limit = None if time_limit is None else non_negative("time_limit", time_limit)
    jobs = checked_jobs(n_jobs)
    rows = choose_targets(targets, codes, whole("seed", seed, 0))

    def search(
        graphs: GraphDataset, start: IntArray, file: str | os.PathLike[str] | None, seconds: float | None
    ) -> ProgramSet:
        settings = checked_settings(
            len(graphs),
            epsilon=epsilon,
            strategy=strategy,
            connected=connected,
            nominal=nominal,
            step_budget=step_budget,
            seed=seed,
        )
        found = _mine(graphs, start, settings, ignore, jobs, file, _Clock(seconds), progress=progress)
        return found.filter(least) if least > 1 else found

    if bags is None:
        return search(dataset, rows, checkpoint, limit)
    parts = bag_rows(dataset, n_bags(bags, len(dataset)), seed)
    total = resolved_epsilon(epsilon, len(dataset))
    return mine_in_bags(search, dataset, rows, parts, total, checkpoint=checkpoint, time_limit=limit)


def _mine(
    dataset: GraphDataset,
    targets: IntArray,
    settings: Settings,
    ignore: Sequence[str],
    n_jobs: int | None,
    checkpoint: str | os.PathLike[str] | None,
    clock: _Clock,
    *,
    progress: bool,
) -> ProgramSet:
    """Mine from the given rows."""
    labels, codes = checked_labels(dataset)
    hidden = find_hidden(dataset, ignore)
    seen = hidden.hide(dataset)
    plan = make_plan(seen, codes, targets, connected=settings.connected)
    data = MiningData(seen.graphs, codes, len(labels), seen.schema)

    def start(numbers: Sequence[int]) -> Run:
        tasks = [plan.tasks[number] for number in numbers]
        if has_processes():
            return ProcessRun(data, settings, tasks, numbers)
        return LocalRun(data, settings, tasks, numbers, n_threads_for(n_jobs))

    with ExitStack() as stack:
        saved: Checkpoint | None = None
        if checkpoint is not None:
            header = checkpoint_header(data.fingerprint, labels, settings, plan)
            saved = stack.enter_context(Checkpoint(checkpoint, header, len(dataset)))
        results = {} if saved is None else dict(saved.finished)
        report = stack.enter_context(_reporting(progress, len(plan), results.values()))
        stopped_by = _run_tasks(start, len(plan), results, saved, report, clock)
    described = {**settings.to_json(), **({"ignore": list(ignore)} if hidden else {})}
    complete = stopped_by is None
    info = SetInfo.of(dataset, labels, codes, described, n_targets=len(targets), complete=complete)
    merged = _merged(plan, results, codes, labels)
    if hidden:
        merged = [m.replace(program=hidden.open(m.program, dataset.directed)) for m in merged]
    return ProgramSet(merged, info, clock.stats(results.values()), stopped_by)


# --- when to stop -----------------------------------------------------------------------------------------


class _Clock:
    def __init__(self, limit: float | None) -> None:
        self._cpu, self._wall, self._limit = time.process_time(), time.monotonic(), limit

    def over(self) -> bool:
        return self._limit is not None and time.monotonic() - self._wall >= self._limit

    def stats(self, results: Iterable[TaskResult]) -> MiningStats:
        listed = list(results)
        return MiningStats(
            tasks=len(listed),
            tests=sum(r.tests for r in listed),
            searches=sum(r.searches for r in listed),
            unknown=sum(r.unknown for r in listed),
            unresolved=sum(r.unresolved for r in listed),
            descent_seconds=sum(r.seconds for r in listed),
            cpu_seconds=time.process_time() - self._cpu,
            wall_seconds=time.monotonic() - self._wall,
        )


def _run_tasks(
    start: Callable[[Sequence[int]], Run],
    n_tasks: int,
    results: dict[int, TaskResult],
    saved: Checkpoint | None,
    report: Callable[[Sequence[TaskResult]], None],
    clock: _Clock,
) -> str | None:
    """Mine the tasks without a result; return why it stopped early, or None if all are done."""
    left = [number for number in range(n_tasks) if number not in results]
    if not left:
        return None
    stopped_by = None
    run = start(left)
    try:
        for batch in run.results():
            results.update((result.task, result) for result in batch)
            if saved is not None:
                saved.add(batch)
            report(batch)
            if stopped_by is None and clock.over():
                stopped_by = "time limit"
                run.stop()
    except KeyboardInterrupt:  # a record cut short by it is dropped when the checkpoint is read
        stopped_by = "interrupt"
    finally:
        run.stop()
    if len(results) == n_tasks:
        return None
    logger.warning(
        "mine: stopped by %s after %d of %d descents; the result is incomplete",
        stopped_by,
        len(results),
        n_tasks,
    )
    return stopped_by


@contextmanager
def _reporting(
    wanted: bool, n_tasks: int, before: Collection[TaskResult]
) -> Iterator[Callable[[Sequence[TaskResult]], None]]:
    """Show a bar, if wanted, that a function moves by finished descents."""
    programs = {result.program for result in before}
    with progress_bar("mining", n_tasks, completed=len(before), wanted=wanted) as update:

        def report(batch: Sequence[TaskResult]) -> None:
            programs.update(result.program for result in batch)
            update(advance=len(batch), says=f"descents, {len(programs)} programs")

        yield report


# --- the result -------------------------------------------------------------------------------------------


def _merged(
    plan: Plan, results: Mapping[int, TaskResult], codes: npt.NDArray[np.int32], labels: Sequence[Any]
) -> list[MinedProgram]:
    """Merge programs of one label with the same canonical form, in the order of their first tasks."""
    groups: dict[tuple[int, Any], list[int]] = {}
    for number in range(len(plan)):
        if number in results:
            code = int(codes[plan.tasks[number].graph])
            groups.setdefault((code, results[number].program), []).append(number)
    merged = []
    for (code, program), numbers in groups.items():
        # Supports differ only if a search ran out of budget; the most certain one is kept.
        best = results[min(numbers, key=lambda number: (results[number].unresolved, number))]
        targets = sorted({row for number in numbers for row in plan.rows[number]})
        support = parse_rows(best.support, len(codes))
        steps, certain = results[numbers[0]].mutations, best.unresolved == 0
        merged.append(
            MinedProgram(
                program, labels[code], best.score, support, np.array(targets, dtype=np.int64), steps, certain
            )
        )
    return sorted(
        merged, key=lambda item: int(item.targets[0])
    )  # stable: within a target in the order of tasks
