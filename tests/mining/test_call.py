"""Calls of mine(): bad arguments, early ends, processes, the bar, features to ignore."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from gdlnn import Feature, Graph, GraphDataset, Schema, jobs, mine
from gdlnn.errors import MiningError, WorkerError
from gdlnn.matching import match
from reference.mining_cases import random_trees

TREES = random_trees(40)
MANY = random_trees(200, nodes=20)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0}, 'epsilon: expected a positive number, or a percentage .* such as "1%", got 0'),
        ({"epsilon": float("nan")}, "epsilon: expected a positive number"),
        ({"epsilon": "much"}, "epsilon: expected a positive number.*got 'much'"),
        ({"epsilon": None}, "epsilon: expected"),
        ({"strategy": "fast"}, "strategy: expected one of greedy, sequential, got 'fast'"),
        ({"targets": 3}, "targets: expected None, auto or row numbers, got 3"),
        ({"targets": [40]}, "targets: expected rows from 0 to 39, got 40"),
        ({"targets": "all"}, "targets: expected None, auto or row numbers"),
        ({"targets": [0.5]}, "targets: expected None, auto or row numbers"),
        ({"targets": [[1, 2], [3, 4]]}, "targets: expected None, auto or row numbers"),
        ({"min_support": -1}, "min_support: expected a whole number of at least 0, got -1"),
        ({"step_budget": 0}, "step_budget: expected a whole number of at least 1, got 0"),
        ({"random_state": -1}, "random_state: expected a whole number of at least 0, got -1"),
        ({"time_limit": -1}, "time_limit: expected a number of at least 0, got -1"),
        ({"time_limit": "1"}, "time_limit: expected a number of at least 0, got '1'"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(MiningError, match=f"^mine: {message}"):
        mine(TREES, **arguments)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (GraphDataset(TREES.graphs), "the dataset has no labels"),
        (GraphDataset([]), "expected at least one graph, got none"),
        (TREES.graphs, "expected a GraphDataset, got "),
        (GraphDataset(TREES.graphs[:2], [1.0, float("nan")]), "graph 1: expected a label, got nan"),
    ],
)
def test_bad_data_sets_are_named(dataset: Any, message: str) -> None:
    with pytest.raises(MiningError, match=f"^mine: dataset: {message}"):
        mine(dataset)


def test_the_time_limit_ends_in_time(caplog: pytest.LogCaptureFixture) -> None:
    found = mine(MANY, time_limit=0.05)
    assert not found.complete
    assert found.stopped_by == "time limit"
    assert found.stats["tasks"] < len(MANY)
    assert "stopped by time limit" in caplog.text
    assert "incomplete: stopped by time limit" in found.summary()


def test_an_early_end_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(range(10**9))
    monkeypatch.setattr("gdlnn.mining.miner.time.monotonic", lambda: next(looks))
    found = mine(MANY, time_limit=8)
    assert found.stopped_by == "time limit"
    assert 0 < found.stats["tasks"] < len(MANY)
    assert np.array_equal(match(found.programs, MANY), found.supports.toarray())
    monkeypatch.undo()
    assert set(found) <= set(mine(MANY))


@pytest.mark.parametrize("processes", [False, True])
def test_ctrl_c_ends_with_what_is_done(tmp_path: Path, processes: bool) -> None:
    checkpoint = tmp_path / "run"

    def press() -> None:
        while not checkpoint.exists() or checkpoint.read_bytes().count(b"\n") < 4:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with joblib.parallel_config("loky", n_jobs=2) if processes else nullcontext():
        found = mine(MANY, checkpoint=checkpoint)
    thread.join()
    assert found.stopped_by == "interrupt"
    assert not found.complete
    assert 0 < found.stats["tasks"] < len(MANY)
    assert mine(MANY, checkpoint=checkpoint).to_text() == mine(MANY).to_text()


def test_mining_works_off_the_main_thread() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(mine, TREES).result() == mine(TREES)


def test_worker_processes_give_the_same_bytes() -> None:
    with joblib.parallel_config("loky", n_jobs=2):
        found = [mine(TREES, epsilon=epsilon) for epsilon in (0.1, 1)]
    assert found[0].stats["tasks"] == 40
    assert [one.to_text() for one in found] == [
        mine(TREES, epsilon=epsilon).to_text() for epsilon in (0.1, 1)
    ]


def kill_worker(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_dead_worker_is_reported() -> None:
    with (
        joblib.parallel_config("loky", n_jobs=2),
        pytest.raises(WorkerError, match="the worker processes are gone"),
    ):
        list(jobs.run_jobs(kill_worker, None, [()] * 4))


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = jobs._Shared.of("data")
    monkeypatch.setattr(jobs, "package_version", lambda: "0.0")
    with pytest.raises(WorkerError, match=r"a worker: expected gdlnn .*, as the caller has, got 0\.0"):
        jobs._unpacked(shared)


def test_ignored_features_are_left_open_and_the_matches_are_those_of_the_data_as_it_is() -> None:
    rng = np.random.default_rng(5)
    schema = Schema((Feature("kind"), Feature("noise")), (Feature("bond"), Feature("stereo")))
    graphs = [
        Graph(
            rng.integers(0, 3, (5, 2)).astype(float),
            [(0, 1), (1, 2), (2, 3), (3, 4)],
            rng.integers(0, 2, (4, 2)).astype(float),
            schema=schema,
        )
        for _ in range(30)
    ]
    data = GraphDataset(graphs, [i % 2 for i in range(30)], schema)
    found = mine(data, ignore=("noise", "stereo"), verbose=False)
    assert {i.intervals[1] for p in found.programs for i in p.nodes if i.intervals} <= {(-np.inf, np.inf)}
    assert {i.intervals[1] for p in found.programs for i in p.edges if i.intervals} <= {(-np.inf, np.inf)}
    assert np.array_equal(match(found.programs, data), found.supports.toarray())
    assert all(found.programs[i] == found.programs[i].canonical() for i in range(len(found)))
    assert found.info.fingerprint == mine(data, verbose=False).info.fingerprint
    with pytest.raises(MiningError, match=r"ignore: expected features out of kind, noise, .*, got 'color'"):
        mine(data, ignore=("color",), verbose=False)
    with pytest.raises(MiningError, match="ignore: needs a dataset with a schema"):
        mine(GraphDataset([Graph([[1.0]], []), Graph([[2.0]], [])], [0, 1]), ignore=("noise",))
