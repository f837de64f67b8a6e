"""What DATASET on the command line means, a name, a folder or a file: read whole, or in batches.

In batches memory does not grow with the file: tables of SMILES, SDF files and JSON Lines are read as they are
used. Other formats are read whole, then cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypedDict, TypeVar

from gdlnn.datasets.jsonl import JsonlKind, load_jsonl, open_jsonl
from gdlnn.datasets.load import load_dataset
from gdlnn.datasets.molecules import (
    Fragments,
    MoleculeRows,
    add_record,
    load_sdf,
    load_smiles,
    parse_smiles,
    read_blocks,
)
from gdlnn.datasets.motifs import make_ba_2motifs
from gdlnn.datasets.registry import REGISTRY, canonical_name
from gdlnn.datasets.text import read_header, read_rows
from gdlnn.datasets.tu import load_tu, tu_prefix
from gdlnn.errors import DatasetError
from gdlnn.graphs import GraphDataset, storage

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from gdlnn.datasets.jsonl import Widths
    from gdlnn.datasets.molecules import OnError
    from gdlnn.graphs import Graph

Row = TypeVar("Row")
SYNTHETIC = "synthetic:ba-2motifs"
RowFile = Literal["table", "sdf", "jsonl"]
"""The files that are read row by row."""
_ROW_FILES: dict[str, RowFile] = {
    **dict.fromkeys((".csv", ".tsv", ".smi", ".txt"), "table"),
    **dict.fromkeys((".sdf", ".sd", ".mol"), "sdf"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
}


def resolve_dataset(
    text: str,
    *,
    smiles: str | None = None,
    label: str | None = None,
    id: str | None = None,
    root: str | os.PathLike[str] | None = None,
    download: bool = True,
    fragments: Fragments = "keep",
    on_error: OnError = "skip",
    min_classes: int = 1,
) -> GraphDataset:
    """Return the data set that a word on the command line stands for.

    A path that exists comes first: a TU folder, a SMILES table, an SDF file, JSON Lines or a saved data
    set. Then ``synthetic:ba-2motifs`` (``synthetic:ba-2motifs:N:SEED`` for other sizes), then the name of a
    data set.

    Parameters
    ----------
    text
        The word.
    smiles, label, id
        Columns of a SMILES table; without `smiles`, the column called smiles in any case.
    root, download
        As for `load_dataset`.
    fragments, on_error, min_classes
        As for `load_smiles`.
    """
    path = Path(text)
    if text.split(":")[0] == "synthetic":
        return _synthetic(text)
    if canonical_name(text) in REGISTRY and not (path.is_dir() and tu_prefix(path)):
        return load_dataset(text, root, download)
    if path.is_dir():
        return _named_folder(path, min_classes)
    if path.is_file():
        options: _Options = {"fragments": fragments, "on_error": on_error, "min_classes": min_classes}
        return _file(path, smiles, label, id, options)
    if path.suffix or len(path.parts) > 1:
        raise DatasetError(
            f"{path.name}: expected a folder, a file or the name of a data set, got nothing there"
        )
    return load_dataset(text, root, download)


class _Options(TypedDict):
    fragments: Fragments
    on_error: OnError
    min_classes: int


def _file(
    path: Path, smiles: str | None, label: str | None, identifier: str | None, options: _Options
) -> GraphDataset:
    if storage.is_saved(path):
        return storage.load(path)
    kind = _kind(path)
    if kind == "jsonl":
        return load_jsonl(path)
    if kind == "sdf":
        return load_sdf(path, label, identifier, **options)
    if kind == "table":
        return load_smiles(path, smiles or smiles_column(path), label, identifier, **options)
    raise DatasetError(
        f"{path.name}: expected a table (.csv, .tsv), .sdf, .jsonl (each also .gz) or a saved data set, "
        "got another file"
    )


def _synthetic(text: str) -> GraphDataset:
    parts = text.split(":")
    if parts[:2] != SYNTHETIC.split(":") or len(parts) > 4:
        raise DatasetError(f"{text!r}: expected {SYNTHETIC}, alone or with :N:SEED")
    try:
        numbers = [int(part) for part in parts[2:]]
    except ValueError as error:
        raise DatasetError(f"{text!r}: expected {SYNTHETIC}:N:SEED with whole numbers") from error
    return make_ba_2motifs(*numbers)


def _named_folder(path: Path, min_classes: int) -> GraphDataset:
    """Read a TU folder; one of the nine gets its names, as by its own name."""
    prefix = tu_prefix(path)
    if prefix is not None and canonical_name(prefix) in REGISTRY:
        return load_dataset(prefix, path, download=False)
    return load_tu(path, min_classes=min_classes)


def file_kind(path: Path) -> RowFile | None:
    """Say which of the files a path is that are read row by row; None for any other thing."""
    return _kind(path) if path.is_file() and not storage.is_saved(path) else None


def _kind(path: Path) -> RowFile | None:
    suffix = next((suffix for suffix in reversed(path.suffixes) if suffix != ".gz"), "")
    return _ROW_FILES.get(suffix.lower())


def smiles_column(path: Path) -> str:
    """Return the column called smiles, in whichever case."""
    header = read_header(path)
    return next((column for column in header if column.lower() == "smiles"), "smiles")


# --- in batches -------------------------------------------------------------------------------------------


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
            molecule, reason = (None, problem) if problem else parse_smiles(text)
            if rows.add(number, text, molecule, reason, key=key or ""):
                found.append(InputRow(number, key, text, rows.graphs[-1], ""))
            else:
                found.append(InputRow(number, "", text, None, rows.skipped[-1].reason))
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
            if not add_record(rows, number, block, problem, None, self.id):
                found.append(InputRow(number, "", "", None, rows.skipped[-1].reason))
                continue
            # A record without a title is counted, one without the property has no identifier.
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
