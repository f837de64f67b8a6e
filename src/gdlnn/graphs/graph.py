"""Graph: one validated, immutable graph as NumPy arrays, and NodeSubset: some of its nodes.

Datasets are in `dataset`, conversions to other libraries in `interop`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs.schema import Schema

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
MAX_FEATURE = 1e30
"""Largest absolute feature value: sums and products of larger ones overflow a head's 32-bit floats."""
_FIELDS = ("node_features", "edges", "edge_features", "directed", "schema", "name", "node_names")


class Graph:
    """A graph with numeric node and edge features, directed or undirected.

    Parameters
    ----------
    node_features
        (n, d) numbers from -1e30 to 1e30; n may be 0 and d may be 0. NaN is a missing value, which satisfies
        no condition of a program.
    edges
        (m, 2) node indices from 0. An undirected edge is listed once, in either orientation; ``(v, v)`` is a
        self-loop.
    edge_features
        (m, c) numbers; None means no edge features.
    directed
        Whether ``(u, v)`` differs from ``(v, u)``.
    schema
        The names of the features.
    name
        The name of this graph in messages and reports.
    node_names
        The names of its nodes in explanations and reports; by default their numbers from 1.
    """

    __slots__ = (*_FIELDS, "_encoded")

    node_features: FloatArray
    edges: IntArray
    edge_features: FloatArray
    directed: bool
    schema: Schema | None
    name: str | None
    node_names: tuple[str, ...] | None
    _encoded: Any  # the core's encoding, made on first use

    def __init__(
        self,
        node_features: npt.ArrayLike,
        edges: npt.ArrayLike,
        edge_features: npt.ArrayLike | None = None,
        *,
        directed: bool = False,
        schema: Schema | None = None,
        name: str | None = None,
        node_names: Sequence[str] | None = None,
    ) -> None:
        where = f"graph {name!r}" if name is not None else "graph"
        if not isinstance(directed, bool | np.bool_):
            raise GraphError(f"{where}: directed: expected True or False, got {directed!r:.60}")
        nodes = _feature_matrix(node_features, f"{where}: node_features", "node")
        ends = _edge_list(edges, where)
        if edge_features is None:
            features = np.zeros((len(ends), 0))
        else:
            features = _feature_matrix(edge_features, f"{where}: edge_features", "edge")
        if len(features) != len(ends):
            raise GraphError(
                f"{where}: edge_features: expected {len(ends)} rows, one per edge, got {len(features)}"
            )
        _check_ends(ends, len(nodes), where)
        _check_parallel(ends, directed, where)
        if schema is not None:
            schema.check_widths(nodes.shape[1], features.shape[1], f"{where}: ")
        names = None if node_names is None else tuple(map(str, node_names))
        if names is not None and len(names) != len(nodes):
            raise GraphError(f"{where}: node_names: expected {len(nodes)} names, got {len(names)}")
        self._freeze(nodes, ends, features, bool(directed), schema, name, names)

    def _freeze(self, *values: Any) -> None:
        for name, value in zip(_FIELDS, values, strict=True):
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_encoded", None)

    @classmethod
    def _trusted(
        cls,
        node_features: FloatArray,
        edges: IntArray,
        edge_features: FloatArray,
        directed: bool,
        schema: Schema | None,
        name: str | None,
        node_names: tuple[str, ...] | None = None,
    ) -> Graph:
        """Build from arrays that a reader has already checked as a whole: nothing is checked again."""
        graph = object.__new__(cls)
        graph._freeze(node_features, edges, edge_features, directed, schema, name, node_names)
        return graph

    def _renamed(self, schema: Schema | None, name: str | None) -> Graph:
        arrays = self.node_features, self.edges, self.edge_features
        return Graph._trusted(*arrays, self.directed, schema, name, self.node_names)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.node_features)

    @property
    def n_edges(self) -> int:
        """Number of edges; an undirected edge counts once."""
        return len(self.edges)

    def subgraph(self, nodes: npt.ArrayLike) -> Graph:
        """Return the induced subgraph of some nodes, renumbered in order; features are unchanged."""
        kept = np.unique(np.asarray(nodes, dtype=np.int64).reshape(-1))
        if len(kept) and (kept[0] < 0 or kept[-1] >= self.n_nodes):
            raise GraphError(f"subgraph: expected nodes from 0 to {self.n_nodes - 1}, got {int(kept[-1])}")
        position = np.full(self.n_nodes, -1, dtype=np.int64)
        position[kept] = np.arange(len(kept))
        inside = (position[self.edges] >= 0).all(axis=1) if self.n_edges else np.zeros(0, dtype=bool)
        return Graph(
            self.node_features[kept],
            position[self.edges[inside]],
            self.edge_features[inside],
            directed=self.directed,
            schema=self.schema,
            name=self.name,
            node_names=None if self.node_names is None else [self.node_names[node] for node in kept],
        )

    def to_json(self) -> dict[str, Any]:
        """Return the nodes and edges as on a line of JSON Lines."""
        row: dict[str, Any] = {"nodes": _numbers(self.node_features), "edges": self.edges.tolist()}
        if self.edge_features.shape[1]:
            row["edge_features"] = _numbers(self.edge_features)
        return row | ({"directed": True} if self.directed else {})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Graph cannot be changed (tried to set {name!r}); build a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Graph cannot be changed (tried to delete {name!r}); build a new one")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return (
            self.directed == other.directed
            and np.array_equal(self.node_features, other.node_features, equal_nan=True)
            and np.array_equal(self.edges, other.edges)
            and np.array_equal(self.edge_features, other.edge_features, equal_nan=True)
        )

    def __hash__(self) -> int:
        return hash(
            (self.directed, self.node_features.tobytes(), self.edges.tobytes(), self.edge_features.tobytes())
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Graph._trusted, tuple(getattr(self, name) for name in _FIELDS)

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name is not None else ""
        kind = "directed" if self.directed else "undirected"
        return (
            f"<Graph{name}: {self.n_nodes} nodes × {self.node_features.shape[1]} features, "
            f"{self.n_edges} {kind} edges × {self.edge_features.shape[1]} features>"
        )

    def _repr_html_(self) -> str:
        # Imported by name: graphs do not depend on drawings, which only notebooks need.
        drawing = importlib.import_module("gdlnn.drawing.notebook")
        return str(drawing.graph_html(self))


class NodeSubset:
    """Mixin for classes that have a ``graph`` and some of its ``nodes``, sorted."""

    graph: Graph
    nodes: tuple[int, ...]

    @property
    def node_mask(self) -> BoolArray:
        """Which nodes of the graph are in the subgraph."""
        mask = np.zeros(self.graph.n_nodes, dtype=bool)
        mask[list(self.nodes)] = True
        return mask

    @property
    def edge_mask(self) -> BoolArray:
        """Which edges of the graph are in the subgraph: those with both ends in it."""
        mask = self.node_mask
        return np.asarray(mask[self.graph.edges].all(axis=1)) if self.graph.n_edges else np.zeros(0, bool)

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The edges of the subgraph, as pairs of nodes of the graph."""
        return tuple((int(u), int(v)) for u, v in self.graph.edges[self.edge_mask].tolist())

    @property
    def subgraph(self) -> Graph:
        """The induced subgraph as a separate graph, renumbered; features are unchanged."""
        return self.graph.subgraph(np.array(self.nodes, dtype=np.int64))

    @property
    def is_empty(self) -> bool:
        """Whether there are no nodes, so that there is no subgraph to show."""
        return not self.nodes


def _feature_matrix(values: npt.ArrayLike, where: str, of: str) -> FloatArray:
    try:
        matrix = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(f"{where}: expected a matrix of numbers, one row per {of}, got {error}") from error
    if matrix.ndim == 1 and matrix.size == 0:
        matrix = matrix.reshape(0, 0)
    if matrix.ndim != 2:
        raise GraphError(
            f"{where}: expected a matrix (two dimensions), one row per {of}, got {matrix.ndim} dimension(s)"
        )
    if not in_range(matrix):
        row, column = (int(i) for i in np.argwhere(np.abs(matrix) > MAX_FEATURE)[0])
        value = matrix[row, column]
        expected = f"a number from -{MAX_FEATURE:g} to {MAX_FEATURE:g}"
        if not np.isfinite(value):
            expected = "a finite number"
        raise GraphError(f"{where}: {of} {row}, feature {column}: expected {expected}, got {value}")
    return same_bytes(matrix)


def in_range(values: npt.NDArray[Any]) -> bool:
    """Say whether no number is larger than features may be; NaN is a missing value."""
    return not (np.abs(values) > MAX_FEATURE).any()


def same_bytes(values: FloatArray) -> FloatArray:
    """Return a copy in which equal values have equal bytes: -0.0 becomes 0.0, and there is one NaN."""
    values = values + 0.0
    values[np.isnan(values)] = np.nan
    return values


def json_rows(matrix: npt.NDArray[Any]) -> list[Any]:
    """Return a matrix as JSON values; a missing one is null."""
    rows: list[Any] = np.where(np.isnan(matrix), np.array(None), matrix).tolist()
    return rows


def _numbers(matrix: FloatArray) -> list[Any]:
    """Return a matrix as JSON values, whole numbers without a point: shorter, and easier to read."""
    whole = bool((matrix == np.floor(matrix)).all()) and bool((np.abs(matrix) < 2**53).all())
    return json_rows(matrix.astype(np.int64) if whole else matrix)


def _edge_list(edges: npt.ArrayLike, where: str) -> IntArray:
    try:
        ends = np.asarray(edges)
    except (ValueError, OverflowError) as error:
        raise GraphError(f"{where}: edges: expected pairs of node indices, got {error}") from error
    if ends.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if ends.ndim != 2 or ends.shape[1] != 2:
        raise GraphError(f"{where}: edges: expected shape (m, 2), one pair per edge, got {ends.shape}")
    if not np.issubdtype(ends.dtype, np.integer):
        try:
            same = ends.dtype.kind != "f" or bool((np.abs(ends) < 2**53).all())  # what int64 can hold
            whole = ends.astype(np.int64) if same else ends
            same = same and bool((whole == ends).all())
        except (TypeError, ValueError, OverflowError):
            same = False
        if not same:
            raise GraphError(f"{where}: edges: expected whole numbers, got values of type {ends.dtype}")
        return whole
    return np.array(ends, dtype=np.int64)


def _check_ends(ends: IntArray, n_nodes: int, where: str) -> None:
    bad = np.argwhere((ends < 0) | (ends >= n_nodes))
    if len(bad):
        row = int(bad[0, 0])
        node = int(ends[row, bad[0, 1]])
        have = f"nodes from 0 to {n_nodes - 1}" if n_nodes else "no edge, since there are no nodes"
        u, v = (int(end) for end in ends[row])
        raise GraphError(f"{where}: edge {row} ({u}, {v}): expected {have}, got node {node}")


def _check_parallel(ends: IntArray, directed: bool, where: str) -> None:
    if len(ends) < 2:
        return
    pairs = ends if directed else np.sort(ends, axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    ordered = pairs[order]
    same = np.flatnonzero((ordered[1:] == ordered[:-1]).all(axis=1))
    if len(same):
        first, second = sorted((int(order[same[0]]), int(order[same[0] + 1])))
        u, v = (int(end) for end in ends[second])
        hint = "" if directed else " (an undirected edge is listed once)"
        raise GraphError(
            f"{where}: edge {second} ({u}, {v}): expected no parallel edges, "
            f"but edge {first} joins the same nodes{hint}"
        )
