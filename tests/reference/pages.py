"""The pages of the docs and the code on them."""

import re
from pathlib import Path

import pytest

from gdlnn.model import classifier
from gdlnn.model.mixture import MixtureHead

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def name_of(page: Path) -> str:
    """Return the path of a page in the repository."""
    return page.relative_to(ROOT).as_posix()


def kinds_and_blocks(page: Path) -> list[tuple[str, str]]:
    """Return what follows the fence of each block of a page, and the block."""
    return [(kind.strip(), body) for kind, body in FENCE.findall(page.read_text(encoding="utf-8"))]


def blocks(page: Path, *kinds: str) -> list[str]:
    """Return the blocks of some kinds on a page."""
    return [body for kind, body in kinds_and_blocks(page) if kind in kinds]


def train_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train a small head without calibration: nobody asks here how well the models predict."""
    monkeypatch.setitem(classifier._HEADS, "auto", lambda: MixtureHead(40))
