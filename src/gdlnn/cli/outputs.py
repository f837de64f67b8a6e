"""What a command is asked to write, looked at before any work is done."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gdlnn.datasets.tu import tu_prefix
from gdlnn.errors import WriteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def check_output(output: Path, *inputs: str | Path) -> None:
    """Refuse a folder, an input, or a place where nothing can be written."""
    if output.is_dir():
        raise WriteError(f"{output.name}: expected a file to write, got a folder")
    for path in _files(inputs):
        if path.is_file() and output.is_file() and path.samefile(output):
            raise WriteError(f"{output.name}: expected another file to write than the input, got the same")
    if output.exists() and not output.is_file():
        return  # a pipe or a device
    nearest = next((folder for folder in output.absolute().parents if folder.exists()), Path())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        kind = "one that cannot be written" if nearest.is_dir() else "a file"
        raise WriteError(
            f"{output.name}: expected a folder to write into, got {nearest.name or nearest}, {kind}"
        )


def _files(inputs: Iterable[str | Path]) -> Iterator[Path]:
    """Give what is read: files themselves, and the files of TU folders."""
    for path in map(Path, inputs):
        prefix = tu_prefix(path) if path.is_dir() else None
        yield from [path] if prefix is None else path.glob(f"{glob.escape(prefix)}_*.txt")
