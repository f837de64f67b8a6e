"""Graph, GraphDataset and Schema: what they hold, and one test per kind of fault."""

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gdlnn import Feature, Graph, GraphDataset, Schema
from gdlnn.errors import GraphError

PATH = Graph([[1.0], [2.0], [3.0]], [(0, 1), (1, 2)], name="path")


def test_a_graph_holds_what_it_was_given() -> None:
    graph = Graph([[1, 2], [3, 4]], [(0, 1), (1, 1)], [[5], [6]], directed=True, name="g")
    assert (graph.n_nodes, graph.n_edges, graph.directed, graph.name) == (2, 2, True, "g")
    assert graph.node_features.dtype == np.float64
    assert graph.edges.dtype == np.int64
    assert graph.edge_features.tolist() == [[5.0], [6.0]]
    assert repr(graph) == "<Graph 'g': 2 nodes × 2 features, 2 directed edges × 1 features>"


def test_a_graph_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="a Graph cannot be changed"):
        PATH.directed = True
    with pytest.raises(AttributeError, match="a Graph cannot be changed"):
        del PATH.edges
    with pytest.raises(ValueError, match="read-only"):
        PATH.node_features[0, 0] = 9.0
    assert pickle.loads(pickle.dumps(PATH)) == PATH
    assert Graph([[1.0], [2.0], [3.0]], [(0, 1), (1, 2)], directed=True) != PATH
    assert PATH != "path"


def test_the_arrays_given_stay_the_caller_s() -> None:
    features, edges = np.ones((2, 1)), np.array([[0, 1]])
    graph = Graph(features, edges)
    features[0, 0], edges[0, 0] = 5.0, 1
    assert graph.node_features[0, 0] == 1.0
    assert graph.edges.tolist() == [[0, 1]]


def test_a_subgraph_keeps_features_and_edges() -> None:
    graph = Graph([[0.0], [1.0], [2.0], [3.0]], [(0, 3), (3, 2), (1, 1)], [[7], [8], [9]])
    part = graph.subgraph([3, 1, 2, 3])
    assert part.node_features.ravel().tolist() == [1.0, 2.0, 3.0]
    assert part.edges.tolist() == [[2, 1], [0, 0]]
    assert part.edge_features.ravel().tolist() == [8.0, 9.0]
    assert PATH.subgraph([]).n_nodes == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"node_features": [1.0, 2.0]},
            "graph 'g': node_features: expected a matrix (two dimensions), one row per node, got 1 dim",
        ),
        (
            {"node_features": [["a"]]},
            "graph 'g': node_features: expected a matrix of numbers, one row per node, got ",
        ),
        (
            {"node_features": [[1.0], [np.inf]]},
            "graph 'g': node_features: node 1, feature 0: expected a finite number, got inf",
        ),
        (
            {"edges": [(0, 1)], "edge_features": [[np.inf]]},
            "graph 'g': edge_features: edge 0, feature 0: expected a finite number, got inf",
        ),
        (
            {"edges": [(0, 1)], "edge_features": [[1.0], [2.0]]},
            "graph 'g': edge_features: expected 1 rows, one per edge, got 2",
        ),
        ({"edges": [(0, 1, 2)]}, "graph 'g': edges: expected shape (m, 2), one pair per edge, got (1, 3)"),
        ({"edges": [(0, 0.5)]}, "graph 'g': edges: expected whole numbers, got values of type float64"),
        ({"edges": [(0, 1), (1,)]}, "graph 'g': edges: expected pairs of node indices, got "),
        ({"edges": [(0, 1), (1, 2)]}, "graph 'g': edge 1 (1, 2): expected nodes from 0 to 1, got node 2"),
        (
            {"node_features": [], "edges": [(0, 0)]},
            "graph 'g': edge 0 (0, 0): expected no edge, since there are no nodes, got node 0",
        ),
        (
            {"edges": [(0, 1), (1, 0)]},
            "graph 'g': edge 1 (1, 0): expected no parallel edges, but edge 0 joins the same nodes (an undir",
        ),
        (
            {"edges": [(0, 1), (0, 1)], "directed": True},
            "graph 'g': edge 1 (0, 1): expected no parallel edges, but edge 0 joins the same nodes",
        ),
        (
            {"schema": Schema((Feature("a"), Feature("b")))},
            "graph 'g': expected 2 node feature(s), as in the schema, got 1",
        ),
    ],
)  # fmt: skip
def test_bad_graphs_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError) as caught:
        Graph(**{"node_features": [[1.0], [2.0]], "edges": [], "name": "g", **arguments})
    assert str(caught.value).startswith(message)


