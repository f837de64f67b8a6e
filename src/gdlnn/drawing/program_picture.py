"""Programs as pictures: parts of molecules as chemists draw them, else a box per node and a line per edge."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from gdlnn.drawing.layout import layout
from gdlnn.drawing.molecule_picture import draw_matched_part
from gdlnn.drawing.svg import Picture, arrow_head, num, polyline, text, wrapped
from gdlnn.errors import GraphError, MissingExtraError
from gdlnn.gdl.wording import feature_conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.gdl.program import Intervals, Program
    from gdlnn.graphs import Feature, Schema

_LETTER, _SMALL, _LINE, _PAD, _HEAD = 6.6, 6.2, 14.0, 6.0, 9.0
_MOST_LINES, _MOST_LETTERS = 4, 20
_CLEAR = re.compile("^(atom|bond|element) (?!other than|in |[0-9≥≤])")  # what need not be said


def draw_program(
    program: Program,
    schema: Schema | None = None,
    *,
    directed: bool = False,
    example: tuple[str, Sequence[int]] | None = None,
) -> str:
    """Return a picture of a program as the text of an SVG file; parameters are as for `program_picture`."""
    picture = program_picture(program, schema, directed=directed, example=example)
    return picture.document(program.describe(schema, directed=directed))


def program_picture(
    program: Program,
    schema: Schema | None = None,
    *,
    directed: bool = False,
    example: tuple[str, Sequence[int]] | None = None,
) -> Picture:
    """Return a picture of a program.

    Parameters
    ----------
    program
        The program.
    schema
        What its features are called.
    directed
        Whether graphs are directed.
    example
        A molecule that the program matches, as SMILES, and for each variable the atom that it stands for. The
        matched atoms are then drawn as chemists draw them.
    """
    if example is not None:
        with suppress(GraphError, MissingExtraError):  # the diagram says the same
            return draw_matched_part(program, example)
    return _diagram(program, schema, directed)


def _diagram(program: Program, schema: Schema | None, directed: bool) -> Picture:
    labels = [_lines(node.intervals, schema.node if schema else None, "any") for node in program.nodes]
    sizes = [(_width(lines), _LINE * len(lines) + 2 * _PAD) for lines in labels]
    position = {variable: i for i, variable in enumerate(program.variables)}
    ends = [(position[e.source], position[e.target]) for e in program.edges]
    conditions = [_lines(edge.intervals, schema.edge if schema else None, "") for edge in program.edges]
    longest = max((len(words) for lines in conditions for words in lines), default=0)
    gap = 16 + _SMALL * longest + (2 * _HEAD if directed else 0)
    places, width, height = _places(len(labels), ends, sizes, gap)
    body, above = [], []
    for words, (u, v) in zip(conditions, ends, strict=True):
        line, labels_of_edge = _edge(places[u], places[v], sizes[u], sizes[v], words, directed)
        body.append(line)
        above += labels_of_edge
    for (x, y), (w, h), lines in zip(places, sizes, labels, strict=True):
        at = f"x='{num(x - w / 2)}' y='{num(y - h / 2)}' width='{num(w)}' height='{num(h)}' rx='8'"
        body.append(f"<rect class='box' {at}/>")
        for i, shown in enumerate(lines):
            look = "mid small soft" if shown == "any" else "mid small"
            body.append(text(x, y - h / 2 + _PAD + _LINE * (i + 0.78), shown, look))
    if not labels:
        body.append(text(width / 2, height / 2 + 4, "matches every graph", "mid small soft"))
    body += above
    return Picture((0, 0, width, height), "".join(body), "program", len(labels))


def _width(lines: list[str]) -> float:
    return max(30.0, max(map(len, lines)) * _LETTER + 2 * _PAD)


def _places(
    n: int, ends: list[tuple[int, int]], sizes: list[tuple[float, float]], gap_wanted: float
) -> tuple[list[tuple[float, float]], float, float]:
    """Place boxes so that none lies on another, with room between them for the conditions of edges."""
    if not n:
        return [], 170.0, 40.0
    raw = layout(n, np.array(ends, dtype=np.int64).reshape(-1, 2))
    boxes = np.array(sizes) + np.array([gap_wanted, 30.0])
    factor = 46.0
    for i in range(n):
        for j in range(i):
            gap = np.abs(raw[i] - raw[j])
            room = (boxes[i] + boxes[j]) / 2
            # Two boxes are apart as soon as they are apart in one direction.
            factor = max(
                factor, min(float(r / g) if g > 1e-6 else math.inf for g, r in zip(gap, room, strict=True))
            )
    factor = min(factor, 400.0)
    boxes = np.array(sizes) + 16
    spots = raw * factor
    low = (spots - boxes / 2).min(axis=0)
    high = (spots + boxes / 2).max(axis=0)
    return [(float(x), float(y)) for x, y in spots - low], float(high[0] - low[0]), float(high[1] - low[1])


def _edge(
    start: tuple[float, float],
    end: tuple[float, float],
    first: tuple[float, float],
    second: tuple[float, float],
    words: list[str],
    directed: bool,
) -> tuple[str, list[str]]:
    """Return the line of an edge, and what lies above the boxes: its head and its conditions."""
    if start == end:
        x, y = start[0] + first[0] / 2, start[1] - first[1] / 2
        return f"<circle class='b' cx='{num(x)}' cy='{num(y)}' r='9'/>", []
    above = []
    if directed:
        head = arrow_head(start, _rim(start, end, second), _HEAD, 4)
        above.append(f"<path class='w arrow' d='{head}'/>")
    shown = [word for word in words if word]
    (left, top), (right, bottom) = _rim(end, start, first), _rim(start, end, second)
    x, y = (left + right) / 2, (top + bottom) / 2 - 6 * len(shown)
    for word in shown:
        half = len(word) * _SMALL / 2 + 3
        at = f"x='{num(x - half)}' y='{num(y)}' width='{num(2 * half)}' height='12'"
        above.append(f"<rect class='paper' {at}/>{text(x, y + 9.5, word, 'mid small')}")
        y += 12
    return f"<path class='b' d='{polyline([start, end])}'/>", above


def _rim(
    start: tuple[float, float], end: tuple[float, float], box: tuple[float, float]
) -> tuple[float, float]:
    """Return where a line from a start enters the box around its end."""
    (x1, y1), (x2, y2) = start, end
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    reach = min(box[0] / 2 / max(abs(dx), 1e-9), box[1] / 2 / max(abs(dy), 1e-9))
    return x2 - dx * reach, y2 - dy * reach


def _lines(intervals: Intervals | None, features: Sequence[Feature] | None, empty: str) -> list[str]:
    """Return the conditions of a node or an edge, one feature per line."""
    conditions = [_CLEAR.sub("", words) for words in feature_conditions(intervals, features)]
    if not conditions:
        return [empty]
    # The last line says how many conditions are left out.
    longest = _MOST_LINES - (len(conditions) > 1)
    lines: list[str] = []
    parts = [wrapped(words, _MOST_LETTERS, longest) for words in conditions]
    for number, part in enumerate(parts):
        left = len(parts) - number - 1
        if number and len(lines) + len(part) + bool(left) > _MOST_LINES:
            return [*lines, f"and {left + 1} more"]
        lines += part
    return lines
