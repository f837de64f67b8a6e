"""Stored models answer as they did when they were stored: labels, nodes and text exactly, floats to 1e-9."""

import gzip
import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from gdlnn import load_model
from gdlnn.server import make_app
from golden.cases import (
    CASES,
    OPENAPI,
    TOLERANCE,
    TRAINED,
    answer_file,
    answers,
    differences,
    model_file,
    trained_on_mutag,
)

PUBLIC = [name for name, case in CASES.items() if case.public]
OWN = [name for name, case in CASES.items() if not case.public]


def assert_as_stored(name: str, folder: Path) -> None:
    case = CASES[name]
    _, inputs = case.data(folder)
    found = json.loads(json.dumps(answers(case, load_model(model_file(name)), inputs)))
    stored = json.loads(gzip.decompress(answer_file(name).read_bytes()))
    if TOLERANCE > 1e-9:  # the last bits of features depend on the processor
        del found["features"], stored["features"]
    assert differences(found, stored) == []


@pytest.mark.data
@pytest.mark.parametrize("name", PUBLIC)
def test_stored_models_answer_the_same_about_public_data(name: str, data_dir: Path) -> None:
    assert_as_stored(name, data_dir)


@pytest.mark.parametrize("name", OWN)
def test_stored_models_answer_the_same_about_made_graphs(name: str) -> None:
    assert_as_stored(name, Path())


@pytest.mark.data
def test_the_papers_recipe_and_pl4xgl_train_to_the_same_predictions(data_dir: Path, n_cases: float) -> None:
    found = trained_on_mutag(data_dir, 1 if n_cases == 1 else 3)
    stored = json.loads(TRAINED.read_text())
    assert differences(found, {name: stored[name] for name in found}) == []


def test_the_server_describes_itself_the_same() -> None:
    client = TestClient(make_app("no model is needed"), "http://127.0.0.1")  # no worker is started
    found = client.get("/openapi.json").json()
    assert differences(found, json.loads(OPENAPI.read_text())) == []
