"""Graphs are represented once: how often predicting, explaining, reporting and serving match programs."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gdlnn.explain import explain_model
from gdlnn.matching import ProgramPlan
from gdlnn.report import ReportOptions, build_report
from gdlnn.server.answers import Answers
from gdlnn.server.bodies import ExplainBody
from gdlnn.server.limits import Limits
from reference.explain_models import motif_data, motif_model

TRAIN, TEST = motif_data()


class Matchings:
    """Counts how often all programs of a model are matched against whole graphs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.graphs = 0

        whole = ProgramPlan.match

        def counted(plan: ProgramPlan, graphs: Any, *options: Any, **named: Any) -> Any:
            self.graphs += sum(graph.n_nodes == TEST.graphs[0].n_nodes for graph in graphs.graphs)
            return whole(plan, graphs, *options, **named)

        monkeypatch.setattr(ProgramPlan, "match", counted)


@pytest.fixture
def matchings(monkeypatch: pytest.MonkeyPatch) -> Matchings:
    return Matchings(monkeypatch)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.predict(TEST),
        lambda model: model.explain(TEST),
        lambda model: model.explain(TEST, "lime", 3),
        lambda model: explain_model(model, TEST),
        lambda model: build_report(model, TEST, ReportOptions(max_counterfactuals=0)),
    ],
    ids=["predict", "explain", "lime", "explain_model", "report"],
)
def test_every_graph_is_matched_once(ask: Callable[[Any], Any], matchings: Matchings) -> None:
    model = motif_model()
    matchings.graphs = 0
    ask(model)
    assert matchings.graphs == len(TEST)


def test_the_server_matches_a_graph_once(matchings: Matchings) -> None:
    answers = Answers({"": motif_model()}, Limits())
    matchings.graphs = 0
    graph = TEST.graphs[0]
    asked = {"nodes": graph.node_features.tolist(), "edges": graph.edges.tolist()}
    answers.predict(json.dumps({"graphs": [asked]}).encode())
    assert matchings.graphs == 1
    body = ExplainBody.model_validate({"graph": asked, "counterfactual": False})
    answers.explain(json.dumps({"graph": asked}).encode(), **body.model_dump(exclude={"smiles", "graph"}))
    assert matchings.graphs == 2


def test_a_representation_is_taken_apart() -> None:
    model = motif_model()
    seen = model.represent(TEST)
    some = seen.take([3, 1])
    assert some.graphs == [TEST.graphs[3], TEST.graphs[1]]
    np.testing.assert_array_equal(some.probabilities, seen.probabilities[[3, 1]])
    np.testing.assert_array_equal(some.labels, model.predict([TEST.graphs[3], TEST.graphs[1]]))
    assert len(model.represent([])) == 0
