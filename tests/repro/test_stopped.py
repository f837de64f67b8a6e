"""Studies that are stopped, killed or run twice at once: clear words, whole files, no cell done again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from gdlnn import DatasetError, GDLNNError, make_ba_2motifs
from gdlnn.io import folder_lock
from gdlnn.io.folder_lock import claimed
from reference.disk import little_room
from reference.other_runs import claimed_elsewhere
from repro import METHODS, methods, study
from repro.__main__ import main
from repro.inputs import forget, plan_splits, stored_split
from repro.pool import run_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
SMALL = ["--datasets", "synthetic:ba-2motifs:30:1", "--jobs", "1"]
STUDIES: dict[str, tuple[list[str], int]] = {
    "accuracy": (["--methods", "majority,wl", "--protocol", "repeated", "--runs", "2"], 4),
    "ablation": (["--protocol", "paper", "--runs", "2"], 4),
    "explain": (["--methods", "pl4xgl,gdlnn-paper", "--sample", "2"], 2),
    "cost": (["--methods", "pl4xgl,gdlnn-paper", "--sample", "2"], 2),
}
"""For each: the words of the command, and how many cells there are."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forget()
    few = dict(list(methods.VARIANTS.items())[:2])
    short = {name: replace(method, fixed={"epochs": 2}) for name, method in few.items()}
    monkeypatch.setattr(methods, "VARIANTS", short)
    monkeypatch.setitem(METHODS, "gdlnn-paper", replace(METHODS["gdlnn-paper"], fixed={"epochs": 2}))
    monkeypatch.setattr(methods, "N_FEATURES", (5,))
    yield
    forget()


def run(name: str, out: Path) -> int:
    with pytest.raises(SystemExit) as end:
        main([name, *SMALL, *STUDIES[name][0], "--out", str(out)])
    return int(end.value.code or 0)


def cells(out: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in out.glob("*cells/*.json")}


def half_written(out: Path) -> list[Path]:
    return list(out.rglob("*.tmp"))


