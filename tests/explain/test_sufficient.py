"""Sufficient subgraphs: the model is asked again, and nothing in them can be left out for nothing."""

from typing import Any

import numpy as np
import pytest

from gdlnn import Graph, load_model
from gdlnn.errors import ExplanationError
from gdlnn.explain import explain
from gdlnn.explain.counterfactual import moves
from gdlnn.explain.places import connected_parts, growing_parts
from golden.cases import model_file
from reference.explain_models import motif_data, motif_model

TRAIN, TEST = motif_data()


def crowds() -> list[Graph]:
    """Return graphs like those of a golden model, but larger: its programs have several places in them."""
    rng = np.random.default_rng(5)
    graphs = []
    for i in range(60):
        pairs = np.argwhere((rng.random((12, 12)) < 0.15) & ~np.eye(12, dtype=bool))
        nodes = np.stack([rng.integers(0, 2, 12), rng.integers(1, 9, 12)], axis=1)
        amounts = (rng.random((len(pairs), 1)) < (0.5 if i % 2 else 0.05)).astype(float)
        graphs.append(Graph(nodes, pairs, amounts, directed=True))
    return graphs


def test_a_sufficient_subgraph_gets_the_class_by_itself() -> None:
    for model, graphs in ((motif_model(), TEST.graphs), (load_model(model_file("payments-paper")), crowds())):
        n_checked = 0
        for label in model.classes_.tolist():
            for e in explain(model, graphs, n_reasons="smallest", class_label=label):
                assert e.nodes == tuple(sorted(node for reason in e.reasons for node in reason.nodes))
                if not e.nodes:
                    continue
                n_checked += 1
                assert model.predict([e.subgraph])[0] == label
                assert [list(reason.nodes) for reason in e.reasons] == [
                    list(part) for reason in e.reasons for part in connected_parts(e.graph, reason.nodes)
                ]
                assert all(reason.name for reason in e.reasons)
        assert n_checked >= 10


def test_what_adds_least_is_dropped_from_a_sufficient_subgraph() -> None:
    model = motif_model()
    for e in explain(model, TEST.graphs, n_reasons="smallest"):
        whole = [part for part in growing_parts(e.graph, e.node_scores) if set(e.nodes) <= set(part)]
        assert not e.nodes or whole  # it is a part of one that was tried
        assert len(e.nodes) < e.graph.n_nodes


def test_parts_grow_from_places_to_the_whole_graph() -> None:
    for e in motif_model().explain(TEST.graphs):
        parts = growing_parts(e.graph, e.node_scores)
        assert [len(part) for part in parts] == sorted(len(part) for part in parts)
        assert {reason.nodes for reason in e.supporting} <= {tuple(sorted(part)) for part in parts}
        assert len(parts[-1]) >= e.graph.n_nodes - 1


def test_a_part_is_not_enough_only_because_everything_is() -> None:
    """Where the baseline alone gives the class, a part must move the prediction by itself."""
    assert moves(0.6, 0.95, 0.3)
    assert not moves(0.8, 0.95, 0.8)  # what the model says without any program
    assert not moves(0.84, 0.99, 0.8)  # a little more is no reason either
    assert moves(0.97, 0.99, 0.8)
    model = motif_model()
    for e in model.explain(TEST.graphs, n_reasons="smallest"):
        if e.contributions.baseline > 0.5 and e.nodes:
            part = float(model.predict_proba([e.subgraph])[0].max())
            assert part > e.contributions.baseline


def test_a_graph_without_nodes_has_an_empty_explanation() -> None:
    found = explain(motif_model(), TEST.graphs[0].subgraph([]), n_reasons="smallest")
    assert found.is_empty
    assert found.reasons == ()


def test_only_contributions_have_a_smallest_subgraph() -> None:
    with pytest.raises(ExplanationError, match="'smallest', which only technique 'contribution' has"):
        explain(motif_model(), TEST.graphs[0], "lime", "smallest")


@pytest.mark.parametrize("wrong", [0, 1.5, float("nan"), float("inf"), "few", None])
def test_a_wrong_number_of_reasons_is_refused(wrong: Any) -> None:
    with pytest.raises(ExplanationError, match="n_reasons: expected a whole number of at least 1"):
        explain(motif_model(), TEST.graphs[0], n_reasons=wrong)
