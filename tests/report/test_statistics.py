"""Figures of the report, beside textbook values and simple recounting."""

import math

import numpy as np
import pytest
from scipy.stats import contingency

from gdlnn.model.scores import wilson
from gdlnn.report.alerts import _figures
from gdlnn.report.performance import Counts, calibration


def test_wilson_is_that_of_scipy() -> None:
    from scipy.stats import binomtest

    for hits, n in [(0, 5), (3, 10), (18, 20), (20, 20)]:
        expected = binomtest(hits, n).proportion_ci(method="wilson")
        assert wilson(hits, n) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert wilson(0, 0) == (0.0, 1.0)


def test_odds_ratio_is_that_of_the_table_with_halves() -> None:
    table = np.array([[12.5, 3.5], [4.5, 20.5]])
    expected = table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0])
    ratio, low, high = Counts(12, 15, 4, 24).odds_ratio()
    assert ratio == pytest.approx(expected)
    reach = 1.959964 * math.sqrt((1 / table).sum())
    assert (low, high) == pytest.approx((expected * math.exp(-reach), expected * math.exp(reach)), rel=1e-5)
    sample = contingency.odds_ratio(np.array([[12, 3], [4, 20]]), kind="sample").statistic
    assert 0.7 < ratio / sample < 1.0  # the halves pull towards 1


def test_odds_ratio_of_empty_cells_is_finite() -> None:
    assert all(math.isfinite(value) for value in Counts(5, 5, 0, 7).odds_ratio())
    assert Counts(0, 0, 0, 0).odds_ratio()[0] == 1.0


def test_an_alert_that_matches_nothing_or_everything_has_no_odds_ratio() -> None:
    for own, others, known in ((0, 0, False), (5, 7, False), (4, 1, True)):
        found = _figures(Counts(own, 5, others, 7)) or {}
        assert (found["odds_ratio"] is not None, found["odds_interval"] is not None) == (known, known)


def test_calibration_weighs_bins_by_their_graphs() -> None:
    found = calibration(np.array([0.95, 0.95, 0.55, 1.0]), np.array([True, True, False, True]))
    assert [row["n"] for row in found["bins"]] == [1, 3]
    assert found["error"] == pytest.approx(0.25 * 0.55 + 0.75 * (1 - 2.9 / 3))
