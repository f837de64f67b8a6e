"""The errors GDLNN raises on purpose.

::

    GDLNNError
    ├── GraphError (ValueError)          an invalid graph or dataset
    ├── ProgramError (ValueError)        an invalid GDL program
    │   └── GDLSyntaxError               GDL text that does not parse: line, column, caret
    ├── MatchError (ValueError)          programs and graphs that do not fit together
    ├── UnknownMatchError                the step budget ran out before the answer was known
    ├── DatasetError (ValueError)        a file or a dataset that cannot be read
    │   └── DownloadError                a dataset that cannot be downloaded
    ├── MiningError (ValueError)         an invalid mining call, or a checkpoint of another run
    ├── ModelError (ValueError)          a model that cannot be trained, used, saved or loaded
    ├── ExplanationError (ValueError)    an explanation that cannot be made
    ├── WorkerError (RuntimeError)       worker processes that are gone or cannot be reached
    ├── WriteError (OSError)             a file that cannot be written; an existing file is unchanged
    ├── ServerError (ValueError)         a request that cannot be answered, or a server that cannot start
    └── MissingExtraError (ImportError)  an optional dependency that is not installed
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, ModuleType


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Replace control characters by escapes, so that a text is safe to print to a terminal.

    Names come from files and may contain sequences that move the cursor, change titles or hide text. Line
    breaks and tabs stay.
    """
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


class GDLNNError(Exception):
    """Root of every error that GDLNN raises on purpose."""

    def __str__(self) -> str:
        return printable(super().__str__())


class GraphError(GDLNNError, ValueError):
    """An invalid graph or dataset."""


class ProgramError(GDLNNError, ValueError):
    """An invalid GDL program."""


class GDLSyntaxError(ProgramError):
    """GDL text that does not parse, and where.

    Attributes
    ----------
    reason
        What was expected and what was found.
    line, column
        Where the error is, counted from 1.
    source_line
        The line of the text, shortened around the error if it is long.
    caret
        Position in ``source_line``, counted from 0.
    """

    def __init__(self, reason: str, line: int, column: int, source_line: str, caret: int) -> None:
        super().__init__(f"line {line}, column {column}: {reason}\n  {source_line}\n  {' ' * caret}^")
        self.reason, self.line, self.column = reason, line, column
        self.source_line, self.caret = source_line, caret

    def __reduce__(self) -> tuple[Any, ...]:
        return GDLSyntaxError, (self.reason, self.line, self.column, self.source_line, self.caret)


class MatchError(GDLNNError, ValueError):
    """Programs and graphs that do not fit together."""


class UnknownMatchError(GDLNNError):
    """The step budget ran out before the answer was known."""


class DatasetError(GDLNNError, ValueError):
    """A file or a dataset that cannot be read."""


class DownloadError(DatasetError):
    """A dataset that cannot be downloaded."""


class MiningError(GDLNNError, ValueError):
    """An invalid mining call, or a checkpoint of another run."""


class ModelError(GDLNNError, ValueError):
    """A model that cannot be trained, used, saved or loaded."""


class ExplanationError(GDLNNError, ValueError):
    """An explanation that cannot be made."""


class ServerError(GDLNNError, ValueError):
    """A request that cannot be answered, or a server that cannot start."""


class WorkerError(GDLNNError, RuntimeError):
    """Worker processes that are gone or cannot be reached."""


class WriteError(GDLNNError, OSError):
    """A file that cannot be written; an existing file is unchanged."""


class MissingExtraError(GDLNNError, ImportError):
    """An optional dependency that is not installed."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back while libraries are imported: one that is half loaded cannot be loaded again."""
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *given: held.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held and callable(before):
            before(*held[-1])


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional dependency, or say which command installs it."""
    loaded = sys.modules.get(module)  # reading a molecule asks several times
    if loaded is not None:
        return loaded
    try:
        with uninterrupted():
            return importlib.import_module(module)
    except (ImportError, MemoryError) as error:
        package = module.partition(".")[0]
        if isinstance(error, MemoryError) or _is_installed(package):
            reason = str(error) or "memory ran out"
            raise MissingExtraError(
                f"{purpose} needs {package}, which is installed but cannot be loaded: {reason}"
            ) from error
        hint = f"Install it with: pip install 'gdlnn[{extra}]'"
        raise MissingExtraError(f"{purpose} needs {package}, which is not installed. {hint}") from error


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False
