"""Every reader of foreign files as a function of bytes: it says "read" or "refused", anything else is a bug.

`python -m fuzz.readers FILES SEED` in tests/ crafts so many files over all readers and counts how they end.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fuzz.targets import CUT, EXAMPLES, TU_FILES, _dataset_file, _model_file, archive, seeds
from gdlnn import GDLNNError, Graph, GraphDataset, ProgramSet, load_model, load_tu, make_ba_2motifs, mine
from gdlnn.datasets import load_jsonl, load_sdf, load_smiles, save_jsonl
from gdlnn.explain import Explanation
from reference.hostile_tables import SHEET_MEMBERS

if TYPE_CHECKING:
    from collections.abc import Callable

MOTIFS = make_ba_2motifs(6, seed=0)


def reader(read: Callable[[Path], Any], name: str) -> Callable[[bytes], str]:
    """Return a reader of bytes, which are in a file of that name while they are read."""

    def of_bytes(data: bytes) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            try:
                used(read(path))
            except GDLNNError as error:
                return "refused" if "\x1b" not in str(error) else "a message that moves the cursor"
        return "read"

    return of_bytes


def used(found: Any) -> None:
    """Use what was read: its numbers are finite, and it can be written and read again."""
    if isinstance(found, GraphDataset):
        for graph in found.graphs[:5]:
            assert np.isfinite(graph.node_features).all()
            assert np.isfinite(graph.edge_features).all()
        if found.y is not None and found.y.dtype.kind == "f":
            assert np.isfinite(found.y).all()
    elif isinstance(found, ProgramSet):
        assert ProgramSet.from_text(found.to_text()) == found
    elif hasattr(found, "predict_proba"):
        info = found.programs_.info
        if max(info.n_node_features, info.n_edge_features) > 50:
            return
        nodes, edges = np.ones((3, info.n_node_features)), np.ones((2, info.n_edge_features))
        graph = Graph(nodes, [(0, 1), (1, 2)], edges, directed=info.directed)
        assert np.isfinite(found.predict_proba([graph])).all()


def _tu(data: bytes) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "TOY"
        folder.mkdir()
        for suffix, content in zip(TU_FILES, data.split(CUT), strict=False):
            (folder / f"TOY_{suffix}.txt").write_bytes(content)
        try:
            used(load_tu(folder, min_classes=1))
        except GDLNNError:
            return "refused"
    return "read"


def _checkpoint(path: Path) -> None:
    """Go on from a checkpoint of mining."""
    used(mine(MOTIFS, checkpoint=path, targets=3))


def _archived(read: Callable[[Path], Any], whole: Callable[[], bytes]) -> Callable[[bytes], str]:
    names = ["model.json", "programs.json", "head.safetensors"] if whole is _model_file else []
    of_bytes = reader(read, "file.gdlds")
    return lambda data: of_bytes(archive(data, names) if names else data)


def _sheet(data: bytes) -> str:
    """Read an Excel file whose members are the pieces of the bytes, or the bytes themselves."""
    return _OF_SHEETS(archive(data, SHEET_MEMBERS))


_OF_SHEETS = reader(lambda path: load_smiles(path, label="active", min_classes=1), "t.xlsx")


READERS: dict[str, Callable[[bytes], str]] = {
    "model": _archived(load_model, _model_file),
    "dataset": _archived(GraphDataset.load, _dataset_file),
    "programs": reader(ProgramSet.load, "p.gdl"),
    "gdl": reader(lambda path: [*_parsed(path)], "p.gdl"),
    "tu": _tu,
    "jsonl": reader(load_jsonl, "g.jsonl"),
    "table": reader(lambda path: load_smiles(path, label="active", min_classes=1), "t.csv"),
    "xlsx": _sheet,
    "parquet": reader(lambda path: load_smiles(path, label="active", min_classes=1), "t.parquet"),
    "sdf": reader(lambda path: load_sdf(path), "m.sdf"),
    "explanation": reader(lambda path: Explanation.from_json(path.read_bytes()), "e.json"),
    "checkpoint": reader(_checkpoint, "run"),
}


def _parsed(path: Path) -> list[Any]:
    from gdlnn import parse_programs

    return list(parse_programs(path.read_bytes().decode("utf-8", "replace")))


@cache
def sound_files(name: str) -> list[bytes]:
    """Return files that a reader reads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        if name in ("model", "dataset"):
            return [_model_file() if name == "model" else _dataset_file()]
        if name in ("tu", "gdl", "xlsx", "parquet", "sdf"):
            return seeds(name)
        if name == "programs":
            return [mine(MOTIFS, targets=3).to_text().encode()]
        if name == "jsonl":
            save_jsonl(MOTIFS, path)
        elif name == "table":
            path.write_bytes(b"\n".join(EXAMPLES.read_bytes().splitlines()[:12]) + b"\n")
        elif name == "explanation":
            import json

            path.write_text(json.dumps(_explanation()))
        else:
            mine(MOTIFS, checkpoint=path, targets=3)
        return [path.read_bytes()]


