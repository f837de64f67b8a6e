"""The figures of studies as SVG: accuracies of methods, curves of explanations, sums of costs.

Their background is transparent, and all colours have a contrast of at least 3 to white and to the dark
backgrounds of common themes, so that pages can show them in either theme.
"""

from __future__ import annotations

import io
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gdlnn.errors import require
from repro.methods import EXPLAINERS, METHODS, VARIANTS, row_title
from repro.statistics import TITLES
from repro.tables import datasets_in, methods_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from repro.cost import Costs
    from repro.curves import Curves
    from repro.statistics import Entries

# After Okabe and Ito's colours, of middle brightness; shapes repeat the information.
COLOURS = ("#d4551b", "#2b7bd1", "#0c8a63", "#c25a9d", "#958000", "#1490b4", "#8c6ad6", "#b8720a", "#777777")
INK = "#767676"
"""The colour of text and axes."""
SHAPES = "os^Dv<>PX*hd"
N_COLUMNS = 3
"""Panels in a row."""


@contextmanager
def _figure(width: float, height: float, font_size: int, file: io.BytesIO) -> Iterator[tuple[Any, Any]]:
    """Yield a matplotlib figure and the class of its lines; the figure is then written as SVG."""
    purpose = "The figure of a study"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matplotlib: Any = require("matplotlib", "repro", purpose)
        figures: Any = require("matplotlib.figure", "repro", purpose)
        lines: Any = require("matplotlib.lines", "repro", purpose)
    # Equal input gives equal bytes: no date, and a fixed salt for the names inside the file.
    settings: dict[str, Any] = {"svg.hashsalt": "gdlnn", "svg.fonttype": "none", "font.size": font_size}
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings |= dict.fromkeys(inked, INK) | {"axes.facecolor": "none", "figure.facecolor": "none"}
    with matplotlib.rc_context(settings):
        figure = figures.Figure(figsize=(width, height), layout="constrained")
        yield figure, lines.Line2D
        figure.savefig(file, format="svg", metadata={"Date": None})


def draw_accuracy(entries: Entries, metric: str) -> bytes:
    """Return the mean and interval of every row of the tables on every dataset.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed; so do the other figures.
    """
    datasets, rows = datasets_in(entries), methods_in(entries, (*METHODS, *VARIANTS))
    factor = 1 if metric == "mcc" else 100
    file = io.BytesIO()
    with _figure(max(6.0, 2.5 + 1.25 * len(datasets)), 3.8, 9, file) as (figure, _):
        axes = figure.add_subplot()
        for number, row in enumerate(rows):
            x, y, half = [], [], []
            for place, dataset in enumerate(datasets):
                entry = entries.get((dataset, row))
                mean = None if entry is None else entry.means.get(metric)
                if entry is None or mean is None:
                    continue
                x.append(place + 0.8 * ((number + 0.5) / len(rows) - 0.5))
                y.append(factor * mean)
                half.append(factor * (entry.intervals.get(metric) or 0.0))
            axes.errorbar(
                x,
                y,
                yerr=half,
                fmt=SHAPES[number % len(SHAPES)],
                color=COLOURS[number % len(COLOURS)],
                markersize=4,
                elinewidth=0.9,
                label=row_title(row),
            )
        axes.set_xticks(range(len(datasets)), datasets)
        axes.set_ylabel(TITLES[metric] + ("" if metric == "mcc" else ", %"))
        axes.grid(axis="y", color=INK, alpha=0.3, linewidth=0.6)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return file.getvalue()


def draw_curves(curves: Curves) -> bytes:
    """Return sparsity (across) against fidelity (up), a line for every explainer."""

    def line(dataset: str, method: str) -> tuple[list[float], list[float]]:
        points = curves[dataset, method].points
        return [p.sparsity for p in points], [p.fidelity for p in points]

    return _panels(curves, line, "sparsity", "fidelity", limits=(0, 1.03))


def draw_costs(costs: Costs) -> bytes:
    """Return CPU seconds of fitting, predicting and explaining (up) against the graphs explained."""

    def line(dataset: str, method: str) -> tuple[list[float], list[float]] | None:
        cost = costs[dataset, method]
        if cost.explain is None:
            return None
        counts = [n for n in sorted({0, 1, 3, 10, 30, 100, 300, cost.n_test}) if n <= max(1, cost.n_test)]
        return list(counts), [cost.total(n) for n in counts]

    return _panels(costs, line, "explained graphs", "CPU seconds", scale="log")


def _panels(
    found: Mapping[tuple[str, str], Any],
    line: Callable[[str, str], tuple[list[float], list[float]] | None],
    across: str,
    up: str,
    scale: str | None = None,
    limits: tuple[float, float] | None = None,
) -> bytes:
    """Return a panel for every dataset with a line for every explainer.

    `scale` is that of the vertical axis, `limits` are those of the horizontal one.
    """
    shown = methods_in(found, EXPLAINERS)

    def look(method: str) -> dict[str, Any]:
        number = shown.index(method)  # of those shown, so that no colour repeats before there are too many
        colour = COLOURS[number % len(COLOURS)]
        return {"marker": SHAPES[number], "color": colour, "label": EXPLAINERS[method].title}

    datasets = datasets_in(found)
    n_rows = max(1, -(-len(datasets) // N_COLUMNS))
    file = io.BytesIO()
    with _figure(9.0, 0.6 + 2.3 * n_rows, 8, file) as (figure, line_2d):
        grid = figure.subplots(n_rows, N_COLUMNS, squeeze=False).ravel().tolist()
        for axes, dataset in zip(grid, datasets, strict=False):
            for method in methods_in((key for key in found if key[0] == dataset), EXPLAINERS):
                ends = line(dataset, method)
                if ends is not None:
                    axes.plot(*ends, linewidth=1.0, markersize=3.5, **look(method))
            if scale is not None:
                axes.set_yscale(scale)
            if limits is not None:
                axes.set_xlim(*limits)
            axes.set_title(dataset, fontsize=9)
            axes.set_xlabel(across)
            axes.set_ylabel(up)
            axes.grid(color=INK, alpha=0.3, linewidth=0.6)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
        for axes in grid[len(datasets) :]:
            axes.set_visible(False)
        handles = [line_2d([], [], markersize=4, **look(method)) for method in shown]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return file.getvalue()
