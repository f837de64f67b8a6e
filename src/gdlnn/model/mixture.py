"""MixtureHead: the mean of perceptrons and a random forest, calibrated; the default head."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from math import isqrt
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy.sparse import csc_array, csr_array
from scipy.special import softmax

from gdlnn.errors import ModelError, uninterrupted
from gdlnn.graphs.schema import label_codes
from gdlnn.model.base import FloatArray, IntArray, Tensors, joined_tensors, part_tensors
from gdlnn.model.forest import Forest
from gdlnn.model.head import Head, MLPHead
from gdlnn.model.inputs import is_whole
from gdlnn.model.perceptrons import Perceptrons
from gdlnn.progress import stage

if TYPE_CHECKING:
    from collections.abc import Mapping

FOREST_SHARE = 0.5
"""Weight of the forest in the mean of probabilities."""
WIDTH, EPOCHS = 32, 40
"""Hidden units of a perceptron and passes over the training rows.

Twice as many perceptrons of half the width, with averaged weights, train in half the time of wider ones and
agree more with those of another seed.
"""
FEWEST_PER_CLASS = 8
"""With fewer held-out rows of some class, nothing is calibrated."""
MOST_DENSE = 100_000_000
"""A table of more values is given to the forest as a sparse one, which takes longer and less memory."""
MOST_CANDIDATES = 400
"""Where there are quantities, a split chooses among a tenth of the columns, but no more than these.

