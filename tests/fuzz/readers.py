"""Crafted files for every reader: ``python -m fuzz.readers FILES SEED`` in tests/ counts how they end.

A reader may refuse its input with an error of the package, and nothing else. What it accepts must be usable:
numbers are finite, a program reads back as itself, a model predicts.
"""

import io
import random
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import gdlnn
from gdlnn.datasets import load_jsonl, load_sdf, load_smiles
from gdlnn.gdl import parse_programs
from reference.hostile_tables import SHEET_MEMBERS, sheet_of

MOST_SECONDS = 10.0  # of CPU time for a file of a few kilobytes
CUT = b"\xff\x00\xff"  # between the files of a folder, or the members of an archive, in one input
TU_FILES = ("A", "graph_indicator", "graph_labels", "node_labels", "edge_labels", "node_attributes")
TU_GRAPHS = (b"1, 2\n2, 1\n3, 4\n4, 3\n", b"1\n1\n2\n2\n", b"1\n-1\n", b"0\n1\n0\n2\n", b"1\n1\n0\n0\n")
PROGRAM = (
    b'program p {"label": 1, "score": 0.5, "name": "a"}\nnode x <[1, 2.5], [-inf, inf]>\nnode y // words\n'
)
GOLDEN = Path(__file__).parent.parent / "golden"
MODEL = GOLDEN / "payments-paper.gdlnn"
PAYMENTS = gdlnn.load_model(MODEL)
TABLE = pd.read_csv(GOLDEN.parent.parent / "examples" / "molecules.csv", nrows=11)
MOTIFS = gdlnn.make_ba_2motifs(6, random_state=0)
_mine = partial(gdlnn.mine, MOTIFS, targets=range(3))
_active = partial(load_smiles, label="active", min_classes=1)
PIECES = (
    b"", b"nan", b"NaN", b"Infinity", b"1e39", b"1e308", b"-1", b"0", b"1_0", b"99999999999999999999", b"\0",
    b"\xff", b"{}", b"[]", b"[[", b'"', b"\n", b",", b"null", b"true", b'"no"', b"\x1b[2J",
    b"0-999999999", b"$$$$\n", b"\t",
)  # fmt: skip


def use(found: Any) -> None:
    """Use what was read."""
    if isinstance(found, gdlnn.GraphDataset):
        assert found.y is None or len(found.y) == len(found)
        assert found.y is None or found.y.dtype.kind != "f" or np.isfinite(found.y).all()
        assert not any(np.isinf(g.node_features).any() for g in found.graphs[:5])
        assert not any(np.isinf(g.edge_features).any() for g in found.graphs[:5])
    elif isinstance(found, gdlnn.ProgramSet):
        assert gdlnn.ProgramSet.from_text(found.to_text()) == found
    elif hasattr(found, "predict_proba") and found.programs_.info.n_node_features <= 200:  # else it is slow
        assert np.isfinite(found.predict_proba([_graph_for(found)])).all()


def _graph_for(model: Any) -> gdlnn.Graph:
    info = model.programs_.info
    nodes, edges = np.ones((3, info.n_node_features)), np.ones((2, info.n_edge_features))
    return gdlnn.Graph(nodes, [(0, 1), (1, 2)], edges, directed=info.directed)


def reader(read: Callable[[Path], Any], name: str, members: Sequence[str] = ()) -> Callable[[bytes], str]:
    """Return a reader of bytes, which are in a file while they are read; without a suffix, in a folder."""

    def of_bytes(data: bytes) -> str:
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / name
            if name == "TOY":
                path.mkdir()
                for suffix, content in zip(TU_FILES, data.split(CUT), strict=False):
                    (path / f"{name}_{suffix}.txt").write_bytes(content)
            else:
                path.write_bytes(archive(data, members) if members else data)
            try:
                use(read(path))
            except gdlnn.GDLNNError as error:
                return "refused" if "\x1b" not in str(error) else "a message that moves the cursor"
        return "read"

    return of_bytes


def _parse(path: Path) -> None:
    for named in parse_programs(path.read_bytes().decode("utf-8", "surrogateescape")):
        assert gdlnn.Program.parse(str(named.program)) == named.program


