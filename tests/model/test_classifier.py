"""GDLNNClassifier as a scikit-learn classifier over graphs."""

import io
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline

from gdlnn import Feature, GDLNNClassifier, Graph, GraphDataset, Schema, load_model, make_ba_2motifs, mine
from gdlnn.errors import ModelError
from gdlnn.model.domain import DomainAnswer
from gdlnn.model.inputs import training_and_validation
from gdlnn.model.program_effects import SAME, strongest_programs
from gdlnn.model.vocabulary import Mined
from reference.models import classifier


def quick(**parameters: Any) -> GDLNNClassifier:
    """Return a classifier that fits in a moment."""
    given = {"epsilon": 0.1, "epochs": 30, "hidden": (16,), "verbose": False, "pooled": False}
    return classifier(**{**given, **parameters})


def fit_with(graphs: Any, y: Any, validation: Any) -> GDLNNClassifier:
    return quick().fit(graphs, y, validation=validation)


@pytest.fixture(scope="module")
def motifs() -> GraphDataset:
    return make_ba_2motifs(60, random_state=5)


@pytest.fixture(scope="module")
def fitted(motifs: GraphDataset) -> GDLNNClassifier:
    return quick(pooled=True).fit(motifs[:40], validation=motifs[40:50])


def test_it_learns_what_motif_there_is(fitted: GDLNNClassifier, motifs: GraphDataset) -> None:
    test = motifs[50:]
    assert fitted.score(test) >= 0.9
    probabilities = fitted.predict_proba(test)
    assert probabilities.shape == (10, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.predict(test), fitted.classes_[probabilities.argmax(axis=1)])
    assert fitted.transform(test).shape == (10, len(fitted.get_feature_names_out()))
    assert fitted.transform(test).shape[1] > len(fitted.programs_)
    assert fitted.schema_ is motifs.schema
    assert fitted.head_.history_[-1].keys() == {"epoch", "loss", "val_loss", "val_accuracy"}
    assert fitted.choice_["vocabulary"] == "mined with ε = 0.1"
    assert fitted.choice_["programs"] == len(fitted.programs_)
    assert fitted.choice_["training"] == "early stopping on 10 graphs"


@pytest.mark.parametrize("labels", [["dog", "cat"], [True, False], [1.0, -2.0], [7, 3]])
def test_labels_may_be_of_any_type(motifs: GraphDataset, labels: list[Any]) -> None:
    y = np.array([labels[i % 2] for i in range(24)])
    model = quick(epochs=5).fit(motifs.graphs[:24], y)
    assert model.classes_.tolist() == sorted(labels)
    assert set(model.predict(motifs.graphs[:24]).tolist()) <= set(labels)


def test_scikit_learn_tools_work(motifs: GraphDataset) -> None:
    graphs, y = motifs.graphs[:24], motifs.y
    assert y is not None
    y = y[:24]
    model = quick(epochs=5)
    assert str(clone(model).get_params()) == str(model.get_params())
    assert len(cross_val_score(model, graphs, y, cv=2)) == 2
    assert len(cross_val_score(model, motifs[:24], y, cv=2)) == 2
    name = "gdlnn__vocabulary__k"
    search = GridSearchCV(Pipeline([("gdlnn", model)]), {name: [1, 5]}, cv=2).fit(graphs, y)
    scores = dict(
        zip(search.cv_results_[f"param_{name}"], search.cv_results_["mean_test_score"], strict=True)
    )
    assert scores[search.best_params_[name]] == max(scores.values())
    assert len(search.best_estimator_["gdlnn"].programs_) == search.best_params_[name]
    file = io.BytesIO()
    fitted = model.fit(graphs, y)
    joblib.dump(fitted, file)
    file.seek(0)
    np.testing.assert_array_equal(joblib.load(file).predict_proba(graphs), fitted.predict_proba(graphs))


def test_any_scikit_learn_head(motifs: GraphDataset) -> None:
    forest = RandomForestClassifier(20, random_state=0)
    model = quick(head=forest).fit(motifs[:24])
    assert model.score(motifs[24:40]) > 0.5
    assert not hasattr(forest, "estimators_")
    assert model.set_params(head__n_estimators=3).get_params()["head__n_estimators"] == 3
    assert model.choice_["training"] == "RandomForestClassifier"


