"""What all pictures of graphs can have: a map of scores, outlines with names, rings and crosses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdlnn.drawing.contour import contour
from gdlnn.drawing.marks import signed
from gdlnn.drawing.svg import Box, num, polyline, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdlnn.drawing.contour import FloatArray
    from gdlnn.drawing.marks import Marks

_LETTER, _LINE = 7.2, 13.0  # about the size of a letter of a name
_GAPS = (5.0, 14.0, 26.0, 40.0)  # tried distances of a name from its outline


def score_map(marks: Marks, places: FloatArray, radius: float) -> str:
    """Return a disc for each node whose score is worth showing, with the figure as its title."""
    discs = []
    for node, (x, y) in enumerate(places.tolist()):
        if level := marks.level(node):
            told = signed((marks.scores or ())[node])
            at = f"cx='{num(x)}' cy='{num(y)}' r='{num(radius)}'"
            discs.append(f"<circle class='{level}' {at}><title>{told}</title></circle>")
    return "".join(discs)


class Outlines:
    """The outlines of programs, and where their names go.

    Parameters
    ----------
    marks
        What to bring out.
    places
        Position of every node.
    reach
        How far the innermost line lies from the nodes.
    """

    def __init__(self, marks: Marks, places: FloatArray, reach: float) -> None:
        lines = {outline.number: line for line, outline in marks.drawn()}
        self.boxes: list[tuple[int, str, Box]] = []
        parts = []
        for outline in marks.outlines:
            line = lines.get(outline.number, 0)
            loops = contour(places, outline.nodes, outline.edges, reach + 2.6 * max(0, line - 1))
            if not loops:
                continue
            look = f"o p{outline.number}" + (f" o{line}" if line else "")
            data = "".join(polyline(loop, closed=True) for loop in loops)
            nodes = " ".join(map(str, sorted(set(outline.nodes))))
            parts.append(f"<path class='{look}' data-nodes='{nodes}' d='{data}'/>")
            if line:
                self.boxes.append((line, outline.label, _box_of([p for loop in loops for p in loop])))
        self.body = "".join(parts)

    def tags(self, taken: Sequence[Box]) -> tuple[str, list[Box]]:
        """Return the names of the outlines where they cover least, and the boxes of those."""
        frame, parts, boxes = bounds(taken), [], list[Box]()
        for line, label, box in self.boxes:
            if not label:
                continue
            others = [other for number, _, other in self.boxes if number != line]
            places = _places(box, len(label) * _LETTER)
            place = places[int(np.argmin(_costs(places, [*taken, *boxes, *others], frame)))]
            boxes.append(place)
            middle = (place[0] + place[2]) / 2
            parts.append(text(middle, place[3] - 3.5, label, f"tag mid t{line}"))
        return "".join(parts), boxes


def _box_of(points: Iterable[tuple[float, float]]) -> Box:
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def _places(box: Box, width: float) -> list[Box]:
    """Return the places for a name of this width around its outline, near ones first."""
    left, top, right, bottom = box
    middle, level = (left + right) / 2, (top + bottom) / 2
    spots = []
    for gap in _GAPS:
        for centre in (middle, left + width / 2, right - width / 2):
            spots += [(centre, top - gap - _LINE / 2), (centre, bottom + gap + _LINE / 2)]
        spots += [(right + gap + width / 2, level), (left - gap - width / 2, level)]
    return [(x - width / 2, y - _LINE / 2, x + width / 2, y + _LINE / 2) for x, y in spots]


def _costs(places: Sequence[Box], hindering: Sequence[Box], frame: Box) -> FloatArray:
    """Return how much a name at each place covers, and how far it makes the picture grow."""
    spots, boxes = np.array(places), np.array(hindering).reshape(-1, 4)
    corner = np.maximum(spots[:, None, :2], boxes[None, :, :2])
    sides = np.clip(np.minimum(spots[:, None, 2:], boxes[None, :, 2:]) - corner, 0, None)
    grown = np.clip(np.array(frame)[:2] - spots[:, :2], 0, None) + np.clip(
        spots[:, 2:] - np.array(frame)[2:], 0, None
    )
    return np.asarray(sides.prod(axis=2).sum(axis=1) + 1.2 * grown.sum(axis=1)).round(3)


def bounds(boxes: Sequence[Box]) -> Box:
    """Return the box that holds all of them."""
    if not boxes:
        return 0.0, 0.0, 40.0, 20.0
    return (
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )


def rings_and_crosses(marks: Marks, places: FloatArray, radius: float) -> str:
    """Return rings around the nodes that are enough, and crosses over those that are gone."""
    body = []
    if marks.kept:
        circles = "".join(_circle(places[node], radius) for node in marks.kept)
        body.append(f"<path class='kept' data-nodes='{' '.join(map(str, marks.kept))}' d='{circles}'/>")
    if marks.gone:
        size = 0.7 * radius
        lines = "".join(
            polyline([(x - size, y - size), (x + size, y + size)])
            + polyline([(x - size, y + size), (x + size, y - size)])
            for x, y in (places[node].tolist() for node in marks.gone)
        )
        body.append(f"<path class='gone' data-nodes='{' '.join(map(str, marks.gone))}' d='{lines}'/>")
    return "".join(body)


def _circle(place: FloatArray, radius: float) -> str:
    x, y = place.tolist()
    r = num(radius)
    return f"M{num(x - radius)} {num(y)}a{r} {r} 0 1 0 {num(2 * radius)} 0a{r} {r} 0 1 0-{num(2 * radius)} 0"
