"""From the cells of an accuracy study to numbers: means, intervals, ranks and tests of significance.

- Runs on several splits (``repeated``, ``cv``): the corrected resampled t-test of Nadeau and Bengio (2003).
  Its variance is multiplied by 1/n + n_test/n_train, since training sets overlap.
- Runs on one split (``paper``, ``scaffold``): test graphs are the sample. For each, the share of runs that
  were right is compared by a sign-flip randomisation test; with one run of each method this is McNemar's
  exact test.
- Across datasets: Wilcoxon's signed-rank test on the means (Demšar 2006).
- Several comparisons: Holm's correction.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from gdlnn.model.scores import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repro.cells import Result

N_FLIPS = 20_000
TITLES = {
    **dict(zip(METRICS, ("Accuracy", "Balanced accuracy", "ROC-AUC", "MCC"), strict=True)),
    "log_loss": "Log loss",
}
"""The names of the metrics in tables and figures."""
COLUMNS = (
    *("dataset", "protocol", "split", "method", "n_configurations", "seed", "status", "reason"),
    *("configuration", "fingerprint", "n_programs", "n_epochs", "finished", "truth", "predicted"),
)


# --- tests ------------------------------------------------------------------------------------------------


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


def corrected_interval(
    differences: Sequence[float], n_train: int, n_test: int, level: float = 0.95
) -> float | None:
    """Return the half-width of the interval that belongs to `corrected_t_test`."""
    plain = t_interval(differences, level)
    return None if plain is None else plain * math.sqrt(1 + len(differences) * n_test / n_train)


def sign_flip_test(first: npt.ArrayLike, second: npt.ArrayLike, seed: int = 0) -> float:
    """Return the two-sided p of the paired randomisation test on per-graph values of two methods.

    If all differences have the same size, as with one run of each method, the p is exact (binomial: McNemar's
    test); else it comes from `N_FLIPS` random flips.
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
    """Return the two-sided p of Wilcoxon's signed-rank test over datasets, or None for fewer than five."""
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


# --- cells ------------------------------------------------------------------------------------------------


def frame_of(cells: Sequence[Result]) -> pd.DataFrame:
    """Return one row per cell of an accuracy study; ``row`` names the row of the tables that it belongs to.

    This is its method, as in ``gin``, or ``gin:6`` where the configuration was chosen among six: a method may
    have both.
    """
    rows = []
    for cell in cells:
        several = int(cell["n_configurations"])
        row = cell["method"] if several == 1 else f"{cell['method']}:{several}"
        sizes = dict(zip(("n_train", "n_val", "n_test"), cell.get("sizes", ()), strict=False))
        gpu = cell["machine"]["gpu"]
        known = {name: cell.get(name) for name in COLUMNS}
        times = {f"{name}_s": seconds for name, seconds in cell.get("times", {}).items()}
        rows.append({"row": row, **known, **cell.get("metrics", {}), **times, **sizes, "gpu": gpu})
    frame = pd.DataFrame(rows)
    return frame.reindex(columns=[*frame.columns, *(name for name in TITLES if name not in frame)])


def compare(frame: pd.DataFrame, first: str, others: Sequence[str], metric: str = "accuracy") -> pd.DataFrame:
    """Compare one row with others on every dataset they share.

    Returns
    -------
    By dataset and other row: the ``difference``, the ``half``-width of its 95 % interval over several splits,
    its ``p``, and ``corrected``, the p corrected over all comparisons.
    """
    fine = frame[(frame["status"] == "ok") & frame[metric].notna()]
    found = {}
    for (dataset, row), theirs in fine[fine["row"].isin(others)].groupby(["dataset", "row"], sort=False):
        ours = fine[(fine["dataset"] == dataset) & (fine["row"] == first)]
        if row != first and len(ours):
            compared = _compare(ours, theirs, metric)
            if compared is not None:
                found[dataset, row] = compared
    columns = ["difference", "half", "p"]
    keys = pd.MultiIndex.from_tuples(list(found) or [("", "")], names=["dataset", "row"])[: len(found)]
    table = pd.DataFrame(list(found.values()), index=keys, columns=columns, dtype=float)
    known = table["p"].notna()
    table["corrected"] = np.nan
    table.loc[known, "corrected"] = holm(table.loc[known, "p"].tolist())
    return table


def _compare(
    mine: pd.DataFrame, theirs: pd.DataFrame, metric: str
) -> tuple[float, float | None, float | None] | None:
    """Return difference, half-width and p on shared splits; None without any, or on other data."""
    pairs = [part.groupby("split")[[metric]].mean() for part in (mine, theirs)]
    differences = (pairs[0] - pairs[1])[metric].dropna()
    shared = mine[mine["split"].isin(differences.index)]
    hashes = [set(zip(part["split"], part["fingerprint"], strict=True)) for part in (shared, theirs)]
    if not len(differences) or not hashes[0] <= hashes[1]:
        return None
    mean, values = float(differences.mean()), differences.tolist()
    if len(values) > 1:
        sizes = int(shared["n_train"].iloc[-1]), int(shared["n_test"].iloc[-1])
        return mean, corrected_interval(values, *sizes), corrected_t_test(values, *sizes)
    # The other metrics are not means over graphs, so flipping graphs does not apply to them.
    is_mean = metric == "accuracy"
    return mean, None, sign_flip_test(_share_right(mine), _share_right(theirs)) if is_mean else None


def _share_right(cells: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return for every test graph the share of runs that were right."""
    runs = [np.asarray(a) == np.asarray(b) for a, b in zip(cells["truth"], cells["predicted"], strict=True)]
    return np.asarray(np.mean(runs, axis=0), dtype=np.float64)


def average_ranks(frame: pd.DataFrame, metric: str = "accuracy") -> dict[str, float]:
    """Return the mean rank over all datasets of the rows that ran on all of them; 1 is the best.

    Ranks are by the mean over the splits that all of these rows have. A row that cannot be run on a dataset
    has no rank, so that it does not restrict the others to fewer datasets.
    """
    fine = frame[(frame["status"] == "ok") & frame[metric].notna()]
    table = fine.pivot_table(index=["dataset", "split"], columns="row", values=metric)
    ran = table.groupby("dataset").count().min() > 0
    shared = table.loc[:, ran[ran].index].dropna()
    if ran.sum() < 2 or set(shared.index.get_level_values(0)) != set(frame["dataset"]):
        return {}
    means = shared.groupby("dataset").mean().round(12)
    ranks: dict[str, float] = means.rank(axis=1, ascending=False).mean().to_dict()
    return ranks
