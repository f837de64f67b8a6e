"""Runs in other processes that tests meet."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CLAIM = """
import sys, time
from pathlib import Path
from gdlnn.io.folder_lock import claimed
with claimed(Path(sys.argv[1]), [sys.argv[2]]):
    print("open", flush=True)
    time.sleep(60)
"""


@contextmanager
def claimed_elsewhere(folder: Path, name: str) -> Iterator[None]:
    """Have another process claim a name in a folder; it is killed in the end."""
    command = [sys.executable, "-c", _CLAIM, str(folder), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"open\n"
            yield
        finally:
            other.kill()
