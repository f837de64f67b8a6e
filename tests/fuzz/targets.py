"""One function for each reader of foreign bytes: it returns, or the bytes have found a bug.

A reader may refuse its input with an error that is raised on purpose, and nothing else. What it accepts must
be usable: a program reads back as itself, a model predicts.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gdlnn import (
    DatasetError,
    GDLNNError,
    GDLSyntaxError,
    Graph,
    GraphDataset,
    ModelError,
    Program,
    load_model,
    load_tu,
    make_ba_2motifs,
    parse_programs,
)
from gdlnn.datasets import load_jsonl, load_sdf, load_smiles
from gdlnn.gdl.parser import parse_program
from reference.hostile_tables import SHEET_MEMBERS, sheet_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CUT = b"\xff\x00\xff"
"""Between the files of a folder, or the members of an archive, in the bytes of one input."""
TU_FILES = ("A", "graph_indicator", "graph_labels", "node_labels", "edge_labels", "node_attributes")
MODEL = Path(__file__).parent.parent / "golden" / "payments-paper.gdlnn"
EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "molecules.csv"
MAX_NODES = 200
"""Larger graphs than a fuzzer needs would only be slow."""


def gdl(data: bytes) -> None:
    """Read GDL text."""
    text = data.decode("utf-8", errors="surrogateescape")
    with contextlib.suppress(GDLSyntaxError):
        for named in parse_programs(text):
            assert Program.parse(str(named.program)) == named.program
    with contextlib.suppress(GDLSyntaxError):
        parse_program(text)


def tu(data: bytes) -> None:
    """Read a TU folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "TOY"
        folder.mkdir()
        for suffix, content in zip(TU_FILES, data.split(CUT), strict=False):
            (folder / f"TOY_{suffix}.txt").write_bytes(content)
        with contextlib.suppress(DatasetError):
            dataset = load_tu(folder, min_classes=1)
            assert dataset.y is not None
            assert len(dataset) == len(dataset.y)


def model(data: bytes) -> None:
    """Read a model file, and predict with it."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "m.gdlnn"
        file.write_bytes(archive(data, list(members(_model_file()))))
        try:
            loaded = load_model(file)
        except ModelError:
            return
        info = loaded.programs_.info
        if max(info.n_node_features, info.n_edge_features) > MAX_NODES:
            return
        nodes, edges = [[1.0] * info.n_node_features] * 3, [(0, 1), (1, 2)]
        graph = Graph(nodes, edges, [[1.0] * info.n_edge_features] * 2, directed=info.directed)
        with contextlib.suppress(GDLNNError):
            assert loaded.predict_proba([graph]).shape == (1, len(loaded.classes_))


def dataset(data: bytes) -> None:
    """Read a saved data set."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "d.gdlds"
        file.write_bytes(archive(data, list(members(_dataset_file()))))
        with contextlib.suppress(DatasetError):
            read = GraphDataset.load(file)
            assert len(read.graphs) == len(read)


def jsonl(data: bytes) -> None:
    """Read JSON Lines."""
    _read_rows(load_jsonl, "g.jsonl", data)


def table(data: bytes) -> None:
    """Read a table of SMILES."""
    _read_rows(lambda path: load_smiles(path, label="y", id="id", min_classes=1), "t.csv", data)


def xlsx(data: bytes) -> None:
    """Read a table of SMILES from an Excel file."""
    _read_rows(_load_active, "t.xlsx", archive(data, SHEET_MEMBERS))


def parquet(data: bytes) -> None:
    """Read a table of SMILES from a Parquet file."""
    _read_rows(_load_active, "t.parquet", data)


def sdf(data: bytes) -> None:
    """Read an SDF file."""
    _read_rows(load_sdf, "m.sdf", data)


def _load_active(path: Path) -> GraphDataset:
    return load_smiles(path, label="active", min_classes=1)


def _read_rows(read: Callable[[Path], GraphDataset], name: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        with contextlib.suppress(DatasetError):
            found = read(path)
            assert all(np.isfinite(graph.node_features).all() for graph in found.graphs)
            assert found.y is None or len(found.y) == len(found)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "gdl": gdl,
    "tu": tu,
    "model": model,
    "dataset": dataset,
    "jsonl": jsonl,
    "table": table,
    "xlsx": xlsx,
    "parquet": parquet,
    "sdf": sdf,
}


# --- archives, and what to start from -----------------------------------------------------------------------


def archive(data: bytes, names: Sequence[str]) -> bytes:
    """Return a zip file: the bytes themselves, or sound members with the content that the bytes say.

    A fuzzer that has to get the checksums of a zip file right would never come to what is inside.
    """
    if data[:2] == b"PK" or CUT not in data:
        return data
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in zip(names, data.split(CUT), strict=False):
            file.writestr(name, content)
    return buffer.getvalue()


