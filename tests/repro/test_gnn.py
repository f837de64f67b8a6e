"""The networks: batches, encoding, learning, determinism, early stopping, errors."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from gdlnn import Feature, Graph, GraphDataset, MissingExtraError, ModelError, Schema, make_ba_2motifs
from repro.baselines import gnn
from repro.baselines.gnn import (
    GATClassifier,
    GCNClassifier,
    GINClassifier,
    GNNClassifier,
    PoolingMLPClassifier,
)
from repro.baselines.network import train_network
from repro.baselines.tensors import FeatureEncoder, GraphTensors

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
    assert [column.width for column in encoder.node_] == [3, 4, 1]
    assert encoder.n_edge_columns == 2
    table = encoder.nodes(np.array([[2.0, 1.0, 5.0], [9.0, 7.0, 5.0]]))
    assert table[0, :6].tolist() == [0, 1, 0, 0, 1, 0]
    assert table[1, :6].tolist() == [0] * 6
    degrees = make_ba_2motifs(n=10)
    assert FeatureEncoder().fit(degrees.graphs, degrees.schema).n_node_columns > 2
    nothing = FeatureEncoder().fit([Graph(np.zeros((2, 0)), [(0, 1)])], None)
    assert nothing.nodes(np.zeros((2, 0))).tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("directed", [False, True])
def test_batches_hold_each_graph_as_it_is(directed: bool) -> None:
    torch = pytest.importorskip("torch")
    data = random_graphs(7, 1, directed)
    encoder = FeatureEncoder().fit(data.graphs, data.schema)
    tensors = GraphTensors(data.graphs, np.arange(7), encoder, torch.device("cpu"))
    order = np.array([4, 2, 6, 0, 1, 5, 3])
    seen: list[int] = []
    for batch in tensors.batches(3, order):
        for number in range(batch.n_graphs):
            graph = data.graphs[int(batch.y[number])]
            seen.append(int(batch.y[number]))
            nodes = np.flatnonzero((batch.graph == number).numpy())
            np.testing.assert_array_equal(batch.x[nodes].numpy(), encoder.nodes(graph.node_features))
            edges = batch.edge_index.numpy()
            inside = np.isin(edges[0], nodes)
            pairs = {(int(u), int(v)) for u, v in (edges[:, inside] - nodes[0]).T}
            both = set(map(tuple, graph.edges.tolist()))
            assert pairs == (both if directed else both | {(v, u) for u, v in both})
            attributes = encoder.edges(graph.edge_features)
            assert batch.edge_attr is not None
            for (u, v), row in zip(
                (edges[:, inside] - nodes[0]).T, batch.edge_attr[inside].numpy(), strict=True
            ):
                at = [
                    i
                    for i, e in enumerate(graph.edges.tolist())
                    if [u, v] == e or (not directed and [v, u] == e)
                ]
                np.testing.assert_array_equal(row, attributes[at[0]])
    assert seen == order.tolist()


@pytest.mark.parametrize("model", ALL)
def test_learns_and_repeats_itself(model: type[GNNClassifier]) -> None:
    train, val, test = make_ba_2motifs(n=120, seed=1).split("stratified", seed=1)
    short = model(epochs=12, hidden=16, learning_rate=0.01, seed=3, device="cpu")
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


def test_early_stopping_keeps_the_best_state() -> None:
    train, val, _ = make_ba_2motifs(n=100, seed=5).split("stratified")
    model = GINClassifier(epochs=60, patience=3, hidden=8, learning_rate=0.01, device="cpu")
    model.fit(train, validation=val)
    assert len(model.history_) < 60
    assert model.score(val) == max(row["val_accuracy"] for row in model.history_)


@pytest.mark.parametrize("pooling", ["mean", "max", "sum"])
def test_odd_graphs_and_odd_batches(pooling: str) -> None:
    rng = np.random.default_rng(0)
    graphs = [Graph(rng.normal(size=(n, 1)), [(0, n - 1)] if n > 1 else []) for n in (1, 2, 3, 1, 4)]
    empty = Graph(np.zeros((0, 1)), [])
    y = ["a", "b", "a", "b", "a"]
    model = GINClassifier(epochs=2, hidden=8, batch_size=2, pooling=pooling, device="cpu")  # type: ignore[arg-type]
    model.fit([*graphs, empty], [*y, "b"], validation=([empty, graphs[0]], ["unseen", "a"]))
    assert model.classes_.tolist() == ["a", "b"]  # a label of the validation set alone is not learnt
    proba = model.predict_proba([empty, *graphs])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    # What a graph gets does not depend on the graphs beside it.
    alone = np.concatenate([model.predict_proba([graph]) for graph in (empty, *graphs)])
    np.testing.assert_allclose(proba, alone, atol=1e-6)
    assert model.predict([empty, *graphs]).tolist() == ["ab"[row] for row in alone.argmax(axis=1)]
    assert model.predict([]).shape == (0,)


def test_balanced_weights_help_the_rare_class() -> None:
    data = random_graphs(200, 4)
    assert data.y is not None
    rows = np.concatenate([np.flatnonzero(data.y == 0)[:60], np.flatnonzero(data.y == 1)[:8]])
    rare = data.take(rows)
    options = {"epochs": 15, "hidden": 8, "device": "cpu"}
    plain = PoolingMLPClassifier(**options).fit(rare).predict_proba(rare)[:, 1].mean()  # type: ignore[arg-type]
    balanced = PoolingMLPClassifier(class_weight="balanced", **options).fit(rare)  # type: ignore[arg-type]
    assert balanced.predict_proba(rare)[:, 1].mean() > plain + 0.1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pooling": "median"}, "pooling: expected one of mean, max, sum, got 'median'"),
        ({"hidden": 0}, "hidden: expected a multiple of 1"),
        ({"epochs": 0}, "epochs: expected a whole number of at least 1, got 0"),
        ({"dropout": 1}, "dropout: expected a share"),
        ({"batch_size": 1}, "batch_size"),
        ({"learning_rate": 0}, "learning_rate"),
    ],
)
def test_bad_parameters(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        GINClassifier(**parameters).fit(make_ba_2motifs(n=4))  # type: ignore[arg-type]


def test_attention_needs_a_width_for_its_heads() -> None:
    with pytest.raises(ModelError, match="hidden: expected a multiple of 4"):
        GATClassifier(hidden=6).fit(make_ba_2motifs(n=4))


def test_without_pyg_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    monkeypatch.setattr("gdlnn.errors._is_installed", lambda package: package != "torch_geometric")
    with pytest.raises(
        MissingExtraError, match=r"The baseline gin needs torch_geometric.*gdlnn\[baselines\]"
    ):
        GINClassifier(device="cpu").fit(make_ba_2motifs(n=4))
    PoolingMLPClassifier(epochs=1, device="cpu").fit(make_ba_2motifs(n=4))


def test_a_network_that_learnt_nothing_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch_geometric")
    seen: list[float] = []

    def first_one_dies(model: Any, network: Any, *rest: Any) -> Any:
        seen.append(float(network.embed.weight.detach().sum()))
        if len(seen) > 1:
            return train_network(model, network, *rest)
        return [{"epoch": epoch, "loss": np.log(2)} for epoch in range(30)]

    monkeypatch.setattr(gnn, "train_network", first_one_dies)
    model = GINClassifier(epochs=3, device="cpu").fit(random_graphs(40, 0))
    assert len(seen) == 2
    assert seen[0] != seen[1]
    assert len(model.history_) == 3
