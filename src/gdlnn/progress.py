"""Progress bars in terminals and notebooks; silent elsewhere.

One bar shows at a time. A bar that is opened inside another does not show by itself: it moves the outer one
within its current step or stage.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gdlnn.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.console import Console

Style = Literal["steps", "bytes", "rows", "tasks", "stages"]
REFRESH_SECONDS = 0.5
FULL = 100
"""Where a bar over stages ends."""


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
        bar and the time so far, "stages" a percentage and the time left.
    says
        Text next to the bar.
    wanted
        False shows nothing.
    transient
        Remove the bar at the end.

    Yields
    ------
    A function that moves the bar, with any of the keywords `completed`, `advance`, `total` and `says`.
    """
    around = _AROUND.get()
    console = _console() if wanted and around is None else None
    if around is not None:
        with _inner_bar(around, total, completed, wanted=wanted) as update:
            yield update
    elif console is None:
        yield _ignore
    elif console.is_jupyter and importlib.util.find_spec("ipywidgets") is None:
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        yield _Line(name, total, completed, says, display({"text/plain": name}, raw=True, display_id=True))  # type: ignore[no-untyped-call,unused-ignore]
    else:
        from rich.progress import Progress

        with Progress(*_columns(style), console=console, transient=transient) as bar:
            said = printable(says)
            task = bar.add_task(printable(name), total=total, completed=completed, says=said, left=None)
            yield lambda **changes: bar.update(task, **_printable_words(changes))


def _printable_words(changes: dict[str, Any]) -> dict[str, Any]:
    """Return changes of a bar whose text has no control characters."""
    return changes | {"says": printable(changes["says"])} if "says" in changes else changes


def is_watched() -> bool:
    """Say whether bars are shown."""
    return _AROUND.get() is not None or _console() is not None


# --- one bar over several stages ----------------------------------------------------------------------------


class _Span(NamedTuple):
    """A part of a bar over stages, from 0 to 1, for what happens inside it.

    `stages` has the spans of the stages inside it, `words` names the current one.
    """

    bar: _StagedBar
    start: float = 0.0
    end: float = 1.0
    words: str = ""
    stages: Mapping[str, tuple[float, float]] = {}

    def part(self, start: float, end: float, words: str = "") -> _Span:
        """Return a part of this part."""
        length = self.end - self.start
        said = ", ".join(word for word in (self.words, words) if word)
        return _Span(self.bar, self.start + start * length, self.start + end * length, said)

    def move(self, share: float, says: str = "") -> None:
        """Move the bar to a share of this part."""
        position = min(1.0, self.start + min(1.0, max(0.0, share)) * (self.end - self.start))
        self.bar.move(position, f"{self.words}: {says}" if says else self.words)


_AROUND: ContextVar[_Span | None] = ContextVar("_AROUND", default=None)


