"""MajorityClassifier: the most frequent training label, whatever the graph. What every method must beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdlnn.baselines.base import FloatArray, GraphClassifier, IntArray

if TYPE_CHECKING:
    from gdlnn.graphs import Graph, GraphDataset


class MajorityClassifier(GraphClassifier):
    """Predict the most frequent label of the training graphs, with the shares of the labels as probabilities.

    Parameters
    ----------
    seed
        Taken for the sake of the common interface; nothing here is random.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def _fit(self, train: GraphDataset, codes: IntArray, val: GraphDataset | None) -> None:  # noqa: ARG002
        self.shares_: FloatArray = np.bincount(codes, minlength=len(self.classes_)) / len(codes)

    def _proba(self, graphs: list[Graph]) -> FloatArray:
        return np.tile(self.shares_, (len(graphs), 1))
