"""The server's page in a browser: a SMILES, examples, a table of 200 rows, messages; a clean console.

Needs playwright and Chromium: `make test-browser` installs both where it can. Skipped without them.
"""

from __future__ import annotations

import csv
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import pytest

from gdlnn import load_model
from reference.chromium import started_browser
from reference.live_server import live_server
from reference.server_models import MOLECULES, molecules_file, motifs_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gdlnn import GraphDataset
    from reference.live_server import LiveServer

for module in ("fastapi", "uvicorn", "rdkit"):
    pytest.importorskip(module)
# A refused request is a line on the console that no page can keep from it; every other line is a fault.
REFUSED = "Failed to load resource: the server responded with a status of 422"


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, GraphDataset]:
    return molecules_file(tmp_path_factory.mktemp("molecules"))


@pytest.fixture(scope="module")
def server(molecules: tuple[Path, GraphDataset]) -> Iterator[LiveServer]:
    with live_server(molecules[0], "--workers", "1", "--max-nodes", "60") as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as started:
        yield started


def opened(browser: Any, url: str, problems: list[str], width: int = 1280, scheme: str = "light") -> Any:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(30_000)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
    page.on(
        "request",
        lambda asked: None if asked.url.startswith((url, "data:", "blob:")) else problems.append(asked.url),
    )
    page.goto(url)
    page.wait_for_selector("body[data-ready]")
    return page


@pytest.fixture
def page(browser: Any, server: LiveServer) -> Iterator[Any]:
    problems: list[str] = []
    made = opened(browser, server.url, problems)
    yield made
    made.close()
    assert [line for line in problems if not line.startswith(REFUSED)] == []


def ask(page: Any, text: str) -> None:
    page.get_by_label("SMILES, one to a line").fill(text)
    page.get_by_role("button", name="Predict and explain").click()


def test_a_smiles_gives_a_prediction_and_a_drawing(page: Any, molecules: tuple[Path, GraphDataset]) -> None:
    path, data = molecules
    assert data.smiles is not None
    model = load_model(path)
    expected = model.explain(data.graphs[1], "lime_present", 4)
    ask(page, data.smiles[1])
    card = page.locator("#answer .answer")
    card.wait_for()
    assert card.locator("h2").inner_text().startswith(str(expected.prediction))
    assert f"{100 * expected.probability:.1f} %" in card.locator("h2").inner_text()
    assert card.locator("svg.molecule .edge").count() >= data.graphs[1].n_edges
    assert card.locator(".chips button").count() == len(expected.programs)
    words = card.locator(".chips .words").first.inner_text()
    present = expected.programs[0].describe(expected.schema).removeprefix("Molecules that contain ")
    assert words.removeprefix("absent: ") == present
    chip = card.locator(".chips button").first
    chip.hover()
    lit = card.locator("svg.dim .halo.dot.lit").evaluate_all("all => all.map(e => +e.dataset.node)")
    assert set(lit) == set((expected.witnesses[0] or {}).values())
    assert len(lit) > 0


def test_what_would_change_it(page: Any) -> None:
    ask(page, "Nc1ccccc1")
    alone = page.locator("#answer details.enough")
    alone.get_by_text("What alone is enough?").click()
    assert "the model says the same" in alone.locator("p").inner_text()
    page.locator("#answer svg .kept").first.wait_for(state="visible")
    details = page.locator("#answer details:not(.enough)").first
    details.get_by_text("What would change it?").click()
    assert details.locator("p").is_visible()
    page.get_by_text("The programs in full").click()
    assert page.locator("#answer .deciders .diagram svg").first.is_visible()


def test_a_bad_smiles_is_answered_with_a_readable_message(page: Any) -> None:
    ask(page, "C(C")
    alert = page.locator("#message")
    alert.wait_for()
    assert alert.inner_text() == "C(C: not a SMILES"
    assert page.locator("#submit").is_enabled()
    ask(page, "CCO")
    page.locator("#answer .answer").wait_for()
    assert alert.is_hidden()


def test_nothing_learnt_is_a_warning(page: Any) -> None:
    ask(page, "[Xe]")
    page.locator("#answer .warning").wait_for()
    assert "Nothing that was learnt is in this graph" in page.locator("#answer .warning").inner_text()


def test_an_example_is_asked_at_once(page: Any) -> None:
    page.get_by_label("Example").select_option(label="aniline")
    page.locator("#answer .answer").wait_for()
    assert page.get_by_label("SMILES, one to a line").input_value() == "Nc1ccccc1"


def test_a_table_of_200_rows_is_shown_and_downloaded(
    page: Any, tmp_path: Path, molecules: tuple[Path, GraphDataset]
) -> None:
    with MOLECULES.open(encoding="utf-8", newline="") as file:
        rows = list(islice(cycle(list(csv.DictReader(file))), 200))
    rows[7] = rows[7] | {"smiles": "oh, no"}
    table = tmp_path / "new.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    page.locator("#file").set_input_files(table)
    page.locator("#batch table").wait_for()
    shown = page.locator("#batch tbody tr")
    assert shown.count() == 200
    assert page.locator("#batch h2").inner_text() == "200 predictions"
    assert shown.nth(7).locator("td").last.inner_text() == "not a SMILES"
    with page.expect_download() as started:
        page.get_by_role("button", name="Download csv").click()
    saved = tmp_path / "predictions.csv"
    started.value.save_as(saved)
    check_same_as_the_command(saved, table, molecules[0])
    check_sorting(page)
    shown.nth(0).locator(".why").click()
    page.locator("#answer .answer").wait_for()


