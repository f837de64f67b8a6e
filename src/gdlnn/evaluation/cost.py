"""What a fit, a prediction and an explanation cost: from cells to sums, and their tables."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gdlnn.evaluation.curves import cells_together
from gdlnn.evaluation.explain_tables import OURS, datasets_in, methods_in
from gdlnn.evaluation.explainers import EXPLAINERS, RIVAL
from gdlnn.evaluation.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gdlnn.evaluation.cells import Result


@dataclass(frozen=True)
class Cost:
    """An explainer on a data set; all times in seconds, those of graphs as means.

    Attributes
    ----------
    mining, mining_cpu
        Of the programs, as it was when they were mined; 0 for networks.
    fit, fit_cpu, predict, predict_cpu, explain, explain_cpu
        Wall and processor time; None where nothing went well.
    tuning
        Of choosing the configuration, None where none was chosen.
    n_graphs, n_late, n_test
        Graphs whose time was taken, graphs that were given up (they count with the time they had, so that the
        mean is too low), and test graphs there are.
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
        """Return the CPU seconds of training once, and of predicting and explaining so many graphs."""
        each = (self.predict_cpu or 0.0) + (self.explain_cpu or 0.0)
        return self.mining_cpu + (self.fit_cpu or 0.0) + n_graphs * each


AIM = 500
"""How many times cheaper than the rival's an explanation is meant to be."""
Costs = dict[tuple[str, str], Cost]


def costs_of(
    cells: Iterable[Result], networks: Iterable[Result], tuning: Mapping[tuple[str, str], float | None]
) -> Costs:
    """Return the costs of a study by data set and explainer.

    Parameters
    ----------
    cells
        The cells of the step "cost".
    networks
        Those of the step "network".
    tuning
        Seconds of choosing, by data set and model.
    """
    fits = {
        (cell["dataset"], EXPLAINERS[cell["method"]].model, str(cell["configuration"]), cell["seed"]): cell
        for cell in networks
        if cell["options"].get("device") == "cpu"
    }
    found = {}
    for (dataset, method), several in cells_together(cells).items():
        model = EXPLAINERS[method].model
        given = several[0]
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
        times.get("mining", 0.0),
        times.get("mining_cpu", 0.0),
        times.get("fit"),
        times.get("fit_cpu"),
        mean("predict"),
        mean("predict_cpu"),
        mean("explain", lost),
        mean("explain_cpu", lost),
        tuning,
        len(rows),
        sum(len(cell["rows"]) for cell in late),
        max((cell["sizes"][2] for cell in cells if "sizes" in cell), default=0),
        mean("n_drawn"),
        mean("n_asked"),
        tuple(dict.fromkeys(reasons)),
    )


def cost_report(costs: Costs) -> str:
    """Return all tables as one page of Markdown."""
    parts = ["### Cost of an explanation", _ratio_table(costs), "### Cost by part", _part_table(costs)]
    failed = "\n".join(
        f"- {EXPLAINERS[method].title} on {dataset}: {reason}"
        for (dataset, method), cost in costs.items()
        for reason in cost.reasons
    )
    if failed:
        parts += ["### What could not be run", failed]
    return "\n\n".join(parts) + "\n"


def _ratio_table(costs: Costs) -> str:
    """Return seconds of an explanation, and how many times dearer the rival's is."""
    methods = methods_in(m for _, m in costs)
    rows = []
    for dataset in datasets_in(d for d, _ in costs):
        rival = costs.get((dataset, RIVAL))
        row = [dataset]
        for method in methods:
            cost = costs.get((dataset, method))
            if cost is None or cost.explain_cpu is None:
                row.append("–")
                continue
            text = f"{'≥ ' if cost.n_late else ''}{cost.explain_cpu:.3g}"
            if (
                method != RIVAL
                and rival is not None
                and rival.explain_cpu is not None
                and cost.explain_cpu > 0
            ):
                text += f" ({'≥ ' if rival.n_late else ''}{rival.explain_cpu / cost.explain_cpu:,.0f} ×)"
            row.append(text)
        rows.append(row)
    said = (
        f"CPU seconds of one explanation, graphs one by one; in brackets how many times as long "
        f"{EXPLAINERS[RIVAL].title} takes."
    )
    table = f"{said}\n\n{markdown(['', *(EXPLAINERS[m].title for m in methods)], rows)}"
    return "\n\n".join([table, *_verdicts(costs), *_asked(costs)])


