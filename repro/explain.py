"""The study of explanations: curves of sparsity against fidelity, agreement with the truth, reasons."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from repro import options as opt
from repro.cells import Clock, Study, read_cells
from repro.explainers import (
    EXPLAINERS,
    OURS,
    RIVAL,
    SHOWN,
    explain_graphs,
    explained_model,
    named_graphs,
    part_sizes,
    run_explanations,
    score_explanations,
)
from repro.figures import draw_curves
from repro.tables import datasets_in, markdown, page, rows_in, write_results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from repro.cells import Result, RunConfig, Task

LEVELS = (0.0, 0.05, 0.1, 0.15, 0.2)
"""Fidelities at which sparsities are compared; 0 loses no right answer."""
TRUTHS = ("precision", "recall", "jaccard", "jaccard_at_size", "auc", "found")
SIDES = ("has_reason", "n_supporting", "n_opposing")
FOUND = 0.5
"""Jaccard index from which the truth counts as found."""


def explain(
    datasets: opt.Datasets = "all",
    methods: opt.Methods = "all",
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = None,
    sample: opt.Sample = 30,
    seed: opt.Seed = 0,
    limit: opt.Limit = None,
    data: opt.Data = None,
    device: opt.Device = "auto",
    tables_only: opt.TablesOnly = False,
) -> None:
    """Compare explanations: sparsity against fidelity, and agreement with the truth where it is known.

    GDLNN and explainers of GIN name a tenth to nine tenths of the nodes, GDLNN also those of its places and
    of the smallest sufficient subgraph; LIME names 5 to 1000 programs, PL4XGL its one program.
    Configurations that an accuracy study chose in the same folder are used.

    Example: python -m repro explain --datasets MUTAG --sample 10 --methods gdlnn,pl4xgl,subgraphx
    """
    names = opt.read_names("--methods", methods, list(EXPLAINERS))
    cells: list[Result] = []
    if not tables_only:
        config = opt.run_config(out, data, device, jobs, limit)
        with Study("explain", config, opt.report) as study:
            every = opt.read_datasets(datasets)
            cells = run_explanations(study, every, names, compute_scores, sample or None, seed)
    opt.finish(write_explain(out, read_cells(out / "explain.jsonl")), out, cells)


def compute_scores(task: Task, config: RunConfig) -> Result:
    """Explain graphs with every setting of the sweep, and score the explanations."""
    explainer, data = EXPLAINERS[task.method], named_graphs(task, config)
    model, times = explained_model(task, config)
    clock = Clock()
    explained = explain_graphs(explainer, model, data.graphs, explainer.settings, task.seed)[0]
    times = {**times, **clock.read("explain")}
    graphs = score_explanations(explainer, model, data, task.rows, explained)
    return {"times": times, "graphs": graphs, "sizes": part_sizes(task, config)}


# --- curves -----------------------------------------------------------------------------------------------


def cells_together(cells: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """Return by dataset and explainer the cells that belong together, in the order of the tables.

    Of several samples, seeds or configurations, the one with the most graphs counts.
    """
    groups: dict[tuple[str, str], dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        together = f"{cell['configuration']} {cell['seed']} {cell['fingerprint']}"
        if not EXPLAINERS[cell["method"]].one_by_one:
            together += f" {cell['rows']}"
        groups[cell["dataset"], cell["method"]][together].append(cell)

    def n_graphs(several: list[Result]) -> int:
        return sum(len(cell.get("graphs", ())) for cell in several)

    return {
        (dataset, method): max(groups[dataset, method].values(), key=n_graphs)
        for dataset in datasets_in(name for name, _ in groups)
        for method in rows_in((name for _, name in groups), EXPLAINERS)
        if (dataset, method) in groups
    }


def shared_graphs(together: dict[tuple[str, str], list[Result]]) -> dict[str, set[int]]:
    """Return by dataset the rows of the graphs that all of its explainers explained, if any."""
    found: dict[str, list[set[int]]] = defaultdict(list)
    for (dataset, _), several in together.items():
        if rows := {graph["row"] for cell in several for graph in cell.get("graphs", ())}:
            found[dataset].append(rows)
    return {dataset: set.intersection(*rows) for dataset, rows in found.items()}


def points_of(cells: Iterable[Result]) -> pd.DataFrame:
    """Return the points of all curves by dataset, explainer and setting, as means over the shared graphs.

    `docs/techniques.md` has the formulas. ``fidelity_masked`` is that of a network's explanations
    when the other nodes stay, with features of zero. ``found`` is the share with a Jaccard index of at least
    0.5 among the graphs that the model gets right. ``median_share`` is the median over graphs of the share of
    nodes in the explanation.
    """
    together = cells_together(cells)
    shared = shared_graphs(together)
    rows = [
        {"dataset": dataset, "method": method, "setting": point["setting"], **_measured(graph, point)}
        for (dataset, method), several in together.items()
        for cell in several
        for graph in cell.get("graphs", ())
        if graph["row"] in shared[dataset]
        for point in graph["points"]
    ]
    columns = ["dataset", "method", "setting", *_measured(NO_GRAPH, NO_POINT)]
    groups = pd.DataFrame(rows, columns=columns).groupby(["dataset", "method", "setting"], sort=False)
    points = groups.mean()
    points.insert(0, "n_graphs", groups.size())
    points["median_share"] = groups["share"].median()
    return points.drop(columns="share")


NO_GRAPH: Result = {"truth": 0, "predicted": 0, "n_nodes": 0}
NO_POINT: Result = {"nodes": (), "predicted_part": 0, "predicted_rest": 0, "truth": {}}


def _measured(graph: Result, point: Result) -> dict[str, float]:
    """Return the metrics of one explanation; NaN where one is not known."""
    truth, predicted, n_nodes = graph["truth"], graph["predicted"], len(point["nodes"])
    right, nan = float(predicted == truth), float("nan")
    masked, agreement = point.get("predicted_masked"), point["truth"] or {}
    known = agreement and right
    return {
        "accuracy": right,
        "sparsity": 1 - n_nodes / max(1, graph["n_nodes"]),
        "fidelity": right - (point["predicted_part"] == truth),
        "fidelity_masked": nan if masked is None else right - (masked == truth),
        "fidelity_plus": float(point["predicted_rest"] != predicted),
        "fidelity_minus": float(point["predicted_part"] != predicted),
        "empty": float(n_nodes == 0),
        **{name: nan if agreement.get(name) is None else agreement[name] for name in TRUTHS[:-1]},
        "found": float(agreement["jaccard"] >= FOUND) if known else nan,
        **{name: float(point.get(name, nan)) for name in SIDES},
        "share": n_nodes / max(1, graph["n_nodes"]),
    }


def sparsity_at(curve: pd.DataFrame, level: float, *, masked: bool = False) -> float:
    """Return the largest sparsity on a curve that costs no more fidelity than `level`.

    Between neighboring settings of the sweep the curve is straight; it ends with the whole graph, whose
    sparsity and fidelity are 0. What GDLNN shows is a point beside the sweep.
    With `masked`, the fidelity with masked nodes counts where it is known.
    """
    losses = curve["fidelity_masked"].fillna(curve["fidelity"]) if masked else curve["fidelity"]
    ends = [*zip(losses, curve["sparsity"], strict=True), (0.0, 0.0)]
    best = max((s for f, s in ends if f <= level), default=0.0)
    for (f1, s1), (f2, s2) in pairwise(ends[int(curve.index[0] == SHOWN) :]):
        if min(f1, f2) <= level < max(f1, f2):
            best = max(best, s1 + (s2 - s1) * (level - f1) / (f2 - f1))
    return float(best)


# --- tables -----------------------------------------------------------------------------------------------


def write_explain(out: Path | str, cells: Sequence[Result]) -> str:
    """Write ``explain.md``, ``.csv`` and ``.svg`` of the cells there are; return the tables."""
    together, points = cells_together(cells), points_of(cells)
    curves = {key: points.loc[key] for key in together if key in points.index.droplevel("setting")}
    verdicts = []
    if any(method == RIVAL for _, method in curves):
        present = [own for own in OURS if any(method == own for _, method in curves)]
        verdicts = [verdict(curves, own, masked) for masked in (False, True) for own in present]
    text = page(
        {
            "Sparsity at equal fidelity": [level_table(curves), *verdicts],
            "Agreement with the truth": [truth_table(curves)],
            "Reasons": [REASONS, reasons_table(curves)],
            "Graphs": [GRAPHS, grid_table(together, lambda key: _graphs(together[key], curves.get(key)))],
            "What could not be run": [reasons_list(together)],
        }
    )
    return write_results(out, "explain", cells, text, points.reset_index(), draw_curves(curves))


def grid_table(keys: Iterable[tuple[str, str]], cell: Callable[[tuple[str, str]], str]) -> str:
    """Return datasets × explainers, with a text for each pair that there is."""
    known = list(keys)
    methods = rows_in((method for _, method in known), EXPLAINERS)
    rows = [
        [dataset, *(cell((dataset, m)) if (dataset, m) in known else "not run" for m in methods)]
        for dataset in datasets_in(dataset for dataset, _ in known)
    ]
    return markdown(["", *(EXPLAINERS[method].title for method in methods)], rows)


def reasons_list(together: dict[tuple[str, str], list[Result]]) -> str:
    """Return a list of what failed and why; empty if nothing did."""
    return "\n".join(
        f"- {EXPLAINERS[method].title} on {dataset}: {reason}"
        for (dataset, method), cells in together.items()
        for reason in dict.fromkeys(cell["reason"] for cell in cells if cell["status"] != "ok")
    )


def level_table(curves: dict[tuple[str, str], pd.DataFrame]) -> str:
    """Return the largest sparsity at each fidelity; the best of a row in bold."""
    methods = rows_in((method for _, method in curves), EXPLAINERS)
    rows = []
    for dataset in datasets_in(name for name, _ in curves):
        for level in LEVELS:
            found = {
                m: round(sparsity_at(curves[dataset, m], level), 3) for m in methods if (dataset, m) in curves
            }
            row = [dataset if level == LEVELS[0] else "", f"{level:g}"]
            for method in methods:
                text = f"{found[method]:.3f}" if method in found else "–"
                row.append(f"**{text}**" if found.get(method) == max(found.values()) else text)
            rows.append(row)
    return markdown(["", "fidelity ≤", *(EXPLAINERS[m].title for m in methods)], rows)


def verdict(curves: dict[tuple[str, str], pd.DataFrame], own: str, masked: bool) -> str:
    """Say on which datasets one is ahead of the rival: everywhere, on the whole, or not."""
    names: dict[str, list[str]] = {
        "Ahead at every fidelity": [],
        "Ahead on average, not at every one": [],
        "Not ahead": [],
    }
    everywhere, on_the_whole, behind = names.values()
    compared = [d for d in datasets_in(name for name, _ in curves) if {(d, own), (d, RIVAL)} <= set(curves)]
    for dataset in compared:
        ours, theirs = curves[dataset, own], curves[dataset, RIVAL]
        gaps = [sparsity_at(ours, level) - sparsity_at(theirs, level, masked=masked) for level in LEVELS]
        mean = float(np.mean(gaps))
        kind = everywhere if min(gaps) > 0 else on_the_whole if mean > 0 else behind
        kind.append(f"{dataset} ({mean:+.3f})")
    pair = f"{EXPLAINERS[own].title} against {EXPLAINERS[RIVAL].title}"
    pair += ", the network judged with the other nodes' features at zero" if masked else ""
    ahead = f"ahead on {len(everywhere) + len(on_the_whole)} of {len(compared)}."
    lists = [f"{words}: {', '.join(which)}." for words, which in names.items() if which]
    return " ".join([f"{pair}, difference averaged over fidelities: {ahead}", *lists])


GRAPHS = "Test graphs that were explained, and the model's accuracy on those that all methods explained."
REASONS = (
    "Explanations as they are shown: share of graphs with a reason, reasons for and against the class, and "
    "the median share of nodes that are highlighted."
)


def _setting(method: str, setting: float) -> str:
    explainer = EXPLAINERS[method]
    if len(explainer.settings) == 1:
        return ""
    if setting == SHOWN:
        return "as shown"
    return f"{setting:g}" if explainer.kind == "programs" else f"{setting:.0%}"


def _graphs(cells: Sequence[Result], curve: Any) -> str:
    n_graphs = sum(len(cell.get("graphs", ())) for cell in cells)
    n_test = max((cell["sizes"][2] for cell in cells if "sizes" in cell), default=0)
    n_late = sum(len(cell["rows"]) for cell in cells if cell["status"] == "late")
    text = f"{n_graphs} of {n_test}" + (" (sample)" if n_graphs < n_test else "")
    text += f", {n_late} not finished" if n_late else ""
    return text if curve is None else f"{text}; {100 * curve['accuracy'].iloc[0]:.0f}%"


def truth_table(curves: dict[tuple[str, str], pd.DataFrame]) -> str:
    """Return the setting with the best Jaccard index of every explainer for which the truth is known."""
    rows = []
    for (dataset, method), curve in curves.items():
        if curve["jaccard"].notna().any():
            best = curve["jaccard"].idxmax()
            values = [f"{curve.loc[best, name]:.3f}" for name in TRUTHS]
            rows.append([dataset, EXPLAINERS[method].title, _setting(method, best) or "–", *values])
    header = ["", "", "setting", "precision", "recall", "Jaccard (best of the sweep)", "at the truth's size"]
    header += ["AUC", "Jaccard ≥ 0.5, of graphs predicted right"]
    return markdown(header, rows) if rows else ""


def reasons_table(curves: dict[tuple[str, str], pd.DataFrame]) -> str:
    """Return how often there is a reason, and the programs for and against the class."""
    rows = []
    for (dataset, method), curve in curves.items():
        first = curve.iloc[0]
        if not np.isnan(first["has_reason"]):
            numbers = [f"{first['has_reason']:.2f}", *(f"{first[side]:.1f}" for side in SIDES[1:])]
            rows.append([dataset, EXPLAINERS[method].title, *numbers, f"{first['median_share']:.2f}"])
    header = ["", "", "with a reason", "for", "against", "nodes"]
    return markdown(header, rows) if rows else "None has a baseline."
