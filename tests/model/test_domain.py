"""Whether graphs are like the training graphs: against a slow recount, and in words."""

import json
from typing import Any

import numpy as np
import pytest

from gdlnn import GDLNNClassifier, Graph, GraphDataset, MLPHead, load_smiles
from gdlnn.errors import ModelError
from gdlnn.model.domain import Domain, Limits
from reference.server_models import MOLECULES

C60 = (
    "c12c3c4c5c1c1c6c7c2c2c8c3c3c9c4c4c%10c5c5c1c1c6c6c%11c7c2c2c7c8c3c3c8c9c4c4c9c%10c5c5c1c1c6c6c%11c2c2"
    "c7c3c3c8c4c4c9c5c1c1c6c2c3c41"
)


@pytest.fixture(scope="module")
def data() -> GraphDataset:
    return load_smiles(MOLECULES, label="active", id="id")


@pytest.fixture(scope="module")
def model(data: GraphDataset) -> GDLNNClassifier:
    head = MLPHead(epochs=3)
    return GDLNNClassifier("neighborhoods", head, verbose=False).fit(data[:60])


def surroundings(graph: Graph) -> list[Any]:
    """Return node, edges and neighbors of every node, in the slow and obvious way."""
    nodes, edges = graph.node_features.tolist(), graph.edge_features.tolist()
    found = []
    for node, own in enumerate(nodes):
        around = [
            (edges[i], nodes[u if v == node else v])
            for i, (u, v) in enumerate(graph.edges.tolist())
            if node in (u, v)
        ]
        found.append((own, sorted(around)))
    return found


def test_coverage_and_similarity_are_those_of_a_recount(data: GraphDataset, model: GDLNNClassifier) -> None:
    known = [item for graph in data.graphs[:60] for item in surroundings(graph)]
    trained = model.represent(data[:60]).matches
    seen = model.represent(data[60:])
    for graph, matched, found in zip(seen.graphs, seen.matches, seen.domains, strict=True):
        own = surroundings(graph)
        assert found.coverage == pytest.approx(sum(item in known for item in own) / len(own))
        similar = [(matched & other).sum() / (matched | other).sum() for other in trained]
        assert found.similarity == pytest.approx(max(similar))


def test_limits_are_quantiles_over_the_other_training_graphs(
    data: GraphDataset, model: GDLNNClassifier
) -> None:
    trained = model.represent(data[:60]).matches
    nearest, covered = [], []
    of_graphs = [surroundings(graph) for graph in data.graphs[:60]]
    for i, matched in enumerate(trained):
        others = [other for j, other in enumerate(trained) if j != i]
        nearest.append(max((matched & other).sum() / (matched | other).sum() for other in others))
        elsewhere = [item for j, own in enumerate(of_graphs) if j != i for item in own]
        covered.append(np.mean([item in elsewhere for item in of_graphs[i]]))
    limits = model.training_.domain.similarity, model.training_.domain.coverage
    for limit, values in zip(limits, (nearest, covered), strict=True):
        assert limit is not None
        np.testing.assert_allclose(limit, np.quantile(values, (0.05, 0.01)))


def test_elements_and_shapes_of_no_drug_lie_outside(model: GDLNNClassifier) -> None:
    from rdkit import Chem

    graphs = [model.reading.graph(Chem.MolFromSmiles(smiles)) for smiles in ("[He]", "[U]", C60)]
    helium, uranium, buckyball = model.domain(graphs)
    assert helium.reason == "contains an element that no training molecule has: He"
    assert uranium.reason == "contains an element that no training molecule has: U"
    assert [where.domain for where in (helium, uranium, buckyball)] == ["outside"] * 3
    assert "shares" in buckyball.reason or "surroundings" in buckyball.reason


def test_a_placeholder_is_outside_but_predicted_explained_and_drawn(data: GraphDataset) -> None:
    model = GDLNNClassifier("neighborhoods", verbose=False).fit(data[:60])
    assert model.layer_.pooled_.properties  # RDKit is asked about the whole molecule
    explanation = model.explain("*c1ccccc1C(=O)O")
    assert "placeholder (*)" in explanation.domain_reason
    assert 0 < explanation.probability < 1
    assert "<svg" in explanation.draw()


def test_a_value_between_the_limits_is_at_the_edge() -> None:
    usual = Limits.of(np.linspace(0, 1, 101))
    assert usual == pytest.approx((0.05, 0.01))
    assert [usual.judge(value) for value in (0.06, 0.05, 0.03, 0.01, 0.005)] == [
        *("inside", "inside", "edge", "edge", "outside")
    ]


def test_damaged_entries_are_refused(model: GDLNNClassifier) -> None:
    entry = json.loads(json.dumps(model.training_.domain.to_json()))
    given = model.programs_, model.training_.domain.values, model.schema_
    again = Domain.from_json(entry, *given)
    assert again.to_json() == model.training_.domain.to_json()
    for change in ({"columns": [[99], []]}, {"surroundings": entry["surroundings"][::-1]}):
        with pytest.raises((ModelError, ValueError)):
            Domain.from_json({**entry, **change}, *given)
