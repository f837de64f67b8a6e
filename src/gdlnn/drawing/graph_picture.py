"""Graphs as pictures: faint where nothing matters, coloured by program where something does; a legend."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from gdlnn.drawing.layout import fitted, layout
from gdlnn.drawing.svg import (
    FAINT,
    INK,
    PAPER,
    QUIET,
    colour,
    ink_on,
    line,
    num,
    score_colour,
    text,
    weight_text,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdlnn.drawing.layout import FloatArray
    from gdlnn.graphs import Graph

MARGIN = 26
LEAST_SHOWN = 0.05
"""Share of the largest score under which a node stays as it is."""


@dataclass(frozen=True)
class Highlights:
    """What to bring out in a graph.

    Attributes
    ----------
    nodes
        The nodes of the explanation.
    node_programs, edge_programs
        Node, or edge as a pair with the smaller node first, to the numbers of the programs that stand on it.
    removed
        Nodes that are crossed out: the counterfactual.
    scores
        What each node adds; nodes are then filled by it, and programs drawn around them.
    """

    nodes: frozenset[int] = frozenset()
    node_programs: Mapping[int, Sequence[int]] = field(default_factory=dict)
    edge_programs: Mapping[tuple[int, int], Sequence[int]] = field(default_factory=dict)
    removed: frozenset[int] = frozenset()
    scores: Sequence[float] | None = None

    @property
    def largest(self) -> float:
        """The largest score, for or against."""
        return max((abs(score) for score in self.scores or ()), default=0.0)

    def fill(self, node: int) -> str | None:
        """Return the colour of the score of a node; None without scores, or where it is next to nothing."""
        if self.scores is None or abs(self.scores[node]) < LEAST_SHOWN * self.largest or not self.largest:
            return None
        return score_colour(self.scores[node] / self.largest)


def graph_picture(graph: Graph, marks: Highlights, width: float, height: float) -> list[str]:
    """Return the parts of a picture of a graph in a box of this size."""
    places = fitted(layout(graph.n_nodes, graph.edges), width, height, MARGIN)
    size = _radius(graph.n_nodes, width, height)
    body = _edges(graph, marks, places, size)
    order = sorted(range(graph.n_nodes), key=lambda v: v in marks.nodes)  # what matters lies on top
    for node in order:
        x, y = places[node].tolist()
        body += _node(graph, marks, node, x, y, size)
    return body


def _radius(n_nodes: int, width: float, height: float) -> float:
    room = math.sqrt(width * height / max(n_nodes, 1))
    return min(15.0, max(3.0, 0.19 * room))


def _edges(graph: Graph, marks: Highlights, places: FloatArray, size: float) -> list[str]:
    body, above = [], []
    for u, v in graph.edges.tolist():
        (x1, y1), (x2, y2) = places[u].tolist(), places[v].tolist()
        if u == v:
            ring = f"<circle cx='{num(x1)}' cy='{num(y1 - 1.2 * size)}' r='{num(0.8 * size)}' fill='none' "
            body.append(f"{ring}stroke='{INK if u in marks.nodes else FAINT}' stroke-width='1.5'/>")
            continue
        inside = u in marks.nodes and v in marks.nodes
        programs = marks.edge_programs.get((min(u, v), max(u, v)), ())
        for depth, number in enumerate(programs):
            wide = 0.45 * size * (len(programs) - depth) + 3
            above.append(line(x1, y1, x2, y2, colour(number), wide))
        stroke, wide = (INK, 1.6) if inside else (FAINT, max(0.8, 0.12 * size))
        (above if inside else body).append(line(x1, y1, x2, y2, stroke, wide))
        if graph.directed:
            (above if inside else body).append(_arrow(x1, y1, x2, y2, size, stroke))
    return body + above


def _arrow(x1: float, y1: float, x2: float, y2: float, size: float, fill: str) -> str:
    """Return the head of an arrow that ends at the rim of the second node."""
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    tip = (x2 - dx * size, y2 - dy * size)
    back = (tip[0] - dx * 7, tip[1] - dy * 7)
    points = [tip, (back[0] - dy * 3.2, back[1] + dx * 3.2), (back[0] + dy * 3.2, back[1] - dx * 3.2)]
    return f"<polygon points='{' '.join(f'{num(x)},{num(y)}' for x, y in points)}' fill='{fill}'/>"


def _node(graph: Graph, marks: Highlights, node: int, x: float, y: float, size: float) -> list[str]:
    programs = list(marks.node_programs.get(node, ()))
    if marks.scores is not None:
        return _scored_node(graph, marks, node, x, y, size)
    inside = node in marks.nodes or bool(programs)
    title = f"<title>node {node}{_values(graph, node)}</title>"
    if not inside:
        circle = f"<circle cx='{num(x)}' cy='{num(y)}' r='{num(0.62 * size)}' fill='{FAINT}'>{title}</circle>"
        return [circle, *(_cross(x, y, size) if node in marks.removed else [])]
    fill = colour(programs[0]) if programs else PAPER
    body = [f"<circle cx='{num(x)}' cy='{num(y)}' r='{num(size)}' fill='{fill}'>{title}</circle>"]
    if len(programs) > 1:
        body += _sectors(x, y, size, programs)
    body.append(
        f"<circle cx='{num(x)}' cy='{num(y)}' r='{num(size)}' fill='none' stroke='{INK}' stroke-width='2'/>"
    )
    label = node_label(graph, node)
    if label and size >= 6:
        ink = ink_on(fill) if len(programs) <= 1 else INK
        words = text(
            x, y + 0.36 * size, label, min(1.15 * size, 2.2 * size / len(label)), ink, "middle", "bold"
        )
        if len(programs) > 1:  # a halo, since no ink is read well on several colours
            body.append(words.replace("<text", f"<text stroke='{PAPER}' stroke-width='4'", 1))
        body.append(words)
    if node in marks.removed:
        body += _cross(x, y, size)
    return body


def _scored_node(graph: Graph, marks: Highlights, node: int, x: float, y: float, size: float) -> list[str]:
    """Return a node filled by its score, with a ring for each program that lies on it."""
    fill, scores = marks.fill(node) or PAPER, marks.scores or ()
    title = f"<title>node {node}{_values(graph, node)}: {scores[node]:+.2f}</title>"
    shown = node in marks.nodes
    stroke, wide = (INK, 2.0) if shown else (QUIET, 1.0)
    at = f"cx='{num(x)}' cy='{num(y)}'"
    look = f"fill='{fill}' stroke='{stroke}' stroke-width='{num(wide)}'"
    circle = f"<circle {at} r='{num(size)}' {look}>{title}</circle>"
    body = [*score_rings(marks, node, x, y, size), circle]
    label = node_label(graph, node)
    if label and size >= 6:
        points = min(1.15 * size, 2.2 * size / len(label))
        body.append(text(x, y + 0.36 * size, label, points, INK, "middle", "bold" if shown else ""))
    return body


def score_rings(marks: Highlights, node: int, x: float, y: float, size: float) -> list[str]:
    """Return rings in the colours of the programs that lie on a node, one inside the other."""
    programs = list(marks.node_programs.get(node, ()))[:3]
    return [
        f"<circle cx='{num(x)}' cy='{num(y)}' r='{num(size + 2.5 + 3 * (len(programs) - 1 - i))}' "
        f"fill='{PAPER}' stroke='{colour(number)}' stroke-width='3'/>"
        for i, number in enumerate(programs)
    ]


def _sectors(x: float, y: float, size: float, programs: Sequence[int]) -> list[str]:
    body = []
    step = 2 * math.pi / len(programs)
    for i, number in enumerate(programs):
        first, last = i * step - math.pi / 2, (i + 1) * step - math.pi / 2
        x1, y1 = x + size * math.cos(first), y + size * math.sin(first)
        x2, y2 = x + size * math.cos(last), y + size * math.sin(last)
        large = 1 if step > math.pi else 0
        body.append(
            f"<path d='M{num(x)} {num(y)}L{num(x1)} {num(y1)}A{num(size)} {num(size)} 0 {large} 1 "
            f"{num(x2)} {num(y2)}Z' fill='{colour(number)}' pointer-events='none'/>"
        )
    return body


def _cross(x: float, y: float, size: float) -> list[str]:
    reach = 1.3 * size
    return [
        line(x - reach, y - reach, x + reach, y + reach, INK, 3),
        line(x - reach, y + reach, x + reach, y - reach, INK, 3),
    ]


def node_label(graph: Graph, node: int, column: int = 0, longest: int = 5) -> str:
    """Return the label of a node: the value of a feature, cut to three characters if it is too long."""
    if not graph.node_features.shape[1]:
        return ""
    value = float(graph.node_features[node, column])
    name = graph.schema.node[column].value_name(value) if graph.schema else f"{value:g}"
    return name if len(name) <= longest else name[:3]


def _values(graph: Graph, node: int) -> str:
    row = graph.node_features[node].tolist()
    if graph.schema is None:
        return ": " + ", ".join(f"{value:g}" for value in row) if row else ""
    pairs = zip(graph.schema.node, row, strict=True)
    return ": " + escape(", ".join(f"{f.name} {f.value_name(value)}" for f, value in pairs)) if row else ""


# --- the legend ---------------------------------------------------------------------------------------------

_LETTERS = 74


class LegendRow(NamedTuple):
    """A program of a legend: the number of its colour or None, weight, words, and whether it is there."""

    number: int | None
    weight: float
    words: str
    present: bool


def draw_legend(rows: Sequence[LegendRow], note: str, width: float, top: float) -> tuple[list[str], float]:
    """Return the parts of a legend that begins at `top`, and the height at which it ends.

    Each program has a row: its colour (a dashed ring if absent), weight, state and words. The note is last.
    """
    body = [f"<line x1='14' y1='{num(top)}' x2='{num(width - 14)}' y2='{num(top)}' stroke='{FAINT}'/>"]
    largest = max((abs(row.weight) for row in rows), default=1.0) or 1.0
    y = top + 8
    for i, row in enumerate(rows, 1):
        lines = wrapped(row.words, _LETTERS, 3)
        dashes = "" if row.present else " stroke-dasharray='3 2'"
        empty = f"fill='none' stroke='{QUIET}'{dashes}"
        look = empty if row.number is None else f"fill='{colour(row.number)}' stroke='{INK}'"
        body.append(f"<circle cx='24' cy='{num(y + 10)}' r='8' {look}/>")
        body.append(text(38, y + 14, f"P{i}", 12, INK, weight="bold"))
        length = 46 * abs(row.weight) / largest
        fill = INK if row.weight > 0 else QUIET
        body.append(f"<rect x='62' y='{num(y + 4)}' width='{num(max(length, 1))}' height='5' fill='{fill}'/>")
        state = "present" if row.present else "absent"
        body.append(text(62, y + 22, weight_text(row.weight), 10, INK))
        side = "for" if row.weight > 0 else "against"
        body.append(text(118, y + 12, f"{state}, speaks {side}", 10, QUIET))
        for number, words in enumerate(lines):
            body.append(text(118, y + 25 + 13 * number, words, 11, INK))
        y += 32 + 13 * max(len(lines) - 1, 0)
    for part in wrapped(note, _LETTERS + 16, 3):
        body.append(text(14, y + 14, part, 11, QUIET))
        y += 14
    return body, y + 14
