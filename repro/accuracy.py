"""Studies of accuracy and the ablation: their cells, how one is computed, and their tables."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gdlnn.datasets.registry import REGISTRY
from gdlnn.model.metrics import METRICS, classification_scores, log_loss
from repro.figures import draw_accuracy
from repro.inputs import load_split, plan_splits
from repro.methods import BASE, METHODS, VARIANTS, find_method, fit_model, row_title
from repro.statistics import TITLES, average_ranks, compare, summarise, wilcoxon
from repro.store import NOT_APPLICABLE, Task, config_key
from repro.study import Job, StudyPlan
from repro.tables import csv_text, datasets_in, markdown, method_of, methods_in, page, write_results

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gdlnn.graphs.splits import Split
    from repro.inputs import SplitPlan
    from repro.methods import Grid, Method
    from repro.statistics import Entries, Entry
    from repro.store import Protocol, Result, RunConfig, Store


# --- cells ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AccuracyPlan(StudyPlan):
    """Methods × datasets under a protocol.

    Attributes
    ----------
    datasets, methods
        Names.
    protocol
        "paper", "repeated", "cv" or "scaffold": see `plan_splits`.
    grid
        "quick": the documented configuration of each method; "paper": its whole space, or
        `n_configurations` of it, chosen on the validation set.
    n_runs
        Seeds on one split, or repeated splits.
    """

    datasets: Sequence[str]
    methods: Sequence[str]
    protocol: Protocol = "paper"
    grid: Grid = "quick"
    n_configurations: int | None = None
    n_runs: int = 5

    @property
    def lock(self) -> str:
        """The protocol."""
        return self.protocol

    def splits(self) -> list[SplitPlan]:
        """Return the splits of the protocol."""
        return plan_splits(self.protocol, self.n_runs)

    def jobs(
        self, dataset: str, plan: SplitPlan, split: Split, fingerprint: str, config: RunConfig
    ) -> list[Job]:
        """Return a cell for every method and seed, after the trials of its configurations."""
        del config
        jobs = []
        for method in map(find_method, self.methods):
            cells, trials = self._tasks(dataset, plan, method)
            specs = [method.programs(task.configuration, len(split.train)) for task in trials or cells]
            programs = tuple(dict.fromkeys(spec for several in specs for spec in several))
            jobs += [Job(cell, fingerprint, trials, programs) for cell in cells]
        return jobs

    def without_data(self, dataset: str, plan: SplitPlan) -> list[Task]:
        """Return the cells of all methods and seeds."""
        methods = map(find_method, self.methods)
        return [cell for method in methods for cell in self._tasks(dataset, plan, method)[0]]

    def _tasks(self, dataset: str, plan: SplitPlan, method: Method) -> tuple[list[Task], tuple[Task, ...]]:
        """Return the cells of a method, one if it is not random, and a trial for each of its configurations.

        If there is nothing to choose there are no trials.
        """
        several = method.configurations(self.grid, self.n_configurations)
        grid = "quick" if self.grid == "quick" else f"paper-{len(several)}"
        space = config_key({"space": several, "fixed": method.fixed})
        first = Task(
            "cell", dataset, method.name, several[0], 0, self.protocol, plan.name, grid, len(several), space
        )
        cells = [replace(first, seed=seed) for seed in (plan.seeds if method.random else plan.seeds[:1])]
        trials = tuple(replace(first, kind="trial", configuration=one) for one in several)
        return cells, trials if len(several) > 1 else ()

    @property
    def compute(self) -> Callable[[Task, RunConfig], Result]:
        """Fits and scores a method."""
        return compute_accuracy

    def settle(self, task: Task, before: list[Result]) -> Task:
        """Choose the configuration with the best validation accuracy, among equals the lowest loss."""
        fine = [result for result in before if result["status"] == "ok"]
        if not fine:
            return task
        best = min(fine, key=lambda result: (-result["val_accuracy"], result["val_loss"]))
        seconds = float(sum(result["times"]["fit"] for result in fine))
        options = {"selection_seconds": seconds}
        return replace(task, configuration=best["configuration"], options=options)

    def describe(self, task: Task, result: Result) -> str:
        """Return method, seed, and accuracy or the reason of a failure."""
        if result["status"] != "ok":
            said = str(result["reason"])
        elif task.kind == "cell":
            said = f"accuracy {100 * result['metrics']['accuracy']:.1f} %"
        else:
            said = f"validation {100 * result['val_accuracy']:.1f} %"
        return f"{task.method} seed {task.seed}: {said}"


def compute_accuracy(task: Task, config: RunConfig) -> Result:
    """Fit a method and score it: a trial on the validation set, a cell on the test set.

    A method that needs other graphs gets the status "n/a", which is not a failure.
    """
    (train, val, test), _ = load_split(task.dataset, task.protocol, task.split, config)
    method = find_method(task.method)
    if reason := method.not_applicable(train.schema):
        return {"status": NOT_APPLICABLE, "reason": reason}
    model, times = fit_model(method, task, config)
    part = test if task.kind == "cell" else val
    assert part.y is not None
    started = time.perf_counter()
    proba = np.asarray(model.predict_proba(part), dtype=np.float64)
    predict = time.perf_counter() - started
    predicted = np.asarray(model.predict(part))
    fits = {name: times.get(name, 0.0) for name in ("fit", "fit_cpu", "mining_cpu")}
    result: Result = {"split_source": train.split_source, "times": {**fits, "predict": predict}}
    if task.kind == "trial":
        # The test set is not used here: configurations are chosen on the validation set.
        result["val_accuracy"] = float((predicted == part.y).mean())
        result["val_loss"] = log_loss(part.y, proba, model.classes_)
        return result
    scores = classification_scores(part.y, proba, model.classes_, predicted)
    result["metrics"] = {name: scores[name] for name in METRICS}
    result["metrics"]["log_loss"] = log_loss(part.y, proba, model.classes_)
    result["truth"], result["predicted"] = part.y.tolist(), predicted.tolist()
    result["n_programs"] = len(model.programs_) if hasattr(model, "programs_") else None
    result["n_epochs"] = len(model.history_) if getattr(model, "history_", None) else None
    result["selection_seconds"] = task.options.get("selection_seconds", 0.0)
    return result


# --- tables -----------------------------------------------------------------------------------------------

MAIN_METRIC: dict[Protocol, str] = {
    "paper": "accuracy",
    "repeated": "accuracy",
    "cv": "accuracy",
    "scaffold": "roc_auc",
}
ABLATION_METRICS = ("accuracy", "log_loss")
COLUMNS = (
    *("dataset", "protocol", "split", "method", "grid", "n_configurations", "seed", "status", "reason"),
    *METRICS,
    *("fit_s", "fit_cpu_s", "predict_s", "mining_cpu_s", "selection_s", "configuration"),
    *("fingerprint", "gpu", "finished"),
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
"""The paper's table of accuracies, 95 % intervals over five runs, on splits it does not publish for all."""


