"""Global explanations: for each class a few programs that decide, counted on held-out graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.contribution import ClassContributions, class_contributions
from gdlnn.explain.cover import Covering, greedy_cover
from gdlnn.explain.explainer import GraphsLike, represented, with_schema
from gdlnn.explain.explanation import plain
from gdlnn.explain.subgraph import shrink
from gdlnn.graphs import Graph, GraphDataset, Schema
from gdlnn.model.base import SelfExplaining
from gdlnn.model.scores import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.gdl.program import Program
    from gdlnn.model.representation import Representation

MOST_PROGRAMS = 5
"""Maximum number of programs per class."""


class GlobalExample(NamedTuple):
    """An example of a program: the row, the graph, and where the program matches."""

    row: int
    graph: Graph
    witness: dict[str, int]


@dataclass(frozen=True)
class GlobalProgram:
    """A program that supports a class.

    Attributes
    ----------
    program, index
        The program and its column.
    coverage, n_covered
        Share and number of the held-out graphs of the class that it matches.
    n_new
        How many of them no program listed before matches.
    precision, precision_interval, n_matched
        Share of the class among the held-out graphs that it matches, Wilson's 95 % interval, and how many
        these are.
    contribution
        What it adds to the probability of the class where it is present, as a mean over the class's held-out
        graphs; None for models without contributions.
    examples
        Graphs of the class that it covers, the most certain predictions first.
    """

    program: Program
    index: int
    coverage: float
    n_covered: int
    n_new: int
    precision: float
    precision_interval: tuple[float, float]
    n_matched: int
    contribution: float | None
    examples: tuple[GlobalExample, ...]


@dataclass(frozen=True)
class GlobalClass:
    """The programs that decide for one class.

    Attributes
    ----------
    label
        The class.
    n_graphs
        Held-out graphs of the class.
    share
        Their share of all held-out graphs: the precision of a program that matches at random.
    programs
        The programs, in the order in which they were chosen.
    uncovered
        Rows of the class's graphs that none of them matches.
    """

    label: Any
    n_graphs: int
    share: float
    programs: tuple[GlobalProgram, ...]
    uncovered: tuple[int, ...]

    @property
    def coverage(self) -> float:
        """Share of the class's held-out graphs that some listed program matches."""
        return 1 - len(self.uncovered) / self.n_graphs if self.n_graphs else 0.0


@dataclass(frozen=True)
class GlobalExplanation:
    """The programs that decide, class by class.

    Attributes
    ----------
    classes
        One entry per class.
    n_graphs
        Number of held-out graphs.
    labeled
        Whether graphs were counted by their labels; False: by their predicted classes.
    schema
        The names of features and classes, or None.
    directed
        Whether the graphs are directed.
    """

    classes: dict[Any, GlobalClass]
    n_graphs: int
    labeled: bool
    schema: Schema | None
    directed: bool = False

    def describe(self) -> str:
        """Describe in a few lines the programs of each class, and the uncovered graphs."""
        lines = []
        for item in self.classes.values():
            lines.append(self.headline(item))
            lines += [f"  {self.figures(program)}: {self.words(program)}" for program in item.programs]
            lines.append(f"  {self.uncovered_line(item)}")
        return "\n".join(lines)

    def headline(self, item: GlobalClass) -> str:
        """Say how many graphs a class has, and how many of them are covered."""
        name = (self.schema or Schema()).class_name(item.label)
        how = "" if self.labeled else " predicted"
        covered = item.n_graphs - len(item.uncovered)
        return (
            f"{name}: {item.n_graphs}{how} graphs ({item.share:.0%} of all), of which the programs below "
            f"cover {covered} ({item.coverage:.0%})"
        )

    def words(self, item: GlobalProgram) -> str:
        """Return a program in words."""
        return item.program.describe(self.schema, directed=self.directed)

    def figures(self, item: GlobalProgram) -> str:
        """Return precision and coverage of a program in words."""
        low, high = item.precision_interval
        adds = "" if item.contribution is None else f", adds {item.contribution:+.2f}"
        return (
            f"precision {item.precision:.0%} ({low:.0%} to {high:.0%}, {item.n_matched} graphs), "
            f"covers {item.coverage:.0%}{adds}"
        )

    def uncovered_line(self, item: GlobalClass) -> str:
        """Say which graphs of a class no listed program covers."""
        if not item.uncovered:
            return (
                "nothing is left uncovered" if item.n_graphs else "there is no held-out graph of this class"
            )
        rows = ", ".join(map(str, item.uncovered[:5])) + (", …" if len(item.uncovered) > 5 else "")
        return f"not covered: {len(item.uncovered)} of {item.n_graphs} graphs (rows {rows})"

    def to_html(self) -> str:
        """Return a standalone page with diagrams of the programs and example graphs."""
        from gdlnn.explain.pictures import global_page

        return global_page(self)

    def to_json(self) -> dict[str, Any]:
        """Return programs and figures per class as plain JSON values."""
        return {
            "n_graphs": self.n_graphs,
            "labelled": self.labeled,
            "classes": [
                {
                    "label": plain(item.label),
                    "n_graphs": item.n_graphs,
                    "share": item.share,
                    "coverage": item.coverage,
                    "uncovered": list(item.uncovered),
                    "programs": [self._program_json(program) for program in item.programs],
                }
                for item in self.classes.values()
            ],
        }

    def _program_json(self, item: GlobalProgram) -> dict[str, Any]:
        return {
            **vars(item),
            "program": item.program.to_json(),
            "words": self.words(item),
            "precision_interval": list(item.precision_interval),
            "examples": [
                {"row": example.row, "name": example.graph.name, "witness": example.witness}
                for example in item.examples
            ],
        }


