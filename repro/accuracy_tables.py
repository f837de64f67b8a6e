"""The tables of studies of accuracy and of the ablation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdlnn.datasets.registry import REGISTRY
from repro.methods import METHODS, VARIANTS, row_title
from repro.statistics import OURS, TITLES, average_ranks, compare, frame_of, summary_of, t_interval
from repro.tables import datasets_in, markdown, method_of, page, rows_in, write_results

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from repro.cells import Protocol, Result

RIVALS = ("wl-oa", "ecfp-rf", "gin")
"""Methods, named in advance, that GDLNN is compared with; GIN is tuned where it was."""
HEADS = ("gdlnn-linear", "gdlnn-scorecard")
DIFFERENCE_METRICS = ("accuracy", "log_loss")
NOTE = (
    "Differences are paired over splits, with 95% intervals of the corrected resampled t-test; * where "
    "p < 0.05 after Holm's correction within the dataset."
)
_PAPER = ("MUTAG", "Mutagenicity", "BBBP", "BACE", "ENZYMES", "PROTEINS", "PTC_MR", "NCI1", "BA-2Motifs")
_PAPER_ROWS = {
    "MLP": "93.0±10.3 80.1±1.6 83.4±3.4 81.3±3.1 54.3±6.9 71.7±2.5 49.4±9.1 77.8±1.2 99.8±0.5",
    "GCN": "72.0±13.6 79.6±1.7 83.0±1.7 74.3±17.8 65.9±3.0 71.7±1.6 54.1±4.1 77.4±0.8 99.8±0.5",
    "GIN": "94.0±5.1 81.0±1.0 82.9±3.3 81.1±3.8 64.3±3.4 71.3±3.9 61.2±7.4 81.3±2.4 99.8±0.5",
    "GAT": "90.0±0.0 76.0±1.2 84.4±2.8 65.5±15.4 60.0±5.2 72.8±4.5 62.3±12.5 65.8±3.3 81.2±4.4",
    "PL4XGL": "100±0.0 76.9±0.0 86.3±0.0 82.8±0.0 50±0.0 62.1±0.0 67.6±0.0 72.7±0.0 100.0±0.0",
    "GDLNN": "100±0.0 81.1±1.1 88.2±1.1 84.4±1.0 68.3±2.6 68.1±1.2 68.8±6.1 83.3±1.2 100.0±0.0",
}
PAPER_ACCURACY: dict[str, dict[str, str]] = {
    name: dict(zip(_PAPER, (value.replace("±", " ± ") for value in row.split()), strict=True))
    for name, row in _PAPER_ROWS.items()
}
"""The paper's table of accuracies, 95% intervals over five runs, on splits it does not publish for all."""


def write_accuracy(out: Path | str, cells: Sequence[Result], protocol: Protocol) -> str:
    """Write ``accuracy-PROTOCOL.md`` and ``.csv`` of the cells there are; return the tables.

    ROC-AUC and log loss are those of datasets with two classes.
    """
    cells = [cell for cell in cells if cell["protocol"] == protocol]
    if not cells:
        return "There are no cells yet.\n"
    frame = frame_of(cells)
    two = frame[frame.groupby("dataset")["n_classes"].transform("max") <= 2]
    accuracies = metric_table(frame, "accuracy", protocol == "paper")
    sections = {"Accuracy": [accuracies, rank_words(frame)]}
    for metric in ("roc_auc", "log_loss"):
        if two[metric].notna().any():
            sections[f"{TITLES[metric]}, two classes"] = [metric_table(two, metric)]
    sections["Paired comparison"] = comparison(frame)
    sections["What could not be run"] = [failures(frame)]
    numbers = with_differences(frame, rivals_in(frame), ["accuracy"])
    return write_results(out, f"accuracy-{protocol}", cells, page(sections), numbers)


def write_ablation(out: Path | str, cells: Sequence[Result], protocol: Protocol) -> str:
    """Write ``ablation-PROTOCOL.md`` and ``.csv`` of variants and of GDLNN itself; return the tables."""
    cells = [cell for cell in cells if cell["protocol"] == protocol and "version" not in cell]
    variants = [cell for cell in cells if cell["method"] in VARIANTS]
    datasets = {cell["dataset"] for cell in variants}
    cells = [*(c for c in cells if c["method"] == OURS and c["dataset"] in datasets), *variants]
    return write_differences(out, f"ablation-{protocol}", "Ablation", cells)


def write_differences(out: Path | str, name: str, title: str, cells: Sequence[Result]) -> str:
    """Write ``NAME.md`` and ``.csv`` of GDLNN and of what is compared with it; return the tables."""
    if not cells:
        return "There are no cells yet.\n"
    frame = frame_of(cells)
    others = [row for row in rows_of(frame) if row != OURS]
    sections = {
        f"{title}: {TITLES[metric].lower()}": [difference_table(frame, OURS, others, metric)]
        for metric in DIFFERENCE_METRICS
    }
    sections["What could not be run"] = [failures(frame)]
    text = f"The first row is the default, the others are differences to it. {NOTE}\n\n{page(sections)}"
    return write_results(out, name, cells, text, with_differences(frame, others, DIFFERENCE_METRICS))


