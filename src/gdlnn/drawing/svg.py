"""SVG by hand: shapes, text that is wrapped and shortened, colours that everybody can tell apart; charts."""

from __future__ import annotations

import math
import textwrap
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

Place = tuple[float, float]

# Okabe and Ito's colours, which people with any kind of colour blindness can tell apart; without black and
# without the yellow that vanishes on white.
COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#D55E00", "#0072B2")
INK, QUIET, FAINT, PAPER = "#1a1a1a", "#8c8c8c", "#d4d4d4", "#ffffff"
# CSS variables of our pages, which have other values in dark mode.
PAGE_COLOURS = {INK: "var(--ink)", QUIET: "var(--quiet)", PAPER: "var(--card)"}
FONT = "font-family='DejaVu Sans, Verdana, Helvetica, Arial, sans-serif'"


def colour(number: int) -> str:
    """Return the colour of a program by its number among those that are shown."""
    return COLOURS[number % len(COLOURS)]


def ink_on(fill: str) -> str:
    """Return black or white, whichever is read better on a colour."""
    red, green, blue = (int(fill[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else PAPER


FOR, AGAINST = "#D55E00", "#0072B2"
"""What speaks for a class, and what against it: two hues that everybody can tell apart."""


def score_colour(share: float) -> str:
    """Return the colour of a score, as a share of the largest from -1 to 1; 0 is white."""
    full = FOR if share > 0 else AGAINST
    strength = 0.75 * min(1.0, abs(share)) ** 0.8
    parts = (round(255 + (int(full[i : i + 2], 16) - 255) * strength) for i in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in parts)


def score_legend(largest: float, x: float, y: float) -> list[str]:
    """Return the scale of a map of scores: against, nothing, for, in log odds."""
    cells = 11
    body = []
    for cell in range(cells):
        fill = score_colour(2 * cell / (cells - 1) - 1)
        body.append(f"<rect x='{num(x + 10 * cell)}' y='{num(y)}' width='10' height='9' fill='{fill}'/>")
    frame = f"<rect x='{num(x)}' y='{num(y)}' width='{10 * cells}' height='9' fill='none' stroke='{QUIET}'/>"
    words = f"log odds of each node: against −{largest:.2g}"
    return [
        text(x - 6, y + 8.5, words, 10, QUIET, "end"),
        *body,
        frame,
        text(x + 10 * cells + 6, y + 8.5, f"+{largest:.2g} for", 10, QUIET),
    ]


def num(value: float) -> str:
    """Return a coordinate, short, and the same on every machine."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def weight_text(weight: float) -> str:
    """Return a weight with its sign, however small it is."""
    return f"{weight:+.3f}" if abs(weight) >= 0.001 or weight == 0 else f"{weight:+.0e}"


def text(
    x: float, y: float, words: str, size: float = 12, fill: str = INK, anchor: str = "start", weight: str = ""
) -> str:
    """Return a line of text."""
    bold = f" font-weight='{weight}'" if weight else ""
    place = f" text-anchor='{anchor}'" if anchor != "start" else ""
    look = f"font-size='{num(size)}' fill='{fill}'{place}{bold}"
    return f"<text x='{num(x)}' y='{num(y)}' {look}>{escape(words)}</text>"


def line(x1: float, y1: float, x2: float, y2: float, stroke: str, width: float, extra: str = "") -> str:
    """Return a line."""
    return (
        f"<line x1='{num(x1)}' y1='{num(y1)}' x2='{num(x2)}' y2='{num(y2)}' stroke='{stroke}' "
        f"stroke-width='{num(width)}' stroke-linecap='round'{extra}/>"
    )


def wrapped(words: str, width: int, most: int) -> list[str]:
    """Return lines of at most `width` characters, the last one shortened where there are more than `most`."""
    lines = textwrap.wrap(words, width, break_long_words=True) or [""]
    if len(lines) <= most:
        return lines
    kept = lines[:most]
    kept[-1] = textwrap.shorten(kept[-1], max(2, width - 2), placeholder="") + " …"
    return kept


_GROUND = f"<rect width='100%' height='100%' fill='{PAPER}'/>"


def document(width: float, height: float, body: list[str], title: str) -> str:
    """Return a whole picture; it scales with its place and brings a title for those who cannot see it."""
    size = f"viewBox='0 0 {num(width)} {num(height)}' width='{num(width)}' height='{num(height)}'"
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img' {FONT}>",
            f"<title>{escape(title)}</title>",
            _GROUND,
            *body,
            "</svg>\n",
        ]
    )


def in_page_colours(svg: str) -> str:
    """Return an SVG picture without background, in the CSS colours of the page that shows it."""
    svg = svg.replace(f"{_GROUND}\n", "")
    for code, variable in PAGE_COLOURS.items():
        svg = svg.replace(f"'{code}'", f"'{variable}'")
    return svg


def moved_down(body: Sequence[str], by: float) -> list[str]:
    """Return the parts of a picture, moved down by so many units."""
    return [f"<g transform='translate(0 {num(by)})'>", *body, "</g>"]


def write_text(path: str | os.PathLike[str], content: str) -> None:
    """Write a file that appears when it is complete."""
    with atomic_write(Path(path)) as file:
        file.write(content.encode())


# --- charts, in the colours of the page ---------------------------------------------------------------------

_WIDTH, _HEIGHT = 400, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 22, 14, 42


def calibration_chart(found: Mapping[str, Any]) -> str:
    """Return how often predictions were right against how probable they were said to be."""
    points = found["bins"]
    low = min([0.5, *(p["probability"] for p in points), *(p["interval"][0] for p in points)])
    low = max(0.0, math.floor(low * 10) / 10)
    place = _frame((low, 1.0), (low, 1.0))
    ticks = [low + (1 - low) * i / 5 for i in range(6)]
    body = _axes(ticks, ticks, place, "said probability", "share that was right", "{:.0%}")
    body.append(_path([place(low, low), place(1, 1)], "ideal"))
    most = max((p["n"] for p in points), default=1)
    told = [f"said {p['probability']:.0%}, right {p['right']:.0%} of {p['n']} graphs" for p in points]
    for point, title in zip(points, told, strict=True):
        x, y = place(point["probability"], point["right"])
        (_, bottom), (_, top) = (place(0, bound) for bound in point["interval"])
        radius = 4 + 5 * math.sqrt(point["n"] / most)
        body.append(f"<line class='bar' x1='{num(x)}' x2='{num(x)}' y1='{num(bottom)}' y2='{num(top)}'/>")
        body.append(
            f"<circle class='point' cx='{num(x)}' cy='{num(y)}' r='{num(radius)}'>"
            f"<title>{escape(title)}</title></circle>"
        )
    return _chart(body, f"Calibration: {'; '.join(told)}")


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
    told = ", ".join(f"{name} {line[0][1]:.3g} to {line[-1][1]:.3g}" for name, line in lines.items())
    return _chart(body, f"Learning curve over {last} epochs: {told}")


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
