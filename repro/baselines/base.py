"""Baseline, the base of all baselines, and the simple ones: majority class, forests on fixed features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gdlnn.errors import GraphError, ModelError, require
from gdlnn.graphs.molecules import chem, graph_molecule
from gdlnn.graphs.schema import label_codes
from gdlnn.model.base import GraphEstimator
from gdlnn.model.inputs import (
    GraphsLike,
    Validation,
    as_graphs,
    as_labeled,
    check_features,
    training_and_validation,
)
from gdlnn.model.pooling import PooledFeatures

if TYPE_CHECKING:
    from gdlnn.graphs import Graph, GraphDataset, Schema

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Baseline(GraphEstimator):
    """A classifier of graphs: checks input, and turns probabilities into labels.

    Subclasses are dataclasses whose fields are the parameters, and implement `_fit` and `_proba`.
    """

    validation_fraction: float = 0.0
    """Share to hold out if `fit` is given no validation set; 0 for baselines that need none."""
    random_state: int

    def fit(self, X: GraphsLike, y: npt.ArrayLike | None = None, *, validation: Validation = None) -> Self:
        """Train on graphs and labels; without `y` those of the dataset.

        The validation set is for early stopping: a fraction of the training graphs, ``(graphs, y)`` or a
        dataset. It is not trained on.
        """
        data = as_labeled(X, y)
        if not len(data):
            raise ModelError("fit: expected at least one graph, got none")
        train, val = training_and_validation(data, validation, self.validation_fraction, self.random_state)
        assert train.y is not None
        self.classes_, codes = np.unique(train.y, return_inverse=True)
        self.n_node_features_, self.n_edge_features_ = train.n_node_features, train.n_edge_features
        self.schema_ = train.schema
        self._fit(train, codes.astype(np.int64), val)
        return self

    def _fit(self, train: GraphDataset, codes: IntArray, val: GraphDataset | None) -> None:
        raise NotImplementedError

    def _proba(self, graphs: list[Graph]) -> FloatArray:
        raise NotImplementedError

    def predict_proba(self, X: GraphsLike) -> FloatArray:
        """Return the probability of every class, in the order of `classes_`."""
        graphs = self._checked(X)
        return self._proba(graphs) if graphs else np.zeros((0, len(self.classes_)))

    def predict(self, X: GraphsLike) -> npt.NDArray[Any]:
        """Return the most probable label of every graph."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _checked(self, X: GraphsLike) -> list[Graph]:
        check_is_fitted(self, "classes_")
        graphs = as_graphs(X)
        check_features(graphs, self.n_node_features_, self.n_edge_features_, "predict")
        return graphs

    def _codes(self, y: npt.NDArray[Any]) -> IntArray:
        """Return the numbers of labels; a label not trained on gets -1 and counts as wrong."""
        return label_codes(y, self.classes_)


@dataclass(eq=False, repr=False)
class MajorityClassifier(Baseline):
    """Predict the most frequent label of the training graphs, with the shares of labels as probabilities."""

    random_state: int = 0

    def _fit(self, train: GraphDataset, codes: IntArray, val: GraphDataset | None) -> None:  # noqa: ARG002
        self.shares_: FloatArray = np.bincount(codes, minlength=len(self.classes_)) / len(codes)

    def _proba(self, graphs: list[Graph]) -> FloatArray:
        return np.tile(self.shares_, (len(graphs), 1))


@dataclass(eq=False, repr=False)
class FingerprintForestClassifier(Baseline):
    """A random forest on ECFP fingerprints of molecules; with radius 2 these are ECFP4.

    Fingerprints are computed from the graphs, so it works on every dataset whose schema says that its
    graphs are molecules. If the graphs hold no hydrogens, charges or rings, RDKit works them out.

    `class_weight` "balanced" gives every class the same weight, None every graph.
    """

    radius: int = 2
    n_bits: int = 2048
    n_trees: int = 500
    class_weight: str | None = None
    random_state: int = 0
    n_jobs: int | None = 1

    def _fit(self, train: GraphDataset, codes: IntArray, val: GraphDataset | None) -> None:  # noqa: ARG002
        rows = fingerprints(train.graphs, train.schema, self.radius, self.n_bits)
        self.forest_ = _forest(self, self.class_weight).fit(rows, codes)

    def _proba(self, graphs: list[Graph]) -> FloatArray:
        rows = fingerprints(graphs, self.schema_, self.radius, self.n_bits)
        return np.asarray(self.forest_.predict_proba(rows))


@dataclass(eq=False, repr=False)
class PooledForestClassifier(Baseline):
    """A random forest on pooled node and edge features: what a graph is made of, without its structure."""

    n_trees: int = 500
    random_state: int = 0
    n_jobs: int | None = 1

    def _fit(self, train: GraphDataset, codes: IntArray, val: GraphDataset | None) -> None:  # noqa: ARG002
        self.pooled_ = PooledFeatures().fit(train)
        self.forest_ = _forest(self).fit(self.pooled_.transform(train), codes)

    def _proba(self, graphs: list[Graph]) -> FloatArray:
        return np.asarray(self.forest_.predict_proba(self.pooled_.transform(graphs)))


def _forest(
    baseline: FingerprintForestClassifier | PooledForestClassifier, class_weight: str | None = None
) -> Any:
    """Return the unfitted forest of a baseline."""
    from sklearn.ensemble import RandomForestClassifier

    options = {"random_state": baseline.random_state, "n_jobs": baseline.n_jobs}
    return RandomForestClassifier(baseline.n_trees, class_weight=class_weight, **options)


def fingerprints(
    graphs: list[Graph], schema: Schema | None, radius: int = 2, n_bits: int = 2048
) -> npt.NDArray[np.uint8]:
    """Return one row of bits per molecule."""
    if schema is None or schema.domain != "molecule":
        raise ModelError(
            "fingerprints: expected molecules (a schema with domain 'molecule'), got other graphs"
        )
    purpose = "The baseline ecfp-rf"
    generators: Any = require("rdkit.Chem.rdFingerprintGenerator", "chem", purpose)
    generator = generators.GetMorganGenerator(radius=radius, fpSize=n_bits)
    rows = np.zeros((len(graphs), n_bits), dtype=np.uint8)
    for index, graph in enumerate(graphs):
        try:
            molecule = graph_molecule(graph, schema)
        except GraphError as error:
            raise ModelError(f"fingerprints: graph {index}: {error}") from error
        chem(purpose).FastFindRings(molecule)
        rows[index] = generator.GetFingerprintAsNumPy(molecule)
    return rows
