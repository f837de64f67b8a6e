"""Graphs, datasets of graphs and their schemas: validated, immutable NumPy.

File formats are in `gdlnn.datasets`, models in `gdlnn.model`.
"""

from gdlnn.graphs.dataset import GraphDataset, SkippedRow
from gdlnn.graphs.graph import Graph
from gdlnn.graphs.schema import Feature, FeatureKind, Schema
from gdlnn.graphs.splits import Split

__all__ = [
    "Feature",
    "FeatureKind",
    "Graph",
    "GraphDataset",
    "Schema",
    "SkippedRow",
    "Split",
]
