"""The figures of the studies of explanations and of cost: a panel for every data set, as SVG."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from gdlnn.errors import require
from gdlnn.evaluation.explain_tables import datasets_in, methods_in
from gdlnn.evaluation.explainers import EXPLAINERS
from gdlnn.evaluation.figure import COLOURS, SHAPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gdlnn.evaluation.cost import Costs
    from gdlnn.evaluation.explain_tables import Curves

COLUMNS = 3


def draw_curves(curves: Curves) -> bytes:
    """Return sparsity (across) against fidelity (up), a line for every explainer.

    Raises
    ------
    MissingExtraError
        Where matplotlib is not installed.
    """

    def panel(axes: Any, dataset: str) -> None:
        for method in methods_in(m for d, m in curves if d == dataset):
            points = curves[dataset, method].points
            across, up = [p.sparsity for p in points], [p.fidelity for p in points]
            axes.plot(across, up, linewidth=1.0, markersize=3.5, **_look(method))

    return _panels(datasets_in(d for d, _ in curves), panel, "sparsity", "fidelity", (m for _, m in curves))


def draw_costs(costs: Costs) -> bytes:
    """Return seconds of fitting, predicting and explaining (up) against the number of explained graphs.

    Raises
    ------
    MissingExtraError
        Where matplotlib is not installed.
    """

    def panel(axes: Any, dataset: str) -> None:
        for method in methods_in(m for d, m in costs if d == dataset):
            cost = costs[dataset, method]
            if cost.explain is None:
                continue
            counts = sorted({0, 1, 3, 10, 30, 100, 300, cost.n_test})
            counts = [n for n in counts if n <= max(1, cost.n_test)]
            axes.plot(counts, [cost.total(n) for n in counts], linewidth=1.0, markersize=3.5, **_look(method))
        axes.set_yscale("log")

    names = (m for _, m in costs)
    return _panels(datasets_in(d for d, _ in costs), panel, "explained graphs", "CPU seconds", names)


def _look(method: str) -> dict[str, Any]:
    number = list(EXPLAINERS).index(method)
    return {"marker": SHAPES[number], "color": COLOURS[number], "label": EXPLAINERS[method].title}


def _panels(
    datasets: list[str], panel: Callable[[Any, str], None], across: str, up: str, methods: Iterable[str]
) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matplotlib: Any = require("matplotlib", "baselines", "The figure of a study")
        figures: Any = require("matplotlib.figure", "baselines", "The figure of a study")
        lines: Any = require("matplotlib.lines", "baselines", "The figure of a study")
    n_rows = max(1, -(-len(datasets) // COLUMNS))
    # Equal input gives equal bytes: no date, and a fixed salt for the names inside the file.
    with matplotlib.rc_context({"svg.hashsalt": "gdlnn", "svg.fonttype": "none", "font.size": 8}):
        figure = figures.Figure(figsize=(9.0, 0.6 + 2.3 * n_rows), layout="constrained")
        grid = figure.subplots(n_rows, COLUMNS, squeeze=False).ravel().tolist()
        for axes, dataset in zip(grid, datasets, strict=False):
            panel(axes, dataset)
            axes.set_title(dataset, fontsize=9)
            axes.set_xlabel(across)
            axes.set_ylabel(up)
            axes.grid(color="#dddddd", linewidth=0.6)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
        for axes in grid[len(datasets) :]:
            axes.set_visible(False)
        handles = [lines.Line2D([], [], markersize=4, **_look(method)) for method in methods_in(methods)]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
