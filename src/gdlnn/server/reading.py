"""Reading what clients send: SMILES, JSON graphs, and files of every form that `gdlnn predict` takes."""

from __future__ import annotations

import csv
import json
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gdlnn.datasets.jsonl import JsonlKind
from gdlnn.datasets.molecules import smiles_row
from gdlnn.datasets.resolve import BatchedInput, batched_dataset, trained_smiles_column
from gdlnn.datasets.tables import Row
from gdlnn.errors import DatasetError, ServerError
from gdlnn.graphs.structure import given_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.graphs.molecules import MoleculeReader
    from gdlnn.model import GDLNNClassifier
    from gdlnn.server.limits import Limits

Item = TypeVar("Item")
_GZIP = b"\x1f\x8b"
TYPED = BatchedInput("input", True, iter(()), ("smiles",), "smiles")
GRAPHS = BatchedInput("graph", False, iter(()))
"""The tables that SMILES and graphs of a request would be read from."""


class Reader:
    """Reads what clients send for a model, as rows whose key is their name."""

    def __init__(self, model: GDLNNClassifier, limits: Limits) -> None:
        self.model, self.limits, self.info = model, limits, model.programs_.info
        self.kinds: dict[int, JsonlKind] = {}
        for schema in (model.schema_, given_schema(model.schema_)):  # structure features may be left out
            width = self.info.n_node_features if schema is None else len(schema.node)
            widths = (width, self.info.n_edge_features)
            self.kinds[width] = JsonlKind("graph", schema, widths, self.info.directed, has_smiles=False)
        self.kind = self.kinds[min(self.kinds)]

    def sent(self, asked: dict[str, Any]) -> tuple[list[Row], BatchedInput]:
        """Read the SMILES or the graphs of a request, one row each."""
        if asked.get("smiles") is not None:
            reading = self._reading("smiles")
            texts = [asked["smiles"]] if isinstance(asked["smiles"], str) else asked["smiles"]
            rows = [Row(n, text, text, cells=(text,)) for n, text in enumerate(map(str.strip, texts), 1)]
            return self._read(rows, partial(smiles_row, reading=reading)), TYPED
        graphs = asked["graphs"] if asked.get("graphs") is not None else [asked["graph"]]
        return self._read(list(enumerate(graphs, 1)), self._graph), GRAPHS

    def file(
        self, data: bytes, kind: str, smiles: str | None, id: str | None, encoding: str
    ) -> tuple[list[Row], BatchedInput]:
        """Read a file of a kind of `FileKind`, with options as on the command line; text may be gzipped."""
        if kind != "jsonl":
            self._reading(kind)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"input.{kind}{'.gz' if data.startswith(_GZIP) else ''}"
            path.write_bytes(data)
            try:
                known = self.model.training_.provenance.get("smiles")
                source = batched_dataset(
                    str(path),
                    self.limits.batch + 1,
                    smiles=trained_smiles_column(path, known, smiles, encoding),
                    id=id,
                    reading=self.model.reading,
                    widths=self.kind.widths,
                    encoding=encoding,
                )
                return self._rows(path.name, source), source
            except (csv.Error, LookupError, ValueError) as error:  # for text that nobody should send
                raise ServerError(str(error)) from error

    def _rows(self, file: str, source: BatchedInput) -> list[Row]:
        """Read the rows of a file and name them: by a column of names, by their SMILES or by number."""
        batch = next(source.batches, None)
        given = [] if batch is None else self._read(batch.rows, batch.reader)
        if not any(row.graph for row in given):
            first = f": {given[0].reason}" if given else ""
            raise DatasetError(
                f"{file}: expected at least one row that parses, got none of {len(given)}{first}"
            )
        names = ("id", "name") if source.id is None else (source.id.lower(),)
        named = [i for i, column in enumerate(source.columns) if column.lower() in names]
        rows: list[Row] = []
        for row in given:
            name = row.key or next((row.cells[i] for i in named if row.cells[i:]), "")
            name = name or (row.smiles if source.smiles else "") or f"{source.name}/{len(rows)}"
            rows.append(row._replace(key=name))
        return rows

    def _graph(self, numbered: tuple[int, dict[str, Any]]) -> Row:
        """Read a graph as a line of JSON Lines."""
        number, item = numbered
        name, nodes = str(item.get("name") or f"graph {number}"), item["nodes"]
        given = {key: value for key, value in item.items() if value is not None}
        line = json.dumps({"edges": [], "directed": self.info.directed, **given, "name": name})
        width = len(nodes[0]) if nodes and isinstance(nodes[0], list) else 1
        return self.kinds.get(width, self.kind).read(Row(number, name, text=line))._replace(key=name)

    def _read(self, items: list[Item], read: Callable[[Item], Row]) -> list[Row]:
        """Read a batch of rows, without graphs that are too large."""
        if len(items) > self.limits.batch:
            raise ServerError(
                f"expected at most {self.limits.batch} graphs in one request, got {len(items)} or more"
            )
        return [self._bounded(read(item)) for item in items]

    def _bounded(self, row: Row) -> Row:
        graph, most, word = (
            row.graph,
            self.limits,
            "nodes" if self.model.reading is None else "atoms",
        )
        if graph is not None and not 0 < graph.n_nodes <= most.nodes:
            return row._replace(graph=None, reason=f"expected 1 to {most.nodes} {word}, got {graph.n_nodes}")
        if graph is not None and graph.n_edges > most.edges:
            return row._replace(
                graph=None, reason=f"expected at most {most.edges} edges, got {graph.n_edges}"
            )
        return row

    def _reading(self, what: str) -> MoleculeReader:
        """Return how molecules are read; a model of other graphs has no use for what was sent."""
        if self.model.reading is None:
            raise ServerError(
                f"{what}: this model was not trained on molecules read from SMILES; it expects graphs with "
                f"{self.kind.widths[0]} node feature(s) and {self.kind.widths[1]} edge feature(s)"
            )
        return self.model.reading
