"""`gdlnn train --estimate`, and the one bar over all of training."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from gdlnn import (
    GDLNNClassifier,
    GraphDataset,
    Mined,
    MLPHead,
    Neighbourhoods,
    make_ba_2motifs,
    progress,
)
from gdlnn.cli import main
from gdlnn.model.classifier import GDLNNClassifier as Fitted
from gdlnn.model.training_time import training_time
from gdlnn.progress import moved, portion, progress_bar, stage, staged_bar
from repro.tuning import tune

if TYPE_CHECKING:
    from pathlib import Path

QUICK = MLPHead(epochs=5, ensemble_size=2, hidden=(8,))
HEAD_STAGES = ["training the head", "calibrating", "recording the training graphs"]


@pytest.fixture(scope="module")
def motifs() -> GraphDataset:
    return make_ba_2motifs(40, seed=5)


def run_cli(words: list[str]) -> Any:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, str]]:
    """Let bars be drawn, and collect the positions and words of bars over stages."""
    screen = Console(file=io.StringIO(), force_terminal=True, width=120, _environ={"TERM": "xterm"})
    moves: list[tuple[float, str]] = []

    class Bar(progress._StagedBar):
        def move(self, position: float, says: str) -> None:
            super().move(position, says)
            assert self.time_left() >= 0
            moves.append((self._position, says))

    monkeypatch.setattr(progress, "_console", lambda: screen)
    monkeypatch.setattr(progress, "_StagedBar", Bar)
    return moves


# --- the estimate -------------------------------------------------------------------------------------------


def test_the_estimate_names_all_stages_and_adds_up(
    motifs: GraphDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("an estimate fits no model")

    monkeypatch.setattr(Fitted, "fit", refuse)
    model = GDLNNClassifier([Neighbourhoods(), Mined((0.1, 1), bags="auto")], QUICK)
    told = training_time(model, motifs)
    mining = ["mining, ε = 0.1", "mining, ε = 1"]
    assert list(told.stages) == ["finding neighbourhoods", *mining, *HEAD_STAGES]
    assert all(seconds.cpu > 0 and seconds.wall > 0 for seconds in told.stages.values())
    assert told.cpu_seconds == pytest.approx(sum(seconds.cpu for seconds in told.stages.values()))
    assert not hasattr(model, "programs_")
    values = told.to_json()
    assert values["cpu_seconds"] == pytest.approx(sum(one["cpu_seconds"] for one in values["stages"]))
    text = str(told)
    assert all(name in text for name in told.stages)
    folds = told.with_folds(5)
    assert folds.cpu_seconds == pytest.approx(5 * told.cpu_seconds)


def test_more_epochs_take_longer(motifs: GraphDataset) -> None:
    few, many = (
        training_time(GDLNNClassifier("neighbourhoods", MLPHead(epochs=n)), motifs) for n in (10, 400)
    )
    assert many.stages["training the head"].cpu > 5 * few.stages["training the head"].cpu
    assert many.stages["calibrating"].cpu > 5 * few.stages["calibrating"].cpu


@pytest.mark.parametrize("head", ["linear", "scorecard"])
def test_every_head_has_an_estimate(motifs: GraphDataset, head: str) -> None:
    told = training_time(GDLNNClassifier("neighbourhoods", head), motifs)
    assert told.stages["training the head"].cpu > 0


def test_the_command_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["smiles,active", *(f"{'C' * n}{'O' if n % 2 else 'N'},{n % 2}" for n in range(1, 41))]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(rows))
    model = tmp_path / "model.gdlnn"
    assert run_cli(["train", str(table), "--label", "active", "-o", str(model), "--estimate", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["stages"]][-2] == "finding examples"
    assert told["cpu_seconds"] > 0
    assert run_cli(["train", str(table), "--label", "active", "--estimate", "-j", "1"]) == 0
    assert "on 1 thread" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]
    assert run_cli(["train", str(table), "--label", "active"]) == 2
    assert "or --estimate" in capsys.readouterr().err


# --- the bar ------------------------------------------------------------------------------------------------


def test_one_bar_goes_forward_through_all_stages(
    motifs: GraphDataset, shown: list[tuple[float, str]]
) -> None:
    GDLNNClassifier([Neighbourhoods(), Mined((0.1, 1), bags=2)], QUICK).fit(motifs)
    positions = [position for position, _ in shown]
    assert positions == sorted(positions)
    assert positions[-1] == 1.0
    assert len(set(positions)) > 10  # epochs and descents move it too
    named = list(dict.fromkeys(words.split(":")[0] for _, words in shown))
    stages = ["finding neighbourhoods", "mining, ε = 0.1", "mining, ε = 1", *HEAD_STAGES]
    assert named == [*stages, "done"]


def test_tuning_has_one_bar_too(motifs: GraphDataset, shown: list[tuple[float, str]]) -> None:
    base = GDLNNClassifier.paper(epochs=3)
    tune(motifs[:30], motifs[30:], base, epsilons=(0.1,), ks=(1.0,), learning_rates=(0.01, 0.1))
    positions = [position for position, _ in shown]
    assert positions == sorted(positions)
    assert positions[-1] == 1.0
    assert "ε = 0.1, k = 1.0, learning rate 0.1, training the head" in {words for _, words in shown}


def test_nothing_is_shown_without_a_terminal_or_when_not_wanted(
    motifs: GraphDataset, shown: list[tuple[float, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    GDLNNClassifier("neighbourhoods", QUICK, progress=False).fit(motifs)
    assert not shown
    monkeypatch.setattr(progress, "_console", lambda: None)
    GDLNNClassifier("neighbourhoods", QUICK).fit(motifs)
    assert not shown


def test_inner_bars_move_the_outer_one(shown: list[tuple[float, str]]) -> None:
    with staged_bar("work", {"one": 1.0, "two": 3.0}):
        with stage("one"), portion(1, 2), progress_bar("inner", 4) as update:
            update(advance=2, says="half")
        with stage("two"):
            moved(1, 3)
            moved(0, 3)  # never back
    expected = [(0, "one"), (0.1875, "one: half"), (0.25, "one"), (0.25, "two"), (0.5, "two"), (0.5, "two")]
    assert shown == [*expected, (1, "two"), (1, "done")]
    moved(1, 2)  # nothing is under way any more
    assert len(shown) == 8


def test_the_time_left_follows_the_pace() -> None:
    now = [0.0]
    bar = progress._StagedBar(lambda **_: None, 10.0, clock=lambda: now[0])
    assert bar.time_left() == pytest.approx(10)
    now[0] = 2.0
    bar.move(0.1, "")  # twice as slow as expected
    assert 9 < bar.time_left() < 18
    before = bar.time_left()
    now[0] = 5.0
    assert bar.time_left() == pytest.approx(before - 3)  # it counts down between moves
    now[0] = 10.0
    bar.move(0.5, "")
    assert 7 < bar.time_left() < 10
