"""Graphs as JSON values that the script of a page draws: positions and labels of nodes, kinds of edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.drawing.graph_picture import node_label
from gdlnn.drawing.layout import fitted, layout
from gdlnn.drawing.molecule_picture import is_molecule
from gdlnn.errors import GraphError, MissingExtraError, require
from gdlnn.graphs.molecules import graph_molecule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.drawing.layout import FloatArray
    from gdlnn.graphs import Graph

WIDTH, HEIGHT = 340.0, 230.0
MOST_NODES = 160
_BONDS = {"single": 1, "double": 2, "triple": 3, "aromatic": 4}


def page_picture(graph: Graph, nodes: Sequence[int]) -> dict[str, Any]:
    """Return a graph as the page draws it: nodes with positions and labels, edges with kinds.

    Parameters
    ----------
    graph
        The graph.
    nodes
        Nodes to keep in view. Of a graph with more than `MOST_NODES` nodes only those near them are drawn.
    """
    kept = _near(graph, nodes)
    part = graph if len(kept) == graph.n_nodes else graph.subgraph(kept)
    chemical = is_molecule(graph)
    places = fitted(_places(part, chemical), WIDTH, HEIGHT, 20, 30 if chemical else 60)
    return {
        "kind": "molecule" if chemical else "graph",
        "n_nodes": graph.n_nodes,
        "n_edges": graph.n_edges,
        "directed": graph.directed,
        "ids": kept if len(kept) < graph.n_nodes else None,
        "xy": [[round(x, 1), round(y, 1)] for x, y in places.tolist()],
        "labels": _labels(part, chemical),
        "edges": part.edges.tolist(),
        "bonds": _bonds(part) if chemical else None,
    }


def _near(graph: Graph, nodes: Sequence[int]) -> list[int]:
    """Return all nodes, or of a large graph those in widening circles around the explanation."""
    if graph.n_nodes <= MOST_NODES:
        return list(range(graph.n_nodes))
    neighbours: dict[int, list[int]] = {}
    for u, v in graph.edges.tolist():
        neighbours.setdefault(u, []).append(v)
        neighbours.setdefault(v, []).append(u)
    kept = list(nodes or (0,))[:MOST_NODES]
    seen = set(kept)
    for node in kept:  # grows while it is walked: breadth first
        for other in sorted(neighbours.get(node, ())):
            if other not in seen and len(kept) < MOST_NODES:
                seen.add(other)
                kept.append(other)
    return sorted(kept)


def _places(graph: Graph, chemical: bool) -> FloatArray:
    if chemical:
        try:
            return _as_chemists_do(graph)
        except (GraphError, MissingExtraError, RuntimeError, ValueError):
            pass  # the plain layout shows the same nodes
    return layout(graph.n_nodes, graph.edges)


def _as_chemists_do(graph: Graph) -> FloatArray:
    depict = require("rdkit.Chem.rdDepictor", "chem", "Drawing a molecule")
    chem = require("rdkit.Chem", "chem", "Drawing a molecule")
    molecule = graph_molecule(graph)
    chem.FastFindRings(molecule)
    depict.Compute2DCoords(molecule, canonOrient=True)
    places = np.asarray(molecule.GetConformer().GetPositions(), dtype=np.float64)[:, :2]
    return places * (1.0, -1.0)  # on paper y grows downwards


def _labels(graph: Graph, chemical: bool) -> list[str]:
    """Return the label of each node: atoms other than carbon, or the first feature."""
    column = 0
    if chemical and graph.schema is not None:
        column = next(i for i, feature in enumerate(graph.schema.node) if feature.name == "atom")
    labels = [node_label(graph, node, column, 4) for node in range(graph.n_nodes)]
    return ["" if chemical and label == "C" else label for label in labels]


def _bonds(graph: Graph) -> list[int]:
    """Return the order of every bond; 4 is aromatic."""
    features = graph.schema.edge if graph.schema else ()
    column = next((i for i, feature in enumerate(features) if feature.name == "bond"), None)
    if column is None:
        return [1] * graph.n_edges
    names = [features[column].value_name(value) for value in graph.edge_features[:, column].tolist()]
    return [_BONDS.get(name, 1) for name in names]
