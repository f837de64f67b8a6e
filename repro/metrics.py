"""How explanations agree with a known truth; docs/techniques.md has the formulas. The log loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from gdlnn.errors import ExplanationError
from gdlnn.graphs.schema import label_codes

if TYPE_CHECKING:
    from collections.abc import Sequence


class Overlap(NamedTuple):
    """How explanations agree with the truth, as means over the graphs that have one.

    E is the explanation, T the truth. Precision is ``|E ∩ T| / |E|``, 0 for an empty explanation. Recall is
    ``|E ∩ T| / |T|``, Jaccard ``|E ∩ T| / |E ∪ T|``. `auc` is the chance that a part of the truth scores
    above one outside, ties counting half. `jaccard_at_size` is that of the parts with the largest scores, as
    many as the truth has.
    """

    precision: float
    recall: float
    jaccard: float
    auc: float
    jaccard_at_size: float


def overlap(
    masks: Sequence[npt.ArrayLike],
    truths: Sequence[npt.ArrayLike | None],
    scores: Sequence[npt.ArrayLike] | None = None,
) -> Overlap:
    """Compare explanations with the truth, both given as masks over nodes (or edges) per graph.

    A truth of None, or without any node, leaves the graph out. The AUC is of the scores, by default of the
    masks.
    """
    rows, areas = [], []
    for index, (mask, truth) in enumerate(zip(masks, truths, strict=True)):
        expected = np.zeros(0, dtype=bool) if truth is None else np.asarray(truth, dtype=bool)
        if not expected.any():
            continue
        given = np.asarray(mask, dtype=bool)
        if given.shape != expected.shape:
            raise ExplanationError(
                f"overlap: graph {index}: expected a mask of {len(expected)} values, got {len(given)}"
            )
        both, either = (given & expected).sum(), (given | expected).sum()
        size = given.sum()
        ranked = mask if scores is None else scores[index]
        at_size = jaccard_at_size(ranked, expected)
        precision = both / size if size else 0.0
        rows.append((precision, both / expected.sum(), both / either, at_size))
        area = auc(ranked, expected)
        if not np.isnan(area):
            areas.append(area)
    if not rows:
        raise ExplanationError("overlap: no graph has a ground truth")
    precision, recall, index_, at_size = np.array(rows, dtype=np.float64).mean(axis=0).tolist()
    area = float(np.mean(areas)) if areas else float("nan")
    return Overlap(precision, recall, index_, area, at_size)


def auc(scores: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """Return the area under the ROC curve, or NaN if the truth holds everything or nothing."""
    inside = np.asarray(truth, dtype=bool)
    return float("nan") if inside.all() or not inside.any() else float(roc_auc_score(inside, scores))


def jaccard_at_size(scores: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """Return the Jaccard index of the truth and as many nodes with the largest scores; NaN without a truth.

    Nodes that tie for the last places count by their share, so that how nodes are numbered does not matter.
    """
    values, inside = np.asarray(scores, dtype=np.float64), np.asarray(truth, dtype=bool)
    size = int(inside.sum())
    if not size:
        return float("nan")
    last = np.partition(values, len(values) - size)[len(values) - size]
    above, tied = values > last, values == last
    hits = (above & inside).sum() + (tied & inside).sum() * (size - above.sum()) / tied.sum()
    return float(hits / (2 * size - hits))


def jaccard(first: Sequence[int] | set[int], second: Sequence[int] | set[int]) -> float:
    """Return ``|A ∩ B| / |A ∪ B|``; 1 if both are empty."""
    a, b = set(first), set(second)
    return len(a & b) / len(a | b) if a | b else 1.0


def log_loss(y: npt.NDArray[Any], probabilities: npt.NDArray[np.float64], classes: npt.NDArray[Any]) -> float:
    """Return the mean negative log probability of the true labels; a label not trained on has none."""
    codes = label_codes(y, classes)
    own = np.where(codes < 0, 0.0, probabilities[np.arange(len(codes)), codes])
    return float(-np.log(np.maximum(own, 1e-12)).mean())
