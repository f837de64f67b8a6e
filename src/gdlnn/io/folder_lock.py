"""claimed(): a lock on named jobs in a folder, so that two runs do not do the same job there."""

from __future__ import annotations

import hashlib
import logging
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from gdlnn.errors import GDLNNError, WriteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LOCKS = ".locks"
"""The subfolder of lock files, one for each name."""
logger = logging.getLogger(__name__)


@contextmanager
def claimed(folder: Path, names: Iterable[str]) -> Iterator[None]:
    """Lock named jobs in a folder against other runs, in this process and in others.

    Runs that claim other names may fill the folder at the same time. Locks are released when the process
    exits, however it ends.

    Raises
    ------
    GDLNNError
        If another run has claimed one of the names.
    WriteError
        If the folder cannot be written to.
    """
    folder = folder.absolute() if folder.name else folder.resolve()  # "." has a name too
    with ExitStack() as stack:
        try:
            (folder / LOCKS).mkdir(parents=True, exist_ok=True)
            for name in dict.fromkeys(names):
                stack.enter_context(_lock(folder, name))
        except Timeout as error:
            raise GDLNNError(
                f"{folder.name}: another run is using {name} here; wait for it, or choose another folder"
            ) from error
        except OSError as error:
            if error.filename is not None:  # a file or folder cannot be made
                raise WriteError(f"{folder.name}: cannot be written: {error.strerror}") from error
            logger.warning(
                "%s: cannot be locked (%s); make sure that no other run writes to it", folder, error.strerror
            )
        yield


def _lock(folder: Path, name: str) -> FileLock:
    """Return the lock of a name, which may contain any characters; raise if the file system has no locks."""
    digest = hashlib.sha256(name.encode()).hexdigest()[:32]
    return FileLock(folder / LOCKS / f"{digest}.lock", blocking=False, fallback_to_soft=False)
