"""Inputs in batches, so that memory does not grow with the file.

Tables of SMILES, SDF files and JSON Lines are read as they are used; other formats are read whole, then cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from gdlnn.datasets.jsonl import JsonlKind, open_jsonl
from gdlnn.datasets.molecule_rows import Fragments, MoleculeRows
from gdlnn.datasets.resolve import file_kind, resolve_dataset, smiles_column
from gdlnn.datasets.sdf import add_record, read_blocks
from gdlnn.datasets.smiles import parse_smiles, read_rows
from gdlnn.errors import DatasetError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from gdlnn.datasets.jsonl import Widths
    from gdlnn.graphs import Graph, GraphDataset

Row = TypeVar("Row")


class InputRow(NamedTuple):
    """A row of an input: its number from 1, and a graph or the reason why there is none.

    ``key`` is the identifier; None where the input has none and the graphs are counted.
    """

    number: int
    key: str | None
    smiles: str | None
    graph: Graph | None
    reason: str


class Batch(Protocol):
    """Some rows of an input, which another process may read."""

    def read(self) -> list[InputRow]:
        """Return the rows with their graphs."""


@dataclass(frozen=True)
class SmilesBatch:
    """Rows of a table: number, SMILES and identifier of each, and what is wrong with the row, or ""."""

    rows: list[tuple[int, str, str | None, str]]
    fragments: Fragments

    def read(self) -> list[InputRow]:
        """Parse the SMILES."""
        rows = MoleculeRows("", "row", "", labelled=False, fragments=self.fragments, on_error="skip")
        found = []
        for number, text, key, problem in self.rows:
            before = len(rows.skipped)
            molecule, reason = (None, problem) if problem else parse_smiles(text)
            rows.add(number, text, molecule, reason, key=key or "")
            if len(rows.skipped) > before:
                found.append(InputRow(number, "", text, None, rows.skipped[-1].reason))
            else:
                found.append(InputRow(number, key, text, rows.graphs[-1], ""))
        return found


@dataclass(frozen=True)
class SdfBatch:
    """Records of an SDF file: number and text of each, and what is wrong with it, or ""."""

    rows: list[tuple[int, str, str]]
    id: str | None
    fragments: Fragments

    def read(self) -> list[InputRow]:
        """Read the molecules."""
        rows = MoleculeRows("", "record", "", labelled=False, fragments=self.fragments, on_error="skip")
        found = []
        for number, block, problem in self.rows:
            before = len(rows.skipped)
            add_record(rows, number, block, problem, None, self.id)
            if len(rows.skipped) > before:
                found.append(InputRow(number, "", "", None, rows.skipped[-1].reason))
            else:  # a record without a title is counted, one without the property has no identifier
                key = rows.ids[-1] if self.id is not None else rows.ids[-1] or None
                found.append(InputRow(number, key, rows.smiles[-1], rows.graphs[-1], ""))
        return found


@dataclass(frozen=True)
class JsonlBatch:
    """Lines of a file of JSON Lines: number of the row and of the line, text, and what is wrong, or ""."""

    rows: list[tuple[int, int, str, str]]
    kind: JsonlKind

    def read(self) -> list[InputRow]:
        """Read the graphs."""
        return [self._read(*row) for row in self.rows]

    def _read(self, number: int, place: int, line: str, problem: str) -> InputRow:
        where = f"line {place}"
        if problem:
            return InputRow(number, "", None, None, f"{where}: {problem}")
        try:
            graph, key, smiles = self.kind.read(line, where)
        except DatasetError as error:
            return InputRow(number, "", None, None, str(error))
        return InputRow(number, key, smiles, graph, "")


@dataclass(frozen=True)
class GraphBatch:
    """Rows that are read already."""

    rows: list[InputRow]

    def read(self) -> list[InputRow]:
        """Return them."""
        return self.rows


@dataclass(frozen=True)
class BatchedInput:
    """An input in batches.

    Attributes
    ----------
    name
        What to call its graphs.
    has_smiles
        Whether rows have a SMILES.
    streamed
        Whether the file is read as it is used.
    """

    name: str
    has_smiles: bool
    streamed: bool
    batches: Iterator[Batch]


def batched_dataset(
    text: str,
    size: int,
    *,
    smiles: str | None = None,
    id: str | None = None,
    root: str | os.PathLike[str] | None = None,
    fragments: Fragments = "keep",
    widths: Widths = (None, None),
) -> BatchedInput:
    """Return the rows of what a word on the command line stands for, `size` at a time.

    Parameters are those of `resolve_dataset`, and how many node and edge features to expect where the first
    graphs of JSON Lines do not tell.
    """
    path = Path(text)
    name = path.name.split(".")[0]
    kind = file_kind(path)
    if kind == "table":
        rows = _table_rows(path, smiles or smiles_column(path), id)
        return BatchedInput(name, True, True, (SmilesBatch(some, fragments) for some in _some(rows, size)))
    if kind == "sdf":
        records = read_blocks(path)
        return BatchedInput(
            name, True, True, (SdfBatch(some, id, fragments) for some in _some(records, size))
        )
    if kind == "jsonl":
        common, lines = open_jsonl(path, size, widths)
        numbered = ((number, *line) for number, line in enumerate(lines, start=1))
        batches = (JsonlBatch(some, common) for some in _some(numbered, size))
        return BatchedInput(common.name, common.has_smiles, True, batches)
    data = resolve_dataset(text, smiles=smiles, id=id, root=root, fragments=fragments)
    cut = (GraphBatch(some) for some in _some(_rows_of(data), size))
    return BatchedInput(data.name, data.smiles is not None, False, cut)


def _table_rows(path: Path, smiles: str, id: str | None) -> Iterator[tuple[int, str, str | None, str]]:
    columns = [smiles] if id is None else [smiles, id]
    for number, cells, problem in read_rows(path, columns):
        if problem:
            yield number, "", None, problem
        else:
            yield number, cells[0], None if id is None else cells[1], ""


def _some(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    while some := list(islice(rows, size)):
        yield some


def _rows_of(data: GraphDataset) -> Iterator[InputRow]:
    skipped = {row.row: row for row in data.skipped}
    graph = 0
    for number in range(1, len(data) + len(skipped) + 1):
        if number in skipped:
            text = skipped[number].value if data.smiles is not None else None
            yield InputRow(number, "", text, None, skipped[number].reason)
            continue
        key = data.ids[graph] if data.ids is not None else data.graphs[graph].name or ""
        yield InputRow(
            number, key, None if data.smiles is None else data.smiles[graph], data.graphs[graph], ""
        )
        graph += 1
