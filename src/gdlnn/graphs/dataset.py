"""GraphDataset: graphs with labels, a schema and what else is known of its rows.

See `splits` for choosing some, `identity` for duplicates, and `gdlnn.datasets` for readers of files.
"""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from gdlnn.errors import GraphError
from gdlnn.graphs.identity import Duplicates
from gdlnn.graphs.labels import Threshold, read_labels
from gdlnn.graphs.schema import Feature, Schema, label_array
from gdlnn.graphs.splits import Split, SplitKind, fold_rows, split_rows
from gdlnn.graphs.structure import add_structure, with_structure_features
from gdlnn.io.atomic import atomic_write
from gdlnn.io.frames import data_frame, html_table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from gdlnn.graphs.graph import BoolArray, Graph, IntArray
    from gdlnn.graphs.molecules import MoleculeReader
    from gdlnn.io.frames import Columns

logger = logging.getLogger(__name__)
Masks = Sequence["BoolArray | None"]
_OF_ROWS = ("ids", "smiles", "node_masks", "edge_masks")


class SkippedRow(NamedTuple):
    """A skipped row of a file: its number from 1 below the header, its content, and the reason."""

    row: int
    value: str
    reason: str


class GraphDataset:
    """Graphs of one kind: the same features, all directed or all undirected, with or without labels.

    Parameters
    ----------
    graphs
        The graphs.
    y
        One label per graph, as in the file, or None.
    schema
        The names of features and classes; by default that of the graphs.
    name
        The name of the dataset.
    ids, smiles
        Identifiers and SMILES, one per graph.
    columns
        Other columns of the table that the graphs come from, by name, as text.
    node_masks, edge_masks
        Ground truth, one array per graph (True: belongs to the motif); an entry may be None.
    reading
        How molecules were converted to graphs, or None.
    skipped
        The skipped rows of the file.
    provenance
        How the graphs were read and chosen, as plain values: the columns of SMILES and label, missing labels,
        threshold, duplicates, split and seed. Models store it, so that a report reads data as in training.

    Attributes
    ----------
    indices
        The rows in the dataset that this one was taken from.
    published_splits
        The split that was published with the data: train, val and test to row numbers; or None.
    split_source
        How a part of a split was chosen: "published", or the kind and the seed.
    """

    def __init__(
        self,
        graphs: Iterable[Graph],
        y: npt.ArrayLike | None = None,
        schema: Schema | None = None,
        name: str = "",
        *,
        ids: Sequence[str] | None = None,
        smiles: Sequence[str] | None = None,
        columns: Mapping[str, Sequence[str]] | None = None,
        node_masks: Masks | None = None,
        edge_masks: Masks | None = None,
        reading: MoleculeReader | None = None,
        skipped: Sequence[SkippedRow] = (),
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.graphs: list[Graph] = list(graphs)
        self.name = name
        self.y: npt.NDArray[Any] | None = None if y is None else label_array(y, self._where(), missing=True)
        self.schema = schema
        if schema is None and self.graphs:
            self.schema = self.graphs[0].schema
        self.ids = None if ids is None else list(ids)
        self.smiles = None if smiles is None else list(smiles)
        self.columns = {name: list(cells) for name, cells in (columns or {}).items()}
        self.node_masks, self.edge_masks = node_masks, edge_masks
        self.reading, self.skipped, self.provenance = reading, list(skipped), dict(provenance or {})
        self.indices: IntArray = np.arange(len(self.graphs))
        self.published_splits: Mapping[str, IntArray] | None = None
        self.split_source = ""
        self._duplicates: tuple[int, Duplicates] | None = None
        self._warned: set[str] = set()
        self._check()

    def _where(self) -> str:
        return f"dataset {self.name!r}" if self.name else "dataset"

    def _check(self) -> None:
        """Refuse what does not have one entry per graph, masks that do not fit, and graphs that differ."""
        where, n = self._where(), len(self.graphs)
        if self.y is not None and (self.y.ndim != 1 or len(self.y) != n):
            raise GraphError(f"{where}: y: expected {n} labels, one per graph, got shape {self.y.shape}")
        of_rows = {name: getattr(self, name) for name in _OF_ROWS}
        for what, entries in (of_rows | {f"column {n!r}": c for n, c in self.columns.items()}).items():
            if entries is not None and len(entries) != n:
                raise GraphError(f"{where}: {what}: expected {n} entries, one per graph, got {len(entries)}")
        for of, masks in (("node", self.node_masks), ("edge", self.edge_masks)):
            for index, (graph, mask) in enumerate(zip(self.graphs, masks or (), strict=False)):
                size = graph.n_nodes if of == "node" else graph.n_edges
                if mask is not None and len(mask) != size:
                    raise GraphError(
                        f"{where}: graph {index}: {of}_masks: expected {size} values, one per {of}, "
                        f"got {len(mask)}"
                    )
        # One pass checks whether anything differs; only then look for the graph that does.
        if len({(g.node_features.shape[1], g.edge_features.shape[1], g.directed) for g in self.graphs}) > 1:
            self._check_alike(where)

    def _check_alike(self, where: str) -> None:
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

    @property
    def n_node_features(self) -> int:
        """Number of node features."""
        if self.graphs:
            return int(self.graphs[0].node_features.shape[1])
        return len(self.schema.node) if self.schema else 0

    @property
    def n_edge_features(self) -> int:
        """Number of edge features."""
        if self.graphs:
            return int(self.graphs[0].edge_features.shape[1])
        return len(self.schema.edge) if self.schema else 0

    @property
    def directed(self) -> bool:
        """Whether the graphs are directed."""
        return bool(self.graphs) and self.graphs[0].directed

    def take(self, rows: npt.ArrayLike) -> GraphDataset:
        """Return the dataset of some rows, by index or mask; `.indices` keeps their row numbers."""
        given = np.asarray(rows)
        whole = given.size == 0 or given.dtype == np.bool_ or np.issubdtype(given.dtype, np.integer)
        if given.ndim != 1 or not whole:
            raise GraphError(
                f"{self._where()}: expected row numbers or a mask, got {given.dtype} {given.shape}"
            )
        try:
            chosen = np.arange(len(self))[given if given.size else np.zeros(0, dtype=np.int64)]
        except IndexError as error:
            raise IndexError(f"{self._where()}: {error}") from error
        part = self._with([self.graphs[i] for i in chosen], self.schema)
        part.y = None if self.y is None else self.y[chosen]
        for name in _OF_ROWS:
            entries = getattr(self, name)
            setattr(part, name, None if entries is None else [entries[i] for i in chosen])
        part.columns = {name: [cells[i] for i in chosen] for name, cells in self.columns.items()}
        part.indices = self.indices[chosen]
        part.published_splits, part.skipped = None, []
        return part

    def with_y(self, y: npt.ArrayLike | None) -> GraphDataset:
        """Return the dataset with other labels, or without labels."""
        other = self._with(self.graphs, self.schema)
        other.y = None if y is None else label_array(y, self._where())
        other._check()
        return other

    def _with(self, graphs: list[Graph], schema: Schema | None) -> GraphDataset:
        """Return a copy with other graphs."""
        other = copy.copy(self)
        other.graphs, other.schema = graphs, schema
        other._duplicates, other._warned = None, set()
        return other

    def with_labels(
        self,
        column: str,
        *,
        missing: Sequence[str] = (),
        threshold: Threshold = None,
        min_classes: int = 2,
        where: str = "",
    ) -> GraphDataset:
        """Return the graphs with a label in a column of the table; the others are listed in ``.skipped``.

        Parameters
        ----------
        column
            One of `columns`.
        missing, threshold
            As for `read_labels`.
        min_classes
            Minimum number of distinct labels.
        where
            The file, for errors.
        """
        if column not in self.columns:
            got = ", ".join(self.columns) or "none"
            raise GraphError(
                f"{self._where()}: with_labels: expected one of its columns ({got}), got {column!r}"
            )
        cells = self.columns[column]
        place = f"{where or self.name or 'dataset'}, column {column!r}"
        found = read_labels(cells, place, missing, threshold, min_classes)
        reasons = {
            i: "no label" if not cells[i] else f"no label: {cells[i]}"
            for i in np.flatnonzero(~found.present).tolist()
        }
        labeled = self._without(reasons, label=column, missing=list(missing), threshold=found.threshold)
        labeled.indices, labeled.y = np.arange(len(labeled)), found.y
        if found.classes and labeled.schema is not None:
            return labeled.with_schema(replace(labeled.schema, classes=found.classes))
        return labeled

    def _without(self, reasons: Mapping[int, str], **provenance: Any) -> GraphDataset:
        """Return the dataset without some rows, which are listed in ``.skipped`` with the reasons."""
        rows, smiles = self.file_rows.tolist(), self.smiles or [""] * len(self)
        skipped = [SkippedRow(rows[i], smiles[i], reason) for i, reason in reasons.items()]
        rest = self.take([i for i in range(len(self)) if i not in reasons])
        rest.skipped = sorted([*self.skipped, *skipped])
        rest.provenance = {**self.provenance, **provenance}
        return rest

    @property
    def file_rows(self) -> IntArray:
        """The number of each graph's row in its file, from 1; in a part, its number in the whole."""
        skipped = {row.row for row in self.skipped}
        numbers = [n for n in range(1, len(self) + len(skipped) + 1) if n not in skipped]
        return np.array(numbers, dtype=np.int64) if skipped else self.indices + 1

    def with_schema(self, schema: Schema) -> GraphDataset:
        """Return the same dataset with other names for its features and classes."""
        if self.graphs:
            schema.check_widths(self.n_node_features, self.n_edge_features, f"{self._where()}: ")
        graphs = [graph._renamed(schema, graph.name) for graph in self.graphs]
        return self._with(graphs, schema)

    def with_structure(self) -> GraphDataset:
        """Return the dataset with degree and ring as additional node features, computed from the graphs.

        For directed graphs these are `out_degree`, `in_degree` and `ring`, on a directed cycle. Subgraphs
        keep the values of the whole graph.
        """
        schema = with_structure_features(self.schema, self.directed)
        if self.schema is None:  # unnamed features are numbered
            unnamed = tuple(Feature(f"feature_{i}") for i in range(self.n_node_features))
            edges = tuple(Feature(f"feature_{i}") for i in range(self.n_edge_features))
            schema = Schema((*unnamed, *schema.node), edges)
        return self._with(add_structure(self.graphs, schema), schema)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the dataset as JSON Lines, which `load_jsonl` reads; the file appears once it is complete."""
        with atomic_write(Path(path)) as file:
            file.writelines(self.json_lines())

    def json_lines(self) -> Iterator[bytes]:
        """Give the lines of the file that `save` writes."""
        header = {
            "dataset": self.name,
            "schema": None if self.schema is None else self.schema.to_json(),
            "reading": None if self.reading is None else self.reading.to_json(),
        }
        columns = {
            "label": None if self.y is None else self.y.tolist(),
            "id": self.ids,
            "smiles": self.smiles,
        }
        columns |= {"name": [g.name for g in self.graphs], "node_names": [g.node_names for g in self.graphs]}
        yield json.dumps(header, ensure_ascii=False).encode() + b"\n"
        for i, graph in enumerate(self.graphs):
            cells = {key: None if column is None else column[i] for key, column in columns.items()}
            row = graph.to_json() | {key: cell for key, cell in cells.items() if cell is not None}
            yield json.dumps(row, ensure_ascii=False).encode() + b"\n"

    def split(
        self, kind: SplitKind = "auto", random_state: int = 0, sizes: Sequence[float] = (0.8, 0.1, 0.1)
    ) -> Split:
        """Split into training, validation and test set: int(.8 n), int(.1 n) and the remaining graphs.

        Parameters
        ----------
        kind
            "auto": the split published with the data if there is one, else "stratified", or random without
            labels. "stratified" keeps the proportions of the classes. "scaffold" keeps molecules with the
            same Bemis–Murcko scaffold together. These three keep isomorphic graphs together too, so sizes are
            met only as far as whole groups allow. "paper": the published split; without one, the same as
            "random". "time:COLUMN": the oldest for training, the newest for testing, by numbers or ISO
            dates. "column:COLUMN": a column of the table with train, val or test.
        random_state
            Seed of the random numbers; a published split has none.
        sizes
            The fractions.

        Returns
        -------
        Split
            Three datasets; ``.split_source`` of each says how they were chosen.
        """
        rows, source = split_rows(self, kind, random_state, sizes)
        logger.info(
            "%s: split %r is %s: %s graphs", self._where(), kind, source, [len(part) for part in rows]
        )
        parts = [self.take(part) for part in rows]
        twins = self.duplicates().across(*parts)
        if twins and kind not in self._warned:
            self._warned.add(kind)  # warn once in a study over many seeds
            count = sum(len(group) for group in twins)
            logger.warning(
                "%s: split %r leaks: %d graphs have an isomorphic twin in another part (%d groups); "
                "drop_duplicates() leaves one of each",
                *(self._where(), kind, count, len(twins)),
            )
        for part in parts:
            part.split_source = source
            part.provenance = {**self.provenance, "split": kind, "seed": random_state}
        return Split(*parts)

    def duplicates(self) -> Duplicates:
        """Find the groups of isomorphic graphs, features included, and those with conflicting labels."""
        key = hash(tuple(map(id, self.graphs)))
        if self._duplicates is None or self._duplicates[0] != key:
            self._duplicates = (key, Duplicates.of(self))
        return self._duplicates[1]

    def drop_duplicates(self, conflicts: Literal["drop", "first", "mean"] = "drop") -> GraphDataset:
        """Return the dataset with the first graph of each group of twins.

        Parameters
        ----------
        conflicts
            What to do with a group whose labels differ: drop it whole, since its label is not known, or
            keep the first graph with its label, or with the mean of their numbers.
        """
        if conflicts not in ("drop", "first", "mean"):
            raise GraphError(f"drop_duplicates: conflicts: expected drop, first or mean, got {conflicts!r}")
        if conflicts == "mean" and (self.y is None or self.y.dtype.kind != "f"):
            raise GraphError("drop_duplicates: conflicts: mean needs a target of numbers")
        found, rows = self.duplicates(), self.file_rows.tolist()
        reasons: dict[int, str] = {}
        for group in found.groups:
            reasons |= dict.fromkeys(group[1:], f"the same graph as row {rows[group[0]]}")
        if conflicts == "drop":
            for group in found.conflicting:
                listed = ", ".join(str(rows[i]) for i in group)
                reasons |= dict.fromkeys(group, f"the same graph with different labels in rows {listed}")
        whole = self
        if conflicts == "mean" and self.y is not None:
            twin = found.twin_of
            means = np.bincount(twin, self.y) / np.maximum(np.bincount(twin), 1)
            whole = self.with_y(means[twin])
        return whole._without(reasons, duplicates="drop-conflicting" if conflicts == "drop" else conflicts)

    def describe(self) -> dict[str, Any]:
        """Return the row of the paper's table of datasets: counts, averages and the size of each class.

        An undirected self-loop counts as half an edge, as it adds 1 to the degree: the average is half that
        of the sum of degrees, as in the table of the paper.
        """
        n = max(len(self), 1)
        loops = sum(int((g.edges[:, 0] == g.edges[:, 1]).sum()) for g in self.graphs if not g.directed)
        counts: dict[Any, int] = {}
        if self.y is not None:
            labels, sizes = np.unique(self.y, return_counts=True)
            counts = dict(zip(labels.tolist(), sizes.tolist(), strict=True))
        return {
            "name": self.name or "dataset",
            "graphs": len(self),
            "avg_nodes": round(sum(g.n_nodes for g in self.graphs) / n, 4),
            "avg_edges": round((sum(g.n_edges for g in self.graphs) - loops / 2) / n, 4),
            "labels": len(counts),
            "node_features": self.n_node_features,
            "edge_features": self.n_edge_features,
            "classes": counts,
        }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per graph: id, SMILES, label, sizes and other columns."""
        return data_frame(dataset_columns(self))

    def _repr_html_(self) -> str:
        return html_table(dataset_columns(self), repr(self).strip("<>"))

    def folds(self, k: int = 10, random_state: int = 0) -> Iterator[tuple[GraphDataset, GraphDataset]]:
        """Yield (train, test) for k folds, stratified if there are labels, with equal graphs in one fold."""
        for train, test in fold_rows(self, k, random_state):
            yield self.take(train), self.take(test)

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


def dataset_columns(dataset: GraphDataset) -> Columns:
    """Return a dataset as columns: identifier, SMILES, label, sizes, and the columns of its table."""
    columns: Columns = {"id": dataset.ids or [graph.name for graph in dataset.graphs]}
    if dataset.smiles is not None:
        columns["smiles"] = list(dataset.smiles)
    if dataset.y is not None:
        columns["label"] = dataset.y.tolist()
    columns["nodes"] = [graph.n_nodes for graph in dataset.graphs]
    columns["edges"] = [graph.n_edges for graph in dataset.graphs]
    return columns | {name: list(cells) for name, cells in dataset.columns.items() if name not in columns}
