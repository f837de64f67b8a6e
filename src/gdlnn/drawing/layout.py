"""Where nodes go: Kamada and Kawai's layout, component by component. The same graph always looks the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.jobs import one_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

FloatArray = npt.NDArray[np.float64]
_GAP = 1.5
_MOST_NODES, _MOST_EDGES = 150, 400  # of a component; a larger one is put on a circle, which takes no time


def layout(n_nodes: int, edges: npt.ArrayLike) -> FloatArray:
    """Return a position per node; neighbors lie about one unit apart.

    Parameters
    ----------
    n_nodes
        Number of nodes.
    edges
        (m, 2) node indices; direction and self-loops make no difference.
    """
    import networkx as nx

    ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    graph = nx.Graph()
    graph.add_nodes_from(range(n_nodes))
    graph.add_edges_from(ends[ends[:, 0] != ends[:, 1]].tolist())
    parts = []
    for nodes in map(sorted, nx.connected_components(graph)):
        part = nx.Graph()
        part.add_nodes_from(nodes)  # the layout depends on the order of the nodes
        part.add_edges_from(graph.edges(nodes))
        parts.append((nodes, _upright(_placed(nx, part))))
    return _packed(n_nodes, parts)


def _placed(nx: Any, graph: Any) -> FloatArray:
    """Place the nodes of a connected graph; edges are one unit long in the mean."""
    n_edges = graph.number_of_edges()
    if not n_edges:
        return np.zeros((1, 2))
    if len(graph) > _MOST_NODES or n_edges > _MOST_EDGES:
        return np.array(list(nx.circular_layout(graph, scale=len(graph) / (2 * np.pi)).values()))
    with one_thread():  # threads would wait for one another longer
        found = nx.kamada_kawai_layout(graph)
    lengths = [np.linalg.norm(found[u] - found[v]) for u, v in graph.edges]
    return np.asarray(np.array([found[node] for node in graph]) / np.mean(lengths))


def _upright(position: FloatArray) -> FloatArray:
    """Turn a drawing so that it is wider than high."""
    centered = position - position.mean(axis=0)
    if len(centered) < 3:
        span = np.linalg.norm(centered, axis=1)
        return np.column_stack([np.where(np.arange(len(span)) == 0, -span, span), 0 * span])
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    for axis in axes:
        axis *= np.sign(axis[np.argmax(np.abs(axis))]) or 1.0
    return np.asarray(centered @ axes.T)


def _packed(n_nodes: int, parts: Sequence[tuple[list[int], FloatArray]]) -> FloatArray:
    """Put components next to one another, the largest first, in rows about as wide as the largest."""
    result = np.zeros((n_nodes, 2))
    order = sorted(parts, key=lambda item: (-len(item[0]), item[0][0]))
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
