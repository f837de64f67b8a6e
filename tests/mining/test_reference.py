"""The miner against slow, obvious code: the same program, score, support and steps for every target."""

from functools import cached_property

import numpy as np
import pytest

from gdlnn import Graph, GraphDataset, Program, mine
from gdlnn.matching import GraphSet, match
from gdlnn.mining.descents import MiningData, Task, TaskResult, run_here
from gdlnn.mining.program_files import format_rows
from gdlnn.mining.settings import Nominal, Settings, Strategy
from reference import mining as reference
from reference.mining_cases import MiningCase, large_case, mining_case

BATCHES = 10
CASES = 8
"""Random datasets per batch."""


def tasks_of(case: MiningCase) -> list[Task]:
    return [
        Task(row, tuple(nodes))
        for row, graph in enumerate(case.graphs)
        for nodes in (reference.components(graph) if case.connected else [list(range(graph.n_nodes))])
        if nodes
    ]


def mined(case: MiningCase, tasks: list[Task], strategy: Strategy, nominal: Nominal) -> dict[int, TaskResult]:
    settings = Settings(case.epsilon, strategy, case.connected, nominal=nominal)
    schema = None if nominal == "interval" else case.schema
    data = MiningData(case.graphs, case.dataset.y.astype("int32"), max(case.y) + 1, schema)
    batches = run_here(data, settings, dict(enumerate(tasks)), 1)
    return {result.task: result for batch in batches for result in batch}


def check(case: MiningCase, strategy: Strategy, data: reference.Data, target: int | None = None) -> None:
    tasks = [task for task in tasks_of(case) if target in (None, task.graph)]
    nominal: Nominal = "interval" if data.nominal is None else "value"
    results = mined(case, tasks, strategy, nominal) if tasks else {}
    for number, task in enumerate(tasks):
        nodes = list(task.nodes)
        if strategy == "greedy":
            expected = reference.greedy(data, task.graph, nodes, connected=case.connected)
        else:
            expected = reference.sequential(data, task.graph, nodes, connected=case.connected)
        got = results[number]
        directed = case.graphs[0].directed
        where = f"{strategy}, {nominal}, target {task.graph}, nodes {nodes}\n{case}"
        assert got.program == expected.program.canonical(directed=directed), where
        assert got.score == expected.score, where
        assert got.support == format_rows(np.flatnonzero(expected.support)), where
        assert got.mutations == expected.steps, where


@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_same_as_the_reference_on_random_data(batch: int, n_cases: float) -> None:
    per_batch = int(CASES * n_cases)
    for seed in range(batch * per_batch, (batch + 1) * per_batch):
        case = mining_case(seed, max_nodes=5 if n_cases == 1 else 6)
        data = reference.Data(case.graphs, case.y, case.epsilon)
        check(case, "greedy", data)
        check(case, "sequential", data)
        values = reference.Data(case.graphs, case.y, case.epsilon, case.nominal)
        check(case, "greedy", values)
        check(case, "sequential", values)


class CoreData(reference.Data):
    """Matches with the core, which has tests of its own, where the plain matcher would take too long."""

    def support(self, program: Program) -> tuple[bool, ...]:
        if program not in self.memo:
            self.memo[program] = tuple(match([program], self.encoded)[:, 0].tolist())
        return self.memo[program]

    @cached_property
    def encoded(self) -> GraphSet:
        return GraphSet(self.graphs)


@pytest.mark.long
def test_the_same_as_the_reference_on_larger_graphs(n_cases: float) -> None:
    for seed in range(1, 2 if n_cases == 1 else 1 + int(3 * n_cases)):
        case = large_case(seed)
        data = CoreData(case.graphs, case.y, case.epsilon)
        target = seed % len(case.graphs)
        check(case, "greedy", data, target)
        check(case, "sequential", data, target)
        values = CoreData(case.graphs, case.y, case.epsilon, case.nominal)
        check(case, "greedy", values, target)
        check(case, "sequential", values, target)


def figure_1() -> GraphDataset:
    """Return the four graphs of the paper's first figure."""
    return GraphDataset(
        [
            Graph([[4.0], [2.0], [1.0], [1.0]], [[0, 1], [1, 2], [1, 3]], directed=True),
            Graph([[1.0], [2.0], [4.0], [1.0]], [[0, 1], [1, 2], [1, 3]], directed=True),
            Graph([[3.0], [2.0], [1.0], [3.0]], [[0, 1], [1, 2], [2, 3]], directed=True),
            Graph([[1.0], [2.0], [1.0], [3.0]], [[0, 1], [1, 2], [2, 3]], directed=True),
        ],
        [1, 2, 1, 2],
    )


@pytest.mark.parametrize(
    ("connected", "text", "score", "support"),
    [
        (True, "node x <[3, inf]> node y edge (x, y)", 2 / 3, [True, False, True, False]),
        (False, "node x <[3, inf]> node h <[3, inf]>", 1 / 2, [False, False, True, False]),
    ],
)
def test_the_running_example(connected: bool, text: str, score: float, support: list[bool]) -> None:
    programs = mine(figure_1(), epsilon=1, connected=connected, targets=[2])
    assert len(programs) == 1
    (found,) = programs
    assert found.program == Program.parse(text).canonical(directed=True)
    assert found.label == 1
    assert found.score == score
    assert (programs.supports.toarray()[:, 0] > 0).tolist() == support
