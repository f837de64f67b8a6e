"""Reading text safely: lines of bounded length and numbers, with file and line in every error."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from array import array
from itertools import islice
from typing import IO, TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from gdlnn.errors import DatasetError
from gdlnn.graphs.graph import MAX_FEATURE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MAX_TIMES = 20
FREE_TEXT = 16 << 20
"""Most text that the content of a table may give: so many times its length, and what is always accepted."""
MAX_LINE = 1 << 20
"""Maximum length of a line, in bytes: real rows are far shorter, and no file may exhaust the memory."""
MAX_TEXT = 4 << 30
"""Maximum size of a text file, in bytes."""
_CHUNK = 1 << 20
_NUMBER = re.compile(rb"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+|nan|inf)(?:[eE][+-]?[0-9]+)?\s*")
"""A number as NumPy reads it: Python alone takes 1_0 for 10."""
_LONG = f"expected a line of at most {MAX_LINE:,} bytes, got a longer one"


def read_bounded(path: Path) -> bytes:
    """Return a file's bytes; refuse lines and files that are too long to be data."""
    chunks: list[bytes] = []
    tail = total = line = 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                cut = chunk.find(b"\n")
                longest = tail + (len(chunk) if cut < 0 else cut)
                if longest > MAX_LINE:
                    raise DatasetError(f"{path.name}, line {line + 1}: {_LONG}")
                tail = longest if cut < 0 else len(chunk) - chunk.rfind(b"\n") - 1
                line += chunk.count(b"\n")
                total += len(chunk)
                if total > MAX_TEXT:
                    raise DatasetError(f"{path.name}: expected at most {MAX_TEXT:,} bytes, got more")
                chunks.append(chunk)
    except OSError as error:
        raise DatasetError(f"{path.name}: cannot be read: {error.strerror}") from error
    return b"".join(chunks)


def read_numbers(path: Path, *, columns: int | None = None, whole: bool = False) -> npt.NDArray[np.float64]:
    """Return a file of numbers, one row per line, separated by commas or blanks.

    Row i is line i + 1: an empty line is an error, save at the end. A file without rows gives shape (0,
    columns).
    """
    data = read_bounded(path).removeprefix(b"\xef\xbb\xbf").rstrip()
    if not data:
        return np.zeros((0, columns or 0))
    delimiter = "," if b"," in data[:MAX_LINE] else None
    try:
        table = np.loadtxt(
            io.StringIO(data.decode("ascii")), dtype=np.float64, delimiter=delimiter, comments=None, ndmin=2
        )
    except (ValueError, UnicodeDecodeError):
        table = None
    good = table is not None and len(table) == data.count(b"\n") + 1
    if not good or (columns is not None and cast("npt.NDArray[np.float64]", table).shape[1] != columns):
        found = _diagnose(path.name, data, columns)
    else:
        found = cast("npt.NDArray[np.float64]", table)
    if whole:
        # From 2**53 on a double no longer holds every whole number.
        bad = ~((np.floor(found) == found) & (np.abs(found) < 2**53))
    else:
        bad = ~(np.abs(found) <= MAX_FEATURE)  # NaN and infinity too
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        kind = "whole numbers" if whole else "finite numbers"
        if np.floor(found[row, column]) == found[row, column] and np.isfinite(found[row, column]):
            kind += " below 2^53" if whole else f" up to {MAX_FEATURE:g}"
        line = next(islice(io.BytesIO(data), row, None))
        raise DatasetError(f"{path.name}, line {row + 1}: expected {kind}, got {_shown(line)}")
    return found


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= 60 else text[:57] + "…")


def _diagnose(name: str, data: bytes, columns: int | None) -> npt.NDArray[np.float64]:
    """Read line by line what the fast reader refused, and raise an error that names the line."""
    values = array("d")  # a list of lists would take many times the size of the file
    width = columns
    for number, line in enumerate(io.BytesIO(data), start=1):
        cells = line.split(b",") if b"," in line else line.split()
        width = len(cells) if width is None else width
        if len(cells) != width or not width:
            raise DatasetError(f"{name}, line {number}: expected {width or 1} number(s), got {_shown(line)}")
        if not all(_NUMBER.fullmatch(cell) for cell in cells):
            raise DatasetError(f"{name}, line {number}: expected number(s), got {_shown(line)}")
        values.extend(map(float, cells))
    return np.array(values).reshape(-1, width or 1)


def open_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, plain or gzip, UTF-8 with or without a byte-order mark."""
    for number, (line, problem) in enumerate(read_lines(path), start=1):
        if problem:
            raise DatasetError(f"{path.name}, line {number}: {problem}")
        yield line


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[str, str]]:
    """Yield each line of a text file with what is wrong with it, or ""; a bad line is empty."""
    first = True
    try:
        with open_bytes(path) as file:
            while line := file.readline(MAX_LINE + 1):
                if first:
                    first = False
                    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
                        raise DatasetError(f"{path.name}: expected UTF-8 text, got UTF-16")
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if len(line) > MAX_LINE:
                    yield "\n", _LONG
                    while line and not line.endswith(b"\n"):
                        line = file.readline(_CHUNK)
                elif b"\0" in line:
                    yield "\n", "expected text, got binary data"
                else:
                    yield _decoded(line, encoding)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DatasetError(f"{path.name}: not a gzip file, or damaged: {error}") from error
    except OSError as error:
        raise DatasetError(f"{path.name}: cannot be read: {error.strerror or error}") from error


def _decoded(line: bytes, encoding: str) -> tuple[str, str]:
    try:
        return line.decode(encoding), ""
    except UnicodeDecodeError as error:
        return "\n", f"expected {encoding.upper()} text, got {error.reason}"


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, plain or gzip."""
    if path.suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    return path.open("rb")


def bounded_rows(rows: Iterable[list[str]], content: int, name: str) -> Iterator[list[str]]:
    """Yield the rows of a table while cells and text stay in proportion to what the file holds.

    Formats that say things once and refer to them later can give far more than they hold.

    Parameters
    ----------
    rows
        The cells of each row.
    content
        How many bytes the file holds, unpacked.
    name
        What to call the file in an error.
    """
    left = MAX_TIMES * content + FREE_TEXT
    for cells in rows:
        left -= len(cells) + sum(map(len, cells))
        if left < 0:
            raise DatasetError(f"{name}: {content:,} bytes of content give far more text than that")
        yield cells
