"""The study of cost: the time of a fit, a prediction and an explanation, all on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from repro import options as opt
from repro.cells import Clock, Study, read_cells
from repro.explain import cells_together, grid_table, reasons_list
from repro.explainers import (
    EXPLAINERS,
    RIVAL,
    SHOWN,
    explain_graphs,
    explained_model,
    named_graphs,
    part_sizes,
    run_explanations,
)
from repro.figures import draw_costs
from repro.tables import markdown, page, write_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from repro.cells import Result, RunConfig, Task

METHODS = "gdlnn,gdlnn-smallest,gdlnn-paper,pl4xgl,subgraphx"
N_FEATURES, SHARE = 5, 0.2
"""Sizes of the explanations whose time is taken: programs, or a share of the nodes."""
OF_GRAPHS = ("predict", "predict_cpu", "explain", "explain_cpu", "n_drawn", "n_asked")
OF_MODELS = ("mining", "mining_cpu", "fit", "fit_cpu")


def cost(
    datasets: opt.Datasets = "all",
    methods: opt.Methods = METHODS,
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = None,
    sample: opt.Sample = 30,
    seed: opt.Seed = 0,
    limit: opt.Limit = None,
    data: opt.Data = None,
    tables_only: opt.TablesOnly = False,
) -> None:
    """Measure the time of fitting, predicting and explaining, all on the CPU, one thread per cell.

    An explanation is the default one, names 5 programs, is the smallest sufficient one, or has a fifth of the
    nodes. Parallel
    processes slow each other down a little: --jobs 1 gives the most reliable times.

    Example: python -m repro cost --datasets MUTAG --sample 5 --jobs 1
    """
    names = opt.read_names("--methods", methods, list(EXPLAINERS))
    cells: list[Result] = []
    if not tables_only:
        with Study("cost", opt.run_config(out, data, "cpu", jobs, limit), opt.report) as study:
            every = opt.read_datasets(datasets)
            cells = run_explanations(study, every, names, compute_times, sample or None, seed)
    opt.finish(write_cost(out, read_cells(out / "cost.jsonl")), out, cells)


def compute_times(task: Task, config: RunConfig) -> Result:
    """Time the prediction and explanation of graphs, one after another."""
    explainer, data, rows = EXPLAINERS[task.method], named_graphs(task, config), []
    model, times = explained_model(task, config)
    setting = {"scores": SHOWN, "network": SHARE}.get(explainer.kind, N_FEATURES)
    model.predict(data.graphs[:1])  # the first prediction compiles the programs
    for row, graph in zip(task.rows, data.graphs, strict=True):
        clock = Clock()
        model.predict([graph])
        predict = clock.read("predict")
        clock = Clock()
        _, counts = explain_graphs(explainer, model, [graph], (setting,), task.seed)
        rows.append({"row": row, **predict, **clock.read("explain"), **counts})
    return {"times": times, "graphs": rows, "sizes": part_sizes(task, config)}


# --- costs ------------------------------------------------------------------------------------------------


def costs_of(cells: Iterable[Result]) -> pd.DataFrame:
    """Return by dataset and explainer the seconds of each part; those of graphs are means.

    ``mining`` is the time when the programs were mined. Graphs that ran out of time count with the time they
    had, so that the mean is too low. ``n_drawn`` and ``n_asked`` are the coalitions that SubgraphX drew for
    an explanation, and those it asked the network about. ``each`` and ``once`` are CPU seconds of every
    further graph, and of training.
    """
    rows = {}
    for key, several in cells_together(cells).items():
        fine = [cell for cell in several if cell["status"] == "ok"]
        late = [cell for cell in several if cell["status"] == "late" and "its model" not in cell["reason"]]
        times = fine[-1]["times"] if fine else {}
        graphs = [row for cell in fine for row in cell["graphs"]]
        lost = [
            {"explain": cell["limit"], "explain_cpu": cell["limit"]}
            for cell in late
            if len(cell["rows"]) == 1
        ]
        means = pd.DataFrame([*graphs, *lost], columns=list(OF_GRAPHS), dtype=float).mean()
        rows[key] = {
            **{name: times.get(name, 0.0 if "mining" in name else np.nan) for name in OF_MODELS},
            **means.to_dict(),
            "n_graphs": len(graphs),
            "n_late": sum(len(cell["rows"]) for cell in late),
            "n_test": max((cell["sizes"][2] for cell in fine), default=0),
        }
    costs = pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS))
    costs.index = pd.MultiIndex.from_tuples(list(rows), names=["dataset", "method"])
    costs["once"] = costs["mining_cpu"] + costs["fit_cpu"]
    costs["each"] = costs["predict_cpu"] + costs["explain_cpu"]
    rival = costs["explain_cpu"].xs(RIVAL, level="method") if RIVAL in costs.index.levels[1] else pd.Series()
    costs["ratio"] = costs.index.get_level_values("dataset").map(rival.to_dict()) / costs["explain_cpu"]
    return costs


COLUMNS = (*OF_MODELS, *OF_GRAPHS, "n_graphs", "n_late", "n_test")


# --- tables -----------------------------------------------------------------------------------------------


def write_cost(out: Path | str, cells: Sequence[Result]) -> str:
    """Write ``cost.md``, ``.csv`` and ``.svg`` of the cells there are; return the tables."""
    if not cells:
        return "There are no cells yet.\n"
    costs = costs_of(cells)
    ratios = (
        f"CPU seconds of one explanation, graphs one by one; in brackets how many times as long "
        f"{EXPLAINERS[RIVAL].title} takes."
    )
    table = grid_table(costs.index, lambda key: _explanation(costs, key))
    text = page(
        {
            "Cost of an explanation": [ratios, table],
            "Cost by part": ["Wall / CPU time. Mining is what it took when it was done.", _part_table(costs)],
            "What could not be run": [reasons_list(cells_together(cells))],
        }
    )
    return write_results(out, "cost", cells, text, costs.reset_index(), draw_costs(costs))


def _explanation(costs: pd.DataFrame, key: tuple[str, str]) -> str:
    """Return the seconds of an explanation, and how many times as long the rival's takes."""
    one = costs.loc[key]
    if np.isnan(one["explain_cpu"]):
        return "–"
    text = f"{'≥ ' if one['n_late'] else ''}{one['explain_cpu']:.3g}"
    if key[1] == RIVAL or np.isnan(one["ratio"]):
        return text
    return f"{text} ({'≥ ' if costs.loc[(key[0], RIVAL), 'n_late'] else ''}{one['ratio']:,.0f} ×)"


