"""Checkpoint: the file of finished descents that a call resumes from."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from filelock import FileLock, Timeout

from gdlnn.errors import GDLNNError, MiningError
from gdlnn.io import bounded
from gdlnn.mining.descents import TaskResult
from gdlnn.mining.program_text import parse_rows
from gdlnn.version import package_version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdlnn.mining.descents import Plan
    from gdlnn.mining.settings import Settings

logger = logging.getLogger(__name__)
KIND = "gdlnn mining checkpoint"
FORMAT = 2
_NAMES = {
    "data": "the dataset (its graphs, or which of them share a label)",
    "labels": "the labels",
    "version": "the version of gdlnn",
    "format": "the format of the file",
    "tasks": "the targets",
}


def checkpoint_header(
    fingerprint: str, labels: Sequence[Any], settings: Settings, plan: Plan
) -> dict[str, Any]:
    """Return the settings that determine the results of a call, which must be equal in its file."""
    tasks = hashlib.sha256(json.dumps([plan.tasks, plan.rows]).encode()).hexdigest()
    return {
        "format": FORMAT,
        "version": package_version(),
        "data": fingerprint,
        "labels": list(labels),
        "n_tasks": len(plan),
        "tasks": tasks,
        **settings.to_json(),
    }


class Checkpoint:
    """An open checkpoint: lines of JSON, the first of which describes the call; locked against other runs.

    A line that a kill cut short is dropped when the next run opens the file.

    Parameters
    ----------
    path
        The file; created if it does not exist.
    header
        What `checkpoint_header` gave.
    n_graphs
        Number of graphs.

    Attributes
    ----------
    finished
        The results found in the file, by task.

    Raises
    ------
    MiningError
        If the file is not a checkpoint, is damaged, belongs to another call or is in use.
    """

    def __init__(self, path: str | os.PathLike[str], header: Mapping[str, Any], n_graphs: int) -> None:
        self.path = Path(path)
        self.finished: dict[int, TaskResult] = {}
        self._header = {"kind": KIND, **header}
        self._n_tasks, self._n_graphs = int(header.get("n_tasks", 0)), n_graphs
        self._lock = FileLock(
            self.path.with_name(f".{self.path.name}.lock"), blocking=False, fallback_to_soft=False
        )
        if self.path.is_fifo() or self.path.is_char_device():
            raise self._failed("expected a file, got a device or a pipe")
        try:
            self._file = self.path.open("ab", buffering=0)
        except OSError as error:
            raise self._failed(f"cannot be opened: {error.strerror}") from error
        try:
            self._acquire()
            self._read()
        except BaseException:
            self.close()
            raise

    def add(self, results: Sequence[TaskResult]) -> None:
        """Add finished descents."""
        self._write("".join(_line(result.to_json()) for result in results))

    def close(self) -> None:
        """Close the file and release the lock."""
        self._file.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _failed(self, what: str) -> MiningError:
        return MiningError(f"checkpoint {self.path.name}: {what}")

    def _acquire(self) -> None:
        try:
            self._lock.acquire()
        except Timeout:  # callers wait if they see this cause
            raise self._failed("another run is writing to it") from BlockingIOError()
        except OSError as error:  # some cluster file systems have no locks
            logger.warning(
                "checkpoint %s: cannot be locked (%s); make sure that no other run writes to it",
                self.path.name,
                error.strerror,
            )

    def _read(self) -> None:
        """Read the results, cut off a line that is incomplete, and write the header of a new file."""
        data = self.path.read_bytes()
        header = _line(self._header).encode()
        if header.startswith(data):  # new, or killed while the header was written
            os.truncate(self.path, 0)
            self._write(header.decode())
            return
        lines = data.splitlines(keepends=True)
        self._check(lines[0])
        place = len(lines[0])
        for line in lines[1:]:
            try:
                value = bounded.loads(line)
            except ValueError as error:
                if place + len(line) < len(data):
                    raise self._failed(f"the record at byte {place} is damaged") from error
                value = None
            if value is None or not line.endswith(b"\n"):
                break
            self._add(value, place)
            place += len(line)
        os.truncate(self.path, place)

    def _check(self, line: bytes) -> None:
        """Compare the header with that of this call."""
        try:
            found = bounded.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("kind") != KIND:
            raise self._failed("expected a checkpoint of mining, got another file, which is unchanged")
        expected = json.loads(_line(self._header))
        differing = [name for name in expected if found.get(name) != expected[name]]
        if differing:
            words = [
                _NAMES.get(name) or f"{name} ({found.get(name)!r} there, {expected[name]!r} now)"
                for name in differing
                if name != "n_tasks" or "tasks" not in differing
            ]
            raise self._failed(f"belongs to another call, which differs in {'; '.join(words)}")

    def _add(self, value: Any, place: int) -> None:
        """Add a record, which may be JSON and still not be a result of this call."""
        try:
            result = TaskResult.from_json(value)
            parse_rows(str(result.task), self._n_tasks)
            parse_rows(result.support, self._n_graphs)
        except (TypeError, KeyError, ValueError, AttributeError, GDLNNError) as error:
            raise self._failed(f"the record at byte {place} is not a valid result: {error}") from error
        self.finished[result.task] = result

    def _write(self, text: str) -> None:
        data = text.encode()
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise self._failed(
                f"cannot be written: {error.strerror or error}; run the same call again to resume from it"
            ) from error


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"