def seeds(target: str) -> list[bytes]:
    """Return sound inputs of a target."""
    if target == "gdl":
        program = (
            b'program p {label: 1, score: 0.5, rows: [1, 2], name: "a"}\nnode x <[1, 2.5], [-inf, inf]>\n'
        )
        return [program + b"node y // words\nedge (x, y) <[1, 1]> /* more */\n", b"node x"]
    if target == "tu":
        files = (
            "1, 2\n2, 1\n3, 4\n4, 3\n",
            "1\n1\n2\n2\n",
            "1\n-1\n",
            "0\n1\n0\n2\n",
            "1\n1\n0\n0\n",
            "1.5\n2\n3\n4\n",
        )
        return [CUT.join(file.encode() for file in files), CUT.join(file.encode() for file in files[:3])]
    if target == "jsonl":
        header = b'{"dataset": "toy", "schema": null}\n'
        first = b'{"nodes": [[1], [2.5]], "edges": [[0, 1]], "edge_features": [[1]], "label": 0, "id": "a"}\n'
        return [
            header + first + first.replace(b'"label": 0', b'"label": 1'),
            b'{"nodes": [1], "edges": []}\n',
        ]
    if target == "table":
        return [b"smiles,y,id\nCCO,0,a\nc1ccccc1N,1,b\n", b'id;y;smiles\n"x;1";1.0;C[N+](C)C\n']
    if target == "parquet":
        return [_parquet("snappy"), _parquet("none")]
    if target == "sdf":
        return [_sdf(v3000=False), _sdf(v3000=True)]
    if target == "xlsx":
        whole = sheet_of(_molecules())
        return [whole, CUT.join(members(whole).values())]
    whole = _model_file() if target == "model" else _dataset_file()
    return [whole, CUT.join(members(whole).values())]


def members(data: bytes) -> dict[str, bytes]:
    """Return the members of an archive by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def _model_file() -> bytes:
    return MODEL.read_bytes()


def _dataset_file() -> bytes:
    if "dataset" not in _KEPT:
        with tempfile.TemporaryDirectory() as name:
            motifs = make_ba_2motifs(4, seed=0)
            motifs.save(Path(name) / "d")
            _KEPT["dataset"] = (Path(name) / "d").read_bytes()
    return _KEPT["dataset"]


def _molecules() -> list[list[str]]:
    """Return a small table of SMILES with its header."""
    return [line.split(",") for line in EXAMPLES.read_text(encoding="utf-8").splitlines()[:12]]


def _parquet(compression: str) -> bytes:
    import pyarrow
    from pyarrow import parquet

    header, *rows = _molecules()
    buffer = pyarrow.BufferOutputStream()
    table = pyarrow.table(list(map(list, zip(*rows, strict=True))), header)
    parquet.write_table(table, buffer, compression=compression)
    return bytes(buffer.getvalue())


def _sdf(*, v3000: bool) -> bytes:
    from rdkit import Chem

    blocks = (
        Chem.MolToMolBlock(Chem.MolFromSmiles(smiles), forceV3000=v3000) for smiles in ("CCO", "c1ccccc1N")
    )
    return "".join(f"{block}>  <active>\n1\n\n$$$$\n" for block in blocks).encode()


_KEPT: dict[str, bytes] = {}
# Words of the formats, which a fuzzer would be long in finding.
WORDS = {
    "gdl": [
        "node",
        "edge",
        "program",
        "<[",
        "]>",
        "-inf",
        "inf",
        "//",
        "/*",
        "*/",
        "{",
        "}",
        "label:",
        "1e308",
    ],
    "tu": ["\n", ", ", "-1", "1e9", "nan", "99999999999"],
    "jsonl": [
        *('"nodes": [', '"edges": [[', '"directed": true', '"label": ', '"schema"', "1e39", "NaN", "null"),
    ],
    "table": ["smiles", ",", ";", '"', "\n", "c1ccccc1", "[Na+]", "9223372036854775808", "1_0", "%99"],
    "xlsx": [
        *("<row>", "</row>", '<c t="s">', '<c r="XFD1">', "<v>", "</v>", "<si><t>", "&#x10FFFF;", "1e999"),
        *('<c t="inlineStr"><is><t>', ' t="b"', ' s="1"', "<!DOCTYPE", 'numFmtId="14"', "date1904"),
    ],
    "parquet": ["PAR1", "smiles", "active", "\x15\x02", "\x7f\x7f\x7f\x7f"],
    "sdf": [
        *("$$$$\n", "M  END\n", "V3000", "V2000", "M  V30 ", "COUNTS 9999999 1", "BEGIN ATOM", "END CTAB"),
        *(">  <active>\n", "M  CHG  1", "999999", "-\n", "R#", "*"),
    ],
    "model": [
        json.dumps(word) for word in ("parameters", "hidden", "members", "classes", "pooled", "schema")
    ],
    "dataset": ["\x93NUMPY", "'shape': (", "'descr': '<f8'", '"directed": true', "'fortran_order': True"],
}
