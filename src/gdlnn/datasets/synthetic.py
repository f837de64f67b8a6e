"""Graphs we make ourselves: BA-2Motifs, a random base with a house or a cycle, ground truth included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdlnn.errors import DatasetError
from gdlnn.graphs import Feature, Graph, GraphDataset, Schema

if TYPE_CHECKING:
    from gdlnn.graphs.graph import IntArray

BASE_NODES = 20
CYCLE = ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4))
HOUSE = ((0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4))
CLASSES = {0: "cycle", 1: "house"}


def degree_schema(classes: dict[int, str] | None = None) -> Schema:
    """Return the schema of graphs whose one node feature is the degree."""
    return Schema((Feature("degree"),), (), classes or {})


def make_ba_2motifs(n: int = 1000, seed: int = 0) -> GraphDataset:
    """Make graphs in the manner of BA-2Motifs.

    Each has a Barabási–Albert base of 20 nodes (one edge per new node) and five more nodes, a cycle (label
    0) or a house (label 1), joined to the base by one edge. Nodes are renumbered at random; the node
    feature is the degree. ``node_masks`` and ``edge_masks`` mark the motif. The name is
    "synthetic:ba-2motifs", never that of the published data set.

    Parameters
    ----------
    n
        Number of graphs; labels alternate, so that the classes differ by one graph at most.
    seed
        Seed of the random numbers; the same seed gives the same graphs.
    """
    if n < 1:
        raise DatasetError(f"make_ba_2motifs: n: expected at least 1, got {n}")
    rng = np.random.default_rng(seed)
    schema = degree_schema(CLASSES)
    graphs, node_masks, edge_masks = [], [], []
    y = np.arange(n) % 2
    for index in range(n):
        base = _preferential_tree(rng)
        motif = np.array(HOUSE if y[index] else CYCLE) + BASE_NODES
        bridge = [[rng.integers(BASE_NODES), BASE_NODES + rng.integers(5)]]
        edges = np.concatenate([base, motif, bridge])
        in_motif = np.asarray((edges >= BASE_NODES).all(axis=1))
        place = rng.permutation(BASE_NODES + 5)
        edges = np.sort(place[edges], axis=1)
        order = np.lexsort((edges[:, 1], edges[:, 0]))
        edges = edges[order]
        degree = np.bincount(edges.reshape(-1), minlength=BASE_NODES + 5).astype(np.float64)
        graphs.append(Graph(degree[:, None], edges, schema=schema, name=f"ba-2motifs/{index}"))
        node_mask = np.zeros(BASE_NODES + 5, dtype=bool)
        node_mask[place[BASE_NODES:]] = True
        node_masks.append(node_mask)
        edge_masks.append(in_motif[order])
    return GraphDataset(
        graphs, y, schema, "synthetic:ba-2motifs", node_masks=node_masks, edge_masks=edge_masks
    )


def _preferential_tree(rng: np.random.Generator) -> IntArray:
    """Return a Barabási–Albert tree: a node joins an earlier one with a chance proportional to its degree."""
    ends = [0, 1]
    edges = [(0, 1)]
    for node in range(2, BASE_NODES):
        other = ends[int(rng.integers(len(ends)))]
        edges.append((other, node))
        ends += [other, node]
    return np.array(edges, dtype=np.int64)