def write_accuracy(store: Store, protocol: Protocol, document: Path | None = None) -> str:
    """Write ``accuracy-PROTOCOL.md``, ``.csv`` and ``.svg`` of the cells there are; return the tables."""
    cells = [cell for cell in store.cells("cell", protocol) if not _is_variant(cell)]
    entries = summarise(cells)
    text, rows = report(entries, protocol), cells_csv(cells)
    main = MAIN_METRIC[protocol]
    draw = partial(draw_accuracy, entries, main)
    summary = f"{metric_table(entries, main, paper=protocol == 'paper')}\n\n{not_run(entries)}"
    return write_results(store, f"accuracy-{protocol}", cells, text, rows, draw, document, summary=summary)


def write_ablation(store: Store, protocol: Protocol, document: Path | None = None) -> str:
    """Write ``ablation-PROTOCOL.md`` and ``.csv`` of the cells there are; return the table."""
    cells = [cell for cell in store.cells("cell", protocol) if _is_variant(cell)]
    entries = summarise(cells)
    text, rows, summary = ablation_report(entries), cells_csv(cells), ablation_table(entries)
    name = f"ablation-{protocol}"
    return write_results(store, name, cells, text, rows, document=document, summary=summary)


def _is_variant(cell: Result) -> bool:
    return str(cell["method"]).startswith("ablation-")


def report(entries: Entries, protocol: Protocol, first: str = "gdlnn") -> str:
    """Return all tables of a protocol as one page of Markdown."""
    main = MAIN_METRIC[protocol]
    sections = {}
    for metric in (main, *(name for name in TITLES if name != main)):
        if all(entry.means.get(metric) is None for entry in entries.values()):
            continue
        paper = metric == "accuracy" and protocol == "paper"
        sections[TITLES[metric]] = [metric_table(entries, metric, paper)]
    sections["Paired comparison"] = [comparison_table(entries, first, main)]
    sections["Cost"] = [cost_table(entries)]
    sections["What could not be run"] = [failures(entries)]
    return page(sections)


