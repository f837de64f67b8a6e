"""The figure of a study: every method's mean and interval on every data set, as SVG."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from gdlnn.errors import require
from gdlnn.evaluation.methods import find_method
from gdlnn.evaluation.tables import TITLES, Entries, datasets_of, methods_of

if TYPE_CHECKING:
    from collections.abc import Sequence

# Okabe and Ito's colours, which colour-blind people can tell apart; shapes say the same again.
COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#999999")
SHAPES = "os^Dv<>PX*hd"


def draw(entries: Entries, metric: str) -> bytes:
    """Return the figure as SVG.

    Raises
    ------
    MissingExtraError
        Where matplotlib is not installed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matplotlib: Any = require("matplotlib", "baselines", "The figure of a study")
        figures: Any = require("matplotlib.figure", "baselines", "The figure of a study")
    datasets, methods = datasets_of(entries), methods_of(entries)
    # Equal input gives equal bytes: no date, and a fixed salt for the names inside the file.
    with matplotlib.rc_context({"svg.hashsalt": "gdlnn", "svg.fonttype": "none", "font.size": 9}):
        figure = figures.Figure(figsize=(max(6.0, 2.5 + 1.25 * len(datasets)), 3.8), layout="constrained")
        axes = figure.add_subplot()
        for number, method in enumerate(methods):
            _draw_method(axes, entries, method, number, len(methods), datasets, metric)
        axes.set_xticks(range(len(datasets)), datasets)
        axes.set_ylabel(TITLES[metric] + ("" if metric == "mcc" else ", %"))
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def _draw_method(
    axes: Any,
    entries: Entries,
    method: str,
    number: int,
    n_methods: int,
    datasets: Sequence[str],
    metric: str,
) -> None:
    x, y, half = [], [], []
    factor = 1 if metric == "mcc" else 100
    for place, dataset in enumerate(datasets):
        entry = entries.get((dataset, method))
        mean = None if entry is None else entry.means.get(metric)
        if entry is None or mean is None:
            continue
        x.append(place + 0.8 * ((number + 0.5) / n_methods - 0.5))
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
        label=find_method(method).title,
    )
