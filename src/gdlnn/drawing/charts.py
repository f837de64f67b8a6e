"""Charts of a report: curves and points on axes, in the classes of the page."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

from gdlnn.drawing.svg import num

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Place = tuple[float, float]

_MOST_LINES = 5  # classes of a chart
_WIDTH, _HEIGHT = 400, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 22, 14, 42


def calibration_chart(found: Mapping[str, Any]) -> str:
    """Return how often predictions were right against how probable they were said to be."""
    points = found["bins"]
    low = min([0.5, *(p["probability"] for p in points), *(p["interval"][0] for p in points)])
    low = max(0.0, math.floor(low * 10) / 10)
    step = 0.1 if low >= 0.5 else 0.2
    low = 1 - step * math.ceil((1 - low) / step - 1e-9)
    place = _frame((low, 1.0), (low, 1.0))
    ticks = [low + step * i for i in range(round((1 - low) / step) + 1)]
    body = _axes(ticks, ticks, place, "said probability", "share that was right", "{:.0%}")
    body.append(_path([place(low, low), place(1, 1)], "ideal"))
    most = max((p["n"] for p in points), default=1)
    points_in_words = [f"said {p['probability']:.0%}, right {p['right']:.0%} of {p['n']}" for p in points]
    for point, title in zip(points, points_in_words, strict=True):
        x, y = place(point["probability"], point["right"])
        (_, bottom), (_, top) = (place(0, bound) for bound in point["interval"])
        radius = 4 + 5 * math.sqrt(point["n"] / most)
        body.append(f"<line class='bar' x1='{num(x)}' x2='{num(x)}' y1='{num(bottom)}' y2='{num(top)}'/>")
        body.append(
            f"<circle class='point' cx='{num(x)}' cy='{num(y)}' r='{num(radius)}'>"
            f"<title>{escape(title)}</title></circle>"
        )
    return _chart(body, f"Calibration: {'; '.join(points_in_words)}")


def roc_chart(curves: Sequence[Mapping[str, Any]], name: Callable[[Any], str]) -> str:
    """Return the share of each class that is found against the share of others that is taken for it."""
    axes, title = ("others taken for it", "found"), "ROC curve"
    return _shares_chart(curves, "roc", axes, [(0.0, 0.0), (1.0, 1.0)], title, name)


def pr_chart(curves: Sequence[Mapping[str, Any]], name: Callable[[Any], str]) -> str:
    """Return how many of the graphs said to be of a class are, against the share of it that is found."""
    # A model that knows nothing has the share of the class as its precision; several classes have several.
    chance = [(at, curves[0]["share"]) for at in (0.0, 1.0)] if len(curves) == 1 else []
    axes, title = ("found (recall)", "precision"), "Precision and recall"
    return _shares_chart(curves, "pr", axes, chance, title, name)


def _shares_chart(
    curves: Sequence[Mapping[str, Any]],
    key: str,
    axes: tuple[str, str],
    chance: Sequence[tuple[float, float]],
    title: str,
    name: Callable[[Any], str],
) -> str:
    """Return curves over shares from 0 to 1 on both axes, with the line of chance where there is one."""
    if not curves:
        return ""
    place, ticks = _frame((0.0, 1.0), (0.0, 1.0)), [i / 5 for i in range(6)]
    body = _axes(ticks, ticks, place, *axes, "{:.0%}")
    if chance:
        body.append(_path([place(*point) for point in chance], "ideal"))
    body += _curves(curves, key, place, name)
    return _chart(body, f"{title} of {', '.join(name(item['label']) for item in curves)}")


def _curves(
    curves: Sequence[Mapping[str, Any]],
    key: str,
    place: Callable[[float, float], Place],
    name: Callable[[Any], str],
) -> list[str]:
    """Return a line for each class, distinguished by color and dashes, with names where there are several."""
    shown, body = curves[:_MOST_LINES], []
    for number, item in enumerate(shown, start=1):
        body.append(_path([place(x, y) for x, y in item[key]], f"line c{number}"))
        if len(shown) > 1:
            x, y = place(0.45, 0.06 + 0.075 * (len(shown) - number))
            body.append(f"<path class='line c{number}' d='M{num(x)} {num(y - 4)}h22'/>")
            body.append(f"<text x='{num(x + 28)}' y='{num(y)}'>{escape(name(item['label']))}</text>")
    return body


def learning_chart(curve: Sequence[Mapping[str, Any]]) -> str:
    """Return the losses by epoch, on training and validation graphs."""
    lines = {
        name: [(row["epoch"], row[key]) for row in curve if key in row]
        for name, key in (("training", "loss"), ("validation", "val_loss"))
    }
    lines = {name: line for name, line in lines.items() if line}
    largest = max((y for line in lines.values() for _, y in line), default=1.0) or 1.0
    last = max((x for line in lines.values() for x, _ in line), default=1)
    place = _frame((1, max(2, last)), (0, largest * 1.05))
    ticks = sorted({1, *(round(last * i / 4) or 1 for i in range(1, 5))})
    body = _axes(
        ticks, [largest * i / 4 for i in range(5)], place, "epoch", "loss", "{:.2g}", across="{:.0f}"
    )
    for name, line in lines.items():
        body.append(_path([place(x, y) for x, y in line], f"line {name}"))
    for number, name in enumerate(lines):
        y = _TOP + 14 + 18 * number
        x = _WIDTH - _RIGHT - 90
        body.append(f"<line class='line {name}' x1='{x}' x2='{x + 18}' y1='{y - 4}' y2='{y - 4}'/>")
        body.append(f"<text x='{x + 24}' y='{y}'>{name}</text>")
    losses = ", ".join(f"{name} {line[0][1]:.3g} to {line[-1][1]:.3g}" for name, line in lines.items())
    return _chart(body, f"Learning curve over {last} epochs: {losses}")


def scatter_chart(
    points: Sequence[Sequence[float]],
    x_name: str,
    y_name: str,
    *,
    bars: Sequence[Sequence[float]] = (),
    level: float | None = None,
) -> str:
    """Return points on axes, with a bar for each if wanted, and where they should lie.

    That is the diagonal, on axes of the same range, or a level.
    """
    xs, ys = [x for x, _ in points], [y for _, y in points]
    if level is None:
        xs = ys = [*xs, *ys]
    else:
        ys = [*ys, level]
    wide, high = _ticks(min(xs), max(xs)), _ticks(min(ys), max(ys))
    place = _frame((wide[0], wide[-1]), (high[0], high[-1]))
    body = _axes(wide, high, place, x_name, y_name, "{:.3g}")
    ends = (wide[0], wide[-1])
    body.append(_path([place(x, x if level is None else level) for x in ends], "ideal"))
    for (low, top), (x, _) in zip(bars, points, strict=False):
        (a, bottom), (_, above) = place(x, max(low, high[0])), place(x, min(top, high[-1]))
        body.append(f"<line class='bar' x1='{num(a)}' x2='{num(a)}' y1='{num(bottom)}' y2='{num(above)}'/>")
    for x, y in points:
        a, b = place(x, y)
        body.append(f"<circle class='point' cx='{num(a)}' cy='{num(b)}' r='3'/>")
    return _chart(body, f"{y_name} against {x_name} of {len(points)} graphs")


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers that cover a range."""
    size = (high - low) or 1.0
    step = 10.0 ** math.floor(math.log10(size / 2))
    step *= next(factor for factor in (1, 2, 5, 10) if size / (step * factor) <= 6)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [step * n for n in range(first, max(last, first + 1) + 1)]


