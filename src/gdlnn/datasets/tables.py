"""Tables: delimited text with or without a header, .smi, Excel sheets and Parquet, as rows of text.

A bad row has no cells and the reason why; reading continues, since one of a million rows may be damaged.
Text is streamed, so that memory does not grow with the file.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gdlnn.datasets.opening import (
    MAX_LINE,
    bounded_rows,
    check_content,
    excel_content,
    read_lines,
    readable,
)
from gdlnn.errors import DatasetError, require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gdlnn.graphs import Graph

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".smi", ".smiles", ".xlsx", ".parquet")
UTF8 = "utf-8"
NOT_UTF8 = "if the table is in Latin-1, as older programs write it, choose that encoding (--encoding latin-1)"
_MAX_METADATA = 16 << 20
PARQUET_ROWS = 64
_LONGEST_FIXED = 64
"""Most bytes of a Parquet value of fixed length: a few such values would fill the memory."""


class Row(NamedTuple):
    """A row of an input: of a table, a record of an SDF file, or a line of JSON.

    Attributes
    ----------
    number
        Its number from 1.
    key
        The identifier; None if the input has none and the graphs are counted.
    smiles
        Its SMILES, if it has one.
    graph
        The graph; None as long as the row is not read, or if it cannot be.
    reason
        Why it cannot be read, or "".
    cells
        The cells of further columns.
    text
        The record or line that the graph is read from.
    """

    number: int
    key: str | None = None
    smiles: str | None = None
    graph: Graph | None = None
    reason: str = ""
    cells: tuple[Any, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class TableFile:
    """A file with a table, opened.

    Attributes
    ----------
    path
        The file.
    header
        The names of its columns; without a header line their numbers from 1.
    named_ids
        Whether the column "name" of a .smi file is the identifier.
    """

    path: Path
    header: list[str]
    read: Callable[[int], Iterator[Row]]
    named_ids: bool = False

    def place(self, column: str) -> int:
        """Return the position of a column, by its name or by its number from 1."""
        if column in self.header:
            return self.header.index(column)
        if column.isdecimal() and 1 <= int(column) <= len(self.header):
            return int(column) - 1
        raise DatasetError(f"{self.path.name}: expected a column {column!r}, got {_listed(self.header)}")

    def rows(self, columns: Sequence[str], *, whole: bool = False) -> Iterator[Row]:
        """Yield the rows with the cells of some columns, and after them all cells if they are wanted whole.

        A row that is too short for the columns is a bad one.
        """
        places = [self.place(column) for column in columns]
        wanted = [*places, *(range(len(self.header)) if whole else ())]
        for row in self.read(1 + max(places, default=-1)):
            if row.reason:
                yield row
            else:
                cells = row.cells
                yield row._replace(
                    cells=tuple(cells[place] if place < len(cells) else "" for place in wanted)
                )

    def smiles_column(self) -> str:
        """Return the column called smiles, in any case, or the only one that has the word in its name."""
        same = [column for column in self.header if column.lower() == "smiles"]
        alike = [column for column in self.header if "smiles" in column.lower()]
        if not same and len(alike) != 1:
            raise DatasetError(
                f"{self.path.name}: expected a column called smiles, got {_listed(self.header)}"
            )
        return (same or alike)[0]


def _listed(header: Sequence[str]) -> str:
    return ", ".join(header[:20]) + (", …" if len(header) > 20 else "")


def table_suffix(path: Path) -> str:
    """Return the ending of a file's name without .gz, in lower case."""
    return next((suffix for suffix in reversed(path.suffixes) if suffix != ".gz"), "").lower()


