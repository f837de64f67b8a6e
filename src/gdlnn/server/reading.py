"""Reading what clients send: SMILES, JSON graphs, and files of every form that `gdlnn predict` takes."""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from gdlnn.datasets.jsonl import JsonlKind
from gdlnn.datasets.molecules import smiles_row
from gdlnn.datasets.resolve import BatchedInput, batched_dataset, trained_smiles_column
from gdlnn.datasets.tables import Row
from gdlnn.errors import DatasetError, GDLNNError, ServerError
from gdlnn.graphs.structure import given_schema
from gdlnn.server.bodies import FileKind

if TYPE_CHECKING:
    from gdlnn.model import GDLNNClassifier
    from gdlnn.server.limits import Limits

OF_GRAPHS = ("jsonl", "dataset")
"""The kinds of files that may hold graphs other than molecules."""
_SUFFIXES = {kind: f".{kind}" for kind in get_args(FileKind)} | {"dataset": ".gdlds"}
_GZIP = b"\x1f\x8b"
# What the readers raise for text that nobody should send, besides their own errors.
_BAD_TEXT = (GDLNNError, csv.Error, ValueError, TypeError, LookupError, OverflowError, RecursionError)
TYPED = BatchedInput("input", True, iter(()), ("smiles",), "smiles")
GRAPHS = BatchedInput("graph", False, iter(()))
"""The tables that SMILES and graphs of a request would be read from."""


class Reader:
    """Reads what clients send for a model, as rows whose key is their name."""

    def __init__(self, model: GDLNNClassifier, limits: Limits) -> None:
        self.model, self.limits, self.info = model, limits, model.programs_.info
        self.word = "nodes" if model.reading_ is None else "atoms"
        self.kinds: dict[int, JsonlKind] = {}
        for schema in (model.schema_, given_schema(model.schema_)):  # structure features may be left out
            width = self.info.n_node_features if schema is None else len(schema.node)
            widths = (width, self.info.n_edge_features)
            self.kinds[width] = JsonlKind("graph", schema, widths, self.info.directed, has_smiles=False)
        self.kind = self.kinds[min(self.kinds)]

    def sent(self, asked: dict[str, Any]) -> tuple[list[Row], BatchedInput]:
        """Read the SMILES or the graphs of a request, one row each."""
        if asked.get("smiles") is not None:
            self._check_smiles("smiles")
            texts = [asked["smiles"]] if isinstance(asked["smiles"], str) else asked["smiles"]
            self._check_batch(len(texts))
            return [self._smiles(number, text.strip()) for number, text in enumerate(texts, 1)], TYPED
        graphs = asked["graphs"] if asked.get("graphs") is not None else [asked["graph"]]
        self._check_batch(len(graphs))
        return [self._graph(number, graph) for number, graph in enumerate(graphs, 1)], GRAPHS

    def file(
        self, data: bytes, kind: str, smiles: str | None, id: str | None, encoding: str
    ) -> tuple[list[Row], BatchedInput]:
        """Read a file of a kind of `FileKind`, with options as on the command line; text may be gzipped."""
        if kind not in OF_GRAPHS:
            self._check_smiles(kind)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"input{_SUFFIXES[kind]}{'.gz' if data.startswith(_GZIP) else ''}"
            path.write_bytes(data)
            try:
                known = self.model.provenance_.get("smiles")
                source = batched_dataset(
                    str(path),
                    self.limits.batch + 1,
                    smiles=trained_smiles_column(path, known, smiles, encoding),
                    id=id,
                    reading=self.model.reading_,
                    widths=self.kind.widths,
                    encoding=encoding,
                )
                return self._rows(path.name, source), source
            except _BAD_TEXT as error:
                raise ServerError(str(error)) from error

    def _rows(self, file: str, source: BatchedInput) -> list[Row]:
        batch = next(source.batches, None)
        self._check_batch(0 if batch is None else len(batch.rows))
        given = [] if batch is None else batch.read()
        names = ("id", "name") if source.id is None else (source.id.lower(),)
        named = [i for i, column in enumerate(source.columns) if column.lower() in names]
        rows: list[Row] = []
        n_graphs = 0
        for row in given:
            name = row.key or next((row.cells[i] for i in named if row.cells[i:]), "")
            name = name or (row.smiles if source.smiles else "") or f"{source.name}/{n_graphs}"
            n_graphs += row.graph is not None
            rows.append(self._bounded(row._replace(key=name)))
        if not n_graphs:
            first = f": {given[0].reason}" if given else ""
            raise DatasetError(
                f"{file}: expected at least one row that parses, got none of {len(given)}{first}"
            )
        return rows

    def _smiles(self, number: int, text: str) -> Row:
        assert self.model.reading_ is not None
        return self._bounded(smiles_row(Row(number, text, text, cells=(text,)), reading=self.model.reading_))

    def _graph(self, number: int, item: dict[str, Any]) -> Row:
        """Read a graph as a line of JSON Lines."""
        name, nodes = str(item.get("name") or f"graph {number}"), item["nodes"]
        given = {key: value for key, value in item.items() if value is not None}
        line = {"edges": [], "directed": self.info.directed, **given, "name": name}
        width = len(nodes[0]) if nodes and isinstance(nodes[0], list) else 1
        try:
            self._check_size(len(nodes), len(line["edges"]))
            read = self.kinds.get(width, self.kind).read(Row(number, name, text=json.dumps(line)))
        except _BAD_TEXT as error:
            return Row(number, name, reason=str(error))
        return read._replace(key=name)

    def _bounded(self, row: Row) -> Row:
        """Return a row, without its graph if that is too large."""
        try:
            if row.graph is not None:
                self._check_size(row.graph.n_nodes, row.graph.n_edges)
        except DatasetError as error:
            return row._replace(graph=None, reason=str(error))
        return row

    def _check_size(self, n_nodes: int, n_edges: int) -> None:
        if not 0 < n_nodes <= self.limits.nodes:
            raise DatasetError(f"expected 1 to {self.limits.nodes} {self.word}, got {n_nodes}")
        if n_edges > self.limits.edges:
            raise DatasetError(f"expected at most {self.limits.edges} edges, got {n_edges}")

    def _check_batch(self, n: int) -> None:
        if n > self.limits.batch:
            raise ServerError(f"expected at most {self.limits.batch} graphs in one request, got {n} or more")

    def _check_smiles(self, what: str) -> None:
        if self.model.reading_ is None:
            raise ServerError(
                f"{what}: this model was not trained on molecules read from SMILES; it expects graphs with "
                f"{self.kind.widths[0]} node feature(s) and {self.kind.widths[1]} edge feature(s)"
            )
