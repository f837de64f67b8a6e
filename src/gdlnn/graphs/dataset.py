"""GraphDataset: graphs with labels, a schema and ground truth.

See `splits` for choosing rows, `inspection` for statistics and duplicates, `storage` for files, and
`gdlnn.datasets` for readers of other formats.
"""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from gdlnn.errors import GraphError
from gdlnn.graphs import storage
from gdlnn.graphs.inspection import Duplicates, Summary, dataset_columns, find_duplicates, summarise
from gdlnn.graphs.labels import LabelReader, Threshold, labelled_by
from gdlnn.graphs.schema import Feature, Schema, label_array
from gdlnn.graphs.splits import Split, SplitKind, fold_rows, split_rows
from gdlnn.graphs.structure import add_structure, with_structure_features
from gdlnn.io.frames import data_frame, html_table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gdlnn.graphs.graph import BoolArray, Graph, IntArray
    from gdlnn.graphs.molecules import MoleculeReader

logger = logging.getLogger(__name__)


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
    node_masks, edge_masks
        Ground truth per graph (True: belongs to the motif), or None. An entry may be None.
    ids, smiles
        One identifier, one SMILES per graph, or None.
    published_splits
        The split that was published with the data: train, val and test to row numbers.
    skipped
        The skipped rows of the file.
    reading
        How molecules were converted to graphs, or None.
    columns
        Other columns of the table that the graphs come from, by name: one text per graph.
    provenance
        How the graphs were read and chosen, as plain values: the columns of SMILES and label, missing labels,
        threshold, duplicates, split and seed. Models store it, so that a report reads data as in training.

    Attributes
    ----------
    indices
        The rows in the dataset that this one was taken from.
    split_source
        How this part of a split was chosen: "published", or the kind and the seed.
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
        skipped: Sequence[SkippedRow] = (),
        reading: MoleculeReader | None = None,
        columns: Mapping[str, Sequence[str]] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.graphs: list[Graph] = list(graphs)
        self.name = name
        self.y: npt.NDArray[Any] | None = None if y is None else label_array(y, self._where(), missing=True)
        self.schema = schema
        if schema is None and self.graphs:
            self.schema = self.graphs[0].schema
        self.node_masks = None if node_masks is None else list(node_masks)
        self.edge_masks = None if edge_masks is None else list(edge_masks)
        self.ids = None if ids is None else list(ids)
        self.smiles = None if smiles is None else list(smiles)
        self.indices: IntArray = np.arange(len(self.graphs))
        self.published_splits = None if published_splits is None else dict(published_splits)
        self.skipped = list(skipped)
        self.reading = reading
        self.columns = {name: list(cells) for name, cells in (columns or {}).items()}
        self.provenance = dict(provenance or {})
        self.split_source = ""
        self._duplicates: tuple[int, Duplicates] | None = None
        self._warned: set[str] = set()
        self._check()

    def _where(self) -> str:
        return f"dataset {self.name!r}" if self.name else "dataset"

    def _check(self) -> None:
        where, n = self._where(), len(self.graphs)
        if self.y is not None and (self.y.ndim != 1 or len(self.y) != n):
            raise GraphError(f"{where}: y: expected {n} labels, one per graph, got shape {self.y.shape}")
        for what, column in (
            ("node_masks", self.node_masks),
            ("edge_masks", self.edge_masks),
            ("ids", self.ids),
            ("smiles", self.smiles),
            *((f"column {name!r}", cells) for name, cells in self.columns.items()),
        ):
            if column is not None and len(column) != n:
                raise GraphError(f"{where}: {what}: expected {n} entries, one per graph, got {len(column)}")
        if not self.graphs:
            return
        # One pass checks whether anything differs; only then look for the graph that does.
        if len({(g.node_features.shape[1], g.edge_features.shape[1], g.directed) for g in self.graphs}) > 1:
            self._check_alike(where)
        self._check_masks(where)

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

    def _check_masks(self, where: str) -> None:
        if self.node_masks is None and self.edge_masks is None:
            return
        for index, graph in enumerate(self.graphs):
            for what, masks, size in (
                ("node", self.node_masks, graph.n_nodes),
                ("edge", self.edge_masks, graph.n_edges),
            ):
                mask = None if masks is None else masks[index]
                if mask is not None and len(mask) != size:
                    raise GraphError(
                        f"{where}: graph {index}: {what}_masks: expected {size} values, one per {what}, "
                        f"got {len(mask)}"
                    )

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
        chosen = np.asarray(rows)
        if chosen.dtype == np.bool_:
            if len(chosen) != len(self):
                raise GraphError(f"{self._where()}: expected a mask of {len(self)} values, got {len(chosen)}")
            chosen = np.flatnonzero(chosen)
        if chosen.size == 0:
            chosen = chosen.astype(np.int64)
        if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
            raise GraphError(
                f"{self._where()}: expected row numbers or a mask, got {chosen.dtype} {chosen.shape}"
            )
        n = len(self)
        if chosen.size and (chosen.min() < -n or chosen.max() >= n):
            raise IndexError(f"{self._where()}: expected rows from 0 to {n - 1}, got {int(chosen.max())}")
        chosen = np.where(chosen < 0, chosen + n, chosen).astype(np.int64)

        def pick(column: list[Any] | None) -> list[Any] | None:
            return None if column is None else [column[i] for i in chosen]

        part = copy.copy(self)
        part.graphs = [self.graphs[i] for i in chosen]
        part.y = None if self.y is None else self.y[chosen]
        part.node_masks = pick(self.node_masks)
        part.edge_masks = pick(self.edge_masks)
        part.ids = pick(self.ids)
        part.smiles = pick(self.smiles)
        part.columns = {name: [cells[i] for i in chosen] for name, cells in self.columns.items()}
        part.indices = self.indices[chosen]
        part.published_splits = None
        part.skipped = []
        part._duplicates = None
        part._warned = set()
        return part

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
            As for `LabelReader`.
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
        return labelled_by(self, column, LabelReader(tuple(missing), threshold), min_classes, where)

    @property
    def file_rows(self) -> IntArray:
        """The number of each graph's row in its file, from 1; in a part, its number in the whole."""
        skipped = {row.row for row in self.skipped}
        numbers = [n for n in range(1, len(self) + len(skipped) + 1) if n not in skipped]
        return np.array(numbers, dtype=np.int64) if skipped else self.indices + 1

    def with_schema(self, schema: Schema) -> GraphDataset:
        """Return the same dataset with other names for its features and classes."""
        for of, expected, got in (
            ("node", self.n_node_features, len(schema.node)),
            ("edge", self.n_edge_features, len(schema.edge)),
        ):
            if self.graphs and expected != got:
                raise GraphError(
                    f"{self._where()}: schema: expected names for {expected} {of} features, got {got}"
                )
        return self._with_graphs([graph._relabelled(schema, graph.name) for graph in self.graphs], schema)

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
        return self._with_graphs(add_structure(self.graphs, schema), schema)

    def _with_graphs(self, graphs: list[Graph], schema: Schema) -> GraphDataset:
        """Return the same rows with other graphs."""
        result = self.take(np.arange(len(self)))
        result.graphs, result.schema = graphs, schema
        result.indices = self.indices
        result.published_splits = self.published_splits
        result.skipped = self.skipped
        return result

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the dataset to one file without pickle; the file appears when it is complete."""
        storage.save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> GraphDataset:
        """Read a dataset that `save` wrote."""
        return storage.load(path)

    def split(
        self, kind: SplitKind = "auto", seed: int = 0, sizes: Sequence[float] = (0.8, 0.1, 0.1)
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
        seed
            Seed of the random numbers; a published split has none.
        sizes
            The fractions.

        Returns
        -------
        Split
            Three datasets; ``.split_source`` of each says how they were chosen.
        """
        rows, source = split_rows(self, kind, seed, sizes)
        logger.info(
            "%s: split %r is %s: %s graphs", self._where(), kind, source, [len(part) for part in rows]
        )
        self._warn_of_twins(rows, f"split {kind!r}")
        parts = [self.take(part) for part in rows]
        for part in parts:
            part.split_source = source
            part.provenance = {**self.provenance, "split": kind, "seed": seed}
        return Split(*parts)

    def _warn_of_twins(self, rows: Sequence[IntArray], what: str) -> None:
        twins = self.duplicates().across_rows(rows)
        if twins and what not in self._warned:
            self._warned.add(what)  # warn once in a study over many seeds
            count = sum(len(group) for group in twins)
            logger.warning(
                "%s: %s leaks: %d graphs have an isomorphic twin in another part (%d groups); "
                "drop_duplicates() leaves one of each",
                self._where(),
                what,
                count,
                len(twins),
            )

    def duplicates(self) -> Duplicates:
        """Find the groups of isomorphic graphs, features included, and those with conflicting labels.

        ``.across(train, val, test)`` of the result gives the groups with twins in several parts.
        """
        key = hash(tuple(map(id, self.graphs)))
        if self._duplicates is None or self._duplicates[0] != key:
            self._duplicates = (key, find_duplicates(self))
        return self._duplicates[1]

    def drop_duplicates(self, conflicts: Literal["drop", "first"] = "drop") -> GraphDataset:
        """Return the dataset with the first graph of each group of twins.

        Parameters
        ----------
        conflicts
            What to do with a group whose labels differ: drop it whole, since its label is not known, or
            keep the first graph with its label.
        """
        if conflicts not in ("drop", "first"):
            raise GraphError(f"drop_duplicates: conflicts: expected drop or first, got {conflicts!r}")
        found, rows = self.duplicates(), self.file_rows.tolist()
        gone: dict[int, str] = {}
        for group in found.groups:
            gone |= dict.fromkeys(group[1:], f"the same graph as row {rows[group[0]]}")
        if conflicts == "drop":
            for group in found.conflicting:
                told = ", ".join(str(rows[i]) for i in group)
                gone |= dict.fromkeys(group, f"the same graph with different labels in rows {told}")
        keep = np.ones(len(self), dtype=bool)
        keep[list(gone)] = False
        kept, smiles = self.take(keep), self.smiles or [""] * len(self)
        left = [SkippedRow(rows[i], smiles[i], reason) for i, reason in gone.items()]
        kept.skipped = sorted([*self.skipped, *left])
        kept.provenance = {
            **self.provenance,
            "duplicates": "drop-conflicting" if conflicts == "drop" else conflicts,
        }
        return kept

    def describe(self) -> Summary:
        """Return the statistics of the dataset, as in the paper's table."""
        return summarise(self)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per graph: id, SMILES, label, sizes and other columns."""
        return data_frame(dataset_columns(self))

    def _repr_html_(self) -> str:
        return html_table(dataset_columns(self), repr(self).strip("<>"))

    def folds(
        self, k: int = 10, seed: int = 0, *, twins_together: bool = False
    ) -> Iterator[tuple[GraphDataset, GraphDataset]]:
        """Yield (train, test) for k folds of nearly equal size, stratified if there are labels.

        `twins_together` keeps isomorphic graphs in one fold.
        """
        for train, test in fold_rows(self, k, seed, twins_together=twins_together):
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
