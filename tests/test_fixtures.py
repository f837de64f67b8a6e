"""Files that version 0.1 wrote load today and give what they gave then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gdlnn import GraphDataset, ProgramSet, __version__, load_model, mine
from gdlnn.explain.explainer import Explainer
from repro.pl4xgl import PL4XGLClassifier

V01 = Path(__file__).parent / "fixtures" / "v0.1"
EXPECTED = json.loads((V01 / "expected.json").read_text())
EXPLAINED = json.loads((V01 / "explained.json").read_text())
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


@pytest.mark.parametrize(("name", "way"), [(name, way) for name in EXPLAINED for way in EXPLAINED[name]])
def test_explanations_are_the_same(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Since version 0.2 Algorithm 2 removes nodes in canonical order, before in that of their numbers.
    monkeypatch.setattr(Explainer, "_removal_order", lambda _self, graph: np.arange(graph.n_nodes))
    model: Any
    if name == "pl4xgl":
        model = PL4XGLClassifier(epsilon=0.1, progress=False).fit(dataset("motifs"))
        found = model.explain(dataset("motifs").graphs[:3])
    else:
        model = load_model(V01 / f"{name}.gdlnn")
        graphs = dataset(EXPECTED["models"][name]["data"]).graphs[:3]
        technique, n_features = ("lime_contribution", way) if way in ("enough", "smallest") else (way, 3)
        found = model.explain(graphs, technique, n_features=n_features, seed=1)
    for explanation, expected in zip(found, EXPLAINED[name][way], strict=True):
        assert list(explanation.indices) == expected["indices"]
        assert list(explanation.nodes) == expected["nodes"]
        assert list(explanation.matched) == expected["matched"]
        np.testing.assert_allclose(explanation.weights, expected["weights"], rtol=1e-4, atol=1e-7)


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
