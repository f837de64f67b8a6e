"""The progress bar of mining: in terminals and notebooks, silent elsewhere."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from gdlnn.gdl.program import Program
    from gdlnn.mining.results import TaskResult
    from gdlnn.mining.tasks import Plan

REFRESH_SECONDS = 0.5


class Progress(Protocol):
    """Something that shows how far mining has come."""

    def update(self, batch: Sequence[TaskResult]) -> None:
        """Take note of finished descents."""


class Tally:
    """What the bar says: targets done, programs found, best score, rate."""

    def __init__(self, plan: Plan, before: Iterable[TaskResult]) -> None:
        self._plan = plan
        self._open = Counter(row for rows in plan.rows for row in rows)
        self._programs: set[Program] = set()
        self.best, self.done, self.total = 0.0, 0, len(plan.targets)
        self.add(before)
        self._done_before, self._start = self.done, time.monotonic()

    def add(self, results: Iterable[TaskResult]) -> None:
        """Count finished descents; a target is done with its last one."""
        for result in results:
            self._programs.add(result.program)
            self.best = max(self.best, result.score)
            for row in self._plan.rows[result.task]:
                self._open[row] -= 1
                self.done += self._open[row] == 0

    @property
    def rate(self) -> float:
        """Targets per second in this run."""
        return (self.done - self._done_before) / max(1e-9, time.monotonic() - self._start)

    def __str__(self) -> str:
        return f"{len(self._programs)} programs, best {self.best:.4f}, {self.rate:.1f}/s"


class _Silent:
    def update(self, batch: Sequence[TaskResult]) -> None:
        """Say nothing."""


class _Bar:
    """A bar of rich."""

    def __init__(self, tally: Tally, bar: Any) -> None:
        self._tally, self._bar = tally, bar
        self._id = bar.add_task("mining", total=tally.total, completed=tally.done, says=str(tally))

    def update(self, batch: Sequence[TaskResult]) -> None:
        self._tally.add(batch)
        self._bar.update(self._id, completed=self._tally.done, says=str(self._tally))


class _Line:
    """One line of text that a notebook rewrites in place: for notebooks without widgets."""

    def __init__(self, tally: Tally, handle: Any) -> None:
        self._tally, self._handle, self._shown = tally, handle, 0.0
        self._show()

    def _show(self) -> None:
        tally = self._tally
        left = (tally.total - tally.done) / tally.rate if tally.rate > 0 else 0.0
        time_left = f", {left:.0f} s left" if left else ""
        text = f"mining: {tally.done}/{tally.total} targets, {tally}{time_left}"
        self._handle.update({"text/plain": text}, raw=True)
        self._shown = time.monotonic()

    def update(self, batch: Sequence[TaskResult]) -> None:
        self._tally.add(batch)
        if self._tally.done == self._tally.total or time.monotonic() - self._shown > REFRESH_SECONDS:
            self._show()


@contextmanager
def make_progress(wanted: bool, plan: Plan, before: Iterable[TaskResult]) -> Iterator[Progress]:
    """Show a bar where someone can see it move, for as long as the context lasts."""
    console = _console() if wanted else None
    if console is None:
        yield _Silent()
        return
    tally = Tally(plan, before)
    if console.is_jupyter and importlib.util.find_spec("ipywidgets") is None:
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        yield _Line(tally, display({"text/plain": "mining"}, raw=True, display_id=True))
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("targets, {task.fields[says]}"),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=console, transient=False) as bar:
        yield _Bar(tally, bar)


def _console() -> Console | None:
    """Return the console to draw on, or None where nobody watches."""
    if not sys.stderr.isatty() and "IPython" not in sys.modules:
        return None  # and rich need not be loaded
    from rich.console import Console

    console = Console(stderr=True)
    return console if console.is_jupyter or (console.is_terminal and not console.is_dumb_terminal) else None
