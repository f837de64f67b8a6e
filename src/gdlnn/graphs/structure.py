"""Structure features: degree and ring, computed from the shape of graphs whose nodes carry labels only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gdlnn.errors import GDLNNError, GraphError
from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.schema import Feature, Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs.graph import FloatArray, Graph

_RING = Feature("ring", "nominal", {0.0: "no", 1.0: "yes"})
UNDIRECTED = (Feature("degree", "ordinal"), _RING)
"""Neighbors of a node, and whether it is on a cycle. A self-loop adds 1 to the degree and is not a ring."""
DIRECTED = (Feature("out_degree", "ordinal"), Feature("in_degree", "ordinal"), _RING)
"""Edges that leave and enter a node, and whether it lies on a directed cycle."""


def structure_is_wanted(
    asked: object, schema: Schema | None, n_node_features: int, error: type[GDLNNError]
) -> bool:
    """Return whether structure features are to be added: as asked, and where they are not there yet.

    By default they are where nodes carry labels only: they hurt where nodes carry measured quantities, and
    without a schema, features may be quantities.

    Parameters
    ----------
    asked
        True, False or "auto".
    schema, n_node_features
        The features of the graphs.
    error
        What to raise for anything else.
    """
    if asked not in (True, False, "auto"):
        raise error(f"structure: expected True, False or auto, got {asked!r}")
    if n_structure_features(schema):
        return False
    if asked != "auto":
        return bool(asked)
    if schema is None or len(schema.node) != n_node_features:
        return n_node_features == 0
    taken = {feature.name for feature in (*UNDIRECTED, *DIRECTED)}
    return all(feature.kind == "nominal" and feature.name not in taken for feature in schema.node)


def with_structure_features(schema: Schema | None, directed: bool) -> Schema:
    """Return a schema with the structure features after its own."""
    known = schema or Schema()
    added = DIRECTED if directed else UNDIRECTED
    for feature in added:
        if any(feature.name == own.name for own in known.node):
            raise GraphError(f"structure: the schema already has a feature {feature.name!r}")
    return replace(known, node=(*known.node, *added))


def n_structure_features(schema: Schema | None) -> int:
    """Return how many of the last node features of a schema are structure features."""
    for features in (DIRECTED, UNDIRECTED):
        if schema is not None and schema.node[-len(features) :] == features:
            return len(features)
    return 0


def given_schema(schema: Schema | None) -> Schema | None:
    """Return the features of a schema that graphs must bring along: all but those that are computed."""
    added = n_structure_features(schema)
    return schema if schema is None or not added else replace(schema, node=schema.node[:-added])


def structure_columns(arrays: GraphArrays) -> FloatArray:
    """Return the structure features of all nodes, one row per node."""
    from gdlnn import _core  # only here, so that datasets can be read and written without the core

    outgoing, incoming, ring = _core.structure(
        arrays.node_offsets, np.ascontiguousarray(arrays.edges), arrays.edge_offsets, arrays.directed
    )
    columns = (outgoing, incoming, ring) if arrays.is_directed else (outgoing, ring)
    return np.stack(columns, axis=1).astype(np.float64)


def add_structure(graphs: Sequence[Graph], schema: Schema | None) -> list[Graph]:
    """Return graphs with the structure features as their last node features.

    Parameters
    ----------
    graphs
        Graphs of one kind.
    schema
        The schema of the result, as `with_structure_features` gives it.
    """
    if not graphs:
        return []
    arrays = GraphArrays.of(graphs)
    widened = np.column_stack([arrays.node_features, structure_columns(arrays)])
    features = arrays.edge_features
    if schema is not None and not len(features):  # of graphs without edges, which may lack the columns
        features = np.zeros((0, len(schema.edge)))
    whole = arrays._replace(node_features=widened, edge_features=features)
    return whole.graphs(schema, [graph.name for graph in graphs], [graph.node_names for graph in graphs])


def fill_structure(graphs: Sequence[Graph], schema: Schema | None) -> list[Graph]:
    """Return graphs as a schema describes them: structure features that it has and they lack are computed.

    Columns that are there are not computed again, so that subgraphs keep those of the whole graph.
    """
    listed, added = list(graphs), n_structure_features(schema)
    if schema is None or not added:
        return listed
    short = len(schema.node) - added
    lacking = [i for i, graph in enumerate(listed) if graph.n_nodes and graph.node_features.shape[1] == short]
    some = [listed[i] for i in lacking]
    if any(graph.n_edges and graph.edge_features.shape[1] != len(schema.edge) for graph in some):
        return listed  # reported with its index where graphs are checked
    for i, graph in zip(lacking, add_structure(some, schema), strict=True):
        listed[i] = graph
    return listed
