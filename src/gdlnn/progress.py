"""Progress bars in terminals and notebooks; silent elsewhere."""

from __future__ import annotations

import importlib.util
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

Style = Literal["steps", "bytes", "rows", "tasks"]
REFRESH_SECONDS = 0.5


@contextmanager
def progress_bar(
    name: str,
    total: float | None = None,
    *,
    style: Style = "steps",
    completed: int = 0,
    says: str = "",
    wanted: bool = True,
    transient: bool = False,
) -> Iterator[Callable[..., None]]:
    """Show a bar where someone can see it move, for as long as the context lasts.

    Parameters
    ----------
    name
        What is being done.
    total, completed
        Number of steps, if known, and how many are done already.
    style
        "steps" shows the time left, "bytes" sizes and speed, "rows" a spinner and the time so far, "tasks" a
        bar and the time so far.
    says
        Text beside the bar.
    wanted
        False shows nothing.
    transient
        Remove the bar at the end.

    Yields
    ------
    A function that moves the bar, with any of the keywords `completed`, `advance`, `total` and `says`.
    """
    console = _console() if wanted else None
    if console is None:
        yield _ignore
    elif console.is_jupyter and importlib.util.find_spec("ipywidgets") is None:
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        yield _Line(name, total, completed, says, display({"text/plain": name}, raw=True, display_id=True))  # type: ignore[no-untyped-call,unused-ignore]
    else:
        from rich.progress import Progress

        with Progress(*_columns(style), console=console, transient=transient) as bar:
            task = bar.add_task(name, total=total, completed=completed, says=says)
            yield lambda **changes: bar.update(task, **changes)


def is_watched() -> bool:
    """Say whether bars are shown."""
    return _console() is not None


def _ignore(**_: Any) -> None:
    """Show nothing."""


def _columns(style: Style) -> tuple[Any, ...]:
    from rich import progress as rich

    name, says = rich.TextColumn("{task.description}"), rich.TextColumn("{task.fields[says]}")
    if style == "steps":
        return name, rich.BarColumn(), rich.MofNCompleteColumn(), says, rich.TimeRemainingColumn()
    if style == "bytes":
        return name, rich.BarColumn(), rich.DownloadColumn(), rich.TransferSpeedColumn()
    if style == "rows":
        both = rich.TextColumn("{task.description}: {task.fields[says]}")
        return rich.SpinnerColumn(), both, rich.TimeElapsedColumn()
    return rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeElapsedColumn(), says


class _Line:
    """One line of text that a notebook rewrites in place: for notebooks without widgets."""

    def __init__(self, name: str, total: float | None, completed: int, says: str, handle: Any) -> None:
        self._name, self._total, self._done, self._says, self._handle = name, total, completed, says, handle
        self._before, self._start = completed, time.monotonic()
        self._show()

    def __call__(self, *, advance: float = 0, **changes: Any) -> None:
        self._done = changes.get("completed", self._done + advance)
        self._total, self._says = changes.get("total", self._total), changes.get("says", self._says)
        if self._done == self._total or time.monotonic() - self._shown > REFRESH_SECONDS:
            self._show()

    def _show(self) -> None:
        self._shown = time.monotonic()
        of = "" if self._total is None else f"/{self._total}"
        rate = (self._done - self._before) / max(1e-9, self._shown - self._start)
        left = (self._total - self._done) / rate if self._total is not None and rate > 0 else 0.0
        time_left = f", {left:.0f} s left" if left else ""
        text = f"{self._name}: {self._done}{of} {self._says}{time_left}"
        self._handle.update({"text/plain": text}, raw=True)


def _console() -> Console | None:
    """Return the console to draw on, or None where nobody watches."""
    if not sys.stderr.isatty() and "IPython" not in sys.modules:
        return None  # and rich need not be loaded
    from rich.console import Console

    console = Console(stderr=True)
    return console if console.is_jupyter or (console.is_terminal and not console.is_dumb_terminal) else None
