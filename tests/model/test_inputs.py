"""What estimators take: SMILES, RDKit, PyG, NetworkX, pandas; and what they give as tables."""

from typing import Any

import networkx as nx
import numpy as np
import pandas
import pytest
from rdkit import Chem

from gdlnn import GDLNNClassifier, GDLNNRegressor, Graph, GraphDataset, load_model, load_smiles
from gdlnn.errors import DatasetError, ExplanationError, ModelError
from gdlnn.graphs import interop
from gdlnn.graphs.molecules import MoleculeReader
from gdlnn.report.alerts import find_alerts

SMILES = [f"{'C' * n}{end}" for n in range(2, 8) for end in ("O", "N", "OC", "NC", "Cl", "F")]
LABELS = [int("O" in text) for text in SMILES]


@pytest.fixture(scope="module")
def model() -> GDLNNClassifier:
    return GDLNNClassifier(head="linear", verbose=False).fit(SMILES, LABELS)


def test_fitting_takes_smiles_and_remembers_how_it_read_them(model: GDLNNClassifier, tmp_path: Any) -> None:
    assert model.reading == MoleculeReader()
    assert model.score(SMILES, LABELS) > 0.9
    model.save(tmp_path / "m.gdlnn")
    back = load_model(tmp_path / "m.gdlnn")
    assert back.predict(SMILES).tolist() == model.predict(SMILES).tolist()
    assert back.training_.labels.tolist() == LABELS


def test_all_ways_to_give_molecules_say_the_same(model: GDLNNClassifier) -> None:
    expected = model.predict_proba(SMILES)
    molecules = [Chem.MolFromSmiles(text) for text in SMILES]
    graphs = [MoleculeReader().graph(molecule) for molecule in molecules]
    for given in (
        *(molecules, graphs, tuple(SMILES), np.array(SMILES), pandas.Series(SMILES), iter(SMILES)),
        GraphDataset(graphs),
    ):
        np.testing.assert_array_equal(model.predict_proba(given), expected)
    for alone in (SMILES[0], molecules[0], graphs[0]):
        assert model.predict_proba(alone).tolist() == expected[:1].tolist()
        assert model.predict(alone).tolist() == [1]
        assert model.explain(alone).prediction == 1
    assert [one.prediction for one in model.explain(pandas.Series(SMILES[:2]))] == [1, 0]


def test_graphs_of_other_libraries() -> None:
    rng = np.random.default_rng(0)
    graphs = [
        Graph([[float(k)] for k in rng.permutation([1, 2, 3 + i % 2])], [(0, 1), (1, 2)]) for i in range(30)
    ]
    y = [i % 2 for i in range(30)]
    pyg, net = [interop.to_pyg(graph) for graph in graphs], [interop.to_networkx(graph) for graph in graphs]
    for given in (graphs, pyg, net):
        model = GDLNNClassifier("neighborhoods", "linear", structure=False, verbose=False).fit(given, y)
        expected = model.predict(given)
        assert expected.tolist() == y
        alone = given[0]
        assert model.predict(alone).tolist() == y[:1]
        assert model.explain(alone).prediction == y[0]
    with pytest.raises(ModelError, match="got str, and the model was not trained on molecules"):
        model.predict("CCO")


def test_networkx_attributes_are_taken_by_name() -> None:

    def graph(kind: int, *, turned: bool) -> Any:
        made = nx.path_graph(3)
        for node in made.nodes:
            values = {"kind": kind, "size": node}
            made.nodes[node].update(dict(reversed(values.items())) if turned else values)
        return made

    y = [0, 1] * 12
    model = GDLNNClassifier("neighborhoods", "linear", structure=False, pooled=False, verbose=False)
    model.fit([graph(kind, turned=False) for kind in y], y)
    assert model.predict([graph(kind, turned=True) for kind in y]).tolist() == y


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([None], r"graphs: item 0: expected .*, got a missing value \(NoneType\); remove these rows"),
        (["CCO", float("nan")], r"item 1: expected .*, got a missing value \(float\)"),
        (["CCO", "C("], r"item 1: expected a SMILES, got 'C\(': not a SMILES"),
        ([3], r"item 0: expected a Graph, got int; a Graph, a SMILES, an RDKit molecule"),
        (3, r"expected a Graph, a list of graphs or a GraphDataset, got int"),
    ],
)
def test_errors_name_the_type_and_the_way_out(model: GDLNNClassifier, given: Any, message: str) -> None:
    for ask, error in ((model.predict, ModelError), (model.explain, ExplanationError)):
        with pytest.raises(error, match=message):
            ask(given)


