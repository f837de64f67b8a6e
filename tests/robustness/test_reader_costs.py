"""Small files that ask for much: readers take memory and time in proportion to what a file holds."""

import csv
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdlnn import mine
from gdlnn.datasets.molecules import parse_smiles, read_molecule
from gdlnn.graphs import molecules
from gdlnn.graphs.molecules import record_problem, smiles_problem
from gdlnn.io.bounded import loads
from gdlnn.mining.program_files import format_rows, parse_rows
from reference.hostile_tables import HOSTILE_SHEETS, hostile_parquet
from reference.large_molecules import bipartite, ladder, smiles_of, straight, v2000, v3000
from reference.mining_cases import random_trees
from reference.reader_costs import MB, measured, most_memory
from reference.server_models import MOLECULES

pytest.importorskip("rdkit")
FIXTURE = Path(__file__).parents[1] / "golden" / "payments-paper.gdlnn"
TREES = random_trees(12)


def model_members() -> dict[str, bytes]:
    with zipfile.ZipFile(FIXTURE) as file:
        return {name: file.read(name) for name in file.namelist()}


def model_with(changes: dict[str, Any], head: dict[str, Any] | None = None) -> dict[str, bytes]:
    members = model_members()
    found = json.loads(members["model.json"])
    head = found["parameters"]["head"] | (head or {})
    found |= changes | {"parameters": found["parameters"] | {"head": head}}
    return members | {"model.json": json.dumps(found).encode()}


def program_file(changes: dict[str, Any], programs: str) -> bytes:
    head = json.loads(mine(TREES).to_text().partition("\n")[0])
    return f"{json.dumps(head | {'info': head['info'] | changes})}\n{programs}".encode()


def bare_program(_: int, support: str = "0", body: str = "node a") -> str:
    return json.dumps({"gdl": body, "support": support}) + "\n"


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


def json_lines(line: Callable[[int], Any], n: int) -> bytes:
    return "".join(json.dumps(line(i)) + "\n" for i in range(n)).encode()


EMPTY_OBJECTS = b'{"format": "%s", "x": [' + b"{}," * (4 * MB) + b"{}]}"
N = 50_000


def hostile_files() -> dict[str, tuple[str, str, bytes, int]]:
    """Return files by name: their reader, their ending, their content, and how many graphs they hold."""
    return {
        "model of empty objects": (
            "model", "", zipped(model_members() | {"model.json": EMPTY_OBJECTS % b"gdlnn-model"}), 0),
        "layers of a head": ("model", "", zipped(model_with({}, {"hidden": [1] * 10**6})), 0),
        "graphs": ("programs", "", program_file({"n_graphs": 900_000_000}, bare_program(1)), 0),
        "supports": (
            "programs", "",
            program_file({"n_graphs": 6 * 10**7}, "".join(bare_program(i, "0-59999999") for i in range(999))),
            0),
        "features": ("programs", "", program_file({"n_node_features": 2_000_000_000}, bare_program(1)), 0),
        "small programs": ("programs", "", program_file({}, "".join(map(bare_program, range(3_000)))), 0),
        "one large program": (
            "programs", "",
            program_file({}, bare_program(1, body="".join(f"node v{i}\n" for i in range(N)))), 0),
        "programs of empty objects": (
            "programs", "", EMPTY_OBJECTS % b"x" + b"\n", 0),
        "lines of graphs": (
            "dataset", ".jsonl", json_lines(lambda _: {"nodes": [], "edges": []}, 10_000), 10_000),
        "lines of numbers": (
            "dataset", ".jsonl", json_lines(lambda i: {"nodes": [[i % 7]] * 20_000, "edges": []}, 15), 15),
        "one long label": (
            "dataset", ".jsonl",
            json_lines(lambda i: {"nodes": [], "edges": [], "label": "a" * (1 if i else 10**6)}, 5000), 5000),
        "checkpoint of empty objects": (
            "journal", "",
            b'{"kind":"gdlnn mining checkpoint","n_tasks":12}\n' + b'{"x":[' + b"{}," * MB + b"{}]}\n", 0),
    }  # fmt: skip


@pytest.mark.long
def test_memory_is_in_proportion_to_what_a_file_holds(tmp_path: Path) -> None:
    """Under a hard limit, for every reader; and none ends in an error that is not ours."""
    jobs, names = [], []
    for number, (name, (reader, ending, data, n_graphs)) in enumerate(hostile_files().items()):
        path = tmp_path / f"file{number}{ending}"
        path.write_bytes(data)
        content = len(data)
        if data[:2] == b"PK":
            with zipfile.ZipFile(path) as file:
                content = sum(member.file_size for member in file.infolist())
        jobs.append((reader, path, most_memory(content, n_graphs)))
        names.append(name)
    costs = dict(zip(names, measured(jobs), strict=True))
    too_much = {name: cost for (_, _, most), (name, cost) in zip(jobs, costs.items(), strict=True)
                if cost.memory > most or not cost.end.startswith(("read", "refused"))}  # fmt: skip
    assert not too_much, too_much
    refused = {name for name, cost in costs.items() if cost.end != "read"}
    assert {"features", "supports", "model of empty objects"} <= refused
    assert {"lines of graphs", "small programs", "one large program"}.isdisjoint(refused)