def open_table(path: Path | Any, columns: Sequence[str | None] = (), encoding: str = UTF8) -> TableFile:
    """Open a table.

    Parameters
    ----------
    path
        The file, whose extension decides the format, or a pandas DataFrame.
    columns
        The columns to read. If all of them are numbers, the table has no header line, and they
        are positions from 1.
    encoding
        How text is encoded.
    """
    if hasattr(path, "iloc"):
        return _open_frame(path)
    if not path.is_file():
        raise DatasetError(f"{path.name}: no such file; expected a table of SMILES")
    asked = [column for column in columns if column is not None]
    suffix = table_suffix(path)
    if suffix in (".xlsx", ".parquet"):
        return _open_sheet(path, asked) if suffix == ".xlsx" else _open_parquet(path)
    _check_encoding(encoding)
    header, delimiter = _first_line(path, encoding)
    bare = bool(asked) and all(column.isdecimal() for column in asked)
    smi = suffix in (".smi", ".smiles") and not any(cell.lower() == "smiles" for cell in header)
    if smi or (bare and len(header) == 1 and " " in header[0]):
        width = max([2, *(int(column) for column in asked if column.isdecimal())])
        names = ["smiles", "name", *(str(place) for place in range(3, width + 1))][:width]
        return TableFile(path, names, lambda least: _blank_rows(path, width, least, encoding), not bare)
    if bare:
        header = [str(place + 1) for place in range(len(header))]
    return TableFile(
        path, header, lambda least: _text_rows(path, len(header), delimiter, bare, least, encoding)
    )


# --- text ---------------------------------------------------------------------------------------------------


def _check_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)
    except LookupError:
        raise DatasetError(
            f"--encoding: expected the name of an encoding, such as utf-8 or latin-1, got {encoding!r}"
        ) from None


def _first_line(path: Path, encoding: str) -> tuple[list[str], str]:
    """Return the cells of the first line and the delimiter."""
    first, problem = next(read_lines(path, encoding), ("", ""))
    if problem:
        hint = f"; {NOT_UTF8}" if "UTF-8" in problem else ""
        raise DatasetError(f"{path.name}, line 1: {problem}{hint}")
    if not first.strip():
        raise DatasetError(f"{path.name}: expected a header line with the column names, got an empty file")
    delimiter = "\t" if ".tsv" in path.suffixes else max(",\t;", key=first.count)
    try:
        return [cell.strip() for cell in next(csv.reader([first], delimiter=delimiter))], delimiter
    except csv.Error as error:
        raise DatasetError(f"{path.name}, line 1: expected the column names, got {error}") from error


def _text_rows(
    path: Path, width: int, delimiter: str, bare: bool, least: int, encoding: str
) -> Iterator[Row]:
    """Yield the rows of delimited text; `bare` without a header line, `least` cells each."""
    lines = read_lines(path, encoding)
    if not bare:
        next(lines)
    first = 1 if bare else 2
    source = _Lines(lines, first)
    reader = csv.reader(source, delimiter=delimiter)
    number = 0
    while True:
        begin, bad, cells = reader.line_num + first, "", []
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            bad = f"expected a row, got {error}"
        problem = source.take()
        if source.ended:  # the reader asked for more while it was in this row
            bad = "a quote is not closed before the end of the file"
        elif not bad and not problem and not cells:
            continue
        elif not bad and len(cells) < least:
            bad = f"expected {width} cells, got {len(cells)}"
        number += 1
        if problem or bad:
            end = reader.line_num + first - 1
            place = f"line {begin}{f' to {end}' if end > begin else ''}"
            yield Row(number, reason=problem or f"{place}: {bad}")
        else:
            yield Row(number, cells=tuple(cell.strip() for cell in cells))


def _blank_rows(path: Path, width: int, least: int, encoding: str) -> Iterator[Row]:
    """Yield the rows of a .smi file: a SMILES, blanks or a tab, and a name that may hold blanks itself."""
    number = 0
    source = _Lines(read_lines(path, encoding), 1)
    for place, line in enumerate(source, start=1):
        problem = source.take()
        if not line.strip() and not problem:
            continue
        number += 1
        cells = line.split("\t") if "\t" in line else line.split(None, width - 1)
        if not problem and len(cells) < least and least > 2:  # a name may be missing
            problem = f"line {place}: expected {least} cells, got {len(cells)}"
        stripped = () if problem else tuple(cell.strip() for cell in cells)
        yield Row(number, reason=problem, cells=stripped)


