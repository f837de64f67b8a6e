"""Checkpoint: an append-only file of finished descents, each record with its checksum.

Every line is ``CRC32 JSON``. The first one, the header, says what is mined and how; a run with other data or
settings is refused. A record that a kill cut short is dropped when the next run opens the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gdlnn.errors import GDLNNError, MiningError
from gdlnn.mining.results import TaskResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from gdlnn.mining.settings import Settings
    from gdlnn.mining.tasks import Plan

KIND = "gdlnn mining checkpoint"
FORMAT = 1
SYNC_SECONDS = 5.0
"""How often the disk is asked to have it all; a kill loses nothing, a power cut at most this much."""
_NAMES = {
    "data": "the data set (its graphs, or which of them share a label)",
    "labels": "the labels",
    "version": "the version of gdlnn",
    "format": "the format of the file",
    "tasks": "the targets",
}


def checkpoint_header(
    fingerprint: str, labels: Sequence[Any], settings: Settings, plan: Plan, version: str
) -> dict[str, Any]:
    """Return what a file must agree on for its results to be those of this call."""
    tasks = hashlib.sha256(json.dumps([plan.tasks, plan.rows]).encode()).hexdigest()
    return {
        "kind": KIND,
        "format": FORMAT,
        "version": version,
        "data": fingerprint,
        "labels": list(labels),
        "n_tasks": len(plan),
        "tasks": tasks,
        **settings.to_json(),
    }


class Checkpoint:
    """An open checkpoint file, locked against other runs.

    Parameters
    ----------
    path
        The file; made where it is not there.
    header
        What this run mines and how.

    Attributes
    ----------
    finished
        The results that were there, by task.

    Raises
    ------
    MiningError
        Where the file is none, is damaged, is one of another call, or is in use.
    """

    def __init__(self, path: str | os.PathLike[str], header: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._header = dict(header)
        self.finished: dict[int, TaskResult] = {}
        self._synced = time.monotonic()
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise MiningError(f"checkpoint {self.path.name}: cannot be opened: {error.strerror}") from error
        try:
            self._lock()
            self._read()
        except BaseException:
            os.close(self._file)
            raise

    def append(self, results: Sequence[TaskResult]) -> None:
        """Add finished descents."""
        if results:
            self._write(b"".join(_record(result.to_json()) for result in results))

    def close(self) -> None:
        """Hand all to the disk and let other runs in."""
        os.fsync(self._file)
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # no such locks on this system: two runs on one file are the user's to avoid
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise MiningError(f"checkpoint {self.path.name}: another run is writing to it") from error

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._file, data) :]
        if time.monotonic() - self._synced > SYNC_SECONDS:
            os.fsync(self._file)
            self._synced = time.monotonic()

    def _read(self) -> None:
        content = self.path.read_bytes()
        header = _record(self._header)
        end = content.find(b"\n") + 1
        if not end and header.startswith(content):  # new, or killed while the header was being written
            os.ftruncate(self._file, 0)
            self._write(header)
            return
        self._check_header(content[:end])
        while end < len(content):
            stop = content.find(b"\n", end) + 1
            record = _payload(content[end:stop]) if stop else None
            if record is None:
                if stop and stop < len(content):
                    raise MiningError(f"checkpoint {self.path.name}: the record at byte {end} is damaged")
                break  # cut short by a kill
            self._add(record, end)
            end = stop
        os.ftruncate(self._file, end)
        os.lseek(self._file, end, os.SEEK_SET)

    def _add(self, record: Any, place: int) -> None:
        try:
            result = TaskResult.from_json(record)
        except (TypeError, KeyError, GDLNNError) as error:
            raise MiningError(
                f"checkpoint {self.path.name}: the record at byte {place} is no result: {error}"
            ) from error
        self.finished[result.task] = result

    def _check_header(self, line: bytes) -> None:
        where = f"checkpoint {self.path.name}"
        found = _payload(line)
        if not isinstance(found, dict) or found.get("kind") != KIND:
            raise MiningError(
                f"{where}: expected a checkpoint of mining, got another file; it was left as it is"
            )
        differing = [name for name in self._header if found.get(name) != self._header[name]]
        if differing:
            said = [
                _NAMES.get(name) or f"{name} ({found.get(name)!r} there, {self._header[name]!r} now)"
                for name in differing
                if name != "n_tasks" or "tasks" not in differing
            ]
            raise MiningError(f"{where}: belongs to another call, which differs in {'; '.join(said)}")


def read_records(path: str | os.PathLike[str]) -> list[tuple[int, float]]:
    """Return task and processor time of each finished descent in a file; none where there is no file."""
    if not Path(path).exists():
        return []
    found = [_payload(line) for line in Path(path).read_bytes().splitlines()[1:]]
    return [(record["task"], record["seconds"]) for record in found if record is not None]


def _record(value: Mapping[str, Any]) -> bytes:
    body = json.dumps(value, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _payload(line: bytes) -> Any:
    """Return what a line holds, or None where its checksum is wrong."""
    checksum, _, body = line.rstrip(b"\n").partition(b" ")
    try:
        return json.loads(body) if int(checksum, 16) == zlib.crc32(body) else None
    except ValueError:
        return None
