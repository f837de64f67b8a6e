"""atomic_write(): write a file completely or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gdlnn.errors import GDLNNError, WriteError

if TYPE_CHECKING:
    from collections.abc import Iterator


PREFIX = ".gdlnn-"
"""Begins the short name of a temporary file: that of the file may be as long as names can be."""


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file next to `path` that replaces it once everything is on disk.

    Raises
    ------
    WriteError
        If the folder or the disk does not accept the file. An existing file is unchanged.
    """
    name: Path | None = None
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as stream:  # a pipe or a device, which must not become a file
                yield stream
            return
        if path.is_symlink():  # write the target and keep the link
            path = _target(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(prefix=PREFIX, dir=path.parent)
        name = Path(made)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # otherwise a power cut after the rename could leave an empty file
        # mkstemp creates a file that only its owner can read: use those of the old file, or the default.
        name.chmod(path.stat().st_mode & 0o777 if path.is_file() else 0o666 & ~_umask())
        name.replace(path)
    except BaseException as error:
        if name is not None:
            name.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, GDLNNError) and _is_about(error, path, name):
            kept = "; the existing file is unchanged" if path.is_file() else ""
            raise WriteError(f"{path.name}: cannot be written: {error.strerror or error}{kept}") from error
        raise


def _umask() -> int:
    """Return the umask of this process.

    Outside Linux it can only be read by setting it, which affects other threads.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.partition("Umask:")[2].split()[0], 8)
    except (OSError, IndexError, ValueError):
        mask = os.umask(0o077)
        os.umask(mask)
        return mask


def _target(link: Path) -> Path:
    """Return the final target of a link, whether it exists or not."""
    with contextlib.suppress(FileNotFoundError):
        link.stat()  # refuses a loop of links, which resolve() returns as it is from Python 3.13 on
    return link.resolve()


def _is_about(error: OSError, path: Path, name: Path | None) -> bool:
    """Say whether an error comes from writing the file, not from reading another file meanwhile."""
    if error.filename is None:  # raised by `write`, `flush` and `fsync`
        return error.errno is not None
    # The error of a temporary file has its absolute path, whatever path was given.
    where, file = _absolute(error.filename), _absolute(path)
    known = {file, file.parent} if name is None else {file, file.parent, _absolute(name)}
    return where in known or (where.parent == file.parent and where.name.startswith(PREFIX))


def _absolute(path: str | Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  (resolve() would follow links, and fail on loops)