class _Lines:
    """Lines of a file; errors are recorded for the row that the line belongs to."""

    def __init__(self, lines: Iterator[tuple[str, str]], first: int) -> None:
        self._lines, self._problem = enumerate(lines, start=first), ""
        self.ended = False

    def __iter__(self) -> Iterator[str]:
        for number, (line, problem) in self._lines:
            if problem and not self._problem:
                hint = f"; {NOT_UTF8}" if "UTF-8" in problem else ""
                self._problem = f"line {number}: {problem}{hint}"
            yield line
        self.ended = True

    def take(self) -> str:
        """Return the errors recorded since the last call."""
        problem, self._problem = self._problem, ""
        return problem


# --- Excel and Parquet --------------------------------------------------------------------------------------


def _open_frame(frame: Any) -> TableFile:
    """Open a pandas DataFrame; its missing values are empty cells."""
    plain = frame.astype(object).where(frame.notna(), None)

    def read(_least: int) -> Iterator[Row]:
        rows = enumerate(plain.itertuples(index=False, name=None), start=1)
        return (Row(number, cells=tuple(map(_as_text, values))) for number, values in rows)

    return TableFile(Path("table"), list(map(str, frame.columns)), read)


def _open_sheet(path: Path, asked: Sequence[str]) -> TableFile:
    """Open the first sheet of an Excel file."""
    header = next(_excel_rows(path), [])
    if not header:
        raise DatasetError(f"{path.name}: expected a header line with the column names, got an empty sheet")
    bare = bool(asked) and all(column.isdecimal() for column in asked)
    if bare:
        header = [str(place + 1) for place in range(len(header))]

    def read(_least: int) -> Iterator[Row]:
        rows = islice(_excel_rows(path), 0 if bare else 1, None)
        return (Row(number, cells=tuple(cells[: len(header)])) for number, cells in enumerate(rows, start=1))

    return TableFile(path, header, read)


def _excel_rows(path: Path) -> Iterator[list[str]]:
    """Yield the rows of the first sheet that are not empty; formulas give the values saved with them."""
    return bounded_rows(_sheet_rows(path), excel_content(path), path.name)


def _sheet_rows(path: Path) -> Iterator[list[str]]:
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    with readable(path, "an Excel file"), CalamineWorkbook.from_path(path) as book:
        sheets = [sheet.name for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
        if not sheets:
            raise DatasetError(f"{path.name}: expected a sheet, got none")
        for values in book.get_sheet_by_name(sheets[0]).iter_rows():
            cells = [_as_text(value) for value in values]
            if any(cells):
                yield cells


def _open_parquet(path: Path) -> TableFile:
    parquet = require("pyarrow.parquet", "tables", "Reading Parquet files")

    def opened() -> Any:
        limits = {"thrift_string_size_limit": _MAX_METADATA, "thrift_container_size_limit": 1_000_000}
        return parquet.ParquetFile(path, **limits)

    with readable(path, "a Parquet file"), opened() as file:
        # Asked about a column whose statistics are damaged, pyarrow ends the process: only groups are asked.
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        content = sum(group.total_byte_size for group in groups)
        header = [field.name for field in file.schema_arrow if _is_readable(field.type)]
    check_content(path, content)

    def rows() -> Iterator[list[str]]:
        # In small batches: a long value that is repeated takes no space in the file, but in memory it does.
        with readable(path, "a Parquet file"), opened() as file:
            for batch in file.iter_batches(PARQUET_ROWS, columns=header, use_threads=False):
                columns = ([_as_text(value) for value in column.to_pylist()] for column in batch.columns)
                yield from map(list, zip(*columns, strict=True))

    def read(_least: int) -> Iterator[Row]:
        bounded = bounded_rows(rows(), content, path.name)
        return (Row(number, cells=tuple(cells)) for number, cells in enumerate(bounded, start=1))

    return TableFile(path, header, read)


def _is_readable(kind: Any) -> bool:
    """Say whether a Parquet column is read: lists, structures and long values of fixed length are not."""
    types = require("pyarrow", "tables", "Reading Parquet files").types
    return not types.is_nested(kind) and not (
        types.is_fixed_size_binary(kind) and kind.byte_width > _LONGEST_FIXED
    )


def _as_text(value: Any) -> str:
    """Return a value as a csv file would hold it; nothing and NaN are empty."""
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == value.min.time() else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value).strip()
    if len(text) > MAX_LINE:
        raise ValueError(f"expected a cell of at most {MAX_LINE:,} characters, got {len(text):,}")
    return text
