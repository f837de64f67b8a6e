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
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdlnn.model.metrics import METRICS
from repro.store import NOT_APPLICABLE
from repro.tables import row_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from repro.store import Result

N_FLIPS = 20_000
TITLES = {
    **dict(zip(METRICS, ("Accuracy", "Balanced accuracy", "ROC-AUC", "MCC"), strict=True)),
    "log_loss": "Log loss",
}
"""The names of the metrics in tables and figures."""


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


# --- summaries --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A row of the tables on a dataset.

    Attributes
    ----------
    row
        See `row_of`.
    cells
        The successful cells.
    means, intervals
        By metric; an interval is the half-width of the 95 % t-interval over the runs, None for a single one.
    reasons
        Why other cells have no result.
    without_result
        If no cell has a result: "n/a" where none is possible, else "failed".
    """

    dataset: str
    row: str
    cells: list[Result]
    means: dict[str, float | None] = field(default_factory=dict)
    intervals: dict[str, float | None] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    without_result: str = ""

    @property
    def n_splits(self) -> int:
        """Number of splits with a result."""
        return len({cell["split"] for cell in self.cells})

    def mean_time(self, name: str) -> float:
        """Return the mean of a time over the runs, in seconds."""
        if name == "selection":
            return float(np.mean([cell.get("selection_seconds", 0.0) for cell in self.cells]))
        return float(np.mean([cell["times"][name] for cell in self.cells]))


Entries = dict[tuple[str, str], Entry]
"""By dataset and row."""


def summarise(cells: Iterable[Result]) -> Entries:
    """Return the entries of a study by dataset and row.

    Where a method cannot be used, this holds for all its rows.
    """
    cells = list(cells)
    rows: dict[str, set[str]] = defaultdict(set)
    for cell in cells:
        if cell["status"] != NOT_APPLICABLE:
            rows[cell["method"]].add(row_of(cell))
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for cell in cells:
        every = rows[cell["method"]] or {str(cell["method"])}
        for row in sorted(every) if cell["status"] == NOT_APPLICABLE else [row_of(cell)]:
            groups[cell["dataset"], row].append(cell)
    return {key: _entry(*key, group) for key, group in groups.items()}


def _entry(dataset: str, row: str, group: list[Result]) -> Entry:
    fine = [cell for cell in group if cell["status"] == "ok"]
    reasons = tuple(dict.fromkeys(cell["reason"] for cell in group if cell["status"] != "ok"))
    if not fine:
        impossible = [cell["reason"] for cell in group if cell["status"] == NOT_APPLICABLE]
        if impossible:
            return Entry(dataset, row, [], reasons=(impossible[0],), without_result=NOT_APPLICABLE)
        return Entry(dataset, row, [], reasons=reasons, without_result="failed")
    entry = Entry(dataset, row, fine, reasons=reasons)
    for metric in TITLES:
        values = [cell["metrics"].get(metric) for cell in entry.cells]  # version 0.1 kept no log loss
        known = [value for value in values if value is not None]
        entry.means[metric] = float(np.mean(known)) if known else None
        entry.intervals[metric] = t_interval(known) if known else None
    return entry


@dataclass(frozen=True)
class Comparison:
    """Two rows of the tables on one dataset: the difference of a metric, and the p of it being chance.

    Over several splits, `half` is the half-width of the difference's 95 % interval, with the variance of the
    corrected resampled t-test.
    """

    dataset: str
    first: str
    second: str
    difference: float
    p: float | None
    corrected: float | None = None
    half: float | None = None


def compare(
    entries: Entries, first: str, others: Sequence[str], metric: str = "accuracy"
) -> list[Comparison]:
    """Compare one row with others on every dataset they share; p-values are corrected over all."""
    found = []
    for dataset in dict.fromkeys(name for name, _ in entries):
        mine = entries.get((dataset, first))
        for other in others:
            theirs = entries.get((dataset, other))
            if other != first and mine is not None and theirs is not None and mine.cells and theirs.cells:
                comparison = _compare(mine, theirs, metric)
                if comparison is not None:
                    found.append(comparison)
    corrected = iter(holm([item.p for item in found if item.p is not None]))
    return [item if item.p is None else replace(item, corrected=next(corrected)) for item in found]


def _compare(mine: Entry, theirs: Entry, metric: str) -> Comparison | None:
    """Compare on the splits that both have; None if there are none, or if the data differ."""
    splits = sorted({cell["split"] for cell in mine.cells} & {cell["split"] for cell in theirs.cells})
    ours, others = _by_split(mine, metric), _by_split(theirs, metric)
    differences, sizes = [], (1, 1)
    for split in splits:
        a = [cell for cell in mine.cells if cell["split"] == split]
        b = [cell for cell in theirs.cells if cell["split"] == split]
        if {cell["fingerprint"] for cell in a} != {cell["fingerprint"] for cell in b}:
            return None
        if split not in ours or split not in others:
            continue
        differences.append(ours[split] - others[split])
        sizes = (a[0]["sizes"][0], a[0]["sizes"][2])
    if not differences:
        return None
    p: float | None = None
    half: float | None = None
    if len(splits) > 1:
        p = corrected_t_test(differences, *sizes)
        half = corrected_interval(differences, *sizes)
    elif metric == "accuracy":
        # The other metrics are not means over graphs, so flipping graphs does not apply to them.
        p = sign_flip_test(_share_right(mine.cells), _share_right(theirs.cells))
    return Comparison(mine.dataset, mine.row, theirs.row, float(np.mean(differences)), p, half=half)


def _share_right(cells: Sequence[Result]) -> npt.NDArray[np.float64]:
    """Return for every test graph the share of runs that were right."""
    runs = [np.asarray(cell["truth"]) == np.asarray(cell["predicted"]) for cell in cells]
    return np.asarray(np.mean(runs, axis=0), dtype=np.float64)


def average_ranks(entries: Entries, metric: str = "accuracy") -> dict[str, float]:
    """Return the mean rank over all datasets of the rows that ran on all of them; 1 is the best.

    Ranks are by the mean over the splits that all of these rows have. A row that cannot be run on a dataset
    has no rank, so that it does not restrict the others to fewer datasets.
    """
    from scipy.stats import rankdata

    datasets = list(dict.fromkeys(name for name, _ in entries))
    known = {key: _by_split(entry, metric) for key, entry in entries.items()}
    rows = dict.fromkeys(name for _, name in entries)
    full = [row for row in rows if all(known.get((dataset, row)) for dataset in datasets)]
    shared = [set.intersection(*(set(known[dataset, row]) for row in full)) for dataset in datasets if full]
    if len(full) < 2 or not all(shared):
        return {}
    means = [
        [round(-float(np.mean([known[dataset, row][split] for split in sorted(splits)])), 12) for row in full]
        for dataset, splits in zip(datasets, shared, strict=True)
    ]
    ranks = np.mean(rankdata(means, axis=1), axis=0)
    return dict(zip(full, ranks.tolist(), strict=True))


def _by_split(entry: Entry, metric: str) -> dict[str, float]:
    """Return the mean of a metric over the runs of each split."""
    values: dict[str, list[float]] = {}
    for cell in entry.cells:
        value = cell["metrics"].get(metric)
        if value is not None:
            values.setdefault(cell["split"], []).append(value)
    return {split: float(np.mean(several)) for split, several in values.items()}
