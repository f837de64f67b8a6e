"""Contributions: they add up, say which side they are on, and go down to nodes and edges."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from gdlnn import Explanation, Feature, GDLNNClassifier, Graph, GraphDataset, MLPHead, Neighborhoods, Schema
from gdlnn.explain.sufficient import moves
from reference.explain_models import motif_data, motif_model

TRAIN, TEST = motif_data()
HEADS = {
    "linear": "linear",
    "mlp": MLPHead(epochs=20, ensemble_size=3),
    "deep": MLPHead(hidden=(16, 8), epochs=20, ensemble_size=1, linear_share=0),
    "forest": RandomForestClassifier(5, random_state=0),
}


def log_odds(chance: float) -> float:
    return float(np.log(chance) - np.log1p(-chance))


@cache
def model_with(head: str) -> GDLNNClassifier:
    model = GDLNNClassifier(Neighborhoods(radius=2), HEADS[head], pooled=False, verbose=False)
    return model.fit(TRAIN)


@pytest.mark.parametrize("head", list(HEADS))
def test_contributions_add_up_to_the_log_odds_beyond_the_baseline(head: str) -> None:
    model = model_with(head)
    found = model.explain(TEST.graphs[:8], n_features=10_000)
    zero = np.zeros((1, len(model.programs_)))
    for e in found:
        assert e.contributions is not None
        target = model.classes_.tolist().index(e.target)
        chance = float(np.clip(model.head_probabilities(zero)[0, target], 1e-3, 1 - 1e-3))
        if head == "forest":  # says 0 and 1, which are taken as a thousandth
            expected = log_odds(float(np.clip(e.target_probability, 1e-3, 1 - 1e-3))) - log_odds(chance)
        else:
            assert e.contributions.baseline == pytest.approx(
                model.head_probabilities(zero)[0, target], abs=1e-5
            )
            expected = log_odds(e.target_probability) - log_odds(e.contributions.baseline)
        within = 1e-4 if head == "linear" else 0.015 * max(1, abs(expected))
        assert e.contributions.added == pytest.approx(expected, abs=within)


def test_a_linear_head_is_explained_exactly() -> None:
    model = model_with("linear")
    for e in model.explain(TEST.graphs, n_features=10_000):
        coef = model.calibration_.scale * model.head_.coef_
        target = model.classes_.tolist().index(e.target)
        for term in e.terms:
            expected = coef[target, term.column] - coef[1 - target, term.column]
            assert term.weight == pytest.approx(expected, abs=1e-6)


def test_scores_of_nodes_and_edges_add_up() -> None:
    for e in model_with("mlp").explain(TEST.graphs):
        assert e.contributions is not None
        assert e.node_scores.sum() == pytest.approx(e.contributions.added)
        assert len(e.contributions.edge_scores) == e.graph.n_edges


def test_pooled_features_are_an_entry_of_their_own() -> None:
    model = GDLNNClassifier(Neighborhoods(radius=1), MLPHead(epochs=20), pooled=True, verbose=False).fit(
        TRAIN
    )
    for e in model.explain(TEST.graphs):
        assert e.contributions is not None
        expected = log_odds(e.target_probability) - log_odds(e.contributions.baseline)
        assert e.contributions.added + e.contributions.others == pytest.approx(
            expected, abs=0.015 * max(1, abs(expected))
        )


def test_for_and_against_and_nothing_else_is_highlighted() -> None:
    for e in motif_model().explain(TEST.graphs):
        assert all(term.places for term in e.terms)
        assert all(reason.weight > 0 for reason in e.supporting)
        assert all(reason.weight < 0 for reason in e.opposing)
        assert len(e.supporting) + len(e.opposing) == len(e.terms)
        needed = {node for reason in e.supporting for node in reason.witness.values()}
        if e.has_reason:
            assert set(e.nodes) <= needed
            assert bool(e.nodes) == bool(e.supporting)
        else:
            assert e.nodes == ()
        assert Explanation.from_json(e.to_json()) == e


def test_two_parts_that_decide_together_are_both_shown() -> None:
    """Label 1: a red and a green node, apart; one of them alone is label 0."""
    schema = Schema(node=(Feature("colour", "nominal", {0.0: "grey", 1.0: "red", 2.0: "green"}),))
    rng = np.random.default_rng(0)
    graphs, labels = [], []
    for i in range(160):
        colours = np.zeros((12, 1))
        red, green = i % 2 == 0, i // 2 % 2 == 0
        colours[rng.integers(0, 4), 0] = 1.0 if red else 0.0
        colours[rng.integers(8, 12), 0] = 2.0 if green else 0.0
        graphs.append(Graph(colours, [[j, j + 1] for j in range(11)], schema=schema))
        labels.append(int(red and green))
    data = GraphDataset(graphs, labels, schema)
    model = GDLNNClassifier(Neighborhoods(radius=0), verbose=False, structure=False).fit(data[:120])
    assert model.score(data[120:]) == 1
    e = model.explain(data.graphs[120])
    marked = np.flatnonzero(data.graphs[120].node_features[:, 0])
    assert len(marked) == 2
    assert set(e.nodes) == set(marked.tolist())
    assert set(np.argsort(-e.node_scores)[:2].tolist()) == set(marked.tolist())


def test_a_part_is_not_enough_only_because_everything_is() -> None:
    """Where the baseline alone gives the class, a part must move the prediction by itself."""
    assert moves(0.9, 0.95, None)
    assert moves(0.6, 0.95, 0.3)
    assert not moves(0.8, 0.95, 0.8)  # what the model says without any program
    assert not moves(0.84, 0.99, 0.8)  # a little more is no reason either
    assert moves(0.97, 0.99, 0.8)
    model = model_with("mlp")
    for e in model.explain(TEST.graphs, n_features="smallest"):
        assert e.contributions is not None
        if e.contributions.baseline > 0.5 and e.nodes:
            part = float(model.predict_proba([e.subgraph])[0].max())
            assert log_odds(part) - log_odds(e.contributions.baseline) >= 0.5


def test_a_shared_reason_is_told_once_where_it_is() -> None:
    for e in model_with("mlp").explain(TEST.graphs):
        places = [frozenset(reason.witness.values()) for reason in e.supporting]
        assert len(set(places)) == len(places)
        for reason in e.supporting:
            assert e.place_score(reason) == pytest.approx(
                sum(e.node_scores[list(set(reason.witness.values()))])
            )
            assert set(reason.witness.values()) <= set(e.nodes) or not e.has_reason


def test_absent_programs_are_told_apart_where_they_weigh_as_much() -> None:
    model = model_with("linear")
    found = model.explain(TEST.graphs, n_features=10_000)
    for e in found:
        strongest = max([abs(term.weight) for term in e.terms], default=0.0)
        assert all(abs(item.weight) >= max(0.5, strongest) - 1e-9 for item in e.contributions.absent)
        assert not {item.column for item in e.contributions.absent} & {term.column for term in e.terms}
        assert Explanation.from_json(e.to_json()).contributions == e.contributions
    # A program that half of the training graphs have, and that decides, is told in words where it is missing.
    ring = [Graph([[1.0]] * 6, [(i, (i + 1) % 6) for i in range(6)]) for _ in range(30)]
    chain = [Graph([[1.0]] * 6, [(i, i + 1) for i in range(5)]) for _ in range(30)]
    model = GDLNNClassifier("neighborhoods", "linear", structure=True, pooled=False, verbose=False)
    model.fit(GraphDataset([*ring, *chain], [0] * 30 + [1] * 30))
    e = model.explain(Graph([[1.0]] * 2, []), target=1)
    assert "absent, which speaks for it" in e.describe()
    assert e.contributions.absent[0].weight > 0.5


def test_a_sum_that_is_off_is_shown() -> None:
    for head in ("mlp", "linear"):
        assert all(e.missed is None for e in model_with(head).explain(TEST.graphs))
    e = model_with("mlp").explain(TEST.graphs[0])
    assert e.contributions is not None
    off = replace(e, contributions=e.contributions._replace(added=e.contributions.added + 0.5))
    assert off.missed == pytest.approx(-0.5, abs=0.05)
    assert "The contributions miss what the model says by -0.5" in off.describe()
