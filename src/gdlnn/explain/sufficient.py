"""Sufficient explanations: their subgraph alone gets the prediction of the whole graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdlnn.explain.explainer import important, threshold_of
from gdlnn.explain.explanation import LEAST_REASON

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.explain.explainer import Explainer
    from gdlnn.explain.explanation import Explanation
    from gdlnn.model.representation import Representation

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Nodes = tuple[int, ...]

MOST_NAMED = 10
"""Maximum number of programs that are named where no programs are sufficient."""
CANDIDATES = 100
"""Number of candidate programs for the smallest subgraph: those with the largest weights."""
_AT_ONCE = 8  # subgraphs of one graph that are predicted together


def moves(chance: float, whole: float, baseline: float | None, threshold: float = 0.5) -> bool:
    """Return whether a subgraph moves the prediction, if the baseline alone gives the class.

    In that case every subgraph gets the prediction of the whole graph. A sufficient one must also move the
    probability beyond the baseline by `LEAST_REASON`, and by half of what the whole graph does.

    Parameters
    ----------
    chance, whole, baseline
        The probability of the class for the part, for the whole graph, and without any program; None: not
        known.
    threshold
        The probability above which the class is predicted.
    """
    if baseline is None or baseline <= threshold:
        return True
    return chance - baseline >= min(max(LEAST_REASON, (whole - baseline) / 2), whole - baseline)


def explain_smallest(
    explainer: Explainer, representation: Representation, targets: IntArray
) -> list[Explanation]:
    """Find for each graph the smallest subgraph of a program that alone gets the target class.

    The candidates are the matching programs with the largest weights that support the target (all of them if
    none does). If no single one is enough, they are combined, heaviest first, until they are, and those not
    needed are dropped again. If all together are not enough, the `MOST_NAMED` heaviest are named.

    Parameters
    ----------
    explainer
        The model and the technique.
    representation, targets
        The graphs, and the class of each that is to be predicted.
    """
    context = explainer.context(representation, targets, CANDIDATES, matching_only=True)
    attribution = explainer.technique.attribute(context)
    baselines, scored = None, None
    if attribution.baseline is not None:
        baselines = attribution.baseline
        scored = explainer.scored(representation, attribution)
    tried = _candidates(attribution.weights, representation)
    # Algorithm 2 must remove nodes in the order in which `assemble` does, which goes by their scores.
    scores = None if scored is None else [one.nodes for one in scored]
    search = _Search(explainer, representation, targets, tried, baselines, scores)
    enough = search.singles()
    for row in range(len(representation)):
        if row not in enough and (together := search.together(row)):
            enough[row] = together
    chosen = [enough.get(row, programs[:MOST_NAMED]) for row, programs in enumerate(tried)]
    named = [np.array(columns, dtype=np.int64) for columns in chosen]
    return explainer.assemble(representation, targets, attribution, named, scored)


def _candidates(weights: FloatArray, representation: Representation) -> list[list[int]]:
    """Return per graph its programs to look at, heaviest first."""
    found = []
    for row, matches in zip(weights, representation.matches, strict=True):
        matching = np.where(matches, row, 0.0)
        speaking = important(np.maximum(matching, 0.0), CANDIDATES).tolist()
        found.append(speaking or important(matching, CANDIDATES).tolist())
    return found


class _Search:
    """Tries programs of graphs, alone and together.

    Attributes
    ----------
    programs
        Per graph its candidates, heaviest first.
    baselines
        Per graph the probability of its target without any program, or None.
    scores
        Per graph the scores of its nodes, which give the order of Algorithm 2, or None.
    """

    def __init__(
        self,
        explainer: Explainer,
        representation: Representation,
        targets: IntArray,
        programs: list[list[int]],
        baselines: FloatArray | None,
        scores: Sequence[FloatArray] | None,
    ) -> None:
        self.explainer, self.representation, self.targets = explainer, representation, targets
        self.programs, self.baselines, self.scores = programs, baselines, scores

    def singles(self) -> dict[int, list[int]]:
        """Return the program with the smallest subgraph that is enough, for graphs that have one.

        The subgraph of one program has a node for each of its variables, so that sizes are known beforehand.
        """
        programs = self.explainer.programs
        queues = {
            row: sorted(several, key=lambda c: len(programs[c].variables))
            for row, several in enumerate(self.programs)
            if several
        }
        found: dict[int, list[int]] = {}
        while queues:
            pairs = [(row, [c]) for row, queue in queues.items() for c in queue[:_AT_ONCE]]
            parts = self._subgraphs(pairs)
            asked = list(dict.fromkeys((row, nodes) for (row, _), nodes in zip(pairs, parts, strict=True)))
            enough = dict(zip(asked, self._enough(asked), strict=True))
            for (row, columns), nodes in zip(pairs, parts, strict=True):
                if row not in found and enough[row, nodes]:
                    found[row] = columns
            left = {row: queue[_AT_ONCE:] for row, queue in queues.items() if row not in found}
            queues = {row: queue for row, queue in left.items() if queue}
        return found

    def together(self, row: int) -> list[int]:
        """Return candidates of a graph that are enough together, each of them needed; none if all are not."""
        several = self.programs[row]
        for n in _lengths(len(several)):
            if self._are_enough(row, several[:n]):
                needed = several[:n]
                for column in reversed(several[:n]):
                    fewer = [c for c in needed if c != column]
                    if fewer and self._are_enough(row, fewer):
                        needed = fewer
                return needed
        return []

    def _are_enough(self, row: int, columns: list[int]) -> bool:
        (nodes,) = self._subgraphs([(row, columns)])
        return self._enough([(row, nodes)])[0]

    def _subgraphs(self, pairs: Sequence[tuple[int, list[int]]]) -> list[Nodes]:
        """Return the subgraphs that Algorithm 2 gives for some programs of each graph."""
        graphs = [self.representation.graphs[row] for row, _ in pairs]
        scores = None if self.scores is None else [self.scores[row] for row, _ in pairs]
        _, left = self.explainer.subgraphs(graphs, [columns for _, columns in pairs], scores)
        return [part.nodes for part in left]

    def _enough(self, asked: Sequence[tuple[int, Nodes]]) -> list[bool]:
        """Return for which subgraphs alone the model predicts the target of their graph."""
        parts = [
            self.representation.graphs[row].subgraph(np.array(nodes, dtype=np.int64)) for row, nodes in asked
        ]
        predicted = self.explainer.model.represent(parts)
        enough = []
        for i, (row, _) in enumerate(asked):
            target = int(self.targets[row])
            baseline = None if self.baselines is None else float(self.baselines[row])
            chance, whole = (
                float(predicted.probabilities[i, target]),
                float(self.representation.probabilities[row, target]),
            )
            limit = threshold_of(self.representation, target)
            enough.append(bool(predicted.codes[i] == target and moves(chance, whole, baseline, limit)))
        return enough


def _lengths(most: int) -> Iterator[int]:
    """Yield the numbers of programs to try together: each of the first ten, then steps of a quarter."""
    n = 2
    while n < most:
        yield n
        n += 1 if n < MOST_NAMED else n // 4
    if most > 1:
        yield most
