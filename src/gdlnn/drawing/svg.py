"""SVG by hand: numbers, text that is wrapped and shortened, colours that everybody can tell apart."""

from __future__ import annotations

import textwrap
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    import os

# Okabe and Ito's colours, which people with any kind of colour blindness can tell apart; without black and
# without the yellow that vanishes on white.
COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#D55E00", "#0072B2")
INK, QUIET, FAINT, PAPER = "#1a1a1a", "#8c8c8c", "#d4d4d4", "#ffffff"
FONT = "font-family='DejaVu Sans, Verdana, Helvetica, Arial, sans-serif'"


def colour(number: int) -> str:
    """Return the colour of a program by its number among those that are shown."""
    return COLOURS[number % len(COLOURS)]


def ink_on(fill: str) -> str:
    """Return black or white, whichever is read better on a colour."""
    red, green, blue = (int(fill[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else PAPER


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


def document(width: float, height: float, body: list[str], title: str) -> str:
    """Return a whole picture; it scales with its place and brings a title for those who cannot see it."""
    size = f"viewBox='0 0 {num(width)} {num(height)}' width='{num(width)}' height='{num(height)}'"
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img' {FONT}>",
            f"<title>{escape(title)}</title>",
            f"<rect width='100%' height='100%' fill='{PAPER}'/>",
            *body,
            "</svg>\n",
        ]
    )


def write_text(path: str | os.PathLike[str], content: str) -> None:
    """Write a file that appears when it is complete."""
    with atomic_write(Path(path)) as file:
        file.write(content.encode())
