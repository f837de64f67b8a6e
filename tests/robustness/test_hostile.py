"""Hostile files: flipped bits, bombs, lying sizes and shapes, foreign versions, and what hypothesis finds."""

import json
import random
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.readers import PIECES, TARGETS, seeds
from gdlnn import GDLNNError, ProgramSet, load_model, mine
from gdlnn.errors import DatasetError, MiningError, ModelError
from gdlnn.io import bounded
from gdlnn.io.bounded import BadArchiveError, checked_archive, read_members
from gdlnn.mining import program_files
from reference.mining_cases import random_trees

MODEL = Path(__file__).parents[1] / "golden" / "payments-paper.gdlnn"
FLIPS = 400
MB = 1 << 20


def test_a_flipped_bit_is_an_error_or_changes_nothing(tmp_path: Path, n_cases: float) -> None:
    """400 bits of a model file, 10,000 in the long run."""
    data, rng = MODEL.read_bytes(), random.Random(0)
    file, again = tmp_path / "m.gdlnn", tmp_path / "again.gdlnn"
    load_model(MODEL).save(again)
    expected = again.read_bytes()
    harmless = 0
    for _ in range(int(FLIPS * n_cases)):
        place, bit = rng.randrange(len(data)), rng.randrange(8)
        changed = bytearray(data)
        changed[place] ^= 1 << bit
        file.write_bytes(changed)
        try:
            loaded = load_model(file)
        except ModelError:
            continue
        loaded.save(again)
        assert again.read_bytes() == expected, f"bit {bit} of byte {place}"
        harmless += 1
    assert harmless < FLIPS * n_cases / 10  # most of a file is content


def zipped(path: Path, content: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in content.items():
            file.writestr(name, data)
    return path


def test_bombs_are_refused_before_they_go_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "FREE_BYTES", MB)
    bomb = zipped(tmp_path / "bomb", {"model.json": b"{}", "programs.json": bytes(60 * MB)})
    assert bomb.stat().st_size < MB // 4
    tracemalloc.start()
    with pytest.raises(ModelError, match=r"claims [\d,]+ bytes of content"):
        load_model(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 70 * MB  # what making the bomb took here


def test_archives_that_are_read_bit_by_bit_are_checked_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded, "FREE_BYTES", MB)
    with checked_archive(zipped(tmp_path / "fine", {"a": b"1" * 1000}), 2000) as archive:
        assert archive.read("a") == b"1" * 1000
    for content, most in (({"a": b"1" * 3000}, 2000), ({"a": bytes(20 * MB)}, 100 * MB)):
        path = zipped(tmp_path / "bomb", content)
        with pytest.raises(BadArchiveError, match="bytes of content"), checked_archive(path, most):
            pass
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(BadArchiveError), checked_archive(tmp_path / "text", MB):
        pass
    with pytest.raises(GDLNNError), checked_archive(tmp_path / "fine", MB):
        raise DatasetError("of the reader")
    with pytest.raises(BadArchiveError, match="missing"), checked_archive(tmp_path / "fine", MB) as archive:
        archive.open("missing")


def test_a_size_that_lies_does_not_unpack_more(tmp_path: Path) -> None:
    path = zipped(tmp_path / "lie", {"model.json": bytes(50 * MB)})
    data = bytearray(path.read_bytes())
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = struct.pack("<I", 100)  # claims 100 bytes
    path.write_bytes(data)
    tracemalloc.start()
    with pytest.raises(ModelError, match="damaged"):
        load_model(path)
    assert tracemalloc.get_traced_memory()[1] < 5 * MB
    tracemalloc.stop()


def test_names_that_point_elsewhere_write_nothing(tmp_path: Path) -> None:
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    with zipfile.ZipFile(MODEL) as file:
        content = {name: file.read(name) for name in file.namelist()}
    path = zipped(inside / "m", {**content, "../../evil.txt": b"x", "/tmp/evil.txt": b"x"})
    assert load_model(path).classes_.tolist() == load_model(MODEL).classes_.tolist()  # never unpacked
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a", "b", "m"]


