"""Progress bars in terminals and notebooks; silent elsewhere.

A bar shows what is being done, how much of it, and the time so far. A bar inside another is a line below it
for as long as it lasts.
"""

from __future__ import annotations

import importlib.util
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from gdlnn.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console
    from rich.progress import Progress

_SHOWN: ContextVar[Progress | None] = ContextVar("_SHOWN", default=None)
_STAGE: ContextVar[Callable[..., None] | None] = ContextVar("_STAGE", default=None)


@contextmanager
def progress_bar(
    name: str,
    total: float | None = None,
    *,
    completed: int = 0,
    wanted: bool = True,
) -> Iterator[Callable[..., None]]:
    """Show a bar where someone can see it move, for as long as the context lasts.

    Parameters
    ----------
    name
        What is being done.
    total, completed
        Number of steps, if known, and how many are done already.
    wanted
        False shows nothing.

    Yields
    ------
    A function that moves the bar, with any of the keywords `completed`, `advance`, `total` and `text`.
    """
    outer = _SHOWN.get()
    with _shown(wanted=wanted) as bars:
        if bars is None:
            yield lambda **_: None
            return
        task = bars.add_task(printable(name), total=total, completed=completed, text="")

        def update(**changes: Any) -> None:
            if "text" in changes:
                changes["text"] = printable(changes["text"])
            bars.update(task, **changes)

        try:
            yield update
        finally:
            if outer is not None:
                bars.remove_task(task)


@contextmanager
def stages(*, wanted: bool = True) -> Iterator[None]:
    """Show one line for each `stage` inside; finished stages remain, with their times."""
    with _shown(wanted=wanted):
        yield


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Show a stage of the enclosing `stages`, which `stage_done` moves; without one, do nothing."""
    bars, outer = _SHOWN.get(), _STAGE.get()
    if bars is None:
        yield
        return
    task = bars.add_task(printable(name), total=None, text="")
    token = _STAGE.set(partial(bars.update, task))
    try:
        yield
    finally:
        _STAGE.reset(token)
        bars.stop_task(task)
        if outer is not None:
            bars.remove_task(task)
        elif any(one.id == task and one.total is None for one in bars.tasks):
            bars.update(task, total=1, completed=1)


def stage_done(done: float, total: float) -> None:
    """Set how much of the current stage is done, if there is one."""
    update = _STAGE.get()
    if update is not None:
        update(completed=done, total=total)


# --- how bars are drawn -------------------------------------------------------------------------------------


@contextmanager
def _shown(*, wanted: bool) -> Iterator[Progress | None]:
    """Give the bars to draw in: those already shown, or new ones; None if nothing is to be shown."""
    outer = _SHOWN.get()
    console = _console() if wanted and outer is None else None
    if console is None:
        yield outer if wanted else None
        return
    from rich.progress import Progress

    with Progress(*_columns(), console=console) as bars:
        token = _SHOWN.set(bars)
        try:
            yield bars
        finally:
            _SHOWN.reset(token)


def _columns() -> tuple[Any, ...]:
    from rich import progress as rich

    name, text = (  # without markup: a name may have brackets
        rich.TextColumn(column, markup=False) for column in ("{task.description}", "{task.fields[text]}")
    )
    return name, rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeElapsedColumn(), text


def _console() -> Console | None:
    """Return the console to draw on, or None if there is no terminal or notebook that can show bars."""
    if not sys.stderr.isatty() and "IPython" not in sys.modules:
        return None  # and rich need not be loaded
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_jupyter:
        return console if importlib.util.find_spec("ipywidgets") else None
    return console if console.is_terminal and not console.is_dumb_terminal else None
