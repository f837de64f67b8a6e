"""Agreement with a known truth: precision, recall, Jaccard and AUC of masks over nodes or edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.metrics.checks import same_length

if TYPE_CHECKING:
    from collections.abc import Sequence


class Overlap(NamedTuple):
    """How an explanation agrees with the truth, as means over graphs.

    Attributes
    ----------
    precision
        ``|E ∩ T| / |E|``; 0 for an empty explanation.
    recall
        ``|E ∩ T| / |T|``.
    jaccard
        ``|E ∩ T| / |E ∪ T|``.
    inside
        Share of explanations that are not empty and lie in the truth.
    auc
        Chance that a part of the truth scores above one outside, ties counting half; NaN where no graph has
        both.
    n_graphs
        Graphs that have a truth; the others are left out.
    """

    precision: float
    recall: float
    jaccard: float
    inside: float
    auc: float
    n_graphs: int


def overlap(
    masks: Sequence[npt.ArrayLike],
    truths: Sequence[npt.ArrayLike | None],
    scores: Sequence[npt.ArrayLike] | None = None,
) -> Overlap:
    """Compare explanations with the truth.

    Parameters
    ----------
    masks
        Per graph which nodes (or edges) are in the explanation.
    truths
        Per graph which nodes (or edges) matter; None, or one without any, leaves the graph out.
    scores
        Per graph the importance of each node (or edge), for the AUC; by default the masks.
    """
    same_length("overlap", masks=masks, truths=truths)
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
        rows.append((both / size if size else 0.0, both / expected.sum(), both / either, 0 < size == both))
        area = auc(mask if scores is None else scores[index], expected)
        if not np.isnan(area):
            areas.append(area)
    if not rows:
        raise ExplanationError("overlap: expected a graph with a truth, got none")
    precision, recall, index_, inside = np.array(rows, dtype=np.float64).mean(axis=0).tolist()
    area = float(np.mean(areas)) if areas else float("nan")
    return Overlap(precision, recall, index_, inside, area, len(rows))


def auc(scores: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """Return the area under the ROC curve, or NaN where the truth holds everything or nothing."""
    from scipy.stats import rankdata

    inside = np.asarray(truth, dtype=bool)
    n_in, n_out = int(inside.sum()), int((~inside).sum())
    if not n_in or not n_out:
        return float("nan")
    ranks = rankdata(np.asarray(scores, dtype=np.float64))
    return float((ranks[inside].sum() - n_in * (n_in + 1) / 2) / (n_in * n_out))


def jaccard(first: Sequence[int] | set[int], second: Sequence[int] | set[int]) -> float:
    """Return ``|A ∩ B| / |A ∪ B|``; 1 where both are empty."""
    a, b = set(first), set(second)
    return len(a & b) / len(a | b) if a | b else 1.0
