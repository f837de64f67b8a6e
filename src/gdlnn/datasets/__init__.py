"""Read datasets: the nine of the paper, your own, and other formats.

`GraphDataset` itself is in `gdlnn.graphs`.
"""

from gdlnn.datasets.jsonl import load_jsonl
from gdlnn.datasets.load import load_dataset
from gdlnn.datasets.molecules import load_sdf, load_smiles
from gdlnn.datasets.motifs import make_ba_2motifs
from gdlnn.datasets.resolve import resolve_dataset
from gdlnn.datasets.tu import load_tu

__all__ = [
    "load_dataset",
    "load_jsonl",
    "load_sdf",
    "load_smiles",
    "load_tu",
    "make_ba_2motifs",
    "resolve_dataset",
]
