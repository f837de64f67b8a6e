"""The command line as a whole: the version, and what an error looks like."""

import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import gdlnn
from gdlnn.cli import app, main
from gdlnn.cli.app import LEAST_MEMORY, Command
from gdlnn.errors import GDLNNError


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"gdlnn {gdlnn.__version__}\n"


@pytest.fixture
def failing() -> object:
    """Add commands that fail, and take them away again."""
    before = list(app.registered_commands)

    @app.command("fail", cls=Command)
    def fail(kind: str) -> None:
        if kind == "cause":
            raise GDLNNError("cannot load torch") from ImportError("torch.so: failed to map segment")
        kinds = {"ours": GDLNNError, "os": FileNotFoundError, "bug": RuntimeError, "memory": MemoryError}
        raise kinds[kind]("what and where")

    yield
    app.registered_commands[:] = before


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize(("kind", "code"), [("ours", 2), ("os", 2), ("memory", 1), ("cause", 1)])
def test_a_failure_is_one_line_and_an_exit_code(
    kind: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fail", kind])
    assert ended.value.code == code
    reason = "what and where" if code == 2 else "out of memory; use fewer graphs, or fewer --jobs"
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"error: {reason}\n")


@pytest.mark.parametrize(("kind", "megabytes"), [("AS", 195), ("DATA", 195), ("AS", 1024)])
def test_a_limit_on_memory_is_enough_or_refused(tmp_path: Path, kind: str, megabytes: int) -> None:
    """With 195 MB of address space OpenBLAS would wait forever."""
    (tmp_path / "one.csv").write_text("smiles\nCCO\n")
    model = Path(__file__).parents[1] / "golden/bbbp-default.gdlnn"
    words = [sys.executable, "-c", "from gdlnn.cli import main; main()", "predict", str(model)]
    words += [str(tmp_path / "one.csv"), "-o", str(tmp_path / "out.csv"), "-q", "-j", "4"]
    limit = partial(resource.setrlimit, getattr(resource, f"RLIMIT_{kind}"), (megabytes << 20,) * 2)
    done = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=limit, timeout=60)
    is_enough = megabytes << 20 >= LEAST_MEMORY
    assert (done.returncode, done.stdout, (tmp_path / "out.csv").exists()) == (1 - is_enough, "", is_enough)
    assert done.stderr.startswith("" if is_enough else f"error: out of memory: the limit is {megabytes} MB")
    assert done.stderr.count("\n") == 1 - is_enough


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("words", [["-v", "fail", "ours"], ["fail", "ours", "--verbose"], ["fail", "ours"]])
def test_verbose_shows_the_traceback(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    shown = capsys.readouterr().err
    assert shown.endswith("error: what and where\n")
    assert ("Traceback" in shown) == (len(words) == 3)  # it holds for one command line


@pytest.mark.usefixtures("failing")
def test_a_fault_of_the_program_is_not_hidden() -> None:
    with pytest.raises(RuntimeError, match="what and where"):
        main(["fail", "bug"])
