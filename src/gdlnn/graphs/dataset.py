"""GraphDataset: graphs with labels, a schema and ground truth. Splitting is in `splits`, files are in `datasets`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from gdlnn.errors import GraphError

if TYPE_CHECKING:
    from gdlnn.graphs.graph import Graph, IntArray
    from gdlnn.graphs.schema import Schema

BoolArray = npt.NDArray[np.bool_]


class GraphDataset:
    """Graphs of one kind: the same features, all directed or all undirected, with or without labels.

    Parameters
    ----------
    graphs
        The graphs.
    y
        One label per graph, as in the file, or None.
    schema
        What the features and classes are called; by default that of the graphs.
    name
        What to call the data set.
    node_masks, edge_masks
        Ground truth per graph (True = belongs to the motif), or None. An entry may be None.
    ids, smiles
        One identifier, one SMILES per graph, or None.
    published_splits
        Named splits that were published with the data: part name to row numbers.
    """

    def __init__(
        self,
        graphs: Iterable[Graph],
        y: npt.ArrayLike | None = None,
        schema: Schema | None = None,
        name: str = "",
        *,
        node_masks: Sequence[BoolArray | None] | None = None,
        edge_masks: Sequence[BoolArray | None] | None = None,
        ids: Sequence[str] | None = None,
        smiles: Sequence[str] | None = None,
        published_splits: Mapping[str, IntArray] | None = None,
    ) -> None:
        self.graphs: list[Graph] = list(graphs)
        self.y: npt.NDArray[Any] | None = None if y is None else np.asarray(y)
        self.name = name
        self.schema = schema
        if schema is None and self.graphs:
            self.schema = self.graphs[0].schema
        self.node_masks = None if node_masks is None else list(node_masks)
        self.edge_masks = None if edge_masks is None else list(edge_masks)
        self.ids = None if ids is None else list(ids)
        self.smiles = None if smiles is None else list(smiles)
        self.indices: IntArray = np.arange(len(self.graphs))
        self.published_splits = None if published_splits is None else dict(published_splits)
        self._check()

    def _where(self) -> str:
        return f"data set {self.name!r}" if self.name else "data set"

    def _check(self) -> None:
        where, n = self._where(), len(self.graphs)
        if self.y is not None and (self.y.ndim != 1 or len(self.y) != n):
            raise GraphError(f"{where}: y: expected {n} labels, one per graph, got shape {self.y.shape}")
        for what, column in (
            ("node_masks", self.node_masks),
            ("edge_masks", self.edge_masks),
            ("ids", self.ids),
            ("smiles", self.smiles),
        ):
            if column is not None and len(column) != n:
                raise GraphError(f"{where}: {what}: expected {n} entries, one per graph, got {len(column)}")
        if not self.graphs:
            return
        first = self.graphs[0]
        for index, graph in enumerate(self.graphs):
            for what, expected, got in (
                ("node features", first.node_features.shape[1], graph.node_features.shape[1]),
                ("edge features", first.edge_features.shape[1], graph.edge_features.shape[1]),
            ):
                if expected != got:
                    raise GraphError(
                        f"{where}: graph {index}: expected {expected} {what}, as in graph 0, got {got}"
                    )
            if graph.directed != first.directed:
                kind = "directed" if first.directed else "undirected"
                raise GraphError(f"{where}: graph {index}: expected it {kind}, as graph 0 is")
        for index, graph in enumerate(self.graphs):
            for what, masks, size in (
                ("node", self.node_masks, graph.n_nodes),
                ("edge", self.edge_masks, graph.n_edges),
            ):
                mask = None if masks is None else masks[index]
                if mask is not None and len(mask) != size:
                    raise GraphError(
                        f"{where}: graph {index}: {what}_masks: expected {size} values, one per {what}, got {len(mask)}"
                    )

    @property
    def n_node_features(self) -> int:
        """Number of node features."""
        if self.graphs:
            return self.graphs[0].node_features.shape[1]
        return len(self.schema.node) if self.schema else 0

    @property
    def n_edge_features(self) -> int:
        """Number of edge features."""
        if self.graphs:
            return self.graphs[0].edge_features.shape[1]
        return len(self.schema.edge) if self.schema else 0

    @property
    def directed(self) -> bool:
        """Whether the graphs are directed."""
        return bool(self.graphs) and self.graphs[0].directed

    def take(self, rows: npt.ArrayLike) -> GraphDataset:
        """Return the data set of some rows, by position or by a boolean mask; `.indices` remembers which they were."""
        chosen = np.asarray(rows)
        if chosen.dtype == np.bool_:
            if len(chosen) != len(self):
                raise GraphError(f"{self._where()}: expected a mask of {len(self)} values, got {len(chosen)}")
            chosen = np.flatnonzero(chosen)
        if chosen.size == 0:
            chosen = chosen.astype(np.int64)
        if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
            raise GraphError(f"{self._where()}: expected row numbers or a mask, got {chosen.dtype} {chosen.shape}")
        n = len(self)
        if chosen.size and (chosen.min() < -n or chosen.max() >= n):
            raise IndexError(f"{self._where()}: expected rows from 0 to {n - 1}, got {int(chosen.max())}")
        chosen = np.where(chosen < 0, chosen + n, chosen).astype(np.int64)

        def pick(column: list[Any] | None) -> list[Any] | None:
            return None if column is None else [column[i] for i in chosen]

        part = object.__new__(GraphDataset)
        part.graphs = [self.graphs[i] for i in chosen]
        part.y = None if self.y is None else self.y[chosen]
        part.schema = self.schema
        part.name = self.name
        part.node_masks = pick(self.node_masks)
        part.edge_masks = pick(self.edge_masks)
        part.ids = pick(self.ids)
        part.smiles = pick(self.smiles)
        part.indices = self.indices[chosen]
        part.published_splits = None
        return part

    def __len__(self) -> int:
        return len(self.graphs)

    def __iter__(self) -> Iterator[Graph]:
        return iter(self.graphs)

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Graph: ...
    @overload
    def __getitem__(self, key: slice | npt.ArrayLike) -> GraphDataset: ...
    def __getitem__(self, key: Any) -> Graph | GraphDataset:
        if isinstance(key, int | np.integer) and not isinstance(key, bool | np.bool_):
            return self.graphs[int(key)]
        if isinstance(key, slice):
            return self.take(np.arange(len(self))[key])
        return self.take(key)

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        labels = "no labels" if self.y is None else f"{len(np.unique(self.y))} classes"
        return f"<GraphDataset{name}: {len(self)} graphs, {labels}>"
