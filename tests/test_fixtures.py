"""Files that version 0.1 wrote load today and give what they gave then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from gdlnn import GraphDataset, PL4XGLClassifier, ProgramSet, __version__, load_model, mine
from gdlnn.cli import app

V01 = Path(__file__).parent / "fixtures" / "v0.1"
EXPECTED = json.loads((V01 / "expected.json").read_text())
INTERVALS: dict[str, Any] = {"nominal": "interval", "progress": False}
MODELS = [name for name in EXPECTED["models"] if name != "pl4xgl"]
# The last bits of a float32 product depend on torch's build and on the processor's instructions.
SAME_BITS = (EXPECTED["torch"], EXPECTED["cpu"]) == (
    torch.__version__,
    torch.backends.cpu.get_cpu_capability(),
)


def dataset(name: str) -> GraphDataset:
    return GraphDataset.load(V01 / f"{name}.gdlds")


def assert_same(found: Any, expected: list[list[str]]) -> None:
    values = np.array([[float.fromhex(text) for text in row] for row in expected])
    if SAME_BITS:
        np.testing.assert_array_equal(found, values)
    else:
        np.testing.assert_allclose(found, values, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_models_predict_the_same_bits(name: str) -> None:
    expected = EXPECTED["models"][name]
    model, data = load_model(V01 / f"{name}.gdlnn"), dataset(expected["data"])
    assert model.classes_.tolist() == expected["classes"]
    assert len(model.programs_) == expected["n_programs"]
    assert_same(model.predict_proba(data), expected["probabilities"])
    if expected["features"] is not None:
        features = [[float.fromhex(value) for value in row] for row in expected["features"]]
        np.testing.assert_array_equal(model.transform(data), features)


@pytest.mark.parametrize("name", MODELS)
def test_models_can_be_written_again(name: str, tmp_path: Path) -> None:
    model = load_model(V01 / f"{name}.gdlnn")
    model.save(tmp_path / "again.gdlnn")
    data = dataset(EXPECTED["models"][name]["data"])
    again = load_model(tmp_path / "again.gdlnn").predict_proba(data)
    np.testing.assert_array_equal(again, model.predict_proba(data))


def test_pl4xgl_says_the_same() -> None:
    expected = EXPECTED["models"]["pl4xgl"]
    data = dataset("motifs")
    model = PL4XGLClassifier(epsilon=0.1, progress=False).fit(data)
    assert model.predict(data).tolist() == expected["labels"]
    assert model.default_label_ == expected["default"]
    assert_same(model.predict_proba(data), expected["probabilities"])


def mined(name: str, **options: Any) -> ProgramSet:
    """Mine what a program file of the fixtures holds."""
    if name == "greedy":
        return mine(dataset("motifs"), epsilon=0.1, **INTERVALS, **options)
    if name == "sequential":
        return mine(dataset("motifs"), epsilon=0.1, strategy="sequential", **INTERVALS)
    if name == "molecules":
        return mine(dataset("molecules")[:20], epsilon="1%", **INTERVALS)
    if name == "directed":
        return mine(dataset("directed"), epsilon=0.1, connected=False, **INTERVALS)
    return mine(dataset("quantities"), epsilon=1, restarts=1, seed=7, **INTERVALS)


def without_words(file: Path) -> str:
    """Return a program file without the sentences above its programs, which may be said better every day.

    Today's version, which made the file, stands as that of the fixtures.
    """
    lines = file.read_text(encoding="utf-8").splitlines()
    sentences = ("// Graphs ", "// Molecules ", "// All ")
    lines[0] = lines[0].replace(f'"gdlnn": "{__version__}"', '"gdlnn": "0.1.0"')
    return "\n".join(line for line in lines if not line.startswith(sentences))


@pytest.mark.parametrize("name", ["greedy", "sequential", "molecules", "directed", "restarts"])
def test_mining_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    file = V01 / f"{name}.gdl"
    mined(name).save(tmp_path / "now.gdl")
    assert without_words(tmp_path / "now.gdl") == without_words(file)
    ProgramSet.load(file).save(tmp_path / "again.gdl")
    assert without_words(tmp_path / "again.gdl") == without_words(file)


def test_a_checkpoint_is_taken_up(tmp_path: Path) -> None:
    shutil.copy(V01 / "greedy.ckpt", tmp_path / "run.ckpt")
    mined("greedy", checkpoint=tmp_path / "run.ckpt").save(tmp_path / "now.gdl")
    assert without_words(tmp_path / "now.gdl") == without_words(V01 / "greedy.gdl")


@pytest.mark.parametrize(
    ("study", "folder", "written"),
    [
        ("accuracy", "results", "accuracy-paper"),
        ("ablation", "results", "ablation-repeated"),
        ("explain", "results-explain", "explain"),
    ],
)
def test_results_are_still_read(study: str, folder: str, written: str, tmp_path: Path) -> None:
    shutil.copytree(V01 / folder, tmp_path / folder)
    shutil.copy(V01 / "motifs.gdlds", tmp_path)
    out = tmp_path / folder
    # What was called gdlnn is version 0.1's default, gdlnn-v1 today.
    before = (out / f"{written}.csv").read_text().replace(",gdlnn,", ",gdlnn-v1,")
    (out / f"{written}.csv").unlink()
    options = {
        "accuracy": ["--methods", "majority,mlp,wl,pl4xgl,gdlnn-v1,gdlnn-paper", "--runs", "2"],
        "ablation": ["--runs", "1"],
        "explain": ["--methods", "gdlnn-v1,pl4xgl,gdlnn-paper", "--sample", "2"],
    }[study]
    data = str(V01 / "motifs.gdlds")
    command = ["evaluate", study, "--datasets", data, *options, "--out", str(out), "--tables-only"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert (out / f"{written}.csv").read_text() == before
