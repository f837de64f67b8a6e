"""The scorecard: few programs, additive, printed as one table, kept in the model file."""

import re
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.estimator_checks import check_estimator

from gdlnn import GDLNNClassifier, load_model, make_ba_2motifs
from gdlnn.model import ScorecardHead, scorecard_rows, scorecard_text
from reference.explain_models import motif_data
from reference.report_models import three_classes

TRAIN, TEST = motif_data()


def table(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Forty columns, of which three decide."""
    rng = np.random.default_rng(seed)
    X = (rng.random((600, 40)) < 0.3).astype(float)
    odds = 2.5 * X[:, 3] - 2 * X[:, 17] + 1.5 * X[:, 30] - 0.3
    return X, (rng.random(600) < 1 / (1 + np.exp(-odds))).astype(int)


def test_scikit_learn_accepts_it() -> None:
    check_estimator(ScorecardHead(max_programs=2), on_skip=None)


def test_it_finds_the_columns_that_decide() -> None:
    X, y = table()
    head = ScorecardHead(max_programs=5).fit(X, y)
    assert set(head.selected_[:3].tolist()) == {3, 17, 30}
    assert len(head.selected_) <= 5
    assert head.coef_[1, 3] > 0 > head.coef_[1, 17]
    np.testing.assert_allclose(head.coef_[0], -head.coef_[1])
    np.testing.assert_array_equal(ScorecardHead(max_programs=5).fit(csr_array(X), y).coef_, head.coef_)


def test_coefficients_are_rounded_to_points() -> None:
    X, y = table()
    head = ScorecardHead(max_programs=5, points=True).fit(X, y)
    added = 2 * head.coef_[1, head.selected_]
    points = added / (np.abs(added).max() / 10)
    np.testing.assert_allclose(points, np.round(points), atol=1e-9)
    assert head.score(X, y) > 0.7


def test_a_model_is_its_table(tmp_path: Path) -> None:
    model = GDLNNClassifier(head="scorecard", verbose=False).fit(TRAIN)
    assert 1 <= len(model.programs_) <= 30
    assert model.score(TEST) >= 0.9
    assert model.transform(TEST).shape[1] == len(model.programs_)
    rows = scorecard_rows(model, TEST)
    assert len(rows) == len(model.programs_)
    matches = model.represent(TEST).matches
    for row in rows:
        assert row.contribution > 0
        assert row.matched == matches[:, row.column].sum()
        assert row.right == (np.asarray(TEST.y)[matches[:, row.column]] == row.label).sum()
    assert all(row.words.split()[-1].rstrip(".") in scorecard_text(model, TEST) for row in rows)
    constant = re.search(r"constant: (\S+) for (\w+)$", scorecard_text(model).strip())
    log_odds = np.full(len(TEST), float(constant[1]))
    for row in rows:
        log_odds += np.where(matches[:, row.column], row.contribution, 0) * (1 if row.label == 1 else -1)
    chance = model.predict_proba(TEST)[:, 1]
    np.testing.assert_allclose(log_odds, np.log(chance / (1 - chance)), atol=0.01)
    model.save(tmp_path / "m.gdlnn")
    again = load_model(tmp_path / "m.gdlnn")
    np.testing.assert_allclose(again.predict_proba(TEST), model.predict_proba(TEST), atol=1e-6)
    assert [row.words for row in scorecard_rows(again)] == [row.words for row in rows]


def test_a_card_without_programs_predicts_the_shares(tmp_path: Path) -> None:
    y = np.random.default_rng(4).integers(0, 2, 60)  # labels that no program can predict
    graphs = make_ba_2motifs(n=60, random_state=1).graphs
    model = GDLNNClassifier(head="scorecard", verbose=False).fit(graphs, y)
    assert scorecard_rows(model) == []
    assert "0 programs" in scorecard_text(model)
    shares = np.tile(np.bincount(y) / 60, (3, 1))
    np.testing.assert_allclose(model.predict_proba(graphs[:3]), shares, atol=1e-6)
    assert model.explain(graphs[0]).supporting == ()
    model.save(tmp_path / "card.gdlnn")
    np.testing.assert_allclose(
        load_model(tmp_path / "card.gdlnn").predict_proba(graphs[:3]), shares, atol=1e-6
    )


def test_several_classes_have_a_card_each() -> None:
    _, data = three_classes()
    model = GDLNNClassifier(head=ScorecardHead(max_programs=9), verbose=False).fit(data)
    assert len(model.programs_) <= 9
    assert model.head_.coef_.shape == (3, len(model.programs_))
    assert model.predict_proba(data).shape == (len(data), 3)
