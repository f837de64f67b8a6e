"""Make the pictures of the report in docs/pictures.

::

    gdlnn train BBBP -o model.gdlnn
    python tools/pictures.py model.gdlnn BBBP

writes the report of the model on its test set into build/pictures, unless it is there, and takes pictures of
it on wide and narrow screens, light and dark. Needs playwright and Chromium, see `make test-browser`.
"""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from gdlnn.cli import main

ROOT = Path(__file__).resolve().parent.parent
PICTURES, BUILD = ROOT / "docs" / "pictures", ROOT / "build" / "pictures"
SCROLL = "e => e.scrollIntoView({behavior: 'instant'})"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu")


def take(browser: Any, report: Path) -> None:
    """Take all pictures of a report."""

    def opened(width: int, height: int, scheme: str) -> Any:
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.goto(report.as_uri())
        return page

    def save(page: Any, name: str) -> None:
        page.wait_for_timeout(300)
        page.screenshot(path=PICTURES / f"{name}.png")
        page.close()

    save(opened(1280, 900, "light"), "report-1280-light")
    page = opened(1280, 900, "dark")
    page.locator("#patterns .tools").evaluate(SCROLL)
    save(page, "report-1280-dark")
    page = opened(390, 844, "light")
    page.locator("#gallery .graph").nth(1).evaluate(SCROLL)
    save(page, "report-390-light")
    page = opened(390, 844, "dark")
    page.locator("#pattern-list .pattern").nth(3).evaluate(SCROLL)
    save(page, "report-390-dark")
    page = opened(1280, 820, "light")
    page.locator("#graph-groups [data-group='right']").click()
    page.locator("#graph-search").fill("sp2 C bonded to OH")
    page.locator("#graph-groups").evaluate(SCROLL)
    page.locator("#gallery .graph").nth(1).locator(".chips button").nth(1).hover()
    save(page, "report")


def make(model: str, dataset: str) -> None:
    """Write the report, and take pictures of it."""
    from playwright.sync_api import sync_playwright

    report = BUILD / "report.html"
    if not report.is_file():
        BUILD.mkdir(parents=True, exist_ok=True)
        with suppress(SystemExit):  # the command line ends with one
            main(["report", model, dataset, "-o", str(report)])
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        take(browser, report)
        browser.close()


if __name__ == "__main__":
    make(*sys.argv[1:])
