"""What commands print: names from files do nothing to a terminal, whatever is printed and where."""

import contextlib
from pathlib import Path

import pytest

from gdlnn import Graph, GraphDataset, Schema
from gdlnn.cli import main
from gdlnn.errors import printable
from gdlnn.graphs import Feature
from reference.models import quick

pytestmark = pytest.mark.usefixtures("small_heads")

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
DRIVES = set("\x1b\x07\x9b\u202e")
TABLE = f"smiles,id,{EVIL}\n" + "".join(
    f"{'C' * size}{'O' * (size % 2)},{EVIL}{size},{'yes' if size % 2 else f'no{EVIL}'}\n"
    for size in range(1, 25)
)


def test_escapes_are_seen_instead_of_obeyed() -> None:
    assert printable(f"a{EVIL}\n\tb") == "a\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\x202e\n\tb"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data sets, a table and models in which every name is hostile."""
    folder = tmp_path_factory.mktemp("files")
    schema = Schema((Feature(f"f{EVIL}", "nominal", {1.0: EVIL}),), (), {f"a{EVIL}": EVIL, "b": "b"})
    graphs = [Graph([[1.0]], [], name=EVIL, schema=schema), Graph([[2.0], [1.0]], [(0, 1)], schema=schema)]
    data = GraphDataset(graphs * 6, [f"a{EVIL}", "b"] * 6, schema, EVIL)
    data.save(folder / "d.jsonl")
    other = [Graph([[value], [1.0], [2.0]], [(0, 1), (1, 2)], schema=schema) for value in (1.0, 2.0)]
    GraphDataset(other, [f"a{EVIL}", "b"], schema, EVIL).save(folder / "new.jsonl")
    quick().fit(data).save(folder / "m.gdlnn")
    (folder / "t.csv").write_text(TABLE, encoding="utf-8")
    (folder / "bad.csv").write_text(f"smiles,{EVIL}\nC,1\nCC,0\n{EVIL},1\n", encoding="utf-8")
    return folder


COMMANDS = {
    "info": ["datasets", "d.jsonl"],
    "info --verbose": ["datasets", "d.jsonl", "--verbose"],
    "info of a table": ["datasets", "t.csv", "--label", EVIL],
    "mine": ["mine", "d.jsonl", "-o", "p.gdl", "--split", "none"],
    "train": ["train", "d.jsonl", "-o", "out.gdlnn", "--split", "none", "--epsilon", "0.1"],
    "train on a table": ["train", "t.csv", "--label", EVIL, "-o", "out.gdlnn", "--epsilon", "0.1"],
    "predict": ["predict", "m.gdlnn", "d.jsonl", "-o", "out.csv"],
    "explain": ["explain", "m.gdlnn", "d.jsonl", "--row", "1"],
    "explain --all": ["explain", "m.gdlnn", "d.jsonl", "--all"],
    "explain --json": ["explain", "m.gdlnn", "d.jsonl", "--row", "1", "--json"],
    "explain --global": ["explain", "m.gdlnn", "d.jsonl", "--global"],
    "report": ["report", "m.gdlnn", "new.jsonl", "--part", "all", "-o", "r.html", "--graphs", "1"],
    "convert": ["datasets", "d.jsonl", "-o", "out.jsonl"],
    "an error with a name of a file": ["mine", f"{EVIL}.csv", "-o", "p.gdl"],
    "an error with a name of a column": ["datasets", "t.csv", "--label", "missing"],
    "an error with a class": ["explain", "m.gdlnn", "d.jsonl", "--row", "1", "--class", "missing"],
    "a row that is no molecule": ["datasets", "bad.csv", "--label", EVIL],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_that_is_printed_moves_the_cursor(
    name: str, files: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    with contextlib.suppress(SystemExit):
        main(COMMANDS[name])
    printed = capfd.readouterr()
    assert "owned" in printed.out + printed.err or name in ("convert", "predict")
    assert not DRIVES & set(printed.out + printed.err)


def test_alerts_and_predictions_of_molecules(
    files: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    for words in (
        ["train", "t.csv", "--label", EVIL, "-o", "t.gdlnn", "--epsilon", "0.1", "--split", "random", "-q"],
        ["predict", "t.gdlnn", "bad.csv", "-o", "out.csv"],
        ["alerts", "t.gdlnn", "-o", f"{EVIL}.csv"],
        ["alerts", "t.gdlnn", "-o", "a.csv", "--class", EVIL],
    ):
        with contextlib.suppress(SystemExit):
            main(words)
        printed = capfd.readouterr()
        assert not DRIVES & set(printed.out + printed.err)
    assert (files / f"{EVIL}.csv").exists(), "it went so far"
