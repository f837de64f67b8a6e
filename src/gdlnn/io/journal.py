"""Journal: an append-only file of JSON records with checksums, locked against other runs, for checkpoints.

Every line is ``CRC32 JSON``. The first line, the header, says which call the records belong to; the file of
another call is refused. A record that a kill cut short is dropped when the next run opens the file.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import time
import weakref
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from filelock import lock_descriptor

from gdlnn.io import bounded_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gdlnn.errors import GDLNNError

logger = logging.getLogger(__name__)
SYNC_SECONDS = 5.0
"""Time between syncs to disk: a kill loses nothing, a power cut at most this much."""
MAX_RECORD = 1 << 30
"""Longest line read, in bytes."""


class Journal:
    """An open journal.

    Parameters
    ----------
    path
        The file; created if it does not exist.
    kind
        What the records are, as in the header.
    header
        What decides the results of this run; a file with another header is refused.
    names
        Descriptions of header entries whose values mean little to a reader.
    error
        The class of the errors.

    Raises
    ------
    GDLNNError
        Of the class `error`, if the file is not a journal, is damaged, belongs to another call or is in use.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        kind: str,
        header: Mapping[str, Any],
        names: Mapping[str, str],
        error: type[GDLNNError],
    ) -> None:
        self.path = Path(path)
        self._header = {"kind": kind, **header}
        self._names, self._error = names, error
        self._synced = time.monotonic()
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as failure:
            raise self._failed(f"cannot be opened: {failure.strerror}") from failure
        try:
            self._lock()
            self._first = self._check()
        except BaseException:
            os.close(self._file)
            raise
        _OPEN.add(self)

    def read(self) -> Iterator[tuple[int, Any]]:
        """Yield each record with its offset; cut off an incomplete one at the end. Call this once, first."""
        end = self._first
        with self._open(end) as file:
            while line := file.readline(MAX_RECORD):
                value = payload(line) if line.endswith(b"\n") else None
                if value is None:
                    if line.endswith(b"\n") and file.read(1):
                        raise self._failed(f"the record at byte {end} is damaged")
                    break  # cut short by a kill
                yield end, value
                end += len(line)
        os.ftruncate(self._file, end)
        os.lseek(self._file, end, os.SEEK_SET)

    def append(self, values: Sequence[Mapping[str, Any]]) -> None:
        """Add records."""
        if values:
            self._write(b"".join(record(value) for value in values))

    def close(self) -> None:
        """Sync to disk and release the lock."""
        _OPEN.discard(self)
        try:
            os.fsync(self._file)
        except OSError as failure:
            raise self._unwritten(failure) from failure
        finally:
            os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _failed(self, what: str) -> GDLNNError:
        return self._error(f"checkpoint {self.path.name}: {what}")

    def _unwritten(self, failure: OSError) -> GDLNNError:
        return self._failed(
            f"cannot be written: {failure.strerror or failure}; run the same call again to resume from it"
        )

    def _lock(self) -> None:
        if not stat.S_ISREG(os.fstat(self._file).st_mode):  # reading from a pipe would wait forever
            raise self._failed("expected a file, got a device or a pipe")
        try:
            free = lock_descriptor(self._file, blocking=False)
        except OSError as failure:  # some cluster file systems have no locks
            logger.warning(
                "checkpoint %s: cannot be locked (%s); make sure that no other run writes to it",
                self.path.name,
                failure.strerror,
            )
            return
        if not free:  # callers wait if they see this cause
            raise self._failed("another run is writing to it") from BlockingIOError()

    def _open(self, start: int) -> IO[bytes]:
        """Return the file for reading, through the locked descriptor: on Windows no other can read it."""
        file = os.fdopen(self._file, "rb", closefd=False)
        file.seek(start)
        return file

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._file, data) :]
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._file)
                self._synced = time.monotonic()
        except OSError as failure:
            raise self._unwritten(failure) from failure

    def _check(self) -> int:
        """Compare the header, or write it into a new file; return the offset of the first record."""
        header = record(self._header)
        with self._open(0) as file:
            line = file.readline(MAX_RECORD)
        if not line.endswith(b"\n") and header.startswith(line):  # new, or killed while it was written
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            self._write(header)
            return len(header)
        found = payload(line)
        if not isinstance(found, dict) or found.get("kind") != self._header["kind"]:
            expected = str(self._header["kind"]).removeprefix("gdlnn ").removesuffix(" checkpoint")
            raise self._failed(f"expected a checkpoint of {expected}, got another file, which is unchanged")
        differing = [name for name in self._header if found.get(name) != self._header[name]]
        if differing:
            said = [
                self._names.get(name) or f"{name} ({found.get(name)!r} there, {self._header[name]!r} now)"
                for name in differing
                if name != "n_tasks" or "tasks" not in differing
            ]
            raise self._failed(f"belongs to another call, which differs in {'; '.join(said)}")
        return len(line)


# A lock belongs to the open file, which a forked child shares: a worker that outlives a killed caller would
# keep the next run out.
_OPEN: weakref.WeakSet[Journal] = weakref.WeakSet()


def _close_in_child() -> None:
    for file in list(_OPEN):
        os.close(file._file)
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def record(value: Mapping[str, Any]) -> bytes:
    """Return the line of a record."""
    body = json.dumps(value, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def payload(line: bytes) -> Any:
    """Return the record in a line, or None if its checksum is wrong."""
    checksum, _, body = line.rstrip(b"\n").partition(b" ")
    try:
        return bounded_json.loads(body) if int(checksum, 16) == zlib.crc32(body) else None
    except ValueError:
        return None
