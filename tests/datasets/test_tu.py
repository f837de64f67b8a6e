"""The TU reader: what it merges, and what each kind of bad file is told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gdlnn.datasets import load_dataset, load_tu
from gdlnn.errors import DatasetError

pytestmark = pytest.mark.usefixtures("no_datasets")
GOOD = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "0\n1\n0\n2\n0\n",
    "edge_labels": "5\n5\n6\n6\n7\n7\n",
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(**changes: str | None) -> Path:
        folder = tmp_path / "TINY"
        folder.mkdir(exist_ok=True)
        for suffix, text in {**GOOD, **changes}.items():
            path = folder / f"TINY_{suffix}.txt"
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_bytes(text.encode())
        return folder

    return write


def test_a_folder_gives_labels_attributes_and_edges(write: Callable[..., Path]) -> None:
    dataset = load_tu(write(node_attributes="0.5, 1\n1.5, 2\n-2, 3\n0, 4\n1e3, 5\n"))
    assert dataset.name == "TINY"
    assert dataset.y.tolist() == [1, -1]
    first, second = dataset.graphs
    assert first.node_features.tolist() == [[0, 0.5, 1], [1, 1.5, 2], [0, -2, 3]]
    assert first.edges.tolist() == [[0, 1], [1, 2]]
    assert first.edge_features.tolist() == [[5], [6]]
    assert second.edges.tolist() == [[0, 1]]
    assert [f.name for f in dataset.schema.node] == ["label", "attribute_1", "attribute_2"]
    assert [f.kind for f in dataset.schema.node] == ["nominal", "numeric", "numeric"]


@pytest.mark.parametrize(
    "changes",
    [
        {"A": "1, 2\n3, 2\n5, 4\n", "edge_labels": "5\n6\n7\n"},  # each edge once
        {"A": "1,2\n1,2\n2,1\n3,2\n5,4\n", "edge_labels": "5\n5\n5\n6\n7\n"},  # a line twice
        {"A": "1 2\r\n2 1\r\n2 3\r\n3 2\r\n4 5\r\n5 4\r\n\r\n\n"},  # blanks, Windows, empty lines at the end
        {"graph_labels": "\ufeff1\n-1"},  # a byte-order mark, no last line end
    ],
)
def test_ways_to_say_the_same(write: Callable[..., Path], changes: dict[str, str]) -> None:
    expected = load_tu(write()).graphs
    assert load_tu(write(**changes)).graphs == expected


def test_without_node_features_the_degree_is_one_and_a_loop_adds_one(write: Callable[..., Path]) -> None:
    dataset = load_tu(write(A="1, 2\n2, 1\n2, 2\n4, 5\n", node_labels=None, edge_labels=None))
    assert dataset.graphs[0].node_features.tolist() == [[1], [2], [0]]
    assert [f.name for f in dataset.schema.node] == ["degree"]
    assert dataset.describe()["avg_edges"] == (1 + 0.5 + 1) / 2


def test_ground_truth_marks_edges_and_their_ends(write: Callable[..., Path]) -> None:
    dataset = load_tu(write(edge_gt="0\n0\n1\n1\n0\n0\n"))
    assert dataset.edge_masks is not None
    assert [m.tolist() for m in dataset.edge_masks if m is not None] == [[False, True], [False]]
    assert dataset.node_masks[0].tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"graph_labels": None}, r"TINY_graph_labels\.txt: missing next to TINY_A\.txt"),
        ({"A": None}, r"TINY: expected one file NAME_A\.txt, got none"),
        ({"node_labels": "0\n1\n0\n"}, r"TINY_node_labels\.txt: expected 5 lines, one per node, .* got 3"),
        ({"edge_labels": "5\n"}, r"TINY_edge_labels\.txt: expected 6 lines, one per edge, .* got 1"),
        ({"edge_gt": "1\n"}, r"TINY_edge_gt\.txt: expected 6 lines"),
        ({"A": "1, 2\n2, 99\n"}, r"TINY_A\.txt, line 2: node 99 is in no graph"),
        ({"A": "1, 2\n0, 1\n"}, r"TINY_A\.txt, line 2: node 0 is in no graph"),
        (
            {"A": "1, 2\n3, 4\n", "edge_labels": None},
            r"line 2: expected both ends in one graph, got node 3 of graph 1 and node 4 of graph 2",
        ),
        ({"A": "1, 2\n2, x\n"}, r"TINY_A\.txt, line 2: expected 2 number\(s\), got '2, x'"),
        ({"A": "1, 2\n2, 1, 3\n"}, r"TINY_A\.txt, line 2: expected 2 number\(s\), got '2, 1, 3'"),
        ({"A": "1, 2\n\n2, 1\n"}, r"TINY_A\.txt, line 2: expected 2 number\(s\), got an empty line"),
        ({"A": "1, 2\n2.5, 1\n"}, r"TINY_A\.txt, line 2: expected whole numbers below 2\^53, got 2.5"),
        ({"node_labels": "0\n1\nnan\n2\n0\n"}, r"TINY_node_labels\.txt, line 3: expected finite numbers"),
        ({"graph_labels": ""}, r"TINY_graph_labels\.txt: expected one label per graph, got an empty file"),
        (
            {"graph_indicator": "1\n1\n1\n2\n3\n"},
            r"TINY_graph_indicator\.txt, line 5: expected a graph from 1 to 2",
        ),
        (
            {"graph_indicator": "1\n2\n1\n2\n2\n"},
            r"line 3: expected the nodes of a graph together, got graph 1 after",
        ),
        (
            {"edge_labels": "5\n5\n6\n9\n7\n7\n"},
            r"line 4: edge 3, 2 is also on line 3: expected the same features, got \[9.0\] and \[6.0\]",
        ),
        (
            {"node_labels": "é\n1\n0\n2\n0\n"},
            r"TINY_node_labels\.txt, line 1: expected 1 number\(s\), got 'é'",
        ),
    ],
)
def test_bad_files_are_refused(
    write: Callable[..., Path], tmp_path: Path, changes: dict[str, str | None], message: str
) -> None:
    folder = write(**changes)
    with pytest.raises(DatasetError, match=message) as caught:
        load_tu(folder)
    assert str(tmp_path) not in str(caught.value)
    with pytest.raises(DatasetError):
        load_dataset("TINY", tmp_path, download=False)
    assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").rglob("*.*"))


def test_offline_the_error_says_what_to_put_where() -> None:
    with pytest.raises(
        DatasetError, match=r"Put NCI1_A\.txt, .* into a folder NCI1 in the folder named by GDLNN_DATA"
    ):
        load_dataset("nci1", download=False)
    with pytest.raises(DatasetError, match=r"Put BBBP\.csv \(published at https://"):
        load_dataset("BBBP", download=False)
    with pytest.raises(DatasetError, match=r"expected one of MUTAG, .*, or the folder of a TU dataset"):
        load_dataset("../MUTAG")


def test_a_bad_published_split(write: Callable[..., Path], tmp_path: Path) -> None:
    folder = write()
    (folder / "PL4XGL_split.json").write_text('{"train": [0], "val": [0], "test": []}')
    with pytest.raises(DatasetError, match="each of the rows 0 to 1 once"):
        load_dataset("TINY", folder, download=False)
    (folder / "PL4XGL_split.json").write_text('{"train": [0]}')
    with pytest.raises(DatasetError, match="lists of rows under train, val and test"):
        load_dataset("TINY", folder, download=False)


def test_a_readme_names_the_values(write: Callable[..., Path]) -> None:
    maps = "labels were converted to integer values using this map:\n\n"
    text = (
        f"README\nNode {maps}Component 0:\n\t0\tcarbon\n\t1\toxygen\n\n\n"
        f"Edge {maps}Component 0:\n\t5\t-\n\t6\t-\n\n\n"
        f"Class {maps}\t-1\tactive\n\t1\tnot active\n\n=== References ===\n1 2\n"
    )
    schema = load_tu(write(label_readme=text)).schema
    assert dict(schema.node[0].values) == {0: "carbon", 1: "oxygen"}
    assert dict(schema.edge[0].values) == {}  # two values of one name
    assert dict(schema.classes) == {-1: "active", 1: "not active"}
