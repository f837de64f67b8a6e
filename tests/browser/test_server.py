"""The server's page in a browser: one molecule, links, tables, several labels, hostile text; a clean console.

Needs playwright and Chromium: `make test-browser` installs both where it can. Skipped without them.
"""

import csv
import re
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from gdlnn import GraphDataset, load_model
from reference.chromium import faults
from reference.command_line import rows_of, run, write_table
from reference.live_server import LiveServer, live_server
from reference.server_models import MOLECULES, molecules_file

for module in ("fastapi", "uvicorn", "rdkit"):
    pytest.importorskip(module)
# A refused request is a line on the console that no page can keep from it; every other line is a fault.
SCRIPT, BOLD = "<script>alert(1)</script>", "<b>yes</b>"
IMAGE = '"><img src=x onerror=alert(2)>'
REFUSED = "Failed to load resource: the server responded with a status of 422"


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, GraphDataset]:
    return molecules_file(tmp_path_factory.mktemp("molecules"))


@pytest.fixture(scope="module")
def server(molecules: tuple[Path, GraphDataset]) -> Iterator[LiveServer]:
    with live_server(molecules[0], "--workers", "1", "--max-nodes", "60") as started:
        yield started


def opened(
    browser: Any, url: str, problems: list[str], width: int = 1280, scheme: str = "light", fragment: str = ""
) -> Any:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(30_000)
    page.on("pageerror", lambda error: problems.append(str(error)))

    def dismissed(event: Any) -> None:
        problems.append(event.message)
        event.dismiss()

    page.on("dialog", dismissed)
    page.on(
        "console", lambda event: problems.append(event.text) if event.type in ("error", "warning") else None
    )
    page.on(
        "request",
        lambda asked: None if asked.url.startswith((url, "data:", "blob:")) else problems.append(asked.url),
    )
    page.goto(url + fragment)
    page.wait_for_selector("body[data-ready]")
    return page


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """Serve a folder of two models whose labels and classes try to be more than text."""
    place = tmp_path_factory.mktemp("labels")
    smiles = [f"{'C' * n}{end}" for n in range(2, 8) for end in ("O", "N", "OC", "NC", "Cl", "F")]
    with (place / "mine.csv").open("w", newline="") as file:
        rows = [(text, BOLD if "O" in text else "no", int("N" in text)) for text in smiles]
        csv.writer(file).writerows([("smiles", SCRIPT, IMAGE), *rows])
    options = ("--label", f"{SCRIPT},{IMAGE}", "-j", 1, "-q", "--head", "linear")
    run("train", place / "mine.csv", "-o", place / "models", *options)
    with live_server(place / "models", "--workers", "1") as started:
        yield started


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


def asked(page: Any, text: str) -> Any:
    """Ask about one molecule; return the card of the answer."""
    ask(page, text)
    page.locator("#busy").wait_for(state="hidden")
    card = page.locator("#answer .answer")
    card.wait_for()
    return card


def test_a_smiles_gives_a_prediction_and_a_picture(page: Any, molecules: tuple[Path, GraphDataset]) -> None:
    path, data = molecules
    model = load_model(path)
    expected = model.explain(data.graphs[1], n_reasons=4)
    card = asked(page, f"{data.smiles[1]} the second")
    assert (
        card.locator("h2")
        .inner_text()
        .startswith(f"{expected.prediction} with {100 * expected.probability:.1f}%")
    )
    assert card.locator(".asked strong").inner_text() == "the second"
    assert card.locator(".drawn svg.molecule").count() == 1
    assert card.locator(".scale").is_visible()
    baseline = f"starts at {100 * expected.contributions.baseline:.0f}%"
    assert baseline in " ".join(card.inner_text().split())
    facts = card.locator(".facts").inner_text()
    assert "the model was trained on it" in facts
    assert "inside what was learned" in facts
    assert (
        model.decision_ is None or f"predicted from {model.decision_.threshold:.1%}"[:-1] in card.inner_text()
    )