A quantity is one column that stands for many programs: a choice among the square root of the number of
columns, scikit-learn's default, rarely includes it.
"""
_NARROW = 0.5  # standard deviation of the prior over the logarithm of the sharpness


@dataclass(eq=False, repr=False)
class MixtureHead(Head):
    """The mean of the probabilities of some perceptrons and of a random forest.

    Perceptrons on thousands of programs are overconfident: a factor of their logits is fitted on rows that
    they were not trained on, so that the mean has the least log loss there. Without a validation set each
    of several perceptrons leaves out one fold of the training rows, which it predicts; the forest predicts
    each row by the trees that have not seen it.

    Parameters
    ----------
    n_perceptrons, n_trees
        How many; 0 leaves them out.
    calibrate
        Whether to fit the factor. A single perceptron is calibrated on a validation set only.
    class_weight
        "balanced", weights by label, or None.
    random_state
        Seed of both; None: that of the classifier that the head belongs to, or 0.
    n_jobs
        Number of threads; with several, perceptrons and trees are trained at once. The result is the same.

    Attributes
    ----------
    perceptrons_, forest_
        The members, or None.
    held_out_
        The probabilities of training rows by members that have not learnt them; None where that is unknown,
        and in models read from a file.
    """

    n_perceptrons: int = 8
    n_trees: int = 300
    calibrate: bool = True
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None
    random_state: int | None = None
    n_jobs: int | None = 1

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        validation: tuple[Any, npt.ArrayLike] | None = None,
        row_weights: FloatArray | None = None,
        n_forest_only: int = 0,
    ) -> Self:
        """Train the members, and calibrate the perceptrons.

        Parameters
        ----------
        X, y
            Rows, dense or sparse, and their labels.
        validation
            Rows that are not trained on, to calibrate with.
        row_weights
            The weight of each row.
        n_forest_only
            How many of the last columns only the forest is given.
        """
        for name in ("n_perceptrons", "n_trees"):
            if not is_whole(getattr(self, name), 0):
                raise ModelError(
                    f"{name}: expected a whole number of at least 0, got {getattr(self, name)!r}"
                )
        if not self.n_perceptrons + self.n_trees:
            raise ModelError("n_trees: expected at least one tree or perceptron, got none")
        X, codes = self.checked(X, y)
        rows = csr_array(X)
        self.perceptrons_: Perceptrons | None = None
        self.forest_: Forest | None = None
        self.held_out_: FloatArray | None = None
        learns = self._folds(codes, crossed=validation is None)
        of_rows = learns if row_weights is None else learns * row_weights[:, None]
        columns = rows[:, : rows.shape[1] - n_forest_only]
        # Neither member needs the other, and both leave the interpreter to other threads.
        at_once = bool(self.n_trees and self.n_perceptrons) and effective_n_jobs(self.n_jobs) > 1
        grow = partial(self._grow, rows, codes, row_weights, n_forest_only)
        with ThreadPoolExecutor(1) as other:
            growing = other.submit(copy_context().run, grow) if at_once else None
            if self.n_trees and growing is None:
                self.held_out_ = grow()
            if self.n_perceptrons:
                self._train(columns, codes, of_rows)
            if growing is not None:
                self.held_out_ = growing.result()
        if self.perceptrons_ is not None:
            self.held_out_ = self._calibrated(columns, codes, row_weights, learns, validation)
        return self

    def _folds(self, codes: IntArray, *, crossed: bool) -> FloatArray:
        """Return whether each perceptron learns a row: all rows, or where it is calibrated all but a fold."""
        from sklearn.model_selection import StratifiedKFold

        learns = np.ones((len(codes), self.n_perceptrons))
        crossed = crossed and self.calibrate and self.n_perceptrons > 1
        if crossed and int(np.bincount(codes).min()) >= FEWEST_PER_CLASS:
            n_folds = min(self.n_perceptrons, FEWEST_PER_CLASS)
            folds = StratifiedKFold(n_folds, shuffle=True, random_state=self.random_state or 0)
            for number, (_, outside) in enumerate(folds.split(codes[:, None], codes)):
                learns[outside, number::n_folds] = 0
        return learns

    # --- the members ----------------------------------------------------------------------------------------

    def _train(self, rows: csr_array, codes: IntArray, row_weights: FloatArray) -> None:
        """Train the perceptrons, each with its own weights of rows."""
        head = MLPHead(
            hidden=(WIDTH,),
            epochs=EPOCHS,
            average_weights=True,
            ensemble_size=self.n_perceptrons,
            class_weight=self.weights_by_code(),
            random_state=self.random_state or 0,
        )
        with stage("training the perceptrons"):
            self.perceptrons_ = Perceptrons.of(head.fit(rows, codes, row_weights=row_weights).tensors_)

    def _grow(
        self, rows: csr_array, codes: IntArray, weights: FloatArray | None, n_quantities: int
    ) -> FloatArray:
        """Grow the forest; return the probabilities of each row by the trees that have not seen it."""
        with uninterrupted():
            from sklearn.ensemble import RandomForestClassifier

        table: Any = csc_array(rows, dtype=np.float32)
        if rows.shape[0] * rows.shape[1] <= MOST_DENSE:
            table = table.toarray()
        candidates = max(1, isqrt(table.shape[1]))
        if n_quantities:
            candidates = max(candidates, min(table.shape[1] // 10, MOST_CANDIDATES))
        model = RandomForestClassifier(
            self.n_trees,
            max_features=candidates,
            class_weight=self.weights_by_code(),
            random_state=self.random_state or 0,
            n_jobs=self.n_jobs,
        )
        with stage("growing the forest"):
            model.fit(table, codes, sample_weight=weights)
        self.forest_ = Forest.of(model)
        return self._out_of_bag(model, table, codes)

    def _out_of_bag(self, model: Any, table: Any, codes: IntArray) -> FloatArray:
        """Return the probabilities of each row by the trees that have not seen it."""
        sums, counts = np.zeros((len(codes), len(self.classes_))), np.zeros(len(codes))
        leaves = model.apply(table)
        for tree, sample, leaf in zip(model.estimators_, model.estimators_samples_, leaves.T, strict=True):
            outside = np.ones(len(codes), dtype=bool)
            outside[sample] = False
            sums[outside] += tree.tree_.value[leaf[outside], 0]
            counts += outside
        shares = np.bincount(codes) / len(codes)
        seen = counts[:, None] > 0
        return np.where(seen, sums / np.maximum(counts[:, None], 1), shares)

    # --- calibration ----------------------------------------------------------------------------------------

    def _calibrated(
        self,
        rows: csr_array,
        codes: IntArray,
        weights: FloatArray | None,
        learns: FloatArray,
        validation: tuple[Any, npt.ArrayLike] | None,
    ) -> FloatArray | None:
        """Calibrate the perceptrons; return the mean's probabilities of held-out training rows, if any."""
        assert self.perceptrons_ is not None
        if validation is not None:
            held, truth = csr_array(validation[0]), label_codes(np.asarray(validation[1]), self.classes_)
            beside = None if self.forest_ is None else self.forest_.predict(held.toarray())
            self._sharpen(self.perceptrons_.logits(held[:, : rows.shape[1]]), beside, truth, None)
        if learns.all():
            return None
        logits = self.perceptrons_.logits(rows)[learns.argmin(axis=1), np.arange(len(codes))][None]
        self._sharpen(logits, self.held_out_, codes, weights)
        return self._mean(softmax(self.perceptrons_.sharpness * logits, axis=2), self.held_out_)

    def _sharpen(
        self, logits: FloatArray, beside: FloatArray | None, codes: IntArray, weights: FloatArray | None
    ) -> None:
        """Choose the factor of the logits with the least log loss of the mean; little data changes little."""
        from scipy.optimize import minimize_scalar

        if not self.calibrate or np.bincount(codes, minlength=len(self.classes_)).min() < FEWEST_PER_CLASS:
            return
        of_rows = np.ones(len(codes)) if weights is None else weights * (len(codes) / weights.sum())

        def loss(power: float) -> float:
            chances = self._mean(softmax(np.exp(power) * logits, axis=2), beside)
            own = np.maximum(chances[np.arange(len(codes)), codes], 1e-12)
            return float(-(of_rows * np.log(own)).sum() + (power / _NARROW) ** 2 / 2)

        found = minimize_scalar(loss, bounds=(-2.5, 2.5), method="bounded", options={"xatol": 1e-4})
        assert self.perceptrons_ is not None
        self.perceptrons_ = replace(self.perceptrons_, sharpness=round(float(np.exp(found.x)), 6))

    @staticmethod
    def _mean(perceptrons: FloatArray, forest: FloatArray | None) -> FloatArray:
        mean = perceptrons.mean(axis=0)
        return np.asarray(mean if forest is None else (1 - FOREST_SHARE) * mean + FOREST_SHARE * forest)

    # --- predictions ----------------------------------------------------------------------------------------

    @property
    def shares(self) -> FloatArray:
        """The weight of each member: the perceptrons, then the forest."""
        if self.perceptrons_ is None:
            return np.ones(1)
        n = len(self.perceptrons_.weights[0])
        if self.forest_ is None:
            return np.full(n, 1 / n)
        return np.append(np.full(n, (1 - FOREST_SHARE) / n), FOREST_SHARE)

    def members(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of each perceptron and of the forest, members × rows × classes."""
        found = []
        if self.perceptrons_ is not None:
            found.append(self.perceptrons_.probabilities(X[:, : self.perceptrons_.n_features]))
        if self.forest_ is not None:
            found.append(self.forest_.predict(X)[None])
        return np.concatenate(found)

    def contributions(self, X: FloatArray, baseline: FloatArray, wanted: IntArray) -> FloatArray:
        """Average integrated gradients of the perceptrons and Shapley values of the forest."""
        weights = np.zeros_like(X)
        if self.perceptrons_ is not None:
            n = self.perceptrons_.n_features
            own = self.perceptrons_.contributions(X[:, :n], baseline[:n], wanted)
            weights[:, :n] += own if self.forest_ is None else (1 - FOREST_SHARE) * own
        if self.forest_ is not None:
            share = FOREST_SHARE if self.perceptrons_ is not None else 1.0
            weights += share * self.forest_.contributions(X, baseline, wanted)
        return weights

    # --- files ----------------------------------------------------------------------------------------------

    def tensors(self) -> Tensors:
        """Return the arrays of the perceptrons and of the forest."""
        return joined_tensors({"perceptrons": self.perceptrons_, "forest": self.forest_})

    def restore(self, tensors: Tensors, n_features: int, n_classes: int) -> None:
        """Set the arrays of the perceptrons and of the forest, which must fit the columns and classes."""
        self.perceptrons_ = self.forest_ = self.held_out_ = None
        if self.n_perceptrons:
            self.perceptrons_ = Perceptrons.from_tensors(part_tensors(tensors, "perceptrons"))
            last = self.perceptrons_.weights[-1].shape
            if last[0] != self.n_perceptrons or last[2] != n_classes:
                raise ValueError(f"perceptrons: expected {self.n_perceptrons} with {n_classes} outputs")
            if self.perceptrons_.n_features > n_features:
                raise ValueError(f"perceptrons: expected at most {n_features} inputs")
        if self.n_trees:
            self.forest_ = Forest.from_tensors(part_tensors(tensors, "forest"), n_features)
            self.forest_.check(self.n_trees, n_classes)
        self.classes_, self.n_features_in_ = np.arange(n_classes), n_features
