"""Mining the paper's data: every score and support recounted, the objective beside random programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest

from gdlnn import GraphDataset, ProgramSet, mine
from gdlnn.datasets import load_dataset
from gdlnn.matching import match
from repro.comparison import objective, random_programs

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.data


def train_part(data_dir: Path, name: str) -> GraphDataset:
    train: GraphDataset = load_dataset(name, root=data_dir, download=False).split("paper")[0]
    return train


@pytest.fixture(scope="module")
def mutag(data_dir: Path) -> GraphDataset:
    return train_part(data_dir, "MUTAG")


def recount(programs: ProgramSet, dataset: GraphDataset) -> None:
    y, epsilon = np.asarray(dataset.y), programs.info.settings["epsilon"]
    table = match(programs.programs, dataset)
    assert np.array_equal(table, programs.supports)
    for item, column in zip(programs, table.T, strict=True):
        assert item.complete
        assert item.score == (column & (y == item.label)).sum() / (column.sum() + epsilon)


@pytest.mark.parametrize("epsilon", [0.1, "1%"])
@pytest.mark.parametrize("strategy", ["greedy", "sequential"])
def test_mutag_recounted(mutag: GraphDataset, epsilon: float | str, strategy: str, tmp_path: Path) -> None:
    programs = mine(mutag, epsilon=epsilon, strategy=strategy, n_jobs=2)  # type: ignore[arg-type]
    assert {int(row) for item in programs for row in item.targets} == set(range(150))
    recount(programs, mutag)
    programs.save(tmp_path / "mutag.gdl")
    loaded = ProgramSet.load(tmp_path / "mutag.gdl")
    assert loaded == programs
    recount(loaded, mutag)


def test_mutag_on_any_number_of_threads(mutag: GraphDataset) -> None:
    assert len({mine(mutag, n_jobs=jobs).to_text() for jobs in (1, 2, 8)}) == 1


def pairwise(table: npt.NDArray[np.bool_], y: npt.NDArray[Any]) -> float:
    """Return the objective as it is written: one pair of graphs after another, all at once."""
    similar = (table[:, None, :] == table[None, :, :]).mean(axis=2)
    return float((similar * np.where(y[:, None] == y[None, :], 1, -1)).sum())


def test_the_objective_on_mutag_is_above_that_of_random_programs(mutag: GraphDataset) -> None:
    y = np.asarray(mutag.y)
    for k in (10, 30):
        top = mine(mutag, n_jobs=2).top(k)
        sizes = [len(item.program.nodes) for item in top]
        chance = [objective(random_programs(mutag, k, seed, sizes), mutag, y) for seed in range(3)]
        assert objective(top, mutag, y) > 1.5 * max(chance)


def test_the_objective_on_bbbp_is_what_it_says(data_dir: Path) -> None:
    # No order is asked for here: with three of four graphs of one label, programs that match nothing come
    # out above those that tell some graphs of that label from all of the other. docs/mining.md has figures.
    train = train_part(data_dir, "BBBP")
    y = np.asarray(train.y)
    top = mine(train, targets=range(40), n_jobs=2).top(20)
    chance = random_programs(train, 20, sizes=[len(item.program.nodes) for item in top])
    for programs in (top.programs, chance):
        assert objective(programs, train, y) == pytest.approx(pairwise(match(programs, train), y))
