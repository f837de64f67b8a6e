"""Metrics of explanations, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gdlnn.errors import ExplanationError
from reference.explain_models import motif_data, motif_model
from repro.metrics import (
    auc,
    fidelity,
    jaccard,
    jaccard_at_size,
    overlap,
    sparsity,
    stability,
)

TRAIN, TEST = motif_data()


def test_the_papers_two_by_hand() -> None:
    assert sparsity([2, 0, 4], [4, 10, 4]) == pytest.approx((0.5 + 1.0 + 0.0) / 3)
    assert sparsity([0], [0]) == 1
    y, whole = [1, 1, 0, 0], [1, 0, 0, 1]
    assert fidelity(y, whole, whole) == 0
    # One right answer is lost, one wrong answer becomes right: the signs cancel.
    assert fidelity(y, whole, [0, 1, 0, 1]) == 0
    assert fidelity(y, whole, [0, 0, 1, 1]) == pytest.approx(0.5)
    assert fidelity(y, whole, [1, 1, 0, 0]) == pytest.approx(-0.5)


def test_ground_truth_by_hand() -> None:
    found = overlap(
        [[1, 1, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]],
        [[1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 1, 0], None],
    )
    assert found.n_graphs == 3
    assert found.precision == pytest.approx((1 + 0 + 1) / 3)
    assert found.recall == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert found.jaccard == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert found.inside == pytest.approx(2 / 3)  # an empty explanation is outside
    assert found.auc == pytest.approx((5 / 6 + 0.5 + 1) / 3)
    assert jaccard([1, 2], [2, 3]) == pytest.approx(1 / 3)
    assert jaccard([], []) == 1


def test_auc_is_scikit_learns() -> None:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    for _ in range(20):
        truth, scores = rng.random(12) < 0.4, rng.integers(4, size=12)
        if truth.any() and not truth.all():
            assert auc(scores, truth) == pytest.approx(roc_auc_score(truth, scores))
    assert np.isnan(auc([1, 2], [True, True]))


def test_stability_of_explanations() -> None:
    runs = [motif_model().explain(TEST.graphs[:5], seed=seed) for seed in (0, 1)]
    same = stability([runs[0], runs[0]])
    assert (same.programs, same.nodes) == (1.0, 1.0)
    assert 0 <= stability(runs).nodes <= 1


def test_bad_input() -> None:
    with pytest.raises(
        ExplanationError, match=r"sparsity: expected one value per graph .*, got 1 of sizes, 2 of"
    ):
        sparsity([1], [1, 2])
    with pytest.raises(ExplanationError, match="fidelity: expected at least one graph, got none"):
        fidelity([], [], [])
    with pytest.raises(ExplanationError, match="overlap: graph 0: expected a mask of 2 values, got 1"):
        overlap([[True]], [[True, False]])
    with pytest.raises(ExplanationError, match="overlap: no graph has a ground truth"):
        overlap([[True]], [None])
    with pytest.raises(ExplanationError, match="stability: expected two runs or more"):
        stability([[]])


def test_jaccard_at_the_size_of_the_truth_counts_ties_by_their_share() -> None:
    truth = [True, True, False, False]
    assert jaccard_at_size([4, 3, 2, 1], truth) == 1.0
    assert jaccard_at_size([4, 1, 3, 2], truth) == pytest.approx(1 / 3)
    assert jaccard_at_size([1, 2, 3, 4], truth) == 0.0
    # Two places for four equal nodes: on average one of the two is hit.
    assert jaccard_at_size([0, 0, 0, 0], truth) == pytest.approx(1 / 3)
    assert jaccard_at_size([1, 0, 0, 0], truth) == pytest.approx((4 / 3) / (4 - 4 / 3))
    assert np.isnan(jaccard_at_size([1, 2], [False, False]))
    found = overlap([[True, False, False, False]], [truth], [[3, 2, 1, 0]])
    assert (found.jaccard, found.jaccard_at_size) == (0.5, 1.0)
