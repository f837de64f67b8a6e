"""The tables of a study, in Markdown for people and CSV for programs."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import numpy as np

from gdlnn.datasets.registry import REGISTRY
from gdlnn.evaluation.ablation import BASE, VARIANTS
from gdlnn.evaluation.methods import METHODS, find_method
from gdlnn.evaluation.metrics import METRICS
from gdlnn.evaluation.paper import PAPER_ACCURACY
from gdlnn.evaluation.protocols import MAIN_METRIC
from gdlnn.evaluation.significance import wilcoxon
from gdlnn.evaluation.summary import Comparison, Entry, average_ranks, compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.evaluation.cells import Result
    from gdlnn.evaluation.protocols import Protocol

Entries = dict[tuple[str, str], Entry]
TITLES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "roc_auc": "ROC-AUC",
    "mcc": "MCC",
}
COLUMNS = (
    *("dataset", "protocol", "split", "method", "grid", "n_configurations", "seed", "status", "reason"),
    *METRICS,
    *("fit_s", "fit_cpu_s", "predict_s", "mining_cpu_s", "selection_s", "configuration"),
    *("fingerprint", "gpu", "finished"),
)


def datasets_of(entries: Entries) -> list[str]:
    """Return the data sets of a study, those of the paper in its order."""
    names = dict.fromkeys(name for name, _ in entries)
    return [name for name in REGISTRY if name in names] + [name for name in names if name not in REGISTRY]


def methods_of(entries: Entries) -> list[str]:
    """Return the methods of a study in the order of the tables."""
    names = {name for _, name in entries}
    return [name for name in (*METHODS, *VARIANTS) if name in names]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown; a bar within a cell, as in |D|, does not end it."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (header, *rows)]
    lines.insert(1, "|" + "---|" * len(header))
    return "\n".join(lines)


def shown(entry: Entry | None, metric: str) -> str:
    """Return mean ± half-width in percent (MCC as it is), or why there is none."""
    if entry is None:
        return "not run"
    mean = entry.means.get(metric)
    if mean is None:
        return "failed" if entry.reasons else "–"
    factor, digits = (1, 3) if metric == "mcc" else (100, 1)
    half = entry.intervals.get(metric)
    text = f"{factor * mean:.{digits}f}"
    return text if half is None else f"{text} ± {factor * half:.{digits}f}"


def metric_table(entries: Entries, metric: str, paper: bool = False) -> str:
    """Return methods × data sets of one metric, the best in bold; with `paper`, the paper's rows below."""
    datasets = datasets_of(entries)
    methods = methods_of(entries)
    best = {}
    for dataset in datasets:
        means = [entry.means.get(metric) for (name, _), entry in entries.items() if name == dataset]
        best[dataset] = max((round(mean, 4) for mean in means if mean is not None), default=None)
    rows = []
    for method in methods:
        row = [_method_title(entries, method)]
        for dataset in datasets:
            entry = entries.get((dataset, method))
            text = shown(entry, metric)
            mean = None if entry is None else entry.means.get(metric)
            row.append(f"**{text}**" if mean is not None and round(mean, 4) == best[dataset] else text)
        rows.append(row)
    if paper and any(dataset in REGISTRY for dataset in datasets):
        for name, by_dataset in PAPER_ACCURACY.items():
            rows.append([f"*{name} in the paper*", *(by_dataset.get(dataset, "–") for dataset in datasets)])
    return markdown(["", *datasets], rows)


def _method_title(entries: Entries, method: str) -> str:
    counts = {
        entry.n_configurations for (_, name), entry in entries.items() if name == method and entry.cells
    }
    title = find_method(method).title
    if counts <= {1}:
        return title
    return f"{title} ({'/'.join(map(str, sorted(counts)))} configurations)"


