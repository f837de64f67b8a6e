"""From cells to numbers: the mean and interval of every method on every data set, and paired comparisons."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdlnn.evaluation.metrics import METRICS
from gdlnn.evaluation.significance import corrected_t_test, holm, sign_flip_test, t_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdlnn.evaluation.cells import Result


@dataclass(frozen=True)
class Entry:
    """A method on a data set.

    Attributes
    ----------
    cells
        Those that went well, of the grid with the most configurations.
    means, intervals
        By metric; an interval is the half-width of the 95 % t-interval over the runs, None for a single one.
    reasons
        Why other cells failed.
    """

    dataset: str
    method: str
    cells: list[Result]
    means: dict[str, float | None] = field(default_factory=dict)
    intervals: dict[str, float | None] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()

    @property
    def n_configurations(self) -> int:
        """Number of configurations it was chosen from."""
        return int(self.cells[0]["n_configurations"]) if self.cells else 0

    def mean_time(self, name: str) -> float:
        """Return the mean of a time over the runs, in seconds."""
        if name == "selection":
            return float(np.mean([cell.get("selection_seconds", 0.0) for cell in self.cells]))
        return float(np.mean([cell["times"][name] for cell in self.cells]))


def summarise(cells: Iterable[Result]) -> dict[tuple[str, str], Entry]:
    """Return the entries of a study by data set and method."""
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for cell in cells:
        groups[cell["dataset"], cell["method"]].append(cell)
    return {key: _entry(*key, group) for key, group in groups.items()}


def _entry(dataset: str, method: str, group: list[Result]) -> Entry:
    fine = [cell for cell in group if cell["status"] == "ok"]
    reasons = tuple(dict.fromkeys(cell["reason"] for cell in group if cell["status"] != "ok"))
    if not fine:
        return Entry(dataset, method, [], reasons=reasons)
    most = max(cell["n_configurations"] for cell in fine)
    cells = [cell for cell in fine if cell["n_configurations"] == most]
    means: dict[str, float | None] = {}
    intervals: dict[str, float | None] = {}
    for metric in METRICS:
        values = [cell["metrics"][metric] for cell in cells]
        known = [value for value in values if value is not None]
        means[metric] = float(np.mean(known)) if known else None
        intervals[metric] = t_interval(known) if known else None
    return Entry(dataset, method, cells, means, intervals, reasons)


@dataclass(frozen=True)
class Comparison:
    """Two methods on one data set: the difference of the metric, and the p of it being chance."""

    dataset: str
    first: str
    second: str
    difference: float
    p: float | None
    corrected: float | None = None


def compare(
    entries: dict[tuple[str, str], Entry], first: str, others: Sequence[str], metric: str = "accuracy"
) -> list[Comparison]:
    """Compare one method with others on every data set they share; p-values are corrected over all."""
    found = []
    for dataset in dict.fromkeys(name for name, _ in entries):
        mine = entries.get((dataset, first))
        for other in others:
            theirs = entries.get((dataset, other))
            if other != first and mine is not None and theirs is not None and mine.cells and theirs.cells:
                comparison = _compare(mine, theirs, metric)
                if comparison is not None:
                    found.append(comparison)
    known = [item.p for item in found if item.p is not None]
    corrected = iter(holm(known))
    return [
        item
        if item.p is None
        else Comparison(item.dataset, item.first, item.second, item.difference, item.p, next(corrected))
        for item in found
    ]


def _compare(mine: Entry, theirs: Entry, metric: str) -> Comparison | None:
    """Compare on the splits that both have; None where there is none, or the data differ."""
    splits = sorted({cell["split"] for cell in mine.cells} & {cell["split"] for cell in theirs.cells})
    differences, sizes = [], (1, 1)
    for split in splits:
        a = [cell for cell in mine.cells if cell["split"] == split]
        b = [cell for cell in theirs.cells if cell["split"] == split]
        if {cell["fingerprint"] for cell in a} != {cell["fingerprint"] for cell in b}:
            return None
        values = [
            [c["metrics"][metric] for c in cells if c["metrics"][metric] is not None] for cells in (a, b)
        ]
        if not all(values):
            continue
        differences.append(float(np.mean(values[0]) - np.mean(values[1])))
        sizes = (a[0]["sizes"][0], a[0]["sizes"][2])
    if not differences:
        return None
    p: float | None = None
    if len(splits) > 1:
        p = corrected_t_test(differences, *sizes)
    elif metric == "accuracy":
        # The other metrics are no means over graphs, so that flipping graphs says nothing of them.
        p = sign_flip_test(_share_right(mine.cells), _share_right(theirs.cells))
    return Comparison(mine.dataset, mine.method, theirs.method, float(np.mean(differences)), p)


def _share_right(cells: Sequence[Result]) -> npt.NDArray[np.float64]:
    """Return for every test graph the share of runs that were right."""
    runs = [np.asarray(cell["truth"]) == np.asarray(cell["predicted"]) for cell in cells]
    return np.asarray(np.mean(runs, axis=0), dtype=np.float64)


def average_ranks(entries: dict[tuple[str, str], Entry], metric: str = "accuracy") -> dict[str, float]:
    """Return the mean rank of every method over the data sets on which all of them ran; 1 is the best."""
    from scipy.stats import rankdata

    datasets = list(dict.fromkeys(name for name, _ in entries))
    methods = list(dict.fromkeys(name for _, name in entries))
    tables = {
        name: [
            entry.means.get(metric) if (entry := entries.get((dataset, name))) is not None else None
            for dataset in datasets
        ]
        for name in methods
    }
    ran = {name: values for name, values in tables.items() if any(v is not None for v in values)}
    shared = [i for i in range(len(datasets)) if all(values[i] is not None for values in ran.values())]
    if not shared:
        return {}
    ranks = np.mean([rankdata([-float(ran[name][i] or 0) for name in ran]) for i in shared], axis=0)
    return dict(zip(ran, ranks.tolist(), strict=True))
