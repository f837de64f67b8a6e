"""Explanations of regressors: groups with what they add, in the unit of the target."""

import json

import numpy as np
import pytest

from gdlnn import GDLNNRegressor
from gdlnn.errors import ExplanationError
from gdlnn.gdl.place_names import named_groups
from gdlnn.model.regression import RidgeForestHead

SMILES = [
    *("c1ccccc1", "Cc1ccccc1", "c1ccccc1-c1ccccc1", "CCO", "CCCO", "OCCO", "CCCC", "CCCCCC", "CC=O"),
    *("CC(=O)O", "CCC(=O)O", "CCN", "CCCN", "c1ccncc1", "Cc1ccncc1", "CCOCC", "CCCl", "ClCCCl"),
    *("OC(=O)c1ccccc1", "CCC=O"),
]
VALUES = np.array([-0.4 * text.lower().count("c") + 1.5 * text.count("O") for text in SMILES])


@pytest.fixture(scope="module", params=["linear", "scorecard", RidgeForestHead(n_trees=5)], ids=str)
def model(request: pytest.FixtureRequest) -> GDLNNRegressor:
    return GDLNNRegressor(head=request.param, unit="log mol/l", verbose=False).fit(SMILES, VALUES)


def test_contributions_add_up_in_the_unit_of_the_target(model: GDLNNRegressor) -> None:
    for text, found, value in zip(SMILES, model.explain(SMILES), model.predict(SMILES), strict=True):
        parts = found.contributions
        assert found.prediction == value
        assert parts.baseline + parts.added + parts.others == pytest.approx(value, abs=1e-9), text
        assert sum(parts.scores) == pytest.approx(parts.added, abs=1e-9)
        assert found.value.lower <= value <= found.value.upper
    start = model.head_outputs(model.baseline())[0, 0]
    assert parts.baseline == start


def test_equal_groups_are_one_reason_with_their_number(model: GDLNNRegressor) -> None:
    found = model.explain("c1ccccc1-c1ccccc1", n_reasons=9)
    assert [reason.name for reason in found.listed] == ["two benzene rings"]
    assert found.listed[0].weight == pytest.approx(found.contributions.added)
    assert found.listed[0].nodes == tuple(range(12))
    text = found.describe()
    assert text.startswith("−")
    assert "log mol/l (90% interval " in text
    assert "starts at " in text
    written = json.loads(json.dumps(found.to_json()))
    assert (written["unit"], written["prediction"]) == ("log mol/l", found.prediction)
    assert "probability" not in written
    assert "two benzene rings" in found.draw()
    assert "two benzene rings" in found.to_html()


def test_what_needs_a_class_is_refused(model: GDLNNRegressor) -> None:
    for options in ({"n_reasons": "smallest"}, {"class_label": 1}, {"technique": "lime"}):
        with pytest.raises(ExplanationError):
            model.explain("CCO", **options)


def test_groups_share_no_atom_and_leave_none_out(model: GDLNNRegressor) -> None:
    graph = model.represent(["CC(=O)Oc1ccc2ccccc2c1C1CCC(=O)O1"]).graphs[0]
    groups = named_groups(graph)
    assert sorted(node for _, nodes in groups for node in nodes) == list(range(graph.n_nodes))
    assert {name for name, _ in groups} >= {"naphthalene ring", "ester", "lactone"}