def test_a_column_of_words_is_a_column_of_labels(model: GDLNNClassifier) -> None:
    words = pandas.Series(["oxygen" if label else "none" for label in LABELS])
    fitted = GDLNNClassifier(head="linear", verbose=False).fit(pandas.Series(SMILES), words)
    assert fitted.predict("CCCO").tolist() == ["oxygen"]
    assert fitted.explain("CCCN").prediction == "none"
    words[3] = None
    assert fitted.fit(pandas.Series(SMILES), words).predict("CCCO").tolist() == ["oxygen"]


def test_everything_is_a_frame_and_shows_in_a_notebook(model: GDLNNClassifier) -> None:
    graphs = [MoleculeReader().graph(Chem.MolFromSmiles(text), name=text) for text in SMILES]
    columns = {"note": ["<b>"] * 36}
    data = GraphDataset(graphs, LABELS, smiles=SMILES, columns=columns, reading=MoleculeReader())
    frame = data.to_frame()
    assert list(frame.columns) == ["id", "smiles", "label", "nodes", "edges", "note"]
    assert frame.label.tolist() == LABELS
    programs = model.programs_.to_frame()
    assert len(programs) == len(model.programs_)
    assert {"program", "label", "score", "n_matched", "smarts", "gdl"} <= set(programs.columns)
    frame = model.predict_frame(data)
    assert frame.label.tolist() == model.predict(data).tolist()
    assert frame["p(1)"].tolist() == model.predict_proba(data)[:, 1].tolist()
    why = model.explain(SMILES[:3]).to_frame()
    assert set(why.graph) == set(SMILES[:3])
    assert {"reason", "weight", "nodes"} <= set(why.columns)
    assert model.explain(SMILES[0]).to_frame().weight.tolist() == why.weight[why.graph == SMILES[0]].tolist()
    for shown in (data, model.programs_, model.represent(data), model.explain(SMILES[:3])):
        page = shown._repr_html_()
        assert page.startswith("<table><caption>")
        assert "<b>" not in page
    assert "&lt;b&gt;" in data._repr_html_()
    assert "36 rows in all" in data._repr_html_()


def test_a_missing_extra_is_named(model: GDLNNClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from gdlnn.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gdlnn\[tables\]'"):
        model.programs_.to_frame()


def test_alerts_that_say_the_same_are_told_once(model: GDLNNClassifier) -> None:
    import copy

    from gdlnn import ProgramSet

    alerts = find_alerts(model, most=None, min_support=2)
    assert all(alert.training.odds_ratio()[0] > 1 for alert in alerts)
    first, second = (alert.column for alert in alerts[:2])
    columns = list(range(len(model.programs_)))
    columns[second] = first
    same = copy.copy(model)
    same.programs_ = ProgramSet(model.programs_, model.programs_.supports[:, columns], model.programs_.info)
    fewer = find_alerts(same, most=None, min_support=2)
    assert len(fewer) == len(alerts) - 1
    assert (fewer[0].column, fewer[0].programs) == (first, alerts[0].programs + 1)
    assert second not in [alert.column for alert in fewer]
    graphs = GraphDataset([Graph([[1.0]], [])], [0])
    with pytest.raises(DatasetError, match="alerts: expected graphs with labels"):
        find_alerts(model, GraphDataset(graphs.graphs))


def test_frames_keep_the_index_and_bad_rows_their_reason(model: GDLNNClassifier) -> None:
    column = pandas.Series(["CCO", "C1CC", "CCN"], index=[7, 3, 9])
    frame = model.predict_frame(column)
    assert frame.index.tolist() == [7, 3, 9]
    assert frame.reason.tolist() == ["", "expected a SMILES, got 'C1CC': not a SMILES: unclosed ring", ""]
    expected = model.predict(["CCO", "CCN"]).tolist()
    assert frame.label[[7, 9]].tolist() == expected
    assert model.predict(column, on_error="skip").tolist() == [expected[0], None, expected[1]]
    for method in (model.predict, lambda X: model.predict_frame(X, on_error="raise")):
        with pytest.raises(ModelError, match="item 1: expected a SMILES"):
            method(column)
    assert model.predict_frame(iter(column)).reason.tolist() == frame.reason.tolist()
    with pytest.raises(ModelError, match="give one of the columns"):
        model.predict_frame(pandas.DataFrame({"smiles": column}))
    with pytest.raises(ModelError, match="on_error: expected raise or skip"):
        model.predict_frame(column, on_error="ignore")  # type: ignore[arg-type]


def test_rows_without_a_label_and_bad_molecules_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    plain = GDLNNClassifier(head="linear", verbose=False).fit(SMILES, LABELS, sample_weight=range(1, 37))
    given, labels = [*SMILES, "C1CC", "CCCC"], [*map(float, LABELS), 1.0, float("nan")]
    model = GDLNNClassifier(head="linear", verbose=False)
    model.fit(given, labels, sample_weight=range(1, 39), on_error="skip")
    assert "skipped 2 of 38 rows: 1 without a label, 1 that cannot be read" in caplog.text
    assert np.array_equal(model.predict_proba(SMILES), plain.predict_proba(SMILES))
    with pytest.raises(ModelError, match="item 37: expected a SMILES"):
        model.fit(["CCCC", *given], [None, *labels])  # as counted in what was given
    with pytest.raises(ModelError, match="expected labels of one kind, got numbers and text"):
        model.fit(SMILES, ["a", *LABELS[1:]])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="expected whole numbers of at most 64 bits"):
        model.fit(SMILES, [2**63 * label for label in LABELS])  # NumPy makes doubles of these
    regressor = GDLNNRegressor(head="linear", verbose=False).fit(given, labels, on_error="skip")
    assert len(regressor.training_.labels) == 36


