"""The report in a browser: sorting, searching, hovering, filters, layout, keyboard; no errors on the console.

Needs playwright and Chromium: `make test-browser` installs both where it can. Skipped without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gdlnn import GraphDataset
from gdlnn.report import ReportOptions, build_report, render_report
from reference.chromium import started_browser
from reference.report_models import motifs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    model, test = motifs()
    assert test.y is not None
    # A label on its head, so that there is a wrong prediction to filter for.
    y = np.array(test.y)
    y[0] = 1 - y[0]
    turned = GraphDataset(test.graphs, y, schema=test.schema, name="motifs")
    return build_report(model, turned, ReportOptions(max_counterfactuals=4))


@pytest.fixture(scope="module")
def page_file(report: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_report(report), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as started:
        yield started


@pytest.fixture
def page(browser: Any, page_file: Path) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on(
        "console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None
    )
    opened.on(
        "request",
        lambda asked: (
            None if asked.url.startswith(("file:", "data:", "blob:")) else problems.append(asked.url)
        ),
    )
    opened.goto(page_file.as_uri())
    yield opened
    opened.close()
    assert problems == []


def column(page: Any, name: str) -> list[float]:
    cells = page.locator(f"#program-table tbody td[data-name='{name}']").all_inner_texts()
    return [float(text.split()[0].replace("−", "-").replace("+", "").replace(">", "999")) for text in cells]


def test_the_table_sorts_up_and_down(page: Any) -> None:
    for name in ("Weight", "Score", "Odds ratio"):
        button = page.locator("#program-table th").get_by_role("button", name=name)
        button.click()
        first = column(page, name)
        button.click()
        second = column(page, name)
        ways = {
            head.get_attribute("aria-sort") for head in page.locator("#program-table th[aria-sort]").all()
        }
        assert len(ways) == 1
        up, down = (second, first) if ways == {"ascending"} else (first, second)
        assert up == sorted(up)
        assert down == sorted(down, reverse=True)
    head = page.locator("#program-table th[data-key='odds_ratio']")
    assert head.get_attribute("aria-sort") in ("ascending", "descending")
    assert page.locator("#program-table th[aria-sort]").count() == 1


def test_the_table_is_searched_and_filtered(page: Any, report: dict[str, Any]) -> None:
    wanted = [row for row in report["programs"] if "ring" in row["words"].lower()]
    page.get_by_label("Search").fill("ring")
    assert page.locator("#program-count").inner_text().startswith(f"{len(wanted)} of")
    page.get_by_label("Search").fill("")
    page.get_by_label("Mined for").select_option(label="house")
    shown = set(page.locator("#program-table .tag").all_inner_texts())
    assert shown == {"house"}
    page.get_by_label("Search").fill("no such words")
    assert page.locator("#program-table tbody tr").count() == 0


def test_hovering_a_program_shows_where_it_stands(page: Any, report: dict[str, Any]) -> None:
    graph = next(g for g in report["graphs"] if sum(p["witness"] is not None for p in g["programs"]) > 1)
    card = page.locator(f".graph[data-row='{graph['row']}']")
    program = graph["programs"][1]
    chip = card.locator(f".chips button[data-program='{program['index']}']")
    chip.hover()
    lit = card.locator("svg.dim .halo.dot.lit")
    nodes = {int(value) for value in lit.evaluate_all("all => all.map(e => e.dataset.node)")}
    assert nodes == set(program["witness"])
    page.mouse.move(0, 0)
    assert card.locator("svg.dim").count() == 0
    chip.focus()  # the same without a mouse
    assert card.locator("svg.dim .halo.dot.lit").count() == len(program["witness"])
    page.keyboard.press("Enter")
    assert chip.get_attribute("aria-pressed") == "true"
    chip.evaluate("button => button.blur()")
    assert card.locator("svg.dim").count() == 1


def test_the_gallery_filters(page: Any, report: dict[str, Any]) -> None:
    graphs = report["graphs"]

    def shown() -> int:
        return int(page.locator("#graph-count").inner_text().split()[0])

    assert shown() == len(graphs)
    page.locator("#graph-right").select_option(label="wrong")
    assert shown() == sum(not g["right"] for g in graphs) > 0
    assert set(page.locator(".verdict").all_inner_texts()) == {"✗ wrong"}
    page.locator("#graph-right").select_option(label="right and wrong")
    page.locator("#graph-class").select_option(label="house")
    assert shown() == sum(g["truth"] == 1 for g in graphs)
    page.locator("#graph-class").select_option(label="every class")
    index = graphs[0]["programs"][0]["index"]
    page.locator("#graph-program").select_option(value=str(index))
    assert shown() == sum(any(p["index"] == index for p in g["programs"]) for g in graphs)


def test_a_program_leads_to_its_graphs(page: Any, report: dict[str, Any]) -> None:
    row = page.locator("#program-table tbody tr").first
    index = row.get_attribute("data-index")
    row.get_by_role("button", name="Show graphs").click()
    assert page.locator("#graph-program").input_value() == index
    with_it = [g for g in report["graphs"] if any(p["index"] == int(index) for p in g["programs"])]
    assert page.locator("#gallery .graph").count() == min(24, len(with_it))


def test_what_is_enough_unfolds(page: Any, report: dict[str, Any]) -> None:
    shown = {g["row"]: g["enough"] for g in report["graphs"] if g["enough"]["found"]}
    card = next(c for c in page.locator(".graph").all() if int(c.get_attribute("data-row")) in shown)
    nodes = shown[int(card.get_attribute("data-row"))]["nodes"]
    rings = card.locator("svg .kept")
    assert sorted(int(ring.get_attribute("data-node")) for ring in rings.all()) == nodes
    assert not rings.first.is_visible()
    card.get_by_text("What alone is enough?").click()
    rings.first.wait_for(state="visible")  # the page hears of it a moment later
    assert ", ".join(map(str, nodes)) in card.locator("details.enough p").inner_text()
    card.get_by_text("What alone is enough?").click()
    rings.first.wait_for(state="hidden")


def test_a_counterfactual_unfolds(page: Any) -> None:
    card = page.locator(".graph:has(details:not(.enough))").first
    crossed = card.locator("svg .gone")
    card.get_by_text("What would change it?").click()
    assert card.locator("details:not(.enough) p").is_visible()
    if crossed.count():
        crossed.first.wait_for(state="visible")
        card.get_by_text("What would change it?").click()
        crossed.first.wait_for(state="hidden")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_runs_out_of_the_page(browser: Any, page_file: Path, width: int, scheme: str) -> None:
    opened = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened.goto(page_file.as_uri())
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    ink, paper = opened.evaluate("""() => {
        const light = text => { const [r, g, b] = text.match(/[\\d.]+/g).map(Number); return r + g + b; };
        const style = getComputedStyle(document.body);
        return [light(style.color), light(style.backgroundColor)];
    }""")
    assert (ink < paper) == (scheme == "light")
    assert abs(ink - paper) > 450
    opened.close()


def test_everything_can_be_named(page: Any) -> None:
    """Every field and button has a name, every picture a title."""
    unnamed = page.evaluate("""() => [
        ...[...document.querySelectorAll("button")].filter(b => !b.textContent.trim() && !b.ariaLabel),
        ...[...document.querySelectorAll("input, select")].filter(f => !f.labels.length && !f.ariaLabel),
        ...[...document.querySelectorAll("svg")].filter(s => !s.querySelector("title")?.textContent),
    ].map(e => e.outerHTML.slice(0, 80))""")
    assert unnamed == []


def test_the_json_can_be_saved(page: Any, report: dict[str, Any], tmp_path: Path) -> None:
    import json

    with page.expect_download() as started:
        page.get_by_role("button", name="Save everything as JSON").click()
    path = tmp_path / "report.json"
    started.value.save_as(path)
    assert json.loads(path.read_text(encoding="utf-8"))["programs"][0]["gdl"] == report["programs"][0]["gdl"]
