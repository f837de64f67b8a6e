"""Zip archives and JSON from untrusted files, read into memory within limits.

Members of archives are written with the fastest compression. Nothing is unpacked to disk, and no code is run.
"""

from __future__ import annotations

import contextlib
import json
import re
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

from gdlnn.errors import GDLNNError
from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

MAX_RATIO = 200
"""How many times its size a file may unpack to; our own unpack to about five times."""
FREE_BYTES = 64 << 20
"""Content that is always accepted, whatever the size of the file."""
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, NotImplementedError),
    *(RuntimeError, ValueError, LookupError, OverflowError, MemoryError),
)
"""What `zipfile` raises on damaged files."""
FREE_JSON = 8 << 20
"""Bytes of lists and objects of JSON that are always allowed, whatever the length of the text."""
JSON_RATIO = 16
"""Bytes of lists and objects allowed per byte of JSON; our own files take less than half of this."""
_LIST, _OBJECT = 96, 240  # bytes that a list with a few values and an object with one key take
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class BadArchiveError(Exception):
    """A file that is not a zip file, is damaged, or exceeds the limits when unpacked."""


def write_members(path: Path, members: Iterable[tuple[str, bytes]]) -> None:
    """Write an archive atomically, one member after another. The same members always give the same bytes."""
    with atomic_write(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, data in members:
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, compresslevel=1)


@contextlib.contextmanager
def checked_archive(path: Path, limits: Mapping[str, int] | int) -> Iterator[zipfile.ZipFile]:
    """Open an archive that unpacks to no more than it may, for reading its members.

    A member read from it is never longer than the archive declares.

    Parameters
    ----------
    path
        The file.
    limits
        Most bytes of each member, by name; members without a limit are not checked. A number limits all
        members together.

    Raises
    ------
    BadArchiveError
        If the file is damaged, is not a zip file or exceeds the limits, also while it is read.
    OSError
        If it cannot be opened.
    """
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                _check(archive.infolist(), limits, path.stat().st_size)
                yield archive
        except GDLNNError:  # raised by the code that reads it
            raise
        except _DAMAGED as error:
            raise BadArchiveError(str(error) or type(error).__name__) from error


def read_members(path: Path, limits: Mapping[str, int] | int) -> dict[str, bytes]:
    """Return the members of an archive by name.

    Parameters
    ----------
    path
        The file.
    limits
        Most bytes of each member that is read, by name; other members are skipped. A number limits all
        members together, and all are read.

    Raises
    ------
    BadArchiveError, OSError
        As `checked_archive` does.
    """
    with checked_archive(path, limits) as archive:
        return {
            member.filename: _read(archive, member)
            for member in archive.infolist()
            if isinstance(limits, int) or member.filename in limits
        }


def _check(members: list[zipfile.ZipInfo], limits: Mapping[str, int] | int, size: int) -> None:
    names = [member.filename for member in members]
    if len(set(names)) < len(names):
        raise BadArchiveError("two members have the same name")
    total = sum(member.file_size for member in members)
    if isinstance(limits, int):
        if total > limits:
            raise BadArchiveError(f"expected at most {limits:,} bytes of content, got {total:,}")
    else:
        for member in members:
            most = limits.get(member.filename)
            if most is not None and member.file_size > most:
                raise BadArchiveError(
                    f"{member.filename}: expected at most {most:,} bytes, got {member.file_size:,}"
                )
    if total > max(FREE_BYTES, MAX_RATIO * size):
        raise BadArchiveError(f"a file of {size:,} bytes claims {total:,} bytes of content")


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if member.compress_type not in _METHODS:
        raise BadArchiveError(
            f"{member.filename}: expected a stored or deflated member, got another compression method"
        )
    with archive.open(member) as stream:
        # Read one byte more than declared, so that a longer member is noticed without unpacking it.
        data = stream.read(member.file_size + 1)
    if len(data) != member.file_size:
        raise BadArchiveError(f"{member.filename}: its length is not the declared {member.file_size:,} bytes")
    return data


def loads(data: bytes | str) -> Any:
    """Return the value of a JSON text.

    Raises
    ------
    ValueError
        If it is not JSON, has text that no file can hold, is nested too deeply, or would take far more memory
        than its length, as millions of empty objects do.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if _weight(raw) > _granted(raw) and _weight(_STRING.sub(b'""', raw)) > _granted(raw):
        raise ValueError(f"expected values, got {raw.count(b'[') + raw.count(b'{'):,} lists and objects")
    try:
        found = json.loads(data)
        if b"\\" in raw or not raw.isascii():
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("half of a surrogate pair") from error
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    return found


def _weight(raw: bytes) -> int:
    """Return about how many bytes the lists and objects of a text take."""
    return _LIST * raw.count(b"[") + _OBJECT * raw.count(b"{")


def _granted(raw: bytes) -> int:
    return FREE_JSON + JSON_RATIO * len(raw)
