"""Graphs as a few small arrays, for another process. Files are in `storage`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.graphs.arrays import GraphArrays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs.graph import Graph


class PackedGraphs(NamedTuple):
    """Graphs laid end to end, arrays in the smallest types that hold them; names and schema are left out."""

    node_features: npt.NDArray[Any]
    node_offsets: npt.NDArray[Any]
    edges: npt.NDArray[Any]
    edge_features: npt.NDArray[Any]
    edge_offsets: npt.NDArray[Any]
    directed: bool


def narrow(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array in the smallest whole-number type that holds it exactly, else as it is."""
    if not array.size:
        return array
    low, high = array.min(), array.max()
    for dtype in (np.int8, np.int16, np.int32):
        info = np.iinfo(dtype)
        if info.min <= low and high <= info.max:
            small = array.astype(dtype)
            return small if np.array_equal(small, array) else array
    return array


def pack_graphs(graphs: Sequence[Graph]) -> PackedGraphs:
    """Lay out graphs that agree on features and direction, as those of a data set do."""
    flat = GraphArrays.of(graphs)
    return PackedGraphs(
        narrow(flat.node_features),
        narrow(flat.node_offsets),
        narrow(flat.edges),
        narrow(flat.edge_features),
        narrow(flat.edge_offsets),
        flat.directed,
    )


def unpack_graphs(packed: PackedGraphs) -> list[Graph]:
    """Return the graphs, equal to those that were packed."""
    return GraphArrays(
        packed.node_features.astype(np.float64),
        packed.node_offsets.astype(np.int64),
        packed.edges.astype(np.int64),
        packed.edge_features.astype(np.float64),
        packed.edge_offsets.astype(np.int64),
        packed.directed,
    ).graphs()