def test_what_a_data_set_holds() -> None:
    schema = Schema((Feature("a"),))
    graphs = [Graph([[float(i)]], [], schema=schema) for i in range(4)]
    data = GraphDataset(graphs, ["u", "v", "u", "v"], name="d", ids=list("abcd"))
    assert len(data) == 4
    assert data.schema == schema
    assert data[1] is graphs[1]
    assert data[-1] is graphs[3]
    assert list(data) == graphs
    part = data[np.array([False, True, False, True])]
    assert part.indices.tolist() == [1, 3]
    assert part.y.tolist() == ["v", "v"]
    assert part.ids == ["b", "d"]
    assert data[1:][[0, 2]].indices.tolist() == [1, 3]
    assert (data.n_node_features, data.n_edge_features, data.directed) == (1, 0, False)
    assert len(GraphDataset([])) == 0


@pytest.mark.parametrize(
    ("graphs", "arguments", "message"),
    [
        ([PATH], {"y": [1, 2]}, "dataset 'd': y: expected 1 labels, one per graph, got shape (2,)"),
        ([PATH], {"ids": []}, "dataset 'd': ids: expected 1 entries, one per graph, got 0"),
        (
            [PATH],
            {"node_masks": [np.ones(2, bool)]},
            "dataset 'd': graph 0: node_masks: expected 3 values, one per node, got 2",
        ),
        (
            [PATH, Graph([[1.0, 2.0]], [])],
            {},
            "dataset 'd': graph 1: expected 1 node features, as in graph 0, got 2",
        ),
        (
            [PATH, Graph([[1.0]], [(0, 0)], [[1.0]])],
            {},
            "dataset 'd': graph 1: expected 0 edge features, as in graph 0, got 1",
        ),
        (
            [PATH, Graph([[1.0]], [], directed=True)],
            {},
            "dataset 'd': graph 1: expected it undirected, as graph 0 is",
        ),
    ],
)  # fmt: skip
def test_bad_data_sets_are_refused(graphs: list[Graph], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError) as caught:
        GraphDataset(graphs, **{"name": "d", **arguments})
    assert str(caught.value) == message


def test_bad_rows_are_refused() -> None:
    data = GraphDataset([PATH, PATH], name="d")
    with pytest.raises(IndexError, match="dataset 'd': boolean index did not match"):
        data[np.array([True, False, True])]
    with pytest.raises(IndexError, match="dataset 'd': index 2 is out of bounds"):
        data[[0, 2]]
    with pytest.raises(GraphError, match="dataset 'd': expected row numbers or a mask, got float64"):
        data[np.array([0.5])]


def test_what_a_schema_knows() -> None:
    atom = Feature("atom", "nominal", {0: "C", 1: "N"})
    schema = Schema((atom,), (Feature("bond"),), {1: "mutagenic"}, "molecule")
    assert [atom.value_name(v) for v in (0, 1.0, 2)] == ["C", "N", "2"]
    assert schema.class_name(1) == "mutagenic"
    assert schema.class_name(0) == "0"
    assert Schema.from_json(schema.to_json()) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert hash(Schema.from_json(schema.to_json())) == hash(schema)
    with pytest.raises(TypeError):
        atom.values[3] = "O"  # type: ignore[index]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Feature("a", "odd"),  # type: ignore[arg-type]
            "feature 'a': expected a kind out of numeric, ordinal, nominal, got 'odd'",
        ),
        (
            lambda: Feature("a", "nominal", {0: "C", 1: "C"}),
            "feature 'a': the value name 'C' is given to two values",
        ),
        (lambda: Schema((Feature("a"), Feature("a"))), "schema: two node features are called 'a'"),
    ],
)  # fmt: skip
def test_bad_schemas_are_refused(make: Any, message: str) -> None:
    with pytest.raises(GraphError) as caught:
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array(["x" * 201, "y"]), "text of at most 200 characters"),
        (np.array([2**63, 1], dtype=np.uint64), r"whole numbers below 2\^63, got 9223372036854775808"),
        (np.array([1, "a"], dtype=object), "labels of one kind, got numbers and text"),
        ([Fraction(1, 2), Fraction(1, 3)], "numbers or text, got values of type Fraction"),
        (["\ud800", "b"], "Unicode text"),
    ],
)
def test_labels_that_no_file_could_hold(labels: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        GraphDataset([Graph([[0]], []), Graph([[1]], [])], labels)


def test_two_classes_of_one_name() -> None:
    with pytest.raises(GraphError, match="two classes are called 'active'"):
        Schema(classes={0: "active", 1: "active"})
