"""The server's API: predictions, files, explanations, what the model expects, and readable refusals."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from gdlnn import Graph, GraphDataset, load_model, load_smiles, make_ba_2motifs
from gdlnn.explain import counterfactual
from gdlnn.graphs import Feature, Schema
from gdlnn.server import make_app
from gdlnn.server.answers import Answers
from gdlnn.server.bodies import ExplainBody, PredictBody
from gdlnn.server.limits import Limits
from reference.models import quick
from reference.server_models import MOLECULES, check_answer, client_of, motifs_file


@pytest.fixture(scope="module")
def molecules(served_model: Path) -> tuple[Path, GraphDataset]:
    return served_model, load_smiles(MOLECULES, label="active", id="id")


@pytest.fixture(scope="module")
def client(molecules: tuple[Path, GraphDataset]) -> Iterator[TestClient]:
    limits = Limits(nodes=60, batch=250, body_bytes=200_000)
    with client_of(molecules[0], limits, hosts=("127.0.0.1",)) as started:
        yield started


@pytest.fixture(scope="module")
def motifs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, Any, GraphDataset]]:
    path, test = motifs_file(tmp_path_factory.mktemp("motifs"))
    with client_of(path) as started:
        yield started, load_model(path), test


def test_predictions_are_those_of_the_model(client: TestClient, molecules: tuple[Path, GraphDataset]) -> None:
    path, data = molecules
    model = load_model(path)
    answer = client.post("/predict", json={"smiles": data.smiles}).json()
    proba = model.predict_proba(data)
    assert [row["label"] for row in answer["rows"]] == model.predict(data).tolist()
    assert np.allclose([row["probabilities"] for row in answer["rows"]], proba)
    assert [row["seen"] for row in answer["rows"]] == model.seen(data)
    assert [row["domain"] for row in answer["rows"]] == [where.domain for where in model.domain(data)]
    assert [c["label"] for c in answer["classes"]] == model.classes_.tolist()
    assert len({row["label"] for row in answer["rows"]}) == 2


def test_rows_that_do_not_parse_keep_their_place(client: TestClient) -> None:
    rows = client.post("/predict", json={"smiles": ["CCO", "C(C", "c1ccccc1N", "C" * 61]}).json()["rows"]
    assert [row["error"] is None for row in rows] == [True, False, True, False]
    assert rows[1]["error"] == "not a SMILES: extra open parentheses at position 2"
    assert rows[3]["error"] == "expected 1 to 60 atoms, got 61"
    assert [row["row"] for row in rows] == [1, 2, 3, 4]


def test_a_table_with_another_column_and_bad_rows(client: TestClient) -> None:
    text = "what;structure\na;CCO\nb;nonsense\n"
    wanted = {"kind": "csv", "smiles": "structure", "id": "what"}
    rows = client.post("/predict/file", params=wanted, content=text).json()["rows"]
    assert [row["name"] for row in rows] == ["a", "b"]
    assert rows[0]["error"] is None
    assert rows[1]["error"].startswith("not a SMILES")
    refused = client.post("/predict/file", params={"kind": "csv"}, content=text)
    assert refused.status_code == 422
    assert refused.json()["error"] == "input.csv: expected a column called smiles, got what, structure"


def test_an_explanation_is_that_of_the_model(
    client: TestClient, molecules: tuple[Path, GraphDataset]
) -> None:
    path, data = molecules
    model = load_model(path)
    for row in (1, 5, 9):
        answer = client.post("/explain", json={"smiles": data.smiles[row]}).json()
        expected = model.explain(data.graphs[row], n_reasons=4)
        assert answer["prediction"] == expected.prediction
        assert answer["probability"] == pytest.approx(expected.probability)
        shown = [(p["words"], p["gdl"], tuple(p["witness"])) for p in answer["programs"]]
        assert shown == [(term.name, str(term.program), term.places[0]) for term in expected.listed]
        assert [p["weight"] for p in answer["programs"]] == pytest.approx(
            [term.weight for term in expected.listed]
        )
        behind = [[one["index"] for one in p["behind"]] for p in answer["programs"]]
        assert behind == [[one.column for one in term.terms] for term in expected.listed]
        assert answer["nodes"] == list(expected.nodes)
        assert answer["n_nodes"] == answer["n_shown"] == data.graphs[row].n_nodes
        assert "class='pic molecule'" in answer["picture"]
        assert all("<svg" in p["diagram"] for p in answer["programs"])
        found = counterfactual(model, data.graphs[row], max_nodes=min(8, data.graphs[row].n_nodes - 1))
        assert answer["counterfactual"]["found"] == (found is not None)
        alone = answer["enough"]
        if alone["found"]:
            assert model.predict([data.graphs[row].subgraph(alone["nodes"])])[0] == answer["prediction"]
        assert answer["counterfactual"]["nodes"] == ([] if found is None else list(found.nodes))


def test_options_of_an_explanation(client: TestClient) -> None:
    asked = {"smiles": "Nc1ccccc1", "n_programs": 2}
    asked |= {"enough": False, "counterfactual": False}
    answer = client.post("/explain", json=asked | {"target": "yes"}).json()
    assert answer["target"] == "yes"
    assert len(answer["programs"]) <= 2
    assert answer["counterfactual"] is None
    assert answer["enough"] is None
    refused = client.post("/explain", json=asked | {"target": "perhaps"})
    assert (refused.status_code, refused.json()["error"]) == (
        422,
        "target: expected one of no, yes, got 'perhaps'",
    )


def test_techniques_that_take_long_are_not_offered(client: TestClient) -> None:
    refused = client.post("/explain", json={"smiles": "CCO", "technique": "kernel_shap"})
    assert (refused.status_code, refused.json()["error"]) == (
        422,
        "technique: Extra inputs are not permitted",
    )


def test_a_molecule_outside_what_was_learned_is_told(client: TestClient) -> None:
    answer = client.post("/explain", json={"smiles": "[Xe]"}).json()
    reason = "contains an element that no training molecule has: Xe"
    assert (answer["seen"], answer["domain"], answer["domain_reason"]) == (False, "outside", reason)
    assert reason in answer["warning"]
    (row,) = client.post("/predict", json={"smiles": "[Xe]"}).json()["rows"]
    assert (row["seen"], row["domain"], row["domain_reason"]) == (False, "outside", reason)


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("C(C", "C(C: not a SMILES"),
        ("C(C)(C)(C)(C)C", "Explicit valence for atom # 0 C"),
        ("", "empty SMILES"),
        ("C" * 61, "expected 1 to 60 atoms, got 61"),
        ("C" * 20_000, "expected a SMILES of at most 10,000 characters, got 20,000"),
    ],
)
def test_a_bad_smiles_is_answered_readably(client: TestClient, smiles: str, reason: str) -> None:
    refused = client.post("/explain", json={"smiles": smiles})
    assert refused.status_code == 422
    assert reason in refused.json()["error"]


def test_graphs_as_json_are_predicted_and_explained(motifs: tuple[TestClient, Any, GraphDataset]) -> None:
    client, model, test = motifs
    bodies = [graph.to_json() for graph in test.graphs]
    rows = client.post("/predict", json={"graphs": bodies}).json()["rows"]
    assert [row["label"] for row in rows] == model.predict(test).tolist()
    answer = client.post("/explain", json={"graph": bodies[0]}).json()
    assert "class='pic plain'" in answer["picture"]
    assert answer["class_name"] in ("house", "cycle")


def test_graphs_of_a_file_are_predicted(motifs: tuple[TestClient, Any, GraphDataset], tmp_path: Path) -> None:

    client, model, test = motifs
    test.save(tmp_path / "test.jsonl")
    content = (tmp_path / "test.jsonl").read_bytes()
    rows = client.post("/predict/file", params={"kind": "jsonl"}, content=content).json()["rows"]
    assert [row["label"] for row in rows] == model.predict(test).tolist()


def test_a_model_of_graphs_says_what_it_expects(motifs: tuple[TestClient, Any, GraphDataset]) -> None:
    client, model, _ = motifs
    described = client.get("/model").json()
    expects = described["expects"]
    assert (expects["smiles"], expects["files"], expects["directed"]) == (False, ["jsonl"], False)
    assert len(expects["node_features"]) == model.programs_.info.n_node_features
    assert expects["in_words"].startswith("Graphs, undirected, as JSON, or JSON Lines")
    refused = client.post("/predict", json={"smiles": "CCO"})
    assert refused.status_code == 422
    assert (
        "this model was not trained on molecules read from SMILES; it expects graphs"
        in (refused.json()["error"])
    )
    for kind in ("csv", "sdf"):
        assert client.post("/predict/file", params={"kind": kind}, content="x").status_code == 422


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ({"nodes": [[1.0, 2.0, 3.0]], "edges": []}, "got 3"),
        ({"nodes": [], "edges": []}, "expected 1 to 500 nodes, got 0"),
        ({"nodes": [[1.0]] * 2, "edges": [[0, 5]]}, "expected nodes from 0 to 1, got node 5"),
        ({"nodes": [[1.0]] * 501, "edges": []}, "expected 1 to 500 nodes, got 501"),
        ({"nodes": [[1.0], [1.0, 2.0]], "edges": []}, "expected a matrix of numbers"),
    ],
)
def test_a_bad_graph_is_answered_readably(
    motifs: tuple[TestClient, Any, GraphDataset], graph: dict[str, Any], reason: str
) -> None:
    refused = motifs[0].post("/explain", json={"graph": graph})
    assert refused.status_code == 422
    assert reason in refused.json()["error"]
    rows = motifs[0].post("/predict", json={"graphs": [graph]}).json()["rows"]
    assert reason in rows[0]["error"]


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"", 400, "body: Invalid JSON"),
        (b"{", 400, "body: Invalid JSON"),
        (b'{"smiles": "\\ud800"}', 400, "body: Invalid JSON"),
        (json.dumps({f"a{i}": 1 for i in range(9999)}).encode(), 422, "expected at most 20 keys, got 9999"),
        (b'{"graphs": [{"nodes": [' + b'"",' * 50_000 + b'""]}]}', 422, "graphs.0.nodes"),
        (b"[]", 422, "body: "),
        (b"{}", 422, "expected either smiles or graphs"),
        (b'{"smiles": []}', 422, "expected at least one graph, got none"),
        (b'{"smiles": ["C"], "path": "/etc/passwd"}', 422, "path: Extra inputs are not permitted"),
        (b'{"smiles": 3}', 422, "smiles"),
        (b'{"graphs": [{"nodes": [[NaN]], "edges": []}]}', 422, "finite"),
        (b'{"graphs": [{"nodes": [[1e999]], "edges": []}]}', 422, "finite"),
        (b'{"graphs": [{"nodes": [[' + b"9" * 400 + b']], "edges": []}]}', 422, ""),
        (b'{"graphs": [{"nodes": [[1]], "edges": [[0.5, 1]]}]}', 422, "edges"),
        (b'{"smiles": "' + b"C" * 250_000 + b'"}', 413, "body: expected at most 200,000 bytes, got more"),
        (b"[" * 150_000, 400, ""),
        (b'{"smiles":' + b'{"a":' * 30_000, 400, ""),
        (json.dumps({"smiles": ["C"] * 251}).encode(), 422, "expected at most 250 graphs in one request"),
    ],
)
def test_what_cannot_be_is_refused(client: TestClient, body: bytes, status: int, reason: str) -> None:
    refused = client.post("/predict", content=body, headers={"content-type": "application/json"})
    assert refused.status_code == status, refused.text
    assert reason in refused.json()["error"]
    assert set(refused.json()) == {"error"}


def test_files_that_cannot_be_are_refused(client: TestClient) -> None:
    cases = {
        ("csv", b""): "expected a header line",
        ("csv", b"smiles\n"): "expected at least one row",
        ("csv", b"smi\rles\n"): "new-line character",
        ("csv", b"smiles\n" + b"C\n" * 251): "expected at most 250 graphs",
        ("csv", b"\xff\xfe\x00"): "expected UTF-8 text, got UTF-16",
        ("csv", b"smiles\n\x00\n"): "expected text, got binary data",
        ("sdf", b"\x80\x04pickle"): "expected at least one row that parses, got none of 1",
        ("sdf", b"$$$$\n" * 251): "expected at most 250 graphs",
        ("jsonl", b"[1]\n"): "got none of 1: line 1: expected a JSON object, got list",
        ("jsonl", b'{"nodes": [[' + b"9" * 500 + b']], "edges": []}\n'): "",
        ("jsonl", b'{"schema": {"node": 3}}\n{"nodes": [1], "edges": []}\n'): "schema",
    }
    for (kind, content), reason in cases.items():
        refused = client.post("/predict/file", params={"kind": kind}, content=content)
        assert refused.status_code == 422, (kind, content[:40], refused.text)
        assert reason in refused.json()["error"], refused.text
    assert client.post("/predict/file", params={"kind": "pickle"}, content=b"x").status_code == 422


def test_other_addresses_and_methods(client: TestClient) -> None:
    assert client.get("/predict").status_code == 405
    assert client.get("/../../etc/passwd").status_code == 404
    assert client.get("/docs").status_code == 404
    elsewhere = client.get("/health", headers={"host": "evil.example"})
    assert elsewhere.status_code == 400


def test_a_server_answers_under_its_addresses_and_its_own_names() -> None:
    app = make_app("no model is needed", hosts=("localhost", "models.example"))  # no worker is started
    client = TestClient(app)
    own = ["127.0.0.1", "127.0.0.2:8000", "localhost:8000", "LOCALHOST", "[::1]:8000", "models.example"]
    others = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", "[::2].org", ""]
    for hosts, status in ((own, 200), (others, 400)):
        for host in hosts:
            answer = client.get("/openapi.json", headers={"host": host})
            assert answer.status_code == status, host
            assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_model_is_described(client: TestClient, molecules: tuple[Path, GraphDataset]) -> None:
    model = load_model(molecules[0])
    described = client.get("/model").json()
    assert described["name"] == "molecules"
    assert described["n_programs"] == len(model.programs_)
    assert described["expects"]["smiles"] is True
    assert described["limits"]["nodes"] == 60
    assert [c["label"] for c in described["classes"]] == ["no", "yes"]
    assert len(described["programs"]) == min(10, len(model.programs_))
    for example in described["examples"]:
        assert client.post("/explain", json={"smiles": example["smiles"]}).status_code == 200


def test_nothing_comes_from_elsewhere(client: TestClient) -> None:
    for path in ("/", "/api", "/page.css", "/page.js"):
        answer = client.get(path)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        links = re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?([^\"')\s>]+)", answer.text)
        assert not [link for link in links if re.match(r"https?:|//", link)]
        assert "http://" not in answer.text.replace("http://www.w3.org/2000/svg", "")


def _without_words(schema: Any) -> Any:
    """Return a schema without what only people read."""
    if isinstance(schema, list):
        return [_without_words(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    words = ("title", "description", "examples", "oneOf")
    return {key: _without_words(value) for key, value in schema.items() if key not in words}


def test_the_document_describes_what_is_checked(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    for body in (PredictBody, ExplainBody):
        schema = body.model_json_schema(ref_template="#/components/schemas/{model}")
        for name, expected in (schema.pop("$defs") | {body.__name__: schema}).items():
            assert _without_words(document["components"]["schemas"][name]) == _without_words(expected)
    app: Any = make_app("no model is needed").app
    made = get_openapi(title="", version="", routes=[r for r in app.routes if isinstance(r, APIRoute)])
    files = [_without_words(one["paths"]["/predict/file"]["post"]["parameters"]) for one in (document, made)]
    assert files[0] == files[1]
    assert set(made["paths"]) == set(document["paths"])


def test_answers_are_as_the_document_says(client: TestClient) -> None:
    check_answer(client, "Model", client.get("/model").json())
    check_answer(client, "Health", client.get("/health").json())
    check_answer(client, "Error", client.post("/predict", json={}).json())
    check_answer(client, "Predict", client.post("/predict", json={"smiles": ["CCO", "("]}).json())
    check_answer(client, "Explain", client.post("/explain", json={"smiles": "Nc1ccccc1"}).json())


def test_molecules_are_read_as_in_training_and_structure_is_computed() -> None:
    data = load_smiles(MOLECULES, label="active", id="id", fragments="largest")
    model = quick().fit(data)
    answers = Answers({"": model}, Limits())
    salt = answers.predict(b'{"smiles": ["Nc1ccccc1.[Na+].[Cl-]", "Nc1ccccc1"]}')["rows"]
    assert salt[0]["probabilities"] == salt[1]["probabilities"]
    motifs = make_ba_2motifs(20, random_state=1)
    plain = [Graph(np.zeros((graph.n_nodes, 1)), graph.edges) for graph in motifs.graphs]
    schema = Schema(node=(Feature("color", "nominal"),))
    model = quick().fit(GraphDataset(plain, motifs.y, schema))
    assert model.programs_.info.n_node_features == 3
    asked = {"nodes": [[0.0]] * plain[0].n_nodes, "edges": plain[0].edges.tolist()}
    answers = Answers({"": model}, Limits())
    assert [feature["name"] for feature in answers.describe()["expects"]["node_features"]] == ["color"]
    (row,) = answers.predict(json.dumps({"graphs": [asked]}).encode())["rows"]
    assert row["error"] is None
    assert row["probabilities"] == model.predict_proba([plain[0]])[0].tolist()
