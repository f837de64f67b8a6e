"""JSON Lines, what DATASET on the command line means, and `gdlnn datasets`."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from gdlnn.cli import app
from gdlnn.datasets import load_jsonl, make_ba_2motifs, resolve_dataset
from gdlnn.errors import DatasetError, GDLNNError
from gdlnn.graphs import Feature, Graph, GraphDataset, Schema
from reference.tu_folders import write_tu

pytestmark = pytest.mark.usefixtures("small_heads", "no_datasets")


def full() -> GraphDataset:
    """Make a dataset with everything that a file keeps."""
    schema = Schema(
        (Feature("atom", "nominal", {1: "C", 2: "N"}), Feature("weight")),
        (Feature("bond"),),
        {"a": "A"},
        "molecule",
    )
    graphs = [
        Graph([[1, 0.1], [2, -3.5]], [[1, 0]], [[2.5]], directed=True, schema=schema, name="first"),
        Graph(np.zeros((0, 2)), [], np.zeros((0, 1)), directed=True, schema=schema),
        Graph([[1, 1e-300]], [[0, 0]], [[1]], directed=True, schema=schema, name="é"),
    ]
    return GraphDataset(graphs, ["a", "b", "a"], schema, "full", ids=["1", "2", "ü"], smiles=["C", "", "N"])


def test_json_lines_both_ways(tmp_path: Path) -> None:
    dataset = full()
    dataset.save(tmp_path / "x.jsonl")
    again = load_jsonl(tmp_path / "x.jsonl")
    again.save(tmp_path / "y.jsonl")
    assert (tmp_path / "y.jsonl").read_text().splitlines()[1] == (
        tmp_path / "x.jsonl"
    ).read_text().splitlines()[1]
    assert again.graphs == dataset.graphs
    assert again.schema == dataset.schema
    assert (again.name, again.ids, again.smiles, again.y.tolist()) == (
        "full",
        dataset.ids,
        dataset.smiles,
        ["a", "b", "a"],
    )


def test_json_lines_written_by_hand_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"nodes": [[1, 2]], "edges": []}\n{"nodes": [[1]], "edges": []}\n')
    with pytest.raises(DatasetError, match=r"line 2: expected 2 node feature\(s\), as before, got 1"):
        load_jsonl(path)
    path.write_text(
        '{"nodes": [1, 2], "edges": [[0, 1]], "edge_features": [[9]], "label": 3}\n\n'
        '{"nodes": [], "edges": [], "label": 4}\n{"nodes": [[5]], "edges": [], "label": 4}\n'
    )
    dataset = load_jsonl(path)
    assert dataset.graphs[0].node_features.tolist() == [[1], [2]]
    assert [g.edge_features.shape for g in dataset] == [(1, 1), (0, 1), (0, 1)]
    assert dataset.y.tolist() == [3, 4, 4]
    assert dataset.name == "mine"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"x\.jsonl: expected at least one graph, got none"),
        ("nonsense", r"x\.jsonl, line 1: expected a JSON object"),
        ("[1]", r"line 1: expected a JSON object, got list"),
        ('{"nodes": [1]}', r"line 1: expected nodes, edges"),
        ('{"nodes": [1], "edges": [], "color": 1}', r"got the key 'color'"),
        ('{"nodes": [1], "edges": [[0, 5]]}', r"line 1: graph: edge 0 \(0, 5\)"),
        ('{"nodes": ["C"], "edges": []}', r"expected a matrix of numbers"),
        (
            '{"nodes": [1], "edges": [], "label": 1}\n{"nodes": [1], "edges": []}',
            r"graph 1: expected a label",
        ),
        ('{"nodes": [1], "edges": [], "label": [1]}', r"label: expected a number or text"),
        ('{"schema": {"node": 5}}\n{"nodes": [1], "edges": []}', r"line 1: schema"),
        ("[" * 100_000, r"line 1: expected a JSON object"),
    ],
)
def test_bad_json_lines_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(DatasetError, match=message):
        load_jsonl(path)


def test_a_dataset_is_a_file_a_folder_or_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = make_ba_2motifs(12, random_state=2)
    dataset.save(tmp_path / "x.jsonl")
    write_tu(dataset, tmp_path / "TOY")
    for word in ("x.jsonl", "TOY"):
        assert resolve_dataset(str(tmp_path / word)).graphs == dataset.graphs
    assert resolve_dataset("synthetic:ba-2motifs:12:2").graphs == dataset.graphs
    assert len(resolve_dataset("synthetic:ba-2motifs")) == 1000
    monkeypatch.setenv("GDLNN_DATA", str(tmp_path))
    assert resolve_dataset("TOY", download=False).graphs == dataset.graphs
    for word, message in (
        ("synthetic:other", "expected synthetic:ba-2motifs"),
        ("synthetic:ba-2motifs:many", "with whole numbers"),
        (
            str(tmp_path / "none.csv"),
            r"none\.csv: no such file, folder or dataset",
        ),
        (str(tmp_path), "expected one file NAME_A.txt"),
    ):
        with pytest.raises(DatasetError, match=message):
            resolve_dataset(word, download=False)
    (tmp_path / "x.png").write_text("")
    with pytest.raises(DatasetError, match=r"x\.png: expected a table"):
        resolve_dataset(str(tmp_path / "x.png"))


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["datasets", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_list_says_what_is_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = run()
    assert [line.split()[0] for line in text.splitlines()[1:10]] == [
        "MUTAG", "Mutagenicity", "BBBP", "BACE", "ENZYMES", "PROTEINS", "PTC_MR", "NCI1", "BA-2Motifs",
    ]  # fmt: skip
    assert "yes" not in text
    monkeypatch.setenv("GDLNN_DATA", str(tmp_path))
    (tmp_path / "BBBP").mkdir()
    (tmp_path / "BBBP" / "BBBP.csv").write_text("")
    rows = json.loads(run("--json"))
    assert [row["name"] for row in rows if row["at_hand"]] == ["BBBP"]


def test_a_dataset_is_described_and_converted(tmp_path: Path) -> None:
    out = run("synthetic:ba-2motifs:30:1", "-o", str(tmp_path / "toy.jsonl"))
    assert out == "toy.jsonl: 30 graphs\n"
    assert run("synthetic:ba-2motifs:30:1", "-o", "-").startswith((tmp_path / "toy.jsonl").read_text())
    run(str(tmp_path / "toy.jsonl"), "-o", str(tmp_path / "two.jsonl"), "--duplicates", "first")
    data = json.loads(run("synthetic:ba-2motifs:30:1", "--json"))
    assert data["graphs"] == 30
    expected = {"groups": 0, "extra": 0, "conflicting": 0, "conflicting_rows": []}
    assert data["duplicates"] == expected
    assert "cycle: 15, house: 15" in run(str(tmp_path / "toy.jsonl"))
    with pytest.raises(GDLNNError, match=r"toy\.xlsx: expected a name that ends in \.jsonl"):
        run("synthetic:ba-2motifs:30:1", "-o", str(tmp_path / "toy.xlsx"))


def test_a_line_that_is_not_unicode_is_an_error_of_its_row(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    good = '{"nodes": [1, 2], "edges": [[0, 1]], "label": "%s", "name": "%s"}'
    path.write_text("\n".join([good % ("a", "p"), good % ("b", "\\ud800"), good % ("\\ud83d\\ude00", "q")]))
    with pytest.raises(DatasetError, match=r"x\.jsonl, line 2: expected a JSON object, got half"):
        load_jsonl(path)
    data = resolve_dataset(str(path))
    assert [graph.name for graph in data] == ["p", "q"]
    assert [row.row for row in data.skipped] == [2]
