"""The networks: batches, encoding, learning, determinism, early stopping, errors."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch_geometric.data import Batch

from gdlnn import Feature, Graph, GraphDataset, Schema, make_ba_2motifs
from repro.baselines.encoding import FeatureEncoder, to_data
from repro.baselines.gnn import (
    GATClassifier,
    GCNClassifier,
    GINClassifier,
    GNNClassifier,
    PoolingMLPClassifier,
    ShuffledBatches,
)

ALL = (GCNClassifier, GINClassifier, GATClassifier, PoolingMLPClassifier)
SCHEMA = Schema(
    (Feature("atom", "nominal"), Feature("charge", "ordinal"), Feature("mass")), (Feature("bond", "nominal"),)
)


def random_graphs(n: int, seed: int, directed: bool = False) -> GraphDataset:
    """Graphs whose label is whether more than half of the bonds are of kind 2."""
    rng = np.random.default_rng(seed)
    graphs, y = [], []
    for _ in range(n):
        size = int(rng.integers(3, 8))
        nodes = np.column_stack([rng.integers(1, 4, size), rng.integers(0, 3, size), rng.normal(5, 2, size)])
        edges = [(i, i + 1) for i in range(size - 1)] + [(0, 0)]
        label = int(rng.random() < 0.5)
        bonds = np.where(rng.random(len(edges)) < (0.9 if label else 0.1), 2.0, 1.0)
        graphs.append(Graph(nodes, edges, bonds[:, None], directed=directed, schema=SCHEMA))
        y.append(label)
    return GraphDataset(graphs, y)


def test_encoder_one_hot_numbers_and_unseen_values() -> None:
    data = random_graphs(30, 0)
    encoder = FeatureEncoder().fit(data.graphs, data.schema)
    assert encoder.n_node_columns == 3 + 4 + 1
    assert encoder.n_edge_columns == 2
    table = encoder.nodes(np.array([[2.0, 1.0, 5.0], [9.0, 7.0, 5.0]]))
    assert table[0, :6].tolist() == [0, 1, 0, 0, 1, 0]
    assert table[1, :6].tolist() == [0] * 6
    degrees = make_ba_2motifs(n=10)
    assert FeatureEncoder().fit(degrees.graphs, degrees.schema).n_node_columns > 2
    nothing = FeatureEncoder().fit([Graph(np.zeros((2, 0)), [(0, 1)])], None)
    assert nothing.nodes(np.zeros((2, 0))).tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("directed", [False, True])
def test_data_hold_each_graph_as_it_is(directed: bool) -> None:
    graph = random_graphs(1, 1, directed).graphs[0]
    encoder = FeatureEncoder().fit([graph], SCHEMA)
    data = to_data(graph, encoder, 3)
    assert data.y == 3
    np.testing.assert_array_equal(data.x.numpy(), encoder.nodes(graph.node_features))
    once = dict(
        zip(map(tuple, graph.edges.tolist()), encoder.edges(graph.edge_features).tolist(), strict=True)
    )
    expected = once if directed else once | {(v, u): row for (u, v), row in once.items()}
    found = list(map(tuple, data.edge_index.T.tolist()))
    assert len(found) == len(expected)  # a self-loop is there once
    assert dict(zip(found, data.edge_attr.tolist(), strict=True)) == expected


def test_batches_of_an_epoch_hold_every_graph_once() -> None:
    data = random_graphs(70, 4).graphs
    encoder = FeatureEncoder().fit(data, SCHEMA)
    graphs = [to_data(graph, encoder, number) for number, graph in enumerate(data)]
    found = list(ShuffledBatches(graphs, 0, torch.device("cpu")))
    assert [batch.num_graphs for batch in found] == [32, 32, 6]
    assert sorted(number for batch in found for number in batch.y.tolist()) == list(range(70))
    for batch in found:
        expected = Batch.from_data_list([graphs[number] for number in batch.y.tolist()])
        assert all(
            torch.equal(batch[name], expected[name]) for name in ("x", "edge_index", "edge_attr", "batch")
        )


@pytest.mark.parametrize("model", ALL)
def test_learns_and_repeats_itself(model: type[GNNClassifier]) -> None:
    train, val, test = make_ba_2motifs(n=120, random_state=1).split("stratified", random_state=1)
    short = model(epochs=12, hidden=16, learning_rate=0.01, random_state=3, device="cpu")
    fitted = clone(short).fit(train, validation=val)
    proba = fitted.predict_proba(test)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert fitted.score(train) >= 0.7
    np.testing.assert_array_equal(proba, clone(short).fit(train, validation=val).predict_proba(test))
    assert set(fitted.history_[0]) == {"epoch", "loss", "val_loss", "val_accuracy", "seconds"}


@pytest.mark.parametrize("model", [GINClassifier, GATClassifier])
def test_edge_features_are_used(model: type[GNNClassifier]) -> None:
    train, test = random_graphs(120, 2), random_graphs(60, 3)
    fitted = model(epochs=20, hidden=16, learning_rate=0.01, device="cpu").fit(train)
    blind = GCNClassifier(epochs=10, hidden=16, device="cpu").fit(train)
    assert fitted.score(test) > blind.score(test) + 0.1


@pytest.mark.parametrize("pooling", ["mean", "max", "sum"])
def test_odd_graphs_and_odd_batches(pooling: str) -> None:
    rng = np.random.default_rng(0)
    graphs = [Graph(rng.normal(size=(n, 1)), [(0, n - 1)] if n > 1 else []) for n in (1, 2, 3, 1, 4)]
    empty = Graph(np.zeros((0, 1)), [])
    y = ["a", "b", "a", "b", "a"]
    model = GINClassifier(epochs=2, hidden=8, pooling=pooling, device="cpu")
    model.fit([*graphs, empty], [*y, "b"], validation=([empty, graphs[0]], ["unseen", "a"]))
    assert model.classes_.tolist() == ["a", "b"]  # a label of the validation set alone is not learned
    proba = model.predict_proba([empty, *graphs])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    # What a graph gets does not depend on the graphs beside it.
    alone = np.concatenate([model.predict_proba([graph]) for graph in (empty, *graphs)])
    np.testing.assert_allclose(proba, alone, atol=1e-6)
    assert model.predict([empty, *graphs]).tolist() == ["ab"[row] for row in alone.argmax(axis=1)]
    assert model.predict([]).shape == (0,)
