"""The command `gdlnn mine`: files, options, early ends, bad input."""

from pathlib import Path

import pytest

from gdlnn import ProgramSet, mine
from reference.command_line import run
from reference.mining_cases import random_trees

TREES = random_trees(30)


@pytest.fixture
def data(tmp_path: Path) -> str:
    TREES.save(tmp_path / "trees.jsonl")
    return str(tmp_path / "trees.jsonl")


def test_it_writes_what_mine_gives(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "programs.jsonl"
    run("mine", data, "-o", out, "--split", "none", "--epsilon", "1%", "-j", 2)
    assert out.read_text() == mine(TREES, epsilon="1%").to_text()
    printed = capsys.readouterr().out
    assert "programs from 30 graphs of random trees" in printed
    assert "\n  5. " in printed
    assert printed.rstrip().endswith("programs.jsonl: " + f"{len(ProgramSet.load(out))} programs")


def test_options_are_those_of_mine(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "programs.jsonl"
    words = ("mine", data, "-o", out, "--split", "none", "-q")
    run(*words, "--min-support", 2)
    assert ProgramSet.load(out) == mine(TREES, min_support=2)
    assert capsys.readouterr() == ("", "")
    run("mine", data, "-o", "-", "--split", "none", "--min-support", 2)
    assert capsys.readouterr().out == out.read_text()


def test_the_training_part_is_mined(data: str, tmp_path: Path) -> None:
    run("mine", data, "-o", tmp_path / "p.jsonl", "--split", "stratified", "--seed", 3, "-q")
    train = TREES.split("stratified", 3)[0]
    assert ProgramSet.load(tmp_path / "p.jsonl") == mine(train, random_state=3)
