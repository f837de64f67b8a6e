"""GDLNNRegressor: a scikit-learn regressor over graphs, with counts of programs as features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ModelError
from gdlnn.model.base import RegressorMixin
from gdlnn.model.estimator import GDLNNEstimator, first_equal
from gdlnn.model.inputs import Conversion, GraphsLike, OnError, as_labeled, as_weights, usable_rows
from gdlnn.model.regression import LinearSum, RidgeForestHead, RidgeHead, ShortTableHead
from gdlnn.model.representation import HalfWidth, ValueRepresentation
from gdlnn.model.vocabulary import Neighborhoods, make_sources
from gdlnn.progress import stage, stages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gdlnn.graphs import GraphDataset
    from gdlnn.model.layer import Activation, GDLTransformer

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_HEADS = {"auto": RidgeForestHead, "linear": RidgeHead, "scorecard": ShortTableHead}
FOLDS = 5
"""Number of folds in which heads predict graphs that they were not trained on, for intervals."""
COVERAGE = 0.9
"""Share of new graphs whose value is to lie in the interval of its prediction."""


@dataclass(eq=False, repr=False)
class GDLNNRegressor(RegressorMixin, GDLNNEstimator):
    """Predict a number for graphs by how often they contain programs.

    `fit` finds programs in the training graphs, counts the places of each, and trains a head on the counts.
    Each prediction comes with a 90% interval, see `predict_frame`.

    Parameters
    ----------
    head
        "auto": the mean of a ridge regression and a forest on log(1 + count), see `RidgeForestHead`.
        "linear": a ridge regression on counts, so that the model is a table of what each place of a program
        adds. "scorecard": such a table of at most 30 programs. Or any scikit-learn regressor. All but
        "linear" and "scorecard" get pooled features.
    unit
        The unit of the target, for words.
    vocabulary, structure, pooled, properties, ignore, checkpoint, random_state, n_jobs, verbose
        As in `GDLNNEstimator`.

    Attributes
    ----------
    half_width_
        Half the width of intervals by the similarity to the training graphs.
    programs_, layer_, head_, schema_, training_, choice_, metrics_
        As in `GDLNNEstimator`.
    """

    unit: str = ""

    def fit(
        self,
        X: GraphsLike,
        y: npt.ArrayLike | None = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        on_error: OnError = "raise",
    ) -> Self:
        """Find programs, count their places and train the head.

        Parameters are those of `GDLNNClassifier.fit`; rows without a value are skipped with a warning.
        """
        X, y, sample_weight = usable_rows(X, y, sample_weight, on_error)
        train = _with_values(as_labeled(X, y))
        weights = as_weights(sample_weight, len(train))
        if len(train) < 2:
            raise ModelError(f"fit: expected at least two graphs, got {len(train)}")
        if self._with_structure(train):
            train = train.with_structure()
        sources = make_sources(self.vocabulary)
        if not all(isinstance(source, Neighborhoods) for source in sources):
            raise ModelError("vocabulary: expected neighborhoods, since mining needs classes, got mined")
        self.head_ = self.make_head()
        values = np.asarray(train.y)
        with stages(wanted=self.verbose):
            self.programs_ = self._find_programs(train.with_y(None), sources)  # programs need no labels
            self.layer_ = self._layer(train)
            table = self._table(train, sparse=False)
            with stage("training the head"):
                self.head_.fit(table, values, **self._fitting(table, weights))
            residuals = np.abs(values - self._cross_fitted(table, values, weights, "measuring the error"))
            self._keep_selected(train)
            self._record(train)
            rows, similarity = self.training_.domain.training_similarity()
            self.half_width_ = _half_width(residuals[rows], similarity)
            self._record_choice(sources, training=type(self.head_).__name__)
        return self

    def make_head(self) -> Any:
        """Return an unfitted head with the settings it inherits from the regressor."""
        return self._chosen_head(_HEADS, "or a scikit-learn regressor")

    @property
    def activation(self) -> Activation:
        """The values of the GDL layer: counts for a table of contributions, else their logarithms."""
        return "count" if isinstance(self.make_head(), LinearSum) else "log_count"

    def _layer(self, train: GraphDataset) -> GDLTransformer:
        pooled = self.activation != "count"
        return self._make_layer(train, self.activation, by_default=pooled, quantities=False)

    def _folds(self, targets: npt.NDArray[Any]) -> Iterator[tuple[IntArray, IntArray]]:
        from sklearn.model_selection import KFold

        n_folds = min(FOLDS, len(targets))
        yield from KFold(n_folds, shuffle=True, random_state=self.random_state).split(targets)

    def _representation(self, **shared: Any) -> ValueRepresentation:
        outputs = self.head_outputs(shared["features"])
        name = np.array([self.training_.provenance.get("label") or "value"])
        return ValueRepresentation(outputs=outputs, classes=name, half_width=self.half_width_, **shared)

    def head_outputs(self, features: FloatArray) -> FloatArray:
        """Return the head's values for features as one column."""
        if not len(features):
            return np.zeros((0, 1))
        return np.asarray(self.head_.predict(features), dtype=np.float64)[first_equal(features), None]

    def score(self, X: GraphsLike, y: npt.ArrayLike | None = None, sample_weight: Any = None) -> float:
        """Return R²; without `y` on the values of the dataset."""
        from sklearn.metrics import r2_score

        convert = Conversion.of_model(self) if hasattr(self, "programs_") else None
        data = _with_values(as_labeled(X, y, "score", convert))
        return float(r2_score(data.y, self.predict(data), sample_weight=sample_weight))


def _with_values(data: GraphDataset) -> GraphDataset:
    """Return a dataset whose labels are numbers."""
    labels = np.asarray(data.y)
    if labels.dtype.kind not in "biuf":
        raise ModelError(f"y: expected numbers, got {labels.tolist()[0]!r:.60}")
    values = labels.astype(np.float64)
    return data.with_y(values)


def _half_width(residuals: FloatArray, similarity: FloatArray) -> HalfWidth:
    """Fit half the width of intervals to cross-validated residuals.

    This is normalized conformal prediction: residuals are divided by what is usual at their similarity, and
    the quantile of these ratios with the correction for a finite sample is the factor.
    """
    from scipy.optimize import nnls

    design = np.stack([np.ones_like(similarity), 1 - similarity], axis=1)
    line = np.maximum(nnls(design, residuals)[0], [1e-12, 0.0])
    ratios = residuals / (design @ line)
    rank = min(1.0, COVERAGE * (len(ratios) + 1) / len(ratios))
    factor = float(np.quantile(ratios, rank, method="higher"))
    return HalfWidth(float(factor * line[0]), float(factor * line[1]))
