"""Cells: lines that survive a kill, resuming, failures with their reasons, time limits, processes, locks."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from repro.cells import RunConfig, Study, Task, append_cell, read_cells, run_cell, versions
from repro.keep import kept_cells, short, sort_cells

ROOT = Path(__file__).parents[2]
TASK = Task("accuracy", "D", "wl", {"C": 1.0})


def doubled(task: Task, config: RunConfig) -> dict[str, Any]:
    return {"doubled": 2 * task.seed}


def troubled(task: Task, config: RunConfig) -> dict[str, Any]:
    if task.seed == 1:
        raise ValueError("what and where\nmore")
    if task.seed == 2:
        os._exit(9)
    if task.seed == 3:
        time.sleep(5)
    return {"doubled": 2 * task.seed}


def tasks(*seeds: int) -> list[Task]:
    return [replace(TASK, seed=seed) for seed in seeds]


def test_what_is_there_is_not_computed_again(tmp_path: Path) -> None:
    lines: list[str] = []
    study = Study("accuracy", RunConfig(str(tmp_path)), lines.append)
    with study:
        found = study.run(tasks(1, 2, 1), doubled)
        assert [cell["doubled"] for cell in found] == [2, 4, 2]
        assert [line.split(":")[0] for line in lines] == [
            "[1/2] D paper wl seed 1",
            "[2/2] D paper wl seed 2",
        ]
        assert study.run(tasks(2, 1), troubled) == found[1::-1]
        assert study.run(tasks(4), doubled, "trials")[0]["doubled"] == 8
    assert {"study", "dataset", "protocol", "split", "method", "configuration", "seed", "status", "versions",
            "machine", "finished", "seconds"} <= set(found[0])  # fmt: skip
    assert [len(read_cells(tmp_path / f"{name}.jsonl")) for name in ("accuracy", "trials")] == [2, 1]


def test_a_line_that_was_cut_off_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "accuracy.jsonl"
    assert read_cells(file) == []
    study = Study("accuracy", RunConfig(str(tmp_path)))
    study.run(tasks(1, 2), doubled)
    file.write_bytes(file.read_bytes()[:-20])
    assert [cell["seed"] for cell in read_cells(file)] == [1]
    study.run(tasks(1, 2), doubled)
    assert [cell["seed"] for cell in read_cells(file)] == [1, 2]
    assert len(file.read_text().splitlines()) == 3


def test_a_failure_is_tried_again_and_never_covers_a_success(tmp_path: Path) -> None:
    study = Study("accuracy", RunConfig(str(tmp_path)))
    (failed,) = study.run(tasks(1), troubled)
    assert (failed["status"], failed["reason"]) == ("failed", "ValueError: what and where")
    assert "troubled" in failed["traceback"]
    (fine,) = study.run(tasks(1), doubled)
    append_cell(study.file, failed)
    assert read_cells(study.file) == [fine]


def test_a_cell_that_runs_out_of_time_is_tried_again_with_more(tmp_path: Path) -> None:
    study = Study("accuracy", RunConfig(str(tmp_path), limit=0.1))
    (late,) = study.run(tasks(3), troubled)
    assert (late["status"], late["reason"]) == ("late", "not finished in 0.1 s")
    assert study.run(tasks(3), doubled) == [late]
    patient = Study("accuracy", RunConfig(str(tmp_path), limit=60))
    assert patient.run(tasks(3), doubled)[0]["status"] == "ok"


def test_a_dying_process_is_blamed_and_the_others_go_on(tmp_path: Path) -> None:
    study = Study("accuracy", RunConfig(str(tmp_path), n_workers=2))
    found = study.run(tasks(0, 1, 2, 4, 5), troubled)
    assert [cell["status"] for cell in found] == ["ok", "failed", "failed", "ok", "ok"]
    assert "died" in found[2]["reason"]
    assert len(read_cells(study.file)) == 5


def test_kept_cells_are_sorted_by_study_and_replaced(tmp_path: Path) -> None:
    found, kept = tmp_path / "cells.jsonl", tmp_path / "kept"
    kept.mkdir()
    for task in (TASK, replace(TASK, study="trial"), replace(TASK, study="model"), replace(TASK, seed=1)):
        append_cell(found, run_cell(troubled, task, RunConfig("out")))
    version = short(versions()["gdlnn"])
    names = [f"accuracy-{version}.jsonl"]
    assert sort_cells([found], kept) == {names[0]: 1, "not kept, failed": 1}
    again = run_cell(doubled, replace(TASK, configuration={"C": 2.0}), RunConfig("out"))
    append_cell(tmp_path / "more.jsonl", {**again, "doubled": 7, "truth": [1]})
    append_cell(tmp_path / "more.jsonl", run_cell(doubled, replace(TASK, seed=2), RunConfig("out")))
    sort_cells([tmp_path / "more.jsonl"], kept)
    assert [(cell["seed"], cell["doubled"]) for cell in kept_cells("accuracy", kept)] == [(0, 7), (2, 4)]
    assert "truth" not in kept_cells("accuracy", kept)[0]
    assert sorted(file.name for file in kept.iterdir()) == names


def test_of_an_earlier_version_what_is_unchanged_is_shown_and_its_default(tmp_path: Path) -> None:
    old = run_cell(doubled, TASK, RunConfig("out")) | {"versions": {"gdlnn": "0.2.0"}}
    for method in ("wl", "gdlnn", "gdlnn-linear"):
        append_cell(tmp_path / "cells.jsonl", {**old, "method": method, "key": method})
    sort_cells([tmp_path / "cells.jsonl"], tmp_path)
    shown = {cell["method"]: cell["version"] for cell in kept_cells("accuracy", tmp_path)}
    assert shown == {"gdlnn": "0.2.0", "wl": "0.2.0"}


def test_cells_of_another_version_are_computed_again(tmp_path: Path) -> None:
    study = Study("accuracy", RunConfig(str(tmp_path)))
    old = run_cell(doubled, TASK, study.config) | {"versions": {"gdlnn": "0.0"}, "doubled": -1}
    append_cell(study.file, old)
    assert [cell["doubled"] for cell in study.run([TASK], doubled)] == [0]
    number = versions()["gdlnn"]
    assert f'version = "{number}"' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.long
def test_a_killed_study_goes_on(tmp_path: Path) -> None:
    from repro.__main__ import main  # heavy: processes that run cells import this file

    words = ["accuracy", "--datasets", "synthetic:ba-2motifs:30:1", "--methods", "majority,wl,pooled-rf"]
    words += ["--protocol", "repeated", "--runs", "2", "--out", str(tmp_path), "--jobs", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "repro", *words],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    file, deadline = tmp_path / "accuracy.jsonl", time.monotonic() + 120
    while len(read_cells(file)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {cell["key"]: cell for cell in read_cells(file)}
    assert len(before) >= 2
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    after = {cell["key"]: cell for cell in read_cells(file)}
    assert len(after) == 6
    assert before.items() <= after.items()
