"""Heads: what classifies the rows of the GDL layer, as scikit-learn classifiers.

A head of our own also says what each column adds to a probability, and gives the arrays that a model file
holds. `MLPHead` is the paper's and needs torch; `mixture` has the default, `linear` and `scorecard` fit in a
table.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from gdlnn.errors import ModelError, require
from gdlnn.graphs.schema import label_codes
from gdlnn.model.base import ClassifierMixin, FloatArray, IntArray, StoredHead, Tensors, check_shapes
from gdlnn.model.inputs import check_outputs, is_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LAYERS = 4096
"""Maximum number of layers of a head: each takes memory besides its weights."""


def class_weights(head: Any, codes: IntArray) -> FloatArray | None:
    """Return the class weights of a fitted head; None for equal weights."""
    wanted = getattr(head, "class_weight", None)
    if wanted is None:
        return None
    weights = compute_class_weight(wanted, classes=head.classes_, y=head.classes_[codes])
    return np.asarray(weights, dtype=np.float64)


class Head(ClassifierMixin, StoredHead):
    """A classifier of rows that explains itself and can be stored.

    Attributes
    ----------
    classes_
        The labels.
    """

    @abstractmethod
    def members(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of the members that are averaged, members × rows × classes."""

    @property
    def shares(self) -> FloatArray:
        """The weight of each member in the average."""
        return np.ones(1)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class."""
        return self.averaged(self.members(self.dense(X)))

    def averaged(self, members: FloatArray) -> FloatArray:
        """Return the weighted mean of the members' probabilities."""
        mean = np.tensordot(self.shares, members, axes=1)
        return check_outputs(np.asarray(mean / mean.sum(axis=1, keepdims=True)))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def checked(self, X: Any, y: npt.ArrayLike) -> tuple[Any, IntArray]:
        """Check the rows and labels of a fit; set the classes and return rows and codes."""
        X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return X, codes.astype(np.int64)

    def weights_by_code(self) -> Any:
        """Return the class weights for an estimator that is trained on codes."""
        given = getattr(self, "class_weight", None)
        if not isinstance(given, Mapping):
            return given
        return dict(zip(label_codes(given, self.classes_).tolist(), given.values(), strict=True))

    def dense(self, X: Any) -> FloatArray:
        """Return checked rows as an array; scikit-learn's checks take longer than one row."""
        if not (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X)
            and not hasattr(self, "feature_names_in_")
            and X.shape[1] == getattr(self, "n_features_in_", None)
            and np.isfinite(X.sum())
        ):
            check_is_fitted(self, "classes_")
            X = validate_data(self, X, dtype=np.float64, reset=False, accept_sparse="csr")
        return _dense(X)


def _dense(X: Any) -> FloatArray:
    return X.toarray() if issparse(X) else np.asarray(X)


def _network() -> Any:
    """Return the module with the perceptron, which needs torch."""
    require("torch", "torch", "A perceptron")
    return importlib.import_module("gdlnn.model.network")


@dataclass(eq=False, repr=False)
class MLPHead(Head):
    """A multi-layer perceptron as the paper has it; it needs torch.

    Parameters
    ----------
    hidden
        Sizes of the hidden layers.
    dropout
        Share of hidden units dropped in each training step.
    learning_rate
        Of the Adam optimizer.
    epochs
        Maximum passes over the training data; without a validation set, exactly this many.
    patience
        Training stops after this many passes without a better score on the validation set (accuracy first,
        then loss); the best state is kept.
    batch_size
        Rows of one training step.
    class_weight
        "balanced" gives every class the same weight, None every row; or weights by label. Inside a
        `GDLNNClassifier`, None means that of the classifier.
    random_state
        Seed of the initial weights, of the order of rows and of dropout. None: that of the classifier that
        the head belongs to, or 0.
    device
        "auto", "cpu", "cuda".

    Attributes
    ----------
    tensors_
        Mean and scale of the features, and the layers, by their names in a file.
    history_
        For every epoch the loss and, with a validation set, the validation accuracy.
    """

    hidden: Sequence[int] = (64,)
    dropout: float = 0.5
    learning_rate: float = 0.005
    epochs: int = 500
    patience: int = 100
    batch_size: int = 128
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None
    random_state: int | None = None
    device: str = "auto"

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        validation: tuple[Any, npt.ArrayLike] | None = None,
        row_weights: FloatArray | None = None,
    ) -> Self:
        """Train on features X; a validation set stops the training early.

        `row_weights` are the weights of rows. They are not called sample_weight, since a row of weight 2
        is not the same to a network as the row twice, which scikit-learn would expect.
        """
        self._check_parameters()
        X, codes = self.checked(X, y)
        held_out = None
        if validation is not None:
            held_X = check_array(validation[0], dtype=np.float64, accept_sparse="csr")
            held_out = (_dense(held_X), label_codes(np.asarray(validation[1]), self.classes_))
        self.tensors_, self.history_ = _network().train_network(self, _dense(X), codes, held_out, row_weights)
        return self

    def _check_parameters(self) -> None:
        for name, expected, fine in (
            ("hidden", "sizes of at least 1", all(is_whole(size, 1) for size in self.hidden)),
            ("dropout", "a share from 0 to below 1", 0 <= self.dropout < 1),
            ("learning_rate", "a number above 0", self.learning_rate > 0),
            ("epochs", "a whole number of at least 1", is_whole(self.epochs, 1)),
            ("patience", "a whole number of at least 1", is_whole(self.patience, 1)),
            ("batch_size", "a whole number of at least 1", is_whole(self.batch_size, 1)),
            (
                "class_weight",
                "balanced, weights by label or None",
                self.class_weight in (None, "balanced") or isinstance(self.class_weight, Mapping),
            ),
            (
                "random_state",
                "a whole number of at least 0",
                self.random_state is None or is_whole(self.random_state, 0),
            ),
        ):
            if not fine:
                raise ModelError(f"{name}: expected {expected}, got {getattr(self, name)!r}")

    def members(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of the one member."""
        return np.asarray(np.exp(_network().log_probabilities(self.tensors_, X)))[None]

    def contributions(self, X: FloatArray, baseline: FloatArray, wanted: IntArray) -> FloatArray:
        """Integrate the gradient of the probability from the baseline to each row."""
        return np.asarray(_network().contributions(self.tensors_, X, baseline, wanted))

    def tensors(self) -> Tensors:
        """Return the weights of the network."""
        return dict(self.tensors_)

    def restore(self, tensors: Tensors, n_features: int, n_classes: int) -> None:
        """Set the weights of the network, after a look at their shapes: they may come from any file."""
        self._check_parameters()
        widths = (n_features, *self.hidden, n_classes)
        if len(widths) > MAX_LAYERS:
            raise ValueError(f"expected at most {MAX_LAYERS:,} layers in the head, got more")
        shapes: dict[str, tuple[int, ...]] = {"mean": widths[:1], "scale": widths[:1]}
        for level, (inputs, outputs) in enumerate(pairwise(widths)):
            shapes |= zip(layer_names(level), ((outputs, inputs), (outputs,)), strict=True)
        check_shapes(tensors, shapes, np.float32)
        if not (tensors["scale"] >= np.finfo(np.float32).tiny).all():
            raise ValueError("scale: expected numbers above 0")
        self.tensors_, self.history_ = tensors, []
        self.classes_, self.n_features_in_ = np.arange(n_classes), n_features


def layer_names(level: int) -> tuple[str, str]:
    """Return what weights and biases of a layer are called in a file."""
    return f"layers.{level}.weight", f"layers.{level}.bias"
