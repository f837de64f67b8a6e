"""The quality of explanations: from cells to curves of sparsity against fidelity and tables."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from repro.figures import draw_curves
from repro.methods import EXPLAINERS, RIVAL
from repro.metrics import fidelity, fidelity_minus, fidelity_plus, sparsity
from repro.tables import csv_text, datasets_in, in_order, markdown, methods_in, page, write_results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from repro.store import Result, Store

OURS = ("gdlnn", "gdlnn-smallest", "gdlnn-v1", "gdlnn-v1-smallest", "gdlnn-paper")
LEVELS = (0.0, 0.05, 0.1, 0.15, 0.2)
"""Fidelities at which sparsities are compared; 0 loses no right answer."""
TRUTHS = ("precision", "recall", "jaccard", "auc", "found")
AT_SIZE = "jaccard_at_size"
SIDES = ("n_supporting", "n_opposing", "has_reason")
FOUND = 0.5
"""Jaccard index from which the truth counts as found."""


# --- curves -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """Explanations with one setting, as means over graphs; `docs/explanations-metrics.md` has the formulas.

    Attributes
    ----------
    setting
        Number of programs, or share of nodes.
    fidelity_masked
        Fidelity of a network's explanations when the other nodes stay, with features of zero, else None.
    truth
        Agreement with the known truth, over the graphs that have one; empty if none has. "found" is the
        share with a Jaccard index of at least 0.5 among those that the model gets right.
    median_share
        Median over graphs of the share of nodes that are in the explanation.
    sides
        Mean number of listed programs for and against the class, and the share of explanations with a
        reason; empty for explainers without a baseline.
    """

    setting: float
    sparsity: float
    fidelity: float
    fidelity_plus: float
    fidelity_minus: float
    empty: float
    fidelity_masked: float | None = None
    truth: dict[str, float] = field(default_factory=dict)
    median_share: float = 0.0
    sides: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Curve:
    """An explainer on a dataset.

    Attributes
    ----------
    points
        In the order of the sweep; empty if every cell failed.
    n_graphs, n_test
        Number of graphs that were explained, and of test graphs.
    n_late
        Number of graphs that ran out of time.
    accuracy
        Of the model, on the graphs that were explained.
    reasons
        Why cells failed or ran out of time.
    """

    dataset: str
    method: str
    points: tuple[Point, ...]
    n_graphs: int
    n_test: int
    n_late: int
    accuracy: float | None
    reasons: tuple[str, ...] = ()

    def sparsity_at(self, level: float, *, masked: bool = False) -> float:
        """Return the largest sparsity on the curve that costs no more fidelity than `level`.

        Between neighbouring settings of the sweep the curve is straight; it ends with the whole graph, whose
        sparsity and fidelity are 0.

        Parameters
        ----------
        level
            The fidelity.
        masked
            Use the fidelity with masked nodes of a network's explanations.
        """
        ends = []
        for point in self.points:
            kind = point.fidelity_masked if masked else None
            ends.append((point.fidelity if kind is None else kind, point.sparsity))
        ends.append((0.0, 0.0))
        best = max((s for f, s in ends if f <= level), default=0.0)
        for (f1, s1), (f2, s2) in pairwise(ends):
            if min(f1, f2) <= level < max(f1, f2):
                best = max(best, s1 + (s2 - s1) * (level - f1) / (f2 - f1))
        return best


Curves = dict[tuple[str, str], Curve]
"""By dataset and explainer."""


def curves_of(cells: Iterable[Result]) -> Curves:
    """Return the curves of a study by dataset and explainer."""
    return {key: _curve(*key, several) for key, several in cells_together(cells).items()}


def cells_together(cells: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """Return by dataset and explainer the cells that belong together.

    Of several samples, seeds or configurations, the one with the most graphs counts.
    """
    groups: dict[tuple[str, str], dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        together = f"{cell['configuration']} {cell['seed']} {cell['options']} {cell.get('fingerprint')}"
        if not EXPLAINERS[cell["method"]].one_by_one:
            together += f" {cell['rows']}"
        groups[cell["dataset"], cell["method"]][together].append(cell)

    def n_graphs(several: list[Result]) -> int:
        return sum(len(cell.get("graphs", ())) for cell in several)

    return {key: max(several.values(), key=n_graphs) for key, several in groups.items()}


def _curve(dataset: str, method: str, cells: list[Result]) -> Curve:
    graphs = [graph for cell in cells if cell["status"] == "ok" for graph in cell["graphs"]]
    reasons = tuple(dict.fromkeys(cell["reason"] for cell in cells if cell["status"] != "ok"))
    n_test = max((cell["sizes"][2] for cell in cells if "sizes" in cell), default=0)
    n_late = sum(len(cell["rows"]) for cell in cells if cell["status"] == "late")
    if not graphs:
        return Curve(dataset, method, (), 0, n_test, n_late, None, reasons)
    points = tuple(_point(graphs, i) for i in range(len(graphs[0]["points"])))
    accuracy = float(np.mean([graph["predicted"] == graph["truth"] for graph in graphs]))
    return Curve(dataset, method, points, len(graphs), n_test, n_late, accuracy, reasons)


def _point(graphs: Sequence[Result], index: int) -> Point:
    rows = [graph["points"][index] for graph in graphs]
    truth, whole = [graph["truth"] for graph in graphs], [graph["predicted"] for graph in graphs]
    part = [row["predicted_part"] for row in rows]
    masked = [row["predicted_masked"] for row in rows if "predicted_masked" in row]
    return Point(
        setting=rows[0]["setting"],
        sparsity=sparsity([row["n_nodes"] for row in rows], [graph["n_nodes"] for graph in graphs]),
        fidelity=fidelity(truth, whole, part),
        fidelity_plus=fidelity_plus(whole, [row["predicted_rest"] for row in rows]),
        fidelity_minus=fidelity_minus(whole, part),
        empty=float(np.mean([row["n_nodes"] == 0 for row in rows])),
        fidelity_masked=fidelity(truth, whole, masked) if len(masked) == len(rows) else None,
        truth=_agreement(graphs, rows),
        median_share=float(
            np.median([r["n_nodes"] / max(1, g["n_nodes"]) for r, g in zip(rows, graphs, strict=True)])
        ),
        sides={side: float(np.mean([row[side] for row in rows])) for side in SIDES if side in rows[0]},
    )


def _agreement(graphs: Sequence[Result], rows: Sequence[Result]) -> dict[str, float]:
    known = [(graph, row["truth"]) for graph, row in zip(graphs, rows, strict=True) if row["truth"]]
    if not known:
        return {}
    names = (*TRUTHS[:-1], AT_SIZE)
    values: dict[str, list[Any]] = {
        name: [truth[name] for _, truth in known if truth.get(name) is not None] for name in names
    }
    right = [truth for graph, truth in known if graph["predicted"] == graph["truth"]]
    values["found"] = [truth["jaccard"] >= FOUND for truth in right]
    return {name: float(np.mean(several)) if several else float("nan") for name, several in values.items()}


# --- tables -----------------------------------------------------------------------------------------------


def write_explain(store: Store, document: Path | None = None) -> str:
    """Write ``explain.md``, ``.csv`` and ``.svg`` of the cells there are; return the tables."""
    cells = list(store.cells("explain"))
    curves = curves_of(cells)
    text, rows, draw = explain_report(curves), curves_csv(curves), partial(draw_curves, curves)
    return write_results(store, "explain", cells, text, rows, draw, document, show_picture=True)


def explain_report(curves: Curves) -> str:
    """Return all tables as one page of Markdown."""
    verdicts = []
    if any(method == RIVAL for _, method in curves):
        present = [own for own in OURS if any(method == own for _, method in curves)]
        verdicts = [_verdict(curves, own, masked) for masked in (False, True) for own in present]
    return page(
        {
            "Sparsity at equal fidelity": [_level_table(curves), *verdicts],
            "The curves": [POINTS, grid_table(curves, _picked_points)],
            "Agreement with the truth": [_truth_table(curves)],
            "Reasons": [REASONS, _reasons_table(curves)],
            "Graphs": [GRAPHS, grid_table(curves, _graphs, "not run")],
            "What could not be run": [reasons_list(curves)],
        }
    )


def grid_table(found: Mapping[tuple[str, str], Any], cell: Callable[[Any], str], missing: str = "–") -> str:
    """Return datasets × explainers, with a text for each pair that there is."""
    methods = methods_in(found, EXPLAINERS)
    rows = [
        [dataset, *(cell(found[dataset, m]) if (dataset, m) in found else missing for m in methods)]
        for dataset in datasets_in(found)
    ]
    return markdown(["", *(EXPLAINERS[method].title for method in methods)], rows)


def reasons_list(found: Mapping[tuple[str, str], Any]) -> str:
    """Return a list of what failed and why; empty if nothing did."""
    return "\n".join(
        f"- {EXPLAINERS[one.method].title} on {one.dataset}: {reason}"
        for one in in_order(found, EXPLAINERS)
        for reason in one.reasons
    )


def _level_table(curves: Curves) -> str:
    """Return the largest sparsity at each fidelity; the best of a row in bold."""
    methods = methods_in(curves, EXPLAINERS)
    rows = []
    for dataset in datasets_in(curves):
        for level in LEVELS:
            found = {m: curves[dataset, m].sparsity_at(level) for m in methods if _has(curves, dataset, m)}
            best = max((round(value, 3) for value in found.values()), default=None)
            row = [dataset if level == LEVELS[0] else "", f"{level:g}"]
            for method in methods:
                text = f"{found[method]:.3f}" if method in found else "–"
                row.append(f"**{text}**" if method in found and round(found[method], 3) == best else text)
            rows.append(row)
    return markdown(["", "fidelity ≤", *(EXPLAINERS[m].title for m in methods)], rows)


def _has(curves: Curves, dataset: str, method: str) -> bool:
    return (dataset, method) in curves and bool(curves[dataset, method].points)


def _verdict(curves: Curves, own: str, masked: bool) -> str:
    """Say on which datasets one is ahead of the rival: everywhere, on the whole, or not."""
    compared = [d for d in datasets_in(curves) if _has(curves, d, own) and _has(curves, d, RIVAL)]
    names: dict[str, list[str]] = {
        "Ahead at every fidelity": [],
        "Ahead in the mean, not at every one": [],
        "Not ahead": [],
    }
    everywhere, on_the_whole, behind = names.values()
    for dataset in compared:
        ours, theirs = curves[dataset, own], curves[dataset, RIVAL]
        gaps = [ours.sparsity_at(level) - theirs.sparsity_at(level, masked=masked) for level in LEVELS]
        mean = float(np.mean(gaps))
        kind = everywhere if min(gaps) > 0 else on_the_whole if mean > 0 else behind
        kind.append(f"{dataset} ({mean:+.3f})")
    pair = f"{EXPLAINERS[own].title} against {EXPLAINERS[RIVAL].title}"
    pair += ", the network judged with the other nodes' features at zero" if masked else ""
    ahead = f"ahead on {len(everywhere) + len(on_the_whole)} of {len(compared)}."
    said = [f"{words}: {', '.join(which)}." for words, which in names.items() if which]
    return " ".join([f"{pair}, mean difference over these fidelities: {ahead}", *said])


POINTS = (
    "Sparsity / fidelity at the ends and in the middle of each sweep, and the share of explanations "
    "without a node where there are any; all points are in the CSV file."
)
GRAPHS = "Test graphs that were explained, and the model's accuracy on them."


def _picked_points(curve: Curve) -> str:
    n = len(curve.points)
    picked = [curve.points[i] for i in sorted({0, n // 2, n - 1})] if n else []
    return "; ".join(_shown_point(curve.method, point) for point in picked) or "–"


def _shown_point(method: str, point: Point) -> str:
    setting = _setting(method, point.setting)
    text = f"{setting and setting + ': '}{point.sparsity:.2f} / {point.fidelity:+.2f}"
    return f"{text} ({point.empty:.0%} empty)" if point.empty else text


def _setting(method: str, setting: float) -> str:
    explainer = EXPLAINERS[method]
    if len(explainer.settings) == 1:
        return ""
    return f"{setting:.0%}" if explainer.way == "network" else f"{setting:g}"


def _graphs(curve: Curve) -> str:
    text = f"{curve.n_graphs} of {curve.n_test}"
    text += " (sample)" if curve.n_graphs < curve.n_test else ""
    text += f", {curve.n_late} not finished" if curve.n_late else ""
    return text if curve.accuracy is None else f"{text}; {100 * curve.accuracy:.0f} %"


def _truth_table(curves: Curves) -> str:
    """Return the setting with the best Jaccard index of every explainer for which the truth is known."""
    rows = []
    for curve in in_order(curves, EXPLAINERS):
        known = [point for point in curve.points if point.truth]
        if not known:
            continue
        best = max(known, key=lambda point: point.truth["jaccard"])
        setting = _setting(curve.method, best.setting) or "–"
        values = [f"{best.truth[name]:.3f}" for name in (*TRUTHS[:3], AT_SIZE, *TRUTHS[3:])]
        rows.append([curve.dataset, EXPLAINERS[curve.method].title, setting, *values])
    if not rows:
        return ""
    header = [
        "",
        "",
        "setting",
        "precision",
        "recall",
        "Jaccard (best of the sweep)",
        "at the truth's size",
        "AUC",
    ]
    return markdown([*header, "Jaccard ≥ 0.5, of graphs predicted right"], rows)


REASONS = (
    "Explanations of five programs: share of graphs where a present program is a reason, listed programs for "
    "and against the class, and the median share of nodes that are highlighted."
)


def _reasons_table(curves: Curves) -> str:
    """Return how often there is a reason, and the programs for and against the class."""
    rows = []
    for curve in in_order(curves, EXPLAINERS):
        known = [point for point in curve.points if point.sides]
        if known:
            sides = known[0].sides
            values = [
                f"{sides['has_reason']:.2f}",
                f"{sides['n_supporting']:.1f}",
                f"{sides['n_opposing']:.1f}",
            ]
            title = EXPLAINERS[curve.method].title
            rows.append([curve.dataset, title, *values, f"{known[0].median_share:.2f}"])
    return (
        markdown(["", "", "with a reason", "for", "against", "nodes"], rows)
        if rows
        else "None has a baseline."
    )


def curves_csv(curves: Curves) -> str:
    """Return one line per point; columns that version 0.1 did not have come last, where there are values."""
    names = ("sparsity", "fidelity", "fidelity_masked", "fidelity_plus", "fidelity_minus", "empty")
    header = ["dataset", "method", "setting", *names, *TRUTHS, "n_graphs", "n_test", "n_late", "accuracy"]
    extended = any(_has_more(point) for curve in curves.values() for point in curve.points)
    header += ["median_share", *SIDES, AT_SIZE] if extended else []
    rows = []
    for curve in in_order(curves, EXPLAINERS):
        sizes = [curve.n_graphs, curve.n_test, curve.n_late]
        for point in curve.points:
            values = [getattr(point, name) for name in names]
            row = ["" if value is None else f"{value:.6f}" for value in values]
            row += [f"{point.truth[name]:.6f}" if point.truth else "" for name in TRUTHS]
            key = [curve.dataset, curve.method, f"{point.setting:g}"]
            more = [f"{point.median_share:.6f}"]
            more += [f"{point.sides[name]:.6f}" if point.sides else "" for name in SIDES]
            more += [f"{point.truth[AT_SIZE]:.6f}" if point.truth else ""]
            rows.append([*key, *row, *sizes, f"{curve.accuracy:.6f}", *(more if extended else [])])
    return csv_text(header, rows)


def _has_more(point: Point) -> bool:
    """Whether a point has values that cells of version 0.1 lack."""
    return bool(point.sides) or not np.isnan(point.truth.get(AT_SIZE, np.nan))
