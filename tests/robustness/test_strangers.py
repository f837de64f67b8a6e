"""What strangers hand over: readers answer mutations of good files with our own errors and nothing else."""

import copy
import importlib
import io
import json
import random
import sys
import types
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.readers import TARGETS as READERS
from fuzz.readers import crafted, sound_files
from gdlnn import ProgramSet, Schema
from gdlnn.datasets.load import read_split
from gdlnn.errors import GDLNNError, GraphError, MiningError, MissingExtraError, require
from gdlnn.graphs import Feature
from gdlnn.mining.descents import TaskResult

ENDS = ("read", "refused")
NOT_JSON = ("tu", "sdf", "table", "gdl", "xlsx", "parquet")
DEEP = "[" * 100_000
STRANGE: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**63, 2**70, -(2**70), 1e30, 1e39, 1e308, -1e308,
    float("nan"), float("inf"), 1.5, "", "no", "nan", "\0", "a\0", "\x1b[2J", "1_0", [], [[]], [None], {},
    {"a": 1}, "x" * 1000, [2**70], ["a", 1],
]  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where a JSON value has parts."""
    yield at
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = list(enumerate(value))[:4]
    for key, part in items:
        yield from places(part, (*at, key))


def with_part(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    """Return a JSON value with another part at a place."""
    if not at:
        return new
    changed = copy.copy(value)
    changed[at[0]] = with_part(value[at[0]], at[1:], new)
    return changed


@pytest.mark.parametrize("reader", list(READERS))
def test_bytes_with_pieces_replaced(reader: str, n_cases: float) -> None:
    """Cut, doubled, exchanged and replaced, at random."""
    rng = random.Random(reader)
    for _ in range(int(25 * n_cases)):
        data = crafted(rng, rng.choice(sound_files(reader)))
        assert READERS[reader](data) in ENDS


@pytest.mark.parametrize("reader", [name for name in READERS if name not in NOT_JSON])
@given(st.data())
def test_json_with_parts_exchanged(reader: str, data: st.DataObject) -> None:
    """One part of the JSON of a sound file becomes something else: of another kind or out of range."""
    sound = data.draw(st.sampled_from(sound_files(reader)))
    text, put_back = json_of(reader, sound, data)
    value = json.loads(text)
    at = data.draw(st.sampled_from(list(places(value))))
    new = data.draw(st.sampled_from(STRANGE))
    assert READERS[reader](put_back(json.dumps(with_part(value, at, new)).encode())) in ENDS


def json_of(reader: str, sound: bytes, data: st.DataObject) -> tuple[str, Any]:
    """Return a JSON text inside a file, and a function that puts another one in its place."""
    if sound[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(sound)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = "model.json" if "model.json" in members else "dataset.json"

        def zipped(new: bytes) -> bytes:
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w") as file:
                for member, content in (members | {name: new}).items():
                    file.writestr(member, content)
            return buffer.getvalue()

        return members[name].decode(), zipped
    lines = sound.split(b"\n")
    number = data.draw(
        st.sampled_from([i for i, line in enumerate(lines) if b"{" in line and b"program " not in line])
    )
    head, _, _ = lines[number].partition(b"{")

    def joined(new: bytes) -> bytes:
        return b"\n".join([*lines[:number], head + new, *lines[number + 1 :]])

    def joined_safely(new: bytes) -> bytes:
        return joined(new) if json.loads(new) is not None else b"\n".join(lines[:number])

    return lines[number][len(head) :].decode(), joined_safely


@pytest.mark.parametrize("reader", list(READERS))
def test_the_files_that_are_changed_are_sound(reader: str) -> None:
    for data in sound_files(reader):
        assert READERS[reader](data) == "read"


def test_json_that_is_too_deep(tmp_path: Path) -> None:
    deep = tmp_path / "deep"
    deep.write_text(DEEP)
    with pytest.raises(MiningError, match="nested too deeply"):
        ProgramSet.load(deep)
    deep.write_text(DEEP)
    with pytest.raises(GDLNNError, match="nested too deeply"):
        read_split(deep, 3)


def test_values_of_results_in_checkpoints() -> None:
    good = {
        "task": 1, "program": {"nodes": [], "edges": []}, "score": 0.5, "support": "0", "mutations": 1,
        "unresolved": 0, "tests": 1, "unknown": 0, "seconds": 0.5,
    }  # fmt: skip
    assert TaskResult.from_json(good, 2, 1).task == 1
    lies: list[dict[str, Any]] = [
        *({name: -1} for name in ("task", "mutations", "unresolved", "tests", "unknown", "seconds")),
        *({"score": value} for value in (float("nan"), float("inf"), -0.5, 2.0, "1", None)),
        *({"seconds": value} for value in (float("nan"), float("inf"), True, "1")),
        *({"tests": value} for value in (2**70, True, 1.5)),
        {"more": 1},
    ]
    for changes in lies:
        with pytest.raises((ValueError, TypeError)):
            TaskResult.from_json({**good, **changes}, 2, 1)


@pytest.mark.parametrize(
    "data", [{}, [], None, {"node": 1}, {"node": [[]], "edge": [], "classes": []}, {"node": [{"name": 1}]}]
)
def test_a_schema_that_is_none(data: Any) -> None:
    with pytest.raises(GraphError):
        Schema.from_json(data)
    with pytest.raises(GraphError, match="finite"):
        Feature("f", "nominal", {float("nan"): "x"})


def test_a_library_that_cannot_be_loaded_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> types.ModuleType:
        raise error

    monkeypatch.setattr(importlib, "import_module", fail)
    monkeypatch.delitem(sys.modules, "xmlrpc.server", raising=False)  # one that is loaded is given as it is
    error: Exception = ImportError("libX.so: failed to map segment: Cannot allocate memory")
    with pytest.raises(MissingExtraError, match=r"xmlrpc, which is installed but cannot be loaded: libX\.so"):
        require("xmlrpc.server", "chem", "Reading")
    error = MemoryError()
    with pytest.raises(MissingExtraError, match="cannot be loaded: memory ran out"):
        require("xmlrpc.server", "chem", "Reading")
    error = ModuleNotFoundError("No module named 'nonesuch'")
    with pytest.raises(MissingExtraError, match=r"nonesuch, which is not installed\. Install it with"):
        require("nonesuch.part", "chem", "Reading")
    assert "nonesuch" not in sys.modules
