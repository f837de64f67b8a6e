"""The model file: the same model back, the same bytes again, and what bad files get."""

import contextlib
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from gdlnn import GDLNNClassifier, GraphDataset, Mined, Neighborhoods, load_model, make_ba_2motifs
from gdlnn.errors import ModelError
from reference.models import classifier


@pytest.fixture(scope="module")
def motifs() -> GraphDataset:
    return make_ba_2motifs(24, random_state=8)


@pytest.fixture(scope="module")
def model(motifs: GraphDataset) -> GDLNNClassifier:
    return classifier(
        epsilon=0.1,
        epochs=5,
        hidden=(8,),
        pooled=True,
        verbose=False,
        class_weight={0: 1.0, 1: 2.0},
    ).fit(motifs)


@pytest.fixture
def file(model: GDLNNClassifier, tmp_path: Path) -> Path:
    model.metrics_ = {"test": {"accuracy": 0.5}}
    model.save(tmp_path / "model.gdlnn")
    return tmp_path / "model.gdlnn"


def test_the_same_model_comes_back(model: GDLNNClassifier, motifs: GraphDataset, file: Path) -> None:
    loaded = load_model(file)
    np.testing.assert_array_equal(loaded.predict_proba(motifs), model.predict_proba(motifs))
    np.testing.assert_array_equal(loaded.transform(motifs), model.transform(motifs))
    assert loaded.programs_ == model.programs_
    assert loaded.schema_ == model.schema_
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.head_.history_ == model.head_.history_
    assert loaded.metrics_ == {"test": {"accuracy": 0.5}}
    assert loaded.choice_ == model.choice_
    assert str(loaded.get_params()) == str({**model.get_params(), "verbose": True})
    loaded.save(file.with_name("again.gdlnn"))
    assert file.read_bytes() == file.with_name("again.gdlnn").read_bytes()


def test_equal_seeds_give_equal_bytes(
    model: GDLNNClassifier, motifs: GraphDataset, file: Path, tmp_path: Path
) -> None:
    again = clone(model).set_params(n_jobs=2).fit(motifs)
    again.metrics_ = model.metrics_
    again.save(tmp_path / "again.gdlnn")
    assert file.read_bytes() == (tmp_path / "again.gdlnn").read_bytes()


def test_nothing_in_it_is_code(file: Path) -> None:
    with zipfile.ZipFile(file) as members:
        assert members.namelist() == ["model.json", "programs.json", "head.safetensors"]
        description = json.loads(members.read("model.json"))
        assert json.loads(members.read("programs.json"))["programs"][0]["nodes"]
    assert description["format"] == "gdlnn-model"
    assert len(description["fingerprint"]) == 64
    assert "checkpoint" not in description["parameters"]


def test_string_labels_and_a_linear_head(motifs: GraphDataset, tmp_path: Path) -> None:
    y = np.where(np.asarray(motifs.y) == 1, "house", "cycle")
    model = classifier(epsilon=0.1, head="linear", epochs=5, pooled=False, verbose=False)
    model.fit(motifs.graphs, y).save(tmp_path / "m.gdlnn")
    loaded = load_model(tmp_path / "m.gdlnn")
    assert loaded.predict(motifs).tolist() == model.predict(motifs).tolist()
    np.testing.assert_array_equal(loaded.head_.coef_, model.head_.coef_)


def test_a_head_that_is_not_ours_is_refused(motifs: GraphDataset, tmp_path: Path) -> None:
    model = classifier(epsilon=0.1, head=DecisionTreeClassifier(), verbose=False).fit(motifs)
    with pytest.raises(ModelError, match=r"got DecisionTreeClassifier.*joblib\.dump"):
        model.save(tmp_path / "m.gdlnn")
    assert not list(tmp_path.iterdir())


def rewrite(file: Path, change: Any) -> Path:
    """Write a copy whose members were changed."""
    with zipfile.ZipFile(file) as old:
        members = {name: old.read(name) for name in old.namelist()}
    change(members)
    copy = file.with_name("changed.gdlnn")
    with zipfile.ZipFile(copy, "w") as new:
        for name, data in members.items():
            new.writestr(name, data)
    return copy


def describe(members: dict[str, bytes], **changes: Any) -> None:
    members["model.json"] = json.dumps({**json.loads(members["model.json"]), **changes}).encode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: describe(m, version=2), "expected version 4 of the format, got 2"),
        (lambda m: describe(m, format="pickle"), "not a model file"),
        (lambda m: describe(m, kind="Forest"), "expected GDLNNClassifier or GDLNNRegressor, got 'Forest'"),
        (lambda m: describe(m, parameters={"speed": 3}), "got 'speed'"),
        (lambda m: describe(m, classes={"kind": "i", "values": [1]}), "two labels"),
        (lambda m: describe(m, pooled=None), "damaged"),
        (lambda m: describe(m, schema=3), "damaged"),
        (lambda m: m.pop("programs.json"), "damaged"),
        (lambda m: m.pop("model.json"), "another kind of zip file"),
        (lambda m: m.update({"programs.json": b'{"info": 3}'}), "damaged"),
        (lambda m: m.update({"programs.json": b"\xff"}), "damaged"),
        (lambda m: m.update({"head.safetensors": b"\x08"}), "damaged"),
        (lambda m: m.update({"head.safetensors": m["head.safetensors"][:-4]}), "damaged"),
        (lambda m: m.update({"model.json": b"{"}), "damaged"),
        (lambda m: m.update({"model.json": b"[1]"}), "not a model file"),
    ],
)
def test_changed_files_are_refused(file: Path, change: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        load_model(rewrite(file, change))


def test_truncated_corrupted_foreign_and_missing_files(file: Path, n_cases: float) -> None:
    data = file.read_bytes()
    copy = file.with_name("copy.gdlnn")
    for cut in (0, 10, len(data) // 2, len(data) - 5):
        copy.write_bytes(data[:cut])
        with pytest.raises(ModelError, match="damaged"):
            load_model(copy)
    rng = np.random.default_rng(0)
    for _ in range(int(10 * n_cases)):
        place = int(rng.integers(len(data)))
        flipped = bytes([data[place] ^ (1 + int(rng.integers(255)))])
        copy.write_bytes(data[:place] + flipped + data[place + 1 :])
        with contextlib.suppress(ModelError):  # where it is not read it may do no harm, but nothing else
            load_model(copy)
    copy.write_bytes(b"GDLNN" * 100)
    with pytest.raises(ModelError, match="damaged"):
        load_model(copy)
    with pytest.raises(ModelError, match="no such file"):
        load_model(file.with_name("nowhere"))


def test_several_sources_of_programs_are_stored(motifs: GraphDataset, tmp_path: Path) -> None:
    sources: list[Mined | Neighborhoods] = [Mined(epsilon=1.0), Neighborhoods(radius=1)]
    GDLNNClassifier(sources, "linear", verbose=False).fit(motifs).save(tmp_path / "m.gdlnn")
    assert repr(load_model(tmp_path / "m.gdlnn").vocabulary) == repr(sources)
