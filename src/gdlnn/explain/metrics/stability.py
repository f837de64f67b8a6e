"""Stability: whether explanations stay the same when the seed changes."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gdlnn.errors import ExplanationError
from gdlnn.explain.metrics.ground_truth import jaccard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.explain.explanation import Explanation


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
