"""Checkpoints: kills, resumed runs, torn and damaged files, runs that do not fit."""

import json
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gdlnn import GraphDataset, mine
from gdlnn.errors import MiningError
from gdlnn.mining.miner import Checkpoint
from reference.mining_cases import random_trees

TREES = random_trees(30)
KILLS, LONG_KILLS = 2, 50

# What a killed and resumed process does: mine the saved dataset, then write the file. Given a number of
# records and of seconds it kills itself when so many more are written and so much time has passed.
SCRIPT = """
import os, pathlib, signal, sys, threading, time
from gdlnn import load_jsonl, mine
folder = pathlib.Path(sys.argv[1])
checkpoint = folder / "run.checkpoint"
def lines():
    return checkpoint.read_bytes().count(b"\\n") if checkpoint.exists() else 0
def kill(more, seconds):
    before = lines()
    while lines() < before + more:
        time.sleep(0.0005)
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)
if len(sys.argv) > 2:
    threading.Thread(target=kill, args=(int(sys.argv[2]), float(sys.argv[3])), daemon=True).start()
dataset = load_jsonl(folder / "data.gdlnn")
mine(dataset, n_jobs=2, checkpoint=checkpoint).save(folder / "out.jsonl")
"""


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def run(folder: Path, *kill: object) -> int:
    """Run the script to its end, or to its death."""
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), *map(str, kill)], check=False
    ).returncode


def test_kills_at_random_points_and_the_same_bytes(tmp_path: Path, n_cases: float) -> None:
    wanted = KILLS if n_cases == 1 else LONG_KILLS
    dataset = random_trees(200, nodes=18)
    dataset.save(tmp_path / "data.gdlnn")
    expected = mine(dataset).to_text().encode()
    checkpoint, out, rng = tmp_path / "run.checkpoint", tmp_path / "out.jsonl", random.Random(0)
    kills = runs = 0
    while kills < wanted:
        runs += 1
        assert runs < 5 * wanted, "mining is over before it can be killed"
        kills += run(tmp_path, rng.randint(1, 15), rng.random() * 0.01) == -signal.SIGKILL
        if out.exists():  # it was quicker than the kill: begin again
            assert out.read_bytes() == expected
            out.unlink()
            checkpoint.unlink()
    assert run(tmp_path) == 0
    assert out.read_bytes() == expected
    assert len(records(checkpoint)) == 1 + len({r["task"] for r in records(checkpoint)[1:]})


def test_a_file_cut_anywhere_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "run"
    expected = mine(TREES, checkpoint=path).to_text()
    content = path.read_bytes()
    rng = random.Random(1)
    header = content.index(b"\n") + 1
    cuts = [0, 1, header // 2, header - 1, header, header + 1, len(content) - 1]
    for cut in [*cuts, *(rng.randrange(header, len(content)) for _ in range(10))]:
        path.write_bytes(content[:cut])
        assert mine(TREES, checkpoint=path).to_text() == expected, f"cut at {cut} of {len(content)}"
        assert sorted(record.get("task", -1) for record in records(path)) == list(range(-1, 30))


def test_a_stopped_run_is_resumed_to_the_same_bytes(tmp_path: Path) -> None:
    dataset = random_trees(150, nodes=18)
    stopped = mine(dataset, checkpoint=tmp_path / "run", time_limit=0.02)
    assert not stopped.complete
    resumed = mine(dataset, checkpoint=tmp_path / "run", n_jobs=2)
    assert resumed.complete
    assert resumed.stopped_by is None
    assert resumed.to_text() == mine(dataset).to_text()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 1}, "differs in epsilon (0.1 there, 1.0 now)"),
        (
            {"random_state": 4, "connected": False},
            "differs in connected (True there, False now); random_state (0 there, 4 now)",
        ),
        ({"strategy": "sequential"}, "differs in strategy ('greedy' there, 'sequential' now)"),
        ({"targets": [1, 2]}, "differs in targets"),
        ({"step_budget": 7}, "differs in step_budget (20000 there, 7 now)"),
    ],
)
def test_other_settings_are_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    mine(TREES, checkpoint=tmp_path / "run")
    content = (tmp_path / "run").read_bytes()
    with pytest.raises(
        MiningError, match=re.escape(f"checkpoint run: belongs to another call, which {message}")
    ):
        mine(TREES, checkpoint=tmp_path / "run", **changed)
    assert (tmp_path / "run").read_bytes() == content


def test_other_data_is_refused(tmp_path: Path) -> None:
    mine(TREES, checkpoint=tmp_path / "run")
    labels = [label.upper() for label in TREES.y.tolist()]
    with pytest.raises(MiningError, match="differs in labels"):
        mine(GraphDataset(TREES.graphs, labels), checkpoint=tmp_path / "run")
    with pytest.raises(MiningError, match="differs in dataset"):
        mine(random_trees(30, seed=9), checkpoint=tmp_path / "run")


def test_another_file_is_left_as_it_is(tmp_path: Path) -> None:
    for content in (b"precious\n", b"precious", b"\x00" * 100, b'0 {"a": 1}\n'):
        (tmp_path / "notes.txt").write_bytes(content)
        with pytest.raises(
            MiningError, match=r"checkpoint notes\.txt: expected a checkpoint of mining, got another"
        ):
            mine(TREES, checkpoint=tmp_path / "notes.txt")
        assert (tmp_path / "notes.txt").read_bytes() == content


def test_two_runs_cannot_share_a_file(tmp_path: Path) -> None:
    header = {"version": "1"}
    with (
        Checkpoint(tmp_path / "run", header, 1, 1),
        pytest.raises(MiningError, match="checkpoint run: another run is writing to it"),
    ):
        Checkpoint(tmp_path / "run", header, 1, 1)
    Checkpoint(tmp_path / "run", header, 1, 1).close()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(MiningError, match="checkpoint run: cannot be opened: No such file"):
        mine(TREES, checkpoint=tmp_path / "missing" / "run")
    (tmp_path / "folder").mkdir()
    with pytest.raises(MiningError, match="checkpoint folder: cannot be opened: Is a directory"):
        mine(TREES, checkpoint=tmp_path / "folder")
    shutil.rmtree(tmp_path / "folder")
