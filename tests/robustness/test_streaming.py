"""Large sets: inputs are read and predicted in batches, here or on workers."""

import csv
import json
import pickle
import re
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import pytest

from gdlnn import GDLNNClassifier, jobs, make_ba_2motifs
from gdlnn.cli import main
from gdlnn.datasets import load_jsonl, load_sdf
from gdlnn.datasets.resolve import Batch, batched_dataset
from gdlnn.datasets.tables import Row
from gdlnn.errors import DatasetError
from gdlnn.model import representation
from gdlnn.model.representation import PredictedRow, stream_predictions
from reference.models import quick

MOTIFS = make_ba_2motifs(24, random_state=8)


@pytest.fixture(scope="module")
def model() -> GDLNNClassifier:
    return quick(head="linear").fit(MOTIFS)  # worker processes need no torch for it


def test_predictions_on_workers_are_those_of_here(
    model: GDLNNClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(representation, "FEW_BATCHES", 2)
    MOTIFS.save(tmp_path / "d.jsonl")

    def answers() -> list[list[PredictedRow]]:
        return list(stream_predictions([model], batched_dataset(str(tmp_path / "d.jsonl"), 5).batches))

    here = answers()
    assert [len(rows) for rows in here] == [5, 5, 5, 5, 4]
    labels = [one.label for rows in here for _, (one,) in rows]
    assert labels == model.predict(MOTIFS).tolist()
    with joblib.parallel_config("loky", n_jobs=2):
        assert answers() == here


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_batches_are_drawn_as_needed(model: GDLNNClassifier, tmp_path: Path, n_jobs: int) -> None:
    """However slowly predictions are taken, the number of batches in memory is bounded."""
    MOTIFS.save(tmp_path / "d.jsonl")
    (batch,) = batched_dataset(str(tmp_path / "d.jsonl"), 24).batches
    drawn: list[int] = []

    def endless() -> Iterator[Batch]:
        while True:
            drawn.append(1)
            yield batch

    with joblib.parallel_config("threading", n_jobs=n_jobs):
        answers = stream_predictions([model], endless())
        for _ in range(3):
            assert len(next(answers)) == 24
            time.sleep(0.3)
        answers.close()  # type: ignore[attr-defined]
    assert len(drawn) <= max(representation.FEW_BATCHES, jobs.WINDOW * n_jobs)


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    return int(end.value.code or 0)


@pytest.fixture
def file(model: GDLNNClassifier, tmp_path: Path) -> Path:
    model.save(tmp_path / "m.gdlnn")
    MOTIFS.save(tmp_path / "d.jsonl")
    return tmp_path / "m.gdlnn"


def test_batches_make_no_difference(
    model: GDLNNClassifier, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, folder = file.with_name("d.jsonl"), file.parent
    assert run("predict", file, data, "-o", folder / "whole.csv", "-j", 1) == 0
    output = capsys.readouterr().out
    assert "whole.csv: 24 rows" in output
    assert "rows per second" in output
    monkeypatch.setattr("gdlnn.cli.predict.BATCH", 5)
    assert run("predict", file, data, "-o", folder / "cut.csv", "-j", 1) == 0
    # Sums of floats may end otherwise in the last digits where the batches differ.
    with (folder / "whole.csv").open() as one, (folder / "cut.csv").open() as other:
        for left, right in zip(csv.DictReader(one), csv.DictReader(other), strict=True):
            assert (left["id"], left["prediction"]) == (right["id"], right["prediction"])
            assert float(left["probability"]) == pytest.approx(float(right["probability"]), abs=1e-3)
    assert run("predict", file, data, "-o", folder / "lines.jsonl", "-j", 1, "-q") == 0
    lines = [json.loads(line) for line in (folder / "lines.jsonl").read_text().splitlines()]
    assert [line["row"] for line in lines] == list(range(1, 25))
    assert lines[0]["prediction"] in model.classes_.tolist()


def test_a_table_is_read_as_it_is_used(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text(
        "key,smiles\n" + "".join(f"{i},{'C' * (i % 5 + 1)}\n" for i in range(10)) + "10,C(\n11,CC\n"
    )
    data = batched_dataset(str(table), 4, id="key")
    assert (data.name, data.has_smiles) == ("t", True)
    batches = list(data.batches)
    assert all(row.graph is None for batch in batches for row in batch.rows)  # not read yet
    rows = [row for batch in batches for row in batch.read()]
    assert [row.number for row in rows] == list(range(1, 13))
    assert [row.graph is None for row in rows] == [False] * 10 + [True, False]
    assert (rows[10].key, rows[10].smiles) == ("", "C(")
    assert rows[11].key == "11"
    whole = batched_dataset("synthetic:ba-2motifs:24:0", 10)
    batches = list(whole.batches)
    read = [batch.rows for batch in batches]
    assert [len(rows) for rows in read] == [10, 10, 4]
    assert [batch.read() for batch in batches] == read


def test_the_memory_does_not_grow_with_the_table(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("smiles\n" + "CCO\n" * 20_000)
    batches = batched_dataset(str(table), 500).batches
    next(batches)
    tracemalloc.start()
    for _ in range(30):
        next(batches)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000  # one batch takes half a megabyte, all of them four


def test_bad_rows_of_a_table_are_rows_with_a_reason(tmp_path: Path) -> None:
    """Whatever is wrong in the middle of a long table, the rows before and after it are predicted."""
    table = tmp_path / "t.csv"
    lines = [b"smiles,key", b"C,1", b"CC", b"C\0C,3", b"\xff,4", b"C" * 3_000_000 + b",5", b"CCC,6"]
    lines += [b'"CC', b'C",8', b"C\rC,9", b'"C,10', *[b"CC,x"] * 30_000, b"CCO,11", b'CCC,"12', b"C,13"]
    table.write_bytes(b"\n".join(lines) + b"\n")
    data = batched_dataset(str(table), 3, id="key")
    rows = [row for batch in data.batches for row in batch.read()]
    good = {row.key: row.smiles for row in rows if row.graph is not None}
    assert {"1": "C", "6": "CCC", "11": "CCO"}.items() <= good.items()
    assert [row.reason for row in rows if row.graph is None][:5] == [
        "line 3: expected 2 cells, got 1",
        "line 4: expected text, got binary data",
        (
            "line 5: expected UTF-8 text, got invalid start byte; if the table is in Latin-1, as older "
            "programs write it, choose that encoding (--encoding latin-1)"
        ),
        "line 6: expected a line of at most 1,048,576 bytes, got a longer one",
        "more than one line; is a quote not closed?",
    ]
    reasons = [row.reason for row in rows if row.graph is None][5:]
    output = [reason.split(", got")[0] for reason in reasons]
    assert re.fullmatch(r"line 11 to \d+: expected a row", output.pop(1))  # as far as a cell may go
    assert output == [
        "line 10: expected a row",
        "line 30013 to 30014: a quote is not closed before the end of the file",
    ]
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))


def test_sdf_files_are_read_as_they_are_used(tmp_path: Path) -> None:
    chem = pytest.importorskip("rdkit.Chem")

    def block(smiles: str, title: str, key: str = "") -> str:
        text: str = chem.MolToMolBlock(chem.MolFromSmiles(smiles)).replace("\n", f"{title}\n", 1)
        return text + (f">  <key>\n{key}\n\n" if key else "") + "$$$$\n"

    records = [block("C", "a", "k1"), "nonsense\n$$$$\n", block("CC", "caf\xe9"), "$$$$\n", "\0\n$$$$\n"]
    records += [
        block("CCC", "", "k6"),
        "x" * (17 << 20) + "\n$$$$\n",
        block("CCO", "d").removesuffix("$$$$\n"),
    ]
    file = tmp_path / "t.sdf"
    file.write_bytes("".join(records).encode("latin-1"))
    data = batched_dataset(str(file), 3)
    assert (data.name, data.has_smiles) == ("t", True)
    rows = [
        row for batch in data.batches for row in pickle.loads(pickle.dumps(batch)).read()
    ]  # as a worker does
    assert [(row.key, row.smiles) for row in rows if row.graph is not None] == [
        ("a", "C"), ("caf\xe9", "CC"), (None, "CCC"), ("d", "CCO"),
    ]  # fmt: skip
    assert [row.reason for row in rows if row.graph is None] == [
        "not a molecule that RDKit accepts",
        "not a molecule that RDKit accepts",
        "expected text, got binary data",
        "expected a record of at most 16,777,216 bytes, got 17,825,793",
    ]
    assert [row.number for row in rows] == list(range(1, 9))
    keys = [row.key for batch in batched_dataset(str(file), 3, id="key").batches for row in batch.read()]
    assert keys == ["k1", "", "", "", "", "k6", "", ""]
    whole = load_sdf(file)
    assert whole.graphs == [row.graph for row in rows if row.graph is not None]
    assert [(row.row, row.reason) for row in whole.skipped] == [
        (row.number, row.reason) for row in rows if row.graph is None
    ]


def test_json_lines_are_read_as_they_are_used(
    model: GDLNNClassifier, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = file.with_name("d.jsonl")
    monkeypatch.setattr("gdlnn.cli.predict.BATCH", 5)
    data = batched_dataset(str(lines), 5)
    assert sum(len(pickle.loads(pickle.dumps(batch)).read()) for batch in data.batches) == 24
    content = lines.read_text().splitlines()
    content[3:5] = ["{", '{"nodes": [[1, 2]], "edges": []}']
    content[7] = content[7].replace('"edges"', '"directed": true, "edges"')
    content[9:9] = ["", '{"nodes": [], "edges": []}']
    lines.write_text("\n".join(content))
    capsys.readouterr()
    assert run("predict", file, lines, "-o", file.with_name("bad.csv"), "-j", 1) == 0
    output = capsys.readouterr().out
    assert "bad.csv: 25 rows" in output
    assert "3 rows were skipped" in output
    with file.with_name("bad.csv").open() as table:
        reasons = [row["reason"] for row in csv.DictReader(table) if not row["prediction"]]
    assert reasons[0].startswith("line 4: expected a JSON object")
    assert "line 5: " in reasons[1]
    assert "expected 1 node feature(s), as in the schema, got 2" in reasons[1]
    assert reasons[2] == "line 8: expected False for directed, as before, got True"


def test_json_lines_with_hostile_beginnings(tmp_path: Path) -> None:
    lines = tmp_path / "d.jsonl"

    def rows(*content: str, ahead: int = 9, **options: Any) -> list[Row]:
        lines.write_text("\n".join(content) + "\n")
        data = batched_dataset(str(lines), ahead, **options)
        return [row for batch in data.batches for row in batch.read()]

    good, huge = '{"nodes": [[1]], "edges": []}', "9" * 23
    for bad in (
        f'{{"nodes": [[1]], "edges": [[0, {huge}]]}}',
        '{"nodes": [[1' + "0" * 400 + ']], "edges": []}',
    ):
        assert [row.graph is not None for row in rows(good, bad, good)] == [True, False, True]
    # A header counts as the first line alone, and what is dropped is the header.
    header = '{"dataset": "named"}'
    assert [row.graph is not None for row in rows("", header, good)] == [True]
    assert [row.reason[:7] for row in rows("{", header, good)] == ["line 1:", "line 2:", ""]
    lines.write_text(f"{header}\n{header}\n{good}\n")
    with pytest.raises(DatasetError, match="line 2: expected nodes"):
        load_jsonl(lines)
    named = rows('{"nodes": [[1]], "edges": [], "id": null, "name": "nm"}')
    assert [row.key for row in named] == ["nm"]
    lines.write_text(f'{good[:-1]}, "smiles": "C"}}\n{good}\n')
    assert batched_dataset(str(lines), 9).has_smiles
    directed = '{"nodes": [[1], [2]], "edges": [[0, 1]], "directed": true}'
    assert [row.graph is not None for row in rows('{"nodes": 3, "edges": []}', directed, directed)] == [
        False, True, True,
    ]  # fmt: skip
