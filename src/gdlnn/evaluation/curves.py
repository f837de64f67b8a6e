"""From cells to curves: sparsity against fidelity of every explainer on every data set."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.evaluation.explainers import EXPLAINERS
from gdlnn.explain.metrics import fidelity, fidelity_minus, fidelity_plus, sparsity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdlnn.evaluation.cells import Result

LEVELS = (0.0, 0.05, 0.1, 0.15, 0.2)
"""Fidelities at which sparsities are compared; 0 loses no right answer."""
TRUTHS = ("precision", "recall", "jaccard", "auc", "found")
FOUND = 0.5
"""Jaccard index from which on the truth counts as found."""


@dataclass(frozen=True)
class Point:
    """Explanations with one setting, as means over graphs; `docs/explanations.md` has the formulas.

    Attributes
    ----------
    setting
        Number of programs, or share of nodes.
    fidelity_masked
        Fidelity of a network's explanations when the other nodes stay, with features of zero, else None.
    truth
        Agreement with the known truth, of the graphs that have one; empty where none has. "found" is the
        share with a Jaccard index of at least 0.5 among those that the model gets right.
    """

    setting: float
    sparsity: float
    fidelity: float
    fidelity_plus: float
    fidelity_minus: float
    empty: float
    fidelity_masked: float | None = None
    truth: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Curve:
    """An explainer on a data set.

    Attributes
    ----------
    points
        In the order of the sweep; empty where nothing went well.
    n_graphs, n_test
        Graphs that were explained, and test graphs there are.
    n_late
        Graphs that were given up for want of time.
    accuracy
        Of the model, on the graphs that were explained.
    reasons
        Why cells failed or were given up.
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
            Take the fidelity with masked nodes of a network's explanations.
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


def curves_of(cells: Iterable[Result]) -> dict[tuple[str, str], Curve]:
    """Return the curves of a study by data set and explainer."""
    return {key: _curve(*key, several) for key, several in cells_together(cells).items()}


def cells_together(cells: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """Return by data set and explainer the cells that belong together.

    Where there are cells of several samples, seeds or configurations, those with the most graphs count.
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
    late = [cell for cell in cells if cell["status"] == "late"]
    reasons = tuple(dict.fromkeys(cell["reason"] for cell in cells if cell["status"] != "ok"))
    n_test = max((cell["sizes"][2] for cell in cells if "sizes" in cell), default=0)
    n_late = sum(len(cell["rows"]) for cell in late)
    if not graphs:
        return Curve(dataset, method, (), 0, n_test, n_late, None, reasons)
    n_settings = len(graphs[0]["points"])
    points = tuple(_point(graphs, i) for i in range(n_settings))
    accuracy = float(np.mean([graph["predicted"] == graph["truth"] for graph in graphs]))
    return Curve(dataset, method, points, len(graphs), n_test, n_late, accuracy, reasons)


def _point(graphs: Sequence[Result], index: int) -> Point:
    rows = [graph["points"][index] for graph in graphs]
    truth = [graph["truth"] for graph in graphs]
    whole = [graph["predicted"] for graph in graphs]
    part = [row["predicted_part"] for row in rows]
    return Point(
        setting=rows[0]["setting"],
        sparsity=sparsity([row["n_nodes"] for row in rows], [graph["n_nodes"] for graph in graphs]),
        fidelity=fidelity(truth, whole, part),
        fidelity_plus=fidelity_plus(whole, [row["predicted_rest"] for row in rows]),
        fidelity_minus=fidelity_minus(whole, part),
        empty=float(np.mean([row["n_nodes"] == 0 for row in rows])),
        fidelity_masked=_masked(truth, whole, rows),
        truth=_agreement(graphs, rows),
    )


def _masked(truth: list[Any], whole: list[Any], rows: Sequence[Result]) -> float | None:
    if any("predicted_masked" not in row for row in rows):
        return None
    return fidelity(truth, whole, [row["predicted_masked"] for row in rows])


def _agreement(graphs: Sequence[Result], rows: Sequence[Result]) -> dict[str, float]:
    known = [row["truth"] for row in rows if row["truth"] is not None]
    if not known:
        return {}
    found = [
        row["truth"]["jaccard"] >= FOUND
        for graph, row in zip(graphs, rows, strict=True)
        if row["truth"] is not None and graph["predicted"] == graph["truth"]
    ]
    means = {name: _mean(known, name) for name in TRUTHS if name != "found"}
    return {**means, "found": float(np.mean(found)) if found else float("nan")}


def _mean(rows: Sequence[Result], name: str) -> float:
    values: list[Any] = [row[name] for row in rows if row[name] is not None]
    return float(np.mean(values)) if values else float("nan")