class _StagedBar:
    """The position of a bar over stages, which never goes back, and the time left."""

    def __init__(
        self, update: Callable[..., None], seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._update, self._seconds, self._position, self._clock = update, seconds, 0.0, clock
        self._started = self._moved = clock()

    def move(self, position: float, says: str) -> None:
        """Move to a position from 0 to 1; an earlier position changes only the text."""
        self._position = max(self._position, position)
        self._moved = self._clock()
        self._update(completed=round(FULL * self._position, 1), says=says, left=self.time_left)

    def time_left(self) -> float:
        """Return the seconds left: the expected ones, scaled by the pace so far."""
        done, trusted = self._position * self._seconds, TRUSTED * self._seconds
        pace = (self._moved - self._started + trusted) / (done + trusted)
        return max(0.0, pace * (self._seconds - done) - (self._clock() - self._moved))


TRUSTED = 0.5
"""Share of the expected time after which the observed pace has the same weight as the expectation."""


@contextmanager
def staged_bar(name: str, seconds: Mapping[str, float], *, wanted: bool = True) -> Iterator[None]:
    """Show one bar over several stages, see `stage`, for as long as the context lasts.

    Parameters
    ----------
    name
        What is being done.
    seconds
        The expected time of each stage, in order, which sets where on the bar it begins and ends.
    wanted
        False shows nothing.
    """
    around = _AROUND.get()
    total = max(sum(seconds.values()), 1e-9)
    places: dict[str, tuple[float, float]] = {}
    end = 0.0
    for of, own in seconds.items():
        places[of] = (end, end + own / total)
        end += own / total
    if around is not None:
        with _inside(around._replace(stages=places)):
            yield
    elif not wanted or not is_watched():
        yield
    else:
        with progress_bar(name, FULL, style="stages") as update:
            bar = _StagedBar(update, total)
            with _inside(_Span(bar, stages=places)):
                yield
            bar.move(1.0, "done")


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Begin a stage; bars and `moved` inside it move the enclosing bar. Without one, do nothing."""
    around = _AROUND.get()
    if around is None:
        yield
        return
    span = around.part(*around.stages.get(name, (0.0, 0.0)), name)
    span.move(0.0)
    with _inside(span):
        yield
    span.move(1.0)


@contextmanager
def portion(number: int, count: int) -> Iterator[None]:
    """Assign the work inside to one of `count` equal parts of the current stage."""
    around = _AROUND.get()
    if around is None:
        yield
        return
    with _inside(around.part(number / count, (number + 1) / count)):
        yield


def moved(done: float, total: float) -> None:
    """Move the current stage, if there is one."""
    around = _AROUND.get()
    if around is not None and total:
        around.move(done / total)


@contextmanager
def _inside(span: _Span) -> Iterator[None]:
    token = _AROUND.set(span)
    try:
        yield
    finally:
        _AROUND.reset(token)


@contextmanager
def _inner_bar(
    around: _Span, total: float | None, completed: float, *, wanted: bool
) -> Iterator[Callable[..., None]]:
    """Return a function that moves the enclosing bar."""
    state: dict[str, Any] = {"total": total, "completed": completed, "says": ""}

    def update(*, advance: float = 0, **changes: Any) -> None:
        state.update({"completed": state["completed"] + advance, **changes})
        if wanted and state["total"]:
            around.move(state["completed"] / state["total"], state["says"])

    yield update


# --- how bars are drawn -------------------------------------------------------------------------------------


def _ignore(**_: Any) -> None:
    """Show nothing."""


def _columns(style: Style) -> tuple[Any, ...]:
    from rich import progress as rich

    text_column = partial(rich.TextColumn, markup=False)  # a name may have brackets
    name, says = text_column("{task.description}"), text_column("{task.fields[says]}")
    if style == "steps":
        return name, rich.BarColumn(), rich.MofNCompleteColumn(), says, rich.TimeRemainingColumn()
    if style == "bytes":
        return name, rich.BarColumn(), rich.DownloadColumn(), rich.TransferSpeedColumn()
    if style == "rows":
        both = text_column("{task.description}: {task.fields[says]}")
        return rich.SpinnerColumn(), both, rich.TimeElapsedColumn()
    if style == "stages":
        percent = rich.TextColumn("{task.percentage:3.0f} %")
        return name, rich.BarColumn(), percent, _time_left_column(), says
    return rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeElapsedColumn(), says


def _time_left_column() -> Any:
    """Return a column that asks for the time left whenever it is drawn."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        def render(self, task: Task) -> Text:
            left = task.fields["left"]
            if left is None or task.finished:
                return Text("")
            minutes, seconds = divmod(round(left()), 60)
            hours, minutes = divmod(minutes, 60)
            return Text(f"{hours}:{minutes:02}:{seconds:02} left", style="progress.remaining")

    return TimeLeft()


class _Line:
    """One line of text that is rewritten in place, for notebooks without widgets."""

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
    """Return the console to draw on, or None if there is no terminal or notebook."""
    if not sys.stderr.isatty() and "IPython" not in sys.modules:
        return None  # and rich need not be loaded
    from rich.console import Console

    console = Console(stderr=True)
    return console if console.is_jupyter or (console.is_terminal and not console.is_dumb_terminal) else None