def test_given_programs_are_not_mined_again(motifs: GraphDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    train = motifs[:24]
    sets = [mine(train, epsilon=epsilon, verbose=False) for epsilon in (0.1, 1)]
    expected = quick(epochs=5).set_params(vocabulary=[Mined(0.1), Mined(1)]).fit(train)
    monkeypatch.setattr("gdlnn.model.vocabulary.mine", None)
    model = quick(epochs=5).fit(train, programs=sets)
    np.testing.assert_array_equal(model.predict_proba(motifs), expected.predict_proba(motifs))
    with pytest.raises(ModelError, match="mined from these 10 graphs, got some mined from 24"):
        quick().fit(motifs[:10], programs=sets)
    with pytest.raises(ModelError, match="no fraction"):
        quick().fit(train, validation=0.2, programs=sets)


def test_checkpoints_are_kept_by_epsilon(motifs: GraphDataset, tmp_path: Any) -> None:
    model = quick(epochs=2, checkpoint=tmp_path / "folder")
    model.set_params(vocabulary=[Mined(0.1), Mined("10%")]).fit(motifs[:12])
    files = sorted(path.name for path in (tmp_path / "folder").glob("[!.]*"))
    assert files == ["epsilon-0.1.jsonl", "epsilon-10-percent.jsonl"]
    again = clone(model).fit(motifs[:12])
    np.testing.assert_array_equal(again.predict_proba(motifs), model.predict_proba(motifs))


def test_stopped_training_is_resumed(motifs: GraphDataset, tmp_path: Any) -> None:
    model = quick(epochs=2, checkpoint=tmp_path).fit(motifs[:12])
    file = tmp_path / "epsilon-0.1.jsonl"
    half = b"".join(file.read_bytes().splitlines(keepends=True)[:6])
    file.write_bytes(half)
    again = clone(model).fit(motifs[:12])
    assert file.read_bytes().startswith(half)
    assert len(file.read_bytes()) > len(half)
    np.testing.assert_array_equal(again.predict_proba(motifs), model.predict_proba(motifs))


def test_k_keeps_the_best(motifs: GraphDataset) -> None:
    train = motifs[:24]
    programs = mine(train, verbose=False)
    for k in (1, 3, 0.25):
        model = quick(k=k, epochs=2).fit(train, programs=programs)
        assert model.programs_.programs == programs.top(k).programs
    per_label = quick(k=1, per_label=True, epochs=2).fit(train, programs=programs)
    assert sorted(per_label.programs_.labels) == [0, 1]


def test_graphs_outside_what_was_learned_are_flagged(fitted: GDLNNClassifier) -> None:
    lonely = Graph(np.zeros((0, 1)), [])
    assert fitted.domain([lonely]) == [
        DomainAnswer("outside", "contains none of the patterns of the model", None, 0.0)
    ]
    features = np.zeros((1, len(fitted.get_feature_names_out())))  # no program, and an empty graph pools to 0
    found = fitted.head_outputs(features)
    np.testing.assert_array_equal(fitted.predict_proba([lonely]), found)
    assert fitted.predict([lonely])[0] == fitted.classes_[found[0].argmax()]


def test_the_strongest_programs_speak_for_their_class(fitted: GDLNNClassifier, motifs: GraphDataset) -> None:
    strong = strongest_programs(fitted, 3)
    supports = fitted.programs_.supports.toarray()[:, [one.column for one in strong]] > 0
    weights = np.array([one.strength for one in strong]) * supports.std(axis=0)
    assert weights[0] >= weights[1] >= weights[2] > 0
    assert all(
        (supports[:, 0] & other).sum() < SAME * (supports[:, 0] | other).sum() for other in supports.T[1:]
    )
    assert (np.asarray(motifs.y)[:40][supports[:, 0]] == strong[0].label).mean() > 0.5


def test_validation_graphs_are_no_training_graphs(motifs: GraphDataset) -> None:
    train, val = training_and_validation(motifs, None, 0.1, 0)
    assert (len(train), val) == (60, None)
    train, val = training_and_validation(motifs, 0.2, 0.1, 0)
    assert val is not None
    assert val.y is not None
    assert (len(train), len(val), val.y.sum()) == (48, 12, 6)
    assert not set(train.indices.tolist()) & set(val.indices.tolist())
    big = make_ba_2motifs(1000, random_state=0)
    train, val = training_and_validation(big, None, 0.1, 0)
    assert (len(train), len(val or [])) == (900, 100)
    with pytest.raises(ModelError, match="validation: expected a fraction between 0 and 1"):
        training_and_validation(motifs, 1.5, 0.1, 0)


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (lambda g, y: quick().fit(g), r"expected labels \(y\)"),
        (lambda g, y: quick().fit(g, y[:3]), "y: expected 6 labels, one per graph"),
        (lambda g, y: quick().fit(g, [1] * 6), "expected at least two classes"),
        (
            lambda g, y: quick(head="oak").fit(g, y),
            "head: expected auto, mlp, forest, linear, scorecard, MLPHead",
        ),
        (lambda g, y: quick(min_support=99).fit(g, y), "expected at least one program"),
        (lambda g, y: fit_with(g, y, (g,)), r"validation: expected \(graphs, y\)"),
        (lambda g, y: fit_with(g, y, "some"), "validation: expected a fraction"),
        (lambda g, y: quick().fit([*g[:5], Graph([[1.0, 2.0]], [])], y), "graph 5: expected 1 node features"),
    ],
)
def test_bad_input_is_refused(motifs: GraphDataset, fit: Any, words: str) -> None:
    y = motifs.y
    assert y is not None
    with pytest.raises(ModelError, match=words):
        fit(motifs.graphs[:6], y[:6])


