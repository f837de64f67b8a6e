"""Contributions: they add up, say which side they are on, and go down to nodes and edges."""

import re
from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from gdlnn import Feature, GDLNNClassifier, Graph, GraphDataset, MLPHead, Neighborhoods, Schema
from gdlnn.explain.contribution import contributions_of
from gdlnn.explain.explanation import LEAST_SHOWN
from gdlnn.explain.places import connected_parts
from gdlnn.model.mixture import MixtureHead
from reference.explain_models import motif_data, motif_model

TRAIN, TEST = motif_data()
HEADS = {
    "linear": "linear",
    "mlp": MLPHead(epochs=20),
    "deep": MLPHead(hidden=(16, 8), epochs=20),
    "mixture": MixtureHead(20),
    "forest": RandomForestClassifier(5, random_state=0),
    "logistic": LogisticRegression(),
    "other": GaussianNB(),
}


@cache
def model_with(head: str) -> GDLNNClassifier:
    model = GDLNNClassifier(Neighborhoods(radius=2), HEADS[head], pooled=False, verbose=False)
    return model.fit(TRAIN)


@pytest.mark.parametrize("head", list(HEADS))
def test_contributions_add_up_to_the_probability(head: str) -> None:
    model = model_with(head)
    representation = model.represent(TEST.graphs[:8])
    targets = representation.codes
    found = contributions_of(model, representation, targets)
    expected = representation.probabilities[np.arange(8), targets]
    sums = found.baseline + found.weights.sum(axis=1) + found.others.sum(axis=1)
    assert sums == pytest.approx(expected, abs=1e-6)
    assert not found.weights[~representation.matches].any()


def test_lines_add_up_to_the_probability() -> None:
    for e in model_with("mixture").explain(TEST.graphs[:8]):
        found = e.contributions
        assert found is not None
        total = found.baseline + found.added + found.others + found.left
        assert total == pytest.approx(e.target_probability, abs=1e-9)
        assert sum(found.scores) == pytest.approx(found.added, abs=1e-9)
        assert len(e.describe().splitlines()) <= 9


def test_scores_of_nodes_add_up() -> None:
    for e in model_with("mlp").explain(TEST.graphs):
        assert e.contributions is not None
        assert e.node_scores.sum() == pytest.approx(e.contributions.added)


def test_pooled_features_are_terms_with_a_name_and_a_value() -> None:
    model = GDLNNClassifier(Neighborhoods(radius=1), MixtureHead(20), verbose=False).fit(TRAIN)
    for e in model.explain(TEST.graphs):
        assert e.contributions is not None
        assert dict(e.contributions.pooled).keys() & {f"{e.graph.n_nodes} nodes", f"{e.graph.n_edges} edges"}
        total = e.contributions.baseline + e.contributions.added + e.contributions.others
        assert total + e.contributions.left == pytest.approx(e.target_probability, abs=1e-9)
        assert re.search(r"the graph as a whole: \S.* \([+−]\d+\)$", e.describe(), re.MULTILINE)


def test_for_and_against_and_nothing_else_is_highlighted() -> None:
    for e in motif_model().explain(TEST.graphs):
        assert all(term.places for term in e.reasons)
        assert all(reason.weight > 0 for reason in e.supporting)
        assert all(reason.weight < 0 for reason in e.opposing)
        assert len(e.supporting) + len(e.opposing) == len(e.reasons)
        needed = {node for reason in e.supporting for node in reason.witness.values()}
        assert set(e.nodes) == needed


def test_two_parts_that_decide_together_are_both_shown() -> None:
    """Label 1: a red and a green node, apart; one of them alone is label 0."""
    schema = Schema(node=(Feature("color", "nominal", {0.0: "grey", 1.0: "red", 2.0: "green"}),))
    rng = np.random.default_rng(0)
    graphs, labels = [], []
    for i in range(160):
        colors = np.zeros((12, 1))
        red, green = i % 2 == 0, i // 2 % 2 == 0
        colors[rng.integers(0, 4), 0] = 1.0 if red else 0.0
        colors[rng.integers(8, 12), 0] = 2.0 if green else 0.0
        graphs.append(Graph(colors, [[j, j + 1] for j in range(11)], schema=schema))
        labels.append(int(red and green))
    data = GraphDataset(graphs, labels, schema)
    model = GDLNNClassifier(Neighborhoods(radius=0), verbose=False, structure=False).fit(data[:120])
    assert model.score(data[120:]) == 1
    e = model.explain(data.graphs[120])
    marked = np.flatnonzero(data.graphs[120].node_features[:, 0])
    assert len(marked) == 2
    assert set(e.nodes) == set(marked.tolist())
    assert set(np.argsort(-e.node_scores)[:2].tolist()) == set(marked.tolist())


def test_places_are_connected_and_carry_the_sum_of_their_nodes() -> None:
    for e in model_with("mixture").explain(TEST.graphs):
        for term in e.reasons:
            (nodes,) = term.places
            assert connected_parts(e.graph, nodes) == [nodes]
            assert term.weight == pytest.approx(e.node_scores[list(nodes)].sum())
            assert term.name
            assert all(abs(one.weight) <= abs(term.terms[0].weight) for one in term.terms)
            assert all(abs(one.weight) >= LEAST_SHOWN for one in term.terms)
