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
from gdlnn.graphs.identity import first_twins
from gdlnn.graphs.splits import stratified_sample
from gdlnn.mining.settings import MOST_TARGETS, wrong

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.graphs import Graph, GraphDataset
    from gdlnn.mining.settings import Targets

IntArray = npt.NDArray[np.int64]


class Task(NamedTuple):
    """One descent, from some nodes of one graph."""

    graph: int
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """The tasks of a call, and the rows of the targets that each one covers.

    ``rows`` begins with the row a task was made from; rows of isomorphic targets of the same label, which are
    not mined again, follow.
    """

    tasks: tuple[Task, ...]
    rows: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.tasks)


def make_plan(
    dataset: GraphDataset, codes: npt.NDArray[np.int32], targets: IntArray, *, connected: bool
) -> Plan:
    """List the tasks, target by target; isomorphic targets (or components) of one label are mined once."""
    starts = _parts([dataset.graphs[row] for row in targets], connected)
    parts = [Task(row, nodes) for row, sets in zip(targets.tolist(), starts, strict=True) for nodes in sets]
    first = first_twins(
        [_induced(dataset.graphs[row], nodes) for row, nodes in parts],
        [int(codes[row]) for row, _ in parts],
    )
    rows: dict[int, set[int]] = defaultdict(set)
    for part, original in enumerate(first):
        rows[original].add(parts[part].graph)
    chosen = [part for part in range(len(parts)) if first[part] == part]
    covered = ((parts[part].graph, *sorted(rows[part] - {parts[part].graph})) for part in chosen)
    return Plan(tuple(parts[part] for part in chosen), tuple(covered))


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


def choose_targets(targets: Targets, codes: npt.NDArray[np.int32], seed: int) -> IntArray:
    """Return the sorted rows to mine: all, given ones, or for "auto" at most `MOST_TARGETS`.

    Those are drawn with the seed so that labels keep their shares.
    """
    n = len(codes)
    if isinstance(targets, str) and targets == "auto":
        return stratified_sample(codes, MOST_TARGETS, seed) if n > MOST_TARGETS else np.arange(n)
    if targets is None:
        return np.arange(n)
    rows = np.asarray(targets)
    if rows.ndim != 1 or (rows.size and not np.issubdtype(rows.dtype, np.integer)):
        raise wrong("targets", "None, auto or row numbers", targets)
    bad = rows[(rows < 0) | (rows >= n)]
    if bad.size:
        raise MiningError(f"mine: targets: expected rows from 0 to {n - 1}, got {int(bad[0])}")
    return np.unique(rows.astype(np.int64))
