"""Metrics of explanations, by hand."""

import numpy as np
import pytest

from repro.metrics import jaccard, jaccard_at_size, overlap


def test_ground_truth_by_hand() -> None:
    found = overlap(
        [[1, 1, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]],
        [[1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 1, 0], None],
    )
    assert found.precision == pytest.approx((1 + 0 + 1) / 3)
    assert found.recall == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert found.jaccard == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert found.auc == pytest.approx((5 / 6 + 0.5 + 1) / 3)
    assert jaccard([1, 2], [2, 3]) == pytest.approx(1 / 3)
    assert jaccard([], []) == 1


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
