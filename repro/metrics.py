"""Metrics of explanations, each with its formula in its docstring and in docs/explanations-metrics.md.

- The paper's own: `sparsity` and `fidelity`, exactly as its appendix defines them.
- Agreement with a known truth: `overlap`, `auc`, `jaccard`. Of several runs: `stability`.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError

if TYPE_CHECKING:
    from collections.abc import Sequence, Sized

    from gdlnn.explain.explanation import Explanation


def _same_length(metric: str, **columns: Sized) -> None:
    """Check that the columns are not empty and have equal lengths."""
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise ExplanationError(f"{metric}: expected one value per graph in every column, got {got}")
    if not next(iter(sizes.values()), 0):
        raise ExplanationError(f"{metric}: expected at least one graph, got none")


# --- faithfulness -----------------------------------------------------------------------------------------


def sparsity(sizes: npt.ArrayLike, whole: npt.ArrayLike) -> float:
    """Return the mean over graphs of ``1 − |m| / |M|``: how much of a graph is left out. Higher is better.

    `sizes` are the numbers of nodes of explanations, `whole` those of graphs. A graph without nodes counts
    as 1.
    """
    given, total = np.asarray(sizes, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    _same_length("sparsity", sizes=given, whole=total)
    return float(np.mean(1 - given / np.maximum(total, 1)))


def fidelity(y: npt.ArrayLike, predicted: npt.ArrayLike, predicted_subgraph: npt.ArrayLike) -> float:
    """Return the mean of ``1[ŷ = y] − 1[ŷ of the explanation = y]``. Lower is better; it may be negative.

    All graphs count, including those that the model gets wrong.
    """
    truth, whole, part = np.asarray(y), np.asarray(predicted), np.asarray(predicted_subgraph)
    _same_length("fidelity", y=truth, predicted=whole, predicted_subgraph=part)
    return float(np.mean((whole == truth).astype(float) - (part == truth).astype(float)))


# --- agreement with a known truth -------------------------------------------------------------------------


class Overlap(NamedTuple):
    """How explanations agree with the truth, as means over the graphs that have one.

    E is the explanation, T the truth. Precision is ``|E ∩ T| / |E|``, 0 for an empty explanation. Recall is
    ``|E ∩ T| / |T|``, Jaccard ``|E ∩ T| / |E ∪ T|``. `inside` is the share of explanations that are not empty
    and lie in the truth. `auc` is the chance that a part of the truth scores above one outside, ties counting
    half. `jaccard_at_size` is that of the parts with the largest scores, as many as the truth has.
    """

    precision: float
    recall: float
    jaccard: float
    inside: float
    auc: float
    n_graphs: int
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
    _same_length("overlap", masks=masks, truths=truths)
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
        rows.append((precision, both / expected.sum(), both / either, 0 < size == both, at_size))
        area = auc(ranked, expected)
        if not np.isnan(area):
            areas.append(area)
    if not rows:
        raise ExplanationError("overlap: no graph has a ground truth")
    precision, recall, index_, inside, at_size = np.array(rows, dtype=np.float64).mean(axis=0).tolist()
    area = float(np.mean(areas)) if areas else float("nan")
    return Overlap(precision, recall, index_, inside, area, len(rows), at_size)


def auc(scores: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """Return the area under the ROC curve, or NaN if the truth holds everything or nothing."""
    from scipy.stats import rankdata

    inside = np.asarray(truth, dtype=bool)
    n_in, n_out = int(inside.sum()), int((~inside).sum())
    if not n_in or not n_out:
        return float("nan")
    ranks = rankdata(np.asarray(scores, dtype=np.float64))
    return float((ranks[inside].sum() - n_in * (n_in + 1) / 2) / (n_in * n_out))


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


# --- stability --------------------------------------------------------------------------------------------


class Stability(NamedTuple):
    """Mean Jaccard index over graphs and pairs of runs: of the important programs, and of the nodes."""

    programs: float
    nodes: float


def stability(runs: Sequence[Sequence[Explanation]]) -> Stability:
    """Compare explanations of the same graphs from runs with other seeds; 1 means they never differ."""
    if len(runs) < 2 or not runs[0]:
        raise ExplanationError(f"stability: expected two runs or more over some graphs, got {len(runs)}")
    if len({len(run) for run in runs}) > 1:
        raise ExplanationError("stability: expected runs over the same graphs, got runs of several lengths")
    pairs = [(a, b) for first, second in combinations(runs, 2) for a, b in zip(first, second, strict=True)]
    return Stability(
        float(np.mean([jaccard(a.indices, b.indices) for a, b in pairs])),
        float(np.mean([jaccard(a.nodes, b.nodes) for a, b in pairs])),
    )
