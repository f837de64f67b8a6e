"""Reading what clients send: SMILES, JSON graphs, and files of every form that `gdlnn predict` takes.

No request names a path, and nothing is unpickled.
"""

from __future__ import annotations

import csv
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from gdlnn.datasets.molecules import smiles_row
from gdlnn.datasets.resolve import BatchedInput, batched_dataset, trained_smiles_column
from gdlnn.datasets.tables import Row as InputRow
from gdlnn.errors import DatasetError, GDLNNError, GraphError, ServerError
from gdlnn.graphs import Graph
from gdlnn.graphs.structure import given_schema, n_structure_features

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdlnn.datasets.resolve import Batch
    from gdlnn.graphs import Schema
    from gdlnn.graphs.molecules import MoleculeReader
    from gdlnn.mining import SetInfo
    from gdlnn.server.limits import Limits

FileKind = Literal["csv", "tsv", "smi", "xlsx", "parquet", "sdf", "jsonl", "dataset"]
_SUFFIXES = {kind: f".{kind}" for kind in get_args(FileKind)} | {"dataset": ".gdlds"}
OF_GRAPHS = ("jsonl", "dataset")  # these may hold graphs other than molecules
_TEXT = ("csv", "tsv", "smi", "sdf", "jsonl")
_GZIP = b"\x1f\x8b"
# What the readers raise for text that nobody should send, besides their own errors.
_BAD_TEXT = (GDLNNError, csv.Error, ValueError, TypeError, LookupError, OverflowError, RecursionError)
_NAMES = ("id", "name")


@dataclass(frozen=True)
class Row:
    """One graph that was asked about, or the reason why there is none; `cells` are those of its table."""

    number: int
    name: str
    smiles: str | None
    graph: Graph | None
    reason: str = ""
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sent:
    """A client's rows, and the table they come from."""

    rows: list[Row]
    source: BatchedInput


_WHOLE: dict[str, Any] = {"streamed": False, "batches": iter(())}
TYPED = BatchedInput("input", has_smiles=True, columns=("smiles",), smiles="smiles", **_WHOLE)
GRAPHS = BatchedInput("graph", has_smiles=False, **_WHOLE)
"""What SMILES and graphs of a request come from: no table, but a table is made of them."""