@pytest.mark.parametrize(("head", "expected"), [("linear", True), ("scorecard", False), ("mlp", True)])
def test_pooled_features_are_for_heads_that_can_use_them(head: str, expected: bool) -> None:
    rng = np.random.default_rng(0)
    graphs, y = [], []
    for i in range(30):
        kinds = rng.integers(2, size=4) if i % 2 else rng.integers(1, 3, size=4)
        sizes = rng.normal(size=4)
        graphs.append(Graph(np.stack([kinds, sizes], axis=1), [(0, 1), (1, 2), (2, 3)]))
        y.append(i % 2)
    model = quick(pooled="auto", epochs=3, head=head).fit(graphs, y)
    assert (model.layer_.pooled, model.choice_["pooled"]) == (expected, expected)
    assert (model.transform(graphs).shape[1] > len(model.programs_)) == expected
    with pytest.raises(ModelError, match="pooled: expected True, False or auto, got 'yes'"):
        quick(pooled="yes").fit(graphs, y)


def labeled_graphs() -> GraphDataset:
    """Rings and paths of nodes of two colors; only the ring feature tells the classes apart."""
    schema = Schema(node=(Feature("color", "nominal", {0.0: "red", 1.0: "blue"}),))
    graphs, labels = [], []
    for size in range(3, 13):
        path = [[i, i + 1] for i in range(size - 1)]
        for edges, label in ((path, 0), ([*path, [0, size - 1]], 1)):
            colors = [[float(i % 2)] for i in range(size)]
            graphs.append(Graph(colors, edges, schema=schema))
            labels.append(label)
    return GraphDataset(graphs, labels, schema)


def test_structure_joins_where_nodes_carry_labels_only(tmp_path: Path) -> None:
    data = labeled_graphs()
    model = quick().fit(data)
    assert model.schema_ is not None
    assert [f.name for f in model.schema_.node] == ["color", "degree", "ring"]
    assert any("ring = yes" in item.program.to_text(model.schema_) for item in model.programs_)
    # Columns are computed for graphs that lack them, and those that are there are taken as they are.
    np.testing.assert_array_equal(model.predict_proba(data), model.predict_proba(data.with_structure()))
    program = model.programs_[0].program
    assert program.matches(data.graphs[0]) == program.matches(data.with_structure().graphs[0])
    part = data.with_structure().graphs[1].subgraph([0, 1])
    assert part.node_features[:, 2].tolist() == [1, 1]  # still on the ring of the whole graph
    model.save(tmp_path / "m.gdlnn")
    again = load_model(tmp_path / "m.gdlnn")
    np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))
    assert quick(structure=False).fit(data).schema_ == data.schema
    with pytest.raises(ModelError, match="structure: expected True, False or auto, got 'yes'"):
        quick(structure="yes").fit(data)


def test_structure_stays_out_of_measured_features_and_of_the_paper() -> None:
    data = labeled_graphs()
    measured = Schema(node=(Feature("size", "numeric"),))
    sizes = GraphDataset([Graph(g.node_features, g.edges) for g in data.graphs], data.y, measured)
    model = quick().fit(sizes)
    assert model.schema_ == measured
    assert quick(structure=True).fit(sizes).schema_ is not None
    paper = GDLNNClassifier.paper(epochs=1, verbose=False).fit(data)
    assert paper.schema_ == data.schema


def test_a_value_that_training_never_had_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    model = quick().fit(labeled_graphs())
    green = Graph([[2.0], [0.0]], [[0, 1]])
    with caplog.at_level("WARNING"):
        model.predict([green])
        model.predict([green, green])
    found = [record.getMessage() for record in caplog.records if "no training graph" in record.getMessage()]
    assert found == ["node feature 'color': no training graph has 2; no condition on it matches there"]


def test_a_schema_that_contradicts_the_training_graphs_is_refused() -> None:
    model = quick().fit(labeled_graphs())
    for feature, expected in (
        (
            Feature("shade", "nominal"),
            "expected the node features of training, color, degree, ring, got shade",
        ),
        (
            Feature("color", "nominal", {0.0: "blue"}),
            "'color': expected the value 0 to be called 'red', as in training, got 'blue'",
        ),
    ):
        graph = Graph([[0.0], [1.0]], [[0, 1]], schema=Schema(node=(feature,)))
        with pytest.raises(ModelError, match=expected):
            model.predict([graph])


@pytest.mark.parametrize("values", [np.linspace(0, 1, 60), np.arange(60), ["0.5", "1.0"] * 30])
def test_a_target_of_numbers_is_sent_to_the_regressor(motifs: GraphDataset, values: Any) -> None:
    message = f"{len(set(values))} different numbers for 60 graphs, such as .*; .* with GDLNNRegressor"
    with pytest.raises(ModelError, match=message):
        quick().fit(motifs.graphs, values)