def rows_of(entries: Entries) -> list[str]:
    """Return the rows of a study in the order of the tables."""
    return methods_in(entries, (*METHODS, *VARIANTS))


def metric_table(entries: Entries, metric: str, paper: bool = False) -> str:
    """Return methods × datasets of one metric; with `paper`, the paper's rows below.

    Where a method has fewer splits than others, their number follows in brackets. The best is in bold, among
    those with all splits.
    """
    datasets = datasets_in(entries)
    most, best = {}, {}
    choose = min if metric == "log_loss" else max
    for dataset in datasets:
        there = [entry for (name, _), entry in entries.items() if name == dataset]
        most[dataset] = max(entry.n_splits for entry in there)
        means = [entry.means.get(metric) for entry in there if entry.n_splits == most[dataset]]
        best[dataset] = choose((round(mean, 4) for mean in means if mean is not None), default=None)
    rows = []
    for row in rows_of(entries):
        shown = [row_title(row)]
        for dataset in datasets:
            entry = entries.get((dataset, row))
            text = _shown(entry, metric)
            mean = None if entry is None else entry.means.get(metric)
            if entry is not None and mean is not None:
                if entry.n_splits < most[dataset]:
                    text = f"{text} ({entry.n_splits})"
                elif round(mean, 4) == best[dataset]:
                    text = f"**{text}**"
            shown.append(text)
        rows.append(shown)
    if paper and any(dataset in REGISTRY for dataset in datasets):
        for name, by_dataset in PAPER_ACCURACY.items():
            rows.append([f"*{name} in the paper*", *(by_dataset.get(dataset, "–") for dataset in datasets)])
    return markdown(["", *datasets], rows)


def not_run(entries: Entries) -> str:
    """Name the methods that have no row in the tables; empty if there are none."""
    there = set(map(method_of, rows_of(entries)))
    missing = [method.title for name, method in METHODS.items() if name not in there]
    return f"Not run under this protocol: {', '.join(missing)}." if missing else ""


def _shown(entry: Entry | None, metric: str) -> str:
    """Return mean ± half-width in percent (MCC and log loss as they are), or why there is none."""
    if entry is None:
        return "not run"
    mean = entry.means.get(metric)
    if mean is None:
        return entry.without_result or "–"
    factor, digits = _scale(metric)
    half = entry.intervals.get(metric)
    text = f"{factor * mean:.{digits}f}"
    return text if half is None else f"{text} ± {factor * half:.{digits}f}"


def _scale(metric: str) -> tuple[int, int]:
    """Return the factor and the number of digits with which a metric is shown."""
    return (1, 3) if metric in ("mcc", "log_loss") else (100, 1)