def test_twins_and_other_methods_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "twins", "w") as file:
        file.writestr("a", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("a", b"2")
    with pytest.raises(BadArchiveError, match="the same name"):
        read_members(tmp_path / "twins", 100)
    with pytest.raises(BadArchiveError, match="another compression method"):
        read_members(zipped(tmp_path / "lzma", {"a": b"1"}, zipfile.ZIP_LZMA), 100)
    with pytest.raises(BadArchiveError, match="at most 2 bytes of content, got 3"):
        read_members(zipped(tmp_path / "long", {"a": b"123"}), 2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),  # the control: what is packed anew is sound without a change
        ({"version": 2}, "expected version 4 of the format, got 2; train the model again"),
        ({"batch_size": 3}, "expected parameters of GDLNNClassifier, got 'batch_size'"),
        ({"classes": {"kind": "i", "values": [1, 1]}}, "classes: expected different labels"),
        ({"classes": {"kind": "f", "values": [1.0, float("nan")]}}, "classes: expected different labels"),
        ({"activation": "magic"}, "activation 'magic'"),
        ({"dataset": "\ud800"}, "half of a surrogate pair"),
        ({"schema": {"node": [], "edge": [], "classes": []}}, "schema: expected the features"),
        ({"checkpoint": "/tmp/anywhere"}, "expected parameters of GDLNNClassifier, got 'checkpoint'"),
        ({"n_jobs": 10**6}, "expected parameters of GDLNNClassifier, got 'n_jobs'"),
        ({"head": {"hidden": [1] * 10_000}}, "expected at most 4,096 layers in the head, got more"),
        ({"head": {"hidden": [10**9]}}, r"expected float\d+ of shape \(.*10{9}"),
        ({"head": {"hidden": [10**9, 10**9]}}, "unexpected weights"),
        ({"head": {"hidden": [-1]}}, "hidden: expected sizes of at least 1"),
        ({"head": {"hidden": [0] * 10_000}}, "hidden: expected sizes of at least 1"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_model_that_claims_what_cannot_be(
    tmp_path: Path, changes: dict[str, Any], words: str | None
) -> None:
    with zipfile.ZipFile(MODEL) as file:
        content = {name: file.read(name) for name in file.namelist()}
    found = json.loads(content["model.json"])
    if "head" in changes:
        changes = {"head": {**found["parameters"]["head"], **changes["head"]}}
    if not set(changes) <= set(found):
        changes = {"parameters": {**found["parameters"], **changes}}
    path = zipped(tmp_path / "m", {**content, "model.json": json.dumps({**found, **changes}).encode()})
    if words is None:
        assert load_model(path).classes_.tolist() == load_model(MODEL).classes_.tolist()
        return
    with pytest.raises(ModelError, match=words):
        load_model(path)


def test_a_set_of_programs_that_claims_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    text = mine(random_trees(12)).to_text()
    huge = text.replace('"n_graphs": 12', f'"n_graphs": {10**12}')
    assert huge != text
    with pytest.raises(MiningError, match="expected at most"):
        ProgramSet.from_text(huge, "p.jsonl")
    monkeypatch.setattr(program_files, "MAX_MATCHES", 11)
    with pytest.raises(MiningError, match="expected at most 11"):
        ProgramSet.from_text(text, "p.jsonl")


def test_a_checkpoint_whose_records_lie(tmp_path: Path) -> None:
    path, trees = tmp_path / "run", random_trees(12)
    mine(trees, checkpoint=path)
    header, first, *_ = path.read_bytes().splitlines(keepends=True)
    sound = json.loads(first)
    lies: list[dict[str, Any]] = [
        {"task": 12},
        {"task": -1},
        {"task": "0"},
        {"support": "0-99999999999"},
        {"support": 3},
        {"score": None},
        {"seconds": "x"},
        {"program": {}},
        {"more": 1},
    ]
    for changes in lies:
        path.write_bytes(header + json.dumps({**sound, **changes}).encode() + b"\n")
        with pytest.raises(MiningError, match="is damaged"):
            mine(trees, checkpoint=path)
    path.write_bytes(header + b"[" * 10**6 + b"\n" + first)
    with pytest.raises(MiningError, match="is damaged"):
        mine(trees, checkpoint=path)


edits = st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 40), st.binary(max_size=12)), max_size=4)


def damaged(target: str) -> st.SearchStrategy[bytes]:
    """Draw sound inputs with pieces replaced, and now and then mere bytes."""
    sound = seeds(target)
    words = st.sampled_from(PIECES)

    def change(seed: bytes, where: list[tuple[int, int, bytes]], word: bytes) -> bytes:
        for place, length, new in where:
            at = place % (len(seed) + 1)
            seed = seed[:at] + (new if place % 3 else word) + seed[at + length :]
        return seed

    return st.builds(change, st.sampled_from(sound), edits, words) | st.binary(max_size=200)


def check(target: str) -> Callable[[bytes], None]:
    @given(damaged(target))
    def test(data: bytes) -> None:
        assert TARGETS[target](data) in ("read", "refused")

    return test


test_gdl_text_with_pieces_replaced = check("gdl")
test_tu_folders_with_pieces_replaced = check("tu")
test_model_files_with_pieces_replaced = check("model")
test_json_lines_with_pieces_replaced = check("jsonl")
test_tables_with_pieces_replaced = check("table")
test_excel_files_with_pieces_replaced = check("xlsx")
test_parquet_files_with_pieces_replaced = check("parquet")
test_sdf_files_with_pieces_replaced = check("sdf")