@pytest.mark.parametrize("form", ["Int64", "category", "iterator", "dataset"])
def test_missing_labels_of_every_form_are_skipped(form: str, caplog: pytest.LogCaptureFixture) -> None:
    holes = np.array([np.nan, *LABELS[1:]])
    given: Any = iter(SMILES) if form == "iterator" else SMILES
    labels: Any = holes
    if form in ("Int64", "category"):
        labels = pandas.Series([None, *LABELS[1:]], dtype=form)
    elif form == "dataset":
        read = load_smiles(pandas.DataFrame({"smiles": SMILES, "y": LABELS}), label="y")
        given, labels = GraphDataset(read.graphs, holes, reading=read.reading), None
    model = GDLNNClassifier(head="linear", verbose=False).fit(given, labels)
    assert "skipped 1 of 36 rows: 1 without a label" in caplog.text
    assert model.classes_.tolist() == [0, 1]
    with pytest.raises(ModelError, match="item 0: expected a label"):
        model.fit(SMILES, holes[:-1])  # labels are not moved to other rows


def test_a_dataset_of_pyg_has_its_labels_and_one_nominal_feature() -> None:
    torch = pytest.importorskip("torch")
    pyg = pytest.importorskip("torch_geometric.data")
    hot, weights = torch.eye(3), torch.tensor([[0.5], [1.5], [2.5]])
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    items = [
        pyg.Data(x=torch.cat([weights, hot[[i % 2, 2, 1]]], 1), edge_index=edges, y=torch.tensor([i % 2]))
        for i in range(12)
    ]
    model = GDLNNClassifier(head="linear", verbose=False).fit(items)
    assert [(f.name, f.kind) for f in model.schema_.node] == [("x0", "numeric"), ("label", "nominal")]
    assert model.predict(items).tolist() == [i % 2 for i in range(12)]
    assert model.predict(items[3]).tolist() == [1]
    assert model.score(items) == 1


def test_words_of_networkx_graphs_have_one_code_in_all_of_them() -> None:
    graphs = []
    for i in range(12):
        graph = nx.path_graph(3)
        words = ["bank", "shop", "bank"] if i % 2 else ["shop", "shop", "shop"]
        nx.set_node_attributes(graph, dict(enumerate(words)), "kind")
        graphs.append(graph)
    model = GDLNNClassifier(head="linear", verbose=False).fit(graphs, [i % 2 for i in range(12)])
    assert model.predict(graphs).tolist() == [i % 2 for i in range(12)]
