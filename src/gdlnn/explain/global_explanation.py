"""Global explanations: which programs a model goes by, class by class, over many graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.explain.explainer import GraphsLike, NFeatures, explain, represented
from gdlnn.explain.explanation import Explanation, plain
from gdlnn.graphs import Schema

if TYPE_CHECKING:
    from gdlnn.explain.techniques import TechniqueLike
    from gdlnn.gdl.program import Program
    from gdlnn.model import GDLNNClassifier


@dataclass(frozen=True)
class GlobalProgram:
    """What one program does for one class.

    Attributes
    ----------
    program, index, label
        The program, its column, and the label it was mined for.
    mean_weight
        Mean weight for the class over the graphs predicted as it; where it is not among the important
        programs of a graph, its weight there is zero.
    importance
        Mean size of that weight.
    frequency
        Share of these graphs for which it is important.
    coverage
        Share of these graphs that it matches.
    examples
        Rows of graphs that it matches with the largest weights, largest first.
    """

    program: Program
    index: int
    label: Any
    mean_weight: float
    importance: float
    frequency: float
    coverage: float
    examples: tuple[int, ...]


@dataclass(frozen=True)
class GlobalExplanation:
    """The programs a model goes by.

    Attributes
    ----------
    classes
        Per class its programs, from the most to the least important.
    counts
        Per class how many of the graphs are predicted as it.
    explanations
        The explanations behind it, one per graph.
    """

    classes: dict[Any, tuple[GlobalProgram, ...]]
    counts: dict[Any, int]
    explanations: tuple[Explanation, ...]
    schema: Schema | None

    def describe(self, n: int = 5) -> str:
        """Say in a few lines which programs matter for which class."""
        names = self.schema or Schema()
        lines = []
        for label, programs in self.classes.items():
            lines.append(f"{names.class_name(label)} ({self.counts[label]} graphs)")
            for item in programs[:n]:
                words = item.program.describe(self.schema, directed=self._directed())
                lines.append(
                    f"  {item.mean_weight:+.4f}, matches {item.coverage:.0%}, "
                    f"important for {item.frequency:.0%}: {words}"
                )
        return "\n".join(lines)

    def to_html(self) -> str:
        """Return a page of its own, with diagrams of the programs and example graphs."""
        from gdlnn.explain.pictures import global_page

        return global_page(self)

    def to_json(self) -> dict[str, Any]:
        """Return the programs per class as plain JSON values."""
        return {
            "classes": [
                {
                    "label": plain(label),
                    "n_graphs": self.counts[label],
                    "programs": [
                        {**vars(item), "program": item.program.to_json(), "examples": list(item.examples)}
                        for item in programs
                    ],
                }
                for label, programs in self.classes.items()
            ]
        }

    def _directed(self) -> bool:
        return bool(self.explanations) and self.explanations[0].graph.directed


def explain_model(
    model: GDLNNClassifier,
    graphs: GraphsLike,
    technique: TechniqueLike = None,
    n_features: NFeatures = 5,
    *,
    seed: int = 0,
    n_examples: int = 3,
) -> GlobalExplanation:
    """Explain a model by its explanations of many graphs.

    Parameters
    ----------
    model
        The classifier.
    graphs
        The graphs to go by, the training graphs for instance, or what the model has made of them.
    technique, n_features, seed
        As for `explain`.
    n_examples
        How many example graphs to name per program.
    """
    seen = represented(model, graphs)
    explanations = explain(model, seen, technique, n_features, seed=seed)
    labels = [plain(label) for label in np.asarray(model.classes_)]
    rows_of = {label: [i for i, e in enumerate(explanations) if e.prediction == label] for label in labels}
    classes = {
        label: _programs_of(model, explanations, rows, seen.matches, n_examples)
        for label, rows in rows_of.items()
    }
    counts = {label: len(rows) for label, rows in rows_of.items()}
    return GlobalExplanation(classes, counts, tuple(explanations), model.schema_)


def _programs_of(
    model: GDLNNClassifier,
    explanations: list[Explanation],
    rows: list[int],
    matched: np.ndarray[Any, np.dtype[np.bool_]],
    n_examples: int,
) -> tuple[GlobalProgram, ...]:
    weights: dict[int, dict[int, float]] = {}
    for row in rows:
        for index, weight in zip(explanations[row].indices, explanations[row].weights, strict=True):
            weights.setdefault(index, {})[row] = weight
    found = []
    for index, by_row in weights.items():
        values = np.array(list(by_row.values()))
        present = sorted((row for row in by_row if matched[row, index]), key=lambda r: (-by_row[r], r))
        found.append(
            GlobalProgram(
                program=model.programs_[index].program,
                index=index,
                label=plain(model.programs_[index].label),
                mean_weight=float(values.sum() / len(rows)),
                importance=float(np.abs(values).sum() / len(rows)),
                frequency=len(by_row) / len(rows),
                coverage=float(matched[rows, index].mean()),
                examples=tuple(present[:n_examples]),
            )
        )
    return tuple(sorted(found, key=lambda item: (-item.importance, item.index)))
