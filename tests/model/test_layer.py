"""The GDL layer: activations, pooled features, names, errors."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from gdlnn import Feature, Graph, GraphDataset, Program, Schema, make_ba_2motifs
from gdlnn.errors import ModelError
from gdlnn.mining import neighborhoods
from gdlnn.model import GDLTransformer, Neighborhoods, PooledFeatures
from reference.payments import payment_graphs

PROGRAMS = [
    Program.parse("node x"),
    Program.parse("node x <[3, inf]>\nnode y\nedge (x, y)"),
    Program.parse("node x <[2, 2]>\nnode y <[2, 2]>\nnode z <[2, 2]>\nedge (x, y)\nedge (y, z)"),
]
TRIANGLE = Graph([[2.0], [2.0], [2.0]], [(0, 1), (1, 2), (0, 2)])
PATH = Graph([[1.0], [2.0], [1.0]], [(0, 1), (1, 2)])


@pytest.fixture(scope="module")
def motifs() -> GraphDataset:
    return make_ba_2motifs(20, random_state=3)


def test_activations_are_those_of_the_programs(motifs: GraphDataset) -> None:
    exists = GDLTransformer(PROGRAMS).fit_transform(motifs)
    counts = GDLTransformer(PROGRAMS, "count").fit_transform(motifs)
    for row, graph in enumerate(motifs):
        for column, program in enumerate(PROGRAMS):
            assert exists[row, column] == program.matches(graph)
            assert counts[row, column] == program.count(graph, distinct=True)


def test_names_and_pooled_columns() -> None:
    schema = Schema((Feature("kind", "nominal", {1.0: "a", 2.0: "b"}),))
    data = GraphDataset([TRIANGLE, PATH], schema=schema)
    layer = GDLTransformer(PROGRAMS[:1], pooled=True).fit(data)
    assert layer.get_feature_names_out().tolist() == [
        *(PROGRAMS[0].describe().removesuffix("."), "nodes", "edges", "node kind = a", "node kind = b")
    ]
    table = layer.transform(data)
    np.testing.assert_allclose(table[0], [1, np.log(4), np.log(4), 0, 1])
    np.testing.assert_allclose(table[1], [1, np.log(4), np.log(3), 2 / 3, 1 / 3])


def test_pooled_numbers_and_graphs_without_edges() -> None:
    graphs = [
        Graph([[0.5], [1.5]], [(0, 1)], [[7.25]]),
        Graph([[-2.0]], [], np.zeros((0, 1))),
    ]
    pooled = PooledFeatures().fit(graphs)
    table = pooled.transform(graphs)
    at = {name: i for i, name in enumerate(pooled.names_)}
    assert table[0, at["node feature 0 mean"]] == 1.0
    assert table[0, at["node feature 0 max"]] == 1.5
    assert table[1, at["node feature 0 sum"]] == -np.log1p(2.0)
    assert table[1, 2 + 3 :].tolist() == [0.0] * (len(at) - 5)
    named = {**pooled.to_json(), "names": ["a", "b", "x", *pooled.names_[3:]]}
    assert PooledFeatures.from_json(named).text(2, 1.0, None)  # whatever a file calls it
    assert PooledFeatures.from_json(named).text(0, np.log(2.0), None) == "1 node"
    again = PooledFeatures.from_json(pooled.to_json())
    np.testing.assert_array_equal(again.transform(graphs), table)


def test_it_works_in_a_pipeline_and_clones(motifs: GraphDataset) -> None:
    layer = GDLTransformer(PROGRAMS, "count", pooled=True)
    model = make_pipeline(clone(layer), LogisticRegression()).fit(motifs.graphs, motifs.y)
    assert model.predict(motifs.graphs[:3]).shape == (3,)
    assert clone(layer).get_params()["activation"] == "count"


def test_it_finds_programs_in_smiles_and_names_its_columns_by_words() -> None:
    smiles = ["CCO", "CCN", "CCCO", "c1ccccc1", "c1ccccc1O", "CC(=O)O"] * 4
    model = make_pipeline(GDLTransformer(), LogisticRegression())
    scores = cross_val_score(model, smiles, ["O" in text for text in smiles], cv=3)
    assert scores.mean() == 1
    layer = GDLTransformer(vocabulary=Neighborhoods(radius=1)).fit(smiles)
    names = layer.get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == layer.n_columns == layer.transform(["CCO"]).shape[1]
    assert any("oxygen" in name or " O" in name for name in names)


def test_given_programs_get_the_structure_that_they_ask_for() -> None:
    data = payment_graphs(20, 0)
    layer = GDLTransformer(neighborhoods(data, radius=1, structure=True)).fit(data.with_structure())
    np.testing.assert_array_equal(layer.transform(data), layer.transform(data.with_structure()))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: GDLTransformer(PROGRAMS, "sometimes").fit([PATH]), "activation: expected one of exists"),  # type: ignore[arg-type]
        (lambda: GDLTransformer([3]).fit([PATH]), "programs: item 0: expected a program, got int"),  # type: ignore[list-item]
        (lambda: GDLTransformer(PROGRAMS).fit([PATH]).transform([PATH, 3]), "item 1: expected a Graph"),
        (lambda: GDLTransformer(PROGRAMS).fit(7), "a list of graphs or a GraphDataset, got int"),
    ],
)
def test_errors_say_what_was_expected(call: object, words: str) -> None:
    assert callable(call)
    with pytest.raises(ModelError, match=words):
        call()
