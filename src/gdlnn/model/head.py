"""MLPHead: the multi-layer perceptron on top of the GDL layer, as a scikit-learn classifier.

The network itself is in `network`; torch is loaded when a head is first fitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from gdlnn.errors import ModelError
from gdlnn.graphs.schema import label_codes
from gdlnn.model.base import BaseEstimator, ClassifierMixin
from gdlnn.model.inputs import MIN_VALIDATION, check_probabilities, is_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.model.network import HeadNetwork

FloatArray = npt.NDArray[np.float64]


def class_weights(head: Any, codes: npt.NDArray[np.int64]) -> FloatArray | None:
    """Return the class weights of a fitted head; None for equal weights."""
    wanted = getattr(head, "class_weight", None)
    if wanted is None:
        return None
    weights = compute_class_weight(wanted, classes=head.classes_, y=head.classes_[codes])
    return np.asarray(weights, dtype=np.float64)


@dataclass(eq=False, repr=False)
class MLPHead(ClassifierMixin, BaseEstimator):
    """A multi-layer perceptron, or a linear classifier if `hidden` is empty.

    Parameters
    ----------
    hidden
        Sizes of the hidden layers.
    dropout
        Share of hidden units dropped in each training step.
    input_dropout
        Share of features dropped in each training step.
    learning_rate, weight_decay
        Of the Adam optimiser.
    epochs
        Maximum passes over the training data; without early stopping, exactly this many.
    patience
        Training stops after this many passes without a better score on the validation set (accuracy first,
        then loss); the best state is kept.
    early_stopping
        Whether the validation set is used for early stopping; "auto": if it has at least `MIN_VALIDATION`
        rows, since choices made on fewer are noise.
    batch_size
        Rows of one training step.
    ensemble_size
        Number of perceptrons, each with its own seed, whose probabilities are averaged.
    linear_share
        Weight of a linear model with L2 regularisation in the average of probabilities; 0, or without hidden
        layers: none. Perceptrons on thousands of programs are overconfident; the average is not.
    class_weight
        "balanced" gives every class the same weight, None every row; or weights by label. Inside a
        `GDLNNClassifier`, None means that of the classifier.
    seed
        Seed of the initial weights, of the order of rows and of dropout. None: that of the classifier that
        the head belongs to, or 0.
    device
        "auto", "cpu", "cuda".

    Attributes
    ----------
    classes_
        The labels.
    network_
        The fitted torch module: raw features to log probabilities.
    history_
        For every member and epoch the losses and, with early stopping, the validation accuracy.
    """

    hidden: Sequence[int] = (64,)
    dropout: float = 0.5
    input_dropout: float = 0.5
    learning_rate: float = 0.005
    weight_decay: float = 5e-4
    epochs: int = 80
    patience: int = 30
    early_stopping: bool | Literal["auto"] = "auto"
    batch_size: int = 128
    ensemble_size: int = 5
    linear_share: float = 0.5
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None
    seed: int | None = None
    device: str = "auto"

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        validation: tuple[Any, npt.ArrayLike] | None = None,
        row_weights: FloatArray | None = None,
    ) -> Self:
        """Train on features X, dense or sparse; a validation set stops the training early.

        `row_weights` are the weights of rows. They are not called sample_weight, since a row of weight 2
        is not the same to a network as the row twice, which scikit-learn would expect.
        """
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        held_out = None
        if validation is not None and self.stops_early(len(np.asarray(validation[1]))):
            held_X = check_array(validation[0], dtype=np.float64, accept_sparse="csr")
            held_out = (held_X, self._codes(np.asarray(validation[1])))
        from gdlnn.model.network import train_network

        self.network_, self.history_ = train_network(self, X, codes.astype(np.int64), held_out, row_weights)
        return self

    @property
    def share_of_linear(self) -> float:
        """The weight of the linear model; 0 if the perceptrons are linear themselves."""
        return float(self.linear_share) if len(self.hidden) else 0.0

    def stops_early(self, n_validation: int) -> bool:
        """Return whether a validation set of this size is used for early stopping."""
        if self.early_stopping == "auto":
            return n_validation >= MIN_VALIDATION
        return bool(self.early_stopping) and n_validation > 0

    def _check_parameters(self) -> None:
        for name, expected, fine in (
            ("hidden", "sizes of at least 1", all(is_whole(size, 1) for size in self.hidden)),
            ("dropout", "a share from 0 to below 1", 0 <= self.dropout < 1),
            ("input_dropout", "a share from 0 to below 1", 0 <= self.input_dropout < 1),
            ("learning_rate", "a number above 0", self.learning_rate > 0),
            ("weight_decay", "a number of at least 0", self.weight_decay >= 0),
            ("epochs", "a whole number of at least 1", is_whole(self.epochs, 1)),
            ("patience", "a whole number of at least 1", is_whole(self.patience, 1)),
            ("batch_size", "a whole number of at least 1", is_whole(self.batch_size, 1)),
            ("early_stopping", "True, False or auto", self.early_stopping in (True, False, "auto")),
            ("ensemble_size", "a whole number of at least 1", is_whole(self.ensemble_size, 1)),
            ("linear_share", "a share from 0 to below 1", 0 <= self.linear_share < 1),
            (
                "class_weight",
                "balanced, weights by label or None",
                self.class_weight in (None, "balanced") or isinstance(self.class_weight, Mapping),
            ),
            ("seed", "a whole number of at least 0", self.seed is None or is_whole(self.seed, 0)),
        ):
            if not fine:
                raise ModelError(f"{name}: expected {expected}, got {getattr(self, name)!r}")

    def _codes(self, y: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the codes of labels; an unknown label gets -1 and counts as wrong."""
        return label_codes(y, self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the log probability of every class."""
        from gdlnn.model.network import log_probabilities

        dense = self._dense(X)
        return check_probabilities(log_probabilities(self.network_, dense))

    def _dense(self, X: Any) -> FloatArray:
        """Return checked features as an array."""
        if not self._is_checked(X):
            check_is_fitted(self, "network_")
            X = validate_data(self, X, dtype=np.float64, reset=False, accept_sparse="csr")
        return X.toarray() if issparse(X) else np.asarray(X)

    def _is_checked(self, X: Any) -> bool:
        """Say whether scikit-learn would return a table unchanged: its checks take longer than one row."""
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X) > 0
            and hasattr(self, "network_")
            and not hasattr(self, "feature_names_in_")
            and X.shape[1] == getattr(self, "n_features_in_", None)
            and bool(np.isfinite(X.sum()))
        )

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the probability of every class."""
        return _shares(self.predict_log_proba(X))

    def predict_with_members(self, X: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return the probability of every class, and those of each perceptron, members × rows × classes.

        The latter are None for a single one. The perceptrons are evaluated once for both.
        """
        if self.ensemble_size < 2:
            return self.predict_proba(X), None
        from gdlnn.model.network import log_and_member_probabilities

        dense = self._dense(X)
        logs, members = log_and_member_probabilities(self.network_, dense)
        return _shares(check_probabilities(logs)), members

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the most probable class."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @property
    def coef_(self) -> FloatArray:
        """Weights of a linear head over the raw features, classes × features."""
        return self._linear()[0]

    @property
    def intercept_(self) -> FloatArray:
        """Constants of a linear head, one per class."""
        return self._linear()[1]

    def _linear(self) -> tuple[FloatArray, FloatArray]:
        check_is_fitted(self, "network_")
        network: HeadNetwork = self.network_
        if len(self.hidden) or len(network.members) != 1 or network.linear is not None:
            raise AttributeError(
                "coef_ and intercept_ belong to a head with hidden=(), ensemble_size=1 and linear_share=0"
            )
        state = network.state_dict()
        weight = state["members.0.layers.0.weight"].double().cpu().numpy()
        bias = state["members.0.layers.0.bias"].double().cpu().numpy()
        mean, scale = (state[name].double().cpu().numpy() for name in ("mean", "scale"))
        coef = weight / scale
        return coef, bias - coef @ mean


def linear_head(**options: Any) -> MLPHead:
    """Return a head without hidden layers, whose attributions are exact: ``head="linear"``."""
    return MLPHead(hidden=(), ensemble_size=1, linear_share=0, **options)


def _shares(logs: FloatArray) -> FloatArray:
    """Return probabilities that sum to one."""
    values = np.exp(logs)
    return np.asarray(values / values.sum(axis=1, keepdims=True))
