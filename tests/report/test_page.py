"""The report: everything it promises is in it, nothing is fetched, no text breaks out of its place."""

import base64
import hashlib
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from gdlnn import GraphDataset
from gdlnn.errors import DatasetError
from gdlnn.model import GDLNNClassifier
from gdlnn.report import ReportOptions, build_report, render_report, write_report
from reference.report_models import HOSTILE, molecules, motifs, three_classes

OPTIONS = ReportOptions(max_counterfactuals=2)
VOID = {"meta", "link", "input", "br", "img", "hr"}


class Checker(HTMLParser):
    """Elements that are closed in order, identifiers, and addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        for key, value in attrs:
            if key == "id":
                self.ids.append(value or "")
            if key in ("src", "href"):
                self.addresses.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def fitted() -> tuple[GDLNNClassifier, GraphDataset]:
    return motifs()


@pytest.fixture(scope="module")
def report(fitted: tuple[GDLNNClassifier, GraphDataset]) -> dict[str, Any]:
    return build_report(*fitted, OPTIONS)


def checked(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    assert len(checker.ids) == len(set(checker.ids))
    return checker


def test_figures_are_those_of_the_model(
    report: dict[str, Any], fitted: tuple[GDLNNClassifier, GraphDataset]
) -> None:
    model, test = fitted
    found = report["performance"]
    assert found["accuracy"] == pytest.approx(model.score(test))
    assert found["accuracy_interval"][0] < found["accuracy"] <= found["accuracy_interval"][1]
    assert sum(map(sum, found["confusion"])) == len(test) == report["data"]["held_out"]["graphs"]
    assert np.trace(found["confusion"]) == found["n_right"]
    assert len(report["graphs"]) == len(test)
    assert sum(row["n"] for row in found["calibration"]["bins"]) == len(test)
    assert report["learning_curve"][0]["epoch"] == 1
    assert found["brier"] == pytest.approx(brier_score_loss(test.y, model.predict_proba(test)[:, 1]))


def test_programs_are_counted_as_the_model_matches_them(
    report: dict[str, Any], fitted: tuple[GDLNNClassifier, GraphDataset]
) -> None:
    model, test = fitted
    assert sorted(row["index"] for row in report["programs"]) == list(range(len(model.programs_)))
    counts = dict(model.programs_.info.label_counts)
    assert test.y is not None
    for row in report["programs"]:
        item = model.programs_[row["index"]]
        own, n_own, others, n_others = row["training"]
        assert own + others == item.n_matched
        assert item.score == pytest.approx(own / (item.n_matched + 1.0))
        assert (n_own, n_own + n_others) == (counts[item.label], model.programs_.info.n_graphs)
        matched = np.array([item.program.matches(graph) for graph in test.graphs])
        of_class = test.y == item.label
        assert row["held_out"][::2] == [int(matched[of_class].sum()), int(matched[~of_class].sum())]
        assert row["odds_interval"][0] < row["odds_ratio"] < row["odds_interval"][1]
    weights = [abs(row["weight"]) for row in report["programs"]]
    assert weights == sorted(weights, reverse=True)


def test_wrong_predictions_get_counterfactuals_first(report: dict[str, Any]) -> None:
    have = [card for card in report["graphs"] if card["counterfactual"] is not None]
    assert len(have) == OPTIONS.max_counterfactuals
    n_wrong = sum(not card["right"] for card in report["graphs"])
    assert sum(not card["right"] for card in have) == min(n_wrong, len(have))


def test_the_page_is_whole_and_fetches_nothing(report: dict[str, Any]) -> None:
    page = render_report(report)
    checker = checked(page)
    assert {"main", "nav", "h1", "svg", "table", "details"} <= checker.names
    assert all(address.startswith(("#", "data:")) for address in checker.addresses)
    assert "@import" not in page
    assert not re.search(r"url\(|https?://(?!www\.w3\.org/)", page)
    for target in (address for address in checker.addresses if address.startswith("#")):
        assert target[1:] in checker.ids


def test_the_page_allows_nothing_inline(report: dict[str, Any]) -> None:
    page = render_report(report)
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; ")
    for kind, element in (("style-src", "style"), ("script-src", "script")):
        (inside,) = re.findall(f"<{element}>(.*?)</{element}>", page, re.DOTALL)
        found = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind} 'sha256-{found}'" in policy
    assert not re.search(r"<[^>]*\s(style|on\w+)\s*=", page.partition('id="report-data"')[0])
    for svg in (card["picture"] for card in report["graphs"]):
        assert not re.search(r"\s(style|fill|stroke)=", svg)


def test_variants_are_in_one_card_and_no_program_in_two(
    report: dict[str, Any], fitted: tuple[GDLNNClassifier, GraphDataset]
) -> None:
    model, _ = fitted
    rows = {row["index"]: row for row in report["programs"]}
    table = model.programs_.supports.toarray() > 0
    named = [index for pattern in report["patterns"] for index in pattern["programs"]]
    assert len(named) == len(set(named))
    heads = [pattern["programs"][0] for pattern in report["patterns"]]
    for pattern in report["patterns"]:
        first = table[:, pattern["programs"][0]]
        for index in pattern["programs"]:
            assert rows[index]["speaks_for"] == pattern["label"]
            assert (first & table[:, index]).sum() / (first | table[:, index]).sum() >= 0.6
    for place, one in enumerate(heads):
        for other in heads[:place]:
            same = rows[one]["speaks_for"] == rows[other]["speaks_for"]
            overlap = (table[:, one] & table[:, other]).sum() / (table[:, one] | table[:, other]).sum()
            assert not same or overlap < 0.6
    weight = [sum(abs(rows[i]["weight"]) for i in pattern["programs"]) for pattern in report["patterns"]]
    assert weight == sorted(weight, reverse=True)
    assert min(weight) >= 0.01 * max(weight)


@pytest.mark.parametrize(
    ("probability", "threshold", "domain", "truth", "group"),
    [
        (0.9, 0.5, "inside", 1, "right"),
        (0.9, 0.5, "inside", 0, "wrong"),
        (0.7, 0.5, "edge", 1, "unsure"),
        (0.45, 0.2, "inside", 1, "right"),  # three times the odds of the threshold
        (0.9, 0.8, "inside", 1, "unsure"),
        (0.9, 0.5, "outside", 1, "outside"),
    ],
)
def test_sure_is_three_times_the_odds_of_the_threshold(
    probability: float, threshold: float, domain: Any, truth: int, group: str
) -> None:
    from gdlnn import Graph
    from gdlnn.explain.explanation import Explanation, Method
    from gdlnn.model.domain import DomainAnswer
    from gdlnn.report.build import group_of

    graph, method = Graph([[1.0]], []), Method("none")
    e = Explanation(graph, 1, probability, 1, probability, (), (), method, threshold=threshold)
    assert group_of(e, truth, DomainAnswer(domain, "", None, None)) == group


def test_a_scorecard_is_shown_whole() -> None:
    model, test = molecules("scorecard")
    report = build_report(model, test, ReportOptions(max_counterfactuals=0))
    card = report["scorecard"]
    assert {row["index"] for row in card["rows"]} == set(range(len(model.programs_)))
    seen = model.represent(test)
    adds = {
        row["index"]: row["adds"] * (1 if row["label"] == report["classes"][1]["label"] else -1)
        for row in card["rows"]
    }
    odds = card["constant"][0] + seen.matches @ np.array([adds[i] for i in range(len(adds))])
    raw = model.head_.predict_proba(seen.features)[:, 1]
    assert np.allclose(1 / (1 + np.exp(-odds)), raw, atol=1e-6)
    page = render_report(report)
    checked(page)
    for name in HOSTILE:
        assert name not in page
    assert 'id="scorecard"' in page
    assert 'id="scorecard"' not in render_report({**report, "scorecard": None})


def test_the_json_inside_is_the_report(report: dict[str, Any]) -> None:
    page = render_report(report)
    inside = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page, re.DOTALL)
    assert inside
    assert json.loads(inside.group(1)) == json.loads(json.dumps(report))


def test_names_cannot_break_out_and_three_classes_do(tmp_path: Path) -> None:
    model, test = three_classes()
    report = write_report(model, test, tmp_path / "new" / "r.html", OPTIONS, title="<i>T</i>")
    page = (tmp_path / "new" / "r.html").read_text(encoding="utf-8")
    checked(page)
    assert "<i>T</i>" not in page
    assert "<b>" not in page
    assert page.count("</script>") == 2
    assert len(report["classes"]) == 3
    assert report["data"]["directed"]


def test_the_gallery_is_capped(fitted: tuple[GDLNNClassifier, GraphDataset]) -> None:
    model, test = fitted
    report = build_report(model, test, ReportOptions(max_graphs=3, max_counterfactuals=0))
    assert len(report["graphs"]) == 3
    assert report["performance"]["n"] == len(test)


@pytest.mark.parametrize("make", [motifs, three_classes])
def test_contributions_are_computed_once(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, test = make()
    n_asked = len(model.classes_) if len(model.classes_) > 2 else 1  # the other of two classes loses as much
    asked: Counter[tuple[bytes, int]] = Counter()
    compute = type(model.head_).contributions

    def counted(self: Any, features: Any, baseline: Any, targets: Any) -> Any:
        asked.update((row.tobytes(), code % n_asked) for row, code in zip(features, targets, strict=True))
        return compute(self, features, baseline, targets)

    with monkeypatch.context() as patched:
        patched.setattr(type(model.head_), "contributions", counted)
        report = build_report(model, test, OPTIONS)
    whole = Counter((row.tobytes(), i) for row in model.represent(test).features for i in range(n_asked))
    assert {key: asked[key] for key in whole} == whole  # counterfactuals ask about parts of graphs
    for card, own in zip(report["graphs"], model.explain(test.graphs, n_reasons=4), strict=True):
        weights = [place["weight"] for place in card["programs"]]
        assert weights == pytest.approx([reason.weight for reason in own.listed])


def test_what_cannot_be_reported_on(fitted: tuple[GDLNNClassifier, GraphDataset]) -> None:
    model, test = fitted
    with pytest.raises(DatasetError, match="report: expected graphs with labels"):
        build_report(model, GraphDataset(test.graphs, schema=test.schema))
    with pytest.raises(DatasetError, match="at least one graph"):
        build_report(model, test[:0])
