"""The forest: scikit-learn's probabilities, exact Shapley values, thresholds on quantities."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier

from gdlnn import GDLNNClassifier, Graph
from gdlnn.model.forest import Forest
from gdlnn.model.mixture import MixtureHead
from gdlnn.model.quantities import MISSING, Quantities
from reference.payments import payment_graphs

RNG = np.random.default_rng(0)
X = np.hstack([(RNG.random((300, 40)) < 0.2).astype(float), RNG.normal(size=(300, 5))])
Y = np.digitize(X[:, 0] + X[:, 1] + X[:, 42] + 0.3 * RNG.normal(size=300), [0, 1])
BASELINE = np.concatenate([np.zeros(40), np.median(X[:, 40:], axis=0)])


def fitted() -> tuple[RandomForestClassifier, Forest]:
    model = RandomForestClassifier(30, random_state=0).fit(X, Y)
    return model, Forest.of(model)


def test_probabilities_are_those_of_scikit_learn() -> None:
    model, forest = fitted()
    assert np.abs(forest.predict(X) - model.predict_proba(X)).max() <= 1e-12
    assert np.array_equal(pickle.loads(pickle.dumps(forest)).predict(X), forest.predict(X))


def test_contributions_add_up() -> None:
    _, forest = fitted()
    wanted = np.arange(300) % 3
    found = forest.contributions(X, BASELINE, wanted)
    change = forest.predict(X) - forest.predict(BASELINE[None])
    assert np.abs(found.sum(axis=1) - change[np.arange(300), wanted]).max() <= 1e-12
    assert not found[:, :40][X[:, :40] == 0].any()


@pytest.mark.long
def test_contributions_are_those_of_the_shap_package() -> None:
    shap = pytest.importorskip("shap")
    model, forest = fitted()
    explainer = shap.TreeExplainer(model, BASELINE[None], feature_perturbation="interventional")
    expected = explainer.shap_values(X[:20], check_additivity=False)
    for code in range(3):
        own = forest.contributions(X[:20], BASELINE, np.full(20, code))
        assert np.abs(own - expected[:, :, code]).max() <= 1e-6


def test_trees_of_a_file_are_checked() -> None:
    _, forest = fitted()
    for name, value in (("left", 10**6), ("feature", 10**6), ("right", 0)):
        tensors = {key: array.copy() for key, array in forest.tensors().items()}
        tensors[name][0] = value
        with pytest.raises(ValueError, match="forest"):
            Forest.from_tensors(tensors, 45).check(3)


def test_a_mixture_is_the_mean_of_its_members_whatever_the_threads() -> None:
    one, two = (MixtureHead(20, n_jobs=n).fit(csr_array(X[:120]), Y[:120]) for n in (1, 2))
    members = one.members(X)
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
    assert np.abs(one.predict_proba(X) - members.mean(axis=0)).max() <= 1e-12
    assert np.abs(one.linear_.predict_proba(X) - members[0]).max() <= 1e-12
    again = MixtureHead(20)
    again.restore(one.tensors(), 45, len(one.classes_))
    assert np.array_equal(again.predict_proba(X), one.predict_proba(X))


def test_extremes_are_programs_with_a_threshold() -> None:
    data = payment_graphs(30, 0)
    quantities = Quantities.of(data)
    table = quantities.transform(data.graphs)
    assert Quantities.from_json(quantities.to_json(), {"node": 1, "edge": 2}) == quantities
    for column, extreme in enumerate(quantities.columns):
        for threshold in (MISSING, *(sign * value for sign in (1, -1) for value in (100.0, 500.0, 900.0))):
            program = extreme.program(threshold, 2, directed=True)
            expected = [program.matches(graph) for graph in data.graphs]
            assert (table[:, column] > threshold).tolist() == expected


def assert_explained_by_the_edge(model: GDLNNClassifier, graphs: list[Graph]) -> None:
    for e in model.explain(graphs, class_label=1):
        large = (e.graph.edge_features[:, 0] == 2) & (e.graph.edge_features[:, 1] >= 900)
        ends = set(e.graph.edges[large].reshape(-1).tolist())
        place = e.supporting[0]
        assert ends & set(place.nodes)
        name = ("edge with channel wire and amount ≥", "edges")  # several edges are named together
        assert len(place.nodes) != 2 or place.name.startswith(name)


def test_a_threshold_on_a_quantity_is_learned_and_named() -> None:
    data = payment_graphs(400, 1, with_age=True)
    model = GDLNNClassifier(head=MixtureHead(100), verbose=False).fit(data[:300])
    assert model.score(data[300:]) >= 0.95
    rows = (300 + np.flatnonzero(np.asarray(data.y)[300:] == 1)[:20]).tolist()
    assert_explained_by_the_edge(model, [data.graphs[row] for row in rows])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "with_age"), [(300, False), (300, True), (1400, True)])
def test_the_default_finds_the_threshold_of_payments(n: int, with_age: bool, seed: int) -> None:
    model = GDLNNClassifier(random_state=seed, verbose=False)
    model.fit(payment_graphs(n, seed, with_age=with_age))
    unseen = payment_graphs(200, 100 + seed, with_age=with_age)
    assert model.score(unseen) >= 0.97
    suspicious = np.flatnonzero(np.asarray(unseen.y) == 1)[:20].tolist()
    assert_explained_by_the_edge(model, [unseen.graphs[row] for row in suspicious])
