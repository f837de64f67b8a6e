"""The tables and the figure of studies of accuracy and of the ablation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gdlnn.datasets.registry import REGISTRY
from repro.figures import draw_accuracy
from repro.methods import BASE, METHODS, VARIANTS, row_title
from repro.statistics import TITLES, average_ranks, compare, frame_of, t_interval, wilcoxon
from repro.tables import datasets_in, markdown, method_of, page, rows_in, write_results

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from repro.cells import Protocol, Result

MAIN_METRIC: dict[Protocol, str] = {
    "paper": "accuracy",
    "repeated": "accuracy",
    "cv": "accuracy",
    "scaffold": "roc_auc",
}
ABLATION_METRICS = ("accuracy", "log_loss")
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
"""The paper's table of accuracies, 95 % intervals over five runs, on splits it does not publish for all."""


def write_accuracy(out: Path | str, cells: Sequence[Result], protocol: Protocol) -> str:
    """Write ``accuracy-PROTOCOL.md``, ``.csv`` and ``.svg`` of the cells there are; return the tables."""
    cells = [cell for cell in cells if cell["protocol"] == protocol]
    if not cells:
        return "There are no cells yet.\n"
    frame, main = frame_of(cells), MAIN_METRIC[protocol]
    sections = {}
    for metric in (main, *(name for name in TITLES if name != main)):
        if frame[metric].notna().any():
            paper = metric == "accuracy" and protocol == "paper"
            sections[TITLES[metric]] = [metric_table(frame, metric, paper)]
    sections["Paired comparison"] = [comparison_table(frame, "gdlnn", main)]
    sections["What could not be run"] = [failures(frame)]
    picture = draw_accuracy(frame, main)
    return write_results(out, f"accuracy-{protocol}", cells, page(sections), _csv(frame), picture)


def write_ablation(out: Path | str, cells: Sequence[Result], protocol: Protocol) -> str:
    """Write ``ablation-PROTOCOL.md`` and ``.csv`` of the cells there are; return the tables."""
    cells = [cell for cell in cells if cell["protocol"] == protocol]
    if not cells:
        return "There are no cells yet.\n"
    frame = frame_of(cells)
    first = (
        "The first row is the base. The others are differences to it, paired over splits, with 95 % "
        "intervals of the corrected resampled t-test; * where p < 0.05 after Holm's correction."
    )
    sections = {
        f"Ablation: {TITLES[metric].lower()}": [ablation_table(frame, metric)] for metric in ABLATION_METRICS
    }
    sections["What could not be run"] = [failures(frame)]
    text = f"{first}\n\n{page(sections)}"
    return write_results(out, f"ablation-{protocol}", cells, text, _csv(frame))


def _csv(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=["row", "truth", "predicted"])


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
    """Return mean ± half-width in percent (MCC and log loss as they are), or why there is none."""
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
    return (1, 3) if metric in ("mcc", "log_loss") else (100, 1)


def failures(frame: pd.DataFrame) -> str:
    """Return a list of what has no result and why; empty if there is nothing."""
    lost = frame[frame.groupby(["dataset", "row"])["status"].transform(lambda one: (one != "ok").all())]
    return "\n".join(
        f"- {row_title(row)} on {', '.join(datasets_in(part['dataset']))}: {reason}"
        for (row, reason), part in lost.groupby(["row", "reason"], sort=False)
    )


def comparison_table(frame: pd.DataFrame, first: str, metric: str) -> str:
    """Return the difference of one method to every other on every dataset, with corrected p-values.

    Of several rows of the method it is the one with the most configurations.
    """
    every = rows_of(frame)
    first = next((row for row in reversed(every) if method_of(row) == first), first)
    others = [row for row in every if row != first]
    found = compare(frame, first, others, metric)
    datasets, ranks = datasets_in(frame["dataset"]), average_ranks(frame, metric)
    rows = []
    for other in others:
        known = [found.loc[(dataset, other)] for dataset in datasets if (dataset, other) in found.index]
        if not known:
            continue
        differences = [one["difference"] for one in known]
        p = wilcoxon(differences, [0.0] * len(known))
        ahead, equal = sum(value > 0 for value in differences), sum(value == 0 for value in differences)
        shown = [
            _difference(found.loc[(dataset, other)]) if (dataset, other) in found.index else "–"
            for dataset in datasets
        ]
        counts = f"{ahead}/{equal}/{len(known) - ahead - equal}"
        rank = f"{ranks[other]:.1f}" if other in ranks else "–"
        rows.append([row_title(other), *shown, counts, "–" if p is None else f"{p:.3f}", rank])
    if not rows:
        return ""
    own = f" (its own mean rank: {ranks[first]:.1f} of {len(ranks)})" if first in ranks else ""
    words = f"{row_title(first)} less each other method{own}, in points"
    words += "; * where p < 0.05 after Holm's correction."
    header = ["", *datasets, "ahead/equal/behind", "Wilcoxon p", "mean rank"]
    return f"{words}\n\n{markdown(header, rows)}"


def _difference(compared: pd.Series) -> str:
    difference, p = f"{100 * compared['difference']:+.1f}", compared["corrected"]
    if np.isnan(p):
        return difference
    words = "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".", 1)
    star = "\\*" if p < 0.05 else ""
    return f"{difference}{star} ({words})"


def ablation_table(frame: pd.DataFrame, metric: str = "accuracy") -> str:
    """Return every variant's difference to the base on each dataset, and its mean over them."""
    datasets = datasets_in(frame["dataset"])
    variants = [name for name in rows_of(frame) if name != BASE]
    found = compare(frame, BASE, variants, metric)
    rows = [[VARIANTS[BASE].title, *(shown_metric(frame, d, BASE, metric) for d in datasets), ""]]
    factor, digits = _scale(metric)
    for variant in variants:
        row, differences = [VARIANTS[variant].title], []
        for dataset in datasets:
            if (dataset, variant) not in found.index:
                # Without the base there is no difference, and an accuracy would read as one.
                text = shown_metric(frame, dataset, variant, metric)
                row.append("–" if text[0].isdigit() else text)
                continue
            compared = found.loc[(dataset, variant)]
            # Comparisons are base less variant; the table shows the effect of the change.
            differences.append(-compared["difference"])
            half = "" if pd.isna(compared["half"]) else f" ± {factor * compared['half']:.{digits}f}"
            star = "\\*" if compared["corrected"] < 0.05 else ""
            row.append(f"{_signed(factor * differences[-1], digits)}{half}{star}")
        mean = _signed(factor * float(np.mean(differences)), digits) if differences else "–"
        rows.append([*row, mean])
    return markdown(["", *datasets, "mean"], rows)


def _signed(value: float, digits: int) -> str:
    """Return a number with its sign; what rounds to zero is +0."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"