def failures(entries: Entries) -> str:
    """Return a list of what failed and why; empty if nothing did."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for dataset in datasets_in(entries):
        for row in rows_of(entries):
            entry = entries.get((dataset, row))
            for reason in entry.reasons if entry is not None and not entry.cells else ():
                reasons.setdefault((row, reason), []).append(dataset)
    return "\n".join(
        f"- {row_title(row)} on {', '.join(names)}: {reason}" for (row, reason), names in reasons.items()
    )


def cost_table(entries: Entries) -> str:
    """Return the cost of each method: seconds to mine, to choose, to fit, and to predict a graph."""
    rows = []
    for row in rows_of(entries):
        for dataset in datasets_in(entries):
            entry = entries.get((dataset, row))
            if entry is None or not entry.cells:
                continue
            times = [entry.mean_time(name) for name in ("mining_cpu", "selection", "fit")]
            predict = 1000 * entry.mean_time("predict") / max(1, entry.cells[0]["sizes"][2])
            can_use_gpu = "device" in find_method(method_of(row)).options
            gpu = can_use_gpu and any((cell.get("machine") or {}).get("gpu") for cell in entry.cells)
            shown = ["–" if value == 0 else f"{value:.3g}" for value in times]
            rows.append([row_title(row), dataset, *shown, f"{predict:.2f}", "GPU" if gpu else "CPU"])
    header = ["", "dataset", "mining, CPU s", "choosing, s", "fit, s", "predict, ms a graph", "machine"]
    return markdown(header, rows)


def comparison_table(entries: Entries, first: str, metric: str) -> str:
    """Return the difference of one method to every other on every dataset, with corrected p-values.

    Of several rows of the method it is the one with the most configurations.
    """
    every = rows_of(entries)
    first = next((row for row in reversed(every) if method_of(row) == first), first)
    others = [row for row in every if row != first]
    found = {(c.second, c.dataset): c for c in compare(entries, first, others, metric)}
    datasets = datasets_in(entries)
    ranks = average_ranks(entries, metric)
    rows = []
    for other in others:
        cells = [found.get((other, dataset)) for dataset in datasets]
        known = [cell.difference for cell in cells if cell is not None]
        if not known:
            continue
        p = wilcoxon(known, [0.0] * len(known))
        ahead, equal = sum(value > 0 for value in known), sum(value == 0 for value in known)
        rows.append(
            [
                row_title(other),
                *("–" if cell is None else _difference(cell.difference, cell.corrected) for cell in cells),
                f"{ahead}/{equal}/{len(known) - ahead - equal}",
                "–" if p is None else f"{p:.3f}",
                f"{ranks[other]:.1f}" if other in ranks else "–",
            ]
        )
    if not rows:
        return ""
    own = f" (its own mean rank: {ranks[first]:.1f} of {len(ranks)})" if first in ranks else ""
    title = row_title(first)
    said = f"{title} less each other method{own}, in points; * where p < 0.05 after Holm's correction."
    header = ["", *datasets, "ahead/equal/behind", "Wilcoxon p", "mean rank"]
    return f"{said}\n\n{markdown(header, rows)}"


def _difference(difference: float, p: float | None) -> str:
    if p is None:
        return f"{100 * difference:+.1f}"
    words = "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".", 1)
    star = "\\*" if p < 0.05 else ""
    return f"{100 * difference:+.1f}{star} ({words})"


def ablation_report(entries: Entries) -> str:
    """Return the tables of an ablation as one page of Markdown."""
    said = (
        "The first row is the base. The others are differences to it, paired over splits, with 95 % "
        "intervals of the corrected resampled t-test; * where p < 0.05 after Holm's correction."
    )
    sections = {
        f"Ablation: {TITLES[metric].lower()}": [ablation_table(entries, metric)]
        for metric in ABLATION_METRICS
    }
    sections["What could not be run"] = [failures(entries)]
    return f"{said}\n\n{page(sections)}"


def ablation_table(entries: Entries, metric: str = "accuracy") -> str:
    """Return every variant's difference to the base on each dataset, and its mean over them."""
    datasets = datasets_in(entries)
    variants = [name for name in rows_of(entries) if name in VARIANTS and name != BASE]
    found = {(c.second, c.dataset): c for c in compare(entries, BASE, variants, metric)}
    rows = [[VARIANTS[BASE].title, *(_shown(entries.get((d, BASE)), metric) for d in datasets), ""]]
    factor, digits = _scale(metric)
    for variant in variants:
        row, differences = [VARIANTS[variant].title], []
        for dataset in datasets:
            cell = found.get((variant, dataset))
            if cell is None:
                entry = entries.get((dataset, variant))
                # Without the base there is no difference, and an accuracy would read as one.
                alone = entry is not None and entry.means.get(metric) is not None
                row.append("–" if alone else _shown(entry, metric))
                continue
            # Comparisons are base less variant; the table shows the effect of the change.
            differences.append(-cell.difference)
            half = "" if cell.half is None else f" ± {factor * cell.half:.{digits}f}"
            star = "\\*" if cell.corrected is not None and cell.corrected < 0.05 else ""
            row.append(f"{_signed(factor * differences[-1], digits)}{half}{star}")
        mean = _signed(factor * float(np.mean(differences)), digits) if differences else "–"
        rows.append([*row, mean])
    return markdown(["", *datasets, "mean"], rows)


def _signed(value: float, digits: int) -> str:
    """Return a number with its sign; what rounds to zero is +0."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def cells_csv(cells: Sequence[Result]) -> str:
    """Return one line per cell."""
    rows = []
    for cell in cells:
        metrics, times = cell.get("metrics", {}), cell.get("times", {})
        row = [cell[name] for name in COLUMNS[:8]]
        row.append(cell.get("reason", ""))
        row += ["" if metrics.get(name) is None else f"{metrics[name]:.6f}" for name in METRICS]
        row += [f"{times[n]:.4f}" if n in times else "" for n in ("fit", "fit_cpu", "predict", "mining_cpu")]
        fingerprint = cell["fingerprint"] if cell["status"] == "ok" else ""
        row += [f"{cell.get('selection_seconds', 0):.4f}", cell["configuration"], fingerprint]
        rows.append([*row, (cell.get("machine") or {}).get("gpu") or "", cell.get("finished", "")])
    return csv_text(COLUMNS, rows)
