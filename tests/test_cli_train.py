"""`gdlnn train` and `gdlnn predict`, from a table of molecules to a table of predictions."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from gdlnn import Mined, load_model
from gdlnn.cli import main

if TYPE_CHECKING:
    from pathlib import Path

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
    pytest.importorskip("rdkit")
    path = tmp_path / "my.csv"
    rows = [("key", "SMILES", "verdict"), *SMILES, ("k", "C(", "good"), ("l", "CCCCO", "")]
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def failing(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that must end with exit code 2 and one line; return it."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    return error


def run(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0


def test_with_epsilon_all_programs_are_mined_and_else_the_default_vocabulary_is_used(table: Path) -> None:
    model = table.parent / "m.gdlnn"
    common = ["train", str(table), "--label", "verdict", "--split", "none", "-j", "1", "-q", "-o", str(model)]
    run(common)
    assert load_model(model).vocabulary == "auto"
    run([*common, "--epsilon", "1"])
    mined = load_model(model).vocabulary
    assert isinstance(mined, Mined)
    assert mined.epsilon == (1.0,)


def test_a_table_in_a_table_out(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = table.parent
    model, out = folder / "m.gdlnn", folder / "out.csv"
    options = ["--label", "verdict", "--id", "key", "--epsilon", "0.1,10%", "-j", "1"]
    run(["train", str(table), *options, "--split", "none", "-o", str(model)])
    told = capsys.readouterr().out
    assert "my: 10 graphs, split all graphs: train 10; 2 rows were skipped" in told
    assert "The strongest programs:" in told
    assert "m.gdlnn: written" in told
    assert load_model(model).classes_.tolist() == ["bad", "good"]

    run(["predict", str(model), str(table), "--id", "key", "-o", str(out), "-j", "1"])
    told = capsys.readouterr().out
    assert "out.csv: 12 rows: bad" in told
    assert "1 row was skipped; the table gives the reasons" in told
    rows = rows_of(out)
    assert [row["row"] for row in rows] == [str(i) for i in range(1, 13)]
    assert [row["id"] for row in rows if row["id"]] == list("abcdefghijl")
    assert list(rows[0]) == [
        *("key", "SMILES", "verdict"),  # of the input
        *("row", "id", "smiles", "label", "probability", "p(bad)", "p(good)"),
        *("uncertainty", "seen", "domain", "domain_reason", "reason"),
    ]
    known = load_model(model).seen_
    assert known is not None
    assert sum(row["seen"] == "yes" for row in rows) >= len(known) > 0
    assert f"{sum(row['seen'] == 'yes' for row in rows)} graphs were in the training data" in told
    assert all((row["domain"] == "inside") == (row["domain_reason"] == "") for row in rows if row["label"])
    assert rows[10]["label"] == ""
    assert rows[10]["smiles"] == "C("
    assert rows[10]["reason"]
    assert [rows[10][name] for name in ("key", "SMILES", "verdict")] == ["k", "C(", "good"]
    right = sum(row["label"] == verdict for row, (_, _, verdict) in zip(rows, SMILES, strict=False))
    assert right >= 8
    for row in rows[:10]:
        assert float(row["probability"]) == max(float(row["p(bad)"]), float(row["p(good)"]))


def test_training_tells_scores_beside_the_majority(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "m.gdlnn"
    run(["train", "synthetic:ba-2motifs:40:1", "-o", str(model), "--split", "random", "--epsilon", "0.1"])
    told = capsys.readouterr().out
    assert "split random, seed 0: train 32, val 4, test 4" in told
    for words in ("accuracy", "balanced accuracy", "ROC-AUC", "MCC", "majority"):
        assert words in told
    metrics = load_model(model).metrics_
    assert set(metrics) == {"val", "test"}
    assert metrics["test"]["model"]["n"] == 4
    again = tmp_path / "again.gdlnn"
    run(
        [
            "train",
            "synthetic:ba-2motifs:40:1",
            "-o",
            str(again),
            "--split",
            "random",
            "--epsilon",
            "0.1",
            "-q",
        ]
    )
    assert capsys.readouterr().out == ""
    assert model.read_bytes() == again.read_bytes()


def test_bad_words_end_with_one_line(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = table.parent
    output = ["-o", str(folder / "m.gdlnn")]
    assert "name their column with --label" in failing(["train", str(table), *output], capsys)
    train = ["train", str(table), "--label", "verdict"]
    assert "--epsilon: expected numbers" in failing([*train, *output, "--epsilon", "much"], capsys)
    assert "is a folder" in failing([*train, "-o", str(folder)], capsys)
    foreign = folder / "foreign.gdlnn"
    foreign.write_bytes(b"what is this")
    error = failing(["predict", str(foreign), str(table), "-o", str(folder / "o.csv")], capsys)
    assert "foreign.gdlnn: not a model file, or damaged" in error
    assert not (folder / "o.csv").exists()


def test_a_model_of_other_graphs_is_refused(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = table.parent / "m.gdlnn"
    run(["train", "synthetic:ba-2motifs:20:1", "-o", str(model), "--split", "none", "--epsilon", "0.1", "-q"])
    capsys.readouterr()
    error = failing(["predict", str(model), str(table), "-o", str(table.parent / "o.csv")], capsys)
    assert "expected the node features of training, degree, got atom, charge, hydrogens" in error
