"""Names of places: the words a person would use, the same however a graph is numbered."""

from pathlib import Path

import numpy as np
import pytest

from gdlnn import Feature, Graph, Schema, load_dataset
from gdlnn.gdl.place_names import place_name, with_whole_groups
from gdlnn.graphs.molecules import molecule_graph

Chem = pytest.importorskip("rdkit.Chem")

PAYMENTS = Schema(
    (Feature("kind", "nominal", {0: "person", 1: "shop"}),),
    (Feature("type", "nominal", {0: "wire transfer"}), Feature("amount")),
)
LETTERS = Schema((Feature("label", "nominal", {0: "C", 1: "N"}),))


@pytest.mark.parametrize(
    ("smiles", "nodes", "name"),
    [
        ("CC(=O)O", [1, 2, 3], "carboxylic acid"),
        ("CC(=O)O", [1, 2], "part of a carboxylic acid"),
        ("O=[N+]([O-])c1ccccc1", [0, 1, 2], "nitro group"),
        ("O=[N+]([O-])c1ccccc1", range(9), "nitro on a benzene ring"),
        ("Nc1ccccc1", range(7), "aniline"),
        ("Oc1ccccc1", [0, 1, 2], "phenol"),
        ("Clc1cc(Cl)ccc1", range(8), "two chlorines on a benzene ring"),
        ("C[N+](C)(C)CCO", range(5), "quaternary ammonium"),
        ("CC(=O)N1CCCCC1", range(9), "amide on a piperidine ring"),
        ("O=C1CCCCN1", [0, 1, 6], "lactam"),
        ("c1ccc2[nH]ccc2c1", range(9), "indole ring"),
        ("c1ccc2[nH]ccc2c1", range(7), "part of an indole ring"),
        ("CCOC(=O)C", range(5), "ester next to an ethyl group"),
        ("CCCCCCCC(=O)O", range(10), "carboxylic acid on an alkyl chain"),
        ("c1ccccc1CCC(=O)NCCC(=O)O", range(15), "benzene ring, amide and more"),
        ("c1ccccc1-c1ccncc1", [5, 6], "parts of benzene and pyridine rings"),
        ("COCOC", [2], "part of an acetal"),
        ("[Na+].[Cl-]", [0], "sodium ion"),
        ("*c1ccccc1", [0], "dummy atom"),
    ],
)
def test_places_of_molecules(smiles: str, nodes: list[int], name: str) -> None:
    assert place_name(molecule_graph(Chem.MolFromSmiles(smiles)), nodes) == name


RING = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]


@pytest.mark.parametrize(
    ("graph", "name"),
    [
        (Graph(np.zeros((5, 0)), RING), "cycle of five nodes"),
        (Graph(np.zeros((5, 0)), [*RING, (0, 2)]), "cycle of five nodes with a chord"),
        (Graph(np.zeros((6, 0)), [*RING, (0, 5)]), "cycle of five nodes and more"),
        (Graph(np.zeros((4, 0)), [(0, 1), (0, 2), (0, 3)]), "star of four nodes"),
        (Graph(np.zeros((2, 0)), [(0, 0)], directed=True), "two nodes"),
        (Graph([[0], [1], [0]], [(0, 1), (1, 2)], schema=LETTERS), "two C joined to one N"),
        (
            Graph([[1], [0], [0]], [(1, 0), (2, 0)], [[0, 950], [0, 900]], directed=True, schema=PAYMENTS),
            "wire transfers with amount at least 900, from two person to one shop",
        ),
    ],
)
def test_places_of_other_graphs(graph: Graph, name: str) -> None:
    assert place_name(graph, range(graph.n_nodes)) == name


@pytest.mark.data
@pytest.mark.parametrize("name", ["BBBP", "BACE", "Mutagenicity", "ENZYMES"])
def test_names_are_short_and_do_not_depend_on_the_numbering(name: str, data_dir: Path) -> None:
    data, rng, words = load_dataset(name, data_dir, download=False), np.random.default_rng(0), []
    for row in rng.choice(len(data), 60, replace=False).tolist():
        graph = data.graphs[row]
        new = rng.permutation(graph.n_nodes)
        features = graph.node_features[np.argsort(new)]
        other = Graph(features, new[graph.edges][::-1], graph.edge_features[::-1], schema=data.schema)
        place = rng.integers(graph.n_nodes, size=1)
        for _ in range(3):
            found = place_name(graph, place.tolist(), data.schema)
            assert found == place_name(other, new[place].tolist(), data.schema)
            words.append(len(found.split()))
            place = np.unique([place[0], *graph.edges[np.isin(graph.edges, place).any(axis=1)].ravel()])
    assert np.mean(np.array(words) <= 6) >= 0.9 or name == "ENZYMES"  # the limit is for molecules


def test_a_small_group_is_taken_whole_and_a_ring_is_not() -> None:
    graph = molecule_graph(Chem.MolFromSmiles("c1ccccc1[N+](=O)[O-]"))
    assert with_whole_groups(graph, [6]) == {6, 7, 8}
    assert with_whole_groups(graph, [0, 1]) == {0, 1}
    assert with_whole_groups(Graph([[1.0]], []), [0]) is None
