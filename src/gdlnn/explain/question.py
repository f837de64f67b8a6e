"""Question: a model, graphs, and what to ask about them; asked again and again at little cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.assembling import Said, assemble
from gdlnn.explain.explanation import plain
from gdlnn.explain.view import ModelView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.explain.explanation import Explanation
    from gdlnn.explain.techniques import Attribution, Problem, Technique
    from gdlnn.graphs import Graph
    from gdlnn.model import GDLNNClassifier

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Question:
    """Which programs made a model say what it says of some graphs.

    Attributes
    ----------
    view, graphs
        The model and the graphs.
    table
        What the GDL layer finds in the graphs.
    probabilities
        What the head makes of it, graphs × classes.
    targets
        Per graph the position of the class that is explained.
    technique, seed
        How programs are weighed.
    """

    view: ModelView
    graphs: list[Graph]
    table: FloatArray
    probabilities: FloatArray
    targets: IntArray
    technique: Technique
    seed: int

    @classmethod
    def of(
        cls,
        model: GDLNNClassifier,
        graphs: list[Graph],
        technique: Technique,
        target: Any,
        seed: int,
        background: Sequence[Graph] | None,
    ) -> Self:
        """Ask about the predicted class of each graph, or about a given one."""
        view = ModelView(model, background)
        table = model.transform(graphs)
        probabilities = view.probabilities(table)
        if target is None:
            targets = probabilities.argmax(axis=1)
        else:
            targets = np.full(len(graphs), _position(view.classes, target))
        return cls(view, graphs, table, probabilities, targets.astype(np.int64), technique, seed)

    def about(self, rows: Sequence[int]) -> Self:
        """Return the same question about some of the graphs."""
        kept = list(rows)
        return replace(
            self,
            graphs=[self.graphs[row] for row in kept],
            table=self.table[kept],
            probabilities=self.probabilities[kept],
            targets=self.targets[kept],
        )

    def problem(self, n_features: int, *, matching_only: bool = False) -> Problem:
        """Return the question as techniques take it."""
        wanted = min(n_features, self.view.n_programs)
        made = self.view.problem(self.table, self.targets, wanted, self.seed)
        return replace(made, matching_only=matching_only)

    def weigh(self, problem: Problem) -> Said:
        """Return what the technique says."""
        return self._said(self.technique.attribute(problem))

    def _said(self, attribution: Attribution) -> Said:
        return Said(self.technique.name, self.technique.options(), attribution.weights, attribution.quality)

    def explain(self, n_features: int) -> list[Explanation]:
        """Name the most important programs of each graph, so many of them."""
        problem = self.problem(n_features)
        attribution = self.technique.attribute(problem)
        said = self._said(attribution)
        found = assemble(self.view, self.graphs, said, self.seed, self.probabilities, problem)
        instead = attribution.instead
        rows = [] if instead is None else np.flatnonzero(instead.weights.any(axis=1)).tolist()
        if instead is None or not rows:
            return found
        part = replace(problem, values=problem.values[rows], targets=problem.targets[rows])
        said = Said(instead.technique, instead.options, instead.weights[rows], instead.quality[rows])
        graphs = [self.graphs[row] for row in rows]
        others = assemble(self.view, graphs, said, self.seed, self.probabilities[rows], part)
        for row, other in zip(rows, others, strict=True):
            if not other.is_empty:
                found[row] = replace(found[row], instead=other)
        return found


def _position(classes: npt.NDArray[Any], target: Any) -> int:
    for position, label in enumerate(classes.tolist()):
        if label == plain(target):
            return position
    known = ", ".join(map(repr, classes.tolist()))
    raise ExplanationError(f"target: expected one of the classes {known}, got {target!r}")