def archive(data: bytes, names: Sequence[str]) -> bytes:
    """Return the bytes, or a zip of the members in them: no fuzzer would get its checksums right."""
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
    "model": reader(gdlnn.load_model, "m.gdlnn", list(members(MODEL.read_bytes()))),
    "programs": reader(gdlnn.ProgramSet.load, "p.jsonl"),
    "gdl": reader(_parse, "p.gdl"),
    "tu": reader(gdlnn.load_tu, "TOY"),
    "jsonl": reader(load_jsonl, "g.jsonl"),
    "table": reader(_active, "t.csv"),
    "xlsx": reader(_active, "t.xlsx", SHEET_MEMBERS),
    "parquet": reader(_active, "t.parquet"),
    "sdf": reader(load_sdf, "m.sdf"),
    "checkpoint": reader(lambda path: _mine(checkpoint=path), "run"),
}


def _sdf(v3000: bool) -> bytes:
    from rdkit import Chem

    blocks = (Chem.MolToMolBlock(Chem.MolFromSmiles(s), forceV3000=v3000) for s in ("CCO", "c1ccccc1N"))
    return "".join(f"{block}>  <active>\n1\n\n$$$$\n" for block in blocks).encode()


SOUND: dict[str, Callable[[], list[bytes]]] = {
    "model": lambda: [MODEL.read_bytes()],
    "programs": lambda: [_mine().to_text().encode()],
    "gdl": lambda: [PROGRAM + b"edge (x, y) <[1, 1]> /* more */\n", b"node x"],
    "tu": lambda: [CUT.join((*TU_GRAPHS, b"1.5\n2\n3\n4\n")), CUT.join(TU_GRAPHS[:3])],
    "jsonl": lambda: [_written(lambda path: MOTIFS.save(path)), b'{"nodes": [1], "edges": []}\n'],
    "table": lambda: [TABLE.to_csv(index=False).encode(), b'active;smiles\n"1";C[N+](C)C\n'],
    "xlsx": lambda: [sheet_of([list(TABLE), *TABLE.values.tolist()])],
    "parquet": lambda: [TABLE.to_parquet(), TABLE.to_parquet(compression=None)],
    "sdf": lambda: [_sdf(False), _sdf(True)],
    "checkpoint": lambda: [_written(lambda path: _mine(checkpoint=path))],
}


@cache
def sound_files(target: str) -> list[bytes]:
    """Return files that a reader reads."""
    return SOUND[target]()


def seeds(target: str) -> list[bytes]:
    """Return sound inputs of a target; of an archive also its members, for `archive` to pack."""
    files = sound_files(target)
    return files + [CUT.join(members(data).values()) for data in files if data[:2] == b"PK"]


def crafted(rng: random.Random, data: bytes) -> bytes:
    """Return a file with a few pieces replaced, inserted, moved, or cut off at the end."""
    for _ in range(rng.randint(1, 5)):
        at, other = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
        length = rng.choice((0, 1, 2, 5, 20, 200))
        piece = data[at : at + length]
        new = (
            rng.choice(PIECES),
            piece * rng.randint(2, 50),
            rng.randbytes(length),
            piece + data[other:][:length],
        )
        data = data[:at] + rng.choice(new) + data[at + length :]
        data = data[: rng.randrange(len(data) + 1)] if rng.random() < 0.04 else data
    return data


def main(words: list[str]) -> None:
    """Craft files over all readers; one that ends otherwise than it may is saved and ends the run."""
    n_files, seed = (*map(int, words), *(2000, 0)[len(words) :])
    rng, counts = random.Random(seed), Counter[tuple[str, str]]()
    for number in range(n_files):
        name = list(TARGETS)[number % len(TARGETS)]
        data = crafted(rng, rng.choice(seeds(name)))
        path, begin = Path(tempfile.gettempdir()) / f"crafted-{name}-{seed}-{number}", time.process_time()
        path.write_bytes(data)
        counts[name, TARGETS[name](data)] += 1
        assert time.process_time() - begin < MOST_SECONDS, path
        path.unlink()
    assert {end for _, end in counts} <= {"read", "refused"}, counts
    for name in TARGETS:
        print(f"{name:12} {counts[name, 'read']:6} read {counts[name, 'refused']:6} refused of seed {seed}")


if __name__ == "__main__":
    main(sys.argv[1:])
