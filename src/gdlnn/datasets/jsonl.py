"""JSON Lines: one graph per line, for people and other programs; `GraphDataset.save` writes them.

An optional first line holds the name, the schema, and how molecules were read.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.datasets.opening import read_lines
from gdlnn.datasets.tables import Row
from gdlnn.errors import DatasetError, GraphError, MatchError
from gdlnn.graphs import Graph, GraphDataset, Schema, SkippedRow
from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.molecules import MoleculeReader
from gdlnn.graphs.schema import label_array
from gdlnn.io import bounded

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from gdlnn.datasets.molecules import OnError

logger = logging.getLogger(__name__)
Widths = tuple[int | None, int | None]
_COLUMNS = ("label", "id", "smiles")
_KEYS = frozenset(
    {"nodes", "edges", "edge_features", "directed", "label", "id", "name", "smiles", "node_names"}
)


def load_jsonl(path: str | os.PathLike[str], *, on_error: OnError = "raise") -> GraphDataset:
    """Read a dataset of JSON Lines.

    Each line is an object: ``nodes`` (a list of feature lists, or of numbers for one feature), ``edges``
    (pairs from 0), and optionally ``edge_features``, ``directed``, ``label``, ``id``, ``name``, ``smiles``
    and ``node_names``. A first line with ``"schema"`` or ``"dataset"`` names the features and the dataset.

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
    kind, lines = open_jsonl(file)
    graphs: list[Graph] = []
    values: list[tuple[Any, ...]] = []
    skipped: list[SkippedRow] = []
    for row in map(kind.read_with_label, lines):
        if row.graph is not None:
            graphs.append(row.graph)
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
    titles = [graph.name or f"{kind.name}/{i}" for i, graph in enumerate(graphs)]
    try:  # as arrays, so that graphs without nodes or edges get as many features as the others
        graphs = GraphArrays.of(graphs).graphs(kind.schema, titles, [graph.node_names for graph in graphs])
        y = None if labels is None else label_array(labels, "labels")
        return GraphDataset(
            *(graphs, y, kind.schema, kind.name),
            ids=ids and list(map(str, ids)),
            smiles=smiles and list(map(str, smiles)),
            skipped=skipped,
            reading=kind.reading or MoleculeReader.of_schema(kind.schema),
        )
    except (GraphError, MatchError) as error:
        raise DatasetError(f"{file.name}: {error}") from error


@dataclass(frozen=True)
class JsonlKind:
    """What the graphs of a file have in common; a width or a direction is None if it is not known."""

    name: str
    schema: Schema | None
    widths: Widths
    directed: bool | None
    has_smiles: bool
    reading: MoleculeReader | None = None

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
        graph = _graph(values, self.schema, where, self.widths)
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


def open_jsonl(file: Path, widths: Widths = (None, None)) -> tuple[JsonlKind, Iterator[Row]]:
    """Return what the header and the first graph of a file say, and its lines as rows that are not read.

    `widths` are the numbers of node and edge features if those do not tell. The key of a row that is not read
    is its place in the file.
    """
    name, schema, reading = file.name.split(".")[0], None, None
    lines = ((n, line, bad) for n, (line, bad) in enumerate(read_lines(file), start=1) if bad or line.strip())
    first = list(islice(lines, 2))
    found = [{} if bad else _object_or_empty(line) for _, line, bad in first]
    if found and "nodes" not in found[0] and ("schema" in found[0] or "dataset" in found[0]):
        schema, reading = _header(found[0], f"{file.name}, line {first.pop(0)[0]}")
        name = str(found.pop(0).get("dataset", name))
    row = found[0] if found else {}
    kind = JsonlKind(
        name,
        schema,
        _widths(row, schema, widths),
        row.get("directed") is True if row.get("edges") else None,
        row.get("smiles") is not None,
        reading,
    )
    return kind, (
        Row(number, "", reason=f"line {place}: {bad}") if bad else Row(number, f"line {place}", text=line)
        for number, (place, line, bad) in enumerate(chain(first, lines), start=1)
    )


def _object_or_empty(line: str) -> dict[str, Any]:
    try:
        return _object(line, "")
    except DatasetError:
        return {}


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        row = bounded.loads(line)
    except ValueError as error:
        raise DatasetError(f"{where}: expected a JSON object, got {error}") from error
    if not isinstance(row, dict):
        raise DatasetError(f"{where}: expected a JSON object, got {type(row).__name__}")
    return row


def _header(row: dict[str, Any], where: str) -> tuple[Schema | None, MoleculeReader | None]:
    schema, reading = row.get("schema"), row.get("reading")
    try:
        return (
            None if schema is None else Schema.from_json(schema),
            None if reading is None else MoleculeReader.from_json(reading),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"{where}: schema: expected node and edge features, got {error}") from error


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


def _widths(row: dict[str, Any], schema: Schema | None, unknown: Widths) -> Widths:
    """Return how many node and edge features a line shows: an empty list does not tell."""
    if schema is not None:
        return len(schema.node), len(schema.edge)
    nodes, edges = _width(_rows_of_lists(row.get("nodes"))), _width(row.get("edge_features"))
    if edges is None and row.get("edges"):
        edges = 0
    return unknown[0] if nodes is None else nodes, unknown[1] if edges is None else edges


def _width(table: Any) -> int | None:
    return len(table[0]) if isinstance(table, list) and table and isinstance(table[0], list) else None


def _graph(row: dict[str, Any], schema: Schema | None, where: str, widths: Widths) -> Graph:
    nodes, features, names = _rows_of_lists(row["nodes"]), row.get("edge_features"), row.get("node_names")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise DatasetError(f"{where}: node_names: expected a list of text, got {names!r:.60}")
    try:
        return Graph(
            np.zeros((0, widths[0] or 0)) if nodes == [] else nodes,
            row["edges"],
            np.zeros((0, widths[1] or 0)) if not features and row["edges"] == [] else features,
            directed=row.get("directed", False),
            schema=schema,
            name=None if row.get("name") is None else str(row["name"]),
            node_names=names,
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
