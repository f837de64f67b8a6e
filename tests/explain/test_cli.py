"""The command `gdlnn explain`: texts, pages, JSON, pictures, bad input."""

import json
import re
from pathlib import Path

import pytest

from gdlnn.explain import explain_model
from reference.command_line import exit_code, run
from reference.explain_models import motif_data, motif_model


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("explain")
    motif_model().save(folder / "model.gdlnn")
    motif_data()[1].save(folder / "graphs.jsonl")
    return str(folder / "model.gdlnn"), str(folder / "graphs.jsonl")


def test_the_text_lists_as_many_places_as_asked(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    run("explain", *files, "--row", 4, "--n-reasons", 2)
    shown = capsys.readouterr().out
    assert "starts at" in shown
    assert 1 <= len(re.findall(r"^  [+−]\d+ .* \(nodes? [\d, ]+", shown, re.MULTILINE)) <= 2
    run("explain", *files, "--all", "--technique", "lime")
    assert capsys.readouterr().out.count("P1") == 20


def test_a_saved_model_explains_as_the_model_did(files: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    run("explain", *files, "-r", 3, "-o", out)
    found = json.loads(out.read_text())
    expected = motif_model().explain(motif_data()[1].graphs[2], random_state=4)
    assert found["nodes"] == list(expected.nodes)
    weights = [reason.weight for reason in expected.reasons]
    assert [reason["weight"] for reason in found["reasons"]] == pytest.approx(weights, rel=1e-6)
    run("explain", *files, "--all", "-o", out)
    assert len(json.loads(out.read_text())) == 20


def test_json_is_for_scripts(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("explain", *files, "-r", 3, "--json", "--technique", "lime")
    one = json.loads(capsys.readouterr().out)
    run("explain", *files, "-r", 3, "-r", 4, "--json", "--n-reasons", "smallest")
    several = json.loads(capsys.readouterr().out)
    assert several[0]["graph"] == one["graph"]
    assert len(several[0]["reasons"]) < len(one["reasons"])
    out = tmp_path / "out.html"
    run("explain", *files, "-r", 3, "-o", out, "-q")
    assert capsys.readouterr() == ("", "")


def test_the_model_as_a_whole(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("explain", *files, "--global")
    shown = capsys.readouterr().out
    assert shown == f"{explain_model(motif_model(), motif_data()[1]).describe()}\n"
    run("explain", *files, "--global", "-o", tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "of them with a place below" in page
    assert "<svg" in page
    capsys.readouterr()
    run("explain", *files, "--global", "--json")
    output = json.loads(capsys.readouterr().out)
    assert {item["label"] for item in output["classes"]} == {0, 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--all", "--global"), "--global explains the model; leave out --row and --all"),
        (("--global", "-o", "out.svg"), "--global writes .html or .json; choose another --output"),
        ((), "choose --row or --all: there are 20 graphs"),
        (("--all", "--row", 1), "choose --row or --all"),
        (("--row", 0), "--row: expected a row from 1 to 20 with a graph, got 0"),
        (("--row", 1, "--technique", "lyme"), "technique: expected one of contribution"),
        (("--row", 1, "--class", "barn"), "--class: expected one of 0, 1, cycle, house, got 'barn'"),
        (("--row", 1, "--n-reasons", 0), "n_reasons: expected a whole number of at least 1"),
        (("--row", 1, "--n-reasons", "few"), "--n-reasons: expected a whole number or smallest, got 'few'"),
        (("--row", 1, "-o", "out.png"), "out.png: expected a name that ends in .html, .json or .svg"),
        (("--all", "-o", "out.svg"), "an SVG shows one graph, got 20"),
    ],
)
def test_bad_words_are_refused(
    files: tuple[str, str], words: tuple[object, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code("explain", *files, *words) == 2
    assert message in capsys.readouterr().err
