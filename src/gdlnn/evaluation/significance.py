"""Paired comparisons of methods, and intervals.

- Runs on several splits (``repeated``, ``cv``): the corrected resampled t-test of Nadeau and Bengio (2003).
  Its variance is multiplied by 1/n + n_test/n_train, since training parts overlap.
- Runs on one split (``paper``, ``scaffold``): test graphs are the sample. For each, the share of runs that
  were right is compared by a sign-flip randomisation test; with one run of each method this is McNemar's
  exact test.
- Across data sets: Wilcoxon's signed-rank test on the means (Demšar 2006).
- Several comparisons: Holm's correction.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

FloatArray = npt.NDArray[np.float64]
N_FLIPS = 20_000


def t_interval(values: Sequence[float], level: float = 0.95) -> float | None:
    """Return the half-width of the t-interval of the mean, or None for a single value."""
    from scipy.stats import t

    n = len(values)
    if n < 2:
        return None
    return float(t.ppf(0.5 + level / 2, n - 1) * np.std(values, ddof=1) / math.sqrt(n))


def corrected_t_test(differences: Sequence[float], n_train: int, n_test: int) -> float | None:
    """Return the two-sided p of the corrected resampled t-test, or None for fewer than two differences."""
    from scipy.stats import t

    n = len(differences)
    if n < 2:
        return None
    mean, variance = float(np.mean(differences)), float(np.var(differences, ddof=1))
    if variance == 0:
        return 1.0 if mean == 0 else 0.0
    statistic = mean / math.sqrt(variance * (1 / n + n_test / n_train))
    return float(2 * t.sf(abs(statistic), n - 1))


def sign_flip_test(first: npt.ArrayLike, second: npt.ArrayLike, seed: int = 0) -> float:
    """Return the two-sided p of the paired randomisation test on per-graph values of two methods.

    Where all differences have the same size, as with one run of each method, the p is exact (a binomial one:
    McNemar's test); else it comes from `N_FLIPS` random flips.
    """
    from scipy.stats import binomtest

    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    differences = differences[np.abs(differences) > 1e-12]
    if not len(differences):
        return 1.0
    if np.ptp(np.abs(differences)) < 1e-12:
        return float(binomtest(int((differences > 0).sum()), len(differences)).pvalue)
    rng = np.random.default_rng(seed)
    signs = rng.integers(0, 2, (N_FLIPS, len(differences)), dtype=np.int8) * 2 - 1
    sums = np.abs(signs @ differences)
    as_far = int((sums >= abs(differences.sum()) - 1e-9).sum())
    return (as_far + 1) / (N_FLIPS + 1)


def wilcoxon(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the two-sided p of Wilcoxon's signed-rank test over data sets, or None for fewer than five."""
    from scipy.stats import wilcoxon as test

    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if len(differences) < 5 or not np.any(differences):
        return None
    return float(test(differences, zero_method="zsplit", method="approx").pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method."""
    order = np.argsort(p_values)
    corrected = np.empty(len(p_values))
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - place)))
        corrected[index] = largest
    return [float(value) for value in corrected]
