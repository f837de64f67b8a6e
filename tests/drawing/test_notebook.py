"""What a notebook shows of graphs, programs, explanations and models."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest
from sklearn import config_context

from gdlnn import Graph, Program
from reference.explain_models import motif_model, motif_pl4xgl


def picture_of(html: str) -> ET.Element:
    return ET.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])


def test_a_graph_is_drawn() -> None:
    graph = Graph([[4.0], [2.0], [1.0]], [(0, 1), (1, 2)], name="<G>")
    html = graph._repr_html_()
    assert picture_of(html).tag.endswith("svg")
    assert "<G>" not in html


def test_a_program_is_drawn_with_its_text() -> None:
    html = Program.parse("node x <[3, inf]> node y edge (x, y)")._repr_html_()
    assert picture_of(html).tag.endswith("svg")
    assert "edge (x, y)" in html
    assert "&lt;[3.0, inf]&gt;" in html


@pytest.mark.parametrize("make", [motif_model, motif_pl4xgl])
def test_a_fitted_model_shows_its_strongest_programs(make: Callable[[], Any]) -> None:
    model = make()
    html = model._repr_html_()
    assert model._repr_mimebundle_()["text/html"].count("<svg") == html.count("<svg") >= 3
    assert picture_of(html).tag.endswith("svg")
    assert f"{len(model.programs_)} programs mined from 60 graphs; classes: cycle, house." in html
    assert "The strongest programs" in html
    assert "random_state" in html  # the parameters, as scikit-learn shows them
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert list(model._repr_mimebundle_()) == ["text/plain"]
