"""Every reader of foreign files as a function of bytes: it returns "read" or "refused", all else is a bug.

A reader may refuse its input with an error of the package, and nothing else. What it accepts must be usable:
numbers are finite, a program reads back as itself, a model predicts.
"""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn import (
    GDLNNError,
    Graph,
    GraphDataset,
    Program,
    ProgramSet,
    load_model,
    load_tu,
    make_ba_2motifs,
    mine,
    parse_programs,
)
from gdlnn.datasets import load_jsonl, load_sdf, load_smiles, save_jsonl
from gdlnn.explain import Explanation
from reference.hostile_tables import SHEET_MEMBERS, sheet_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CUT = b"\xff\x00\xff"
"""Between the files of a folder, or the members of an archive, in the bytes of one input."""
TU_FILES = ("A", "graph_indicator", "graph_labels", "node_labels", "edge_labels", "node_attributes")
MODEL = Path(__file__).parent.parent / "golden" / "payments-paper.gdlnn"
EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "molecules.csv"
MOTIFS = make_ba_2motifs(6, seed=0)
MAX_WIDTH = 200
"""More features than a fuzzer needs would only be slow."""


def used(found: Any) -> None:
    """Use what was read."""
    if isinstance(found, GraphDataset):
        assert found.y is None or len(found.y) == len(found)
        for graph in found.graphs[:5]:
            assert np.isfinite(graph.node_features).all()
            assert np.isfinite(graph.edge_features).all()
        if found.y is not None and found.y.dtype.kind == "f":
            assert np.isfinite(found.y).all()
    elif isinstance(found, ProgramSet):
        assert ProgramSet.from_text(found.to_text()) == found
    elif hasattr(found, "predict_proba"):
        example = _graph_for(found)
        if example is not None:
            assert np.isfinite(found.predict_proba([example])).all()


def _graph_for(model: Any) -> Graph | None:
    """Return a graph with the features of a model."""
    info = model.programs_.info
    if max(info.n_node_features, info.n_edge_features) > MAX_WIDTH:
        return None
    nodes, edges = np.ones((3, info.n_node_features)), np.ones((2, info.n_edge_features))
    return Graph(nodes, [(0, 1), (1, 2)], edges, directed=info.directed)


def reader(
    read: Callable[[Path], Any], name: str, members: Sequence[str] = (), *, folder: bool = False
) -> Callable[[bytes], str]:
    """Return a reader of bytes, which are in a file or folder of that name while they are read."""

    def of_bytes(data: bytes) -> str:
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / name
            if folder:
                path.mkdir()
                for suffix, content in zip(TU_FILES, data.split(CUT), strict=False):
                    (path / f"{name}_{suffix}.txt").write_bytes(content)
            else:
                path.write_bytes(archive(data, members) if members else data)
            try:
                used(read(path))
            except GDLNNError as error:
                return "refused" if "\x1b" not in str(error) else "a message that moves the cursor"
        return "read"

    return of_bytes


def _active(path: Path) -> GraphDataset:
    return load_smiles(path, label="active", min_classes=1)


def _parsed(path: Path) -> None:
    for named in parse_programs(path.read_bytes().decode("utf-8", "surrogateescape")):
        assert Program.parse(str(named.program)) == named.program


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


