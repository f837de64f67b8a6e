"""Explanations of fitted models: what they say, that it holds, how they are kept, and bad input."""

import copy
import json
from typing import Any

import numpy as np
import pytest

from gdlnn import GDLNNClassifier, Graph, GraphDataset
from gdlnn.errors import ExplanationError, ModelError
from gdlnn.explain import Explanation, counterfactual, explain, explain_model
from gdlnn.model.threshold import Decision
from reference.explain_models import motif_data, motif_model, motif_pl4xgl

TRAIN, TEST = motif_data()
TECHNIQUES = ("lime", "kernel_shap")


@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("pooled", [False, True])
def test_the_subgraph_keeps_every_important_program_and_no_node_too_many(
    technique: str, pooled: bool
) -> None:
    model = motif_model("mlp", pooled)
    found = model.explain(TEST.graphs[:6], technique=technique)
    predicted, chances = model.predict(TEST.graphs[:6]), model.predict_proba(TEST.graphs[:6])
    for row, e in enumerate(found):
        assert e.prediction == e.target == predicted[row]
        assert e.probability == pytest.approx(chances[row].max())
        assert len(e.reasons) <= 5
        weights = [abs(term.weight) for term in e.reasons]
        assert weights == sorted(weights, reverse=True)
        for term in e.reasons:
            assert term.program == model.programs_[term.column].program
            assert bool(term.places) == term.program.matches(e.graph)
            assert not term.places or term.program.matches(e.subgraph)
            assert set((term.witness or {}).values()) <= set(e.nodes)
        held = [term.program for term in e.reasons if term.places]
        for node in e.nodes:
            rest = e.graph.subgraph([v for v in e.nodes if v != node])
            assert not all(p.matches(rest) for p in held)
        assert e.edges == tuple(map(tuple, e.graph.edges[e.edge_mask].tolist()))
        assert np.flatnonzero(e.node_mask).tolist() == list(e.nodes)
        assert e.subgraph.n_edges == len(e.edges)


def test_one_graph_and_a_list_and_again() -> None:
    model = motif_model()
    together = model.explain(TEST.graphs[:4], random_state=1)
    assert isinstance(together, list)
    alone = model.explain(TEST.graphs[2], random_state=1)
    assert isinstance(alone, Explanation)
    assert alone.nodes == together[2].nodes
    assert [term.column for term in alone.reasons] == [term.column for term in together[2].reasons]
    weights = [term.weight for term in together[2].reasons]
    assert [term.weight for term in alone.reasons] == pytest.approx(weights, rel=1e-9)
    assert model.explain(TEST.graphs[:4], random_state=1) == together
    assert model.explain([]) == []
    assert explain(model, TEST[:2]) == explain(model, TEST.graphs[:2])


def test_counterfactuals_flip_and_are_minimal() -> None:
    for model in (motif_model(), motif_model(pooled=True)):
        n_found = 0
        for graph in TEST.graphs[:5]:
            found = counterfactual(model, graph)
            if found is None:
                continue
            n_found += 1
            old = model.predict([graph])[0]
            assert found.prediction == old
            assert model.predict([found.rest])[0] == found.new_prediction != old
            assert found.rest.n_nodes == graph.n_nodes - len(found.nodes)
            for node in found.nodes:
                kept = [v for v in range(graph.n_nodes) if v not in found.nodes or v == node]
                assert len(found.nodes) == 1 or model.predict([graph.subgraph(kept)])[0] == old
        assert n_found >= 2
        assert counterfactual(model, graph) == counterfactual(model, graph)
    with pytest.raises(ExplanationError, match="max_nodes: expected at least 1, got 0"):
        counterfactual(model, TEST.graphs[0], max_nodes=0)


class Rare:
    """A head whose second class is never likely: the more programs match, the less unlikely it is."""

    def predict_proba(self, table: Any) -> Any:
        chance = 0.45 * table.mean(axis=1)
        return np.stack([1 - chance, chance], axis=1)


def test_a_counterfactual_of_a_rare_class_flips_at_its_threshold() -> None:
    model = copy.copy(motif_model())
    model.head_ = Rare()
    chances = model.predict_proba(TEST)[:, 1]
    model.decision_ = Decision(1, 0.01, "given")
    for row in np.argsort(-chances)[:4].tolist():
        found = counterfactual(model, TEST.graphs[row])
        assert len(found.nodes) > 1
        assert (found.prediction, found.new_prediction) == (1, 0)
        assert found.new_probability > 1 - model.decision_.threshold
        assert model.predict([found.rest])[0] == 0


def test_counterfactuals_where_the_model_adds_structure_features() -> None:
    """Degrees and rings stay those of the whole graph when nodes are removed."""
    ring = [Graph([[1.0]] * 6, [(i, (i + 1) % 6) for i in range(6)]) for _ in range(30)]
    chain = [Graph([[1.0]] * 6, [(i, i + 1) for i in range(5)]) for _ in range(30)]
    model = GDLNNClassifier("neighborhoods", "linear", structure=True, pooled=False, verbose=False)
    model.fit(GraphDataset([*ring, *chain], [0] * 30 + [1] * 30))
    found = [counterfactual(model, graph) for graph in (ring[0], chain[0])]
    assert any(found)
    for one in found:
        if one is not None:
            assert one.graph.node_features.shape[1] > 1
            assert one.rest.node_features.shape[1] == one.graph.node_features.shape[1]
            assert model.predict([one.rest])[0] == one.new_prediction != one.prediction


