"""The command line as a whole: the demo, the version, and what an error looks like."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import gdlnn
from gdlnn.cli import app, main
from gdlnn.errors import GDLNNError


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-c", "from gdlnn.cli import main; main()", *arguments]
    environment = {**os.environ, "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        call, capture_output=True, text=True, check=False, env=environment, encoding="utf-8"
    )


def test_demo_shows_programs_words_and_representations() -> None:
    done = run("demo", "figure-1")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "node x <[3.0, 4.0]>" in text
    assert "a node with value 3 to 4 followed by a node with value 2 followed by a node with value 1." in text
    rows = [line for line in done.stdout.splitlines() if "⟨" in line]
    assert [line.split("⟨")[1].split("⟩")[0] for line in rows] == [
        "1.0, 0.0",
        "0.0, 1.0",
        "1.0, 0.0",
        "0.0, 1.0",
    ]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"gdlnn {gdlnn.__version__}\n"


@pytest.fixture
def failing() -> object:
    """Add commands that fail, and take them away again."""
    before = list(app.registered_commands)

    @app.command("fail")
    def fail(kind: str) -> None:
        raise {"ours": GDLNNError, "os": FileNotFoundError, "bug": RuntimeError}[kind]("what and where")

    yield
    app.registered_commands[:] = before


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("kind", ["ours", "os"])
def test_bad_input_is_one_line_and_exit_code_2(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fail", kind])
    assert ended.value.code == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "error: what and where\n")


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("words", [["--debug", "fail", "ours"], ["fail", "ours", "--debug"]])
def test_debug_shows_the_traceback(words: list[str]) -> None:
    with pytest.raises(GDLNNError, match="what and where"):
        main(words)
    with pytest.raises(SystemExit):  # it holds for one command line
        main(["fail", "ours"])


@pytest.mark.parametrize("words", [["-v", "datasets", "info"], ["datasets", "info", "--verbose"]])
def test_verbose_tells_on_standard_error_what_is_done(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for given, told in ((words, True), ([word for word in words if "v" not in word], False)):
        with pytest.raises(SystemExit) as ended:
            main([*given, "synthetic:ba-2motifs", "--json"])
        assert ended.value.code == 0
        shown = capsys.readouterr()
        assert (f"gdlnn {gdlnn.__version__}, Python" in shown.err) == told
        assert shown.out.startswith("{")


@pytest.mark.usefixtures("failing")
def test_a_fault_of_the_program_is_not_hidden() -> None:
    with pytest.raises(RuntimeError, match="what and where"):
        main(["fail", "bug"])
