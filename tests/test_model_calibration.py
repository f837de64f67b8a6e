"""Calibration on held-out rows, and thresholds chosen on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from gdlnn.model.calibration import Calibration, choose_threshold, cross_fitted, rule_for

from gdlnn import GDLNNClassifier, Graph, GraphDataset, MLPHead, ModelError, Neighborhoods, load_model

if TYPE_CHECKING:
    from pathlib import Path


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


def test_a_temperature_is_recovered() -> None:
    rng = np.random.default_rng(0)
    odds = rng.normal(0, 2, 4000)
    codes = (rng.random(4000) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    too_sure = 1 / (1 + np.exp(-(2.5 * odds + 0.5)))
    found = Calibration.fit(np.stack([1 - too_sure, too_sure], axis=1), codes)
    assert found.scale == pytest.approx(1 / 2.5, rel=0.1)
    assert found.offset == pytest.approx(-0.5 / 2.5, abs=0.1)


def test_calibration_keeps_the_order_and_the_identity_keeps_the_bits() -> None:
    said = np.random.default_rng(0).dirichlet([1, 1], 50)
    moved = Calibration(0.4, 0.3).apply(said)
    assert np.array_equal(np.argsort(said[:, 1]), np.argsort(moved[:, 1]))
    assert np.allclose(moved.sum(axis=1), 1)
    assert Calibration().apply(said) is said


def test_with_several_classes_only_the_temperature_is_fitted() -> None:
    rng = np.random.default_rng(1)
    said = rng.dirichlet([0.3, 0.3, 0.3], 600)
    codes = np.array([rng.choice(3, p=0.5 * row + 0.5 / 3) for row in said])
    found = Calibration.fit(said, codes)
    assert found.scale < 0.9
    assert found.offset == 0


def test_few_rows_of_a_class_change_nothing() -> None:
    said = np.full((20, 2), 0.5)
    assert Calibration.fit(said, np.array([0] * 16 + [1] * 4)) == Calibration()


@pytest.mark.parametrize("rule", ["balanced-accuracy", "recall=0.8"])
def test_thresholds_are_the_best_there_are(rule: str) -> None:
    from sklearn.metrics import balanced_accuracy_score, recall_score

    rng = np.random.default_rng(3)
    codes = (rng.random(300) < 0.15).astype(np.int64)
    p = np.clip(rng.normal(0.2 + 0.25 * codes, 0.12), 0.01, 0.99)
    found = choose_threshold(rule, np.stack([1 - p, p], axis=1), codes, [255, 45])
    assert found is not None
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


def test_auto_is_the_middle_unless_a_class_is_rare() -> None:
    assert rule_for("auto", [0.6, 0.4]) == 0.5
    assert rule_for("auto", [0.75, 0.25]) == "balanced-accuracy"
    assert rule_for("auto", [0.2, 0.3, 0.5]) == 0.5
    assert rule_for("recall=0.9", [0.6, 0.4]) == "recall=0.9"


@pytest.mark.parametrize("decide", ["often", "f1", "recall=2", 1.5, True, None, "recall="])
def test_other_rules_are_refused(decide: object) -> None:
    with pytest.raises(ModelError, match=r"decide: expected auto, balanced-accuracy, recall=0\.9"):
        GDLNNClassifier("neighborhoods", threshold=decide, verbose=False).fit(ring_or_chain(40))  # type: ignore[arg-type]


def test_each_row_is_predicted_by_a_head_that_did_not_see_it() -> None:
    class Memory:
        def fit(self, X: np.ndarray, y: np.ndarray) -> Memory:
            self.known = {row.tobytes(): int(label) for row, label in zip(X, y, strict=True)}
            return self

        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            return np.array([np.eye(2)[self.known.get(row.tobytes(), 0)] for row in X])

    table, codes = np.eye(8), np.array([0, 1] * 4)
    folds = [np.array([0, 1]), np.array([2, 3]), np.array([4, 5]), np.array([6, 7])]
    said = cross_fitted(Memory, table, codes, folds, lambda rows: np.ones(8, dtype=bool))
    assert said is not None
    assert (said[:, 0] == 1).all()  # nothing was remembered of any row


def test_a_rare_class_gets_a_threshold_that_the_file_keeps(tmp_path: Path) -> None:
    data = ring_or_chain(300, rings=0.1)
    head = MLPHead(epochs=15, ensemble_size=2)
    model = GDLNNClassifier(Neighborhoods(radius=1), head, verbose=False).fit(data)
    plain = GDLNNClassifier(Neighborhoods(radius=1), head, threshold=0.5, calibrate=False, verbose=False)
    plain.fit(data)
    assert model.decision_ is not None
    assert not model.calibration_.is_identity
    assert (model.predict(data) == 1).sum() > (plain.predict(data) == 1).sum()
    model.save(tmp_path / "m.gdlnn")
    again = load_model(tmp_path / "m.gdlnn")
    assert (again.calibration_, again.decision_) == (model.calibration_, model.decision_)
    assert np.array_equal(again.predict_proba(data), model.predict_proba(data))
    assert np.array_equal(again.predict(data), model.predict(data))
    spread = again.represent(data).uncertainty
    assert all(one is not None and 0 <= one <= 0.5 for one in spread)


def test_weights_of_rows_reach_the_calibration() -> None:
    """Rows of weight 0 change neither the cross-fitted heads nor the calibration."""
    said, codes = np.tile([[0.3, 0.7], [0.8, 0.2]], (20, 1)), np.array([1, 0] * 20)
    wrong = np.concatenate([said, said]), np.concatenate([codes, 1 - codes])
    weights = np.repeat([1.0, 0.0], 40)
    plain, weighted = Calibration.fit(said, codes), Calibration.fit(*wrong, row_weights=weights)
    assert Calibration.fit(*wrong).scale < plain.scale
    assert weighted.scale > plain.scale  # as many right rows, counted twice

    seen = []

    class Counting:
        def fit(self, X: np.ndarray, y: np.ndarray, row_weights: np.ndarray) -> Counting:
            seen.append((len(X), len(y), row_weights.tolist()))
            return self

        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            return np.full((len(X), 2), 0.5)

    folds = [np.array([0, 1]), np.array([2, 3])]
    cross_fitted(
        Counting,
        np.eye(4),
        np.array([0, 1, 0, 1]),
        folds,
        lambda rows: np.ones(4, dtype=bool),
        lambda rows: {"row_weights": rows / 10},
    )
    assert seen == [(2, 2, [0.2, 0.3]), (2, 2, [0.0, 0.1])]
