"""The cost of a fit, a prediction and an explanation: from cells to sums and tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from repro.curves import OURS, cells_together, grid_table, reasons_list
from repro.explanations import chosen_configuration
from repro.figures import draw_costs
from repro.methods import EXPLAINERS, RIVAL
from repro.store import Store
from repro.tables import csv_text, datasets_in, in_order, markdown, page, write_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from repro.store import Result

AIM = 500
"""How many times cheaper than the rival's an explanation should be."""
COLUMNS = (
    *("tuning", "mining", "mining_cpu", "fit", "fit_cpu", "predict", "predict_cpu", "explain", "explain_cpu"),
    *("n_graphs", "n_late", "n_test", "n_drawn", "n_asked"),
)


@dataclass(frozen=True)
class Cost:
    """An explainer on a dataset; all times in seconds, those of graphs as means.

    Attributes
    ----------
    mining, mining_cpu
        Time of mining the programs, recorded when they were mined; 0 for networks.
    fit, fit_cpu, predict, predict_cpu, explain, explain_cpu
        Wall and CPU time; None if every cell failed.
    tuning
        Of choosing the configuration, None if none was chosen.
    n_graphs, n_late, n_test
        Number of graphs whose time was taken, of graphs that ran out of time (they count with the time they
        had, so that the mean is too low), and of test graphs.
    n_drawn, n_asked
        Coalitions that SubgraphX drew for an explanation, and those it asked the network about.
    """

    dataset: str
    method: str
    mining: float = 0.0
    mining_cpu: float = 0.0
    fit: float | None = None
    fit_cpu: float | None = None
    predict: float | None = None
    predict_cpu: float | None = None
    explain: float | None = None
    explain_cpu: float | None = None
    tuning: float | None = None
    n_graphs: int = 0
    n_late: int = 0
    n_test: int = 0
    n_drawn: float | None = None
    n_asked: float | None = None
    reasons: tuple[str, ...] = ()

    def total(self, n_graphs: int) -> float:
        """Return the CPU seconds of training once, and of predicting and explaining this many graphs."""
        each = (self.predict_cpu or 0.0) + (self.explain_cpu or 0.0)
        return self.mining_cpu + (self.fit_cpu or 0.0) + n_graphs * each


Costs = dict[tuple[str, str], Cost]
"""By dataset and explainer."""


def costs_of(
    cells: Iterable[Result], networks: Iterable[Result], tuning: Mapping[tuple[str, str], float | None]
) -> Costs:
    """Return the costs of a study by dataset and explainer.

    Parameters
    ----------
    cells
        The cells of the kind "cost".
    networks
        Those of the kind "network".
    tuning
        Seconds of choosing a configuration, by dataset and model.
    """
    fits = {
        (cell["dataset"], EXPLAINERS[cell["method"]].model, str(cell["configuration"]), cell["seed"]): cell
        for cell in networks
        if cell["options"].get("device") == "cpu"
    }
    found = {}
    for (dataset, method), several in cells_together(cells).items():
        model, given = EXPLAINERS[method].model, several[0]
        fit = fits.get((dataset, model, str(given["configuration"]), given["seed"]), {})
        found[dataset, method] = _cost(dataset, method, several, fit, tuning.get((dataset, model)))
    return found


