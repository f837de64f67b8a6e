"""From graphs to the tensors of a network: features as columns, graphs as PyTorch Geometric has them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from gdlnn.graphs.schema import Feature

with warnings.catch_warnings():
    # Its import calls functions that newer versions of torch and Python advise against.
    warnings.simplefilter("ignore")
    from torch_geometric.data import Data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import Graph, Schema

FloatArray = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
MAX_VALUES = 16
"""Most values of a whole-number quantity that still get a column each."""


# --- features ---------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """How one feature is encoded: a 0/1 column per value, a standardized number, or both."""

    values: FloatArray | None
    mean: float = 0.0
    scale: float | None = None


class FeatureEncoder:
    """One-hot columns for nominal features, standardized numbers for quantities, both for ordinal ones.

    A whole-number quantity with few values, such as a degree, also gets both. Values not seen in training get
    zeros. Without any feature there is one column of ones, so that a network has an input.
    """

    def fit(self, graphs: Sequence[Graph], schema: Schema | None) -> FeatureEncoder:
        """Learn values, means and deviations from the training graphs."""
        nodes = np.concatenate([graph.node_features for graph in graphs])
        edges = np.concatenate([graph.edge_features for graph in graphs])
        self.node_ = [_learn(f, c) for f, c in zip(_named(schema, "node", nodes), nodes.T, strict=True)]
        self.edge_ = [_learn(f, c) for f, c in zip(_named(schema, "edge", edges), edges.T, strict=True)]
        return self

    @property
    def n_node_columns(self) -> int:
        """Number of columns for nodes, at least one."""
        return int(self.nodes(np.zeros((0, len(self.node_)))).shape[1])

    @property
    def n_edge_columns(self) -> int:
        """Number of columns for edges."""
        return int(self.edges(np.zeros((0, len(self.edge_)))).shape[1])

    def nodes(self, table: FloatArray) -> Float32Array:
        """Encode the rows of node features."""
        encoded = _encode(table, self.node_)
        return encoded if encoded.shape[1] else np.ones((len(table), 1), dtype=np.float32)

    def edges(self, table: FloatArray) -> Float32Array:
        """Encode the rows of edge features."""
        return _encode(table, self.edge_)


def _named(schema: Schema | None, of: str, table: FloatArray) -> list[Feature]:
    known = () if schema is None else getattr(schema, of)
    if len(known) == table.shape[1]:
        return list(known)
    return [Feature(f"feature {i}") for i in range(table.shape[1])]


def _learn(feature: Feature, column: FloatArray) -> Column:
    seen = np.unique(column)
    if feature.kind == "nominal":
        return Column(seen)
    mean = float(column.mean()) if len(column) else 0.0
    deviation = float(column.std()) if len(column) else 0.0
    scale = deviation if deviation > 1e-7 * max(1.0, abs(mean)) else 1.0
    whole = bool((seen == np.floor(seen)).all()) and len(seen) <= MAX_VALUES
    return Column(seen if feature.kind == "ordinal" or whole else None, mean, scale)


def _encode(table: FloatArray, columns: Sequence[Column]) -> Float32Array:
    parts = [np.zeros((len(table), 0), dtype=np.float32)]
    for values, column in zip(table.T, columns, strict=False):
        if column.values is not None:
            parts.append((values[:, None] == column.values).astype(np.float32))
        if column.scale is not None:
            parts.append(((values - column.mean) / column.scale).astype(np.float32)[:, None])
    return np.hstack(parts)


# --- graphs -----------------------------------------------------------------------------------------------


def to_data(graph: Graph, encoder: FeatureEncoder, code: int = 0) -> Data:
    """Return a graph as PyTorch Geometric has it: an undirected edge in both directions, a self-loop once."""
    ends, features = graph.edges, encoder.edges(graph.edge_features)
    if not graph.directed:
        other = ends[:, 0] != ends[:, 1]
        ends = np.concatenate([ends, ends[other][:, ::-1]])
        features = np.concatenate([features, features[other]])
    return Data(
        x=torch.from_numpy(encoder.nodes(graph.node_features)),
        edge_index=torch.from_numpy(np.ascontiguousarray(ends.T, dtype=np.int64)),
        edge_attr=torch.from_numpy(features) if encoder.n_edge_columns else None,
        y=code,
    )
