"""`gdlnn train --target` and what follows: predictions with intervals, explanations, reports."""

import json
from pathlib import Path

import pytest

from gdlnn import load_model
from gdlnn.server.answers import Answers
from gdlnn.server.limits import Limits
from reference.command_line import refusal, rows_of, run, write_table

pytestmark = pytest.mark.usefixtures("small_heads")

CHAINS = [f"{'C' * n}{end}" for n in range(1, 15) for end in ("O", "N", "Cl")]
VALUES = [str(round(1.5 - 0.5 * text.count("C") + ("O" in text), 2)) for text in CHAINS]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    values = [">50", "", "about 3", *VALUES[3:]]
    path = tmp_path_factory.mktemp("target") / "table.csv"
    mass = [str(10 * n + 1) for n in range(len(CHAINS))]
    return write_table(path, {"smiles": CHAINS, "logS": values, "mass": mass, "name": CHAINS})


@pytest.fixture(scope="module")
def model(table: Path) -> Path:
    path = table.with_name("model.gdlnn")
    run("train", table, "--target", "logS", "--unit", "log mol/l", "--head", "linear", "-o", path, "-q")
    return path


def test_rows_without_a_number_are_skipped_and_named(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("train", table, "--target", "logS", "--head", "scorecard", "--cv", 3, "-o", tmp_path / "m.gdlnn")
    printed = capsys.readouterr().out
    assert "3 rows were skipped: 1 (no label: >50), 2 (no label), 3 (no label: about 3)" in printed
    assert "RMSE" in printed
    assert "constant: " in printed


def test_predictions_have_intervals(model: Path, table: Path, tmp_path: Path) -> None:
    run("predict", model, table, "-o", tmp_path / "out.csv", "-q", "-j", 1)
    rows = rows_of(tmp_path / "out.csv")
    assert list(rows[0])[-5:] == ["prediction", "lower", "upper", "domain", "reason"]
    assert all(float(row["lower"]) <= float(row["prediction"]) <= float(row["upper"]) for row in rows)


def test_an_explanation_is_in_the_unit_of_the_target(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    run("explain", model, "CCCCCO", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["unit"] == "log mol/l"
    assert {reason["name"] for reason in found["reasons"]} == {"alcohol", "alkyl chain"}


def test_a_report_alerts_and_the_server_know_values(model: Path, table: Path, tmp_path: Path) -> None:
    run("report", model, table, "-o", tmp_path / "report.html", "-q", "-j", 1)
    page = (tmp_path / "report.html").read_text()
    for words in ("Always the training mean", "measured − predicted", "alkyl chain", "log mol/l", ".chart"):
        assert words in page
    run("alerts", model, "-o", tmp_path / "alerts.csv", "-j", 1)
    found = rows_of(tmp_path / "alerts.csv")
    assert {row["class"] for row in found if row["name"].startswith("C next to C next to C")} == {"lower"}
    answers = Answers({"": load_model(model)}, Limits())
    (row,) = answers.predict(json.dumps({"smiles": ["CCCCCO"]}).encode())["rows"]
    assert row["lower"] < row["label"] < row["upper"]
    options = {"model": None, "target": None, "n_programs": 5, "enough": True, "counterfactual": True}
    card = answers.explain(json.dumps({"smiles": "CCCCCO"}).encode(), **options)
    assert card["unit"] == "log mol/l"
    assert answers.describe()["programs"]


def test_several_targets_and_logarithms(table: Path, tmp_path: Path) -> None:
    names = ("--target", "logS", "--target", "mass")
    run("train", table, *names, "--head", "scorecard", "-o", tmp_path / "both", "-q")
    assert [row["label"] for row in rows_of(tmp_path / "both" / "summary.csv")] == ["logS", "mass"]
    run("predict", tmp_path / "both", table, "-o", tmp_path / "out.csv", "-q", "-j", 1)
    assert {"logS_lower", "mass_upper"} <= set(rows_of(tmp_path / "out.csv")[0])
    run("train", table, "--target", "mass", "--log", "--head", "linear", "-o", tmp_path / "l.gdlnn", "-q")
    assert load_model(tmp_path / "l.gdlnn").training_.labels.max() < 3


def test_wrong_targets_are_refused(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ("-o", tmp_path / "never.gdlnn", "-q")
    assert "--target" in refusal(capsys, "train", table, "--label", "mass", *out)
    assert "leave out --label" in refusal(capsys, "train", table, "--label", "name", "--target", "mass", *out)
    assert "expected numbers, got" in refusal(capsys, "train", table, "--target", "name", *out)
    assert "above 0 for --log" in refusal(capsys, "train", table, "--target", "logS", "--log", *out)
    endless = write_table(tmp_path / "inf.csv", {"smiles": CHAINS, "y": ["inf", *VALUES[1:]]})
    assert "expected finite numbers, got 'inf'" in refusal(capsys, "train", endless, "--target", "y", *out)


def test_identical_molecules_are_averaged_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twins = write_table(tmp_path / "twins.csv", {"smiles": [*CHAINS, "OC"], "y": [*VALUES, "5"]})
    common = ("--head", "linear", "--split", "none", "-o", tmp_path / "m.gdlnn")
    words = ("train", twins, "--target", "y", *common)
    assert "expected no identical graphs" in refusal(capsys, *words, "-q", "--duplicates", "refuse")
    run(*words, "-q", "--duplicates", "mean")
    values = load_model(tmp_path / "m.gdlnn").training_.labels
    assert len(values) == len(CHAINS)
    assert values[0] == (float(VALUES[0]) + 5) / 2
