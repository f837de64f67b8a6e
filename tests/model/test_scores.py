"""Scores with intervals, beside scikit-learn and known coverage."""

import json

import numpy as np
import pytest
from sklearn import metrics

from gdlnn.model.scores import NAMES, _statistics, _times_drawn, score_intervals, wilson


def drawn(n: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, probabilities with ties, and classes."""
    rng = np.random.default_rng(seed)
    shares = np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    y = rng.choice(n_classes, size=n, p=shares)
    raw = rng.random((n, n_classes)).round(1) + 0.7 * np.eye(n_classes)[y] + 0.01
    return y, raw / raw.sum(axis=1, keepdims=True), np.arange(n_classes)


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_scikit_learn(seed: int) -> None:
    y, proba, classes = drawn(200, 2, seed)
    found = score_intervals(y, proba, classes)
    predicted = proba.argmax(axis=1)
    assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(y, proba[:, 1]))
    assert found["rare_class"] == 0
    assert found["pr_auc"] == pytest.approx(metrics.average_precision_score(y == 0, proba[:, 0]))
    assert found["mcc"] == pytest.approx(metrics.matthews_corrcoef(y, predicted))
    assert found["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(y, predicted))
    for item in found["classes"]:
        own = item["label"]
        assert item["recall"] == pytest.approx(metrics.recall_score(y == own, predicted == own))
        assert item["precision"] == pytest.approx(metrics.precision_score(y == own, predicted == own))
        assert item["recall_interval"] == list(
            wilson(int(((y == own) & (predicted == own)).sum()), item["n"])
        )
    json.dumps(found)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_resample_scores_as_its_graphs_do(n_classes: int) -> None:
    y, proba, classes = drawn(80, n_classes, 7)
    predicted = proba.argmax(axis=1)
    statistics = _statistics(y, predicted, proba, 0 if n_classes == 2 else None)
    rng = np.random.default_rng(0)
    own = [np.flatnonzero(y == code) for code in classes]
    weights = _times_drawn(
        np.array([np.concatenate([rng.choice(r, len(r)) for r in own]) for _ in range(10)]), 80
    )
    assert (weights.sum(axis=1) == 80).all()
    found = {name: statistic(weights) for name, statistic in statistics.items()}
    for i, times in enumerate(weights.astype(int)):
        truth, p = np.repeat(y, times), np.repeat(proba, times, axis=0)
        np.testing.assert_array_equal(np.bincount(truth), np.bincount(y))
        one = score_intervals(truth, p, classes, counts=[(c, c + 1) for c in range(n_classes)])
        for name, values in found.items():
            assert values[i] == pytest.approx(one[name]), name


@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals_hold_the_middle_of_the_resamples_and_are_always_the_same(n_classes: int) -> None:
    y, proba, classes = drawn(80, n_classes, 7)
    found = score_intervals(y, proba, classes)
    assert set(found["intervals"]) == set(NAMES)
    for name, (low, high) in found["intervals"].items():
        assert low < found[name] < high, name
    more = [np.concatenate([part] * 4) for part in (y, proba)]
    narrower = score_intervals(more[0], more[1], classes)
    for name, (low, high) in narrower["intervals"].items():
        wide = found["intervals"][name]
        assert high - low == pytest.approx((wide[1] - wide[0]) / 2, rel=0.2), name
    assert score_intervals(y, proba, classes) == found


def test_classes_of_one_graph() -> None:
    y, classes = np.array([0] * 6 + [1]), np.array([0, 1])
    proba = np.array([[p, 1 - p] for p in (0.9, 0.8, 0.3, 0.7, 0.6, 0.9, 0.5)])
    low, high = score_intervals(y, proba, classes)["intervals"]["roc_auc"]
    assert 0 < low < high <= 1
    alone = score_intervals(y[-2:], proba[-2:], classes)
    assert alone["intervals"]["roc_auc"] == list(wilson(1, 1))


def test_given_labels_and_training_counts_decide() -> None:
    y, proba, _ = drawn(50, 2, 3)
    names = np.array(["no", "yes"])
    predicted = np.full(50, "yes")
    found = score_intervals(names[y], proba, names, predicted, [("no", 90), ("yes", 10)])
    assert found["rare_class"] == "yes"
    assert found["pr_auc"] == pytest.approx(metrics.average_precision_score(y == 1, proba[:, 1]))
    assert found["classes"][0]["precision"] is None
    assert found["classes"][0]["precision_interval"] is None
    assert (found["classes"][0]["recall"], found["classes"][1]["recall"]) == (0.0, 1.0)


def test_undefined_scores_are_none() -> None:
    proba = np.array([[0.2, 0.8], [0.6, 0.4]])
    found = score_intervals(np.array([1, 1]), proba, np.array([0, 1]))
    assert (found["roc_auc"], found["pr_auc"], found["mcc"]) == (None, None, None)
    assert [found["intervals"][name] for name in ("roc_auc", "pr_auc", "mcc")] == [None, None, None]
    unseen = score_intervals(np.array([1, 2]), proba, np.array([0, 1]))  # a label without a column
    assert [item["label"] for item in unseen["classes"]] == [0, 1, 2]
    assert unseen["classes"][2]["recall"] == 0.0


def test_a_perfect_score_of_few_graphs_is_not_certain() -> None:
    proba = np.array([[0.9, 0.1]] * 7 + [[0.2, 0.8]] * 4)
    y, classes = np.array([0] * 7 + [1] * 4), np.array([0, 1])
    found = score_intervals(y, proba, classes)
    low = wilson(4, 4)[0]
    assert found["intervals"]["roc_auc"] == [low, 1.0]
    assert found["intervals"]["balanced_accuracy"] == [low, 1.0]
    assert found["intervals"]["mcc"] == [2 * low - 1, 1.0]
    constant = score_intervals(y, np.array([[0.9, 0.1]] * 11), classes)
    assert constant["balanced_accuracy"] == 0.5
    assert constant["intervals"]["balanced_accuracy"] is None