def test_global_explanations() -> None:
    model = motif_model()
    found = explain_model(model, TEST)
    assert set(found.classes) == {0, 1}
    y, explained = np.asarray(TEST.y), model.explain(TEST)
    for label, item in found.classes.items():
        assert item.n_graphs == (y == label).sum()
        assert item.places
        covered: set[int] = set()
        for place in item.places:
            named = [
                row
                for row, e in enumerate(explained)
                if any(reason.name == place.name and reason.label == label for reason in e.listed)
            ]
            assert place.n_graphs == len(named)
            assert place.precision == pytest.approx(np.mean(y[named] == label))
            low, high = place.precision_interval
            assert low <= place.precision <= high + 1e-12
            covered |= set(named)
            for example in place.examples:
                assert example.row in named
                assert example.reason in explained[example.row].reasons
        assert set(item.uncovered) == set(np.flatnonzero(y == label).tolist()) - covered
    assert "house: " in found.describe()
    assert "<svg" in found.to_html()
    assert json.loads(json.dumps(found.to_json()))["n_graphs"] == 20


def test_a_global_explanation_without_labels_counts_predictions() -> None:
    model = motif_model()
    found = explain_model(model, TEST.graphs)
    assert not found.labeled
    assert "predicted graphs (" in found.describe()
    counts = {label: item.n_graphs for label, item in found.classes.items()}
    predicted = model.predict(TEST).tolist()
    assert counts == {label: predicted.count(label) for label in (0, 1)}
    with pytest.raises(ExplanationError, match="expected 20 labels"):
        explain_model(model, TEST, [0, 1])
    with pytest.raises(ExplanationError, match="max_places"):
        explain_model(model, TEST, max_places=0)


def test_models_that_count_are_explained_by_contributions_alone() -> None:
    model = motif_model(activation="count")
    found = model.explain(TEST.graphs[0])
    assert found.node_scores.sum() == pytest.approx(found.contributions.added)
    for technique in ("lime", "kernel_shap"):
        with pytest.raises(ExplanationError, match=f"technique '{technique}': .* counts matches"):
            model.explain(TEST.graphs[0], technique)


def test_explanations_as_json() -> None:
    for e in [*motif_model().explain(TEST.graphs[:2]), *explain(motif_pl4xgl(), TEST.graphs[:1])]:
        values = json.loads(json.dumps(e.to_json()))
        assert values["prediction"] == e.prediction
        assert [one["weight"] for one in values["reasons"]] == [reason.weight for reason in e.reasons]
        assert values["nodes"] == list(e.nodes)
        assert (values["domain"], values["domain_reason"]) == (e.domain, e.domain_reason)


def test_a_graph_outside_the_domain_is_said_to_be() -> None:
    strange = Graph([[1.0]] * 12, [(i, j) for i in range(12) for j in range(i)])
    found = motif_model().explain(strange)
    assert found.domain == "outside"
    assert f"outside what was learned: {found.domain_reason}" in found.describe().splitlines()[0]
    assert found.to_json()["domain"] == "outside"


def test_graphs_that_are_out_of_the_ordinary() -> None:
    model = motif_model()
    empty = model.explain(Graph(np.zeros((0, 1)), []))
    assert empty.is_empty
    assert "nothing here speaks for it" in empty.describe()
    assert empty.draw().startswith("<svg")
    many = model.explain(TEST.graphs[0], "lime", n_reasons=10_000)
    assert len(many.reasons) <= len(model.programs_)
    assert len(many.reasons) > 5
    unnamed = Graph(TEST.graphs[0].node_features, TEST.graphs[0].edges)
    assert model.explain(unnamed).schema == model.schema_


def test_bad_input_is_refused() -> None:
    model, graph = motif_model(), TEST.graphs[0]
    with pytest.raises(ExplanationError, match="technique: expected one of contribution"):
        model.explain(graph, technique="nothing")
    with pytest.raises(ExplanationError, match="class_label: expected one of the classes 0, 1, got 7"):
        model.explain(graph, class_label=7)
    with pytest.raises(ModelError, match=r"graph 0: expected 1 node feature\(s\), as in training, got 2"):
        model.explain(Graph([[1.0, 2.0]], []))
    with pytest.raises(ExplanationError, match="graphs: item 1: expected a Graph, got str"):
        model.explain([graph, "graph"])
    with pytest.raises(ExplanationError, match="a Graph, a list of graphs or a GraphDataset, got int"):
        model.explain(3)
    with pytest.raises(ExplanationError, match=r"model: expected a fitted GDLNNClassifier, got a str"):
        explain("model", graph)
