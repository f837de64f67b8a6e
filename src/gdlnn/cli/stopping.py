"""What Ctrl-C, SIGTERM and SIGHUP do to a command: it ends in order, says so, and leaves no half a file."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

INTERRUPTED = 130  # exit code, as shells give it after Ctrl-C
STOPPED = (
    "stopped: no output was written, and one from before is as it was. What a checkpoint holds is kept: "
    "the same command goes on from it."
)


@dataclass
class Stop:
    """Which signal came other than Ctrl-C's."""

    signal: int = 0

    def exit_code(self, code: object) -> object:
        """Return the exit code of a command that ended with `code`: 128 and the signal, as shells give it."""
        return 128 + self.signal if self.signal and code == INTERRUPTED else code


@contextmanager
def stopping() -> Iterator[Stop]:
    """Treat SIGTERM and a lost terminal as Ctrl-C, whatever a command makes of that."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def end(number: int, frame: FrameType | None) -> None:
        stop.signal = number
        handler = signal.getsignal(signal.SIGINT)
        mining = sys.modules.get("gdlnn.mining.miner")
        if callable(handler):
            handler(signal.SIGINT, frame)
        # Shells have Ctrl-C ignored by what scripts put in the background: then mining has no handler of it.
        elif mining is None or not mining.ask_to_stop():
            raise KeyboardInterrupt

    # `nohup` has SIGHUP ignored, and so it stays.
    wanted = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {n: signal.getsignal(n) for n in wanted}
    taken = [n for n in wanted if before[n] not in (None, signal.SIG_IGN)]
    for number in taken:
        signal.signal(number, end)
    try:
        yield stop
    finally:
        for number in taken:
            signal.signal(number, before[number])


def was_interrupted(end: SystemExit) -> bool:
    """Say whether typer made this end of a Ctrl-C that the command itself had no words for."""
    return isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt)
