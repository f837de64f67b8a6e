"""Data sets: the nine of the paper, your own, and other people's formats. What a data set can do is in `gdlnn.graphs`."""

from gdlnn.datasets.load import load_dataset
from gdlnn.datasets.smiles import load_smiles
from gdlnn.datasets.synthetic import make_ba_2motifs
from gdlnn.datasets.tu import load_tu

__all__ = ["load_dataset", "load_smiles", "load_tu", "make_ba_2motifs"]
