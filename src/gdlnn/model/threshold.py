"""Decision: the probability from which a class is predicted, one half unless the user asks for another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
FEWEST_PER_CLASS = 20
"""With fewer held-out graphs of some class, no threshold can be chosen."""


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


def checked_rule(threshold: Any) -> str | float:
    """Return a threshold or the rule by which to choose it, or say what is expected."""
    if isinstance(threshold, int | float) and not isinstance(threshold, bool) and 0 < threshold < 1:
        return float(threshold)
    if isinstance(threshold, str):
        if threshold == "balanced-accuracy":
            return threshold
        name, _, value = threshold.partition("=")
        try:
            share = float(value or name)
        except ValueError:
            share = -1.0
        if 0 < share < 1 and (name == "recall" or not value):
            return threshold if value else share
    expected = "balanced-accuracy, recall=0.9 or a probability between 0 and 1"
    raise ModelError(f"threshold: expected {expected}, got {threshold!r}")


def choose_threshold(
    rule: str, probabilities: FloatArray, codes: IntArray, rare: int, baseline: float
) -> Decision:
    """Choose the threshold of the rarer of two classes on held-out rows.

    Parameters
    ----------
    rule
        As `checked_rule` gives it.
    probabilities, codes
        Probabilities of held-out rows, and the numbers of their classes.
    rare
        The number of the rarer class.
    baseline
        The probability of that class for a graph without any pattern: the threshold lies above it, so that
        such a graph is not predicted to be of the class.
    """
    fewest = int(np.bincount(codes, minlength=2).min())
    if fewest < FEWEST_PER_CLASS:
        raise ModelError(
            f"threshold: expected at least {FEWEST_PER_CLASS} held-out graphs of each class to choose it by "
            f"{rule}, got {fewest}; give a number"
        )
    p, positive = probabilities[:, rare], codes == rare
    cuts = np.unique(p)
    cuts = np.concatenate([[cuts[0] / 2], (cuts[1:] + cuts[:-1]) / 2])
    taken = p[None] >= cuts[:, None]
    right, wrong = (taken & positive).sum(axis=1), (taken & ~positive).sum(axis=1)
    scores = _cut_scores(rule, right, wrong, int(positive.sum()), int((~positive).sum()))
    best = np.flatnonzero(scores >= scores.max() - 1e-12)
    chosen = max(float(cuts[best[len(best) // 2]]), np.nextafter(baseline, 1.0) if baseline < 0.5 else 0.0)
    return Decision(rare, round(min(chosen + 5e-7, 1.0), 6), rule)


def _cut_scores(rule: str, right: IntArray, wrong: IntArray, n_positive: int, n_negative: int) -> FloatArray:
    recall, kept = right / n_positive, 1 - wrong / n_negative
    if rule == "balanced-accuracy":
        return np.asarray((recall + kept) / 2)
    wanted = float(rule.partition("=")[2])
    return np.asarray(np.where(recall >= wanted, kept, recall - 2))  # of those that reach it the most exact
