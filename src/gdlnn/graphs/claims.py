"""Claims on parts of a folder: two runs that would do the same there refuse each other."""

from __future__ import annotations

import logging
import os
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gdlnn.errors import GDLNNError, WriteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

FILE = ".claims"
logger = logging.getLogger(__name__)


@contextmanager
def claimed(folder: Path, names: Iterable[str]) -> Iterator[None]:
    """Keep other runs from doing the same in a folder; whoever ends, however that comes, claims nothing.

    Runs that claim other names may fill the folder at the same time.

    Raises
    ------
    GDLNNError
        Where another run claims one of the names.
    """
    try:
        import fcntl
    except ImportError:  # no such locks on this system: two runs on one folder are the user's to avoid
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise WriteError(f"{folder.name}: cannot be written: {error.strerror}") from error
    try:
        for name in names:
            try:
                # Each name is a byte of the file, which need not be there. The lock goes with the process.
                fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, zlib.crc32(name.encode()))
            except (BlockingIOError, PermissionError) as error:
                raise GDLNNError(
                    f"{folder.name}: another run is at {name} in this folder; wait for it, or take another"
                ) from error
            except OSError as error:
                logger.warning(
                    "%s: cannot be locked (%s): no other run must write to it", folder, error.strerror
                )
                break
        yield
    finally:
        os.close(handle)
