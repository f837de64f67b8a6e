"""The report in a browser: what a reader sees, in both themes, wide, narrow and printed; no console message.

Needs playwright and Chromium: `make test-browser` installs both where it can. Skipped without them.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdlnn import GraphDataset, Program
from gdlnn.explain.explanation import Contributions, Explanation, Method, Reason
from gdlnn.explain.pictures import explanation_page
from gdlnn.graphs.molecules import MOLECULE_SCHEMA, molecule_graph
from gdlnn.report import ReportOptions, build_report, render_report
from reference.chromium import faults
from reference.report_models import HOSTILE, molecules, motifs


def written(folder: Path, name: str, page: str) -> Path:
    path = folder / name
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    model, test = motifs()
    assert test.y is not None
    # A label on its head, so that there is a wrong prediction to look for.
    y = np.array(test.y)
    y[0] = 1 - y[0]
    turned = GraphDataset(test.graphs, y, schema=test.schema, name="motifs")
    return build_report(model, turned, ReportOptions(max_counterfactuals=4))


@pytest.fixture(scope="module")
def molecule_report() -> dict[str, Any]:
    pytest.importorskip("rdkit.Chem")
    model, test = molecules()
    return build_report(model, test, ReportOptions(max_counterfactuals=2), title=HOSTILE[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def page_file(report: dict[str, Any], folder: Path) -> Path:
    return written(folder, "report.html", render_report(report))


@pytest.fixture(scope="module")
def molecule_file(molecule_report: dict[str, Any], folder: Path) -> Path:
    return written(folder, "molecules.html", render_report(molecule_report))


@pytest.fixture(scope="module")
def nitro_file(folder: Path) -> Path:
    """Return the page of an explanation that a nitro group gives."""
    chem = pytest.importorskip("rdkit.Chem")
    graph = molecule_graph(chem.MolFromSmiles("Cc1ccc(cc1)[N+](=O)[O-]"), name=HOSTILE[0])
    program = Program.parse(
        "node n <atom = N, charge = 1> node o <atom = O, charge = -1> node p <atom = O> "
        "edge (n, o) <bond = single> edge (n, p) <bond = double>",
        MOLECULE_SCHEMA,
    )
    witness = program.find(graph)
    assert witness is not None
    terms = (Reason(program, 0.27, (tuple(witness[name] for name in program.variables),), -1, "yes"),)
    scores = (0.0,) * 7 + (0.12, 0.09, 0.06)
    added = Contributions(0.12, 0.2, 0.27, (), 0.004, scores)
    nodes, method = tuple(sorted(witness.values())), Method("contribution")
    e = Explanation(graph, "yes", 0.394, "yes", 0.394, terms, nodes, method, added, threshold=0.31)
    return written(folder, "nitro.html", explanation_page([e]))


class Opened:
    """Opens pages, and collects everything that they complain about or ask for."""

    def __init__(self, browser: Any) -> None:
        self.browser, self.problems = browser, list[str]()
        self.pages: list[Any] = []

    def __call__(self, path: Path, width: int = 1280, scheme: str = "light") -> Any:
        page = self.browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda message: self.problems.append(message.text))
        page.on(
            "request",
            lambda asked: (
                None if asked.url.startswith(("file:", "data:", "blob:")) else self.problems.append(asked.url)
            ),
        )
        page.goto(path.as_uri())
        self.pages.append(page)
        return page


@pytest.fixture
def opened(browser: Any) -> Iterator[Opened]:
    opener = Opened(browser)
    yield opener
    for page in opener.pages:
        page.close()
    assert opener.problems == []


def shown(page: Any, what: str) -> int:
    return int(page.locator(f"#{what}-count").inner_text().split()[0])


def test_a_named_group_is_named_and_lit(opened: Opened, nitro_file: Path) -> None:
    page = opened(nitro_file)
    assert "nitro group, +27" in page.locator("svg .tag").all_text_contents()
    line = page.locator("svg .o.p1")
    assert line.get_attribute("data-nodes") == "7 8 9"
    before = line.evaluate("e => getComputedStyle(e).fill")
    assert before == "none"
    page.locator(".terms .p1").hover()
    assert line.evaluate("e => getComputedStyle(e).fill") != "none"
    page.mouse.move(0, 0)
    assert line.evaluate("e => getComputedStyle(e).fill") == "none"
    page.locator(".terms .p1").focus()  # the same without a mouse
    assert line.evaluate("e => getComputedStyle(e).fill") != "none"


def test_hostile_names_are_shown_as_they_are(opened: Opened, molecule_file: Path, nitro_file: Path) -> None:
    page = opened(molecule_file)
    assert page.locator("h1").inner_text() == HOSTILE[1]
    for name in HOSTILE:
        page.locator("#graph-search").fill(name)
        assert page.locator("#gallery h3").first.inner_text() == name
    assert "GDLNN report" in page.title()
    assert HOSTILE[0] in opened(nitro_file).locator("h2").inner_text()


def test_a_pattern_leads_to_its_graphs(opened: Opened, page_file: Path, report: dict[str, Any]) -> None:
    page = opened(page_file)
    training = page.locator(".pattern .figures dd").nth(2).inner_text()
    assert re.fullmatch(r"(cycle|house): \d+ of \d+, others: \d+ of \d+", training)
    for pattern in report["patterns"][:8]:
        n = sum(
            any(one["index"] in pattern["programs"] for place in g["programs"] for one in place["behind"])
            for g in report["graphs"]
        )
        page.locator(f".pattern[data-index='{pattern['programs'][0]}']").get_by_role(
            "button", name="Show"
        ).click()
        assert shown(page, "graph") == n
    page.locator("#graph-pattern").click()
    assert shown(page, "graph") == len(report["graphs"])


def test_pointing_at_a_program_lights_it_and_a_click_keeps_it(
    opened: Opened, page_file: Path, report: dict[str, Any]
) -> None:
    page = opened(page_file)
    graph = next(g for g in report["graphs"] if len(g["programs"]) > 1 and g["row"] < 12)
    card = page.locator(f".graph[data-row='{graph['row']}']")
    number = graph["programs"][1]["number"]
    line, chip = card.locator(f"svg .o.p{number}"), card.locator(f".chips .p{number} button")
    assert set(map(int, line.get_attribute("data-nodes").split())) == set(graph["programs"][1]["witness"])

    def lit() -> bool:
        return bool(line.evaluate("e => getComputedStyle(e).fill") != "none")

    assert not lit()
    chip.hover()
    assert lit()
    page.mouse.move(0, 0)
    assert not lit()
    chip.focus()
    assert lit()
    page.keyboard.press("Enter")
    assert chip.get_attribute("aria-pressed") == "true"
    chip.evaluate("button => button.blur()")
    assert lit()


def test_groups_filters_and_pages_of_the_gallery(
    opened: Opened, page_file: Path, report: dict[str, Any]
) -> None:
    page, graphs = opened(page_file), report["graphs"]
    assert shown(page, "graph") == len(graphs)
    for group in ("right", "wrong", "unsure", "outside"):
        page.locator(f"#graph-groups [data-group='{group}']").click()
        assert shown(page, "graph") == sum(g["group"] == group for g in graphs)
        assert page.locator("#graph-groups [aria-pressed=true]").count() == 1
    page.locator("#graph-groups [data-group='']").click()
    page.locator("#graph-class").select_option(label="house")
    assert shown(page, "graph") == sum(g["truth"] == 1 for g in graphs)
    page.locator("#graph-class").select_option(label="every class")
    assert page.locator("#gallery .graph").count() == min(12, len(graphs))
    page.locator("#graph-pager").get_by_text("Later").click()
    assert page.locator("#gallery .graph").count() == len(graphs) - 12
    assert page.locator("#graph-pager").get_by_text("Later").is_disabled()


def test_what_is_enough_and_what_would_change_it_unfold(
    opened: Opened, page_file: Path, report: dict[str, Any]
) -> None:
    page = opened(page_file)
    for kind, mark, found in (
        ("enough", "kept", [g for g in report["graphs"][:12] if g["enough"]["found"]]),
        (
            "change",
            "gone",
            [g for g in report["graphs"][:12] if (g["counterfactual"] or {"found": 0})["found"]],
        ),
    ):
        for graph in found[:1]:
            card = page.locator(f".graph[data-row='{graph['row']}']")
            marks = card.locator(f"svg .{mark}")
            assert not marks.is_visible()
            card.locator(f"details.{kind} summary").click()
            marks.wait_for(state="visible")  # the page hears of it a moment later
            nodes = graph["enough"]["nodes"] if kind == "enough" else graph["counterfactual"]["nodes"]
            assert marks.get_attribute("data-nodes") == " ".join(map(str, nodes))
            assert (
                ", ".join(str(node + 1) for node in nodes) in card.locator(f"details.{kind} p").inner_text()
            )
            card.locator(f"details.{kind} summary").click()
            marks.wait_for(state="hidden")


@pytest.mark.parametrize("which", ["molecule_file", "page_file", "nitro_file"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_meet_wcag_aa(
    opened: Opened, which: str, scheme: str, request: pytest.FixtureRequest
) -> None:
    page = opened(request.getfixturevalue(which), 1280, scheme)
    light = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number)[0] > 128"
    )
    assert light == (scheme == "light")
    assert faults(page) == []
