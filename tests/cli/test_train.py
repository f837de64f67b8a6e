"""`gdlnn train` and `gdlnn predict`, from a table of molecules to a table of predictions."""

import re
from pathlib import Path

import pytest

from gdlnn import Mined, load_model
from reference.command_line import exit_code, rows_of, run

pytestmark = pytest.mark.usefixtures("small_heads")

SMILES = [
    ("a", "CCO", "good"),
    ("b", "CCCO", "good"),
    ("c", "OCCC=C", "good"),
    ("d", "CC(C)O", "good"),
    ("e", "OCCCl", "good"),
    ("f", "CCN", "bad"),
    ("g", "CCCN", "bad"),
    ("h", "NCCC=C", "bad"),
    ("i", "CC(C)N", "bad"),
    ("j", "NCCCl", "bad"),
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "my.csv"
    rows = [("key", "SMILES", "verdict"), *SMILES, ("k", "C(", "good"), ("l", "CCCCO", "")]
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")
    return path


def test_with_epsilon_all_programs_are_mined_and_else_the_default_vocabulary_is_used(table: Path) -> None:
    model = table.parent / "m.gdlnn"
    common = ("train", table, "--label", "verdict", "--split", "none", "-j", 1, "-q", "-o", model)
    run(*common)
    assert load_model(model).vocabulary == "auto"
    run(*common, "--epsilon", "1")
    (mined,) = load_model(model).vocabulary
    assert isinstance(mined, Mined)
    assert mined.epsilon == 1.0


def test_a_table_in_a_table_out(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, out = table.with_name("m.gdlnn"), table.with_name("out.csv")
    options = ("--label", "verdict", "--id", "key", "--epsilon", "0.1,10%", "-j", 1)
    run("train", table, *options, "--split", "none", "-o", model)
    output = capsys.readouterr().out
    assert "my: 10 graphs, split all graphs: train 10; 2 rows were skipped" in output
    assert "The strongest of " in output
    assert load_model(model).classes_.tolist() == ["bad", "good"]

    run("predict", model, table, "--id", "key", "-o", out, "-j", 1)
    output = capsys.readouterr().out
    assert re.search(r"^out.csv: 12 rows: bad: \d+, good: \d+$", output, re.MULTILINE)
    assert "1 row was skipped; the table gives the reasons" in output
    rows = rows_of(out)
    assert [row["row"] for row in rows] == [str(i) for i in range(1, 13)]
    assert [row["id"] for row in rows if row["id"]] == list("abcdefghijl")
    trained_on = sum("in the training set" in row["reason"] for row in rows)
    assert f"{trained_on} graphs were in the training data" in output
    for row in rows:
        if row["prediction"]:
            assert (row["domain"] == "inside") == (row["reason"] in ("", "in the training set"))
    assert rows[10]["prediction"] == ""
    assert rows[10]["reason"]
    assert [rows[10][name] for name in ("key", "SMILES", "verdict")] == ["k", "C(", "good"]
    right = sum(row["prediction"] == verdict for row, (_, _, verdict) in zip(rows, SMILES, strict=False))
    assert right >= 8
    for row in rows[:10]:
        assert float(row["probability"]) == max(float(row["p(bad)"]), float(row["p(good)"]))


def test_a_class_that_is_never_predicted_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "noise.csv"
    table.write_text("smiles,y\n" + ("CCO,common\n" * 4 + "CCO,rare\nCCN,common\n") * 3)
    common = ("--split", "none", "--head", "linear", "-o", tmp_path / "m.gdlnn")
    words = ("train", table, "--label", "y", *common)
    run(*words)
    assert "rare is predicted for none of the 18 training graphs; --threshold" in capsys.readouterr().out
    run(*words, "--threshold", "0.1")
    assert "none of the 18" not in capsys.readouterr().out


def test_training_tells_scores_beside_the_majority(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, again = tmp_path / "m.gdlnn", tmp_path / "again.gdlnn"
    common = ("--split", "random", "--epsilon", 0.1, "--head", "linear", "-o")
    words = ("train", "synthetic:ba-2motifs:40:1", *common)
    run(*words, model)
    printed = capsys.readouterr().out
    assert "split random, seed 0: train 32, val 4, test 4" in printed
    for name in ("accuracy", "balanced accuracy", "ROC-AUC", "MCC", "majority"):
        assert name in printed
    assert len(printed.splitlines()) <= 15
    run(*words, model, "--verbose")
    in_full = capsys.readouterr().out.splitlines()
    assert set(printed.splitlines()) < set(in_full)
    assert any(line.startswith("val, 4 graphs") for line in in_full)
    metrics = load_model(model).metrics_
    assert set(metrics) == {"val", "test"}
    assert metrics["test"]["model"]["n"] == 4
    run(*words, again, "-q")
    assert capsys.readouterr().out == ""
    assert model.read_bytes() == again.read_bytes()


def test_bad_words_are_refused(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    foreign, out = table.with_name("foreign.gdlnn"), table.with_name("o.csv")
    foreign.write_bytes(b"what is this")
    train = ("train", table, "--label", "verdict")
    for words, message in (
        (("train", table, "-o", out), "name their column with --label"),
        ((*train, "-o", out, "--epsilon", "much"), "--epsilon: expected numbers"),
        ((*train, "-o", table.parent), "is a folder"),
        (("predict", foreign, table, "-o", out), "foreign.gdlnn: not a model file, or damaged"),
    ):
        assert exit_code(*words) == 2
        error = capsys.readouterr().err
        assert message in error
        assert "Traceback" not in error
    assert not out.exists()
