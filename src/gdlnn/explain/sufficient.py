"""Explanations that are enough: the model says of their subgraph alone what it says of the whole graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdlnn.explain.assembling import assemble, important
from gdlnn.explain.subgraph import shrink

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.explain.assembling import Said
    from gdlnn.explain.explanation import Explanation
    from gdlnn.explain.question import Question
    from gdlnn.explain.techniques import Problem

IntArray = npt.NDArray[np.int64]
Nodes = tuple[int, ...]

MOST_ENOUGH = 10
"""Most programs that an explanation with just enough of them names."""
CANDIDATES = 100
"""Programs of a graph among which the smallest subgraph is looked for: those with the largest weights."""
_AT_ONCE = 8  # subgraphs of one graph that the model is asked about together


def explain_enough(question: Question) -> list[Explanation]:
    """Name one program more until the model says of the subgraph what it says of the graph."""
    found = question.explain(1)
    waiting = _not_enough(question, found, range(len(found)))
    for n_features in range(2, min(MOST_ENOUGH, question.view.n_programs) + 1):
        if not waiting:
            break
        again = question.about(waiting).explain(n_features)
        for row, explanation in zip(waiting, again, strict=True):
            found[row] = explanation
        waiting = _not_enough(question, found, waiting)
    return found


def _not_enough(question: Question, found: list[Explanation], rows: Sequence[int]) -> list[int]:
    said = question.view.model.predict([found[row].subgraph for row in rows]).tolist()
    pairs = zip(rows, said, strict=True)
    return [row for row, label in pairs if found[row].is_empty or label != found[row].prediction]


def explain_smallest(question: Question, candidates: int = CANDIDATES) -> list[Explanation]:
    """Find for each graph the smallest subgraph of a program by which alone the model says the target.

    Looked at are the heaviest programs that match the graph, as many as there may be candidates, and among
    them those that speak for the target (where none does, all of them). Where no single one is enough, they
    are put together, heaviest first, until they are, and those that are not needed are left out again. Where
    all together are not enough, the heaviest are named, as many as `explain_enough` may name.

    Parameters
    ----------
    question
        The model, the graphs and the technique.
    candidates
        How many programs of each graph are looked at.
    """
    problem = question.problem(candidates, matching_only=True)
    said = question.weigh(problem)
    search = _Search(question, _candidates(said, problem, candidates))
    chosen = search.singles()
    for row, programs in enumerate(search.programs):
        if row not in chosen and programs:
            chosen[row] = search.together(row) or programs[:MOST_ENOUGH]
    named = [np.array(chosen.get(row, ()), dtype=np.int64) for row in range(len(question.graphs))]
    return assemble(
        question.view, question.graphs, said, question.seed, question.probabilities, problem, named
    )


def _candidates(said: Said, problem: Problem, most: int) -> list[list[int]]:
    """Return per graph its programs to look at, heaviest first."""
    found = []
    for weights, values in zip(said.weights, problem.values, strict=True):
        matching = np.where(values > 0, weights, 0.0)
        speaking = important(np.maximum(matching, 0.0), most).tolist()
        found.append(speaking or important(matching, most).tolist())
    return found


class _Search:
    """Tries programs of graphs, alone and together.

    Attributes
    ----------
    programs
        Per graph its candidates, heaviest first.
    """

    def __init__(self, question: Question, programs: list[list[int]]) -> None:
        self.question = question
        self.programs = programs

    def singles(self) -> dict[int, list[int]]:
        """Return the program with the smallest subgraph that is enough, for graphs that have one.

        The subgraph of one program has a node for each of its variables, so that sizes are known beforehand.
        """
        programs = self.question.view.programs
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
                kept = several[:n]
                for column in reversed(several[:n]):
                    fewer = [c for c in kept if c != column]
                    if fewer and self._are_enough(row, fewer):
                        kept = fewer
                return kept
        return []

    def _are_enough(self, row: int, columns: list[int]) -> bool:
        (nodes,) = self._subgraphs([(row, columns)])
        return self._enough([(row, nodes)])[0]

    def _subgraphs(self, pairs: Sequence[tuple[int, list[int]]]) -> list[Nodes]:
        """Return what Algorithm 2 leaves of graphs for some of their programs."""
        view, graphs = self.question.view, self.question.graphs
        columns = sorted({column for _, several in pairs for column in several})
        place = {column: i for i, column in enumerate(columns)}
        use = np.zeros((len(pairs), len(columns)), dtype=bool)
        for i, (_, several) in enumerate(pairs):
            use[i, [place[column] for column in several]] = True
        parts = shrink(
            [graphs[row] for row, _ in pairs],
            [view.programs[column] for column in columns],
            use,
            step_budget=view.step_budget,
            n_jobs=getattr(view.model, "n_jobs", 1),
        )
        return [part.nodes for part in parts]

    def _enough(self, asked: Sequence[tuple[int, Nodes]]) -> list[bool]:
        """Say of which subgraphs alone the model says the target of their graph."""
        if not asked:
            return []
        view, targets = self.question.view, self.question.targets
        parts = [self.question.graphs[row].subgraph(np.array(nodes, dtype=np.int64)) for row, nodes in asked]
        said = view.probabilities(view.model.transform(parts)).argmax(axis=1)
        return [bool(said[i] == targets[row]) for i, (row, _) in enumerate(asked)]


def _lengths(most: int) -> Iterator[int]:
    """Yield the numbers of programs to try together: each of the first ten, then steps of a quarter."""
    n = 2
    while n < most:
        yield n
        n += 1 if n < MOST_ENOUGH else n // 4
    if most > 1:
        yield most