def _cost(dataset: str, method: str, cells: list[Result], fit: Result, tuning: float | None) -> Cost:
    fine = [cell for cell in cells if cell["status"] == "ok"]
    late = [cell for cell in cells if cell["status"] == "late" and "its network" not in cell["reason"]]
    rows = [row for cell in fine for row in cell["graphs"]]
    times = {**(fine[-1]["times"] if fine else {}), **fit.get("times", {})}
    reasons = [cell["reason"] for cell in cells if cell["status"] != "ok"]
    if fit and fit["status"] != "ok":
        reasons.append(f"the fit of its network: {fit['reason']}")
    lost = [float(cell["limit"]) for cell in late if len(cell["rows"]) == 1]

    def mean(name: str, more: Sequence[float] = ()) -> float | None:
        values = [*(row[name] for row in rows if name in row), *more]
        return float(np.mean(values)) if values else None

    return Cost(
        dataset,
        method,
        mining=times.get("mining", 0.0),
        mining_cpu=times.get("mining_cpu", 0.0),
        fit=times.get("fit"),
        fit_cpu=times.get("fit_cpu"),
        predict=mean("predict"),
        predict_cpu=mean("predict_cpu"),
        explain=mean("explain", lost),
        explain_cpu=mean("explain_cpu", lost),
        tuning=tuning,
        n_graphs=len(rows),
        n_late=sum(len(cell["rows"]) for cell in late),
        n_test=max((cell["sizes"][2] for cell in cells if "sizes" in cell), default=0),
        n_drawn=mean("n_drawn"),
        n_asked=mean("n_asked"),
        reasons=tuple(dict.fromkeys(reasons)),
    )


# --- tables -----------------------------------------------------------------------------------------------


def write_cost(store: Store, programs: Path | None = None, document: Path | None = None) -> str:
    """Write ``cost.md``, ``.csv`` and ``.svg`` of the cells there are; return the tables.

    Parameters
    ----------
    store
        The folder of the study.
    programs
        The folder of the accuracy study that chose configurations, if it is another one.
    document
        A Markdown file to put the tables into.
    """
    cells, networks = list(store.cells("cost")), list(store.cells("network"))
    tuning = {}
    for cell in cells:
        method = EXPLAINERS[cell["method"]].method
        searched = Store(programs or store.folder)
        _, seconds = chosen_configuration(searched, cell["dataset"], method, cell.get("fingerprint", ""))
        tuning[cell["dataset"], method.name] = seconds
    costs = costs_of(cells, networks, tuning)
    text, rows, draw = cost_report(costs), costs_csv(costs), partial(draw_costs, costs)
    return write_results(store, "cost", cells, text, rows, draw, document, show_picture=True)


def cost_report(costs: Costs) -> str:
    """Return all tables as one page of Markdown."""
    ratios = (
        f"CPU seconds of one explanation, graphs one by one; in brackets how many times as long "
        f"{EXPLAINERS[RIVAL].title} takes."
    )
    parts = (
        "Wall / CPU time. Mining is what it took when programs were mined, tuning wall time of all trials."
    )
    table = grid_table(costs, partial(_explanation, costs))
    return page(
        {
            "Cost of an explanation": [ratios, table, *_verdicts(costs), *_asked(costs)],
            "Cost by part": [parts, _part_table(costs)],
            "What could not be run": [reasons_list(costs)],
        }
    )


def _rival_ratio(costs: Costs, cost: Cost) -> float | None:
    """Return how many times as long the rival's explanation takes; None if that is not known."""
    rival = costs.get((cost.dataset, RIVAL))
    if cost.method == RIVAL or rival is None or rival.explain_cpu is None or not cost.explain_cpu:
        return None
    return rival.explain_cpu / cost.explain_cpu


def _explanation(costs: Costs, cost: Cost) -> str:
    """Return the seconds of an explanation, and how many times as long the rival's takes."""
    if cost.explain_cpu is None:
        return "–"
    text = f"{'≥ ' if cost.n_late else ''}{cost.explain_cpu:.3g}"
    ratio = _rival_ratio(costs, cost)
    if ratio is not None:
        text += f" ({'≥ ' if costs[cost.dataset, RIVAL].n_late else ''}{ratio:,.0f} ×)"
    return text


def _verdicts(costs: Costs) -> list[str]:
    """Say on how many datasets an explanation is as much cheaper than the rival's as it should be."""
    said = []
    for own in OURS:
        known = {d: _rival_ratio(costs, cost) for (d, method), cost in costs.items() if method == own}
        ratios = {dataset: ratio for dataset, ratio in known.items() if ratio}
        if ratios:
            below = [f"{dataset} ({ratio:,.0f} ×)" for dataset, ratio in ratios.items() if ratio < AIM]
            title = f"{EXPLAINERS[own].title} against {EXPLAINERS[RIVAL].title}"
            reached = f"{title}: {AIM} × cheaper on {len(ratios) - len(below)} of {len(ratios)}."
            said.append(f"{reached} Less on {', '.join(below)}." if below else reached)
    return said


