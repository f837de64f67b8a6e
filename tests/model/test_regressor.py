"""GDLNNRegressor as a scikit-learn regressor over graphs, and its heads."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from gdlnn import Feature, GDLNNRegressor, Graph, GraphDataset, Schema, load_model
from gdlnn.errors import ModelError
from gdlnn.model import group_contributions
from gdlnn.model.regression import RidgeForestHead, RidgeHead, ShortTableHead

SCHEMA = Schema((Feature("kind", "nominal", {0.0: "a", 1.0: "b", 2.0: "c"}),))


def chains(n: int, seed: int) -> GraphDataset:
    """Return paths of random letters whose value is 2 for each b, −1 for each c, and a constant of 5."""
    rng = np.random.default_rng(seed)
    kinds = [rng.integers(0, 3, rng.integers(3, 9)) for _ in range(n)]
    graphs = [
        Graph(own[:, None].astype(float), [(i, i + 1) for i in range(len(own) - 1)], schema=SCHEMA)
        for own in kinds
    ]
    y = [5 + 2.0 * (own == 1).sum() - (own == 2).sum() for own in kinds]
    return GraphDataset(graphs, np.array(y))


TRAIN, TEST = chains(120, 1), chains(40, 2)
HEADS: dict[str, Any] = {
    "auto": RidgeForestHead(n_trees=10),
    "linear": "linear",
    "scorecard": ShortTableHead(max_programs=6),
}


def quick(head: Any = "linear", **parameters: Any) -> GDLNNRegressor:
    return GDLNNRegressor(head=head, verbose=False, **parameters)


@pytest.fixture(scope="module", params=HEADS)
def fitted(request: pytest.FixtureRequest) -> GDLNNRegressor:
    return quick(HEADS[request.param]).fit(TRAIN)


@pytest.mark.parametrize("head", [RidgeHead(), ShortTableHead(4), RidgeForestHead(n_trees=3)], ids=repr)
def test_heads_are_regressors_of_scikit_learn(head: Any) -> None:
    check_estimator(head, on_skip=None)


def test_counts_are_learned_and_stored(fitted: GDLNNRegressor, tmp_path: Path) -> None:
    assert fitted.score(TEST) > 0.9
    assert fitted.transform(TEST)[:, : len(fitted.programs_)].max() > 1
    fitted.save(tmp_path / "model.gdlnn")
    again = load_model(tmp_path / "model.gdlnn")
    again.save(tmp_path / "again.gdlnn")
    assert (tmp_path / "again.gdlnn").read_bytes() == (tmp_path / "model.gdlnn").read_bytes()
    for model in (again, pickle.loads(pickle.dumps(fitted))):
        assert is_regressor(model)
        assert model.predict_frame(TEST).equals(fitted.predict_frame(TEST))
        assert model.score(TEST) == fitted.score(TEST)


def test_a_linear_model_is_a_table_of_what_each_place_adds() -> None:
    model = quick("scorecard").fit(TRAIN)
    table = group_contributions(model)
    assert len(table) <= 30
    counts = model.transform(TEST)
    by_hand = model.head_.intercept_ + sum(row.adds * counts[:, row.column] for row in table)
    np.testing.assert_allclose(by_hand, model.predict(TEST), atol=1e-9)


def test_intervals_hold_values_and_grow_with_strangeness() -> None:
    noise = np.random.default_rng(0).normal(0, 1, len(TRAIN) + len(TEST))
    assert TRAIN.y is not None
    assert TEST.y is not None
    model = quick().fit(TRAIN, TRAIN.y + noise[: len(TRAIN)])
    values, frame = TEST.y + noise[len(TRAIN) :], model.predict_frame(TEST)
    assert list(frame.columns)[1:4] == ["label", "lower", "upper"]
    assert ((frame.lower <= values) & (values <= frame.upper)).mean() > 0.75
    found: Any = model.represent(
        [*TRAIN.graphs[:1], Graph([[0.0]] * 3, [(0, 1), (1, 2), (0, 2)], schema=SCHEMA)]
    )
    like, unlike = np.diff(found.intervals)[:, 0]
    assert like <= unlike
    assert like > 0


def test_it_works_with_the_tools_of_scikit_learn() -> None:
    graphs, y = TRAIN.graphs[:40], np.asarray(TRAIN.y)[:40]
    assert len(cross_val_score(quick(), graphs, y, cv=2)) == 2
    search = GridSearchCV(quick(), {"head": ["linear", "scorecard"]}, cv=2).fit(graphs, y)
    assert search.best_params_["head"] in ("linear", "scorecard")
    assert clone(quick(unit="m")).unit == "m"
    weights = np.where(np.arange(40) < 20, 1.0, 1e-9)
    weighted = quick(random_state=1).fit(graphs, y, sample_weight=weights)
    assert np.abs(weighted.predict(graphs[:20]) - y[:20]).max() < 0.5
    assert quick(ExtraTreesRegressor(5)).fit(TRAIN).score(TRAIN) > 0.9


def test_what_cannot_be_fitted_is_named() -> None:
    for y, message in (
        ([1.0] * 39 + [np.inf], "expected finite"),
        (["no"] * 40, "y: expected numbers, got 'no'"),
    ):
        with pytest.raises(ModelError, match=message):
            quick().fit(TRAIN.graphs[:40], y)
    with pytest.raises(ModelError, match="mining needs classes"):
        quick(vocabulary="mined").fit(TRAIN)
    with pytest.raises(ModelError, match="a model file without code cannot hold"):
        quick(Ridge()).fit(TRAIN[:10]).save("never.gdlnn")
