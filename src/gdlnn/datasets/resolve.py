"""Resolve DATASET on the command line (a name, a folder or a file), and read it whole or in batches.

Tables of SMILES, SDF files and JSON Lines are streamed in batches, so that memory does not grow with the
file. Other formats are read whole, then split into batches.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gdlnn.datasets.jsonl import load_jsonl, open_jsonl
from gdlnn.datasets.load import find_dataset, load_dataset
from gdlnn.datasets.molecules import (
    SDF_SUFFIXES,
    load_smiles,
    parse_smiles,
    read_records,
    sdf_properties,
    sdf_row,
    smiles_row,
)
from gdlnn.datasets.motifs import make_ba_2motifs
from gdlnn.datasets.registry import REGISTRY, canonical_name, source_of
from gdlnn.datasets.tables import TABLE_SUFFIXES, UTF8, Row, open_table, table_suffix
from gdlnn.datasets.tu import load_tu, tu_prefix
from gdlnn.errors import DatasetError, MissingExtraError
from gdlnn.graphs.molecules import MoleculeReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gdlnn.datasets.jsonl import Widths
    from gdlnn.datasets.molecules import OnError
    from gdlnn.datasets.tables import TableFile
    from gdlnn.graphs import GraphDataset

SYNTHETIC = "synthetic:ba-2motifs"
RowFile = Literal["table", "sdf", "jsonl"]
"""The kinds of files that are read row by row."""
_ROW_FILES: dict[str, RowFile] = {
    **dict.fromkeys(TABLE_SUFFIXES, "table"),
    **dict.fromkeys(SDF_SUFFIXES, "sdf"),
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
    reading: MoleculeReader | None = None,
    on_error: OnError = "skip",
    min_classes: int = 1,
    **options: Any,
) -> GraphDataset:
    """Return the dataset named by DATASET on the command line.

    A path that exists comes first: a TU folder, a SMILES table, an SDF file or JSON Lines.
    Then ``synthetic:ba-2motifs`` (``synthetic:ba-2motifs:N:SEED`` for other sizes), then the name of a
    dataset.

    Parameters
    ----------
    text
        The word.
    smiles, label, id
        Columns of a SMILES table; without `smiles`, the column called smiles in any case. Numbers from 1 for
        a table without a header line.
    root, download
        As for `load_dataset`.
    reading
        How molecules are converted to graphs; None for the default.
    on_error, min_classes
        As for `load_smiles`.
    **options
        Further options of `load_smiles`.
    """
    path = Path(text)
    if text.split(":")[0] == "synthetic":
        return _synthetic(text)
    if canonical_name(text) in REGISTRY and not (path.is_dir() and tu_prefix(path)):
        return load_dataset(text, root, download)
    if not is_dataset(text, root):
        raise DatasetError(_not_found(path))
    if path.is_dir():  # a TU folder; one of the nine gets its names, as by its own name
        prefix = tu_prefix(path)
        known = prefix is not None and canonical_name(prefix) in REGISTRY
        return load_dataset(str(prefix), path, False) if known else load_tu(path)
    options |= {**(reading or MoleculeReader()).to_json(), "on_error": on_error, "min_classes": min_classes}
    match file_kind(path):
        case "jsonl":
            return load_jsonl(path, on_error=on_error)
        case "sdf" | "table":
            return load_smiles(path, smiles, label, id, **options)
    if not exists(path):
        return load_dataset(text, root, download)
    raise DatasetError(
        f"{path.name}: expected a table (.csv, .tsv, .smi, .xlsx, .parquet), .sdf or .jsonl (text also .gz), "
        "got another file"
    )


def exists(path: str | os.PathLike[str]) -> bool:
    """Say whether a path exists. `Path.exists` raises an error if a SMILES is too long for a path."""
    return os.path.exists(path)  # noqa: PTH110


def is_dataset(text: str, root: str | os.PathLike[str] | None = None) -> bool:
    """Say whether a word means a dataset, not a molecule: one of the nine, or something on this machine."""
    if exists(text) or text.split(":")[0] == "synthetic" or canonical_name(text) in REGISTRY:
        return True
    try:
        return find_dataset(source_of(text), root) is not None
    except DatasetError:
        return False


def _not_found(path: Path) -> str:
    """Say that a word is no dataset and, unless it looks like the name of a file, why it is no SMILES."""
    what = "no such file, folder or dataset"
    if table_suffix(path) in _ROW_FILES:
        return f"{path.name}: {what}"
    with contextlib.suppress(MissingExtraError):
        reason = parse_smiles(str(path))[1]
        return f"{path}: {what}; {reason or 'one SMILES is for models trained on SMILES'}"
    return f"{path}: {what}"


def _synthetic(text: str) -> GraphDataset:
    parts = text.split(":")
    if parts[:2] != SYNTHETIC.split(":") or len(parts) > 4:
        raise DatasetError(f"{text!r}: expected {SYNTHETIC}, alone or with :N:SEED")
    try:
        numbers = [int(part) for part in parts[2:]]
    except ValueError as error:
        raise DatasetError(f"{text!r}: expected {SYNTHETIC}:N:SEED with whole numbers") from error
    return make_ba_2motifs(*numbers)


def file_kind(path: Path) -> RowFile | None:
    """Return the kind of a file that is read row by row; None for anything else."""
    return _ROW_FILES.get(table_suffix(path)) if exists(path) and path.is_file() else None


def trained_smiles_column(
    path: Path, known: str | None, given: str | None, encoding: str = UTF8
) -> str | None:
    """Return the column with the SMILES: the given one, else that of training if the table has it."""
    if given is not None or known is None or file_kind(path) != "table":
        return given
    if known.isdecimal():
        return known
    return known if known in open_table(path, (), encoding).header else None


# --- in batches -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """Some rows of an input that are not read yet, and the function that reads one: a process may do it."""

    rows: list[Row]
    reader: Callable[[Row], Row]

    def read(self) -> list[Row]:
        """Return the rows with their graphs."""
        return [self.reader(row) for row in self.rows]


def _as_it_is(row: Row) -> Row:
    return row


@dataclass(frozen=True)
class BatchedInput:
    """An input in batches.

    Attributes
    ----------
    name
        The name of its graphs.
    has_smiles
        Whether rows have a SMILES.
    columns
        The columns of a table, or the properties of an SDF file, whose cells the rows have.
    smiles, id
        Which of them hold the SMILES and the identifier; None if the input is not a table.
    """

    name: str
    has_smiles: bool
    batches: Iterator[Batch]
    columns: tuple[str, ...] = ()
    smiles: str | None = None
    id: str | None = None


def batched_dataset(
    text: str,
    size: int,
    *,
    smiles: str | None = None,
    id: str | None = None,
    root: str | os.PathLike[str] | None = None,
    reading: MoleculeReader | None = None,
    widths: Widths = (None, None),
    encoding: str = UTF8,
) -> BatchedInput:
    """Return the rows of the dataset that DATASET on the command line means, `size` at a time.

    Parameters are those of `resolve_dataset`. `widths` are the numbers of node and edge features to expect if
    the first graphs of JSON Lines do not tell.
    """
    path, chosen = Path(text), reading or MoleculeReader()
    name, has_smiles = path.name.split(".")[0], True
    rows: Iterator[Row]
    reader: Callable[[Row], Row]
    columns: tuple[str, ...] = ()
    table: TableFile | None = None
    match file_kind(path):
        case "table":
            table = open_table(path, (smiles, id), encoding)
            smiles, columns = smiles or table.smiles_column(), tuple(table.header)
            id = "name" if id is None and table.named_ids else id
            rows, reader = _table_rows(table, smiles, id), partial(smiles_row, reading=chosen)
        case "sdf":
            columns = tuple(sdf_properties(path))
            rows, reader = read_records(path), partial(sdf_row, columns=columns, id=id, reading=chosen)
        case "jsonl":
            kind, rows = open_jsonl(path, widths)
            name, has_smiles, reader = kind.name, kind.has_smiles, kind.read
        case None if reading is not None and not is_dataset(text, root) and parse_smiles(text)[0] is not None:
            name, rows, reader = "molecule", iter([Row(1, smiles=text)]), partial(smiles_row, reading=reading)
        case None:
            data = resolve_dataset(text, smiles=smiles, id=id, root=root, reading=reading)
            name, has_smiles = data.name, data.smiles is not None
            columns = tuple(data.columns)
            rows, reader = _rows_of(data), _as_it_is
    batches = iter(lambda: list(islice(rows, size)), [])
    found = (Batch(some, reader) for some in batches)
    if table is None or smiles is None:
        return BatchedInput(name, has_smiles, found, columns)
    named = None if id is None else columns[table.place(id)]
    return BatchedInput(name, True, found, columns, columns[table.place(smiles)], named)


def _table_rows(table: TableFile, smiles: str, id: str | None) -> Iterator[Row]:
    columns = [smiles] if id is None else [smiles, id]
    for row in table.rows(columns, whole=True):
        if row.reason:
            yield row._replace(smiles="")
        else:
            key = None if id is None else row.cells[1]
            key = key or (None if table.named_ids else key)
            yield row._replace(key=key, smiles=row.cells[0], cells=row.cells[len(columns) :])


def _rows_of(data: GraphDataset) -> Iterator[Row]:
    skipped = {row.row: row for row in data.skipped}
    graph = 0
    for number in range(1, len(data) + len(skipped) + 1):
        if number in skipped:
            text = skipped[number].value if data.smiles is not None else None
            yield Row(number, "", text, None, skipped[number].reason)
            continue
        key = data.ids[graph] if data.ids is not None else data.graphs[graph].name or ""
        smiles = None if data.smiles is None else data.smiles[graph]
        cells = tuple(column[graph] for column in data.columns.values())
        yield Row(number, key, smiles, data.graphs[graph], "", cells)
        graph += 1