def members(data: bytes) -> dict[str, bytes]:
    """Return the members of an archive by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def _written(write: Callable[[Path], Any]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "file")
        return (Path(folder) / "file").read_bytes()


TARGETS: dict[str, Callable[[bytes], str]] = {
    "model": reader(load_model, "m.gdlnn", list(members(MODEL.read_bytes()))),
    "dataset": reader(GraphDataset.load, "d.gdlds", list(members(_written(MOTIFS.save)))),
    "programs": reader(ProgramSet.load, "p.gdl"),
    "gdl": reader(_parsed, "p.gdl"),
    "tu": reader(lambda path: load_tu(path, min_classes=1), "TOY", folder=True),
    "jsonl": reader(load_jsonl, "g.jsonl"),
    "table": reader(_active, "t.csv"),
    "xlsx": reader(_active, "t.xlsx", SHEET_MEMBERS),
    "parquet": reader(_active, "t.parquet"),
    "sdf": reader(load_sdf, "m.sdf"),
    "explanation": reader(lambda path: Explanation.from_json(path.read_bytes()), "e.json"),
    "checkpoint": reader(lambda path: mine(MOTIFS, checkpoint=path, targets=range(3)), "run"),
}


# --- what to start from -------------------------------------------------------------------------------------


@cache
def sound_files(target: str) -> list[bytes]:
    """Return files that a reader reads."""
    match target:
        case "model":
            return [MODEL.read_bytes()]
        case "dataset":
            return [_written(MOTIFS.save)]
        case "programs":
            return [mine(MOTIFS, targets=range(3)).to_text().encode()]
        case "gdl":
            program = (
                b'program p {label: 1, score: 0.5, rows: [1, 2], name: "a"}\nnode x <[1, 2.5], [-inf, inf]>\n'
            )
            return [program + b"node y // words\nedge (x, y) <[1, 1]> /* more */\n", b"node x"]
        case "tu":
            files = (
                b"1, 2\n2, 1\n3, 4\n4, 3\n",
                b"1\n1\n2\n2\n",
                b"1\n-1\n",
                b"0\n1\n0\n2\n",
                b"1\n1\n0\n0\n",
            )
            return [CUT.join((*files, b"1.5\n2\n3\n4\n")), CUT.join(files[:3])]
        case "jsonl":
            return [_written(lambda path: save_jsonl(MOTIFS, path)), b'{"nodes": [1], "edges": []}\n']
        case "table":
            return ["\n".join(map(",".join, _molecules())).encode(), b'active;smiles\n"1";C[N+](C)C\n']
        case "xlsx":
            return [sheet_of(_molecules())]
        case "parquet":
            return [_parquet("snappy"), _parquet("none")]
        case "sdf":
            return [_sdf(v3000=False), _sdf(v3000=True)]
        case "explanation":
            model = load_model(MODEL)
            (found,) = model.explain([_graph_for(model)])
            return [json.dumps(found.to_json()).encode()]
        case _:
            return [_written(lambda path: mine(MOTIFS, checkpoint=path, targets=range(3)))]


def seeds(target: str) -> list[bytes]:
    """Return sound inputs of a target; of an archive also its members, for `archive` to pack."""
    files = sound_files(target)
    return files + [CUT.join(members(data).values()) for data in files if data[:2] == b"PK"]


def _molecules() -> list[list[str]]:
    """Return a small table of SMILES with its header."""
    return [line.split(",") for line in EXAMPLES.read_text(encoding="utf-8").splitlines()[:12]]


def _parquet(compression: str) -> bytes:
    import pyarrow
    from pyarrow import parquet

    header, *rows = _molecules()
    table = pyarrow.table(list(map(list, zip(*rows, strict=True))), header)
    return _written(lambda path: parquet.write_table(table, path, compression=compression))


def _sdf(*, v3000: bool) -> bytes:
    from rdkit import Chem

    blocks = (Chem.MolToMolBlock(Chem.MolFromSmiles(s), forceV3000=v3000) for s in ("CCO", "c1ccccc1N"))
    return "".join(f"{block}>  <active>\n1\n\n$$$$\n" for block in blocks).encode()


# Words of the formats, which a fuzzer would be long in finding.
WORDS: dict[str, tuple[str, ...]] = {
    "gdl": ("node", "edge", "program", "<[", "]>", "inf", "//", "/*", "*/", "{", "}", "label:", "1e308"),
    "tu": ("\n", ", ", "-1", "1e9", "nan", "99999999999"),
    "jsonl": ('"nodes": [', '"edges": [[', '"directed": true', '"label": ', '"schema"', "1e39", "NaN"),
    "table": ("smiles", ",", ";", '"', "\n", "c1ccccc1", "[Na+]", "9223372036854775808", "1_0", "%99"),
    "xlsx": ("<row>", '<c t="s">', '<c r="XFD1">', "<v>", "<si><t>", "&#x10FFFF;", "1e999", "<!DOCTYPE"),
    "parquet": ("PAR1", "smiles", "active", "\x15\x02", "\x7f\x7f\x7f\x7f"),
    "sdf": ("$$$$\n", "M  END\n", "V3000", "M  V30 ", "COUNTS 9999999 1", "BEGIN ATOM", "-\n", "*"),
    "model": ('"parameters"', '"hidden"', '"members"', '"classes"', '"pooled"', '"schema"'),
    "dataset": ("\x93NUMPY", "'shape': (", "'descr': '<f8'", '"directed": true', "'fortran_order': True"),
    "programs": ("program ", "node ", '"n_graphs": ', 'support: "', "0-999999999"),
    "explanation": ("null", "NaN", "[[", '"nodes"', "1e999"),
    "checkpoint": ('"task":', '"support":"', "\n", "NaN", "-1"),
}  # fmt: skip
