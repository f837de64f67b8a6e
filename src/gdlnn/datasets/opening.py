"""Opening files within limits: how much a file may unpack to, lines of bounded length, errors of libraries.

Files are untrusted. Every reader checks here, before it reads, what a compressed file stands for.
"""

from __future__ import annotations

import contextlib
import gzip
import re
import zlib
from typing import IO, TYPE_CHECKING, cast

from gdlnn.errors import DatasetError, GDLNNError
from gdlnn.io.bounded import FREE_BYTES, MAX_RATIO, checked_archive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MAX_CONTENT = 16 << 30
"""Most bytes that a file may have, and unpack to."""
MAX_LINE = 1 << 20
"""Maximum length of a line, in bytes: real rows are far shorter, and no file may exhaust the memory."""
MAX_CELLS = 32_000_000
"""Most cells of a sheet, counting empty ones up to its last row and column: each takes memory."""
_TEXT_RATIO, _FREE_TEXT, _ROW_BYTES = 20, 16 << 20, 64
_LONG = f"expected a line of at most {MAX_LINE:,} bytes, got a longer one"
_NOT_A_SHEET = "xl/calcChain.xml"  # names cells of all sheets
_PLACE = re.compile(rb"""<[^<>]*?\sr\s*=\s*["']([A-Z]*)([0-9]+)["']""")


@contextlib.contextmanager
def readable(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a library raises on a damaged file into a `DatasetError` that names the file."""
    try:
        yield
    except (GDLNNError, MemoryError):
        raise
    except BaseException as error:
        # A panic in Rust is no Exception; KeyboardInterrupt and the like are not for us.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise DatasetError(f"{path.name}: not {what}, or damaged: {error}") from error


def check_content(path: Path, content: int) -> None:
    """Refuse a file that unpacks to more than it may: 64 MiB, or 200 times its size."""
    size = path.stat().st_size
    most = max(FREE_BYTES, min(MAX_CONTENT, MAX_RATIO * size))
    if not 0 <= content <= most:
        raise DatasetError(
            f"{path.name}: a file of {size:,} bytes may unpack to at most {most:,} bytes, got more"
        )


def bounded_rows(rows: Iterable[list[str]], content: int, name: str) -> Iterator[list[str]]:
    """Yield the rows of a table while their text stays in proportion to what the file holds.

    Formats that store a value once and refer to it later can give far more than they hold.

    Parameters
    ----------
    rows
        The cells of each row.
    content
        How many bytes the file holds, unpacked.
    name
        The name of the file, for errors.
    """
    left = _TEXT_RATIO * content + _FREE_TEXT
    for cells in rows:
        left -= _ROW_BYTES + len(cells) + sum(map(len, cells))
        if left < 0:
            raise DatasetError(f"{name}: {content:,} bytes of content give far more text than that")
        yield cells


# --- text ---------------------------------------------------------------------------------------------------


def byte_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, plain or gzip; a line longer than `MAX_LINE` comes in pieces."""
    packed = path.suffix == ".gz"
    total = 0
    try:
        with cast("IO[bytes]", gzip.open(path, "rb")) if packed else path.open("rb") as file:
            while line := file.readline(MAX_LINE + 1):
                total += len(line)
                if packed and total > FREE_BYTES:
                    check_content(path, total)
                yield line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DatasetError(f"{path.name}: not a gzip file, or damaged: {error}") from error
    except OSError as error:
        raise DatasetError(f"{path.name}: cannot be read: {error.strerror or error}") from error


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[str, str]]:
    """Yield each line of a text file with what is wrong with it, or ""; a bad line is empty."""
    begins, first = True, True
    for line in byte_lines(path):
        if begins:
            if first and line.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise DatasetError(f"{path.name}: expected UTF-8 text, got UTF-16")
            yield _decoded(line.removeprefix(b"\xef\xbb\xbf") if first else line, encoding)
        begins, first = line.endswith(b"\n"), False


def _decoded(line: bytes, encoding: str) -> tuple[str, str]:
    if len(line) > MAX_LINE:
        return "\n", _LONG
    if b"\0" in line:
        return "\n", "expected text, got binary data"
    try:
        return line.decode(encoding), ""
    except UnicodeDecodeError as error:
        return "\n", f"expected {encoding.upper()} text, got {error.reason}"


# --- Excel --------------------------------------------------------------------------------------------------


def excel_content(path: Path) -> int:
    """Return how many bytes an Excel file unpacks to.

    Raises
    ------
    DatasetError
        If it unpacks to too much, or if a sheet has too many cells: calamine makes room for all cells up to
        the last row and column, and ends the process if there is none.
    """
    with readable(path, "an Excel file"), checked_archive(path, MAX_CONTENT) as archive:
        for member in archive.infolist():
            if member.filename == _NOT_A_SHEET:
                continue
            rows, columns = 0, 1
            for letters, digits in map(re.Match.groups, _PLACE.finditer(archive.read(member))):
                rows, columns = max(rows, int(digits[:12])), max(columns, _column(letters))
            if rows * columns > MAX_CELLS:
                raise DatasetError(
                    f"{path.name}: expected a sheet of at most {MAX_CELLS:,} cells, got {rows:,} rows and "
                    f"{columns:,} columns; delete the cells that are far from the table"
                )
        return sum(member.file_size for member in archive.infolist())


def _column(letters: bytes) -> int:
    place = 0
    for letter in letters[:4]:
        place = 26 * place + letter - ord("A") + 1
    return place
