"""The core's matcher against the reference on random programs and graphs of every small kind."""

import numpy as np
import pytest

from gdlnn.graphs.arrays import encoded
from reference import conflicts, matcher
from reference.random_cases import (
    Case,
    planted_program,
    random_case,
    random_graph,
    random_program,
    random_shape,
)

N_CASES = 2000
BLOCKS = 20  # so that a failure says roughly where, and -k can pick


def blocks(n_cases: float) -> int:
    return int(N_CASES * n_cases) // BLOCKS


def as_set(witnesses: list[dict[str, int]]) -> set[tuple[tuple[str, int], ...]]:
    distinct = {tuple(sorted(witness.items())) for witness in witnesses}
    assert len(distinct) == len(witnesses), "a witness came twice"
    return distinct


def check_agreement(case: Case) -> None:
    program, graph = case.program, case.graph
    expected = list(matcher.witnesses(program, graph))
    found = list(program.witnesses(graph))
    assert as_set(found) == as_set(expected), case
    assert program.matches(graph) == bool(expected), case
    assert program.find(graph) == (found[0] if found else None), case
    assert program.count(graph) == len(expected), case
    assert program.count(graph, distinct=True) == matcher.count(program, graph, distinct=True), case


def check_conflict(case: Case) -> None:
    conflict = conflicts.find_conflict(case.program, encoded(case.graph))
    assert (conflict is None) == case.program.matches(case.graph), case
    if conflict is not None:
        try:
            conflicts.check_conflict(case.program, case.graph, conflict)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{case}") from error


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_cases_agree_with_the_reference(block: int, n_cases: float) -> None:
    size = blocks(n_cases)
    for seed in range(block * size, (block + 1) * size):
        case = random_case(seed)
        check_agreement(case)
        check_conflict(case)


@pytest.mark.parametrize("block", range(4))
def test_batches_agree_with_the_reference(block: int, n_cases: float) -> None:
    for seed in range(int(block * 5 * n_cases), int((block + 1) * 5 * n_cases)):
        rng = np.random.default_rng(20_000_000 + seed)
        shape = random_shape(rng)
        # Directed and undirected graphs may share a set.
        shapes = [shape, shape._replace(directed=not shape.directed)]
        graphs = [random_graph(rng, shapes[int(rng.integers(2))], 7) for _ in range(6)]
        programs = [random_program(rng, shape, 4) for _ in range(3)]
        programs += [planted_program(rng, graph, 4) for graph in graphs[:3]]
        conflicts.check_table(programs, graphs)
