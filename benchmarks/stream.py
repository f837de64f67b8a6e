"""How fast `gdlnn predict` goes through a long table of SMILES, and in how much memory.

::

    python -m benchmarks stream [--rows 1000000] [--model FILE] [--jobs 1] [--folder FOLDER]

The rows are molecules of BBBP and BACE in random order, each written from a random atom on. Without a model
one is trained on BBBP's table. Table, model and predictions stay in the folder where one is named.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import resource
    from collections.abc import Sequence

VARIANTS = 4
"""Ways in which each molecule is written."""
GDLNN = (sys.executable, "-c", "from gdlnn.cli import main; main()")


def run(argv: Sequence[str] | None = None) -> None:
    """Measure; without arguments a few thousand rows, with a model of a few molecules."""
    parser = argparse.ArgumentParser("python -m benchmarks stream")
    parser.add_argument("--rows", type=int, default=1_000_000 if argv else 3000)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args([] if argv is None else list(argv))
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("stream: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        table, model = folder / "rows.csv", options.model or folder / "bbbp.gdlnn"
        write_rows(table, options.rows, Path(root))
        if not model.is_file():
            rows = Path(root) / "BBBP/BBBP.csv" if argv else _few(folder / "few.csv", Path(root))
            _gdlnn("train", str(rows), "--label", "p_np", "-o", str(model), "-j", str(options.jobs), "-q")
        started = time.monotonic()
        words = ["--id", "id", "-j", str(options.jobs), "-q", "-o", str(folder / "predictions.csv")]
        used = _gdlnn("predict", str(model), str(table), *words)
        seconds = time.monotonic() - started
    cpu = used.ru_utime + used.ru_stime
    print(f"{options.rows:,} rows: {seconds:,.0f} s, {cpu:,.0f} s of processors")
    print(
        f"{options.rows / seconds:,.0f} rows per second, {options.rows / cpu:,.0f} per second of processors"
    )
    print(f"at most {used.ru_maxrss / 1024:,.0f} MB of memory")


def write_rows(path: Path, n: int, root: Path, seed: int = 0) -> None:
    """Write a table of n molecules, including those that RDKit refuses."""
    from rdkit import Chem, rdBase

    rdkit: Any = Chem
    rdBase.DisableLog("rdApp.*")
    rng = random.Random(seed)
    written: list[list[str]] = []
    for name in ("BBBP/BBBP.csv", "BACE/bace.csv"):
        with (root / name).open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                molecule = rdkit.MolFromSmiles(row["smiles"])
                some = [row["smiles"]]
                if molecule is not None:
                    some = list(rdkit.MolToRandomSmilesVect(molecule, VARIANTS, randomSeed=seed + 1))
                written.append(some)
    with path.open("w", encoding="utf-8") as file:
        file.write("id,smiles\n")
        for i in range(n):
            file.write(f"m{i},{rng.choice(rng.choice(written))}\n")


def _few(path: Path, root: Path, n: int = 200) -> Path:
    """Write some rows of BBBP, spread evenly over it."""
    lines = (root / "BBBP/BBBP.csv").read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(lines[:1] + lines[1 :: (len(lines) - 1) // n]), encoding="utf-8")
    return path


def _gdlnn(*words: str) -> resource.struct_rusage:
    """Run a command; return what this process took, and none that ran before."""
    process = subprocess.Popen([*GDLNN, *words])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return used


if __name__ == "__main__":
    run(sys.argv[1:])
