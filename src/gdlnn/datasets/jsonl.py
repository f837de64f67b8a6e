"""JSON Lines: one graph per line, for people and other programs.

An optional first line holds the name and the schema.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.datasets.opening import read_lines
from gdlnn.datasets.tables import Row
from gdlnn.errors import DatasetError, GraphError
from gdlnn.graphs import Graph, GraphDataset, Origin, Schema, SkippedRow, Table
from gdlnn.graphs.graph import json_rows
from gdlnn.graphs.molecules import MoleculeReader
from gdlnn.graphs.schema import is_unicode, label_array
from gdlnn.io import bounded
from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from gdlnn.datasets.molecules import OnError

logger = logging.getLogger(__name__)
Widths = tuple[int | None, int | None]
AHEAD = 100
"""Graphs at the beginning of a file that show how many features all have."""
_COLUMNS = ("label", "id", "smiles")
_KEYS = frozenset({"nodes", "edges", "edge_features", "directed", "label", "id", "name", "smiles"})


def load_jsonl(path: str | os.PathLike[str], *, on_error: OnError = "raise") -> GraphDataset:
    """Read a dataset of JSON Lines.

    Each line is an object: ``nodes`` (a list of feature lists, or of numbers for one feature), ``edges``
    (pairs from 0), and optionally ``edge_features``, ``directed``, ``label``, ``id``, ``name`` and
    ``smiles``. A first line with ``"schema"`` or ``"dataset"`` names the features and the dataset.

    Parameters
    ----------
    path
        The file.
    on_error
        What to do with a line that is not a graph: raise, or skip it (it is listed in ``.skipped``).
    """
    file = Path(path)
    if not file.is_file():
        raise DatasetError(f"{file.name}: no such file; expected JSON Lines")
    kind, lines = open_jsonl(file, AHEAD)
    graphs: list[Graph] = []
    values: list[tuple[Any, ...]] = []
    skipped: list[SkippedRow] = []
    for row in map(kind.read_with_label, lines):
        if row.graph is not None:
            title = row.graph.name or f"{kind.name}/{len(graphs)}"
            graphs.append(row.graph._renamed(kind.schema, title))
            values.append(row.cells)
        elif on_error == "raise":
            raise DatasetError(f"{file.name}, {row.reason}")
        else:
            skipped.append(SkippedRow(row.number, "", row.reason))
    if not graphs:
        first = f"; the first line: {skipped[0].reason}" if skipped else ""
        raise DatasetError(f"{file.name}: expected at least one graph, got none{first}")
    if skipped:
        logger.warning("%s: skipped %d lines, the first: %s", file.name, len(skipped), skipped[0].reason)
    labels, ids, smiles = (
        _column(list(cells), key, file.name)
        for key, cells in zip(_COLUMNS, zip(*values, strict=True), strict=True)
    )
    table = Table(ids and list(map(str, ids)), smiles and list(map(str, smiles)))
    origin = Origin(skipped=skipped, reading=MoleculeReader.of_schema(kind.schema))
    try:
        y = None if labels is None else label_array(labels, "labels")
        return GraphDataset(graphs, y, kind.schema, kind.name, table=table, origin=origin)
    except GraphError as error:
        raise DatasetError(f"{file.name}: {error}") from error


@dataclass(frozen=True)
class JsonlKind:
    """What the graphs of a file have in common; a width is None if it is not known."""

    name: str
    schema: Schema | None
    widths: Widths
    directed: bool
    has_smiles: bool

    def read(self, row: Row) -> Row:
        """Return a line with its graph, identifier and SMILES, or with the reason why it cannot be read."""
        return self.read_with_label(row)._replace(cells=())

    def read_with_label(self, row: Row) -> Row:
        """Return the same with the label and the other values of a dataset as cells."""
        if row.reason:
            return row
        try:
            return self._read(row.number, row.text, row.key or "")
        except DatasetError as error:
            return Row(row.number, "", reason=str(error))

    def _read(self, number: int, line: str, where: str) -> Row:
        values = _graph_object(line, where)
        graph = _graph(values, self.schema, None, where, self.widths)
        for what, expected, got in (
            ("node feature(s)", self.widths[0], graph.node_features.shape[1]),
            ("edge feature(s)", self.widths[1], graph.edge_features.shape[1]),
            ("for directed", self.directed, graph.directed),
        ):
            if expected is not None and got != expected:
                raise DatasetError(f"{where}: expected {expected} {what}, as before, got {got}")
        key = values.get("id") if values.get("id") is not None else values.get("name")
        smiles = values.get("smiles")
        cells: tuple[Any, ...] = tuple(values.get(column) for column in _COLUMNS)
        key, smiles = (None if value is None else str(value) for value in (key, smiles))
        return Row(number, key, smiles, graph, cells=cells)


def open_jsonl(file: Path, ahead: int, widths: Widths = (None, None)) -> tuple[JsonlKind, Iterator[Row]]:
    """Return what the first `ahead` graphs of a file have in common, and its lines as rows that are not read.

    `widths` are the numbers of node and edge features if those graphs do not tell. The key of a row that is
    not read is its place in the file.
    """
    name, schema = file.name.split(".")[0], None
    lines = ((n, line, bad) for n, (line, bad) in enumerate(read_lines(file), start=1) if bad or line.strip())
    first = list(islice(lines, ahead))
    found = [None if bad else _row_or_none(line) for _, line, bad in first]
    if found and found[0] is not None and _is_header(found[0]):
        schema, name = _header(found.pop(0) or {}, name, f"{file.name}, line {first.pop(0)[0]}")
    rows = [row for row in found if row is not None and "nodes" in row and "edges" in row]
    directed = [row.get("directed") is True for row in rows if row["edges"]]
    kind = JsonlKind(
        name,
        schema,
        _widths(rows, schema, widths),
        2 * sum(directed) > len(directed),  # one bad line does not make all others bad
        any(row.get("smiles") is not None for row in rows),
    )
    return kind, (
        Row(number, "", reason=f"line {place}: {bad}") if bad else Row(number, f"line {place}", text=line)
        for number, (place, line, bad) in enumerate(chain(first, lines), start=1)
    )


def _row_or_none(line: str) -> dict[str, Any] | None:
    try:
        return _object(line, "")
    except DatasetError:
        return None


def _is_header(row: dict[str, Any]) -> bool:
    return "nodes" not in row and ("schema" in row or "dataset" in row)


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        row = bounded.loads(line)
    except ValueError as error:
        raise DatasetError(f"{where}: expected a JSON object, got {error}") from error
    if not isinstance(row, dict):
        raise DatasetError(f"{where}: expected a JSON object, got {type(row).__name__}")
    if "\\u" in line and not is_unicode(json.dumps(row, ensure_ascii=False)):
        raise DatasetError(f"{where}: expected Unicode text, got half of a surrogate pair")
    return row


def _header(row: dict[str, Any], name: str, where: str) -> tuple[Schema | None, str]:
    try:
        schema = Schema.from_json(row["schema"]) if row.get("schema") is not None else None
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"{where}: schema: expected node and edge features, got {error}") from error
    return schema, str(row.get("dataset", name))


def _graph_object(line: str, where: str) -> dict[str, Any]:
    """Return a line that is not the header, with the keys of a graph."""
    row = _object(line, where)
    unknown = sorted(set(row) - _KEYS)
    if unknown or "nodes" not in row or "edges" not in row:
        got = f"the key {unknown[0]!r}" if unknown else f"the keys {', '.join(sorted(row)) or '(none)'}"
        raise DatasetError(
            f"{where}: expected nodes, edges and otherwise only {', '.join(sorted(_KEYS))}, got {got}"
        )
    return row


def _rows_of_lists(nodes: Any) -> Any:
    """Read a plain list of numbers as one feature per node."""
    if isinstance(nodes, list) and not any(isinstance(node, list) for node in nodes):
        return [[node] for node in nodes]
    return nodes


def _widths(rows: list[dict[str, Any]], schema: Schema | None, unknown: Widths) -> Widths:
    """Return how many node and edge features there are: an empty list does not tell."""
    if schema is not None:
        return len(schema.node), len(schema.edge)
    nodes = _first_width([_rows_of_lists(row["nodes"]) for row in rows])
    edges = _first_width([row.get("edge_features") for row in rows])
    if edges is None and any(row["edges"] for row in rows):
        edges = 0
    return unknown[0] if nodes is None else nodes, unknown[1] if edges is None else edges


def _first_width(tables: list[Any]) -> int | None:
    """Return the length of the first row of any table, or None if there is no row."""
    firsts = (table[0] for table in tables if isinstance(table, list) and table)
    return next((len(first) for first in firsts if isinstance(first, list)), None)


def _graph(row: dict[str, Any], schema: Schema | None, name: str | None, where: str, widths: Widths) -> Graph:
    nodes, features = _rows_of_lists(row["nodes"]), row.get("edge_features")
    called = row.get("name", name)
    try:
        return Graph(
            np.zeros((0, widths[0] or 0)) if nodes == [] else nodes,
            row["edges"],
            np.zeros((0, widths[1] or 0)) if not features and row["edges"] == [] else features,
            directed=row.get("directed", False),
            schema=schema,
            name=None if called is None else str(called),
        )
    except (GraphError, TypeError, ValueError, OverflowError) as error:
        raise DatasetError(f"{where}: {error}") from error


def _column(values: list[Any], key: str, file: str) -> list[Any] | None:
    """Return one value per graph, or None if no graph has one; it is an error if only some have."""
    having = [value is not None for value in values]
    if not any(having):
        return None
    if not all(having):
        raise DatasetError(
            f"{file}: graph {having.index(False)}: expected a {key}, as other graphs have, got none"
        )
    bad = next((i for i, value in enumerate(values) if not isinstance(value, str | int | float)), None)
    if bad is not None:
        raise DatasetError(f"{file}: graph {bad}: {key}: expected a number or text, got {values[bad]!r}")
    return values


def save_jsonl(dataset: GraphDataset, path: str | os.PathLike[str]) -> None:
    """Write a dataset as JSON Lines; the file appears once it is complete."""
    header = {
        "dataset": dataset.name,
        "schema": None if dataset.schema is None else dataset.schema.to_json(),
    }
    y = None if dataset.y is None else dataset.y.tolist()
    with atomic_write(Path(path)) as file:
        file.write(json.dumps(header, ensure_ascii=False).encode() + b"\n")
        for i, graph in enumerate(dataset.graphs):
            row = graph_json(graph)
            for key, column in (("label", y), ("id", dataset.ids), ("smiles", dataset.smiles)):
                if column is not None:
                    row[key] = column[i]
            if graph.name is not None:
                row["name"] = graph.name
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def graph_json(graph: Graph) -> dict[str, Any]:
    """Return the nodes and edges of a graph as on a line of JSON Lines."""
    row: dict[str, Any] = {"nodes": _numbers(graph.node_features), "edges": graph.edges.tolist()}
    if graph.edge_features.shape[1]:
        row["edge_features"] = _numbers(graph.edge_features)
    if graph.directed:
        row["directed"] = True
    return row


def _numbers(matrix: np.ndarray) -> list[Any]:
    """Write whole numbers without a point: shorter, and easier to read."""
    whole = bool((matrix == np.floor(matrix)).all()) and bool((np.abs(matrix) < 2**53).all())
    return json_rows(matrix.astype(np.int64) if whole else matrix)
