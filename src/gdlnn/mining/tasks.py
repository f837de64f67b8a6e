"""Tasks: the descents of a mining call, each from a target or one component of it.

The tasks do not depend on the number of threads or on what has been mined before: the same call always has
the same ones.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import MiningError
from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.identity import first_twins, mix64
from gdlnn.graphs.splits import stratified_sample
from gdlnn.mining.settings import MOST_TARGETS, wrong

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.graphs import Graph, GraphDataset
    from gdlnn.mining.settings import Settings, Targets

IntArray = npt.NDArray[np.int64]


class Task(NamedTuple):
    """One descent: some nodes of one graph, with fixed ties or with random ones from a seed."""

    graph: int
    nodes: tuple[int, ...]
    random_ties: bool
    seed: int


@dataclass(frozen=True)
class Plan:
    """The tasks of a call, and the rows of the targets that each one covers.

    ``rows`` begins with the row a task was made from; rows of isomorphic targets of the same label, which are
    not mined again, follow. ``targets`` are all rows with a task.
    """

    tasks: tuple[Task, ...]
    rows: tuple[tuple[int, ...], ...]
    targets: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.tasks)


def make_plan(
    dataset: GraphDataset, codes: npt.NDArray[np.int32], targets: IntArray, settings: Settings
) -> Plan:
    """List the tasks, target by target; isomorphic targets (or components) of one label are mined once."""
    starts = _parts([dataset.graphs[row] for row in targets], settings.connected)
    parts = [
        (row, number, nodes)
        for row, sets in zip(targets.tolist(), starts, strict=True)
        for number, nodes in enumerate(sets)
    ]
    first = first_twins(
        [_induced(dataset.graphs[row], nodes) for row, _, nodes in parts],
        [int(codes[row]) for row, _, _ in parts],
    )
    rows: dict[int, set[int]] = defaultdict(set)
    for part, original in enumerate(first):
        rows[original].add(parts[part][0])
    tasks, stands_for = [], []
    for part, (row, number, nodes) in enumerate(parts):
        if first[part] != part:
            continue
        for restart in range(settings.restarts + 1):
            seed = tie_seed(settings.seed, row, number, restart) if restart else 0
            tasks.append(Task(row, nodes, restart > 0, seed))
            stands_for.append((row, *sorted(rows[part] - {row})))
    return Plan(tuple(tasks), tuple(stands_for), tuple(sorted({row for row, _, _ in parts})))


def _parts(graphs: Sequence[Graph], connected: bool) -> Iterator[list[tuple[int, ...]]]:
    """Yield for each graph the sets of nodes that descents start from."""
    if not connected:
        yield from ([tuple(range(graph.n_nodes))] if graph.n_nodes else [] for graph in graphs)
        return
    arrays = GraphArrays.of(graphs)
    components = arrays.components()
    for first, last in pairwise(arrays.node_offsets.tolist()):
        members: dict[int, list[int]] = defaultdict(list)
        for node, component in enumerate(components[first:last].tolist()):
            members[component].append(node)
        yield [tuple(nodes) for nodes in members.values()]


def _induced(graph: Graph, nodes: tuple[int, ...]) -> Graph:
    return graph if len(nodes) == graph.n_nodes else graph.subgraph(nodes)


def tie_seed(seed: int, target: int, component: int, restart: int) -> int:
    """Return the seed of a descent with random ties.

    The four numbers are folded one after another into a 64-bit state that splitmix64 mixes each time, so a
    descent has the same seed whatever else is mined, and on however many threads.
    """
    state = np.zeros(1, dtype=np.uint64)
    for number in (seed, target, component, restart):
        state = mix64(state ^ np.uint64(number))
    return int(state[0])


def choose_targets(targets: Targets, codes: npt.NDArray[np.int32], seed: int) -> IntArray:
    """Return the sorted rows to mine.

    A number or a fraction is drawn with the seed so that labels keep their shares; rows or a mask are taken
    as given. "auto" draws `MOST_TARGETS` of more graphs.
    """
    n = len(codes)
    if isinstance(targets, str) and targets == "auto":
        targets = None if n <= MOST_TARGETS else MOST_TARGETS
    if targets is None:
        return np.arange(n)
    if isinstance(targets, bool | np.bool_ | str):
        raise _not_targets(targets)
    if isinstance(targets, int | np.integer):
        if not 1 <= targets <= n:
            raise MiningError(f"mine: targets: expected a number from 1 to {n}, got {targets}")
        return stratified_sample(codes, int(targets), seed)
    if isinstance(targets, float | np.floating):
        if not 0 < targets <= 1:
            raise MiningError(f"mine: targets: expected a fraction above 0 and at most 1, got {targets}")
        return stratified_sample(codes, max(1, round(float(targets) * n)), seed)
    return _listed(targets, n)


def _listed(targets: npt.ArrayLike, n: int) -> IntArray:
    try:
        rows = np.asarray(targets)
    except ValueError:
        raise _not_targets(targets) from None
    if rows.dtype == np.bool_ and rows.shape == (n,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and not np.issubdtype(rows.dtype, np.integer)):
        raise _not_targets(targets)
    rows = rows.astype(np.int64)
    bad = rows[(rows < -n) | (rows >= n)]
    if bad.size:
        raise MiningError(f"mine: targets: expected rows from 0 to {n - 1}, got {int(bad[0])}")
    return np.unique(np.where(rows < 0, rows + n, rows))


def _not_targets(got: object) -> MiningError:
    return wrong("targets", "None, auto, a number, a fraction, row numbers or a mask over the graphs", got)
