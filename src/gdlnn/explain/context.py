"""Context and Attribution: what a technique gets, and what it returns. Graphs are not matched again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.explanation import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Attribution(NamedTuple):
    """Weights per graph and program, zero for unimportant programs.

    Attributes
    ----------
    weights
        Graphs × programs.
    quality
        Per graph how well the weights describe the model nearby (R² for LIME), or None.
    baseline
        Per graph the probability of the target where no program is present, if weights are what present
        programs add to it; else None.
    others
        Graphs × other columns: what pooled features and extremes of quantities add, where weights are such
        contributions.
    """

    weights: FloatArray
    quality: FloatArray | None = None
    baseline: FloatArray | None = None
    others: FloatArray | None = None


@dataclass(frozen=True)
class Context:
    """The input of a technique, which finds the programs that moved the prediction of each graph.

    Attributes
    ----------
    values
        What the programs find in the graphs, graphs × programs.
    targets
        Per graph the position of the class to explain.
    predict
        ``predict(values, row)`` gives probabilities, rows × classes. `row` names the graph whose pooled
        features the model is given; without such features it makes no difference.
    means
        The share of training graphs that each program matches; None where programs count matches.
    n_reasons
        How many programs are requested; a technique may give weights to more.
    seed
        Random seed.
    others
        The other columns of the graphs, or None.
    model
        The classifier.
    """

    values: FloatArray
    targets: IntArray
    predict: Callable[[FloatArray, int], FloatArray]
    means: FloatArray | None
    n_reasons: int
    seed: int = 0
    others: FloatArray | None = None
    model: Any = None

    def target_probabilities(self) -> FloatArray:
        """Return per graph the probability of its target class."""
        if self.others is None:
            chances = self.predict(self.values, 0)
            return np.asarray(chances[np.arange(len(chances)), self.targets])
        rows = range(len(self.values))
        single = [self.predict(self.values[i : i + 1], i)[0, self.targets[i]] for i in rows]
        return np.array(single, dtype=np.float64)

    def known_means(self, technique: str) -> FloatArray:
        """Return the means for a technique that needs them."""
        if self.means is None:
            raise ExplanationError(
                f"technique {technique!r}: expected a model with the activation 'exists', got one that "
                "counts matches; use 'contribution'"
            )
        return self.means


def make_context(
    model: GDLNNClassifier,
    representation: Representation,
    targets: IntArray,
    n_reasons: int,
    seed: int = 0,
) -> Context:
    """Return the context of represented graphs.

    Parameters
    ----------
    model
        The classifier.
    representation
        The graphs as the model represents them.
    targets, n_reasons, seed
        See `Context`.
    """
    n_programs = len(model.programs_)
    others = np.ascontiguousarray(representation.features[:, n_programs:])

    def predict(rows: FloatArray, graph: int) -> FloatArray:
        if not others.shape[1]:
            return model.head_outputs(rows)
        fixed = np.broadcast_to(others[graph], (len(rows), others.shape[1]))
        return model.head_outputs(np.hstack([rows, fixed]))

    return Context(
        values=np.ascontiguousarray(representation.features[:, :n_programs]),
        targets=targets,
        predict=predict,
        means=model.programs_.frequencies if model.activation == "exists" else None,
        n_reasons=n_reasons,
        seed=seed,
        others=others if others.shape[1] else None,
        model=model,
    )


def target_codes(representation: Representation, class_label: Any) -> IntArray:
    """Return per graph the position of the class to explain: a given one, or the predicted one for None."""
    if class_label is None:
        return representation.codes
    labels = representation.classes.tolist()
    if plain(class_label) not in labels:
        known = ", ".join(map(repr, labels))
        raise ExplanationError(f"class_label: expected one of the classes {known}, got {class_label!r}")
    return np.full(len(representation), labels.index(plain(class_label)), dtype=np.int64)


def threshold_of(representation: Representation, target: int) -> float:
    """Return the probability of a class above which it is predicted."""
    decision = representation.decision
    if decision is None:
        return 0.5
    return decision.threshold if target == decision.code else 1 - decision.threshold
