"""The smallest sufficient subgraph: a part that alone gets the class of the whole graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdlnn.explain.context import threshold_of
from gdlnn.explain.explanation import LEAST_REASON
from gdlnn.explain.places import growing_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Nodes = tuple[int, ...]


def moves(chance: float, whole: float, baseline: float, threshold: float = 0.5) -> bool:
    """Return whether a subgraph moves the prediction, if the baseline alone gives the class.

    In that case every subgraph gets the prediction of the whole graph. A sufficient one must also move the
    probability beyond the baseline by `LEAST_REASON`, and by half of what the whole graph does.

    Parameters
    ----------
    chance, whole, baseline
        The probability of the class for the part, for the whole graph, and without any program.
    threshold
        The probability above which the class is predicted.
    """
    return baseline <= threshold or chance - baseline >= max(LEAST_REASON, (whole - baseline) / 2)


def sufficient_nodes(
    model: GDLNNClassifier,
    representation: Representation,
    targets: IntArray,
    baselines: FloatArray,
    scores: Sequence[FloatArray],
) -> list[Nodes]:
    """Return the nodes of a small subgraph of each graph that alone gets its class; none where no part does.

    Parts are tried in the order of `growing_parts`: places, alone and together, then the nodes that add most.
    From the first one that is enough nodes are dropped, those that add least first, while it stays enough.

    Parameters
    ----------
    model
        The classifier, which is asked about every subgraph.
    representation, targets
        The graphs, and the class of each.
    baselines
        Per graph the probability of its class without any program.
    scores
        Per graph what each of its nodes adds.
    """

    def enough(asked: Sequence[tuple[int, Nodes]]) -> Iterator[tuple[int, Nodes]]:
        """Yield the rows and parts of which alone the model predicts the class."""
        part = model.represent([representation.graphs[row].subgraph(sorted(nodes)) for row, nodes in asked])
        for i, (row, nodes) in enumerate(asked):
            target = int(targets[row])
            chance, whole = part.probabilities[i, target], representation.probabilities[row, target]
            limit = threshold_of(representation, target)
            if part.codes[i] == target and moves(chance, whole, baselines[row], limit):
                yield row, nodes

    tried = map(growing_parts, representation.graphs, scores)
    found: dict[int, Nodes] = {}
    for row, part in enough([(row, part) for row, parts in enumerate(tried) for part in parts]):
        found.setdefault(row, part)
    queues = {row: nodes[::-1] for row, nodes in found.items()}  # what adds least comes first
    for step in range(max(map(len, queues.values()), default=0)):
        fewer = [
            (row, tuple(v for v in found[row] if v != queue[step]))
            for row, queue in queues.items()
            if step < len(queue) and len(found[row]) > 1
        ]
        found.update(enough(fewer))
    return [found.get(row, ()) for row in range(len(representation))]
