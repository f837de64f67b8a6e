"""Thresholds: one half unless asked, chosen on held-out graphs, and kept by the model file."""

from pathlib import Path

import numpy as np
import pytest

from gdlnn import GDLNNClassifier, Graph, GraphDataset, Neighborhoods, load_model
from gdlnn.errors import ModelError
from gdlnn.model.mixture import MixtureHead
from gdlnn.model.threshold import choose_threshold


def ring_or_chain(n: int, rings: float = 0.5, seed: int = 0) -> GraphDataset:
    """Return graphs of six nodes, rings of class 1 and chains of class 0; a tenth have the other label."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < rings).astype(np.int64)
    chain = [(i, i + 1) for i in range(5)]
    graphs = []
    for ring in y:
        nodes = rng.integers(0, 3, (6, 1)).astype(float)
        graphs.append(Graph(nodes, [*chain, (0, 5)] if ring else chain))
    return GraphDataset(graphs, np.where(rng.random(n) < 0.1, 1 - y, y))


@pytest.mark.parametrize("rule", ["balanced-accuracy", "recall=0.8"])
def test_thresholds_are_the_best_there_are(rule: str) -> None:
    from sklearn.metrics import balanced_accuracy_score, recall_score

    rng = np.random.default_rng(3)
    codes = (rng.random(300) < 0.15).astype(np.int64)
    p = np.clip(rng.normal(0.2 + 0.25 * codes, 0.12), 0.01, 0.99)
    found = choose_threshold(rule, np.stack([1 - p, p], axis=1), codes, 1, 0.0)
    assert found.code == 1
    own = found.codes(np.stack([1 - p, p], axis=1))
    cuts = [(p >= cut).astype(np.int64) for cut in np.unique(p)]
    if rule == "balanced-accuracy":
        best = max(balanced_accuracy_score(codes, cut) for cut in cuts)
        assert balanced_accuracy_score(codes, own) == pytest.approx(best)
    else:
        assert recall_score(codes, own) >= 0.8
        exact = [(cut[codes == 0] == 0).mean() for cut in cuts if recall_score(codes, cut) >= 0.8]
        assert (own[codes == 0] == 0).mean() == pytest.approx(max(exact))


@pytest.mark.parametrize("threshold", ["often", "f1", "recall=2", 1.5, True, None, "recall=", "auto"])
def test_other_rules_are_refused(threshold: object) -> None:
    with pytest.raises(ModelError, match=r"threshold: expected balanced-accuracy, recall=0\.9"):
        GDLNNClassifier(threshold=threshold, verbose=False).fit(ring_or_chain(40))  # type: ignore[arg-type]


def test_too_few_graphs_of_a_class_are_an_error() -> None:
    chances = np.full((60, 2), 0.5)
    with pytest.raises(ModelError, match="got 10; give a number"):
        choose_threshold("balanced-accuracy", chances, np.repeat([0, 1], [50, 10]), 1, 0.0)


def test_a_graph_without_any_pattern_is_not_called_rare() -> None:
    p = np.tile([0.05, 0.2], 30)
    found = choose_threshold("recall=0.9", np.stack([1 - p, p], axis=1), np.tile([1, 0], 30), 1, 0.1)
    assert found.threshold > 0.1


@pytest.mark.parametrize("head", [MixtureHead(10), "linear"])
def test_a_chosen_threshold_is_kept_by_the_file(tmp_path: Path, head: object) -> None:
    data = ring_or_chain(200, rings=0.15)
    plain = GDLNNClassifier(Neighborhoods(radius=1), head, verbose=False).fit(data)
    model = GDLNNClassifier(Neighborhoods(radius=1), head, threshold="balanced-accuracy", verbose=False).fit(
        data
    )
    assert plain.decision_ is None
    assert model.decision_ is not None
    assert (model.predict(data) == 1).sum() >= (plain.predict(data) == 1).sum()
    model.save(tmp_path / "m.gdlnn")
    again = load_model(tmp_path / "m.gdlnn")
    assert again.decision_ == model.decision_
    assert np.array_equal(again.predict_proba(data), model.predict_proba(data))
    assert np.array_equal(again.predict(data), model.predict(data))
