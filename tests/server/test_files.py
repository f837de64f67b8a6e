"""The server takes what `gdlnn predict` takes: every form of file, and folders of models."""

import csv
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from gdlnn import Graph, GraphDataset, load_smiles
from gdlnn.cli import main
from gdlnn.errors import ModelError
from gdlnn.graphs import Feature, Schema
from gdlnn.model.model_folder import load_models
from gdlnn.server.answers import Answers
from gdlnn.server.limits import Limits
from reference.models import quick
from reference.server_models import MOLECULES, check_answer, client_of, motifs_file

pytestmark = pytest.mark.usefixtures("small_heads")

ROWS = (("CCO", "café", "1"), ("C(", "bad", "2"), ("Nc1ccccc1", "aniline", "3"))
COLUMNS = ("SMILES", "name", "label")


@pytest.fixture(scope="module")
def client(served_model: Path) -> Iterator[TestClient]:
    with client_of(served_model) as started:
        yield started


def text_of(delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([COLUMNS, *ROWS])
    return text.getvalue()


def sent(client: TestClient, content: bytes, **options: str) -> dict[str, Any]:
    answer = client.post("/predict/file", params=options, content=content)
    assert answer.status_code == 200, answer.text
    check_answer(client, "Predict", answer.json())
    return dict(answer.json())


def csv_of(answer: dict[str, Any]) -> list[dict[str, str]]:
    """Return the table that the page saves: the client's columns, and those that are added."""
    names = answer["columns"] + [column["name"] for column in answer["added"]]
    return [
        dict(zip(names, [*row["cells"], *(cell(row, column) for column in answer["added"])], strict=True))
        for row in answer["rows"]
    ]


def cell(row: dict[str, Any], column: dict[str, Any]) -> str:
    name = row["name"] if row["error"] is None else ""
    each = row["predictions"].values() if "predictions" in row else [row]
    reasons = ["in the training set"] * any(one.get("seen") for one in each)
    reasons += [one["domain_reason"] for one in each if one.get("domain_reason")]
    reason = row["error"] or "; ".join(dict.fromkeys(reasons))
    own = {"row": row["row"], "id": name, "smiles": row["smiles"], "reason": reason}
    if column["model"] is None:
        value = own[column["value"]]
    else:
        found = row["predictions"][column["model"]] if "predictions" in row else row
        value = found.get(column["value"])
        value = value[column["code"]] if column["code"] is not None and value is not None else value
    if isinstance(value, float):
        value = float(f"{value:.4g}")
    return "" if value is None else str(value)


def predicted(model: Path, table: Path, *options: str) -> list[dict[str, str]]:
    """Return the table that `gdlnn predict` writes."""
    written = table.with_suffix(".out.csv")
    with pytest.raises(SystemExit) as ended:
        main(["predict", str(model), str(table), "-o", str(written), "-q", "-j", "1", *options])
    assert not ended.value.code
    with written.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("kind", ["csv", "tsv", "smi", "xlsx", "parquet", "csv.gz", "sdf"])
def test_every_form_gives_the_table_that_predict_writes(
    client: TestClient, served_model: Path, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"input.{kind}"
    write(path, kind)
    answer = sent(client, path.read_bytes(), kind=kind.removesuffix(".gz"))
    errors = [(row["error"] or "").partition(":")[0] for row in answer["rows"]]
    assert errors == ["", "not a SMILES", ""][: len(answer["rows"])]
    ours = csv_of(answer)
    assert ours == predicted(served_model, path)
    if kind != "smi" and kind != "sdf":
        assert list(ours[0])[:5] == ["SMILES", "name", "label", "row", "smiles"]
        assert ours[0]["name"] == "café"
        assert {"prediction", "probability", "domain"} < set(ours[0])


def write(path: Path, kind: str) -> None:
    if kind == "smi":
        path.write_text("".join(f"{smiles} {name}\n" for smiles, name, _ in ROWS), encoding="utf-8")
    elif kind == "sdf":
        from rdkit import Chem

        blocks = [Chem.MolToMolBlock(Chem.MolFromSmiles(ROWS[0][0])) + ">  <assay>\n7\n\n$$$$\n"]
        path.write_text("ethanol" + "".join(blocks), encoding="utf-8")
    elif kind in ("xlsx", "parquet"):
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("openpyxl" if kind == "xlsx" else "pyarrow")
        frame = pandas.DataFrame(ROWS, columns=COLUMNS)
        frame.to_excel(path, index=False) if kind == "xlsx" else frame.to_parquet(path)
    else:
        text = text_of("\t" if kind == "tsv" else ",").encode()
        path.write_bytes(gzip.compress(text) if kind.endswith(".gz") else text)


def test_a_saved_data_set_keeps_its_names(client: TestClient, tmp_path: Path) -> None:
    data = load_smiles(MOLECULES, label="active", id="id")
    data.save(tmp_path / "saved.jsonl")
    rows = sent(client, (tmp_path / "saved.jsonl").read_bytes(), kind="jsonl")["rows"]
    assert data.ids is not None
    assert [row["name"] for row in rows] == list(data.ids)


def test_latin_1_is_told_and_taken(client: TestClient) -> None:
    content = text_of().encode("latin-1")
    rows = sent(client, content, kind="csv")["rows"]
    assert rows[0]["error"].startswith("line 2: expected UTF-8 text, got invalid continuation byte; if")
    rows = sent(client, content, kind="csv", encoding="latin-1")["rows"]
    assert rows[0]["name"] == "café"
    header = "smiles,é\nCCO,1\n".encode("latin-1")
    refused = client.post("/predict/file", params={"kind": "csv"}, content=header)
    assert refused.status_code == 422
    assert "if the table is in Latin-1" in refused.json()["error"]
    refused = client.post("/predict/file", params={"kind": "csv", "encoding": "klingon"}, content=content)
    assert "expected the name of an encoding" in refused.json()["error"]


@pytest.mark.parametrize(
    ("kind", "content"),
    [("xlsx", b"PK\x03\x04"), ("parquet", b"PAR1xxxxPAR1"), ("csv", b"\x1f\x8b0")],
)
def test_damaged_files_are_told(client: TestClient, kind: str, content: bytes) -> None:
    refused = client.post("/predict/file", params={"kind": kind}, content=content)
    assert refused.status_code == 422, refused.text
    assert "input." in refused.json()["error"]


def test_the_schema_of_a_file_is_checked_as_predict_checks_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = motifs_file(tmp_path)[1]
    colors = Schema(node=(Feature("color", "nominal", {0.0: "red", 1.0: "blue"}),))
    graphs = [Graph(np.ones((graph.n_nodes, 1)), graph.edges) for graph in data.graphs]
    model = quick().fit(GraphDataset(graphs, data.y, colors))
    model.save(tmp_path / "colors.gdlnn")
    others = {
        "permuted": Schema(node=(Feature("color", "nominal", {1.0: "red", 0.0: "blue"}),)),
        "renamed": Schema(node=(Feature("size", "nominal", {0.0: "red", 1.0: "blue"}),)),
    }
    answers = Answers({"": model}, Limits())
    for name, schema in others.items():
        other = GraphDataset(graphs[:3], None, schema)
        path = tmp_path / f"{name}.jsonl"
        other.save(path)
        with pytest.raises(ModelError) as refused:
            answers.predict_file(path.read_bytes(), kind="jsonl", smiles=None, id=None, encoding="utf-8")
        words = [str(tmp_path / "colors.gdlnn"), str(path), "-o", str(tmp_path / "out.csv")]
        with pytest.raises(SystemExit) as ended:
            main(["predict", *words, "-q"])
        assert ended.value.code == 2
        assert str(refused.value) in " ".join(capsys.readouterr().err.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of two models, for the labels "has O" and "N"."""
    place = tmp_path_factory.mktemp("folder")
    smiles = [f"{'C' * n}{end}" for n in range(2, 8) for end in ("O", "N", "OC", "NC", "Cl", "F")]
    with (place / "mine.csv").open("w", newline="") as file:
        rows = [(text, int("O" in text), "yes" if "N" in text else "no") for text in smiles]
        csv.writer(file).writerows([("structure", "has O", "N"), *rows])
    options = ("--smiles", "structure", "--label", "has O,N", "-j", "1", "-q", "--head", "linear")
    with pytest.raises(SystemExit) as ended:
        main(["train", str(place / "mine.csv"), "-o", str(place / "models"), *options])
    assert not ended.value.code
    return place / "models"


@pytest.fixture(scope="module")
def labels(folder: Path) -> Iterator[TestClient]:
    with client_of(folder) as started:
        yield started


def test_a_folder_predicts_every_label(labels: TestClient, folder: Path) -> None:
    answer = labels.post("/predict", json={"smiles": ["CCCO", "C(", "CCCN"]}).json()
    check_answer(labels, "Predict", answer)
    assert [item["model"] for item in answer["models"]] == ["has O", "N"]
    for place, row in ((0, "CCCO"), (2, "CCCN")):
        for label, model in load_models(folder).items():
            found = answer["rows"][place]["predictions"][label]
            assert found["label"] == model.predict([row]).tolist()[0]
            assert found["probability"] == pytest.approx(model.predict_proba([row]).max(), abs=1e-6)
    assert answer["rows"][1]["error"].startswith("not a SMILES")
    assert "label" not in answer["rows"][0]


def test_a_folder_gives_the_table_that_predict_writes(
    labels: TestClient, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "input.csv"
    path.write_text("structure,note\nCCO,a\nC(,b\nCCN,c\n")
    assert csv_of(sent(labels, path.read_bytes(), kind="csv")) == predicted(folder, path)


def test_a_label_of_a_folder_is_explained(labels: TestClient, folder: Path) -> None:
    described = labels.get("/model").json()
    check_answer(labels, "Model", described)
    assert [(item["model"], len(item["classes"])) for item in described["models"]] == [("has O", 2), ("N", 2)]
    assert described["name"] == "models"
    found = labels.post("/explain", json={"smiles": "CCCN", "model": "N"}).json()
    assert found["class_name"] == load_models(folder)["N"].predict(["CCCN"]).tolist()[0]
    refused = labels.post("/explain", json={"smiles": "CCCN"})
    assert refused.json()["error"] == "model: expected one of has O, N, got none"
    refused = labels.post("/explain", json={"smiles": "CCCN", "model": "S"})
    assert refused.json()["error"] == "model: expected one of has O, N, got 'S'"
