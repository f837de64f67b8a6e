"""Where nodes go: stress majorisation, component by component. The same graph always looks the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_ROUNDS = 120
_LARGE = 400  # nodes; above, fewer rounds
_STARTS = ((60, 8), (200, 3))  # most nodes, number of starts
_GAP = 1.5


def layout(n_nodes: int, edges: npt.ArrayLike) -> FloatArray:
    """Return a position per node; neighbours lie about one unit apart.

    Parameters
    ----------
    n_nodes
        Number of nodes.
    edges
        (m, 2) node indices; direction and self-loops make no difference.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components, shortest_path

    ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    ones = np.ones(len(ends))
    matrix = coo_matrix((ones, (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes)).tocsr()
    n_parts, part_of = connected_components(matrix, directed=False)
    parts = []
    for part in range(n_parts):
        nodes = np.flatnonzero(part_of == part)
        distances = shortest_path(matrix[nodes][:, nodes], directed=False, unweighted=True)
        number = np.full(n_nodes, -1)
        number[nodes] = np.arange(len(nodes))
        own = number[ends[part_of[ends[:, 0]] == part]]
        parts.append((nodes, _upright(_untangled(distances, own))))
    return _packed(n_nodes, parts)


def _untangled(distances: FloatArray, edges: IntArray) -> FloatArray:
    """Place the nodes of a connected graph from several starts; the fewest crossings win."""
    n = len(distances)
    if n == 1:
        return np.zeros((1, 2))
    best, fewest = _majorised(distances, _first_guess(distances)), 0
    starts = next((count for most, count in _STARTS if n <= most), 1)
    fewest = _crossings(best, edges) if starts > 1 else 0
    for start in range(1, starts):
        if fewest == 0:
            break
        guess = np.random.default_rng(start).normal(size=(n, 2)) * distances.max()
        other = _majorised(distances, guess)
        count = _crossings(other, edges)
        if count < fewest:
            best, fewest = other, count
    return best


def _crossings(position: FloatArray, edges: IntArray) -> int:
    """Count pairs of edges that cross; edges with an end in common cannot."""
    a, b = position[edges[:, 0]], position[edges[:, 1]]

    def side(p: FloatArray, q: FloatArray, r: FloatArray) -> FloatArray:
        """Return on which side of the line from p to q (rows) the points r (columns) lie."""
        along, towards = (q - p)[:, None], r[None] - p[:, None]
        return np.asarray(np.sign(along[..., 0] * towards[..., 1] - along[..., 1] * towards[..., 0]))

    apart = side(a, b, a) * side(a, b, b) < 0
    shared = (edges[:, None, :, None] == edges[None, :, None, :]).any(axis=(2, 3))
    return int((apart & apart.T & ~shared).sum()) // 2


def _majorised(distances: FloatArray, position: FloatArray) -> FloatArray:
    """Move nodes until distances on paper are like those in the graph."""
    n = len(distances)
    with np.errstate(divide="ignore"):
        weights = np.where(distances > 0, distances**-2.0, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_ROUNDS if n <= _LARGE else 30):
        gaps = position[:, None] - position[None]
        lengths = np.maximum(np.sqrt((gaps**2).sum(axis=2)), 1e-9)
        ratios = weights * distances / lengths
        np.fill_diagonal(ratios, 0)
        position = inverse @ ((np.diag(ratios.sum(axis=1)) - ratios) @ position)
    return position


def _first_guess(distances: FloatArray) -> FloatArray:
    """Return classical scaling, nudged apart by node number where nodes would coincide."""
    n = len(distances)
    centre = np.eye(n) - 1 / n
    _, vectors = np.linalg.eigh(-0.5 * centre @ distances**2 @ centre)
    guess = np.array(vectors[:, [-1, -2]])
    for axis in range(2):
        largest = np.argmax(np.abs(guess[:, axis]).round(6))
        guess[:, axis] *= np.sign(guess[largest, axis]) or 1.0
    angle = np.arange(n) * 2.399963  # the golden angle: no two nodes get the same nudge
    nudge = 0.02 * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray((guess + nudge) * distances.max())


def _upright(position: FloatArray) -> FloatArray:
    """Turn a drawing so that it is wider than high."""
    centred = position - position.mean(axis=0)
    if len(centred) < 3:
        span = np.linalg.norm(centred, axis=1)
        return np.column_stack([np.where(np.arange(len(span)) == 0, -span, span), 0 * span])
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    for axis in axes:
        axis *= np.sign(axis[np.argmax(np.abs(axis))]) or 1.0
    return np.asarray(centred @ axes.T)


def _packed(n_nodes: int, parts: Sequence[tuple[IntArray, FloatArray]]) -> FloatArray:
    """Put components next to one another, the largest first, in rows about as wide as the largest."""
    result = np.zeros((n_nodes, 2))
    order = sorted(parts, key=lambda item: (-len(item[0]), int(item[0][0])))
    sizes = [np.ptp(places, axis=0) for _, places in order]
    widest = max([float(size[0]) for size in sizes] + [float(np.sqrt(n_nodes)) * 1.5]) if sizes else 0.0
    x = y = row_height = 0.0
    for (nodes, places), size in zip(order, sizes, strict=True):
        if x > 0 and x + size[0] > widest:
            x, y, row_height = 0.0, y + row_height + _GAP, 0.0
        result[nodes] = places - places.min(axis=0) + (x, y)
        x += float(size[0]) + _GAP
        row_height = max(row_height, float(size[1]))
    return result


def fitted(position: FloatArray, width: float, height: float, margin: float, most: float = 90) -> FloatArray:
    """Scale and move positions into a box; a unit gets no longer than `most`, so that few nodes stay near."""
    if not len(position):
        return position
    low, span = position.min(axis=0), np.ptp(position, axis=0)
    room = np.array([width, height]) - 2 * margin
    scale = min(float((room / np.maximum(span, 1e-9)).min()), most)
    return np.asarray((position - low - span / 2) * scale + (width / 2, height / 2))
