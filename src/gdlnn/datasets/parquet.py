"""The columns of a Parquet file, as rows of text.

pyarrow unpacks a page to whatever size it declares, and a page of a few bytes may stand for a billion equal
values. So the headers of all pages are added up before any is unpacked, rows are counted, and values that
are repeated are kept once. Where the pages are is read here too: pyarrow ends the process if it is asked
about a column whose statistics are damaged.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from typing import IO, TYPE_CHECKING, Any

from gdlnn.datasets.text import MAX_LINE, MAX_TIMES, bounded_rows
from gdlnn.errors import DatasetError, require
from gdlnn.io.bounded_zip import FREE_BYTES, MAX_RATIO

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FREE_VALUES = 1_000_000
"""Values of a column that are always accepted, whatever the size of the file."""
_BATCH, _BATCH_BYTES = 4096, 4 << 20
_MAX_METADATA = 16 << 20
_LONGEST_HEADER = 1 << 16
_DEEPEST = 20


class ParquetTable:
    """A Parquet file that has been checked.

    Attributes
    ----------
    path
        The file.
    header
        The names of its columns.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._parquet = require("pyarrow.parquet", "tables", "Reading Parquet files")
        arrow = require("pyarrow", "tables", "Reading Parquet files")
        # What Cython makes of exceptions in C++, and what pyarrow makes of them itself.
        of_cython = (ArithmeticError, LookupError, OSError, RuntimeError, TypeError, ValueError)
        self._damaged = (arrow.ArrowException, *of_cython)
        try:
            with self._opened() as file:
                self.header = list(file.schema_arrow.names)
                self._content = _checked_content(path)
        except self._damaged as error:
            raise self._refused(error) from error

    def rows(self) -> Iterator[list[str]]:
        """Yield the rows."""
        return bounded_rows(self._rows(), self._content, self.path.name)

    def _rows(self) -> Iterator[list[str]]:
        try:
            with self._opened(read_dictionary=self.header) as file:
                for batch in file.iter_batches(_batch_size(file.schema), use_threads=False):
                    yield from map(list, zip(*(_texts(column) for column in batch.columns), strict=True))
        except self._damaged as error:
            raise self._refused(error) from error

    def _opened(self, **options: Any) -> Any:
        limits = {"thrift_string_size_limit": _MAX_METADATA, "thrift_container_size_limit": 1_000_000}
        return self._parquet.ParquetFile(self.path, **limits, **options)

    def _refused(self, error: Exception) -> DatasetError:
        if isinstance(error, DatasetError):
            return error
        return DatasetError(f"{self.path.name}: not a Parquet file, or damaged: {error}")


def _texts(column: Any) -> Sequence[str]:
    """Return the values of a column as text, repeated ones as one object."""
    if not hasattr(column, "dictionary"):
        return [as_text(value) for value in column.to_pylist()]
    rows = column.indices.to_pylist()
    used = sorted({row for row in rows if row is not None})
    values = column.dictionary.take(used).to_pylist() if used else []
    texts = dict(zip(used, map(as_text, values), strict=True))
    return [texts.get(row, "") for row in rows]


def as_text(value: Any) -> str:
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


# --- what the pages unpack to -------------------------------------------------------------------------------


def _batch_size(schema: Any) -> int:
    """Return how many rows to read at a time, fewer where values of a fixed length are long."""
    longest = max((schema.column(place).length or 1 for place in range(len(schema))), default=1)
    return max(1, min(_BATCH, _BATCH_BYTES // max(1, longest)))


def _checked_content(path: Path) -> int:
    """Return how many bytes all pages unpack to, if neither these nor the values are too many."""
    size, content, values = path.stat().st_size, 0, Counter[int]()
    most, most_values = max(FREE_BYTES, MAX_RATIO * size), max(FREE_VALUES, MAX_TIMES * size)
    with path.open("rb") as file:
        for group in _footer(file, size).get(4, ()):
            for place, column in enumerate(group[1]):
                for unpacked, count in _pages(file, column[3]):
                    content += unpacked
                    values[place] += count
                    if content > most:
                        raise DatasetError(
                            f"{path.name}: a file of {size:,} bytes unpacks to more than {most:,}"
                        )
                    if values[place] > most_values:
                        raise DatasetError(
                            f"{path.name}: a file of {size:,} bytes claims more than {most_values:,} values"
                        )
    return content


def _footer(file: IO[bytes], size: int) -> dict[int, Any]:
    """Return the description of the file: field 4 has its groups of rows, whose field 1 has the columns."""
    file.seek(size - 8)
    length = int.from_bytes(file.read(4), "little")
    if not 0 < length <= min(size - 8, _MAX_METADATA):
        raise ValueError(f"expected a description of at most {_MAX_METADATA:,} bytes, got {length:,}")
    file.seek(size - 8 - length)
    return _Compact(file.read(length)).structure()


def _pages(file: IO[bytes], column: dict[int, Any]) -> Iterator[tuple[int, int]]:
    """Yield what each page of a column unpacks to and how many values it has, from its header."""
    begin = min(column[9], column.get(11) or column[9])  # a dictionary comes before the values
    place, end = begin, begin + column[7]
    while place < end:
        file.seek(place)
        header = _Compact(file.read(_LONGEST_HEADER))
        fields = header.structure()
        unpacked, packed = fields.get(2), fields.get(3)
        if not isinstance(unpacked, int) or not isinstance(packed, int) or min(unpacked, packed) < 0:
            raise ValueError("expected the header of a page")
        data = fields.get(5) or fields.get(8)  # of a page of values, in either version
        count = data.get(1) if isinstance(data, dict) else 0
        yield unpacked, count if isinstance(count, int) else 0
        place += header.place + packed


class _Compact:
    """Thrift's compact encoding: whole numbers, structures and lists of these; everything else is skipped."""

    def __init__(self, data: bytes) -> None:
        self._data, self.place = data, 0

    def structure(self, depth: int = 0) -> dict[int, Any]:
        """Read a structure; return its whole numbers, structures and lists of structures by field."""
        if depth > _DEEPEST:
            raise ValueError("expected structures nested less deeply")
        found: dict[int, Any] = {}
        field = 0
        while kind := self._byte():
            field = field + (kind >> 4) if kind >> 4 else self._zigzag()
            if kind & 15 in (4, 5, 6):
                found[field] = self._zigzag()
            elif kind & 15 == 12:
                found[field] = self.structure(depth + 1)
            elif kind & 15 == 9 and self._data[self.place] & 15 == 12:
                found[field] = [self.structure(depth + 1) for _ in range(self._count())]
            else:
                self._skip(kind & 15, depth)
        return found

    def _byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("expected a shorter number")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _count(self) -> int:
        """Read the head of a list; return how many items follow."""
        head = self._byte()
        return self._varint() if head >> 4 == 15 else head >> 4

    def _skip(self, kind: int, depth: int) -> None:
        if kind in (1, 2):  # true and false, which are in the kind
            return
        if kind in (3, 4, 5, 6):
            self._byte() if kind == 3 else self._varint()
        elif kind == 7:
            self.place += 8
        elif kind == 8:
            length = self._varint()
            self.place += length
        elif kind in (9, 10):
            item = self._data[self.place] & 15
            for _ in range(self._count()):
                # In a list even a truth value takes a byte.
                self._byte() if item in (1, 2) else self._skip(item, depth + 1)
        elif kind == 12:
            self.structure(depth + 1)
        else:
            raise ValueError(f"expected a known kind of field, got {kind}")
