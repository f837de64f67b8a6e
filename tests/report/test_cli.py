"""`gdlnn report` and `gdlnn demo`: what they write and print, and what bad input gets."""

import json
from pathlib import Path

import pytest

import gdlnn
from reference.command_line import exit_code, run
from reference.models import classifier
from reference.report_models import SMALL

pytestmark = pytest.mark.usefixtures("small_heads")

DATA = "synthetic:ba-2motifs:60:0"


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    train, val, _ = gdlnn.make_ba_2motifs(60, 0).split("paper", 0)
    path = tmp_path_factory.mktemp("model") / "m.gdlnn"
    classifier(**SMALL).fit(train, validation=val).save(path)
    return path


def test_report_writes_a_page_and_says_so(
    model_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "r.html"
    given = ["report", str(model_file), DATA, "-o", str(page)]
    run(*given)
    shown = capsys.readouterr()
    assert "accuracy" in shown.out
    assert "explaining 6 graphs" in shown.err
    first = page.read_bytes()
    run(*given, "--json", "--quiet")
    shown = capsys.readouterr()
    output = json.loads(shown.out)
    assert shown.err == ""
    assert output["n"] == 6
    assert page.read_bytes() == first


def test_a_report_on_other_data_is_about_all_of_it(
    model_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.jsonl"
    gdlnn.make_ba_2motifs(20, 5).save(other)
    page = tmp_path / "r.html"
    given = ("report", model_file, other, "-o", page, "--json", "--quiet")
    run(*given)
    assert json.loads(capsys.readouterr().out)["n"] == 20
    run(*given, "--part", "test")
    assert json.loads(capsys.readouterr().out)["n"] == 2


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (["report", "nothing.gdlnn", DATA], "nothing.gdlnn: no such file; expected a model file"),
        (["report", "MODEL", "nowhere.csv"], "nowhere.csv: no such file"),
        (["report", "MODEL", DATA, "-o", "FOLDER"], "is a folder; expected a file to write"),
        (["demo", "nowhere.csv", "-o", "FOLDER/r.html"], "nowhere.csv: no such file"),
    ],
)
def test_bad_input_is_one_line(
    change: list[str],
    expected: str,
    model_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [word.replace("MODEL", str(model_file)).replace("FOLDER", str(tmp_path)) for word in change]
    assert exit_code(*words) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert expected in errors[0]
    assert list(tmp_path.iterdir()) == []


def test_demo_ends_with_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "demo" / "report.html"
    run("demo", "synthetic:ba-2motifs:60", "-o", str(page))
    output = capsys.readouterr().out
    for words in ("60 graphs of cycle (30), house (30)", "Trained ", "starts at ", "accuracy "):
        assert words in output
    assert "BA-2Motifs · GDLNN report" in page.read_text(encoding="utf-8")