class Reader:
    """Reads what clients send for one model.

    Parameters
    ----------
    schema, info
        The names and numbers of the features that the model was trained on.
    limits
        How much is read.
    reading
        How molecules become graphs; None for a model of other graphs.
    folder
        Where files are while they are read; None: the system's folder for such.
    smiles_column
        The column that the SMILES of training were in.
    """

    def __init__(
        self,
        schema: Schema | None,
        info: SetInfo,
        limits: Limits,
        reading: MoleculeReader | None,
        folder: str | None = None,
        smiles_column: str | None = None,
    ) -> None:
        self._folder, self._smiles_column = folder, smiles_column
        self.schema, self.info, self.limits, self.reading = schema, info, limits, reading
        computed = n_structure_features(schema)  # they may be there already, as in a part of a graph
        self.n_node_features = info.n_node_features - computed
        self._schemas = {info.n_node_features: schema, self.n_node_features: given_schema(schema)}
        self.takes_smiles = self.reading is not None

    def smiles(self, texts: Iterable[str]) -> list[Row]:
        """Read SMILES, one row each; one that does not parse keeps its reason."""
        if self.reading is None:
            raise ServerError(f"smiles: {self._no_smiles()}")
        listed = [text.strip() for text in texts]
        self._check_batch(len(listed))
        found = [
            self._too_long(number, text, (text[:40],))
            or smiles_row(InputRow(number, None, text, cells=(text,)), reading=self.reading)
            for number, text in enumerate(listed, 1)
        ]
        return [self._row(row, row.smiles or "") for row in found]

    def graphs(self, items: list[dict[str, Any]]) -> list[Row]:
        """Read JSON graphs, one row each."""
        self._check_batch(len(items))
        rows = []
        for number, item in enumerate(items, 1):
            name = str(item.get("name") or f"graph {number}")
            try:
                graph = self._graph(item, name)
                rows.append(Row(number, name, None, graph, self._unfit(graph)))
            except _BAD_TEXT as error:
                rows.append(Row(number, name, None, None, str(error)))
        return [row if not row.reason else Row(row.number, row.name, None, None, row.reason) for row in rows]

    def file(
        self,
        data: bytes,
        kind: str,
        smiles: str | None = None,
        identifier: str | None = None,
        encoding: str = "utf-8",
    ) -> Sent:
        """Read a file that was sent; its name and place stay with the client.

        Parameters
        ----------
        data
            The bytes of the file; text may be compressed by gzip.
        kind
            What kind of file it is, see `FileKind`.
        smiles, identifier, encoding
            As --smiles, --id and --encoding on the command line.
        """
        if kind not in get_args(FileKind):
            raise ServerError(f"kind: expected one of {', '.join(get_args(FileKind))}, got {kind!r}")
        if kind not in OF_GRAPHS and not self.takes_smiles:
            raise ServerError(f"{kind}: {self._no_smiles()}")
        packed = ".gz" if kind in _TEXT and data.startswith(_GZIP) else ""
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            path = Path(folder) / f"input{_SUFFIXES[kind]}{packed}"
            path.write_bytes(data)
            try:
                return self._file(path, smiles, identifier, encoding)
            except _BAD_TEXT as error:
                raise ServerError(str(error)) from error

    # --- parts --------------------------------------------------------------------------------------------

    def _file(self, path: Path, smiles: str | None, identifier: str | None, encoding: str) -> Sent:
        smiles = trained_smiles_column(path, self._smiles_column, smiles, encoding)
        source = batched_dataset(
            str(path),
            self.limits.batch + 1,
            smiles=smiles,
            id=identifier,
            reading=self.reading,
            widths=(self.n_node_features, self.info.n_edge_features),
            encoding=encoding,
        )
        batch = next(source.batches, None)
        given = [] if batch is None else self._read(batch, source)
        names = [
            place
            for place, name in enumerate(source.columns)
            if (name.lower() in _NAMES if source.id is None else name == source.id)
        ]
        rows: list[Row] = []
        n_graphs = 0
        for row in given:
            name = row.key or next((row.cells[place] for place in names if row.cells[place:]), "")
            counted = f"{source.name}/{n_graphs}"
            rows.append(self._row(row, name or (row.smiles if source.smiles else "") or counted))
            n_graphs += row.graph is not None
        if not n_graphs:
            first = f": {given[0].reason}" if given else ""
            raise DatasetError(
                f"{path.name}: expected at least one row that parses, got none of {len(given)}{first}"
            )
        return Sent(rows, source)

    def _read(self, batch: Batch, source: BatchedInput) -> list[InputRow]:
        """Return the rows of a batch; what is far too long is not parsed."""
        self._check_batch(len(batch.rows))
        if source.smiles is None:
            return batch.read()
        found = []
        for given in batch.rows:
            row = self._too_long(given.number, given.smiles or "", given.cells)
            found.append(row or batch.reader(given))
        return found

    def _too_long(self, number: int, text: str, cells: Iterable[str] = ()) -> InputRow | None:
        """Refuse a SMILES that RDKit needs time and memory for before its atoms can be counted."""
        if len(text) <= 20 * self.limits.nodes:
            return None
        reason = f"expected at most {self.limits.nodes} atoms, got a SMILES of {len(text)} letters"
        return InputRow(number, "", text[:40], None, reason, tuple(cells))

    def _row(self, given: InputRow, name: str) -> Row:
        """Return a row that the model can be asked about, or the reason why it cannot."""
        graph, reason = None, given.reason
        if given.graph is not None:
            graph = self._ours(given.graph, name)
            reason = self._unfit(graph)
        return Row(given.number, name, given.smiles, None if reason else graph, reason, given.cells)

    def _graph(self, item: dict[str, Any], name: str) -> Graph:
        nodes, edges, features = item["nodes"], item.get("edges") or [], item.get("edge_features")
        if len(nodes) > self.limits.nodes or len(edges) > self.limits.edges:
            raise GraphError(self._too_large(len(nodes), len(edges)))
        plain = [[node] if isinstance(node, int | float) else node for node in nodes]
        empty = np.zeros((0, self.info.n_edge_features)) if not edges else None
        return self._ours(
            Graph(
                plain if plain else np.zeros((0, self.n_node_features)),
                edges,
                features if features else empty,
                directed=self.info.directed if item.get("directed") is None else item["directed"],
                name=name,
            )
        )

    def _ours(self, graph: Graph, name: str | None = None) -> Graph:
        """Return the graph with the names that the model knows, whatever the client called its features."""
        schema = self._schemas.get(graph.node_features.shape[1])
        fits = schema is not None and graph.edge_features.shape[1] == len(schema.edge)
        return Graph._trusted(
            graph.node_features,
            graph.edges,
            graph.edge_features,
            graph.directed,
            schema if fits else None,
            name or graph.name,
        )

    def _unfit(self, graph: Graph) -> str:
        """Return why the model cannot be asked about a graph, or nothing."""
        if graph.n_nodes > self.limits.nodes or graph.n_edges > self.limits.edges:
            return self._too_large(graph.n_nodes, graph.n_edges)
        if not graph.n_nodes:
            return "expected at least one node, got none"
        for of, expected, got, count in (
            ("node", self.n_node_features, graph.node_features.shape[1], graph.n_nodes),
            ("edge", self.info.n_edge_features, graph.edge_features.shape[1], graph.n_edges),
        ):
            if count and expected != got and not (of == "node" and got in self._schemas):
                return f"expected {expected} {of} feature(s), as in training, got {got}"
        if graph.n_edges and graph.directed != self.info.directed:
            return f"expected {'a directed' if self.info.directed else 'an undirected'} graph, as in training"
        return ""

    def _too_large(self, n_nodes: int, n_edges: int) -> str:
        if self.takes_smiles and n_nodes > self.limits.nodes:
            return f"expected at most {self.limits.nodes} atoms, got {n_nodes}"
        most = f"{self.limits.nodes} nodes and {self.limits.edges} edges"
        return f"expected at most {most}, got {n_nodes} and {n_edges}"

    def _check_batch(self, n: int) -> None:
        if n > self.limits.batch:
            raise ServerError(f"expected at most {self.limits.batch} graphs in one request, got {n} or more")

    def _no_smiles(self) -> str:
        return (
            f"this model was not trained on molecules read from SMILES; it expects graphs with "
            f"{self.n_node_features} node feature(s) and {self.info.n_edge_features} edge feature(s)"
        )
