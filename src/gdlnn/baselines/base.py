"""GraphClassifier: what the baselines share, input checks, labels, `predict` and `score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from gdlnn.errors import ModelError
from gdlnn.graphs.schema import label_codes
from gdlnn.model.inputs import GraphsLike, Validation, as_graphs, as_labelled, training_and_validation

if TYPE_CHECKING:
    from gdlnn.graphs import Graph, GraphDataset

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class GraphClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of graphs; a baseline says how to fit and how to give probabilities or labels.

    Attributes
    ----------
    classes_
        The labels.
    n_node_features_, n_edge_features_
        Numbers of features of the training graphs.
    """

    validation_fraction: float = 0.0
    """Share that is held out where `fit` is given no validation part; those that need none hold out none."""
    seed: int

    def fit(self, X: GraphsLike, y: npt.ArrayLike | None = None, *, validation: Validation = None) -> Self:
        """Train on graphs and labels.

        Parameters
        ----------
        X, y
            Graphs and labels; without `y` those of the data set.
        validation
            The part on which early stopping looks: a fraction of the training graphs, ``(graphs, y)`` or a
            data set. It is not trained on; a baseline without early stopping does not look at it.
        """
        data = as_labelled(X, y)
        if not len(data):
            raise ModelError("fit: expected at least one graph, got none")
        train, val = training_and_validation(data, validation, self.validation_fraction, self.seed)
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

    def score(self, X: GraphsLike, y: npt.ArrayLike | None = None, sample_weight: Any = None) -> float:
        """Return the accuracy; without `y` on the labels of the data set."""
        from sklearn.metrics import accuracy_score

        data = as_labelled(X, y, "score")
        return float(accuracy_score(data.y, self.predict(data), sample_weight=sample_weight))

    def _checked(self, X: GraphsLike) -> list[Graph]:
        check_is_fitted(self, "classes_")
        graphs = as_graphs(X)
        for index, graph in enumerate(graphs):
            for of, expected, got in (
                ("node", self.n_node_features_, graph.node_features.shape[1]),
                ("edge", self.n_edge_features_, graph.edge_features.shape[1]),
            ):
                rows = graph.n_nodes if of == "node" else graph.n_edges
                if rows and expected != got:
                    raise ModelError(
                        f"predict: graph {index}: expected {expected} {of} feature(s), as in training, "
                        f"got {got}"
                    )
        return graphs

    def _codes(self, y: npt.NDArray[Any]) -> IntArray:
        """Return the numbers of labels; one that was not trained on gets -1 and counts as wrong."""
        return label_codes(y, self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags
