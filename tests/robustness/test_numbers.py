"""Numbers and labels at every edge: finite and in range, and different values stay different."""

import json
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdlnn import GDLNNError, Graph, GraphDataset, load_model, load_tu, mine
from gdlnn.datasets import load_jsonl, load_smiles
from gdlnn.errors import DatasetError, GraphError, ModelError
from gdlnn.graphs.labels import parse_labels
from gdlnn.io.bounded import write_members

MODEL = Path(__file__).parents[1] / "golden" / "payments-paper.gdlnn"
TU = {"A": "1, 2\n3, 4\n", "graph_indicator": "1\n1\n2\n2\n", "graph_labels": "0\n1\n", "node_attributes": ""}


def folder_of(folder: Path, files: dict[str, str]) -> Path:
    target = folder / "TOY"
    target.mkdir(exist_ok=True)
    for suffix, text in files.items():
        (target / f"TOY_{suffix}.txt").write_text(text)
    return target


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e39", "1e308", "1e309", "1_0", "٣", "0x10", "1 2"])
@pytest.mark.parametrize("other", ["1", "1, 2", "1,2", "1_0, 2"], ids=["plain", "two", "commas", "slow"])
def test_a_tu_folder_has_finite_features_in_range(tmp_path: Path, value: str, other: str) -> None:
    """Whichever way a file is read: fast, or row by row where a row is strange."""
    width = other.count(",") + 1
    rows = [other, ", ".join([value] * width), other, other]
    with pytest.raises(DatasetError, match=r"TOY_node_attributes\.txt, line [12]: expected"):
        load_tu(folder_of(tmp_path, {**TU, "node_attributes": "\n".join(rows) + "\n"}))


@pytest.mark.parametrize(
    "label", ["nan", "inf", "1.5", "1e30", "9007199254740992", "9007199254740993", "1_0"]
)
@pytest.mark.parametrize("other", ["1", " 1", "1_0", "1,"])
def test_a_tu_folder_has_whole_labels_that_a_double_can_tell_apart(
    tmp_path: Path, label: str, other: str
) -> None:
    with pytest.raises(DatasetError, match=r"TOY_graph_labels\.txt, line [12]: expected"):
        load_tu(
            folder_of(
                tmp_path, {**TU, "node_attributes": "1\n2\n3\n4\n", "graph_labels": f"{other}\n{label}\n"}
            )
        )


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e31, -1e39, 1e300])
def test_a_graph_has_finite_features_in_range(value: float) -> None:
    for features in ({"node_features": [[value]], "edges": []}, {"edge_features": [[value]]}):
        given: dict[str, Any] = {"node_features": [[1.0], [2.0]], "edges": [(0, 1)], **features}
        with pytest.raises(GraphError, match="feature 0: expected a"):
            Graph(**given)


@pytest.mark.parametrize("end", [2**70, 2**63, 1e300, math.nan, -(2**70), "x", None, [1]])
def test_a_graph_has_edges_between_its_nodes(end: Any) -> None:
    with pytest.raises(GraphError):
        Graph([[1.0], [2.0]], [(0, end)])


@pytest.mark.parametrize("value", ["no", "false", 1, 0, None, [], np.array([True, False])])
def test_directed_is_true_or_false(value: Any) -> None:
    with pytest.raises(GraphError, match="directed: expected True or False"):
        Graph([[1.0], [2.0]], [(0, 1)], directed=value)


@pytest.mark.parametrize(
    "line",
    [
        {"nodes": [[1e39]]},
        {"nodes": [[math.inf]]},
        {"nodes": [[2**2000]]},
        {"nodes": [[1]], "edges": [[0, 2**70]]},
        {"directed": "no"},
        {"directed": 0},
        {"label": math.inf},
        {"label": 2**70},
        {"label": True},
        {"label": "a\0"},
        {"label": "a"},
    ],
    ids=lambda line: str(line)[:40],
)
def test_a_line_of_json_says_what_it_means(tmp_path: Path, line: dict[str, Any]) -> None:
    """Besides numbers: booleans are booleans, and labels of one kind."""
    good = {"nodes": [[1.0]], "edges": [], "directed": False, "label": 1}
    file = tmp_path / "g.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in (good, good, {**good, **line})))
    with pytest.raises(DatasetError):
        load_jsonl(file)


def test_labels_of_a_data_set_are_finite() -> None:
    graphs = [Graph([[1.0]], [])] * 4
    with pytest.raises(GraphError, match="y: expected finite labels"):
        GraphDataset(graphs, [1.0, math.inf] * 2)
    unknown = GraphDataset(graphs, [1.0, math.nan, 0.0, 1.0])  # NaN stands for a label that is not known
    with pytest.raises(GDLNNError, match="label"):
        mine(unknown)