def _part_table(costs: pd.DataFrame) -> str:
    """Return every part of the cost, the sum over the whole test set, and where curves cross."""
    rows = []
    for (dataset, method), one in costs.iterrows():
        graphs = f"{one['n_graphs']:.0f} of {one['n_test']:.0f}"
        total = one["once"] + one["n_test"] * one["each"]
        rows.append(
            [
                dataset,
                EXPLAINERS[method].title,
                _both(one, "mining") if one["mining_cpu"] else "–",
                _both(one, "fit"),
                _both(one, "predict", 1000),
                _both(one, "explain"),
                f"{graphs}, {one['n_late']:.0f} not finished" if one["n_late"] else graphs,
                "–" if np.isnan(total) else f"{total:,.3g}",
                _crossing(costs, dataset, method),
            ]
        )
    header = ["", "", "mining, s", "fit, s", "predict, ms a graph", "explain, s a graph", "graphs"]
    header += ["all test graphs, CPU s", f"cheaper than {EXPLAINERS[RIVAL].title} from"]
    return markdown(header, rows)


def _both(one: pd.Series, name: str, factor: float = 1) -> str:
    wall, cpu = one[name], one[f"{name}_cpu"]
    return "–" if np.isnan(wall) else f"{factor * wall:.3g} / {factor * cpu:.3g}"


def _crossing(costs: pd.DataFrame, dataset: str, method: str) -> str:
    """Return from how many explained graphs on the total is below the rival's."""
    if method == RIVAL or (dataset, RIVAL) not in costs.index:
        return "–"
    one, rival = costs.loc[(dataset, method)], costs.loc[(dataset, RIVAL)]
    each, ahead = rival["each"] - one["each"], one["once"] - rival["once"]
    if np.isnan(each + ahead):
        return "–"
    if each <= 0:
        return "the first" if ahead < 0 else "never"
    first = max(1, int(ahead / each) + 1)
    return "the first" if first == 1 else f"graph {first}"
