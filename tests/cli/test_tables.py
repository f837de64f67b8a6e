"""Real tables on the command line: from a csv with holes to models, predictions, reports and alerts."""

import csv
import io
import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdlnn import load_model
from gdlnn.cli import options
from gdlnn.mining.program_set import support_keys
from gdlnn.model.model_folder import load_models
from reference.command_line import refusal, rows_of, run, write_table

pytestmark = pytest.mark.usefixtures("small_heads")

ENDS = ("O", "N", "OC", "NC", "Cl", "F")
CHAINS = [f"{'C' * n}{end}" for n in range(2, 8) for end in ENDS]
"""36 molecules; those with O are alcohols and ethers."""


def has(letter: str) -> list[int]:
    return [int(letter in text) for text in CHAINS]


QUICK = ("-j", 1, "-q", "--head", "linear")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model of a table whose label is a quantity, with holes, a date and a weight."""
    folder = tmp_path_factory.mktemp("model")
    value = [f"{5 + 2 * oxygen + i / 100:.2f}" for i, oxygen in enumerate(has("O"))]
    value[3] = "n.d."
    columns = {
        "structure": [*CHAINS, "C("],
        "pIC50": [*value, "7"],
        "year": [str(1990 + i) for i in range(37)],
        "prediction": [f"m{i}" for i in range(37)],
    }
    mine = write_table(folder / "mine.csv", columns)
    words = ("--smiles", "structure", "--label", "pIC50", "--split-at", "6", "--missing", "n.d.,x")
    run("train", mine, *words, "--split", "time:year", "-o", folder / "m.gdlnn", *QUICK)
    return folder / "m.gdlnn"


def test_a_model_remembers_how_its_table_was_read(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fitted = load_model(model)
    command = fitted.training_.provenance.pop("command")
    assert command[2:] == ["mine.csv", "--label", "pIC50", "--smiles", "structure", *command[7:]]
    assert fitted.training_.provenance == {
        "encoding": "utf-8",
        "smiles": "structure",
        "label": "pIC50",
        "missing": ["n.d.", "x"],
        "threshold": 6.0,
        "split": "time:year",
        "seed": 0,
    }
    assert fitted.schema_.class_name(1) == "6 or more"
    report = model.with_name("r.html")
    run("report", model, model.with_name("mine.csv"), "-o", report, "--json", "-j", 1, "-q")
    output = json.loads(capsys.readouterr().out)
    assert output["n"] == 4  # of 35: the newest
    assert "6 or more" in report.read_text()


def test_predictions_keep_the_columns_of_the_input(model: Path) -> None:
    out = model.with_name("out.csv")
    run("predict", model, model.with_name("mine.csv"), "-o", out, "-j", 1, "-q")
    rows = rows_of(out)
    assert list(rows[0]) == [
        *("structure", "pIC50", "year", "prediction"),
        *("row", "smiles", "gdlnn_prediction", "probability", "p(0)", "p(1)", "domain", "reason"),
    ]
    assert [row["prediction"] for row in rows] == [f"m{i}" for i in range(37)]
    predicted = [int(row["gdlnn_prediction"]) for row in rows[:36]]
    assert np.mean(np.array(predicted) == has("O")) > 0.8
    assert all(len(row["probability"].lstrip("0.")) <= 4 for row in rows[:36])
    assert "in the training set" in rows[0]["reason"]
    assert rows[36]["reason"].startswith("not a SMILES")
    run("predict", model, model.with_name("mine.csv"), "-o", out.with_suffix(".tsv"), "-j", 1, "-q")
    assert out.with_suffix(".tsv").read_text().splitlines()[0].split("\t")[:2] == ["structure", "pIC50"]


def test_standard_input_and_output(
    model: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"structure\nCCCO\nCCCN\n")))
    run("predict", model, "-", "-o", "-", "-j", 1)
    out, err = capfdbinary.readouterr()
    rows = list(csv.DictReader(io.StringIO(out.decode())))
    assert [row["prediction"] for row in rows] == ["1", "0"]
    assert b"2 rows" in err


@pytest.mark.parametrize("name", ["out.xlsx", "out.html", "out"])
def test_an_ending_that_is_not_what_is_written_is_refused(
    model: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = model.with_name(name)
    error = refusal(capsys, "predict", model, model.with_name("mine.csv"), "-o", target)
    assert f"{name}: expected a name that ends in .csv, .tsv, .jsonl or .ndjson" in error
    assert not target.exists()
    assert "ends in .html or .htm" in refusal(capsys, "report", model, "mine.csv", "-o", "r.csv")


def test_a_smiles_is_explained(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("explain", model, "CCCCO", "-j", 1)
    assert capsys.readouterr().out.startswith("CCCCO: 6 or more (")
    run("explain", model, "CCCCN", "--json", "-j", 1)
    assert json.loads(capsys.readouterr().out)["prediction"] == 0
    assert "no.csv: no such file, folder or dataset" in refusal(capsys, "explain", model, "no.csv")


@pytest.mark.parametrize("command", ["explain", "predict"])
def test_a_molecule_never_leaves_the_machine(
    model: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("gdlnn.datasets.load.fetch", lambda source: asked.append(source.name))
    words = ["-j", 1, "-q", "-o", model.with_name(f"one.{'csv' if command == 'predict' else 'json'}")]
    expected = "CC1CCNC: no such file, folder or dataset; not a SMILES: unclosed ring"
    assert expected in refusal(capsys, command, model, "CC1CCNC", *words)
    run(command, model, "CCO", *words)
    run(command, model, "C" * 300, *words)  # too long for the name of a file
    assert asked == []
    if command == "predict":
        run(command, model, "CCCO", *words)
        [row] = rows_of(words[-1])  # type: ignore[arg-type]
        assert (row["smiles"], row["prediction"]) == ("CCCO", "1")


def test_a_pipe_is_read(model: Path, tmp_path: Path) -> None:
    pipe, out = tmp_path / "pipe", tmp_path / "out.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("structure\nCCCO\nCCCN\n",))
    writer.start()
    run("predict", model, pipe, "-o", out, "-j", 1, "-q")
    writer.join()
    assert [row["prediction"] for row in rows_of(out)] == ["1", "0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("several")
    nitrogen: list[Any] = has("N")
    nitrogen[:10] = [""] * 10
    mine = write_table(place / "mine.csv", {"smiles": CHAINS, "has O": has("O"), "N/a": nitrogen})
    run("train", mine, "--label", "has O, N/a", "-o", place / "models", *QUICK)
    return place / "models"


def test_several_labels_give_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {path.name for path in folder.iterdir()} == {
        *("has_O.gdlnn", "N_a.gdlnn", "models.json", "summary.csv", "index.html"),
    }
    summary = rows_of(folder / "summary.csv")
    assert [(row["label"], row["graphs"], row["without_label"]) for row in summary] == [
        ("has O", "36", "0"),
        ("N/a", "26", "10"),
    ]
    assert summary[0]["scored_on"] == "test"
    assert list(load_models(folder)) == ["has O", "N/a"]
    page = (folder / "index.html").read_text()
    assert "has O" in page
    assert "<a href" in page
    out = folder.with_name("out.csv")
    run("predict", folder, folder.with_name("mine.csv"), "-o", out, "-j", 1)
    assert "out.csv: N/a: " in capsys.readouterr().out
    rows = rows_of(out)
    assert [name for name in rows[0] if name.endswith("prediction")] == ["has O_prediction", "N/a_prediction"]
    alone = load_model(folder / "N_a.gdlnn").predict(CHAINS)
    assert [int(row["N/a_prediction"]) for row in rows] == alone.tolist()


def test_a_folder_of_models_has_a_report_for_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ("--graphs", 3, "-j", 1, "-q")
    run("report", folder, folder.with_name("mine.csv"), *few)
    page = (folder / "index.html").read_text()
    assert 'href="has_O.html"' in page
    assert 'href="has_O.gdlnn"' in page
    assert (folder / "N_a.html").is_file()
    for place in (folder, folder.with_name("reports")):  # reports may be written again
        run("report", folder, folder.with_name("mine.csv"), "-o", place, *few)
    page = (folder.with_name("reports") / "index.html").read_text()
    assert re.findall(r'href="([^"]+)"', page) == ["data:,", "has_O.html", "N_a.html"]
    error = refusal(capsys, "report", folder, folder.with_name("mine.csv"), "-o", folder / "one.html")
    assert "expected a folder to write" in error


def test_what_is_wrong_with_one_label_stops_before_anything_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns: dict[str, list[Any]] = {
        "smiles": CHAINS,
        "A": has("O"),
        "B": ["NA"] * 36,
        "C": [f"{i}.5" for i in range(36)],
    }
    mine = write_table(folder.with_name("bad.csv"), columns)
    target = folder.with_name("new")
    assert "bad.csv, column 'B': expected labels, got none in 36 rows" in refusal(
        capsys, "train", mine, "--label", "A,B", "-o", target
    )
    assert "column 'C': expected classes, got 36 different numbers" in refusal(
        capsys, "train", mine, "--label", "A,C", "-o", target
    )
    assert "expected a column 'D'" in refusal(capsys, "train", mine, "--label", "A,D", "-o", target)
    assert "expected different columns" in refusal(capsys, "train", mine, "--label", "A,A", "-o", target)
    error = refusal(capsys, "train", mine, "--label", "A,C", "-o", folder.parent)
    assert "expected an empty folder or one of models" in error
    assert not target.exists()


def test_a_column_says_what_is_held_out_and_another_how_much_rows_weigh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = ["test" if i % 6 == 5 else "train" for i in range(36)]
    columns: dict[str, list[Any]] = {"smiles": CHAINS, "y": has("O"), "part": parts, "w": [1.5] * 36}
    mine, out = write_table(tmp_path / "mine.csv", columns), tmp_path / "m.gdlnn"
    words = ("train", mine, "--label", "y", "-o", out)
    run(*words, "--split", "column:part", "--weight-column", "w", "-j", 1, "--head", "linear")
    assert "split by column part: train 30, test 6" in capsys.readouterr().out
    kept = out.read_bytes()
    columns["w"][4], columns["part"][7] = "heavy", "trial"
    write_table(mine, columns)
    error = refusal(capsys, *words, "--weight-column", "w")
    assert "mine, row 5, column 'w': expected a weight of at least 0, got 'heavy'" in error
    error = refusal(capsys, *words, "--split", "column:part")
    assert "mine, row 8, column 'part': expected train, val or test, got 'trial'" in error
    assert "expected a column 'v'" in refusal(capsys, *words, "--weight-column", "v")
    assert out.read_bytes() == kept


def test_twins_with_different_labels_are_told_and_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    smiles, y = [*CHAINS, "OCC", "NCC", "OCC"], [*has("O"), 0, 0, 1]
    mine, out = write_table(tmp_path / "mine.csv", {"smiles": smiles, "y": y}), tmp_path / "m.gdlnn"
    common = ("train", mine, "--label", "y", "-o", out, "--split", "none", "-j", 1, "--head", "linear")
    run(*common, "--duplicates", "drop-conflicting")
    output = capsys.readouterr().out
    assert "mine: 1 group of identical graphs with different labels" in output
    assert "row 1 (1), row 37 (0), row 39 (1): CCO" in output
    assert "4 of 39 graphs are dropped as duplicates" in output
    assert load_model(out).programs_.info.n_graphs == 35
    assert load_model(out).training_.provenance["duplicates"] == "drop-conflicting"


def test_folds_score_and_the_model_has_seen_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, out = write_table(tmp_path / "mine.csv", {"smiles": CHAINS, "y": has("O")}), tmp_path / "m.gdlnn"
    words = ("train", mine, "--label", "y", "-o", out, "--cv", 3, "-j", 1, "--head", "linear")
    run(*words)
    found = load_model(out).metrics_["cv"]
    assert (found["folds"], found["model"]["n"]) == (3, 36)
    assert found["model"]["accuracy"] > found["majority"]["accuracy"]
    assert set(found["deviation"]) >= {"accuracy", "roc_auc"}
    assert load_model(out).programs_.info.n_graphs == 36
    assert "leave out --split scaffold" in refusal(capsys, *words, "--split", "scaffold")


def test_alerts_are_the_programs_told_once(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, out = model.with_name("mine.csv"), model.with_name("alerts.csv")
    common = ("--min-support", 2, "-j", 1)
    run("alerts", model, "--data", mine, "--part", "all", "-o", out, "-n", 0, *common)
    assert "alerts.csv: " in capsys.readouterr().out
    rows = rows_of(out)
    assert len({row["smarts"] for row in rows}) == len(rows)
    best = rows[0]
    assert {"6 or more", "below 6"} == {row["class"] for row in rows}
    assert 0 <= float(best["training_precision_low"]) <= float(best["training_precision"])
    assert float(best["training_odds_low"]) < float(best["training_odds_ratio"])
    assert int(best["held_out_matched"]) >= int(best["training_matched"])  # all of the table
    assert best["examples"]
    run("alerts", model, "-o", out.with_suffix(".json"), "--class", "6 or more", "-n", 3, *common)
    found = json.loads(out.with_suffix(".json").read_text())
    assert len(found) == 3
    assert {alert["label"] for alert in found} == {1}
    assert found[0]["held_out"] is None
    supports = set(support_keys(load_model(model).programs_.filter(2).supports))
    assert len(rows) <= len(supports)
    assert "ends in .csv, .json, .smarts or .catalog" in refusal(
        capsys, "alerts", model, "-o", out.with_suffix(".txt")
    )


def test_alerts_are_counted_on_the_test_set_of_the_training_table_or_on_all_other_molecules(
    model: Path,
) -> None:
    mine, out = model.with_name("mine.csv"), model.with_name("counted.csv")
    lines = mine.read_text().splitlines()
    other = model.with_name("other.csv")
    other.write_text("\n".join([*lines[:25], *lines[5:15]]) + "\n")

    def counts(table: Path, *part: str) -> list[str]:
        run("alerts", model, "--data", table, *part, "-o", out, "-n", 0, "--min-support", 2, "-j", 1)
        return [row["held_out_matched"] for row in rows_of(out)]

    assert counts(mine) == counts(mine, "--part", "test") != counts(mine, "--part", "all")
    assert counts(other) == counts(other, "--part", "all")
    fitted = load_model(model)
    fitted.training_.provenance["duplicates"] = "drop-conflicting"
    read = options.read_as_trained(str(other), fitted, part=None)
    assert len(read) == 24 - 1 + 10  # one value is missing; duplicates are dropped for training only


def test_a_filter_catalog_gives_the_same_matches(model: Path) -> None:
    from rdkit import Chem
    from rdkit.Chem import FilterCatalog

    out, file = model.with_name("a.smarts"), model.with_name("a.catalog")
    for target in (out, file):
        run("alerts", model, "-o", target, "-n", 0, "--min-support", 2, "-j", 1)
    catalog = FilterCatalog.FilterCatalog(file.read_bytes())
    lines = [line.split("\t") for line in out.read_text().splitlines()]
    assert catalog.GetNumEntries() == len(lines) > 5
    fitted = load_model(model)
    smiles = [*CHAINS, "c1ccccc1O", "CC(=O)Oc1ccccc1C(=O)O", "CN1CCC[C@H]1c1cccnc1"]
    assert fitted.schema_ is not None
    columns = {str(item.program.to_smarts(fitted.schema_)): i for i, item in enumerate(fitted.programs_)}
    matches = fitted.represent(smiles).matches
    for row, text in enumerate(smiles):
        entries = catalog.GetMatches(Chem.MolFromSmiles(text))
        numbers = {int(entry.GetProp("number")) - 1 for entry in entries}
        expected = {i for i, (smarts, _, _) in enumerate(lines) if matches[row, columns[smarts]]}
        assert numbers == expected


def test_classes_of_ions_or_of_one_graph_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    acids = [f"{'C' * n}(=O)[O-]" for n in range(2, 22)]
    table = write_table(tmp_path / "t.csv", {"smiles": [*acids, *CHAINS], "y": [1] * 20 + [0] * 36})
    words = ("train", table, "--label", "y", *QUICK, "-o", tmp_path / "m.gdlnn")
    run(*words)
    output = capsys.readouterr().err
    assert "warning: t: 100% of class 1 have charged atoms, but only 0% of the others" in output
    assert "--standardize parent" in output
    write_table(table, {"smiles": [*acids, *CHAINS], "y": [1] * 20 + [0] * 35 + ["O"]})
    run(*words, "--standardize", "parent")
    output = capsys.readouterr().err
    assert "warning: t: only one graph has the class O; is it a typing error?" in output
    assert "charged atoms" not in output
