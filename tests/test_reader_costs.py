"""Small files that ask for much: readers take memory and time in proportion to what a file holds."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gdlnn import Graph, GraphDataset, Program, mine
from gdlnn.datasets.molecules import parse_smiles, read_molecule
from gdlnn.graphs import molecule_limits
from gdlnn.graphs.molecule_limits import record_problem, smiles_problem
from gdlnn.io.bounded_json import loads
from gdlnn.io.bounded_zip import read_members
from gdlnn.mining.supports import Support, format_rows, parse_rows
from reference.hostile_tables import hostile_parquet, hostile_sheets
from reference.large_molecules import bipartite, ladder, smiles_of, straight, v2000, v3000
from reference.mining_cases import random_trees
from reference.reader_costs import MB, Cost, measured, most_memory
from reference.server_models import MOLECULES

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("rdkit")
FIXTURE = Path(__file__).parent / "golden" / "payments-paper.gdlnn"
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
    first, _, _ = mine(TREES).to_text().partition("\n")
    head = "// gdlnn programs "
    return f"{head}{json.dumps(json.loads(first.removeprefix(head)) | changes)}\n{programs}".encode()


def bare_program(number: int, support: str = "0", body: str = "node a\n") -> str:
    return f'program p{number} {{support: "{support}", targets: "{support}", steps: 1}}\n{body}'


def tensors_of(shapes: dict[str, tuple[int, ...]]) -> bytes:
    from safetensors.numpy import save

    return bytes(save({name: np.zeros(shape, np.float32) for name, shape in shapes.items()}))


def saved_set() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        TREES.save(Path(folder) / "d")
        return read_members(Path(folder) / "d", MB)


def cancelling() -> dict[str, bytes]:
    """Return a model whose hidden sizes declare as many weights as there are, by a negative one."""
    members = model_members()
    found = json.loads(members["model.json"])
    with zipfile.ZipFile(FIXTURE) as file:
        from safetensors.numpy import load

        total = sum(tensor.size for tensor in load(file.read("head.safetensors")).values())
    n_classes = len(found["classes"]["values"])
    n_programs = len(json.loads(members["programs.json"])["programs"])
    big = 20_000
    # n·a + a + a·b + b + b·c + c = total, with a large and b = -(n + 1)…
    negative = -(n_programs + 1)
    rest = (n_programs + 1) * big + (big + 1) * negative + (negative + 1) * n_classes + 2 * n_programs
    weights: dict[str, tuple[int, ...]] = {"all": (max(0, rest),)}
    return model_with({}, {"hidden": [big, negative]}) | {
        "head.safetensors": tensors_of(weights),
        "unused": str(total).encode(),
    }


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


def json_lines(line: Callable[[int], Any], n: int) -> bytes:
    return "".join(json.dumps(line(i)) + "\n" for i in range(n)).encode()


EMPTY_OBJECTS = b'{"format": "%s", "x": [' + b"{}," * (4 * MB) + b"{}]}"
NESTED = b'{"format": "%s", "x": [' + b"[[[[]]]]," * MB + b"[]]}"
N = 50_000


def hostile_files() -> dict[str, tuple[str, str, bytes, int]]:
    """Return files by name: their reader, their ending, their content, and how many graphs they hold."""
    lines = {"schema": {"node": [{"name": f"f{i}", "kind": "numeric", "values": []} for i in range(150_000)]}}
    lines["schema"] |= {"edge": [], "classes": [], "domain": ""}  # type: ignore[dict-item]
    return {
        "hidden sizes that cancel": ("model", "", zipped(cancelling()), 0),
        "model of empty objects": (
            "model", "", zipped(model_members() | {"model.json": EMPTY_OBJECTS % b"gdlnn-model"}), 0),
        "model of nested lists": (
            "model", "", zipped(model_members() | {"model.json": NESTED % b"gdlnn-model"}), 0),
        "members of a head": ("model", "", zipped(model_with({}, {"ensemble_size": 10**6, "hidden": []})), 0),
        "classes of one long label": (
            "model", "",
            zipped(model_with({"classes": {"kind": "U", "values": ["a" * MB, *map(str, range(9999))]}})), 0),
        "graphs": ("programs", "", program_file({"n_graphs": 900_000_000}, bare_program(1)), 0),
        "supports": (
            "programs", "",
            program_file({"n_graphs": 6 * 10**7}, "".join(bare_program(i, "0-59999999") for i in range(999))),
            0),
        "scattered supports": (
            "programs", "",
            program_file({"n_graphs": 6 * 10**7}, bare_program(1, ",".join(map(str, range(0, N, 2))))), 0),
        "features": ("programs", "", program_file({"n_node_features": 2_000_000_000}, bare_program(1)), 0),
        "many features": (
            "programs", "", program_file({"n_node_features": 99_999}, bare_program(1) * 200), 0),
        "small programs": ("programs", "", program_file({}, "".join(map(bare_program, range(3_000)))), 0),
        "one large program": (
            "programs", "",
            program_file({}, bare_program(1, body="".join(f"node v{i}\n" for i in range(N)))), 0),
        "too large a program": (
            "programs", "",
            program_file({}, bare_program(1, body="".join(f"node v{i}\n" for i in range(5 * N)))), 0),
        "programs for the grammar": (
            "programs", "", program_file({}, "".join(map(bare_program, range(2_000))) + "node  z\n"), 0),
        "programs of empty objects": (
            "programs", "", b"// gdlnn programs " + EMPTY_OBJECTS % b"x" + b"\n", 0),
        "dataset of empty objects": (
            "dataset", ".gdlds", zipped(saved_set() | {"dataset.json": EMPTY_OBJECTS % b"gdlnn-dataset"}), 0),
        "lines of graphs": (
            "dataset", ".jsonl", json_lines(lambda _: {"nodes": [], "edges": []}, 10_000), 10_000),
        "lines of numbers": (
            "dataset", ".jsonl", json_lines(lambda i: {"nodes": [[i % 7]] * 20_000, "edges": []}, 15), 15),
        "one long label": (
            "dataset", ".jsonl",
            json_lines(lambda i: {"nodes": [], "edges": [], "label": "a" * (1 if i else 10**6)}, 5000), 5000),
        "feature names": ("dataset", ".jsonl", json.dumps(lines).encode()[: 1 << 20] + b"\n", 0),
        "table of bad rows": ("dataset", ".csv", b"smiles,y\nC,1\n" + b"?,1\n" * 20_000, 20_000),
        "table of long labels": (
            "dataset", ".csv", b"smiles,y\n" + b"C,1\n" * 5000 + b"C," + b"a" * 900_000 + b"\n", 5001),
        "explanation of empty objects": ("explanation", "", EMPTY_OBJECTS % b"x", 0),
        "checkpoint of empty objects": (
            "journal", "",
            b'{"kind":"gdlnn mining checkpoint","n_tasks":12}\n' + b'{"x":[' + b"{}," * MB + b"{}]}\n", 0),
    }  # fmt: skip


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
    assert {"hidden sizes that cancel", "features", "model of empty objects"} <= refused
    assert {"supports", "lines of graphs", "small programs", "one large program"}.isdisjoint(refused)


def test_memory_of_sheets_and_parquet(tmp_path: Path) -> None:
    """A file of 100 KB that stands for gigabytes is refused, or read in little memory and time."""
    pytest.importorskip("pyarrow")
    jobs, names = [], []
    for number, (name, data) in enumerate(hostile_sheets().items()):
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


# --- time ---------------------------------------------------------------------------------------------------


def feature(values: int) -> dict[str, Any]:
    return {"name": "f", "kind": "nominal", "values": [[i, f"v{i}"] for i in range(values)]}


def schema_line(nodes: list[dict[str, Any]]) -> str:
    return json.dumps({"node": nodes, "edge": [], "classes": [], "domain": ""})


def growing_files(n: int) -> dict[str, tuple[str, str, bytes]]:
    """Return files whose length grows with n, each with something that was once compared with all else."""
    chain = "".join(f"node v{i}\n" for i in range(n)) + "".join(
        f"edge (v{i}, v{i + 1})\n" for i in range(n - 1)
    )
    same = feature(n) | {"values": [[i, "x"] for i in range(n)]}
    names = [{"name": f"f{i}", "kind": "numeric", "values": []} for i in range(n)]
    labels = {"labels": [[i, 0] for i in range(n)]}
    tu_like = b"".join(b'{"nodes": [[1]], "edges": [], "label": %d}\n' % (i % 2) for i in range(n))
    return {
        "feature names": ("programs", "", program_file({}, f"// schema {schema_line(names)}\n")),
        "value names": ("programs", "", program_file({}, f"// schema {schema_line([feature(n)])}\n")),
        "equal value names": ("programs", "", program_file({}, f"// schema {schema_line([same])}\n")),
        "supports": (
            "programs", "",
            program_file({"n_graphs": 2 * n}, bare_program(1, ",".join(map(str, range(0, 2 * n, 2)))))),
        "overlapping supports": (
            "programs", "", program_file({"n_graphs": 10**6}, bare_program(1, ",".join(["0-999999"] * n)))),
        "a chain": ("programs", "", program_file({}, bare_program(1, body=chain))),
        "labels": (
            "programs", "",
            program_file(labels, "".join(
                f'program p{i} {{label: {i}, score: 0.5, support: "0", targets: [0], steps: 1}}\nnode a\n'
                for i in range(n)))),
        "for the grammar": ("programs", "", program_file({}, bare_program(1, body=chain) + "node  z\n")),
        "lines": ("dataset", ".jsonl", tu_like),
        "records": (
            "dataset", ".sdf",
            f"{v3000(['C'] * 1000, straight(1000))}$$$$\n".encode() * (n // 500)),
        "atoms": ("dataset", ".sdf", v3000(["C"] * n, straight(n)).encode()),
    }  # fmt: skip


@pytest.mark.long
def test_twice_the_file_takes_less_than_three_times_the_time(tmp_path: Path) -> None:
    sizes = (5_000, 10_000)
    jobs, names = [], []
    for n in sizes:
        for number, (name, (reader, ending, data)) in enumerate(growing_files(n).items()):
            path = tmp_path / f"file{n}-{number}{ending}"
            path.write_bytes(data)
            jobs.append((reader, path, 4000 * MB))
            names.append((name, n))
    best: dict[tuple[str, int], float] = {}
    for key, cost in zip(names, measured(jobs), strict=True):
        assert cost.end.startswith(("read", "refused")), (key, cost)
        best[key] = min(cost.seconds, best.get(key, 1e9))
    for name in growing_files(1):
        small, large = (best[name, n] for n in sizes)
        assert large < 3 * small + 0.1, (name, small, large)
        assert large < 10, (name, large)


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
            monkeypatch.setattr(molecule_limits, "MAX_RINGS", most)
            expected = "" if most == n_rings else f"expected at most {most} rings, got {n_rings}"
            if most < 0:
                continue
            assert smiles_problem(text) == expected
            for version in (True, False):
                assert record_problem(Chem.MolToMolBlock(molecule, forceV3000=version)) == expected


def test_a_large_program_is_told_in_time() -> None:
    took = []
    for n in (10_000, 20_000):
        nodes = [(f"v{i}", None) for i in range(n)]
        program = Program(nodes, [(f"v{i}", f"v{i + 1}", None) for i in range(n - 1)])
        begin = time.process_time()
        assert f"a pattern of {n:,} nodes" in program.describe()
        took.append(time.process_time() - begin)
    assert took[1] < 3 * took[0] + 0.05


# --- the parts ----------------------------------------------------------------------------------------------


def test_supports_are_what_they_were_before(n_cases: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(int(300 * n_cases)):
        n = int(rng.integers(0, 300))
        mask = rng.random(n) < rng.choice([0.0, 0.01, 0.5, 0.99, 1.0])
        support = Support.of(mask)
        text = format_rows(np.flatnonzero(mask))
        assert Support.parse(text, n) == support
        assert support.n_matched == mask.sum()
        np.testing.assert_array_equal(support.mask(), mask)
        np.testing.assert_array_equal(parse_rows(text, n), mask)
        other = Support.of(rng.random(n) < 0.5)
        assert (support.key == other.key) == np.array_equal(support.mask(), other.mask())


@pytest.mark.parametrize(
    "text", ["1-0", "5", "0-5", "2,1", "1,1", "0-2,1-3", "x", "0,", ",0", "-1", "٣", "0x1", "1 ,2"]
)
def test_a_support_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected (increasing )?rows from 0 to 4"):
        parse_rows(text, 5)


def test_json_within_limits() -> None:
    assert loads(b'{"a": [1, 2.5, "x"]}') == {"a": [1, 2.5, "x"]}
    with pytest.raises(ValueError, match="nested too deeply"):
        loads(b"[" * 10**5)
    with pytest.raises(ValueError, match="lists and objects"):
        loads(b"[" + b"{}," * MB + b"{}]")
    brackets = b'["' + b"[{" * MB + b'"]'  # in text they take no more than any letter
    assert len(loads(brackets)[0]) == 2 * MB


def test_a_cost_is_of_the_reader_alone(tmp_path: Path) -> None:
    """The control: a sound file is read, and a limit that is too small for one is noticed."""
    many = [Graph(np.ones((2000, 8)), [])] * 100
    GraphDataset(many, [0, 1] * 50).save(tmp_path / "d.gdlds")
    fine, tight = measured(
        [("dataset", tmp_path / "d.gdlds", 500 * MB), ("dataset", tmp_path / "d.gdlds", -200 * MB)]
    )
    assert isinstance(fine, Cost)
    assert fine.end == "read"
    assert fine.memory > 10 * MB
    assert tight.end == "MemoryError"
