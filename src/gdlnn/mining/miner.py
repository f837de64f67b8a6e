"""mine(): from labelled graphs to programs. The search itself is in the core."""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.graphs.identity import fingerprint
from gdlnn.matching import n_threads_for
from gdlnn.mining.checkpoint import Checkpoint, checkpoint_header
from gdlnn.mining.descents import MiningData, TaskResult, choose_targets, make_plan, run_tasks
from gdlnn.mining.program_set import MinedProgram, MiningStats, ProgramSet, SetInfo, support_matrix
from gdlnn.mining.program_text import parse_rows
from gdlnn.mining.settings import (
    STEP_BUDGET,
    Nominal,
    Settings,
    Strategy,
    Targets,
    checked_labels,
    find_hidden,
    resolved_epsilon,
    seconds,
    whole,
)
from gdlnn.progress import progress_bar

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping, Sequence

    from gdlnn.graphs import GraphDataset
    from gdlnn.mining.descents import Codes, IntArray, Plan

    Path = str | os.PathLike[str]

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
    random_state: int = 0,
    time_limit: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: bool = True,
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
    _, codes = checked_labels(dataset)
    least, n_threads = whole("min_support", min_support, 0), n_threads_for(n_jobs)
    limit = seconds("time_limit", time_limit)
    rows = choose_targets(targets, codes, whole("random_state", random_state, 0))
    settings = Settings(
        resolved_epsilon(epsilon, len(dataset)),
        strategy,
        bool(connected),
        whole("step_budget", step_budget, 1),
        random_state=int(random_state),
        nominal=nominal,
    )
    found = _mine(dataset, rows, settings, ignore, n_threads, checkpoint, _Clock(limit), verbose=verbose)
    return found.filter(least) if least > 1 else found


class _Clock:
    def __init__(self, limit: float | None) -> None:
        self._cpu, self._wall, self._limit = time.process_time(), time.monotonic(), limit

    def over(self) -> bool:
        return self._limit is not None and time.monotonic() - self._wall >= self._limit

    def stats(self, results: Collection[TaskResult]) -> MiningStats:
        return MiningStats(
            tasks=len(results),
            tests=sum(r.tests for r in results),
            unknown=sum(r.unknown for r in results),
            descent_seconds=sum(r.seconds for r in results),
            cpu_seconds=time.process_time() - self._cpu,
            wall_seconds=time.monotonic() - self._wall,
        )


def _mine(
    dataset: GraphDataset,
    targets: IntArray,
    settings: Settings,
    ignore: Sequence[str],
    n_threads: int,
    checkpoint: Path | None,
    clock: _Clock,
    *,
    verbose: bool,
) -> ProgramSet:
    """Mine from the given rows."""
    labels, codes = checked_labels(dataset)
    hidden = find_hidden(dataset, ignore)
    searched = hidden.hide(dataset)
    plan = make_plan(searched, codes, targets, connected=settings.connected)
    data = MiningData(searched.graphs, codes, len(labels), searched.schema)
    with ExitStack() as stack:
        saved: Checkpoint | None = None
        if checkpoint is not None:
            header = checkpoint_header(fingerprint(searched.graphs, codes), labels, settings, plan)
            saved = stack.enter_context(Checkpoint(checkpoint, header, len(dataset)))
        results = {} if saved is None else dict(saved.finished)
        stopped_by = _run(data, settings, plan, n_threads, results, saved, clock, verbose=verbose)
    described = {**settings.to_json(), **({"ignore": list(ignore)} if hidden else {})}
    complete = stopped_by is None
    info = SetInfo.of(dataset, labels, codes, described, n_targets=len(targets), complete=complete)
    items, supports = _merged(plan, results, codes, labels)
    if hidden:
        items = [replace(item, program=hidden.open(item.program, dataset.directed)) for item in items]
    matrix = support_matrix(supports, len(dataset))
    return ProgramSet(items, matrix, info, clock.stats(results.values()), stopped_by)


def _run(
    data: MiningData,
    settings: Settings,
    plan: Plan,
    n_threads: int,
    results: dict[int, TaskResult],
    saved: Checkpoint | None,
    clock: _Clock,
    *,
    verbose: bool,
) -> str | None:
    """Mine the tasks without a result; return why it stopped early, or None if all are done."""
    left = {number: task for number, task in enumerate(plan.tasks) if number not in results}
    programs = {result.program for result in results.values()}
    stopped_by = None
    try:
        with (
            progress_bar("mining", len(plan), completed=len(results), wanted=verbose) as update,
            closing(run_tasks(data, settings, left, n_threads)) as batches,
        ):
            for batch in batches if left else ():
                results.update((result.task, result) for result in batch)
                if saved is not None:
                    saved.add(batch)
                programs.update(result.program for result in batch)
                update(advance=len(batch), text=f"descents, {len(programs)} programs")
                if clock.over():
                    stopped_by = "time limit"
                    break
    except KeyboardInterrupt:  # a record cut short by it is dropped when the checkpoint is read
        stopped_by = "interrupt"
    if len(results) == len(plan):
        return None
    logger.warning(
        "mine: stopped by %s after %d of %d descents; the result is incomplete",
        stopped_by,
        len(results),
        len(plan),
    )
    return stopped_by


def _merged(
    plan: Plan, results: Mapping[int, TaskResult], codes: Codes, labels: Sequence[Any]
) -> tuple[list[MinedProgram], list[IntArray]]:
    """Merge programs of one label with the same canonical form, and return them with their supports.

    They are in the order of their first targets, and within a target in the order of tasks.
    """
    groups: dict[tuple[int, Any], list[int]] = {}
    for number in sorted(results):
        code = int(codes[plan.tasks[number].graph])
        groups.setdefault((code, results[number].program), []).append(number)
    merged = []
    for (code, program), numbers in groups.items():
        # Supports differ only if a search ran out of budget; the most certain one is kept.
        best = results[min(numbers, key=lambda number: (results[number].unresolved, number))]
        targets = np.unique([row for number in numbers for row in plan.rows[number]])
        support = parse_rows(best.support, len(codes))
        steps, certain = results[numbers[0]].mutations, best.unresolved == 0
        item = MinedProgram(program, labels[code], best.score, len(support), targets, steps, certain)
        merged.append((item, support))
    merged.sort(key=lambda pair: int(pair[0].targets[0]))
    return [item for item, _ in merged], [support for _, support in merged]
