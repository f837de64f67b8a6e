"""The docs: every block is of a known kind and runs, tables are those of the studies, the site builds."""

import contextlib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import results_page
from gdlnn.cli import main
from reference.live_server import LiveServer, live_server
from reference.pages import DOCS, README, ROOT, blocks, kinds_and_blocks, name_of

RUN = {"python", "console", "gdl", "json"}
NOT_RUN = {"python norun", "console norun"}
NO_CODE = {"text", "{toctree}", "{eval-rst}", "{commands}"}
SERVED = "http://127.0.0.1:8000"


def commands(page: Path) -> list[str]:
    """Return what a page says to type; the README says it in blocks of no kind, with the installation."""
    if page == README:
        return [line for body in blocks(page, "") for line in body.splitlines() if line.startswith("gdlnn ")]
    return [line for body in blocks(page, "console") for line in body.splitlines() if line.strip()]


@pytest.mark.parametrize("page", DOCS, ids=name_of)
def test_every_block_says_what_it_is(page: Path) -> None:
    kinds = {kind for kind, _ in kinds_and_blocks(page)}
    assert kinds <= RUN | NOT_RUN | NO_CODE
    for body in blocks(page, *NO_CODE):
        assert not re.search(r"^(gdlnn|python|make|import|from) ", body, re.MULTILINE), body


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Path]:
    """What commands wrote, by command: pages begin with the same files, so each command runs once."""
    return {(): tmp_path_factory.mktemp("written")}


def copied(source: Path, target: Path) -> None:
    """Copy a file, or a folder of models."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


class Shell:
    """Runs the lines of a page in a folder, as somebody would type them."""

    def __init__(
        self, folder: Path, written: dict[tuple[str, ...], Path], stack: contextlib.ExitStack
    ) -> None:
        self.folder, self.written, self.stack = folder, written, stack
        self.server: LiveServer | None = None

    def run(self, line: str) -> None:
        words = shlex.split(line, comments=True)
        if words[:2] == ["gdlnn", "serve"]:
            self.serve(words[2:])
        elif words[0] == "gdlnn" and "-o" in words:
            self.write(tuple(words[1:]))
        elif words[0] == "gdlnn":
            self.command(words[1:])
        else:
            self.other(words)

    def write(self, words: tuple[str, ...]) -> None:
        target = self.folder / words[words.index("-o") + 1]
        if words not in self.written:
            self.command([*words])
            self.written[words] = self.written[()] / f"{len(self.written)}-{target.name}"
            copied(target, self.written[words])
        copied(self.written[words], target)

    def serve(self, words: list[str]) -> None:
        self.server = self.stack.enter_context(
            live_server(self.folder / words[0], *words[1:], "--workers", "1")
        )

    def command(self, words: list[str]) -> None:
        if words[0] == "train" and "--head" not in words:
            words = [*words, "--head", "linear"]  # quick, and other processes can load its models
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code in (0, None), f"gdlnn {' '.join(words)}"

    def other(self, words: list[str]) -> None:
        if words[0] == "curl":
            assert self.server is not None, "a request before `gdlnn serve`"
            if not shutil.which("curl"):
                return
            words = [word.replace(SERVED, self.server.url) for word in words] + ["--fail"]
        subprocess.run(words, cwd=self.folder, check=True, capture_output=True)


@pytest.mark.parametrize("page", [page for page in [README, *DOCS] if commands(page)], ids=name_of)
def test_the_commands_of_a_page_run(
    page: Path,
    written: dict[tuple[str, ...], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "assays.csv", tmp_path / "examples")
    for copy in ("examples/molecules.csv", "molecules.csv", "new.csv"):
        shutil.copy(ROOT / "examples" / "molecules.csv", tmp_path / copy)
    lines = commands(page)
    with contextlib.ExitStack() as stack:
        shell = Shell(tmp_path, written, stack)
        shell.run("gdlnn train molecules.csv --label active -o model.gdlnn")
        for line in lines:
            try:
                shell.run(line)
            except (AssertionError, subprocess.CalledProcessError, pytest.fail.Exception) as error:
                printed = capsys.readouterr().err
                raise AssertionError(f"{name_of(page)}: {line}: {error}\n{printed}") from error
        if shell.server is not None:
            assert shell.server.stop() == 0
    for line in lines:
        words = shlex.split(line, comments=True)
        if "-o" in words:
            assert (tmp_path / words[words.index("-o") + 1]).stat().st_size > 0, line


@pytest.mark.parametrize("page", results_page.PAGES, ids=name_of)
def test_tables_are_those_of_the_studies(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert results_page.MARK.search(text)
    assert results_page.filled(text) == text, "run python tools/results_page.py"


def test_means_of_fewer_splits_are_not_the_best() -> None:
    rows = [["GIN (6)", "**84.0 ± 1.0**"], ["GIN (6, version 0.2)", "99.0 ± 1.0 (5)"]]
    assert results_page.means_of(rows, smallest=False) == [[rows[0][0], "**84.0**"], [rows[1][0], "99.0 (5)"]]


@pytest.mark.long
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    for module in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(module)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going"]
    done = subprocess.run([*command, str(ROOT / "docs"), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in tmp_path.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]+src=\"([^\"]+)\"|<link[^>]+href=\"([^\"]+)\"", text)
        assert not [link for pair in loaded for link in pair if re.match(r"https?:|//", link)], page.name
    assert (tmp_path / "searchindex.js").is_file()