def failures(entries: Entries) -> str:
    """Return a list of what failed and why; empty where nothing did."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for dataset in datasets_of(entries):
        for method in methods_of(entries):
            entry = entries.get((dataset, method))
            for reason in entry.reasons if entry is not None and not entry.cells else ():
                reasons.setdefault((method, reason), []).append(dataset)
    return "\n".join(
        f"- {find_method(method).title} on {', '.join(names)}: {reason}"
        for (method, reason), names in reasons.items()
    )


def cost_table(entries: Entries) -> str:
    """Return what each method takes: seconds to mine, to choose, to fit, and to predict a graph."""
    rows = []
    for method in methods_of(entries):
        for dataset in datasets_of(entries):
            entry = entries.get((dataset, method))
            if entry is None or not entry.cells:
                continue
            n_test = max(1, entry.cells[0]["sizes"][2])
            gpu = {(cell.get("machine") or {}).get("gpu") for cell in entry.cells} - {None}
            rows.append(
                [
                    find_method(method).title,
                    dataset,
                    _seconds(entry.mean_time("mining_cpu")),
                    _seconds(entry.mean_time("selection")),
                    _seconds(entry.mean_time("fit")),
                    f"{1000 * entry.mean_time('predict') / n_test:.2f}",
                    "GPU" if gpu else "CPU",
                ]
            )
    header = ["", "data set", "mining, CPU s", "choosing, s", "fit, s", "predict, ms a graph", "machine"]
    return markdown(header, rows)


def _seconds(value: float) -> str:
    return "–" if value == 0 else f"{value:.3g}"


def comparison_table(entries: Entries, first: str, metric: str) -> str:
    """Return the difference of one method to every other on every data set, with corrected p-values."""
    others = [name for name in methods_of(entries) if name != first]
    found = {(c.second, c.dataset): c for c in compare(entries, first, others, metric)}
    datasets = datasets_of(entries)
    ranks = average_ranks(entries, metric)
    rows = []
    for other in others:
        cells = [found.get((other, dataset)) for dataset in datasets]
        known = [cell for cell in cells if cell is not None]
        if not known:
            continue
        p = wilcoxon([cell.difference for cell in known], [0.0] * len(known))
        counts = [sum(c.difference > 0 for c in known), sum(c.difference == 0 for c in known)]
        rows.append(
            [
                find_method(other).title,
                *(_difference(cell) for cell in cells),
                f"{counts[0]}/{counts[1]}/{len(known) - sum(counts)}",
                "–" if p is None else f"{p:.3f}",
                f"{ranks[other]:.1f}" if other in ranks else "–",
            ]
        )
    if not rows:
        return ""
    own = f" (its own mean rank: {ranks[first]:.1f})" if first in ranks else ""
    title = find_method(first).title
    said = f"{title} less each other method{own}, in points; * where p < 0.05 after Holm's correction."
    header = ["", *datasets, "ahead/equal/behind", "Wilcoxon p", "mean rank"]
    return f"{said}\n\n{markdown(header, rows)}"


def _difference(cell: Comparison | None) -> str:
    if cell is None:
        return "–"
    p = "" if cell.corrected is None else f" ({_p(cell.corrected)})"
    star = "\\*" if cell.corrected is not None and cell.corrected < 0.05 else ""
    return f"{100 * cell.difference:+.1f}{star}{p}"


def _p(value: float) -> str:
    return "p < .001" if value < 0.001 else f"p = {value:.3f}".replace("0.", ".", 1)


def ablation_table(entries: Entries) -> str:
    """Return every variant's mean difference to the base over data sets, and on each of them."""
    datasets = datasets_of(entries)
    variants = [name for name in methods_of(entries) if name in VARIANTS and name != BASE]
    found = {(c.second, c.dataset): c for c in compare(entries, BASE, variants)}
    rows = [
        [VARIANTS[BASE].title, *(shown(entries.get((d, BASE)), "accuracy") for d in datasets), ""],
    ]
    for variant in variants:
        row, differences = [VARIANTS[variant].title], []
        for dataset in datasets:
            cell = found.get((variant, dataset))
            if cell is None:
                row.append(shown(entries.get((dataset, variant)), "accuracy"))
                continue
            # Comparisons are base less variant; the table tells what the change brings.
            turned = Comparison(dataset, variant, BASE, -cell.difference, cell.p, cell.corrected)
            differences.append(turned.difference)
            row.append(_difference(turned))
        rows.append([*row, f"{100 * np.mean(differences):+.1f}" if differences else "–"])
    return markdown(["", *datasets, "mean"], rows)


def cells_csv(cells: Sequence[Result]) -> str:
    """Return one line per cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for cell in cells:
        metrics, times = cell.get("metrics", {}), cell.get("times", {})
        row = [cell[name] for name in ("dataset", "protocol", "split", "method", "grid", "n_configurations")]
        row += [cell["seed"], cell["status"], cell.get("reason", "")]
        row += ["" if metrics.get(name) is None else f"{metrics[name]:.6f}" for name in METRICS]
        row += [f"{times[n]:.4f}" if n in times else "" for n in ("fit", "fit_cpu", "predict", "mining_cpu")]
        row += [f"{cell.get('selection_seconds', 0):.4f}", cell["configuration"], cell.get("fingerprint", "")]
        row += [(cell.get("machine") or {}).get("gpu") or "", cell.get("finished", "")]
        writer.writerow(row)
    return text.getvalue()


def report(entries: Entries, protocol: Protocol, first: str = "gdlnn") -> str:
    """Return all tables of a protocol as one page of Markdown."""
    main = MAIN_METRIC[protocol]
    metrics = [main, *(name for name in METRICS if name != main)]
    parts = []
    for metric in metrics:
        parts.append(f"### {TITLES[metric]}")
        parts.append(metric_table(entries, metric, paper=metric == "accuracy" and protocol == "paper"))
    comparison = comparison_table(entries, first, main)
    if comparison:
        parts += ["### Paired comparison", comparison]
    parts += ["### Cost", cost_table(entries)]
    failed = failures(entries)
    if failed:
        parts += ["### What could not be run", failed]
    return "\n\n".join(parts) + "\n"
