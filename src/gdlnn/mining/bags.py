"""Mining in bags: the training graphs are split into bags that are mined separately.

A descent looks at all graphs of its bag, so with bags of fixed size the cost of mining is proportional to the
number of graphs. Programs are counted over all graphs; those outside a program's bag show how it does on
graphs that it was not chosen for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gdlnn.graphs.splits import fold_rows
from gdlnn.matching import ProgramPlan, as_graph_set
from gdlnn.mining.program_set import (
    MinedProgram,
    MiningStats,
    ProgramSet,
    SetInfo,
    matched_rows,
    support_matrix,
)
from gdlnn.mining.settings import FINAL_BUDGET, checked_labels, wrong
from gdlnn.progress import stage

if TYPE_CHECKING:
    from gdlnn.gdl.program import Program
    from gdlnn.graphs import GraphDataset

Bags = int | Literal["auto"] | None
IntArray = npt.NDArray[np.int64]
Search = Callable[["GraphDataset", IntArray, "Path | None", "float | None"], "ProgramSet"]
FEWEST_BAGS = 4
"""Minimum number of bags for "auto"."""
GRAPHS_OF_A_BAG = 400
"""About how many graphs "auto" puts into each bag of a large dataset."""


def n_bags(bags: Bags, n_graphs: int) -> int:
    """Return the number of bags; "auto": four, and beyond 1,600 graphs bags of about 400."""
    if isinstance(bags, str) and bags == "auto":
        return min(max(FEWEST_BAGS, round(n_graphs / GRAPHS_OF_A_BAG)), max(1, n_graphs // 2))
    if not isinstance(bags, int | np.integer) or isinstance(bags, bool) or not 1 <= bags <= n_graphs:
        raise wrong("bags", f"None, auto or a number from 1 to {n_graphs}", bags)
    return int(bags)


def bag_rows(dataset: GraphDataset, count: int, seed: int) -> list[IntArray]:
    """Return the sorted rows of each bag; classes keep their shares."""
    if count == 1:
        return [np.arange(len(dataset))]
    return [np.sort(rows) for _, rows in fold_rows(dataset, count, seed)]


def mine_in_bags(
    search: Search,
    dataset: GraphDataset,
    targets: IntArray,
    parts: list[IntArray],
    epsilon: float,
    checkpoint: str | os.PathLike[str] | None,
    time_limit: float | None,
) -> ProgramSet:
    """Mine every bag separately, and count the programs over all graphs.

    Parameters
    ----------
    search
        Mines the graphs of a bag from some of its rows, with a checkpoint and a time limit of its own.
    dataset, targets
        All graphs, and the rows to start from.
    parts
        The rows of each bag.
    epsilon
        ε of the scores over all graphs.
    checkpoint, time_limit
        As for `mine`; every bag has its own file next to the checkpoint.
    """
    started = time.monotonic()
    labels, codes = checked_labels(dataset)
    found: list[tuple[IntArray, ProgramSet]] = []
    stopped_by = None
    for number, rows in enumerate(parts, start=1):
        places = np.flatnonzero(np.isin(rows, targets))
        if not len(places):
            continue
        file = None if checkpoint is None else Path(f"{os.fspath(checkpoint)}.bag-{number}")
        left = None if time_limit is None else max(0.0, time_limit - (time.monotonic() - started))
        with stage(f"bag {number} of {len(parts)}"):
            programs = search(dataset.take(rows), places, file, left)
        found.append((rows, programs))
        stopped_by = programs.stopped_by
        if stopped_by is not None:
            break
    items, supports = _counted(dataset, labels, codes, found, epsilon)
    settings = {**found[0][1].info.settings, "epsilon": epsilon, "bags": len(parts)}
    complete = stopped_by is None
    info = SetInfo.of(dataset, labels, codes, settings, n_targets=len(targets), complete=complete)
    columns = zip(*(astuple(programs.stats) for _, programs in found), strict=True)
    stats = replace(MiningStats(*map(sum, columns)), wall_seconds=time.monotonic() - started)
    return ProgramSet(items, support_matrix(supports, len(dataset)), info, stats, stopped_by)


def _counted(
    dataset: GraphDataset,
    labels: list[Any],
    codes: npt.NDArray[np.int32],
    found: list[tuple[IntArray, ProgramSet]],
    epsilon: float,
) -> tuple[list[MinedProgram], list[IntArray]]:
    """Merge programs of one label that several bags found, and count them over all graphs."""
    groups: dict[tuple[Any, Program], list[tuple[IntArray, MinedProgram, IntArray]]] = {}
    for rows, programs in found:
        for item, places in zip(programs, matched_rows(programs.supports), strict=True):
            groups.setdefault((item.label, item.program), []).append((rows, item, rows[places]))
    graphs = as_graph_set(dataset.graphs)
    distinct = list(dict.fromkeys(program for _, program in groups))
    matches = ProgramPlan(distinct, graphs).match(graphs, step_budget=FINAL_BUDGET)
    masks = dict(zip(distinct, matches.table().T, strict=True))
    uncertain = {distinct[column] for column in matches.unknown.tolist()}
    merged = []
    for (label, program), several in groups.items():
        matched, right = masks[program], codes == labels.index(label)
        for _, _, support in several:
            matched[support] = True  # whatever the budget of the search
        outside = []
        for rows, _, _ in several:
            held_out = matched.copy()
            held_out[rows] = False
            outside.append(_score(held_out, right, epsilon))
        item = MinedProgram(
            program,
            label,
            _score(matched, right, epsilon),
            int(matched.sum()),
            np.unique(np.concatenate([rows[item.targets] for rows, item, _ in several])),
            several[0][1].steps,
            program not in uncertain and all(item.complete for _, item, _ in several),
            float(np.mean(outside)),
        )
        merged.append((item, np.flatnonzero(matched)))
    merged.sort(key=lambda pair: int(pair[0].targets[0]))
    return [item for item, _ in merged], [support for _, support in merged]


def _score(matched: npt.NDArray[np.bool_], right: npt.NDArray[np.bool_], epsilon: float) -> float:
    return float((matched & right).sum() / (matched.sum() + epsilon))
