"""The paper's objective, and random programs to compare with."""

from __future__ import annotations

import numpy as np
import pytest

from gdlnn import MiningError, Program, mine
from gdlnn.matching import match
from reference.mining_cases import random_trees
from repro.comparison import objective, random_programs

TREES = random_trees(40)


def test_the_objective_is_the_sum_over_pairs() -> None:
    programs = random_programs(TREES, 15, seed=2, sizes=[1, 2, 3])
    table, y = match(programs, TREES), np.asarray(TREES.y)
    total = sum(
        (table[i] == table[j]).mean() * (1 if y[i] == y[j] else -1) for i in range(40) for j in range(40)
    )
    assert objective(programs, TREES, y) == pytest.approx(total, abs=1e-9)
    assert objective(programs, TREES, y, mean=True) == pytest.approx(total / 1600, abs=1e-12)


def test_mined_programs_set_labels_apart_better_than_random_ones() -> None:
    top = mine(TREES).top(10)
    chance = random_programs(TREES, 10, sizes=[len(item.program.nodes) for item in top])
    assert objective(top, TREES, np.asarray(TREES.y)) > objective(chance, TREES, np.asarray(TREES.y))


def test_the_objective_refuses_what_it_cannot_use() -> None:
    with pytest.raises(MiningError, match="objective: programs: expected at least one"):
        objective([], TREES, np.asarray(TREES.y))
    with pytest.raises(
        MiningError, match=r"objective: y: expected 40 labels, one per graph, got shape \(2,\)"
    ):
        objective([Program()], TREES, [0, 1])


def test_random_programs_are_connected_pieces() -> None:
    programs = random_programs(TREES, 30, seed=1)
    assert len(set(programs)) == 30
    assert programs == random_programs(TREES, 30, seed=1)
    assert programs != random_programs(TREES, 30, seed=2)
    assert match(programs, TREES).any(axis=0).all()
    assert all(len(program.edges) >= len(program.nodes) - 1 for program in programs)
    with pytest.raises(
        MiningError, match="random_programs: n: expected at most 3 for these graphs and sizes"
    ):
        random_programs(TREES, 10, sizes=[1])
