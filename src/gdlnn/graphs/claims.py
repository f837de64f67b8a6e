"""Claims on parts of a folder: two runs that would do the same there refuse each other."""

from __future__ import annotations

import logging
import os
import threading
import zlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gdlnn.errors import GDLNNError, WriteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

FILE = ".claims"
logger = logging.getLogger(__name__)
# The locks belong to the process: they do not keep it from itself, and all of a file go when it closes one
# handle. So each file is opened once, and what is claimed here is written down.
_GUARD = threading.Lock()
_HANDLES: dict[Path, int] = {}
_NAMES: dict[Path, set[str]] = {}


@contextmanager
def claimed(folder: Path, names: Iterable[str]) -> Iterator[None]:
    """Keep other runs from doing the same in a folder; whoever ends, however that comes, claims nothing.

    Runs that claim other names may fill the folder at the same time.

    Raises
    ------
    GDLNNError
        Where another run claims one of the names.
    """
    folder = folder.absolute() if folder.name else folder.resolve()  # "." has a name too
    mine: list[str] = []
    with _GUARD:
        file = _open(folder)
        try:
            for name in dict.fromkeys(names):
                if name in _NAMES[file] or not _lock(file, name):
                    raise _refused(folder, name)  # noqa: TRY301
                _NAMES[file].add(name)
                mine.append(name)
        except BaseException:
            _release(file, mine)
            raise
    try:
        yield
    finally:
        with _GUARD:
            _release(file, mine)


def _refused(folder: Path, name: str) -> GDLNNError:
    return GDLNNError(f"{folder.name}: another run is at {name} in this folder; wait for it, or take another")


def _open(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder.resolve() / FILE
        if file not in _HANDLES:
            _HANDLES[file], _NAMES[file] = os.open(file, os.O_RDWR | os.O_CREAT, 0o666), set()
    except OSError as error:
        raise WriteError(f"{folder.name}: cannot be written: {error.strerror}") from error
    return file


def _lock(file: Path, name: str) -> bool:
    """Lock a name against other processes; say whether none of them has it."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system: two runs on one folder are the user's to avoid
        return True
    try:
        # Each name is a byte of the file, which need not be there. The lock goes with the process.
        fcntl.lockf(_HANDLES[file], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, zlib.crc32(name.encode()))
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        if not _NAMES[file]:  # told once
            logger.warning("%s: cannot be locked (%s): no other run must write to it", file, error.strerror)
    return True


def _release(file: Path, names: list[str]) -> None:
    _NAMES[file].difference_update(names)
    if not _NAMES[file]:
        del _NAMES[file]
        os.close(_HANDLES.pop(file))
        return
    with suppress(ImportError, OSError):
        import fcntl

        for name in names:
            fcntl.lockf(_HANDLES[file], fcntl.LOCK_UN, 1, zlib.crc32(name.encode()))
