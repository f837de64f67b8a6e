"""The nine datasets of the paper: statistics, features, names, splits and ground truth."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gdlnn.datasets import load_dataset
from gdlnn.datasets.registry import REGISTRY, checksums
from gdlnn.graphs import GraphDataset

pytestmark = pytest.mark.data

# graphs, average nodes, average edges, class counts, node features, edge features
TABLE = {
    "MUTAG": (188, 17.93, 19.79, {-1: 63, 1: 125}, 1, 1),
    "Mutagenicity": (4337, 30.32, 30.77, {0: 2401, 1: 1936}, 1, 1),
    "BBBP": (2039, 24.06, 25.95, {0: 479, 1: 1560}, 9, 3),
    "BACE": (1513, 34.09, 36.86, {0: 822, 1: 691}, 9, 3),
    "ENZYMES": (600, 32.63, 62.14, dict.fromkeys(range(1, 7), 100), 19, 0),
    "PROTEINS": (1113, 39.06, 72.82, {1: 663, 2: 450}, 2, 0),
    "PTC_MR": (344, 14.29, 14.69, {-1: 192, 1: 152}, 1, 1),
    "NCI1": (4110, 29.87, 32.30, {0: 2053, 1: 2057}, 1, 0),
    "BA-2Motifs": (1000, 25.00, 25.48, {0: 500, 1: 500}, 1, 0),
}


def labels(dataset: GraphDataset) -> list[object]:
    assert dataset.y is not None
    values: list[object] = dataset.y.tolist()
    return values


@pytest.fixture(scope="module")
def nine(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, GraphDataset]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GDLNN_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("GDLNN_DATA", raising=False)
        return {name: load_dataset(name, data_dir, download=False) for name in TABLE}


@pytest.mark.parametrize("name", TABLE)
def test_statistics_are_those_of_the_table(nine: dict[str, GraphDataset], name: str) -> None:
    graphs, nodes, edges, classes, node_features, edge_features = TABLE[name]
    summary = nine[name].describe()
    assert summary["name"] == name
    assert summary["graphs"] == len(nine[name]) == graphs == REGISTRY[name].size[0]
    assert summary["avg_nodes"] == pytest.approx(nodes, abs=0.005)
    assert summary["avg_edges"] == pytest.approx(edges, abs=0.005)
    assert REGISTRY[name].size[1:] == (nodes, edges, len(classes))
    assert summary["classes"] == classes
    assert (summary["node_features"], summary["edge_features"]) == (node_features, edge_features)


@pytest.mark.parametrize("name", ["BBBP", "BACE"])
def test_molecules_equal_the_reference_arrays(
    nine: dict[str, GraphDataset], data_dir: Path, name: str
) -> None:
    dataset = nine[name]
    with np.load(data_dir / name / f"{name}_reference_features.npz") as reference:
        nodes, edges, features = (reference[k] for k in ("node_features", "edge_index", "edge_features"))
        owner, labels, rows = (reference[k] for k in ("graph_indicator", "labels", "csv_rows"))
    node_start = np.searchsorted(owner, np.arange(len(labels) + 1))
    edge_start = np.searchsorted(owner[edges[:, 0]], np.arange(len(labels) + 1))
    assert np.asarray(dataset.y).tolist() == labels.tolist()
    for i, graph in enumerate(dataset):
        mine = slice(edge_start[i], edge_start[i + 1])
        pairs = edges[mine] - node_start[i]
        once = pairs[:, 0] < pairs[:, 1]
        assert np.array_equal(graph.node_features, nodes[node_start[i] : node_start[i + 1]]), i
        assert np.array_equal(graph.edges, pairs[once]), i
        assert np.array_equal(graph.edge_features, features[mine][once]), i
    skipped = [row.row - 1 for row in dataset.skipped]
    assert np.array_equal(np.setdiff1d(np.arange(len(labels) + len(skipped)), skipped), rows)
    assert all(row.reason for row in dataset.skipped)


@pytest.mark.parametrize(
    ("name", "sizes"), [("MUTAG", (150, 18, 20)), ("BBBP", (1631, 203, 205)), ("BACE", (1210, 151, 152))]
)
def test_published_splits_have_their_sizes(
    nine: dict[str, GraphDataset], name: str, sizes: tuple[int, int, int]
) -> None:
    split = nine[name].split("paper", random_state=5)
    assert tuple(len(part) for part in split) == sizes
    assert {part.split_source for part in split} == {"published"}
    published = nine[name].published_splits
    assert published is not None
    assert np.array_equal(split.val.indices, published["val"])


@pytest.mark.parametrize("name", TABLE)
def test_every_value_of_a_named_feature_has_a_name(nine: dict[str, GraphDataset], name: str) -> None:
    dataset = nine[name]
    assert dataset.schema is not None
    assert dataset.y is not None
    seen = {dataset.schema.class_name(label) for label in set(dataset.y.tolist())}
    assert seen == set(dataset.schema.classes.values())
    for features, rows in (
        (dataset.schema.node, np.concatenate([g.node_features for g in dataset])),
        (dataset.schema.edge, np.concatenate([g.edge_features for g in dataset])),
    ):
        for feature, column in zip(features, rows.T, strict=True):
            if feature.values:
                assert set(np.unique(column)) <= set(feature.values), feature.name


def test_ground_truth_of_ba_2motifs(nine: dict[str, GraphDataset]) -> None:
    dataset = nine["BA-2Motifs"]
    assert dataset.node_masks is not None
    assert dataset.edge_masks is not None
    loops = sum(int((g.edges[:, 0] == g.edges[:, 1]).any()) for g in dataset)
    assert loops == 40
    for graph, nodes, edges in zip(dataset, dataset.node_masks, dataset.edge_masks, strict=True):
        assert nodes is not None
        assert edges is not None
        assert np.flatnonzero(nodes).tolist() == [20, 21, 22, 23, 24]
        both = graph.edges[edges & (graph.edges[:, 0] != graph.edges[:, 1])]
        assert (both >= 20).all()
    looped = next(g for g in dataset if (g.edges[:, 0] == g.edges[:, 1]).any())
    node = int(looped.edges[looped.edges[:, 0] == looped.edges[:, 1]][0, 0])
    others = (looped.edges == node).any(axis=1).sum() - 1
    assert looped.node_features[node, 0] == others + 1


def test_sums_are_those_of_the_files(data_dir: Path) -> None:
    import hashlib

    for name, expected in checksums().items():
        [path] = data_dir.glob(f"*/{name}")
        assert hashlib.sha256(path.read_bytes()).hexdigest() == expected, name


def test_reading_loads_no_heavy_library(data_dir: Path, tmp_path: Path) -> None:
    code = (
        "import sys, gdlnn\n"
        "gdlnn.load_dataset('MUTAG').split()\n"
        "print([m for m in ('torch', 'sklearn', 'rdkit', 'networkx', 'rich') if m in sys.modules])"
    )
    environment = {
        "GDLNN_DATA": str(data_dir),
        "GDLNN_CACHE": str(tmp_path),
        "PYTHONPATH": ":".join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.strip() == "[]"
