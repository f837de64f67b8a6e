"""Mining the paper's data: every score and support recounted."""

from pathlib import Path

import numpy as np
import pytest

from gdlnn import GraphDataset, ProgramSet, mine
from gdlnn.datasets import load_dataset
from gdlnn.matching import match

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def mutag(data_dir: Path) -> GraphDataset:
    train: GraphDataset = load_dataset("MUTAG", root=data_dir, download=False).split("paper")[0]
    return train


def recount(programs: ProgramSet, dataset: GraphDataset) -> None:
    y, epsilon = np.asarray(dataset.y), programs.info.settings["epsilon"]
    table = match(programs.programs, dataset)
    assert np.array_equal(table, programs.supports.toarray())
    for item, column in zip(programs, table.T, strict=True):
        assert item.complete
        assert item.score == (column & (y == item.label)).sum() / (column.sum() + epsilon)


@pytest.mark.parametrize(("epsilon", "strategy"), [(0.1, "greedy"), ("1%", "sequential")])
def test_programs_of_mutag_have_the_support_they_say(
    mutag: GraphDataset, epsilon: float | str, strategy: str, tmp_path: Path
) -> None:
    programs = mine(mutag, epsilon=epsilon, strategy=strategy, n_jobs=2)  # type: ignore[arg-type]
    recount(programs, mutag)
    programs.save(tmp_path / "mutag.jsonl")
    loaded = ProgramSet.load(tmp_path / "mutag.jsonl")
    assert loaded == programs
    recount(loaded, mutag)
