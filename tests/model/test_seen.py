"""Which graphs a model was trained on: whatever their numbering, exactly, and kept in the file."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from gdlnn import GDLNNClassifier, Graph, GraphDataset, MLPHead, load_smiles
from gdlnn.errors import DatasetError, ModelError
from gdlnn.graphs.interop import to_networkx
from gdlnn.io.bounded import read_members, write_members
from gdlnn.model import load_model
from gdlnn.model.training_graphs import TrainingGraphs
from gdlnn.report import ReportOptions, build_report
from gdlnn.report.build import render_report
from reference.random_cases import random_graph, random_shape, renumbered
from reference.server_models import MOLECULES


def same(first: Graph, second: Graph) -> bool:
    """Ask networkx, with all features as labels."""
    if (first.n_nodes, first.n_edges) != (second.n_nodes, second.n_edges):
        return False
    return bool(
        nx.is_isomorphic(
            *(to_networkx(graph) for graph in (first, second)),
            node_match=lambda a, b: a == b,
            edge_match=lambda a, b: a == b,
        )
    )


@pytest.mark.parametrize("seed", range(4))
def test_seen_is_isomorphic_to_a_training_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = random_shape(rng)._replace(n_values=2)
    graphs = [random_graph(rng, shape, max_nodes=4) for _ in range(60)]
    train = GraphDataset(graphs[:30])
    trained = TrainingGraphs.of(train, GraphDataset(graphs[30:35]))
    assert trained.contains([renumbered(rng, graph) for graph in graphs[:35]]).all()
    expected = [any(same(graph, known) for known in graphs[:35]) for graph in graphs]
    assert trained.contains(graphs).tolist() == expected, f"seed {seed}"
    again = TrainingGraphs.from_json(
        json.loads(json.dumps(trained.to_json())), None, (shape.n_node_features, shape.n_edge_features)
    )
    assert again.contains(graphs).tolist() == expected
    assert [bool(again.contains([graph])[0]) for graph in graphs] == expected


def test_graphs_that_refinement_cannot_tell_apart_are_told_apart() -> None:
    hexagon = Graph(np.zeros((6, 1)), [(i, (i + 1) % 6) for i in range(6)])
    triangles = Graph(np.zeros((6, 1)), [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    trained = TrainingGraphs.of(GraphDataset([hexagon]))
    assert trained.contains([hexagon, triangles]).tolist() == [True, False]


@pytest.fixture(scope="module")
def molecules() -> tuple[GDLNNClassifier, GraphDataset]:
    data = load_smiles(MOLECULES, label="active", id="id")
    head = MLPHead(epochs=3)
    model = GDLNNClassifier("neighborhoods", head, verbose=False)
    return model.fit(data[:60], validation=data[60:70]), data


def test_the_validation_set_counts_as_trained_on(molecules: tuple[GDLNNClassifier, GraphDataset]) -> None:
    model, data = molecules
    assert model.seen(data[:70]) == [True] * 70
    assert not all(model.seen(data[70:]))
    answers = model.represent(data).predictions()
    assert [answer.seen for answer in answers] == model.seen(data)


def test_a_file_keeps_what_was_seen(molecules: tuple[GDLNNClassifier, GraphDataset], tmp_path: Path) -> None:
    model, data = molecules
    path = tmp_path / "m.gdlnn"
    model.save(path)
    read = load_model(path)
    assert read.seen(data) == model.seen(data)
    assert read.domain(data) == model.domain(data)
    read.save(tmp_path / "again.gdlnn")
    assert (tmp_path / "again.gdlnn").read_bytes() == path.read_bytes()
    members = read_members(path, 1 << 30)
    plain = json.loads(members["model.json"])
    for broken in ({"hashes": "AAAA"}, {"salt": "00"}, {"screens": plain["seen"]["screens"][::-1]}):
        changed = {**plain, "seen": {**plain["seen"], **broken}}
        write_members(path, {**members, "model.json": json.dumps(changed).encode()}.items())
        with pytest.raises(ModelError, match=r"or damaged|expected a salt|expected sorted hashes"):
            load_model(path)


def test_a_report_leaves_out_what_was_trained_on(
    molecules: tuple[GDLNNClassifier, GraphDataset],
) -> None:
    model, data = molecules
    few = ReportOptions(max_graphs=3, max_counterfactuals=0)
    made = build_report(model, data, few)
    n_seen = sum(map(bool, model.seen(data)))
    assert n_seen >= 70
    assert made["performance"]["n"] == len(data) - n_seen
    assert made["data"]["held_out"]["left_out"] == n_seen
    assert sum(count for _, count in made["data"]["held_out"]["classes"]) == len(data) - n_seen
    assert sum(item["scores"]["n"] for item in made["performance"]["domains"]) == len(data) - n_seen
    assert f"{n_seen} more were left out, since it was trained on" in render_report(made)
    with pytest.raises(DatasetError, match="got 70 that it was"):
        build_report(model, data[:70], few)