def test_a_link_opens_the_same_explanation_and_stays_in_the_browser(browser: Any, server: LiveServer) -> None:
    problems: list[str] = []
    page = opened(browser, server.url, problems)
    first = asked(page, "C#N.O=[N+]([O-])c1ccccc1 a salt & more").inner_text()
    kept = page.url
    assert "#smiles=C%23N" in kept
    asked(page, "CCO")
    page.go_back()
    page.locator("#answer strong", has_text="a salt & more").wait_for()
    page.close()
    page = browser.new_page()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.goto(kept)
    page.locator("#answer .answer").wait_for()
    assert page.locator("#answer .answer").inner_text() == first
    assert not [url for url in sent[1:] if "smiles" in url or "#" in url]
    page.goto(f"{server.url}/#graph=%7B")
    page.reload()
    page.locator("#message").wait_for()
    assert "was it cut short?" in page.locator("#message").inner_text()
    page.close()
    assert problems == []


def test_a_table_of_200_rows_is_shown_and_downloaded(
    page: Any, tmp_path: Path, molecules: tuple[Path, GraphDataset]
) -> None:
    with MOLECULES.open(encoding="utf-8", newline="") as file:
        rows = list(islice(cycle(list(csv.DictReader(file))), 200))
    rows[7] |= {"smiles": "oh, no"}
    rows[8] |= {"smiles": "[Xe]", "id": "café"}
    table = tmp_path / "new.csv"
    with table.open("w", encoding="latin-1", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    page.locator("#file").set_input_files(table)
    page.locator("#batch table").wait_for()
    shown = page.locator("#batch tbody tr")
    assert shown.count() == 200
    assert page.locator("#batch h2").inner_text() == "200 predictions"
    assert re.match(r"no: \d+ · yes: \d+ · ", page.locator(".batch-head .quiet").inner_text())
    assert page.locator("#note").inner_text() == "new.csv is not UTF-8; it was read as Latin-1."
    assert shown.nth(7).locator("[data-key=label]").inner_text().startswith("not read\nnot a SMILES")
    saved = downloaded(page, tmp_path, "Download csv")
    check_same_as_the_command(saved, table, molecules[0])
    check_sorting(page)
    check_filters(page, tmp_path)
    shown.nth(0).locator(".why").click()
    page.locator("#answer .answer").wait_for()


def downloaded(page: Any, folder: Path, button: str) -> list[dict[str, str]]:
    with page.expect_download() as started:
        page.get_by_role("button", name=button).click()
    started.value.save_as(folder / "predictions.csv")
    return rows_of(folder / "predictions.csv")


def check_same_as_the_command(saved: list[dict[str, str]], table: Path, model: Path) -> None:
    """Check that the page saves what `gdlnn predict` writes, the columns of the table included."""
    written = table.with_name("written.csv")
    run("predict", model, table, "--encoding", "latin-1", "-o", written, "-q")
    for got, expected in zip(saved, rows_of(written), strict=True):
        assert list(got) == list(expected)
        for column, value in expected.items():
            if re.fullmatch(r"-?\d[\d.e+-]*", value):
                assert float(got[column]) == pytest.approx(float(value), rel=2e-3)
            else:
                assert got[column] == value


def check_sorting(page: Any) -> None:
    button = page.locator("#batch th").get_by_role("button", name="Probability")
    for direction in ("descending", "ascending"):
        button.click()
        head = page.locator("#batch th[aria-sort]")
        assert head.get_attribute("aria-sort") == direction
        texts = page.locator("#batch td[data-key=probability]").all_inner_texts()
        values = [float(text.rstrip(" %")) if text else -1.0 for text in texts]
        assert values == sorted(values, reverse=direction == "descending")
    page.locator("#batch th").get_by_role("button", name="Row").click()


def check_filters(page: Any, folder: Path) -> None:
    shown, filters = page.locator("#batch tbody tr"), page.locator(".filters")
    filters.get_by_label("Domain").select_option("outside")
    n_outside = shown.count()
    assert "café: explain it" in page.locator("#batch .why").all_text_contents()
    assert filters.locator("output").inner_text().endswith(" of 200")
    saved = downloaded(page, folder, "Download csv of ")
    assert [row["domain"] for row in saved] == ["outside"] * n_outside
    assert 0 < n_outside < 20
    filters.get_by_label("Domain").select_option("")
    counts = []
    for prediction in ("yes", "not read", "no"):
        filters.get_by_label("Prediction").select_option(label=prediction)
        counts.append(shown.count())
    assert min(counts) > 0
    assert sum(counts) == 200
    assert set(page.locator("#batch td[data-key=label]").all_inner_texts()) == {"no"}
    filters.get_by_label("Seen").select_option(label="not in training")
    assert set(page.locator("#batch td[data-key=seen]").all_inner_texts()) == {"no"}
    for label in ("Prediction", "Seen"):
        filters.get_by_label(label).select_option("")
    filters.get_by_label("Search").fill("m002")
    assert set(page.locator("#batch .why").all_text_contents()) == {"M002: explain it"}
    filters.get_by_label("Search").fill("")


def test_hostile_text_is_text_and_every_label_can_be_asked(
    browser: Any, labels: LiveServer, tmp_path: Path
) -> None:
    problems: list[str] = []
    page = opened(browser, labels.url, problems)
    label = page.get_by_label("Label")
    assert label.locator("option").all_inner_texts() == [SCRIPT, IMAGE]
    assert BOLD in page.locator("#subtitle").inner_text()
    card = asked(page, f"CCCO {IMAGE}")
    assert card.locator("h2").inner_text().startswith(BOLD)
    assert card.locator(".asked").inner_text().startswith(f"{SCRIPT}{IMAGE}")
    profile = card.locator(".profile button")
    assert profile.all_inner_texts() == [SCRIPT, IMAGE]
    profile.nth(1).click()
    page.locator("#answer h2", has_text=re.compile("^0 ")).wait_for()
    assert "onerror" in page.url
    table = tmp_path / "new.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([("smiles", IMAGE, "id"), ("CCCO", SCRIPT, IMAGE), ("CC(", "", SCRIPT)])
    page.locator("#file").set_input_files(table)
    page.locator("#batch table").wait_for()
    assert page.locator("#batch .why").first.text_content() == f"{IMAGE}: explain it"
    assert SCRIPT.lower() in page.locator("#batch thead").inner_text().lower()
    assert page.locator("#batch tbody tr").first.locator("td").last.inner_text().startswith(BOLD)
    (first, _) = downloaded(page, tmp_path, "Download csv")
    assert (first[IMAGE], first["id"], first[f"{SCRIPT}_prediction"]) == (SCRIPT, IMAGE, BOLD)
    for name in (SCRIPT, IMAGE):
        ask(page, name)
        page.locator("#message").wait_for()
    assert page.locator("img, b, script:not([src]), [style]").count() == 0
    page.close()
    assert [line for line in problems if not line.startswith(REFUSED)] == []


def test_numbers_are_shown_with_intervals_and_saved_as_by_the_command(browser: Any, tmp_path: Path) -> None:
    smiles = [f"{'C' * n}{end}" for n in range(2, 12) for end in ("O", "N", "Cl")]
    columns: dict[str, list[Any]] = {
        "smiles": smiles,
        "logS": [0.7 - len(text) for text in smiles],
        "mass": [*map(len, smiles)],
    }
    table, models, problems = write_table(tmp_path / "t.csv", columns), tmp_path / "models", list[str]()
    run("train", table, "--target", "logS,mass", "--head", "linear", "-o", models, "-j", 1, "-q")
    with live_server(models, "--workers", "1") as server:
        page = opened(browser, server.url, problems)
        assert page.locator("#subtitle").inner_text().startswith("Predicts logS by ")
        card = asked(page, "CCCO")
        assert re.match(r"logS is −\d\.\d+ \(90\s% interval −", card.locator("h2").inner_text())
        assert card.locator(".profile .number", has_text="90% interval").count() == 2
        page.locator("#file").set_input_files(table)
        page.locator("#batch table").wait_for()
        check_same_as_the_command(downloaded(page, tmp_path, "Download csv"), table, models)
        assert "NaN" not in page.locator("main").inner_text()
        page.close()
    assert problems == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_and_have_no_grave_fault(browser: Any, server: LiveServer, width: int, scheme: str) -> None:
    problems: list[str] = []
    page = opened(browser, server.url, problems, width, scheme)
    asked(page, "CC(=O)Oc1ccccc1C(=O)O")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_text("The reasons in full").click()
    for one in page.locator("#answer .in-full details summary").all():
        one.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert faults(page) == []
    page.locator("#file").set_input_files(MOLECULES)
    page.locator("#batch table").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert faults(page) == []
    assert page.locator("[style]").count() == 0
    page.goto(f"{server.url}/api")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert faults(page) == []
    page.close()
    assert problems == []
