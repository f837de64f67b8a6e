"""How fast datasets are read: from text, from SMILES, compared with PyG's TU reader."""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._measuring import data_folder, least
from gdlnn.datasets import load_smiles, load_tu

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT_AIM, SMILES_AIM, RATIO_AIM = 1.5, 5.0, 3.0


def run() -> None:
    """Measure how long reading takes."""
    root = data_folder()
    best = partial(least, clock=time.perf_counter)  # readers wait for the disk as well
    print(f"{'':14}{'text, s':>10}{'graphs/s':>12}{'PyG, s':>10}{'ratio':>8}   aim")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("MUTAG", "PROTEINS", "NCI1", "Mutagenicity"):
            path = root / name
            text = best(lambda path=path: load_tu(path))  # type: ignore[misc]
            n = len(load_tu(path))
            pyg = best(_pyg_reader(name, path, Path(folder)))
            aim = f"text ≤ {TEXT_AIM}, ratio ≥ {RATIO_AIM:g}"
            print(f"{name:14}{text:10.3f}{n / text:12,.0f}{pyg:10.3f}{pyg / text:8.1f}   {aim}")
        path = root / "BBBP" / "BBBP.csv"
        n = len(load_smiles(path, label="p_np"))  # RDKit's own start is not the reader's
        text = best(lambda: load_smiles(path, label="p_np"))
        print(f"{'BBBP (SMILES)':14}{text:10.3f}{n / text:12,.0f}{'':18}   text ≤ {SMILES_AIM:g}")


def _pyg_reader(name: str, path: Path, folder: Path) -> Callable[[], object]:
    """Return a call of PyG's reader on the same files, without its download and its own cache."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch_geometric.io import read_tu_data

    copy = folder / name
    copy.mkdir()
    for file in path.glob(f"{name}_*.txt"):
        # It takes every file of the folder for one of its own, and does not know the ground truth.
        if not file.name.endswith("_gt.txt"):
            shutil.copy(file, copy / file.name)
    return lambda: read_tu_data(str(copy), name)
