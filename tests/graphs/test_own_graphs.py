"""Graphs that are no molecules: names of one's own, from tables, dictionaries, NetworkX and PyG."""

import random
from pathlib import Path
from typing import Any

import networkx as nx
import pandas
import pytest

import gdlnn
from gdlnn import Feature, Program, Schema
from gdlnn.errors import GraphError
from gdlnn.graphs.interop import from_networkx, from_networkx_dataset, from_tables, to_networkx

NODES: dict[str, list[Any]] = {
    "graph": ["a", "a", "a", "b", "b"],
    "node": ["Ann", "Bob", "shop", "Ann", "shop"],
    "kind": ["person", "person", "shop", "person", "shop"],
    "age": [30, 40, 0, 31, 0],
}
EDGES: dict[str, list[Any]] = {
    "graph": ["a", "a", "b"],
    "source": ["Ann", "Bob", "Ann"],
    "target": ["Bob", "shop", "shop"],
    "amount": ["large", "small", "small"],
    "known": [True, False, True],
}


def as_rows(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def payments(seed: int, fraud: bool) -> Any:
    """Make a directed graph of payments; in a fraud, large ones go round among four people."""
    rng = random.Random(seed)
    graph = nx.gnp_random_graph(12, 0.08, seed=seed, directed=True)
    nx.set_node_attributes(graph, {n: rng.choice(["person", "shop"]) for n in graph}, "kind")
    nx.set_edge_attributes(graph, {e: rng.choice(["small", "large"]) for e in graph.edges}, "amount")
    ring = rng.sample(range(12), 4) if fraud else []
    for payer, payee in zip(ring, ring[1:] + ring[:1], strict=True):
        graph.nodes[payer]["kind"] = "person"
        graph.add_edge(payer, payee, amount="large")
    return graph


@pytest.mark.parametrize("form", ["columns", "rows", "pandas"])
def test_tables_keep_their_names(form: str) -> None:
    nodes: Any = NODES
    edges: Any = EDGES
    if form == "rows":
        nodes, edges = as_rows(NODES), as_rows(EDGES)
    if form == "pandas":
        nodes, edges = pandas.DataFrame(NODES), pandas.DataFrame(EDGES)
    data = from_tables(nodes, edges, {"a": "fraud", "b": "honest"}, directed=True, name="payments")
    assert data.y.tolist() == ["fraud", "honest"]
    assert [graph.name for graph in data] == ["a", "b"]
    assert data.schema == Schema(
        (Feature("kind", "nominal", {0: "person", 1: "shop"}), Feature("age")),
        (
            Feature("amount", "nominal", {0: "large", 1: "small"}),
            Feature("known", "nominal", {0: "no", 1: "yes"}),
        ),
    )
    assert data.graphs[0].node_features.tolist() == [[0, 30], [0, 40], [1, 0]]
    assert data.graphs[0].edges.tolist() == [[0, 1], [1, 2]]
    assert data.graphs[0].edge_features.tolist() == [[0, 1], [1, 0]]
    assert data.graphs[1].n_nodes == 2
    assert data.graphs[0].directed
    program = Program.parse("node x <kind = person> node y edge (x, y) <amount = large>", data.schema)
    assert [program.matches(graph) for graph in data] == [True, False]
    words = program.describe(data.schema, directed=True)
    assert "kind person" in words
    assert "amount large" in words


def test_categories_of_pandas_keep_their_order() -> None:
    sizes = pandas.Categorical(["small", "large", "small"], ["small", "medium", "large"], ordered=True)
    nodes = pandas.DataFrame({"graph": [1, 1, 2], "node": [0, 1, 0], "size": sizes})
    edges = pandas.DataFrame({"graph": [1], "source": [0], "target": [1]})
    labels = pandas.Series({1: "yes", 2: "no"})
    data = from_tables(nodes, edges, labels)
    assert data.schema.node == (Feature("size", "ordinal", {0: "small", 1: "medium", 2: "large"}),)
    assert [graph.node_features.ravel().tolist() for graph in data] == [[0, 2], [0]]


def test_new_tables_are_coded_as_in_training() -> None:
    known = from_tables(NODES, EDGES).schema
    nodes = {"graph": ["c"], "node": [1], "age": [5], "kind": ["shop"], "else": ["x"]}
    edges: dict[str, list[Any]] = {name: [] for name in EDGES}
    assert from_tables(nodes, edges, schema=known).graphs[0].node_features.tolist() == [[1, 5]]
    with pytest.raises(GraphError, match="nodes: row 0: kind: expected one of person, shop, got 'bank'"):
        from_tables({**nodes, "kind": ["bank"]}, edges, schema=known)


@pytest.mark.parametrize(
    ("nodes", "edges", "labels", "message"),
    [
        ({"node": NODES["node"]}, {}, None, "nodes: expected a column 'graph', got node, kind"),
        (
            {},
            {"target": ["Bob", "bank", "shop"]},
            None,
            "edges: row 1: expected a node of graph 'a', got 'bank'",
        ),
        ({"node": ["Ann", "Ann", "x", "y", "z"]}, {}, None, "row 1: graph 'a' has two nodes called 'Ann'"),
        ({"age": [1, 2, 3, 4, "old"]}, {}, None, "nodes: row 4: age: expected a number, got 'old'"),
        ({"age": [1]}, {}, None, "nodes: expected columns of one length"),
        ({}, {}, {"a": 1}, "labels: expected one of graph 'b', got none"),
    ],
)
def test_tables_that_cannot_be(nodes: Any, edges: Any, labels: Any, message: str) -> None:
    table = {**NODES, **nodes}
    if "expected a column" in message:
        table["graph number"] = table.pop("graph")
    with pytest.raises(GraphError, match=message):
        from_tables(table, {**EDGES, **edges}, labels)


def test_words_in_networkx_get_one_coding() -> None:
    graphs = [payments(seed, fraud=False) for seed in range(4)]
    data = from_networkx_dataset(graphs, y=[0, 1, 0, 1], name="payments")
    assert data.schema.node == (Feature("kind", "nominal", {0: "person", 1: "shop"}),)
    for graph, source in zip(data, graphs, strict=True):
        assert graph.directed
        assert graph.schema == data.schema
        assert [data.schema.node[0].value_name(v) for v in graph.node_features[:, 0]] == [
            kind for _, kind in source.nodes(data="kind")
        ]
    again = from_networkx(graphs[1], schema=data.schema)
    assert again.node_features.tolist() == data.graphs[1].node_features.tolist()
    graphs[2].nodes[0]["kind"] = "bank"
    with pytest.raises(GraphError, match="node 0: kind: expected one of person, shop, got 'bank'"):
        from_networkx(graphs[2], schema=data.schema)
    assert to_networkx(data.graphs[0]).number_of_edges() == graphs[0].number_of_edges()


@pytest.fixture(scope="module")
def rings() -> gdlnn.GraphDataset:
    labels = ["fraud" if i % 2 else "honest" for i in range(80)]
    graphs = [payments(i, label == "fraud") for i, label in enumerate(labels)]
    return from_networkx_dataset(graphs, labels, name="payments")


@pytest.fixture(scope="module")
def model(rings: gdlnn.GraphDataset) -> gdlnn.GDLNNClassifier:
    chosen = gdlnn.GDLNNClassifier(gdlnn.Mined(epsilon=1.0, merge_equal=True), "linear", verbose=False)
    return chosen.fit(rings[:60])


def test_directed_graphs_with_names_are_learned_and_explained(
    rings: gdlnn.GraphDataset, model: gdlnn.GDLNNClassifier
) -> None:
    held_out = rings[60:]
    assert model.score(held_out) >= 0.8
    why = model.explain(held_out.graphs[1])
    assert why.prediction in ("fraud", "honest")
    words = why.describe()
    assert "person" in words
    assert why.to_html().startswith("<")


def test_explanations_name_the_nodes(tmp_path: Path) -> None:
    def graph(fraud: bool) -> Any:
        path = nx.Graph([("Ann", "Bob"), ("Bob", "Eve")])
        nx.set_node_attributes(
            path, {"Ann": "bank" if fraud else "shop", "Bob": "shop", "Eve": "shop"}, "kind"
        )
        return path

    labels = ["fraud", "honest"] * 10
    data = from_networkx_dataset([graph(label == "fraud") for label in labels], labels)
    data.save(tmp_path / "d.jsonl")
    model = gdlnn.GDLNNClassifier(head="linear", verbose=False).fit(gdlnn.load_jsonl(tmp_path / "d.jsonl"))
    assert "Ann" in model.explain(data.graphs[0]).describe()
    assert "Ann" in model.explain(graph(True)).describe()
    assert data.graphs[0].subgraph([0, 2]).node_names == ("Ann", "Eve")
