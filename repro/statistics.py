"""From the cells of an accuracy study to numbers: means, intervals, ranks and tests of significance.

Methods are compared on the splits they share by the corrected resampled t-test of Nadeau and Bengio (2003):
its variance is multiplied by 1/n + n_test/n_train, since training sets overlap. Comparisons within a dataset
are corrected by Holm's method.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gdlnn.datasets.registry import REGISTRY
from gdlnn.model.scores import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repro.cells import Result

TITLES = {
    **dict(zip(METRICS, ("Accuracy", "Balanced accuracy", "ROC-AUC", "MCC"), strict=True)),
    "log_loss": "Log loss",
}
"""The names of the metrics in tables."""
OURS = "gdlnn"
COLUMNS = (
    *("dataset", "protocol", "split", "method", "n_configurations", "seed", "status", "reason"),
    *("fingerprint", "n_programs"),
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
    have both. GDLNN of a released version has its own row, as in ``gdlnn@0.2``.
    """
    rows = []
    for cell in cells:
        several, row = int(cell["n_configurations"]), cell["method"]
        if several > 1:
            row = f"{row}:{several}"
        elif "version" in cell and row == OURS:
            row = f"{row}@{cell['version'].removesuffix('.0')}"
        sizes = dict(zip(("n_train", "n_val", "n_test"), cell.get("sizes", ()), strict=False))
        known = {name: cell.get(name) for name in COLUMNS}
        source = REGISTRY.get(cell["dataset"])
        known["n_classes"] = len(set(cell.get("truth", ()))) if source is None else source.size[3]
        times = {f"{name}_s": seconds for name, seconds in cell.get("times", {}).items()}
        seconds = {"seconds": cell.get("seconds")}
        rows.append({"row": row, **known, **seconds, **cell.get("metrics", {}), **times, **sizes})
    frame = pd.DataFrame(rows)
    expected = (*TITLES, "n_train", "n_test")  # missing where every cell failed
    return frame.reindex(columns=[*frame.columns, *(name for name in expected if name not in frame)])


def summary_of(frame: pd.DataFrame, metrics: Sequence[str] = tuple(TITLES)) -> pd.DataFrame:
    """Return by dataset and row the number of cells that went well, and the means of all that is measured."""
    groups = frame[frame["status"] == "ok"].groupby(["dataset", "row"], sort=False)
    others = [name for name in frame if name.endswith("_s") or name == "n_programs"]
    table = groups[[*metrics, *others]].mean()
    table.insert(0, "cells", groups.size())
    for metric in metrics:
        halves = groups[metric].agg(lambda values: t_interval(values.dropna().tolist()))
        table.insert(table.columns.get_loc(metric) + 1, f"{metric}_half", halves)
    return table.reset_index()


def compare(frame: pd.DataFrame, first: str, others: Sequence[str], metric: str = "accuracy") -> pd.DataFrame:
    """Compare one row with others on every dataset, over the splits they share; at least two are needed.

    Returns
    -------
    By dataset and other row: the ``difference``, the ``half``-width of its 95% interval, its ``p``, and
    ``corrected``, the p corrected over the comparisons within the dataset.
    """
    fine = frame[(frame["status"] == "ok") & frame[metric].notna()]
    keys = ["dataset", "split", "fingerprint"]
    values = fine.pivot_table(index=keys, columns="row", values=metric)
    sizes = fine.groupby("dataset")[["n_train", "n_test"]].last()
    rows = []
    for dataset, table in values.groupby("dataset", sort=False) if first in values else ():
        for other in others:
            gaps = (
                (table[first] - table[other]).dropna().tolist() if other in table and other != first else []
            )
            if len(gaps) > 1:
                n = sizes.loc[dataset].astype(int)
                half, p = corrected_interval(gaps, *n), corrected_t_test(gaps, *n)
                rows.append((dataset, other, float(np.mean(gaps)), half, p))
    found = pd.DataFrame(rows, columns=["dataset", "row", "difference", "half", "p"])
    found["corrected"] = found.groupby("dataset")["p"].transform(lambda several: holm(several.tolist()))
    return found.set_index(["dataset", "row"])


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