def with_differences(frame: pd.DataFrame, others: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """Return the means of all rows, with the differences of some rows to GDLNN and their p after Holm."""
    table = summary_of(frame)
    for metric in metrics:
        name, found = f"{metric}_minus_{OURS}", compare(frame, OURS, others, metric).reset_index()
        found = found.assign(difference=-found["difference"].astype(float)).drop(columns="p")
        titles = {"difference": name, "half": f"{name}_half", "corrected": f"{name}_p"}
        table = table.merge(found.rename(columns=titles), how="left")
    return table


def rows_of(frame: pd.DataFrame) -> list[str]:
    """Return the rows of a study in the order of the tables."""
    return rows_in(frame["row"], (*METHODS, *VARIANTS))


def metric_table(frame: pd.DataFrame, metric: str, paper: bool = False) -> str:
    """Return methods × datasets of one metric; with `paper`, the paper's rows below.

    Where a method has fewer splits than others, their number follows in brackets. The best is in bold, among
    those with all splits.
    """
    datasets = datasets_in(frame["dataset"])
    fine = frame[(frame["status"] == "ok") & frame[metric].notna()]
    groups = fine.groupby(["dataset", "row"])
    means, n_splits = groups[metric].mean().round(4), groups["split"].nunique()
    full = means[n_splits == n_splits.groupby("dataset").transform("max")].groupby("dataset")
    best = full.min() if metric == "log_loss" else full.max()
    rows = []
    for row in rows_of(frame):
        shown = [row_title(row)]
        for dataset in datasets:
            text = shown_metric(frame, dataset, row, metric)
            if (dataset, row) in means:
                if n_splits[dataset, row] < n_splits[dataset].max():
                    text = f"{text} ({n_splits[dataset, row]})"
                elif means[dataset, row] == best[dataset]:
                    text = f"**{text}**"
            shown.append(text)
        rows.append(shown)
    if paper and any(dataset in REGISTRY for dataset in datasets):
        for name, by_dataset in PAPER_ACCURACY.items():
            rows.append([f"*{name} in the paper*", *(by_dataset.get(dataset, "–") for dataset in datasets)])
    return markdown(["", *datasets], rows)


def shown_metric(frame: pd.DataFrame, dataset: str, row: str, metric: str) -> str:
    """Return mean ± half-width in percent (log loss as it is), or why there is none."""
    cells = frame[(frame["dataset"] == dataset) & (frame["row"] == row)]
    if not len(cells):
        return "not run"
    values = cells.loc[cells["status"] == "ok", metric].dropna().tolist()
    if not values:
        fine = (cells["status"] == "ok").any()
        return "–" if fine else str(cells["status"].iloc[0])
    factor, digits = _scale(metric)
    half = t_interval(values)
    text = f"{factor * float(np.mean(values)):.{digits}f}"
    return text if half is None else f"{text} ± {factor * half:.{digits}f}"


def _scale(metric: str) -> tuple[int, int]:
    """Return the factor and the number of digits with which a metric is shown."""
    return (1, 3) if metric == "log_loss" else (100, 1)


def failures(frame: pd.DataFrame) -> str:
    """Return a list of what has no result and why; empty if there is nothing."""
    lost = frame[frame.groupby(["dataset", "row"])["status"].transform(lambda one: (one != "ok").all())]
    return "\n".join(
        f"- {row_title(row)} on {', '.join(datasets_in(part['dataset']))}: {reason}"
        for (row, reason), part in lost.groupby(["row", "reason"], sort=False)
    )


def rank_words(frame: pd.DataFrame) -> str:
    """Return the mean ranks of the rows that ran on all datasets; empty for fewer than two.

    GDLNN's other heads and an earlier version of it are no competitors.
    """
    ranks = average_ranks(frame[~(frame["row"].isin(HEADS) | frame["row"].str.contains("@"))])
    listed = ", ".join(f"{row_title(row)} {ranks[row]:.1f}" for row in sorted(ranks, key=lambda r: ranks[r]))
    return f"Mean ranks over the splits that all of these have: {listed}." if ranks else ""


def rivals_in(frame: pd.DataFrame) -> list[str]:
    """Return the rows of the methods that GDLNN is compared with: of several, that of most configurations."""
    found = [[row for row in rows_of(frame) if method_of(row) == name][-1:] for name in RIVALS]
    return [row for rows in found for row in rows]


def comparison(frame: pd.DataFrame) -> list[str]:
    """Return GDLNN's differences to its rivals, in points of accuracy."""
    others = rivals_in(frame)
    if not len(compare(frame, OURS, others)):
        return []
    words = f"{row_title(OURS)}, and each of the others less it, in points of accuracy. {NOTE}"
    return [words, difference_table(frame, OURS, others, "accuracy", f" − {row_title(OURS)}")]


def difference_table(
    frame: pd.DataFrame, first: str, others: Sequence[str], metric: str, end: str = ""
) -> str:
    """Return the metric of one row, and the others' differences to it on each dataset and in the mean.

    `end` is added to the others' titles.
    """
    datasets = datasets_in(frame["dataset"])
    found = compare(frame, first, others, metric)
    rows = [[row_title(first), *(shown_metric(frame, d, first, metric) for d in datasets), ""]]
    factor, digits = _scale(metric)
    for other in others:
        row, differences = [f"{row_title(other)}{end}"], []
        for dataset in datasets:
            if (dataset, other) not in found.index:
                # Without a pair there is no difference, and an accuracy would read as one.
                text = shown_metric(frame, dataset, other, metric)
                row.append("–" if text[0].isdigit() else text)
                continue
            compared = found.loc[(dataset, other)]
            differences.append(-compared["difference"])
            star = "\\*" if compared["corrected"] < 0.05 else ""
            half = f"{factor * compared['half']:.{digits}f}"
            row.append(f"{_signed(factor * differences[-1], digits)} ± {half}{star}")
        mean = _signed(factor * float(np.mean(differences)), digits) if differences else "–"
        rows.append([*row, mean])
    return markdown(["", *datasets, "mean"], rows)


def _signed(value: float, digits: int) -> str:
    """Return a number with its sign; what rounds to zero is +0."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"