def _asked(costs: Costs) -> list[str]:
    """Say how much SubgraphX saves by asking about every coalition once, and what it would cost without."""
    shares, ratios = [], []
    for dataset in datasets_in(costs):
        rival, own = costs.get((dataset, RIVAL)), costs.get((dataset, OURS[0]))
        if rival is None or not rival.n_drawn or not rival.n_asked:
            continue
        shares.append(f"{dataset} {rival.n_asked:,.0f} of {rival.n_drawn:,.0f}")
        if rival.explain_cpu and own is not None and own.explain_cpu:
            as_published = rival.explain_cpu / rival.n_asked * rival.n_drawn
            ratios.append(f"{dataset} {as_published / own.explain_cpu:,.0f} ×")
    said = (
        "Our SubgraphX uses the same random orders for all parts of a graph and asks the network about every "
        "coalition once, in large batches; the published one repeats every query. Asked, of those drawn for "
        "one explanation"
    )
    words = [f"{said}: {'; '.join(shares)}."] if shares else []
    if ratios:
        title = f"{EXPLAINERS[OURS[0]].title} against it"
        words.append(f"At the same price for every coalition drawn, {title}: {'; '.join(ratios)}.")
    return words


def _part_table(costs: Costs) -> str:
    """Return every part of the cost, the sum over the whole test set, and where curves cross."""
    rows = []
    for cost in in_order(costs, EXPLAINERS):
        graphs = f"{cost.n_graphs} of {cost.n_test}"
        rows.append(
            [
                cost.dataset,
                EXPLAINERS[cost.method].title,
                "–" if cost.tuning is None else f"{cost.tuning:.3g}",
                _both(cost.mining, cost.mining_cpu) if cost.mining_cpu else "–",
                _both(cost.fit, cost.fit_cpu),
                _both(cost.predict, cost.predict_cpu, 1000),
                _both(cost.explain, cost.explain_cpu),
                f"{graphs}, {cost.n_late} not finished" if cost.n_late else graphs,
                "–" if cost.explain is None or cost.fit is None else f"{cost.total(cost.n_test):,.3g}",
                _crossing(cost, costs.get((cost.dataset, RIVAL))),
            ]
        )
    header = ["", "", "tuning, s", "mining, s", "fit, s", "predict, ms a graph", "explain, s a graph"]
    header += ["graphs", "all test graphs, CPU s", f"cheaper than {EXPLAINERS[RIVAL].title} from"]
    return markdown(header, rows)


def _both(wall: float | None, cpu: float | None, factor: float = 1) -> str:
    return "–" if wall is None or cpu is None else f"{factor * wall:.3g} / {factor * cpu:.3g}"


def _crossing(cost: Cost, rival: Cost | None) -> str:
    """Return from how many explained graphs on the total is below the rival's."""
    if rival is None or cost.method == RIVAL or None in (cost.explain, cost.fit, rival.explain, rival.fit):
        return "–"
    each = rival.total(1) - rival.total(0) - (cost.total(1) - cost.total(0))
    ahead = cost.total(0) - rival.total(0)
    if each <= 0:
        return "the first" if ahead < 0 else "never"
    first = max(1, int(ahead / each) + 1)
    return "the first" if first == 1 else f"graph {first}"


def costs_csv(costs: Costs) -> str:
    """Return one line per explainer and dataset."""
    rows = []
    for cost in in_order(costs, EXPLAINERS):
        values = [getattr(cost, name) for name in COLUMNS]
        rows.append([cost.dataset, cost.method, *("" if v is None else f"{v:.6g}" for v in values)])
    return csv_text(["dataset", "method", *COLUMNS], rows)