def _explanation() -> dict[str, Any]:
    model = load_model(Path(__file__).parent.parent / "golden" / "payments-paper.gdlnn")
    info = model.programs_.info
    nodes, edges = np.ones((3, info.n_node_features)), np.ones((2, info.n_edge_features))
    graph = Graph(nodes, [(0, 1), (1, 2)], edges, directed=info.directed)
    (found,) = model.explain([graph])
    told: dict[str, Any] = found.to_json()
    return told


PIECES = (
    b"", b"nan", b"NaN", b"Infinity", b"1e39", b"1e308", b"-1", b"0", b"1_0", b"99999999999999999999", b"\0",
    b"\xff", b"{}", b"[]", b"[[", b'"', b"\n", b",", b"null", b"true", b'"no"', b"\x1b[2J",
    b"0-999999999", b"$$$$\n", b"\t",
)  # fmt: skip


def crafted(rng: random.Random, data: bytes) -> bytes:
    """Return a file with a few pieces cut, doubled, moved or replaced."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 5)):
        at, length = rng.randrange(len(changed) + 1), rng.choice((0, 1, 2, 5, 20, 200))
        kind = rng.randrange(5)
        if kind == 0:
            changed[at : at + length] = rng.choice(PIECES)
        elif kind == 1:
            changed[at : at + length] = changed[at : at + length] * rng.randint(2, 50)
        elif kind == 2:
            changed[at : at + length] = rng.randbytes(length)
        elif kind == 3:
            del changed[at:][: rng.randrange(1 + len(changed))]
            changed = changed[: rng.randrange(len(changed) + 1)] if rng.random() < 0.2 else changed
        else:
            other = rng.randrange(len(changed) + 1)
            changed[at:at] = changed[other : other + length]
    return bytes(changed)


def main(words: list[str]) -> None:
    """Craft files over all readers; one that ends otherwise than it may is kept and ends the run."""
    n_files, seed = (int(words[0]) if words else 2000), (int(words[1]) if len(words) > 1 else 0)
    rng, counts, slowest = random.Random(seed), Counter[tuple[str, str]](), (0.0, "")
    for number in range(n_files):
        name = list(READERS)[number % len(READERS)]
        data = crafted(rng, rng.choice(sound_files(name)))
        begin = time.process_time()
        try:
            counts[name, READERS[name](data)] += 1
        except BaseException:
            kept = Path(tempfile.gettempdir()) / f"crafted-{name}-{seed}-{number}"
            kept.write_bytes(data)
            print(f"{name}: file {number} of seed {seed} ended otherwise; it is {kept}", flush=True)
            raise
        slowest = max(slowest, (time.process_time() - begin, f"{name} {number}"))
    for name in READERS:
        print(f"{name:12} {counts[name, 'read']:6} read {counts[name, 'refused']:6} refused")
    print(f"{n_files} files, seed {seed}; the slowest took {slowest[0]:.2f} s ({slowest[1]})")


if __name__ == "__main__":
    main(sys.argv[1:])
