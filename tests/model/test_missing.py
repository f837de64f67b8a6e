"""Missing values (NaN) of features: equal among themselves, kept in files, and matched by no condition."""

import json
import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gdlnn import Feature, GDLNNClassifier, Graph, GraphDataset, Program, Schema, load_model, mine
from gdlnn.datasets.jsonl import load_jsonl
from gdlnn.graphs.identity import canonical_form
from gdlnn.graphs.interop import from_tables
from gdlnn.matching import match
from gdlnn.model.pooling import PooledFeatures
from gdlnn.model.quantities import MISSING, Quantities
from reference import conflicts, matcher
from reference.random_cases import renumbered

NAN = float("nan")
SCHEMA = Schema(
    (Feature("kind", "nominal", {0.0: "person", 1.0: "shop"}), Feature("size")), (Feature("amount"),)
)


def payments(n_graphs: int = 40) -> GraphDataset:
    """Return stars; those of class 1 have a payment of 900 or more, and some values are missing."""
    rng = np.random.default_rng(0)
    graphs, labels = [], []
    for i in range(n_graphs):
        n = int(rng.integers(3, 7))
        amounts = rng.uniform(1, 800, size=n - 1).round(1)
        if i % 2:
            amounts[0] = rng.uniform(900, 999)
        else:
            amounts[-1] = NAN
        nodes = np.column_stack([rng.integers(2, size=n), rng.integers(4, size=n)]).astype(float)
        nodes[rng.random(nodes.shape) < 0.1] = NAN
        graphs.append(Graph(nodes, [(0, v) for v in range(1, n)], amounts[:, None], schema=SCHEMA))
        labels.append(i % 2)
    return GraphDataset(graphs, labels, SCHEMA)


def test_missing_values_are_equal_and_infinite_ones_refused() -> None:
    graph = Graph([[1.0, NAN], [NAN, 2.0], [1.0, NAN]], [(0, 1), (1, 2)], [[NAN], [3.0]])
    same = Graph([[1.0, -NAN], [NAN, 2.0], [1.0, NAN]], [(0, 1), (1, 2)], [[NAN], [3.0]])
    assert graph == same
    assert hash(graph) == hash(same)
    assert graph != Graph([[1.0, 0.0], [NAN, 2.0], [1.0, NAN]], [(0, 1), (1, 2)], [[NAN], [3.0]])
    other = renumbered(np.random.default_rng(1), graph)
    assert canonical_form(graph) == canonical_form(other)
    assert GraphDataset([graph, other, graph.subgraph([0, 1])]).duplicates().groups == ((0, 1),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node x <[1, 1]>", False),
        ("node x <[-5, 5]>", False),
        ("node x <[-inf, 5]>", False),
        ("node x <[-5, inf]>", False),
        ("node x <[-inf, inf]>", True),
        ("node x", True),
    ],
)
def test_a_missing_value_satisfies_no_condition(text: str, expected: bool) -> None:
    program = Program.parse(text)
    assert program.matches(Graph([[NAN]], [])) == expected
    # Among few values and among many: the core encodes these differently.
    for others in ([[-9.0], [3.0]], [[float(i)] for i in range(-45, 45)]):
        conflicts.check_table([program], [Graph([[NAN], *others], [])])
    edge = Program.parse(f"node a\nnode b\n{text.replace('node x', 'edge (a, b)')}")
    assert edge.matches(Graph([[0.0], [0.0]], [(0, 1)], [[NAN]])) == expected


def test_columns_with_and_without_missing_values_are_kept_apart() -> None:
    """Continuous columns have masks of their own in the core, but not those with missing values."""
    rng = np.random.default_rng(3)
    nodes = rng.normal(size=(100, 3)).round(2)
    nodes[rng.random(100) < 0.3, 1] = NAN
    graph = Graph(nodes, [(i, i + 1) for i in range(99)])
    programs = [
        Program([("x", [(-1, 1), (low, np.inf), (-np.inf, high)])]) for low, high in rng.normal(size=(20, 2))
    ]
    conflicts.check_table(programs, [graph])


def test_files_keep_missing_values(tmp_path: Path) -> None:
    data = payments(4)
    data.save(tmp_path / "data.jsonl")
    lines = (tmp_path / "data.jsonl").read_text().splitlines()
    assert None in np.ravel(json.loads(lines[1], parse_constant=pytest.fail)["edge_features"]).tolist()
    assert load_jsonl(tmp_path / "data.jsonl").graphs == data.graphs


def test_an_empty_cell_of_a_table_is_missing() -> None:
    nodes = pd.DataFrame({"graph": [0, 0], "node": [0, 1], "size": [1.0, None]})
    edges = {"graph": [0], "source": [0], "target": [1], "amount": [None]}
    (graph,) = from_tables(nodes, edges).graphs
    np.testing.assert_array_equal(graph.node_features, [[1.0], [NAN]])
    np.testing.assert_array_equal(graph.edge_features, [[NAN]])


def test_pooled_features_and_extremes_leave_missing_values_out() -> None:
    data = payments()
    empty = Graph([[0.0, 1.0]] * 2, [(0, 1)], [[NAN]], schema=SCHEMA)
    pooled = PooledFeatures().fit(data)
    table = pooled.transform([*data.graphs, empty])
    assert np.isfinite(table).all()
    largest = pooled.names_.index("edge amount max")
    amounts = [graph.edge_features for graph in data.graphs]
    np.testing.assert_array_equal(table[:-1, largest], [np.nanmax(values) for values in amounts])
    assert table[-1, largest] == 0
    quantities = Quantities.of(data)
    found = quantities.transform([*data.graphs, empty])
    for number, column in enumerate(quantities.columns):
        assert not np.isnan([value for _, value in column.values]).any()
        if column.of == "edge" and column.sign > 0:
            np.testing.assert_array_equal(found[:-1, number], [np.nanmax(values) for values in amounts])
            assert found[-1, number] == MISSING
            for threshold in (500.0, 900.0):
                program = column.program(threshold, 1, directed=False)
                matches = match([program], [*data.graphs, empty])[:, 0]
                np.testing.assert_array_equal(matches, found[:, number] > threshold)


def test_mined_programs_match_where_the_reference_says() -> None:
    data = payments(16)
    mined = mine(data, verbose=False)
    assert len(mined)
    for k, one in enumerate(mined):
        expected = [matcher.matches(one.program, graph) for graph in data.graphs]
        np.testing.assert_array_equal(np.ravel(mined.supports[:, [k]].toarray()) > 0, expected)


def test_a_model_is_trained_saved_and_explained(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = payments()
    with caplog.at_level(logging.WARNING, logger="gdlnn"):
        model = GDLNNClassifier(head="linear").fit(data)
    assert "20 missing values in amount: they satisfy no condition" in caplog.messages
    probabilities = model.predict_proba(data)
    assert (model.predict(data) == data.y).mean() > 0.9
    represented = model.represent(data)
    for k, program in enumerate(model.programs_.programs[:40]):
        expected = [matcher.matches(program, graph) for graph in represented.graphs]
        np.testing.assert_array_equal(represented.matches[:, k], expected)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict_proba(data), probabilities)
    explanation = model.explain(data.graphs[0])
    json.dumps(explanation.to_json(), allow_nan=False)
