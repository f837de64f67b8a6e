"""Tasks: which descents a mining call consists of. Each starts from a target, or from one component of it.

Nothing here depends on the number of threads or on what has been mined before, so that the same call always
has the same tasks.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import MiningError
from gdlnn.gdl.program import Program
from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.duplicates import refined_colours

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gdlnn.graphs import Graph, GraphDataset
    from gdlnn.mining.settings import Settings, Targets

IntArray = npt.NDArray[np.int64]
_MASK = (1 << 64) - 1


class Task(NamedTuple):
    """One descent: some nodes of one graph, with fixed ties or with random ones from a seed."""

    graph: int
    nodes: tuple[int, ...]
    random_ties: bool
    seed: int


@dataclass(frozen=True)
class Plan:
    """The tasks of a call, and the rows of the targets that each one stands for.

    ``rows`` holds the row a task was made from first; more rows follow where isomorphic targets of the same
    label were left out. ``targets`` are all rows with a task.
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
    first = _first_twins(dataset, codes, [(row, nodes) for row, _, nodes in parts])
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
    """Give for each graph the sets of nodes that descents start from."""
    if not connected:
        yield from ([tuple(range(graph.n_nodes))] if graph.n_nodes else [] for graph in graphs)
        return
    roots, offsets = component_roots(graphs)
    for first, last in pairwise(offsets.tolist()):
        members: dict[int, list[int]] = defaultdict(list)
        for node, root in enumerate(roots[first:last].tolist()):
            members[root].append(node)
        yield [tuple(nodes) for nodes in members.values()]


def component_roots(graphs: Sequence[Graph]) -> tuple[IntArray, IntArray]:
    """Return for each node of all graphs, laid end to end, the first node of its connected component.

    Directions aside. Every node hands the smallest number it knows to its neighbours until nothing changes;
    following the numbers found so far makes the rounds few.
    """
    arrays = GraphArrays.of(graphs)
    ends = arrays.global_edges()
    roots = np.arange(len(arrays.node_features))
    while True:
        smallest = roots[ends].min(axis=1)
        found = roots.copy()
        for column in (0, 1):
            np.minimum.at(found, ends[:, column], smallest)
            np.minimum.at(found, roots[ends[:, column]], smallest)
        found = found[found]
        if np.array_equal(found, roots):
            return roots, arrays.node_offsets
        roots = found


def _first_twins(
    dataset: GraphDataset, codes: npt.NDArray[np.int32], parts: Sequence[tuple[int, tuple[int, ...]]]
) -> list[int]:
    """Return for each part the first one of the same label that is isomorphic to it: mostly itself.

    Sums of refined colours tell nearly all apart; the canonical form decides where they do not.
    """
    colours, offsets = refined_colours(dataset.graphs)
    buckets: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for number, (row, nodes) in enumerate(parts):
        picked = colours[offsets[row] + np.array(nodes)]
        total = int(picked.sum(dtype=np.uint64)) ^ int(np.bitwise_xor.reduce(picked * picked))
        buckets[int(codes[row]), len(nodes), total].append(number)
    first = list(range(len(parts)))
    for bucket in buckets.values():
        if len(bucket) == 1:
            continue
        seen: dict[Program, int] = {}
        for number in bucket:
            row, nodes = parts[number]
            graph = dataset.graphs[row]
            whole = graph if len(nodes) == graph.n_nodes else graph.subgraph(nodes)
            form = Program.from_graph(whole).canonical(directed=dataset.directed)
            first[number] = seen.setdefault(form, number)
    return first


def tie_seed(seed: int, target: int, component: int, restart: int) -> int:
    """Return the seed of a descent with random ties.

    The four numbers are folded one after another into a 64-bit state that splitmix64 mixes each time, so a
    descent has the same seed whatever else is mined, and on however many threads.
    """
    state = 0
    for number in (seed, target, component, restart):
        state = _mix(state ^ (number & _MASK))
    return state


def _mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def choose_targets(targets: Targets, codes: npt.NDArray[np.int32], seed: int) -> IntArray:
    """Return the rows to mine, rising.

    A number or a fraction is drawn with the seed so that labels keep their shares; rows or a mask are taken
    as they are.
    """
    n = len(codes)
    if targets is None:
        return np.arange(n)
    if isinstance(targets, bool | np.bool_ | str):
        raise _wrong(targets)
    if isinstance(targets, int | np.integer):
        if not 1 <= targets <= n:
            raise MiningError(f"mine: targets: expected a number from 1 to {n}, got {targets}")
        return _stratified(codes, int(targets), seed)
    if isinstance(targets, float | np.floating):
        if not 0 < targets <= 1:
            raise MiningError(f"mine: targets: expected a fraction above 0 and at most 1, got {targets}")
        return _stratified(codes, max(1, round(float(targets) * n)), seed)
    return _listed(targets, n)


def _listed(targets: npt.ArrayLike, n: int) -> IntArray:
    try:
        rows = np.asarray(targets)
    except ValueError:
        raise _wrong(targets) from None
    if rows.dtype == np.bool_ and rows.shape == (n,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and not np.issubdtype(rows.dtype, np.integer)):
        raise _wrong(targets)
    rows = rows.astype(np.int64)
    bad = rows[(rows < -n) | (rows >= n)]
    if bad.size:
        raise MiningError(f"mine: targets: expected rows from 0 to {n - 1}, got {int(bad[0])}")
    return np.unique(np.where(rows < 0, rows + n, rows))


def _stratified(codes: npt.NDArray[np.int32], count: int, seed: int) -> IntArray:
    """Draw rows so that each label has its share; what rounding leaves goes to the largest remainders."""
    sizes = np.bincount(codes)
    quotas = sizes * (count / len(codes))
    shares = np.floor(quotas + 1e-9).astype(np.int64)
    order = sorted(range(len(sizes)), key=lambda label: (shares[label] - quotas[label], label))
    for label in order[: count - int(shares.sum())]:
        shares[label] += 1
    rng = np.random.default_rng(seed)
    chosen: Iterable[IntArray] = [
        rng.permutation(np.flatnonzero(codes == label))[:share] for label, share in enumerate(shares)
    ]
    return np.sort(np.concatenate(list(chosen)))


def _wrong(got: object) -> MiningError:
    expected = "None, a number, a fraction, row numbers or a mask over the graphs"
    return MiningError(f"mine: targets: expected {expected}, got {got!r:.80}")
