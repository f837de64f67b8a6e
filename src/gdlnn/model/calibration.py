"""Calibration and decision: probabilities that hold on unseen graphs, and the decision threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_softmax

from gdlnn.errors import ModelError
from gdlnn.progress import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gdlnn.mining import ProgramSet

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FEWEST_PER_CLASS = 8
"""With fewer held-out graphs of some class, nothing is calibrated and no threshold is chosen."""
RARE = 0.3
"""A class with a smaller share of the training graphs is rare."""
_TINY = 1e-12
_NARROW = 0.5  # standard deviations of the prior over log scale and offset: little data changes little


@dataclass(frozen=True)
class Calibration:
    """A monotone change of probabilities that was fitted on held-out graphs.

    The log probabilities are multiplied by `scale`; of two classes the log odds of the second are then
    shifted by `offset`. So contributions in log odds are multiplied by `scale` too.
    """

    scale: float = 1.0
    offset: float = 0.0

    @property
    def is_identity(self) -> bool:
        """Whether probabilities are unchanged."""
        return self.scale == 1 and self.offset == 0

    def apply(self, probabilities: FloatArray) -> FloatArray:
        """Return calibrated probabilities, rows × classes."""
        return probabilities if self.is_identity else np.exp(self.log_probabilities(probabilities))

    def log_probabilities(self, probabilities: FloatArray) -> FloatArray:
        """Return the logarithms of calibrated probabilities."""
        scores = self.scale * np.log(np.maximum(probabilities, _TINY))
        if scores.shape[1] == 2:
            scores[:, 1] += self.offset
        return np.asarray(log_softmax(scores, axis=1))

    @classmethod
    def fit(
        cls,
        probabilities: FloatArray,
        codes: IntArray,
        weights: FloatArray | None = None,
        *,
        shift: bool = True,
        row_weights: FloatArray | None = None,
    ) -> Calibration:
        """Minimise the log loss of held-out rows, with a prior that favours no change.

        Parameters
        ----------
        probabilities, codes
            A head's probabilities for rows that it was not trained on, and the codes of their classes.
        weights
            Weights by class, if the head was trained with them.
        shift
            Whether the odds of two classes may be shifted too. Without it the most probable class stays.
        row_weights
            The weight of each row; None for equal weights.
        """
        n_classes = probabilities.shape[1]
        if np.bincount(codes, minlength=n_classes).min() < FEWEST_PER_CLASS:
            return cls()
        of_rows = np.ones(len(codes)) if row_weights is None else row_weights
        of_rows = of_rows if weights is None else of_rows * weights[codes]
        of_rows = of_rows * (len(codes) / of_rows.sum())
        free = 2 if n_classes == 2 and shift else 1

        def loss(values: FloatArray) -> float:
            moved = cls(float(np.exp(values[0])), float(values[1]) if free == 2 else 0.0)
            logs = moved.log_probabilities(probabilities)[np.arange(len(codes)), codes]
            return float(-(of_rows * logs).sum() + ((values / _NARROW) ** 2).sum() / 2)

        found = minimize(loss, np.zeros(free), method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-6})
        scale = float(np.exp(np.clip(found.x[0], -2.5, 2.5)))
        return cls(round(scale, 6), round(float(found.x[1]), 6) if free == 2 else 0.0)


# --- where to cut -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decision:
    """The rule that decides a class from probabilities, for two classes.

    Attributes
    ----------
    code
        The position of the class that the threshold is for: the rarer one in training.
    threshold
        The probability from which it is predicted.
    rule
        How the threshold was chosen.
    """

    code: int
    threshold: float
    rule: str

    def codes(self, probabilities: FloatArray) -> IntArray:
        """Return the positions of the predicted classes."""
        chosen = probabilities[:, self.code] >= self.threshold
        return np.where(chosen, self.code, 1 - self.code).astype(np.int64)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {"code": self.code, "threshold": self.threshold, "rule": self.rule}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Decision:
        """Build it from what `to_json` gave."""
        code, threshold = data["code"], float(data["threshold"])
        if code not in (0, 1) or not 0 <= threshold <= 1:
            raise ModelError(f"decision: expected class 0 or 1 and a threshold from 0 to 1, got {dict(data)}")
        return cls(int(code), threshold, str(data["rule"]))


def checked_rule(decide: Any) -> str | float:
    """Return a rule of decision, or say what is expected."""
    if isinstance(decide, int | float) and not isinstance(decide, bool) and 0 < decide < 1:
        return float(decide)
    if isinstance(decide, str):
        if decide in ("auto", "balanced-accuracy"):
            return decide
        name, _, value = decide.partition("=")
        try:
            share = float(value or name)
        except ValueError:
            share = -1.0
        if 0 < share < 1 and (name == "recall" or not value):
            return decide if value else share
    expected = "auto, balanced-accuracy, recall=0.9 or a probability between 0 and 1"
    raise ModelError(f"decide: expected {expected}, got {decide!r}")


def rule_for(decide: str | float, shares: Sequence[float]) -> str | float:
    """Return the rule for "auto": 0.5, or with a rare class the best balanced accuracy."""
    if decide != "auto":
        return decide
    return "balanced-accuracy" if len(shares) == 2 and min(shares) < RARE else 0.5


def choose_threshold(
    rule: str | float, probabilities: FloatArray, codes: IntArray, counts: Sequence[int]
) -> Decision | None:
    """Choose the threshold of the rarer class on held-out rows; None to predict the most probable class.

    Parameters
    ----------
    rule
        As `rule_for` gives it.
    probabilities, codes
        Calibrated probabilities of held-out rows, and the numbers of their classes.
    counts
        How many training graphs each class has.
    """
    if len(counts) != 2 or rule == 0.5:
        return None
    rare = int(np.argmin(counts))
    if isinstance(rule, float):
        return Decision(rare, rule, "given")
    if np.bincount(codes, minlength=2).min() < FEWEST_PER_CLASS:
        return None
    p, positive = probabilities[:, rare], codes == rare
    cuts = np.unique(p)
    cuts = np.concatenate([[cuts[0] / 2], (cuts[1:] + cuts[:-1]) / 2])
    taken = p[None] >= cuts[:, None]
    right, wrong = (taken & positive).sum(axis=1), (taken & ~positive).sum(axis=1)
    scores = _cut_scores(rule, right, wrong, int(positive.sum()), int((~positive).sum()))
    best = np.flatnonzero(scores >= scores.max() - 1e-12)
    return Decision(rare, round(float(cuts[best[len(best) // 2]]), 6), rule)


def _cut_scores(rule: str, right: IntArray, wrong: IntArray, n_positive: int, n_negative: int) -> FloatArray:
    recall, kept = right / n_positive, 1 - wrong / n_negative
    if rule == "balanced-accuracy":
        return np.asarray((recall + kept) / 2)
    wanted = float(rule.partition("=")[2])
    return np.asarray(np.where(recall >= wanted, kept, recall - 2))  # of those that reach it the most exact


# --- what a head says of rows it has not seen ---------------------------------------------------------------


def honest_columns(programs: ProgramSet, rows: IntArray, n_columns: int) -> BoolArray:
    """Return which columns would be there without some rows: all but programs mined from these rows alone."""
    inside = np.zeros(programs.info.n_graphs, dtype=bool)
    inside[rows] = True
    kept = np.ones(n_columns, dtype=bool)
    for column, item in enumerate(programs):
        if item.held_out_score is not None and inside[item.targets].all():
            kept[column] = False
    return kept


def cross_fitted(
    make_head: Callable[[], Any],
    table: Any,
    codes: IntArray,
    folds: Sequence[IntArray],
    columns: Callable[[IntArray], BoolArray],
    fitting: Callable[[IntArray], Mapping[str, Any]] = lambda _: {},
) -> FloatArray | None:
    """Return out-of-fold probabilities of each row; None if a fold has all rows of a class.

    Parameters
    ----------
    make_head
        Returns an unfitted head; ensembles are reduced to two members, enough for calibration.
    table, codes
        The features of all training rows, dense or sparse, and the numbers of their classes.
    folds
        The rows of each fold.
    columns
        Returns for the rows of a fold which columns the head may see.
    fitting
        Returns other arguments of `fit` for some rows, such as their weights.
    """
    n_classes = int(codes.max()) + 1
    said = np.zeros((len(codes), n_classes))
    for number, rows in enumerate(folds, start=1):
        outside = np.ones(len(codes), dtype=bool)
        outside[rows] = False
        if len(np.unique(codes[outside])) < n_classes:
            return None
        shown = np.flatnonzero(columns(rows))
        head = make_head()
        if getattr(head, "ensemble_size", 1) > 2:
            head.ensemble_size = 2
        with stage(f"fold {number} of {len(folds)}"):
            others = np.flatnonzero(outside)
            head.fit(table[others][:, shown], codes[others], **fitting(others))
        said[rows] = head.predict_proba(table[rows][:, shown])
    return said
