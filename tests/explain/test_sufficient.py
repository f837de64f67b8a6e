"""Explanations that are enough: compared with trying every program by itself."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gdlnn import Graph, load_model
from gdlnn.errors import ExplanationError
from gdlnn.explain import Lime, explain
from gdlnn.explain.context import Attribution
from gdlnn.explain.explainer import Explainer, make_technique
from gdlnn.explain.subgraph import shrink
from gdlnn.explain.sufficient import _Search
from gdlnn.graphs.identity import canonical_order
from golden.cases import model_file
from reference.explain_models import motif_data, motif_model

if TYPE_CHECKING:
    import numpy.typing as npt

    from gdlnn.explain.context import Context
    from gdlnn.model import GDLNNClassifier

TRAIN, TEST = motif_data()


def nodes_of(model: GDLNNClassifier, graph: Graph, columns: list[int]) -> tuple[int, ...]:
    programs = [model.programs_[c].program for c in columns]
    return shrink([graph], programs, order=[canonical_order(graph)])[0].nodes


def says(model: GDLNNClassifier, graph: Graph, nodes: tuple[int, ...]) -> Any:
    return model.predict([graph.subgraph(list(nodes))])[0]


def weights_of(model: GDLNNClassifier, graph: Graph, technique: str) -> dict[int, float]:
    """Return the weights that the search for the smallest goes by."""
    seen = model.represent([graph])
    explainer = Explainer(model, make_technique(technique))
    context = explainer.context(seen, seen.codes, 100, matching_only=True)
    (weights,) = explainer.technique.attribute(context).weights
    return {c: float(weights[c]) for c in np.flatnonzero(model.transform([graph])[0]).tolist()}


@pytest.mark.parametrize("technique", ["lime", "kernel_shap"])
def test_the_smallest_is_the_smallest_of_all_programs_that_are_enough(technique: str) -> None:
    model = motif_model()
    n_single = 0
    for e, graph in zip(model.explain(TEST.graphs, technique, "smallest"), TEST.graphs, strict=True):
        alone = model.explain(graph, technique, "smallest")
        assert alone.nodes == e.nodes
        assert [term.column for term in alone.terms] == [term.column for term in e.terms]
        assert all(term.places for term in e.terms)
        # Slow and obvious: every program that matches and speaks for the class, by itself.
        speaking = [column for column, weight in weights_of(model, graph, technique).items() if weight > 0]
        parts = [nodes_of(model, graph, [column]) for column in speaking]
        sizes = [len(nodes) for nodes in parts if says(model, graph, nodes) == e.prediction]
        if sizes:
            n_single += 1
            assert len(e.terms) == 1
            assert len(e.nodes) == min(sizes)
            assert says(model, graph, e.nodes) == e.prediction
            assert e.nodes == nodes_of(model, graph, [term.column for term in e.terms])
    assert n_single >= 10


class Given(Lime):
    """Gives the programs of every graph the same weights."""

    def __init__(self, weights: npt.NDArray[np.float64]) -> None:
        super().__init__()
        self.weights = weights

    def attribute(self, context: Context) -> Attribution:
        return Attribution(np.tile(self.weights, (len(context.values), 1)))


def test_candidates_speak_for_the_class_however_heavy_the_others() -> None:
    model = motif_model()
    graph = TEST.graphs[0]
    matching = np.flatnonzero(model.transform([graph])[0]).tolist()
    weights = np.full(len(model.programs_), -1.0)
    weights[matching[-1]] = 0.5
    (term,) = explain(model, graph, Given(weights), "smallest").terms
    assert term.column == matching[-1]


def test_the_subgraph_that_is_returned_is_one_that_was_found_sufficient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By contributions, whose scores decide which place of a program stays."""
    sufficient: list[int] = []
    singles, together = _Search.singles, _Search.together

    def alone(self: _Search) -> dict[int, list[int]]:
        found = singles(self)
        sufficient[:] = list(found)
        return found

    def several(self: _Search, row: int) -> list[int]:
        found = together(self, row)
        sufficient.extend([row] if found else [])
        return found

    monkeypatch.setattr(_Search, "singles", alone)
    monkeypatch.setattr(_Search, "together", several)
    for model, graphs in ((motif_model(), TEST.graphs), (load_model(model_file("payments-paper")), crowds())):
        n_checked = 0
        for target in model.classes_.tolist():
            found = explain(model, graphs, n_reasons="smallest", class_label=target)
            for e in (found[row] for row in sufficient):
                assert e.nodes or not e.has_reason
                if e.nodes:
                    n_checked += 1
                    assert says(model, e.graph, e.nodes) == target
        assert n_checked >= 10


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


class Both:
    """A head that says 1 where two programs match."""

    def __init__(self, columns: tuple[int, int]) -> None:
        self.columns = columns

    def predict_proba(self, table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        one = table[:, list(self.columns)].all(axis=1).astype(float)
        return np.stack([1 - one, one], axis=1)

    def predict(self, table: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        return np.asarray(self.predict_proba(table).argmax(axis=1))


def two_that_need_each_other(model: GDLNNClassifier) -> tuple[Graph, tuple[int, int]]:
    """Return a graph and two of its programs, neither of which is in the other's subgraph."""
    for graph in TEST.graphs:
        matching = np.flatnonzero(model.transform([graph])[0]).tolist()
        for a in matching:
            for b in matching:
                parts = [graph.subgraph(list(nodes_of(model, graph, [c]))) for c in (a, b)]
                table = model.transform(parts)
                if not table[0, b] and not table[1, a]:
                    return graph, (a, b)
    raise AssertionError("no such pair")


def test_programs_that_are_enough_only_together_are_named_together() -> None:
    model = copy.copy(motif_model())
    graph, pair = two_that_need_each_other(model)
    model.head_ = Both(pair)

    # The two weigh least, so that all others are put beside them first and left out again.
    weights = np.arange(len(model.programs_), 0, -1.0)
    weights[list(pair)] = (0.5, 0.25)
    found = explain(model, graph, Given(weights), "smallest")
    assert says(model, graph, found.nodes) == found.prediction == model.classes_[1]
    table = model.transform([graph.subgraph(list(found.nodes))])[0]
    assert table[list(pair)].all()
    columns = [term.column for term in found.terms]
    for left_out in columns:  # each of them is needed
        fewer = [c for c in columns if c != left_out]
        assert not fewer or says(model, graph, nodes_of(model, graph, fewer)) != found.prediction


def test_where_nothing_is_enough_the_heaviest_are_named() -> None:
    model = copy.copy(motif_model())
    model.head_ = Both((0, 1))
    graph = next(g for g in TEST.graphs if not model.transform([g])[0, :2].all())
    found = explain(model, graph, "lime", "smallest", class_label=model.classes_[1])
    assert 1 <= len(found.terms) <= 10
    assert all(term.places for term in found.terms)


@pytest.mark.parametrize("wrong", [0, 1.5, float("nan"), float("inf"), "few", None])
def test_a_wrong_number_of_programs_is_told(wrong: Any) -> None:
    with pytest.raises(ExplanationError, match="n_reasons: expected a whole number of at least 1"):
        explain(motif_model(), TEST.graphs[0], n_reasons=wrong)
