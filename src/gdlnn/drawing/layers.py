"""What all pictures of graphs can have: a map of scores and its legend, outlines, rings and crosses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import shapely

from gdlnn.drawing.marks import LEVELS, signed
from gdlnn.drawing.svg import Box, Picture, num, polyline, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdlnn.drawing.marks import Marks

FloatArray = npt.NDArray[np.float64]
LETTER, LINE = 7.2, 13.0  # about the size of a letter of a name
_GAPS = (5.0, 14.0, 26.0, 40.0)  # tried distances of a name from its outline
_SLACK = 0.35  # how far a simplified line may lie from the contour


def score_map(marks: Marks, places: FloatArray, radius: float) -> str:
    """Return a disc for each node whose score is worth showing, with the figure as its title."""
    discs = []
    for node, (x, y) in enumerate(places.tolist()):
        if level := marks.level(node):
            score = signed((marks.scores or ())[node])
            at = f"cx='{num(x)}' cy='{num(y)}' r='{num(radius)}'"
            discs.append(f"<circle class='{level}' {at}><title>{score}</title></circle>")
    return "".join(discs)


def score_legend(largest: float, what: str, low: str = "against", high: str = "for") -> Picture:
    """Return the scale of a map of scores, from the lowest to the highest, with a word for what they are."""
    low, high = f"{low} {signed(-largest)}", f"{signed(largest)} {high}"
    body = [text(118, 9.5, low, "end small soft")]
    for place in range(2 * LEVELS):
        level = place - LEVELS + (1 if place >= LEVELS else 0)
        look = f"f{level}" if level > 0 else f"g{-level}"
        body.append(f"<rect class='{look}' x='{num(124 + 11 * place)}' y='0' width='11' height='11'/>")
    end = 124 + 22 * LEVELS
    body.append(text(end + 6, 9.5, high, "small soft"))
    body.append(text((124 + end) / 2, 24, what, "small soft mid"))
    return Picture((0, -2, end + 124, 28), "".join(body))


# --- outlines ---------------------------------------------------------------------------------------------


def contour(
    places: FloatArray, nodes: Iterable[int], edges: Iterable[tuple[int, int]], reach: float
) -> list[list[tuple[float, float]]]:
    """Return the closed lines that lie `reach` around some nodes and edges; holes are left out."""
    parts = [shapely.LineString(places[[u, v]]) for u, v in edges] + [shapely.Point(places[v]) for v in nodes]
    shape = shapely.simplify(shapely.union_all(shapely.buffer(parts, reach)), _SLACK)
    rings = shapely.get_exterior_ring(shapely.get_parts(shape))
    return [shapely.get_coordinates(ring)[:-1].tolist() for ring in rings]


class Outlines:
    """The outlines of sets of nodes, and where their names go.

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
            nodes = " ".join(map(str, sorted(set(outline.nodes))))
            path = "".join(polyline(loop, closed=True) for loop in loops)
            parts.append(f"<path class='{look}' data-nodes='{nodes}' d='{path}'/>")
            if line:
                xs, ys = zip(*(point for loop in loops for point in loop), strict=True)
                self.boxes.append((line, outline.label, (min(xs), min(ys), max(xs), max(ys))))
        self.body = "".join(parts)

    def tags(self, taken: Sequence[Box]) -> tuple[str, list[Box]]:
        """Return the names of the outlines where they cover least, and the boxes of those."""
        frame, parts, boxes = bounds(taken), [], list[Box]()
        for line, label, box in self.boxes:
            if not label:
                continue
            others = [other for number, _, other in self.boxes if number != line]
            places = _places(box, len(label) * LETTER)
            costs = placing_costs(places, [*taken, *boxes, *others], frame) + 0.5 * np.arange(len(places))
            place = places[int(np.argmin(costs))]
            boxes.append(place)
            middle = (place[0] + place[2]) / 2
            parts.append(text(middle, place[3] - 3.5, label, f"tag mid t{line}"))
        return "".join(parts), boxes


def _places(box: Box, width: float) -> list[Box]:
    """Return the places for a name of this width around its outline, near ones first."""
    left, top, right, bottom = box
    middle, level = (left + right) / 2, (top + bottom) / 2
    spots = []
    for gap in _GAPS:
        for center in (middle, left + width / 2, right - width / 2, left - width / 2, right + width / 2):
            spots += [(center, top - gap - LINE / 2), (center, bottom + gap + LINE / 2)]
        spots += [(right + gap + width / 2, level), (left - gap - width / 2, level)]
    return [(x - width / 2, y - LINE / 2, x + width / 2, y + LINE / 2) for x, y in spots]


def placing_costs(places: Sequence[Box], hindering: Sequence[Box], frame: Box) -> FloatArray:
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
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


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
