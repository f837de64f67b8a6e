"""The figures of studies as SVG: curves of explanations, sums of costs.

Their background is transparent, and all colors have a contrast of at least 3 to white and to the dark
backgrounds of common themes, so that pages can show them in either theme.
"""

from __future__ import annotations

import io
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from repro.explainers import EXPLAINERS
from repro.tables import datasets_in, rows_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd

# After Okabe and Ito's colors, of middle brightness; shapes repeat the information.
COLORS = ("#d4551b", "#2b7bd1", "#0c8a63", "#c25a9d", "#958000", "#1490b4", "#8c6ad6", "#b8720a", "#777777")
INK = "#767676"
"""The color of text and axes."""
SHAPES = "os^Dv<>PX*hd"
N_COLUMNS = 3
"""Panels in a row."""


@contextmanager
def _figure(width: float, height: float, font_size: int, file: io.BytesIO) -> Iterator[Figure]:
    """Yield a matplotlib figure, which is then written as SVG."""
    # Equal input gives equal bytes: no date, and a fixed salt for the names inside the file.
    settings: Any = {"svg.hashsalt": "gdlnn", "svg.fonttype": "none", "font.size": font_size}
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings |= dict.fromkeys(inked, INK) | {"axes.facecolor": "none", "figure.facecolor": "none"}
    with mpl.rc_context(settings):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        figure.savefig(file, format="svg", metadata={"Date": None})


def draw_curves(curves: dict[tuple[str, str], pd.DataFrame]) -> bytes:
    """Return sparsity (across) against fidelity (up), a line for every explainer."""

    def line(key: tuple[str, str]) -> tuple[list[float], list[float]]:
        return curves[key]["sparsity"].tolist(), curves[key]["fidelity"].tolist()

    return _panels(curves, line, "sparsity", "fidelity", limits=(0, 1.03))


def draw_costs(costs: pd.DataFrame) -> bytes:
    """Return CPU seconds of fitting, predicting and explaining (up) against the graphs explained."""

    def line(key: tuple[str, str]) -> tuple[list[float], list[float]] | None:
        cost = costs.loc[key]
        if np.isnan(cost["each"]):
            return None
        n_test = int(cost["n_test"])
        counts = [float(n) for n in sorted({0, 1, 3, 10, 30, 100, 300, n_test}) if n <= max(1, n_test)]
        return counts, [float(cost["once"] + n * cost["each"]) for n in counts]

    return _panels(costs.index, line, "explained graphs", "CPU seconds", scale="log")


def _panels(
    keys: Iterable[tuple[str, str]],
    line: Callable[[tuple[str, str]], tuple[list[float], list[float]] | None],
    across: str,
    up: str,
    scale: str | None = None,
    limits: tuple[float, float] | None = None,
) -> bytes:
    """Return a panel for every dataset with a line for every explainer.

    `scale` is that of the vertical axis, `limits` are those of the horizontal one.
    """
    found = list(keys)
    shown = rows_in((method for _, method in found), EXPLAINERS)

    def look(method: str) -> dict[str, Any]:
        number = shown.index(method)  # of those shown, so that no color repeats before there are too many
        color = COLORS[number % len(COLORS)]
        return {"marker": SHAPES[number], "color": color, "label": EXPLAINERS[method].title}

    datasets = datasets_in(dataset for dataset, _ in found)
    n_rows = max(1, -(-len(datasets) // N_COLUMNS))
    file = io.BytesIO()
    with _figure(9.0, 0.6 + 2.3 * n_rows, 8, file) as figure:
        grid = figure.subplots(n_rows, N_COLUMNS, squeeze=False).ravel().tolist()
        for axes, dataset in zip(grid, datasets, strict=False):
            for method in shown:
                ends = line((dataset, method)) if (dataset, method) in found else None
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
        handles = [Line2D([], [], markersize=4, **look(method)) for method in shown]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return file.getvalue()