def check_same_as_the_command(saved: Path, table: Path, model: Path) -> None:
    """Check that the page saves what `gdlnn predict` writes."""
    from gdlnn.cli import main

    written = table.with_name("written.csv")
    with pytest.raises(SystemExit) as ended:
        main(["predict", str(model), str(table), "--id", "id", "-o", str(written), "-q"])
    assert not ended.value.code
    with (
        saved.open(encoding="utf-8", newline="") as ours,
        written.open(encoding="utf-8", newline="") as other,
    ):
        for got, expected in zip(csv.DictReader(ours), csv.DictReader(other), strict=True):
            assert list(got) == list(expected)
            for column, value in expected.items():
                if column.startswith("p") and value:
                    assert float(got[column]) == pytest.approx(float(value), abs=1e-6)
                elif column != "id" or value:  # the command forgets the names of rows that do not parse
                    assert got[column] == value


def check_sorting(page: Any) -> None:
    button = page.locator("#batch th").get_by_role("button", name="Probability")
    for direction in ("descending", "ascending"):
        button.click()
        head = page.locator("#batch th[aria-sort]")
        assert head.get_attribute("aria-sort") == direction
        texts = page.locator("#batch td[data-name='Probability']").all_inner_texts()
        values = [float(text.rstrip(" %")) if text != "–" else -1.0 for text in texts]
        assert values == sorted(values, reverse=direction == "descending")
    page.locator("#batch th").get_by_role("button", name="Row").click()


def test_several_smiles_make_a_table(page: Any) -> None:
    ask(page, "CCO\nNc1ccccc1\n\nC(C\n")
    page.locator("#batch table").wait_for()
    assert page.locator("#batch tbody tr").count() == 3


def test_a_file_that_is_dropped(page: Any) -> None:
    text = MOLECULES.read_text(encoding="utf-8")
    drop = """([name, text]) => {
        const files = new DataTransfer();
        files.items.add(new File([text], name));
        const dropped = new DragEvent("drop", {dataTransfer: files, cancelable: true});
        document.getElementById("drop").dispatchEvent(dropped);
    }"""
    page.evaluate(drop, ["molecules.csv", text])
    page.locator("#batch table").wait_for()
    assert page.locator("#batch tbody tr").count() == text.count("\n") - 1
    page.evaluate(drop, ["model.pkl", "x"])
    page.locator("#message").wait_for()
    assert page.locator("#message").inner_text().startswith("model.pkl: expected csv")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_runs_out_of_the_page(browser: Any, server: LiveServer, width: int, scheme: str) -> None:
    problems: list[str] = []
    page = opened(browser, server.url, problems, width, scheme)
    ask(page, "CC(=O)Oc1ccccc1C(=O)O")
    page.locator("#answer .answer").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_text("The programs in full").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#file").set_input_files(MOLECULES)
    page.locator("#batch table").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(f"{server.url}/api")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
    assert problems == []


def test_everything_can_be_named(page: Any) -> None:
    ask(page, "CCO")
    page.locator("#answer .answer").wait_for()
    unnamed = page.evaluate("""() => [
        ...[...document.querySelectorAll("button")].filter(b => !b.textContent.trim() && !b.ariaLabel),
        ...[...document.querySelectorAll("input, select, textarea")].filter(f => !f.labels.length),
        ...[...document.querySelectorAll("svg")].filter(s => !s.querySelector("title")?.textContent),
    ].map(e => e.outerHTML.slice(0, 80))""")
    assert unnamed == []


def test_a_model_of_graphs(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("motifs")
    path, test = motifs_file(folder)
    from gdlnn.datasets.jsonl import save_jsonl

    save_jsonl(test, folder / "test.jsonl")
    problems: list[str] = []
    with live_server(path, "--workers", "1") as server:
        page = opened(browser, server.url, problems)
        assert page.locator("#expects").inner_text().startswith("Graphs, undirected, as JSON")
        page.get_by_label("Example").select_option(index=1)
        page.locator("#answer svg.plain .node").first.wait_for()
        page.locator("#file").set_input_files(folder / "test.jsonl")
        page.locator("#batch table").wait_for()
        assert page.locator("#batch tbody tr").count() == len(test)
        page.locator("#batch .why").first.click()
        page.locator("#answer .answer").wait_for()
        assert f"{test.graphs[0].n_nodes} nodes" in page.locator("#answer .asked").inner_text()
        page.get_by_label("A graph as JSON").fill("{no graph")
        page.get_by_role("button", name="Predict and explain").click()
        assert page.locator("#message").inner_text().startswith("Expected a graph as JSON")
        page.close()
    assert problems == []