def _frame(x: tuple[float, float], y: tuple[float, float]) -> Callable[[float, float], Place]:
    across, down = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    wide, high = (x[1] - x[0]) or 1.0, (y[1] - y[0]) or 1.0
    return lambda a, b: (_LEFT + across * (a - x[0]) / wide, _TOP + down * (1 - (b - y[0]) / high))


def _axes(
    xs: Sequence[float],
    ys: Sequence[float],
    place: Callable[[float, float], Place],
    x_name: str,
    y_name: str,
    form: str,
    across: str = "",
) -> list[str]:
    body = []
    for value in ys:
        _, y = place(xs[0], value)
        body.append(f"<line class='grid' x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{num(y)}' y2='{num(y)}'/>")
        body.append(f"<text class='end' x='{_LEFT - 6}' y='{num(y + 4)}'>{form.format(value)}</text>")
    for value in xs:
        x, _ = place(value, ys[0])
        shown = (across or form).format(value)
        body.append(f"<text class='mid' x='{num(x)}' y='{_HEIGHT - _BOTTOM + 17}'>{shown}</text>")
    middle = _LEFT + (_WIDTH - _LEFT - _RIGHT) / 2
    body.append(f"<text class='mid name' x='{num(middle)}' y='{_HEIGHT - 6}'>{escape(x_name)}</text>")
    high = _TOP + (_HEIGHT - _TOP - _BOTTOM) / 2
    body.append(
        f"<text class='mid name' transform='translate(11 {num(high)}) rotate(-90)'>{escape(y_name)}</text>"
    )
    return body


def _path(points: Sequence[Place], name: str) -> str:
    steps = "L".join(f"{num(x)} {num(y)}" for x, y in points)
    return f"<path class='{name}' d='M{steps}'/>"


def _chart(body: Sequence[str], title: str) -> str:
    return (
        f"<svg class='chart' viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img'><title>{escape(title)}</title>"
        f"{''.join(body)}</svg>"
    )
