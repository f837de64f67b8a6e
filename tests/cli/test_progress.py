"""Progress bars: what each style shows, lines for stages, and that nothing is shown where nobody watches."""

import io
import re

import pytest
from rich.console import Console

from gdlnn import GDLNNClassifier, Mined, MLPHead, Neighborhoods, make_ba_2motifs, progress
from gdlnn.progress import progress_bar, stage, stage_done, stages

QUICK = MLPHead(epochs=5, hidden=(8,))


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Let bars be drawn, on a terminal of one's own."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=120, _environ={"TERM": "xterm"})
    monkeypatch.setattr(progress, "_console", lambda: console)
    return text


def last_lines(screen: io.StringIO) -> list[list[str]]:
    """Return the words of the lines drawn last, without the bars."""
    drawn = screen.getvalue().rpartition("\x1b[2K")[2]
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[━╸╺]", "", drawn)
    return [line.split() for line in plain.splitlines() if line.strip()]


def test_nothing_is_shown_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    with progress_bar("work", 3) as update, stages(), stage("one"):
        update(advance=1, text="one")
        stage_done(1, 2)
    assert capfd.readouterr() == ("", "")


def test_stages_remain_and_what_is_inside_them_goes(screen: io.StringIO) -> None:
    with stages():
        with stage("first"):
            stage_done(3, 7)
            with stage("inside"), progress_bar("steps", 4) as update:
                stage_done(1, 2)  # of the innermost stage
                update(advance=2)
        with stage("second"):
            pass
    stage_done(1, 1)  # no stage is left to move
    lines = last_lines(screen)
    assert [line[0] for line in lines] == ["first", "second"]
    assert [line[1] for line in lines] == ["3/7", "1/1"]
    assert all(re.fullmatch(r"0:00:0\d", line[2]) for line in lines)


def test_training_shows_its_stages(screen: io.StringIO) -> None:
    motifs = make_ba_2motifs(40, random_state=5)
    vocabulary = (Neighborhoods(), Mined(0.1))
    GDLNNClassifier(vocabulary, QUICK, verbose=False).fit(motifs)
    assert screen.getvalue() == ""
    GDLNNClassifier(vocabulary, QUICK).fit(motifs)
    expected = ["finding", "mining,", "training", "recording"]
    lines = last_lines(screen)
    assert [line[0] for line in lines] == expected
    assert "5/5" in lines[2]  # epochs