def _verdicts(costs: Costs) -> list[str]:
    """Say on how many data sets an explanation is as much cheaper than the rival's as was aimed at."""
    said = []
    for own in OURS:
        ratios = {}
        for (dataset, method), cost in costs.items():
            rival = costs.get((dataset, RIVAL))
            if method == own and cost.explain_cpu and rival is not None and rival.explain_cpu:
                ratios[dataset] = rival.explain_cpu / cost.explain_cpu
        if ratios:
            below = [f"{dataset} ({ratio:,.0f} ×)" for dataset, ratio in ratios.items() if ratio < AIM]
            title = f"{EXPLAINERS[own].title} against {EXPLAINERS[RIVAL].title}"
            reached = f"{title}: {AIM} × cheaper on {len(ratios) - len(below)} of {len(ratios)}."
            said.append(f"{reached} Less on {', '.join(below)}." if below else reached)
    return said


def _asked(costs: Costs) -> list[str]:
    """Say how much SubgraphX saves by asking about every coalition once, and what it would cost without."""
    shares, ratios = [], []
    for dataset in datasets_in(d for d, _ in costs):
        rival, own = costs.get((dataset, RIVAL)), costs.get((dataset, OURS[0]))
        if rival is None or not rival.n_drawn or not rival.n_asked:
            continue
        shares.append(f"{dataset} {rival.n_asked:,.0f} of {rival.n_drawn:,.0f}")
        if rival.explain_cpu and own is not None and own.explain_cpu:
            as_published = rival.explain_cpu / rival.n_asked * rival.n_drawn
            ratios.append(f"{dataset} {as_published / own.explain_cpu:,.0f} ×")
    said = (
        "Our SubgraphX uses the same random orders for all parts of a graph and asks the network about every "
        "coalition once, in large batches; the published one asks anew every time. Asked, of those drawn for "
        "one explanation"
    )
    words = [f"{said}: {'; '.join(shares)}."] if shares else []
    if ratios:
        title = f"{EXPLAINERS[OURS[0]].title} against it"
        words.append(f"At the same price for every coalition drawn, {title}: {'; '.join(ratios)}.")
    return words


def _part_table(costs: Costs) -> str:
    """Return every part of the cost, the sum over the whole test part, and where curves cross."""
    rows = []
    for dataset in datasets_in(d for d, _ in costs):
        for method in methods_in(m for d, m in costs if d == dataset):
            cost = costs[dataset, method]
            rows.append(
                [
                    dataset,
                    EXPLAINERS[method].title,
                    "–" if cost.tuning is None else f"{cost.tuning:.3g}",
                    _both(cost.mining, cost.mining_cpu) if cost.mining_cpu else "–",
                    _both(cost.fit, cost.fit_cpu),
                    _both(cost.predict, cost.predict_cpu, 1000),
                    _both(cost.explain, cost.explain_cpu),
                    f"{cost.n_graphs} of {cost.n_test}"
                    + (f", {cost.n_late} not finished" if cost.n_late else ""),
                    "–" if cost.explain is None or cost.fit is None else f"{cost.total(cost.n_test):,.3g}",
                    _crossing(cost, costs.get((dataset, RIVAL))),
                ]
            )
    header = [
        "",
        "",
        "tuning, s",
        "mining, s",
        "fit, s",
        "predict, ms a graph",
        "explain, s a graph",
        "graphs",
    ]
    header += ["all test graphs, CPU s", f"cheaper than {EXPLAINERS[RIVAL].title} from"]
    said = "Wall / CPU time. Mining is what it took when programs were mined, tuning wall time of all trials."
    return f"{said}\n\n{markdown(header, rows)}"


def _both(wall: float | None, cpu: float | None, factor: float = 1) -> str:
    return "–" if wall is None or cpu is None else f"{factor * wall:.3g} / {factor * cpu:.3g}"


def _crossing(cost: Cost, rival: Cost | None) -> str:
    """Say from which number of explained graphs on the sum is below the rival's."""
    if rival is None or cost.method == RIVAL or None in (cost.explain, cost.fit, rival.explain, rival.fit):
        return "–"
    each = rival.total(1) - rival.total(0) - (cost.total(1) - cost.total(0))
    ahead = cost.total(0) - rival.total(0)
    if each <= 0:
        return "the first" if ahead < 0 else "never"
    first = max(1, int(ahead / each) + 1)
    return "the first" if first == 1 else f"graph {first}"


def costs_csv(costs: Costs) -> str:
    """Return one line per explainer and data set."""
    names = [
        "tuning",
        "mining",
        "mining_cpu",
        "fit",
        "fit_cpu",
        "predict",
        "predict_cpu",
        "explain",
        "explain_cpu",
    ]
    names += ["n_graphs", "n_late", "n_test", "n_drawn", "n_asked"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["dataset", "method", *names])
    for dataset in datasets_in(d for d, _ in costs):
        for method in methods_in(m for d, m in costs if d == dataset):
            values = [getattr(costs[dataset, method], name) for name in names]
            writer.writerow([dataset, method, *("" if v is None else f"{v:.6g}" for v in values)])
    return text.getvalue()
