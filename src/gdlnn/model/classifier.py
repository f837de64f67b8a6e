"""GDLNNClassifier: a scikit-learn classifier over graphs, with programs as features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import get_tags

from gdlnn.errors import ModelError
from gdlnn.graphs import GraphDataset, Schema
from gdlnn.graphs.labels import MOST_NUMBERS, finite_numbers
from gdlnn.graphs.schema import label_codes
from gdlnn.model.base import GraphClassifier
from gdlnn.model.estimator import GDLNNEstimator, first_equal
from gdlnn.model.head import Head, MLPHead
from gdlnn.model.inputs import (
    MIN_VALIDATION,
    GraphsLike,
    OnError,
    Validation,
    as_labeled,
    as_weights,
    training_and_validation,
    usable_rows,
)
from gdlnn.model.linear import LinearHead
from gdlnn.model.mixture import ForestHead, MixtureHead
from gdlnn.model.representation import Representation
from gdlnn.model.scorecard import ScorecardHead
from gdlnn.model.threshold import Decision, checked_rule, choose_threshold
from gdlnn.model.vocabulary import Mined, make_sources
from gdlnn.progress import stage, stages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.mining import ProgramSet
    from gdlnn.model.layer import Activation, GDLTransformer

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_HEADS: dict[str, Callable[[], Any]] = {
    "auto": MixtureHead,
    "mlp": MLPHead,
    "forest": ForestHead,
    "linear": LinearHead,
    "scorecard": ScorecardHead,
}
FOLDS = 4
"""Number of folds in which heads predict graphs that they were not trained on, to choose a threshold."""


@dataclass(eq=False, repr=False)
class GDLNNClassifier(GDLNNEstimator, GraphClassifier):
    """Classify graphs by the programs they contain.

    `fit` finds programs in the training graphs, uses them as the columns of the GDL layer and trains a head
    on their matches. It takes lists of `Graph` or a `GraphDataset`.

    Parameters
    ----------
    head
        "auto" (the mean of a logistic regression and a forest, see `MixtureHead`), "linear", "forest",
        "scorecard" (at most 30 programs, see `ScorecardHead`), "mlp" (a perceptron, see `MLPHead`), one of
        these with options of its own, or any scikit-learn classifier. All but a scorecard get pooled
        features.
    activation
        The values of the GDL layer, see `GDLTransformer`.
    class_weight
        "balanced", weights by label, or None.
    threshold
        The probability from which the rarer of two classes is predicted, or the score by which it is chosen
        on held-out graphs: "balanced-accuracy" or "recall=0.9".
    validation_fraction
        Share of the training graphs that the paper's head holds out for early stopping if `fit` is given no
        validation set and the share is at least `MIN_VALIDATION` graphs.
    vocabulary, structure, pooled, properties, ignore, checkpoint, random_state, n_jobs, verbose
        As in `GDLNNEstimator`.

    Attributes
    ----------
    classes_
        The labels.
    decision_
        The threshold; None: the most probable class.
    programs_, layer_, head_, schema_, training_, choice_, metrics_
        As in `GDLNNEstimator`.
    """

    activation: Activation = "exists"
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None
    threshold: str | float = 0.5
    validation_fraction: float = 0.1

    @classmethod
    def paper(
        cls,
        epsilon: float | str = 0.1,
        k: float | None = 1.0,
        epochs: int = 500,
        learning_rate: float = 0.005,
        hidden: Sequence[int] = (64,),
        **parameters: Any,
    ) -> Self:
        """Return a classifier with the paper's recipe: one ε, the k best programs, one perceptron.

        Other parameters of the classifier may be given too.
        """
        head = MLPHead(hidden=hidden, learning_rate=learning_rate, epochs=epochs)
        vocabulary = Mined(epsilon, k, ignore=(), nominal="interval")
        plain = {"structure": False, "pooled": False}
        return cls(vocabulary=vocabulary, head=head, **{**plain, **parameters})

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(
        self,
        X: GraphsLike,
        y: npt.ArrayLike | None = None,
        *,
        validation: Validation = None,
        programs: ProgramSet | Sequence[ProgramSet] | None = None,
        sample_weight: npt.ArrayLike | None = None,
        on_error: OnError = "raise",
    ) -> Self:
        """Find programs and train the head.

        Rows without a label (NaN or None) are skipped with a warning.

        Parameters
        ----------
        X, y
            Graphs and labels; without `y` those of the dataset.
        validation
            The validation set for early stopping: a fraction of the training graphs, ``(graphs, y)`` or a
            dataset. It is neither mined nor trained on.
        programs
            Programs already mined from exactly these graphs, one set for each ε: nothing is mined.
        sample_weight
            The weight of each graph when the head is trained; not used for finding programs.
        on_error
            What to do with a molecule that cannot be read: "raise", or "skip" it with a warning.
        """
        X, y, sample_weight = usable_rows(X, y, sample_weight, on_error)
        data = as_labeled(X, y)
        weights = as_weights(sample_weight, len(data))
        if programs is not None and not isinstance(validation, GraphDataset | tuple | None):
            raise ModelError(
                "fit: validation: no fraction can be held out: the given programs were mined from all graphs"
            )
        self.head_ = self.make_head()
        stops = isinstance(self.head_, MLPHead) and programs is None
        fraction = self.validation_fraction if stops else 0.0
        train, val = training_and_validation(data, validation, fraction, self.random_state)
        if weights is not None:
            weights = weights[np.isin(data.indices, train.indices)]
        if self._with_structure(train):
            train, val = train.with_structure(), None if val is None else val.with_structure()
        self.classes_ = np.unique(np.asarray(train.y))
        values = finite_numbers(self.classes_.tolist())
        if values is not None and (len(values) > max(MOST_NUMBERS, len(train) // 10) or (values % 1).any()):
            raise ModelError(
                f"fit: y: expected classes, got {len(values)} different numbers for {len(train)} "
                f"graphs, such as {values[-1]:g}; predict numbers with GDLNNRegressor (or --target)"
            )
        if len(self.classes_) < 2:
            raise ModelError(f"fit: y: expected at least two classes, got {self.classes_.tolist()}")
        self.head_ = self.make_head()
        rule = checked_rule(self.threshold)
        sources = make_sources(self.vocabulary)
        with stages(wanted=self.verbose):
            self.programs_ = self._find_programs(train, sources, programs)
            self.layer_ = self._layer(train)
            table = self._table(train, sparse=self._takes_sparse())
            with stage("training the head"):
                self.head_.fit(table, self._codes(train), **self._fitting(table, weights, val))
            self._decide(rule, table, train, val, weights)
            self._keep_selected(train)
            self._record(train, val)
            self._record_choice(sources, **self._choices(val))
        return self

    def _layer(self, train: GraphDataset) -> GDLTransformer:
        forest = isinstance(self.head_, MixtureHead | ForestHead)
        pooled = not isinstance(self.head_, ScorecardHead)
        return self._make_layer(train, self.activation, by_default=pooled, quantities=forest)

    def _takes_sparse(self) -> bool:
        """Return whether the head is given a sparse table."""
        sparse = not isinstance(self.head_, MLPHead) and self.activation == "exists"
        return sparse and bool(get_tags(self.head_).input_tags.sparse)

    def _fitting(
        self, table: Any, weights: FloatArray | None, val: GraphDataset | None = None
    ) -> dict[str, Any]:
        """Return what the head is fitted with besides rows and codes: weights, a validation set."""
        fitting = super()._fitting(table, weights)
        if isinstance(self.head_, MixtureHead | ForestHead) and self.layer_.quantities_ is not None:
            fitting["n_quantities"] = len(self.layer_.quantities_)
        if isinstance(self.head_, MLPHead) and val is not None and len(val):
            with stage("matching the validation set"):
                fitting["validation"] = (self.layer_.transform(val), self._codes(val))
        return fitting

    def _decide(
        self,
        rule: str | float,
        table: Any,
        train: GraphDataset,
        val: GraphDataset | None,
        weights: FloatArray | None,
    ) -> None:
        """Set the threshold of the rarer class: a number, or chosen on graphs that were not trained on."""
        self.decision_: Decision | None = None
        codes = self._codes(train)
        counts = np.bincount(codes, minlength=len(self.classes_))
        if len(counts) != 2 or rule == 0.5:
            return
        rare = int(np.argmin(counts))
        if isinstance(rule, float):
            self.decision_ = Decision(rare, rule, "given")
            return
        baseline = float(self.head_outputs(self.baseline())[0, rare])
        if val is not None and len(val) >= MIN_VALIDATION:
            codes = self._codes(val)
            chances = self.head_outputs(self.layer_.transform(val))[codes >= 0]
            self.decision_ = choose_threshold(rule, chances, codes[codes >= 0], rare, baseline)
            return
        held_out = getattr(self.head_, "held_out_", None)
        if held_out is None:
            held_out = self._cross_fitted(table, codes, weights, "choosing the threshold")
        self.decision_ = choose_threshold(rule, held_out, codes, rare, baseline)

    def _folds(self, targets: npt.NDArray[Any]) -> Iterator[tuple[IntArray, IntArray]]:
        from sklearn.model_selection import StratifiedKFold

        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=self.random_state)
        yield from folds.split(targets[:, None], targets)

    def _choices(self, val: GraphDataset | None) -> dict[str, Any]:
        """Return the choices made while fitting that only a classifier has, in words."""
        training = type(self.head_).__name__
        if isinstance(self.head_, MLPHead):
            training = f"early stopping on {len(val)} graphs" if val else f"{self.head_.epochs} epochs"
        found: dict[str, Any] = {"training": training}
        if self.layer_.quantities_ is not None and self.layer_.quantities_.n_left_out:
            found["quantities"] = f"{self.layer_.quantities_.n_left_out} columns were left out"
        if self.decision_ is not None:
            rare = (self.schema_ or Schema()).class_name(self.classes_.tolist()[self.decision_.code])
            found["decision"] = f"{rare} from {self.decision_.threshold:.0%} on, by {self.decision_.rule}"
        return found

    def _codes(self, data: GraphDataset) -> npt.NDArray[np.int64]:
        """Return the codes of labels, on which the head is trained; -1 for an unknown label."""
        return label_codes(np.asarray(data.y), self.classes_)

    def make_head(self) -> Any:
        """Return an unfitted head with the settings it inherits from the classifier."""
        head = self._chosen_head(_HEADS, "MLPHead(...) or a scikit-learn classifier")
        if isinstance(head, Head) and hasattr(head, "class_weight") and hasattr(self, "classes_"):
            weights = self.class_weight if head.class_weight is None else head.class_weight
            if isinstance(weights, Mapping):
                codes = label_codes(weights, self.classes_).tolist()
                weights = dict(zip(codes, weights.values(), strict=True))
            head.class_weight = weights
        return head

    # --- predicting ---------------------------------------------------------------------------------------

    def _representation(self, **shared: Any) -> Representation:
        outputs, members = self._head_outputs(shared["features"])
        return Representation(
            outputs=outputs, classes=self.classes_, decision=self.decision_, members=members, **shared
        )

    def head_outputs(self, features: FloatArray) -> FloatArray:
        """Return the head's probabilities for features; 0 and 1 for a head that only gives labels."""
        return self._head_outputs(features)[0]

    def _head_outputs(self, features: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return the head's probabilities, and those of the members whose mean they are."""
        if not len(features):
            return np.zeros((0, len(self.classes_))), None
        if not hasattr(self.head_, "predict_proba"):
            codes = np.asarray(self.head_.predict(features), dtype=np.int64)
            return np.asarray(np.eye(len(self.classes_))[codes]), None
        members: FloatArray | None = None
        if isinstance(self.head_, Head):
            members = self.head_.members(self.head_.dense(features))
            found = self.head_.averaged(members)
            members = members if len(members) > 1 else None
        else:
            found = np.asarray(self.head_.predict_proba(features), dtype=np.float64)
        return found[first_equal(features)], members