@pytest.mark.long
def test_memory_of_sheets_and_parquet(tmp_path: Path) -> None:
    """A file of 100 KB that stands for gigabytes is refused, or read in little memory and time."""
    pytest.importorskip("pyarrow")
    jobs, names = [], []
    for number, (name, make) in enumerate(HOSTILE_SHEETS.items()):
        data = make()
        assert len(data) < 200_000, name
        path = tmp_path / f"file{number}.xlsx"
        path.write_bytes(data)
        with zipfile.ZipFile(path) as file:
            content = sum(member.file_size for member in file.infolist())
        jobs.append(("tables", path, most_memory(content)))
        names.append(name)
    for number, (name, (data, content, n_rows)) in enumerate(hostile_parquet().items()):
        assert len(data) < 200_000, name
        path = tmp_path / f"file{number}.parquet"
        path.write_bytes(data)
        jobs.append(("tables", path, most_memory(content, min(n_rows, 5000))))
        names.append(name)
    costs = dict(zip(names, measured(jobs), strict=True))
    too_much = {name: cost for (_, _, most), (name, cost) in zip(jobs, costs.items(), strict=True)
                if cost.memory > most or cost.seconds > 20
                or not cost.end.startswith(("read", "refused"))}  # fmt: skip
    assert not too_much, too_much
    read = {name for name, cost in costs.items() if cost.end == "read"}
    assert {"short strings", "one row of cells", "empty rows"} <= read, costs
    assert {"sheet of blanks", "a row far below", "a cell far away"}.isdisjoint(read)
    assert {"equal rows", "one long value", "too long a value", "pages"}.isdisjoint(read), costs


def test_no_molecule_takes_long(tmp_path: Path) -> None:
    """RDKit would take minutes to find these rings, and memory for each atom that is counted."""
    hidden = bipartite(3, 300)
    split = f"COUNTS {len(hidden) + 3000} -\nM  V30 {len(hidden)} -\nM  V30 0 0 0"
    contents = {
        "rings.sdf": v3000(["C"] * 5002, ladder(2500)),
        "old rings.sdf": v2000(["*"] * 303, hidden),
        "rings among atoms.sdf": v3000(["*"] * (len(hidden) + 3000), hidden, split),
        "atoms.sdf": v3000(["C"] * 40_000, straight(40_000)),
        "counted.sdf": v3000(["C"], [], "COUNTS 300000000 0 0 0 0"),
        "rings.csv": f"smiles,y\n{smiles_of(ladder(1400))},1\n",
    }
    jobs = []
    for name, content in contents.items():
        (tmp_path / name).write_text(f"{content}$$$$\n" if name.endswith(".sdf") else content)
        jobs.append(("dataset", tmp_path / name, most_memory(len(content), 1)))
    costs = dict(zip(contents, measured(jobs), strict=True))
    for (_, _, most), (name, cost) in zip(jobs, costs.items(), strict=True):
        assert cost.end.startswith("refused"), (name, cost)
        assert cost.memory < most, (name, cost)
        assert cost.seconds < 2, (name, cost)


def test_text_that_cannot_be_encoded_is_not_a_molecule() -> None:
    assert parse_smiles("C\ud800") == (None, "not a SMILES")
    assert read_molecule("\n\n\n\ud800") == (None, "not a molecule that RDKit accepts")


def test_rings_are_counted_as_rdkit_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from rdkit import Chem

    with MOLECULES.open(encoding="utf-8") as file:
        written = [row["smiles"] for row in csv.DictReader(file)]
    written += [smiles_of(ladder(30)), "C1CC1.C1CC1", "[13CH3]C%10CC%10", "C%(123)CC%(123) |$1;2;$|"]
    for text in written:
        molecule = Chem.MolFromSmiles(text)
        n_rings = len(Chem.GetSSSR(molecule))
        for most in (n_rings, n_rings - 1):
            monkeypatch.setattr(molecules, "MAX_RINGS", most)
            expected = "" if most == n_rings else f"expected at most {most} rings, got {n_rings}"
            if most < 0:
                continue
            assert smiles_problem(text) == expected
            for version in (True, False):
                assert record_problem(Chem.MolToMolBlock(molecule, forceV3000=version)) == expected


def test_supports_are_what_they_were_before(n_cases: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(int(100 * n_cases)):
        n, several = int(rng.integers(0, 300)), range(int(rng.integers(0, 6)))
        rows = [np.flatnonzero(rng.random(n) < rng.choice([0.0, 0.01, 0.5, 0.99, 1.0])) for _ in several]
        found = parse_rows(list(map(format_rows, rows)), n)
        assert list(map(np.ndarray.tolist, found)) == list(map(np.ndarray.tolist, rows))


@pytest.mark.parametrize(
    "text", ["1-0", "5", "0-5", "2,1", "1,1", "0-2,1-3", "x", "0,", ",0", "-1", "٣", "0x1", "1 ,2"]
)
def test_a_support_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected increasing rows from 0 to 4"):
        parse_rows(["1-3", text, "0"], 5)


def test_json_beyond_the_limits_is_refused() -> None:
    assert loads(b'{"a": [1, 2.5, "x"]}') == {"a": [1, 2.5, "x"]}
    with pytest.raises(ValueError, match="nested too deeply"):
        loads(b"[" * 10**5)
    with pytest.raises(ValueError, match="lists and objects"):
        loads(b"[" + b"{}," * MB + b"{}]")
    brackets = b'["' + b"[{" * MB + b'"]'  # in text they take no more than any letter
    assert len(loads(brackets)[0]) == 2 * MB
