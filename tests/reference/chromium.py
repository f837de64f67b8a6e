"""A browser for tests of pages; without playwright or Chromium the tests that import this are skipped."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no Chromium: `make test-browser` says how to get it", allow_module_level=True)

AXE = Path(__file__).parents[2] / "build" / "axe" / "axe.min.js"
"""axe-core, which `make test-browser` fetches where npm is."""
FLAGS = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync
"""


@contextmanager
def started_browser() -> Iterator[Any]:
    """Start Chromium, and end it."""
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield started
        started.close()


def faults(page: Any) -> list[str]:
    """Return what axe-core finds wrong with a page, WCAG AA included; skip the test without axe-core."""
    if not AXE.is_file():
        pytest.skip("no axe-core: `make test-browser` fetches it where npm is")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
    found = page.evaluate("tags => axe.run(document, {runOnly: tags})", tags)
    return [
        f"{item['id']} ({item['impact']}): {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for item in found["violations"]
        if item["impact"] in ("serious", "critical")
        for node in item["nodes"]
    ]