def test_labels_of_a_data_set_are_in_range() -> None:
    kinds: list[Any] = [[1, 2**70], ["a", "a\0"], ["a", 1], [True, 2], [2**53 + 1, 1.5]]
    for labels in kinds:
        with pytest.raises(GraphError, match="y: expected"):
            GraphDataset([Graph([[1.0]], [])] * 2, labels)


@pytest.mark.parametrize(
    "labels",
    [
        ("9007199254740992", "9007199254740993"),
        ("1e30", "2e30"),
        ("1_0", "10"),
        ("01", "1"),
        ("+1", "1"),
        ("-0", "0"),
        ("1.0", "1"),
        ("1e0", "1"),
        ("٣", "3"),
        ("infinite", "INFINITE"),
        ("9223372036854775808", "9223372036854775809"),
        ("inf", "infinity"),
    ],
)
def test_labels_that_are_written_differently_stay_different(labels: tuple[str, str], tmp_path: Path) -> None:
    found = parse_labels([*labels, labels[0]])
    assert len(np.unique(found)) == 2
    assert found[0] == found[2]
    table = tmp_path / "t.csv"
    table.write_text("smiles,y\nC,{}\nCC,{}\n".format(*labels))
    y = load_smiles(table, label="y").y
    assert y is not None
    assert len(np.unique(y)) == 2


def _with_weights(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    from safetensors.numpy import load, save

    with zipfile.ZipFile(MODEL) as file:
        content = {name: file.read(name) for name in file.namelist()}
    tensors = load(content["head.safetensors"])
    change(tensors)
    write_members(path, {**content, "head.safetensors": save(tensors)}.items())
    return path


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_weights_are_finite(tmp_path: Path, value: float) -> None:
    for name in ("layers.0.weight", "layers.0.bias", "mean", "scale"):

        def change(tensors: dict[str, Any], name: str = name) -> None:
            tensors[name].reshape(-1)[-1] = value

        with pytest.raises(ModelError, match=f"{name}: expected finite numbers"):
            load_model(_with_weights(tmp_path / "m.gdlnn", change))


@pytest.mark.parametrize("value", [0.0, -1.0, 1e-45])
def test_a_scale_is_above_zero(tmp_path: Path, value: float) -> None:
    def change(tensors: dict[str, Any]) -> None:
        tensors["scale"][0] = value

    with pytest.raises(ModelError, match="scale: expected numbers above 0"):
        load_model(_with_weights(tmp_path / "m.gdlnn", change))


def test_a_model_never_gives_nan_as_a_probability(tmp_path: Path) -> None:
    """Finite weights may still overflow: that is an error, not a row of NaN."""

    def change(tensors: dict[str, Any]) -> None:
        for name, tensor in tensors.items():
            if name.endswith("weight"):
                tensor[:] = 3e38
        tensors["scale"][:] = 1e-30

    model = load_model(_with_weights(tmp_path / "m.gdlnn", change))
    info = model.programs_.info
    nodes = np.ones((3, info.n_node_features))
    edges = np.ones((2, info.n_edge_features))
    graph = Graph(nodes, [(0, 1), (1, 2)], edges, directed=info.directed)
    with pytest.raises(GDLNNError, match="is not finite"):
        model.predict_proba([graph])
    with pytest.raises(GDLNNError, match="is not finite"):
        model.represent([graph])


def test_saved_data_sets_are_checked_too(tmp_path: Path) -> None:
    GraphDataset([Graph([[1.0], [2.0]], [(0, 1)], [[1.0]])] * 3, [0, 1, 0]).save(tmp_path / "d")
    header, first, *rest = map(json.loads, (tmp_path / "d").read_text().splitlines())
    for changes in (
        {"nodes": [[math.inf], [1]]},
        {"nodes": [[1e39], [1]]},
        {"nodes": [["a"], [1]]},
        {"label": math.nan},
        {"directed": "no"},
        {"node_names": ["only one"]},
        {"node_names": [1, 2]},
        {"edges": [[0, 2]]},
    ):
        lines = [header, first | changes, *rest]
        (tmp_path / "changed").write_text("\n".join(map(json.dumps, lines)))
        with pytest.raises(DatasetError):
            load_jsonl(tmp_path / "changed")
    for reading in ({}, "parent", {"features": "x", "fragments": "all", "standardize": "none"}):
        lines = [header | {"reading": reading}, first, *rest]
        (tmp_path / "changed").write_text("\n".join(map(json.dumps, lines)))
        with pytest.raises(DatasetError):
            load_jsonl(tmp_path / "changed")
