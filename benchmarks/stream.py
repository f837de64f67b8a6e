"""How fast `gdlnn predict` goes through a long table of SMILES, and in how much memory.

The rows are molecules of BBBP and BACE in random order, each written from a random atom on. Without a model
one is trained on BBBP's table.
"""

from __future__ import annotations

import csv
import random
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks._measuring import data_folder, run_gdlnn

VARIANTS = 4
"""Ways in which each molecule is written."""
SHORT = {"rows": 3000}


def run(
    rows: Annotated[int, typer.Option(help="Number of molecules.")] = 1_000_000,
    model: Annotated[
        Path | None, typer.Option(help="A model of molecules; by default one is trained.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Number of threads.")] = 1,
) -> None:
    """Predict a long table."""
    root = data_folder()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_rows(folder / "rows.csv", rows, root)
        if model is None:
            model = folder / "bbbp.gdlnn"
            words = ["--label", "p_np", "-o", str(model), "-j", str(jobs), "-q"]
            run_gdlnn("train", str(root / "BBBP/BBBP.csv"), *words)
        words = ["--id", "id", "-j", str(jobs), "-q", "-o", str(folder / "predictions.csv")]
        cost = run_gdlnn("predict", str(model), str(folder / "rows.csv"), *words)
    print(f"{rows:,} rows: {cost.seconds:,.0f} s, {cost.cpu:,.0f} CPU seconds")
    print(f"{rows / cost.seconds:,.0f} rows per second, {rows / cost.cpu:,.0f} per CPU second")
    print(f"at most {cost.peak_mb:,.0f} MB of memory")


def write_rows(path: Path, n: int, root: Path) -> None:
    """Write a table of n molecules, including those that RDKit refuses."""
    from rdkit import Chem, rdBase

    rdkit: Any = Chem
    rdBase.DisableLog("rdApp.*")
    rng = random.Random(0)
    written: list[list[str]] = []
    for name in ("BBBP/BBBP.csv", "BACE/bace.csv"):
        with (root / name).open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                molecule = rdkit.MolFromSmiles(row["smiles"])
                some = [row["smiles"]]
                if molecule is not None:
                    some = list(rdkit.MolToRandomSmilesVect(molecule, VARIANTS, randomSeed=1))
                written.append(some)
    with path.open("w", encoding="utf-8") as file:
        file.write("id,smiles\n")
        for i in range(n):
            file.write(f"m{i},{rng.choice(rng.choice(written))}\n")
