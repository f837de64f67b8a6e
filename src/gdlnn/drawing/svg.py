"""SVG by hand: numbers, text, lines, and a picture as a part of a page or a file of its own.

Colors are classes of `page/drawing.css`, never attributes: pages with a strict security policy show them in
both themes. In files of their own, pictures have the colors of both themes filled in.
"""

from __future__ import annotations

import math
import re
import textwrap
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from gdlnn.drawing.pages import page_file
from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

_SHEET = "gdlnn.drawing/drawing.css"
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def num(value: float) -> str:
    """Return a coordinate, short, and the same on every machine."""
    text = f"{value:.1f}"
    return "0" if text == "-0.0" else text.removesuffix(".0")


def text(x: float, y: float, words: str, classes: str = "") -> str:
    """Return a line of text."""
    look = f" class='{classes}'" if classes else ""
    return f"<text{look} x='{num(x)}' y='{num(y)}'>{escape(words)}</text>"


def polyline(points: Iterable[tuple[float, float]], *, closed: bool = False) -> str:
    """Return the data of a path through points: the first one, then steps, which are shorter to write."""
    tenths = [(round(10 * x), round(10 * y)) for x, y in points]
    steps = [(x - u, y - v) for (u, v), (x, y) in pairwise(tenths)]
    data = "".join(f" {num(x / 10)} {num(y / 10)}" for x, y in steps).replace(" -", "-").replace(" 0.", " .")
    first = f"{num(tenths[0][0] / 10)} {num(tenths[0][1] / 10)}".replace(" -", "-")
    return f"M{first}" + (f"l{data.lstrip()}" if steps else "") + ("z" if closed else "")


def arrow_head(start: tuple[float, float], tip: tuple[float, float], long: float, half: float) -> str:
    """Return the data of the path of an arrow's head, whose line comes from a start."""
    (x1, y1), (x2, y2) = start, tip
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    x, y = x2 - dx * long, y2 - dy * long
    return polyline([tip, (x - dy * half, y + dx * half), (x + dy * half, y - dx * half)], closed=True)


def wrapped(words: str, width: int, most_lines: int | None = None) -> list[str]:
    """Return lines of at most `width` characters; a text of too many lines ends in an ellipsis."""
    return textwrap.wrap(words, width, max_lines=most_lines, placeholder="…") or [""]


@dataclass(frozen=True)
class Picture:
    """The parts of a picture, and the box that holds them.

    Attributes
    ----------
    box
        Left, top, right and bottom.
    body
        What is drawn.
    kind
        A class of the picture, such as "molecule".
    n_shown
        How many nodes are drawn; of a very large graph not all.
    """

    box: Box
    body: str
    kind: str = ""
    n_shown: int = 0

    @property
    def width(self) -> float:
        """The width in units of the drawing, which are pixels where there is room."""
        return self.box[2] - self.box[0]

    @property
    def height(self) -> float:
        """The height."""
        return self.box[3] - self.box[1]

    def svg(self, title: str) -> str:
        """Return the picture as a part of a page that has `drawing.css`; screen readers read the title."""
        names = " ".join(filter(None, ("pic", self.kind)))
        return (
            f"<svg class='{names}' {self._size()} role='img'><title>{escape(title)}</title>{self.body}</svg>"
        )

    def document(self, title: str) -> str:
        """Return the picture as a file of its own, with the colors of both themes."""
        x, y, width, height = self._numbers()
        ground = f"<rect class='paper' x='{x}' y='{y}' width='{width}' height='{height}'/>"
        svg = self.svg(title)
        style = _own_style(f"{svg}{ground}")
        head, end, rest = svg.partition("</title>")
        start = head.replace("<svg ", "<svg xmlns='http://www.w3.org/2000/svg' ", 1)
        return f"{start}{end}{style}{ground}{rest}\n"

    def nested(self, x: float, y: float, width: float, height: float) -> str:
        """Return the picture as a part of another one, in a box of this size."""
        place = f"x='{num(x)}' y='{num(y)}' width='{num(width)}' height='{num(height)}'"
        return f"<svg {place} viewBox='{' '.join(self._numbers())}'>{self.body}</svg>"

    def _numbers(self) -> tuple[str, str, str, str]:
        return num(self.box[0]), num(self.box[1]), num(self.width), num(self.height)

    def _size(self) -> str:
        x, y, width, height = self._numbers()
        return f"viewBox='{x} {y} {width} {height}' width='{width}' height='{height}'"


def stacked(parts: Sequence[Picture], gap: float = 0) -> Picture:
    """Return pictures below one another, each in the middle, in the box of the widest."""
    width = max(part.width for part in parts)
    y, body = 0.0, []
    for part in parts:
        body.append(part.nested((width - part.width) / 2, y, part.width, part.height))
        y += part.height + gap
    return Picture((0, 0, width, y - gap), "".join(body))


def write_text(path: str | os.PathLike[str], content: str) -> None:
    """Write a file that appears when it is complete."""
    with atomic_write(Path(path)) as file:
        file.write(content.encode())


# --- styles -----------------------------------------------------------------------------------------------


@cache
def palettes() -> tuple[dict[str, str], dict[str, str]]:
    """Return the colors of pictures by name, in the light and in the dark theme."""
    light, dark = (
        dict(re.findall(r"--pic-([\w-]+):\s*(#\w+)", block))
        for block in re.findall(r":root\s*\{([^}]*)\}", page_file(_SHEET))
    )
    return light, dark


def _own_style(body: str) -> str:
    """Return the style element of a picture in a file of its own: only the rules that it needs.

    Colors are filled in, since programs other than browsers know no CSS variables.
    """
    used = {name for names in re.findall(r"class='([^']*)'", body) for name in names.split()} | {"pic"}
    rules = re.findall(r"^(\.pic[^{,]*?)\s*\{\s*([^}]*?)\s*\}", page_file(_SHEET), re.MULTILINE)
    needed = [rule for rule in rules if set(re.findall(r"\.([\w-]+)", rule[0])) <= used]
    light, dark = palettes()
    both = "".join(f"{selector}{{{_filled(rule, light)}}}" for selector, rule in needed)
    other = "".join(
        f"{selector}{{{_filled(colored, dark)}}}"
        for selector, rule in needed
        if (colored := ";".join(part for part in rule.split(";") if "var(" in part))
    )
    return f"<style>{both}@media screen and (prefers-color-scheme:dark){{{other}}}</style>"


def _filled(rule: str, colors: dict[str, str]) -> str:
    filled = re.sub(r"var\(--pic-([\w-]+)\)", lambda found: colors[found[1]], rule)
    return re.sub(r"\s*([:;,])\s*", r"\1", filled).strip("; ")