def second_time(do: Callable[[], None], real: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does as another one, until it is called for the second time."""
    calls: list[int] = []

    def function(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            do()
        return real(*arguments)

    return function


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("name", list(STUDIES))
def test_a_signal_ends_a_study_and_it_goes_on(
    tmp_path: Path,
    name: str,
    number: int,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    n_cells = STUDIES[name][1]

    def stop() -> None:
        os.kill(os.getpid(), number)
        time.sleep(5)
        raise AssertionError("the signal had no effect")

    before = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        patch.setattr(study, "run_task", second_time(stop, run_task))
        assert run(name, tmp_path) == code
    said = capsys.readouterr().err
    assert "stopped; run the same command again to resume" in said
    assert "Traceback" not in said
    assert signal.getsignal(signal.SIGTERM) is before
    assert not half_written(tmp_path)
    done = cells(tmp_path)
    assert len(done) == 1
    assert run(name, tmp_path) == 0
    again = cells(tmp_path)
    assert len(again) == n_cells
    assert done.items() <= again.items()  # not done again


@pytest.mark.parametrize("name", ["cost", pytest.param("explain", marks=pytest.mark.long)])
def test_a_killed_study_goes_on(tmp_path: Path, name: str) -> None:
    """In a process of its own, which kills itself while it writes its second cell."""
    code = """
import os, signal, sys
from repro.__main__ import main
from gdlnn.graphs import storage
replace = storage.Path.replace
def kill(self, target):
    if "cells" in str(target) and list(target.parent.glob("*.json")):
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(self, target)
storage.Path.replace = kill
main(sys.argv[1:])
"""
    words = [name, *SMALL, *STUDIES[name][0], "--out", str(tmp_path)]
    ended = subprocess.run([sys.executable, "-c", code, *words], check=False, capture_output=True, cwd=ROOT)
    assert ended.returncode == -signal.SIGKILL
    done = cells(tmp_path)
    assert len(done) == 1
    assert all("status" in json.loads(path.read_text()) for path in tmp_path.glob("*cells/*.json"))
    assert run(name, tmp_path) == 0
    assert done.items() <= cells(tmp_path).items()


def test_without_room_a_study_keeps_its_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with little_room(300):
        assert run("accuracy", tmp_path) == 2
    assert "cannot be written: File too large" in capsys.readouterr().err
    assert not half_written(tmp_path)
    assert run("accuracy", tmp_path) == 0
    (tmp_path / "accuracy-repeated.md").write_text("from before")
    capsys.readouterr()
    with little_room(300):
        assert run("accuracy", tmp_path) == 2  # nothing is left to do but the tables
    assert "accuracy-repeated.md: cannot be written: File too large; the existing file is unchanged" in (
        capsys.readouterr().err
    )
    assert (tmp_path / "accuracy-repeated.md").read_text() == "from before"


def test_two_studies_do_not_do_the_same_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with claimed_elsewhere(tmp_path, "repeated synthetic:ba-2motifs:30:1 wl"):
        assert run("accuracy", tmp_path) == 2
        said = capsys.readouterr().err
        assert "another run is using repeated synthetic:ba-2motifs:30:1 wl here" in said
        assert run("cost", tmp_path) == 0
    assert run("accuracy", tmp_path) == 0


def test_claims_of_one_process_keep_each_other_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys; from pathlib import Path; from gdlnn.io.folder_lock import claimed\n"
    code += "with claimed(Path(sys.argv[1]), sys.argv[2:]): pass"

    def free(name: str) -> bool:
        ended = subprocess.run([sys.executable, "-c", code, str(tmp_path), name], capture_output=True)
        return ended.returncode == 0

    monkeypatch.chdir(tmp_path)
    with claimed(tmp_path, ["a"]):
        with (
            pytest.raises(GDLNNError, match=f"^{tmp_path.name}: another run is using a here"),
            claimed(Path(), ["b", "a"]),
        ):
            pass
        with claimed(tmp_path, ["b"]):
            assert not free("b")
        assert not free("a")  # whatever was closed in between
        assert free("b")
    assert free("a")


def test_claims_where_nothing_can_be_written_or_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(GDLNNError, match=r"^out: cannot be written: "),
        claimed(tmp_path / "file" / "out", ["a"]),
    ):
        pass
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: Any) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with claimed(tmp_path, ["a"]):
        pass
    assert "cannot be locked (Function not implemented)" in caplog.text
    assert folder_lock.LOCKS in {path.name for path in tmp_path.iterdir()}


def test_a_damaged_split_is_told(tmp_path: Path) -> None:
    data, plan, file = make_ba_2motifs(n=20, seed=1), plan_splits("paper")[0], tmp_path / "split.json"
    stored_split(data, "paper", plan, file)
    sound = file.read_text()
    for content in (sound[:40], "[]", "{}", "[" * 10**5):
        file.write_text(content)
        with pytest.raises(DatasetError, match=r"split\.json: expected the rows of a split, got"):
            stored_split(data, "paper", plan, file)


def test_a_study_whose_cells_failed_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nothing").mkdir()
    words = f"--datasets {tmp_path / 'nothing'} --methods majority --runs 1 --jobs 1 --out {tmp_path / 'out'}"
    with pytest.raises(SystemExit) as ended:
        main(["accuracy", *words.split()])
    shown = capsys.readouterr()
    assert ended.value.code == 1
    assert "failed; the reasons are listed below the tables" in shown.err
    assert "Tables, figure and cells" in shown.out


def test_without_room_a_study_keeps_its_tables_and_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    study = ["accuracy", "--datasets", "synthetic:ba-2motifs:30:1", "--jobs", "1", "--out", "out"]
    for words, room in (
        (["--methods", "majority", "--runs", "1"], None),
        (["--methods", "majority", "--runs", "1", "--tables-only"], 100),
        (["--methods", "majority", "--runs", "2"], 100),
    ):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        with little_room(room or 10**9), pytest.raises(SystemExit) as end:
            main([*study, *words])
        said = capsys.readouterr().err.strip().splitlines()[-1]
        if room is None:
            assert end.value.code == 0
            continue
        assert end.value.code == 2
        assert re.fullmatch(r"error: [\w.-]+: cannot be written: File too large.*", said)
        after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert {path: after[path] for path in before} == before
        assert not [path for path in after if path.name.endswith(".tmp")]


MOTIFS_FIGURE = ["motifs", "--graphs", "20", "-o", "motifs.svg"]


@pytest.mark.parametrize("drawn", [True, False], ids=["the figure", "its study"])
def test_without_room_a_figure_of_motifs_stays(
    tmp_path: Path, drawn: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no room for the figure, or not even for the temporary folder of its study."""
    monkeypatch.chdir(tmp_path)
    Path("motifs.svg").write_text("from before")
    if drawn:
        made = SimpleNamespace(figure=lambda: "<svg/>" * 100)
        monkeypatch.setattr("repro.motifs.MotifStudy", lambda *_: made)
    with little_room(100), pytest.raises(SystemExit) as end:
        main(MOTIFS_FIGURE)
    assert end.value.code == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert re.fullmatch(r"error: [\w.-]+: cannot be written: File too large.*", said)
    assert said.startswith("error: motifs.svg: ") == drawn
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("motifs.svg", "from before")]


def test_studies_do_not_begin_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("repro.motifs.MotifStudy", lambda *_: pytest.fail("it began"))
    monkeypatch.setattr("repro.__main__._run", lambda *_: pytest.fail("it began"))
    for words, says in (
        ([*MOTIFS_FIGURE[:-1], "."], "is a folder; expected a file to write"),
        (["accuracy", "--document", "missing.md"], "'missing.md' does not exist"),
    ):
        with pytest.raises(SystemExit) as end:
            main(words)
        assert end.value.code == 2
        assert says in capsys.readouterr().err.replace("\n", " ")
