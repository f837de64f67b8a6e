"""The tables of the study of explanations, in Markdown for people and CSV for programs."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import numpy as np

from gdlnn.datasets.registry import REGISTRY
from gdlnn.evaluation.curves import LEVELS, TRUTHS, Curve, Point
from gdlnn.evaluation.explainers import EXPLAINERS, RIVAL
from gdlnn.evaluation.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable

Curves = dict[tuple[str, str], Curve]
OURS = ("gdlnn", "gdlnn-smallest", "gdlnn-paper")


def datasets_in(names: Iterable[str]) -> list[str]:
    """Return names of data sets once each, those of the paper in its order."""
    known = dict.fromkeys(names)
    return [name for name in REGISTRY if name in known] + [name for name in known if name not in REGISTRY]


def methods_in(names: Iterable[str]) -> list[str]:
    """Return names of explainers in the order of the tables."""
    known = set(names)
    return [name for name in EXPLAINERS if name in known]


def explain_report(curves: Curves) -> str:
    """Return all tables as one page of Markdown."""
    datasets, methods = datasets_in(d for d, _ in curves), methods_in(m for _, m in curves)
    parts = ["### Sparsity at equal fidelity", _level_table(curves, datasets, methods)]
    if RIVAL in methods:
        for masked in (False, True):
            parts += [_verdict(curves, datasets, own, masked) for own in OURS if own in methods]
    parts += ["### The curves", _point_table(curves, datasets, methods)]
    truth = _truth_table(curves, datasets, methods)
    if truth:
        parts += ["### Agreement with the truth", truth]
    parts += ["### Graphs", _graph_table(curves, datasets, methods)]
    failed = _reasons(curves, datasets, methods)
    if failed:
        parts += ["### What could not be run", failed]
    return "\n\n".join(parts) + "\n"


def _level_table(curves: Curves, datasets: list[str], methods: list[str]) -> str:
    """Return the largest sparsity at each fidelity; the best of a row in bold."""
    rows = []
    for dataset in datasets:
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


def _verdict(curves: Curves, datasets: list[str], own: str, masked: bool) -> str:
    """Say on which data sets one is ahead of the rival: everywhere, on the whole, or not."""
    names: dict[str, list[str]] = {"everywhere": [], "on the whole": [], "behind": []}
    compared = [d for d in datasets if _has(curves, d, own) and _has(curves, d, RIVAL)]
    for dataset in compared:
        ours, theirs = curves[dataset, own], curves[dataset, RIVAL]
        gaps = [ours.sparsity_at(level) - theirs.sparsity_at(level, masked=masked) for level in LEVELS]
        mean = float(np.mean(gaps))
        kind = "everywhere" if min(gaps) > 0 else "on the whole" if mean > 0 else "behind"
        names[kind].append(f"{dataset} ({mean:+.3f})")
    ahead = len(names["everywhere"]) + len(names["on the whole"])
    pair = f"{EXPLAINERS[own].title} against {EXPLAINERS[RIVAL].title}"
    pair += ", the network judged with the other nodes' features at zero" if masked else ""
    said = [f"{pair}, mean difference over these fidelities: ahead on {ahead} of {len(compared)}."]
    for kind, words in (
        ("everywhere", "Ahead at every fidelity"),
        ("on the whole", "Ahead in the mean, not at every one"),
        ("behind", "Not ahead"),
    ):
        if names[kind]:
            said.append(f"{words}: {', '.join(names[kind])}.")
    return " ".join(said)


def _point_table(curves: Curves, datasets: list[str], methods: list[str]) -> str:
    """Return for every explainer the ends and the middle of its curve, as sparsity / fidelity."""
    rows = []
    for dataset in datasets:
        row = [dataset]
        for method in methods:
            curve = curves.get((dataset, method))
            if curve is None or not curve.points:
                row.append("–")
                continue
            picked = [curve.points[i] for i in sorted({0, len(curve.points) // 2, len(curve.points) - 1})]
            row.append("; ".join(_point(method, point) for point in picked))
        rows.append(row)
    said = (
        "Sparsity / fidelity at the ends and in the middle of each sweep, and the share of explanations "
        "without a node where there are any; all points are in the CSV file."
    )
    return f"{said}\n\n{markdown(['', *(EXPLAINERS[m].title for m in methods)], rows)}"


def _point(method: str, point: Point) -> str:
    text = f"{_setting(method, point.setting)}{point.sparsity:.2f} / {point.fidelity:+.2f}"
    return f"{text} ({point.empty:.0%} empty)" if point.empty else text


def _setting(method: str, setting: float) -> str:
    explainer = EXPLAINERS[method]
    if explainer.is_point:
        return ""
    return f"{setting:.0%}: " if explainer.kind == "network" else f"{setting:g}: "


def _truth_table(curves: Curves, datasets: list[str], methods: list[str]) -> str:
    """Return the setting with the best Jaccard index of every explainer where the truth is known."""
    rows = []
    for dataset in datasets:
        for method in methods:
            curve = curves.get((dataset, method))
            known = [point for point in curve.points if point.truth] if curve is not None else []
            if not known:
                continue
            best = max(known, key=lambda point: point.truth["jaccard"])
            setting = _setting(method, best.setting).rstrip(": ") or "–"
            rows.append(
                [dataset, EXPLAINERS[method].title, setting, *(f"{best.truth[name]:.3f}" for name in TRUTHS)]
            )
    if not rows:
        return ""
    header = ["", "", "setting", "precision", "recall", "Jaccard (best of the sweep)", "AUC"]
    return markdown([*header, "Jaccard ≥ 0.5, of graphs predicted right"], rows)


def _graph_table(curves: Curves, datasets: list[str], methods: list[str]) -> str:
    """Return how many graphs were explained of how many, and how accurate the model is on them."""
    rows = []
    for dataset in datasets:
        row = [dataset]
        for method in methods:
            curve = curves.get((dataset, method))
            if curve is None:
                row.append("not run")
                continue
            text = f"{curve.n_graphs} of {curve.n_test}"
            if curve.n_graphs < curve.n_test:
                text += " (sample)"
            if curve.n_late:
                text += f", {curve.n_late} not finished"
            row.append(text if curve.accuracy is None else f"{text}; {100 * curve.accuracy:.0f} %")
        rows.append(row)
    said = "Test graphs that were explained, and the model's accuracy on them."
    return f"{said}\n\n{markdown(['', *(EXPLAINERS[m].title for m in methods)], rows)}"


def _reasons(curves: Curves, datasets: list[str], methods: list[str]) -> str:
    return "\n".join(
        f"- {EXPLAINERS[method].title} on {dataset}: {reason}"
        for dataset in datasets
        for method in methods
        if (dataset, method) in curves
        for reason in curves[dataset, method].reasons
    )


def curves_csv(curves: Curves) -> str:
    """Return one line per point."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ("sparsity", "fidelity", "fidelity_masked", "fidelity_plus", "fidelity_minus", "empty")
    writer.writerow(
        ["dataset", "method", "setting", *names, *TRUTHS, "n_graphs", "n_test", "n_late", "accuracy"]
    )
    for dataset in datasets_in(d for d, _ in curves):
        for method in methods_in(m for d, m in curves if d == dataset):
            curve = curves[dataset, method]
            for point in curve.points:
                values = [getattr(point, name) for name in names]
                row = ["" if value is None else f"{value:.6f}" for value in values]
                row += [f"{point.truth[name]:.6f}" if point.truth else "" for name in TRUTHS]
                sizes = [curve.n_graphs, curve.n_test, curve.n_late, f"{curve.accuracy:.6f}"]
                writer.writerow([dataset, method, f"{point.setting:g}", *row, *sizes])
    return text.getvalue()
