"""The house as a whole: pages say what is true, no machine leaves its marks."""

import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reference.pages import DOCS, FENCE, ROOT, blocks, name_of, train_quickly

PAGES = sorted([*ROOT.glob("*.md"), *DOCS], key=name_of)

# What the code on a page takes for granted.
GIVEN = {
    "docs/gdl.md": """
from gdlnn import Feature, Program, Schema
text = "node x <[3.0, 4.0]> node y <[2.0, 2.0]> node z <[1.0, 1.0]> edge (x, y) edge (y, z)"
p = program = Program.parse(text)
p = Program.parse("node x <[1, 2]> node y <[1, 2]> edge (x, y) <[0, 1]>")
schema = Schema((Feature("atom", "nominal", {1: "C", 2: "N", 3: "O"}),))
""",
}


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name_of)
def test_the_python_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The blocks of a page run one after another; those of ```python norun do not."""
    code = blocks(page, "python")
    train_quickly(monkeypatch)
    if any(re.search(r"^[^#]*load_dataset\(", line) for block in code for line in block.splitlines()):
        request.getfixturevalue("data_dir")
    for word, module in (("networkx", "networkx"), ("pandas", "pandas"), ("_pyg", "torch_geometric")):
        if any(word in block for block in code):
            pytest.importorskip(module)  # the last one warns when it is first imported
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").mkdir()
    for table in ("molecules.csv", "assays.csv"):
        shutil.copy(ROOT / "examples" / table, tmp_path / "examples")
    names: dict[str, Any] = {"__name__": "__page__"}
    exec(GIVEN.get(name_of(page), ""), names)
    for block in code:
        try:
            exec(compile(block, name_of(page), "exec"), names)
        except Exception as error:
            raise AssertionError(f"{name_of(page)}: {error!r} in\n{block}") from error


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    # A SMILES may look like a link.
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name_of(page)}: {target}"


SOURCES = ("src", "core", "tests", "benchmarks", "docs", "examples", ".ci")
OF_ONE_MACHINE = re.compile(
    r"(?<![\w.$}])/(?:root|home|work|Users)/\w|/opt/(?:pypi|wheels)|--(?:extra-)?index-url(?! https://download\.pytorch\.org)|--find-links"
)


def text_files() -> Iterator[Path]:
    # In a worktree, .git is a file that says where the repository is; it is not kept.
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.name != ".git")
    for folder in SOURCES:
        yield from (path for path in (ROOT / folder).rglob("*") if path.is_file())


def test_nothing_of_one_machine_is_kept() -> None:
    found = []
    for path in text_files():
        if path == Path(__file__) or path.suffix in {".so", ".pyc", ".png"}:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {hit.group()}" for hit in OF_ONE_MACHINE.finditer(text)]
    assert found == []


def test_what_is_depended_on_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    wanted += [item for extra in project["project"]["optional-dependencies"].values() for item in extra]

    def plain(requirement: str) -> str:
        return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement)[0]).lower()

    pinned = {
        plain(line)
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line and not line.startswith("#")
    }
    assert {plain(item) for item in wanted} - {"gdlnn"} <= pinned
