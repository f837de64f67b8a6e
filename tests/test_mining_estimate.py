"""estimate() and `gdlnn mine --estimate`: what mining will take, from a sample."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gdlnn import MiningError, mine
from gdlnn.cli import main
from gdlnn.mining import estimate
from gdlnn.mining.estimate import _spread, _total
from gdlnn.mining.tasks import Plan, Task
from reference.mining_cases import random_trees

if TYPE_CHECKING:
    from pathlib import Path

TREES = random_trees(80, nodes=14)


def test_all_descents_as_the_sample_give_what_mining_takes(tmp_path: Path) -> None:
    """With every descent in the sample nothing is guessed but the noise of the clock."""
    found = estimate(TREES, sample=1000, restarts=1, n_workers=10)
    mined = mine(TREES, restarts=1, checkpoint=tmp_path / "run")
    assert found.n_sampled == found.n_tasks == mined.stats.tasks
    assert found.cpu_error == 0
    assert found.wall_seconds == pytest.approx(max(found.cpu_seconds / 10, found.longest_seconds))
    assert mined.stats.descent_seconds / 3 < found.cpu_seconds < 5 * mined.stats.descent_seconds + 0.5
    size = (tmp_path / "run").stat().st_size
    assert 0.8 * size < found.checkpoint_bytes < 1.2 * size


def test_more_targets_take_more(tmp_path: Path) -> None:
    few, many = estimate(TREES, sample=10, targets=20), estimate(TREES, sample=10)
    assert (few.n_targets, many.n_targets) == (20, 80)
    assert few.n_sampled == many.n_sampled == 10
    assert many.checkpoint_bytes > 2 * few.checkpoint_bytes
    assert many.memory_bytes > many.worker_bytes > many.sent_bytes > 0


def test_the_sample_is_spread_over_the_sizes() -> None:
    sizes = [7, 1, 4, 2, 9, 3, 8, 5, 6, 0]
    tasks = tuple(Task(i, tuple(range(size)), False, 0) for i, size in enumerate(sizes))
    plan = Plan(tasks, tuple((i,) for i in range(10)), tuple(range(10)))
    assert [sizes[i] for i in _spread(plan, 5)] == [1, 3, 5, 7, 9]
    assert sorted(_spread(plan, 99)) == list(range(10))


def test_the_interval_covers_the_truth() -> None:
    """Nine times out of ten, over many datasets whose costs grow with the size and are noisy."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        costs = np.linspace(1, 4, 2000) * rng.lognormal(0, 0.5, 2000)
        places = ((np.arange(60) + 0.5) * 2000 / 60).astype(int)
        total, error = _total(costs[places], 2000)
        inside += abs(total - costs.sum()) <= error
    assert 330 <= inside <= 390
    assert _total(np.zeros(0), 0) == (0.0, 0.0)
    assert _total(np.ones(1), 5) == (5.0, 5.0)  # one says nothing of the others


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TREES.save(tmp_path / "trees.gdlds")
    words = ["mine", str(tmp_path / "trees.gdlds"), "--part", "all", "--estimate", "--sample", "8"]
    for more in ([], ["--json", "--workers", "1000"]):
        with pytest.raises(SystemExit) as end:
            main([*words, *more])
        assert end.value.code == 0
        printed = capsys.readouterr().out
        if more:
            found = json.loads(printed)
            assert (found["n_workers"], found["n_sampled"], found["n_tasks"]) == (1000, 8, 80)
        else:
            assert "80 descents from 80 targets over 80 graphs; 8 were mined" in printed
            assert "memory: at most" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["trees.gdlds"]  # nothing is written


def test_bad_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(MiningError, match="sample: expected a whole number of at least 1, got 0"):
        estimate(TREES, sample=0)
    with pytest.raises(MiningError, match="n_workers: expected"):
        estimate(TREES, sample=1, n_workers=-1)
    TREES.save(tmp_path / "trees.gdlds")
    with pytest.raises(SystemExit) as end:
        main(["mine", str(tmp_path / "trees.gdlds")])
    assert end.value.code == 2
    assert "choose a file to write with -o, or --estimate" in capsys.readouterr().err
