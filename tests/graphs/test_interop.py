"""Other libraries, both ways, and twins checked against NetworkX."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from rdkit import Chem

from gdlnn.errors import GraphError
from gdlnn.graphs import Feature, Graph, GraphDataset, Schema
from gdlnn.graphs.identity import canonical_form
from gdlnn.graphs.interop import (
    from_networkx,
    from_pyg,
    from_pyg_dataset,
    to_networkx,
    to_pyg,
    to_pyg_dataset,
)
from gdlnn.graphs.molecules import graph_molecule, molecule_graph
from reference.random_cases import renumbered

SCHEMA = Schema((Feature("kind", "nominal"), Feature("weight")), (Feature("bond"),))


def random_graph(
    rng: np.random.Generator, *, directed: bool = False, values: int = 2, n: int | None = None
) -> Graph:
    n = int(rng.integers(1, 8)) if n is None else n
    pairs = np.argwhere(rng.random((n, n)) < 0.35)
    if not directed:
        pairs = pairs[pairs[:, 0] <= pairs[:, 1]]
    nodes = np.column_stack([rng.integers(0, values, n), rng.integers(0, values, n) / 2])
    return Graph(nodes, pairs, rng.integers(0, values, (len(pairs), 1)), directed=directed, schema=SCHEMA)


@pytest.mark.parametrize("directed", [False, True])
def test_networkx_graphs_come_back_unchanged(directed: bool) -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        graph = random_graph(rng, directed=directed)
        there = to_networkx(graph)
        assert there.is_directed() == directed
        assert (there.number_of_nodes(), there.number_of_edges()) == (graph.n_nodes, graph.n_edges)
        back = from_networkx(there, ["kind", "weight"], ["bond"])
        assert canonical_form(back) == canonical_form(graph)
        assert np.array_equal(back.node_features, graph.node_features)
        assert [f.name for f in back.schema.node] == ["kind", "weight"]
    star = from_networkx(nx.star_graph(3))
    assert star.node_features.tolist() == [[3], [1], [1], [1]]


def test_networkx_that_cannot_be() -> None:
    graph = nx.Graph()
    graph.add_node("a", weight=1)
    graph.add_node("b")
    with pytest.raises(GraphError, match="node 'b': expected a value of 'weight', got none"):
        from_networkx(graph)
    graph.nodes["b"]["weight"] = "heavy"
    with pytest.raises(GraphError, match="node 'b': weight: expected a number, got 'heavy'"):
        from_networkx(graph)
    with pytest.raises(GraphError, match="got a multigraph"):
        from_networkx(nx.MultiGraph())


@pytest.mark.parametrize("directed", [False, True])
def test_pyg_graphs_come_back_unchanged(directed: bool) -> None:
    rng = np.random.default_rng(2)
    graphs = [random_graph(rng, directed=directed) for _ in range(30)]
    for graph in graphs:
        data = to_pyg(graph)
        assert data.num_nodes == graph.n_nodes
        if not directed:
            loops = int((graph.edges[:, 0] == graph.edges[:, 1]).sum())
            assert data.num_edges == 2 * graph.n_edges - loops
            assert data.is_undirected()
        assert from_pyg(data, directed=directed) == graph
    dataset = GraphDataset(graphs, rng.choice([-1, 1], 30), SCHEMA)
    items = to_pyg_dataset(dataset)
    assert {int(item.y) for item in items} == {0, 1}
    again = from_pyg_dataset(items, directed=directed, schema=SCHEMA, name="back")
    assert again.graphs == graphs
    assert again.y is not None
    assert (again.y * 2 - 1).tolist() == np.asarray(dataset.y).tolist()
    assert to_pyg_dataset(GraphDataset(graphs))[0].y is None


def test_pyg_without_features_and_with_contradictions() -> None:
    torch = pytest.importorskip("torch")
    data_module: Any = pytest.importorskip("torch_geometric.data")
    edge_index = torch.tensor([[0, 1, 1], [1, 0, 1]])
    graph = from_pyg(data_module.Data(edge_index=edge_index, num_nodes=3))
    assert graph.node_features.tolist() == [[1], [2], [0]]
    assert graph.edges.tolist() == [[0, 1], [1, 1]]
    data = data_module.Data(
        x=torch.zeros(3, 1), edge_index=edge_index, edge_attr=torch.tensor([1.0, 2.0, 3.0])
    )
    with pytest.raises(GraphError, match=r"edge \(1, 0\): expected the same features in both directions"):
        from_pyg(data)


def test_molecules_come_back_unchanged() -> None:
    for smiles in ("CCO", "c1ccncc1C(=O)[O-]", "C[N+](C)(C)C", "[CH3]", "N#Cc1ccc[nH]1"):
        molecule = Chem.MolFromSmiles(smiles)
        graph = molecule_graph(molecule)
        back = graph_molecule(graph)
        Chem.SanitizeMol(back)
        assert Chem.MolToSmiles(back) == Chem.MolToSmiles(molecule)
    schema = Schema(
        (Feature("atom", "nominal", {0: "C", 1: "O"}),),
        (Feature("bond", "nominal", {0: "double"}),),
        {},
        "molecule",
    )
    carbon_dioxide = Graph([[1], [0], [1]], [[0, 1], [1, 2]], [[0], [0]], schema=schema)
    assert Chem.MolToSmiles(graph_molecule(carbon_dioxide)) == "O=C=O"
    with pytest.raises(GraphError, match="expected the graph of a molecule"):
        graph_molecule(random_graph(np.random.default_rng(0)))
    with pytest.raises(GraphError, match="expected the symbol of an element, got '7'"):
        graph_molecule(Graph([[7]], [], schema=Schema(schema.node, (), {}, "molecule")))


@pytest.mark.parametrize("directed", [False, True])
def test_twins_are_those_networkx_finds(directed: bool, n_cases: float) -> None:
    rng = np.random.default_rng(3)
    for case in range(int(8 * n_cases)):
        size = int(rng.integers(2, 6))
        graphs = [
            random_graph(rng, directed=directed, values=int(rng.integers(1, 3)), n=size) for _ in range(12)
        ]
        graphs += [renumbered(rng, graphs[i]) for i in rng.integers(0, 12, 6)]
        same = {"node_match": lambda a, b: a == b, "edge_match": lambda a, b: a == b}
        theirs = [
            to_networkx(Graph(g.node_features, g.edges, g.edge_features, directed=directed)) for g in graphs
        ]
        found = {frozenset(group) for group in GraphDataset(graphs).duplicates().groups}
        left, expected = set(range(len(graphs))), set()
        while left:
            first = min(left)
            group = {j for j in left if nx.is_isomorphic(theirs[first], theirs[j], **same)}
            left -= group
            if len(group) > 1:
                expected.add(frozenset(group))
        assert found == expected, f"case {case}"


def test_conflicting_labels_are_reported_and_dropped() -> None:
    graphs = [Graph([[float(i)]], []) for i in (0, 1, 0, 2, 1, 0)]
    dataset = GraphDataset(graphs, [0, 1, 0, 1, 0, 0])
    twins = dataset.duplicates()
    assert twins.groups == ((0, 2, 5), (1, 4))
    assert twins.conflicting == ((1, 4),)
    assert twins.n_extra == 3
    assert (len(twins.groups), twins.n_extra, len(twins.conflicting)) == (2, 3, 1)
    assert dataset.drop_duplicates().indices.tolist() == [0, 3]
    assert dataset.drop_duplicates(conflicts="first").indices.tolist() == [0, 1, 3]
    assert GraphDataset([]).duplicates().groups == ()
    part = dataset.take([1, 3, 4])
    assert part.duplicates().across(part[:1], part[1:]) == ((0, 2),)
