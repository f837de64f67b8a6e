"""Inputs in batches, so that memory does not grow with the file: tables of SMILES are read as they are used.

Other formats are read whole, then cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gdlnn.datasets.molecule_rows import Fragments, MoleculeRows
from gdlnn.datasets.resolve import is_table, resolve_dataset, smiles_column
from gdlnn.datasets.smiles import parse_smiles, read_columns

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from gdlnn.graphs import Graph, GraphDataset


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
    """Rows of a table: number, SMILES and identifier of each."""

    rows: list[tuple[int, str, str | None]]
    fragments: Fragments

    def read(self) -> list[InputRow]:
        """Parse the SMILES."""
        rows = MoleculeRows("", "row", "", labelled=False, fragments=self.fragments, on_error="skip")
        found = []
        for number, text, key in self.rows:
            before = len(rows.skipped)
            rows.add(number, text, *parse_smiles(text), key=key or "")
            if len(rows.skipped) > before:
                found.append(InputRow(number, "", text, None, rows.skipped[-1].reason))
            else:
                found.append(InputRow(number, key, text, rows.graphs[-1], ""))
        return found


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
) -> BatchedInput:
    """Return the rows of what a word on the command line stands for, `size` at a time.

    Parameters are those of `resolve_dataset`.
    """
    path = Path(text)
    if is_table(path):
        column = smiles or smiles_column(path)
        rows = _table_rows(path, column, id)
        return BatchedInput(path.name.split(".")[0], True, True, _smiles_batches(rows, size, fragments))
    data = resolve_dataset(text, smiles=smiles, id=id, root=root, fragments=fragments)
    return BatchedInput(data.name, data.smiles is not None, False, _cut(data, size))


def _table_rows(path: Path, smiles: str, id: str | None) -> Iterator[tuple[int, str, str | None]]:
    columns = [smiles] if id is None else [smiles, id]
    for number, cells in read_columns(path, columns):
        yield number, cells[0], None if id is None else cells[1]


def _smiles_batches(
    rows: Iterator[tuple[int, str, str | None]], size: int, fragments: Fragments
) -> Iterator[SmilesBatch]:
    while some := list(islice(rows, size)):
        yield SmilesBatch(some, fragments)


def _cut(data: GraphDataset, size: int) -> Iterator[GraphBatch]:
    rows = _rows_of(data)
    while some := list(islice(rows, size)):
        yield GraphBatch(some)


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