def explain_model(
    model: Any,
    graphs: GraphsLike,
    y: npt.ArrayLike | None = None,
    *,
    max_programs: int = MOST_PROGRAMS,
    n_examples: int = 3,
) -> GlobalExplanation:
    """Explain a model: return for each class a few precise programs that cover many of its held-out graphs.

    A program is listed if it was found for the class, supports it in the model (on average it adds to the log
    odds where it is present), and has a precision on these graphs that is better than chance. Programs are
    chosen greedily, see `greedy_cover`; a variant of a listed program is not listed.

    Parameters
    ----------
    model
        A fitted GDLNNClassifier, or a model that explains itself: its programs have no contributions.
    graphs
        Held-out graphs: a test or validation set that the model was not trained on, or its `Representation`.
        On training graphs every precision is too high.
    y
        The labels; by default those of the dataset. Without labels, the predicted classes are used.
    max_programs
        Maximum number of programs per class.
    n_examples
        How many example graphs to keep for each program.
    """
    if max_programs < 1:
        raise ExplanationError(f"max_programs: expected a whole number of at least 1, got {max_programs}")
    representation = represented(model, graphs)
    if y is None and isinstance(graphs, GraphDataset):
        y = graphs.y
    truth = np.asarray(representation.labels if y is None else y)
    if len(truth) != len(representation):
        raise ExplanationError(f"y: expected {len(representation)} labels, one per graph, got {len(truth)}")
    contributions = None if isinstance(model, SelfExplaining) else class_contributions(model, representation)
    classes = cover_classes(model, representation, truth, contributions, max_programs, n_examples)
    directed = bool(len(representation)) and representation.graphs[0].directed
    return GlobalExplanation(classes, len(representation), y is not None, model.schema_, directed)


def cover_classes(
    model: Any,
    representation: Representation,
    truth: npt.NDArray[Any],
    contributions: ClassContributions | None,
    max_programs: int = MOST_PROGRAMS,
    n_examples: int = 3,
) -> dict[Any, GlobalClass]:
    """Return for each class the programs that cover it, see `explain_model`."""
    programs = [item.program for item in model.programs_]
    sizes = [len(program.nodes) + len(program.edges) for program in programs]
    found_for = [plain(item.label) for item in model.programs_]
    names = model.schema_
    classes = {}
    for code, label in enumerate(plain(label) for label in representation.classes):
        inside = np.asarray(truth == label)
        adds = None if contributions is None else contributions.means(code, inside)
        speaks = np.array([own == label for own in found_for], dtype=bool)
        speaks &= True if adds is None else adds > 0
        cover = greedy_cover(representation.matches, inside, sizes, speaks, max_programs)
        listed = tuple(
            _listed(programs, representation, inside, code, one, adds, n_examples, names) for one in cover
        )
        left = inside & ~representation.matches[:, [one.column for one in cover]].any(axis=1)
        share = float(inside.mean()) if len(inside) else 0.0
        rows = tuple(np.flatnonzero(left).tolist())
        classes[label] = GlobalClass(label, int(inside.sum()), share, listed, rows)
    return classes


def _listed(
    programs: Sequence[Program],
    representation: Representation,
    inside: npt.NDArray[np.bool_],
    code: int,
    found: Covering,
    adds: npt.NDArray[np.float64] | None,
    n_examples: int,
    schema: Schema | None,
) -> GlobalProgram:
    """Return the figures of a chosen program, and graphs that show it."""
    matched = representation.matches[:, found.column]
    n_matched, n_covered = int(matched.sum()), int((matched & inside).sum())
    certain = np.argsort(-representation.probabilities[found.rows, code], kind="stable")[:n_examples]
    rows = found.rows[certain].tolist()
    graphs = [with_schema(representation.graphs[row], schema) for row in rows]
    program = programs[found.column]
    places = shrink(graphs, [program], np.ones((len(graphs), 1), dtype=bool)) if graphs else []
    return GlobalProgram(
        program=program,
        index=found.column,
        coverage=n_covered / int(inside.sum()),
        n_covered=n_covered,
        n_new=len(found.rows),
        precision=n_covered / n_matched,
        precision_interval=wilson(n_covered, n_matched),
        n_matched=n_matched,
        contribution=None if adds is None else float(adds[found.column]),
        examples=tuple(
            GlobalExample(row, graph, place.witnesses[0] or {})
            for row, graph, place in zip(rows, graphs, places, strict=True)
        ),
    )


def _named(graph: Graph, schema: Schema | None) -> Graph:
    """Return a graph with feature names, if it has none."""
    return graph if schema is None or graph.schema is not None else graph._renamed(schema, graph.name)
