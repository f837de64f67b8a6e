"""Lines around parts of a drawing: the contour at some distance from nodes and edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FloatArray = npt.NDArray[np.float64]
Point = tuple[float, float]
_STEP = 3.0  # of the grid, in units of the drawing
_SLACK = 0.35  # how far a simplified line may lie from the contour


def contour(
    places: FloatArray, nodes: Sequence[int], edges: Iterable[tuple[int, int]], reach: float
) -> list[list[Point]]:
    """Return the closed lines that lie `reach` around some nodes and edges; holes are left out.

    Parameters
    ----------
    places
        Position of every node of the drawing.
    nodes, edges
        What to go around; the ends of an edge are nodes.
    reach
        Distance of the line.
    """
    segments = [(places[u], places[v]) for u, v in edges] + [(places[v], places[v]) for v in nodes]
    if not segments:
        return []
    ends = np.array(segments, dtype=np.float64)
    low = ends.min(axis=(0, 1)) - reach - 2 * _STEP
    high = ends.max(axis=(0, 1)) + reach + 2 * _STEP
    xs, ys = (np.arange(low[i], high[i] + _STEP, _STEP) for i in range(2))
    field = _distances(xs, ys, ends) - reach
    return [_simplified(loop) for loop in _loops(field, xs, ys) if _area(loop) < 0]


def _distances(xs: FloatArray, ys: FloatArray, ends: FloatArray) -> FloatArray:
    """Return how far each point of a grid (rows are y) lies from the nearest segment."""
    grid = np.stack(np.meshgrid(xs, ys), axis=-1)
    nearest = np.full(grid.shape[:2], np.inf)
    for a, b in ends:
        along, towards = b - a, grid - a
        length = float(along @ along)
        share = np.clip(towards @ along / length, 0, 1) if length else np.zeros(grid.shape[:2])
        nearest = np.minimum(nearest, np.linalg.norm(towards - share[..., None] * along, axis=-1))
    return nearest


def _loops(field: FloatArray, xs: FloatArray, ys: FloatArray) -> list[list[Point]]:
    """Return the lines where a field is zero, by marching squares; what is below zero lies to their right."""
    follows: dict[tuple[int, int, int], tuple[int, int, int]] = {}
    inside = field < 0
    mixed = inside[:-1, :-1] + 2 * inside[:-1, 1:] + 4 * inside[1:, 1:] + 8 * inside[1:, :-1]
    for row, column in np.argwhere((mixed > 0) & (mixed < 15)).tolist():
        # Edges of a cell: top, right, bottom, left; an edge is named by its corner and direction.
        sides = ((row, column, 0), (row, column + 1, 1), (row + 1, column, 0), (row, column, 1))
        for start, end in _CASES[int(mixed[row, column])]:
            follows[sides[start]] = sides[end]
    loops = []
    while follows:
        first = min(follows)
        loop, at = [], first
        while at in follows:
            loop.append(_crossing(field, xs, ys, at))
            at = follows.pop(at)
        loops.append(loop)
    return loops


# By the corners that are inside (1 top left, 2 top right, 4 bottom right, 8 bottom left): sides to join.
_CASES: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((3, 0),), 2: ((0, 1),), 3: ((3, 1),), 4: ((1, 2),), 5: ((3, 0), (1, 2)), 6: ((0, 2),), 7: ((3, 2),),
    8: ((2, 3),), 9: ((2, 0),), 10: ((0, 1), (2, 3)), 11: ((2, 1),), 12: ((1, 3),), 13: ((1, 0),),
    14: ((0, 3),),
}  # fmt: skip


def _crossing(field: FloatArray, xs: FloatArray, ys: FloatArray, side: tuple[int, int, int]) -> Point:
    row, column, down = side
    here, there = field[row, column], field[row + down, column + 1 - down]
    share = here / (here - there)
    return float(xs[column] + share * _STEP * (1 - down)), float(ys[row] + share * _STEP * down)


def _area(loop: Sequence[Point]) -> float:
    """Return the area within a loop; above zero for a hole, which runs the other way."""
    points = np.array(loop)
    x, y = points[:, 0], points[:, 1]
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def _simplified(loop: list[Point]) -> list[Point]:
    """Leave out points that lie nearly on the line between others (Douglas and Peucker)."""
    points = np.array(loop)
    far = int(np.argmax(np.linalg.norm(points - points[0], axis=1)))
    kept = _thinned(points[: far + 1])[:-1] + _thinned(np.concatenate([points[far:], points[:1]]))[:-1]
    return [(float(x), float(y)) for x, y in kept]


def _thinned(points: FloatArray) -> list[FloatArray]:
    if len(points) < 3:
        return list(points)
    along = points[-1] - points[0]
    length = float(np.linalg.norm(along))
    gaps = points - points[0]
    away = (
        np.abs(along[0] * gaps[:, 1] - along[1] * gaps[:, 0]) / length
        if length
        else np.linalg.norm(gaps, axis=1)
    )
    worst = int(np.argmax(away))
    if away[worst] <= _SLACK:
        return [points[0], points[-1]]
    return _thinned(points[: worst + 1])[:-1] + _thinned(points[worst:])
