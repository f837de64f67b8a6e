"""What Ctrl-C and SIGTERM do to a command: it ends in order, says so, and leaves no file half-written."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

INTERRUPTED = 130  # exit code, as shells give it after Ctrl-C
TERMINATED = 143  # the same after SIGTERM
STOPPED = (
    "stopped: no output was written, and one from before is as it was. What a checkpoint holds is kept: "
    "the same command goes on from it."
)


@dataclass
class Stop:
    """Whether SIGTERM came."""

    terminated: bool = False

    def exit_code(self, code: object) -> object:
        """Return the exit code of a command that ended with `code`."""
        return TERMINATED if self.terminated and code == INTERRUPTED else code


@contextmanager
def stopping() -> Iterator[Stop]:
    """Treat SIGTERM as Ctrl-C, whatever a command makes of that; without it only SIGKILL is worse."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGTERM"):
        yield stop
        return

    def terminate(_number: int, frame: FrameType | None) -> None:
        stop.terminated = True
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            raise KeyboardInterrupt
        handler(signal.SIGINT, frame)

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)


def was_interrupted(end: SystemExit) -> bool:
    """Say whether typer made this end of a Ctrl-C that the command itself had no words for."""
    return isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt)
