"""Progress bars: what each style shows, and that nothing is shown where nobody watches."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gdlnn import progress
from gdlnn.progress import Style, is_watched, progress_bar


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        ("steps", ["work", "3/4", "so far"]),
        ("bytes", ["work", "3/4 bytes"]),
        ("rows", ["work: so far", "0:00:0"]),
        ("tasks", ["3/4", "0:00:0", "so far"]),
    ],
)
def test_styles(style: Style, shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, _environ={"TERM": "xterm"})
    monkeypatch.setattr(progress, "_console", lambda: console)
    with progress_bar("work", 9, style=style, completed=1) as update:
        update(total=4, says="so far")
        update(advance=2)
    drawn = screen.getvalue()
    for text in shown:
        assert text in drawn
    with progress_bar("work", wanted=False) as update:
        update(advance=1)
    assert screen.getvalue() == drawn


def test_nothing_is_shown_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    assert not is_watched()
    with progress_bar("work", 3) as update:
        update(advance=1, says="one")
    assert capfd.readouterr() == ("", "")


def test_a_line_in_a_notebook_says_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []

    class Handle:
        def update(self, content: dict[str, str], raw: bool) -> None:
            lines.append(content["text/plain"])

    now = iter([0.0, 0.0, 1.0, 1.0, 1.1, 2.0])
    monkeypatch.setattr("gdlnn.progress.time.monotonic", lambda: next(now))
    line = progress._Line("work", 4, 0, "steps", Handle())
    line(advance=1)  # a second later
    line(advance=1, says="more steps")  # too soon to be shown
    line(completed=4)
    assert lines == ["work: 0/4 steps", "work: 1/4 steps, 3 s left", "work: 4/4 more steps"]
