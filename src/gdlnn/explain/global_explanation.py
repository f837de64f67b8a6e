"""Global explanations: for each class the places that speak for it, counted on held-out graphs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.explainer import GraphsLike, explain, represented
from gdlnn.explain.explanation import plain
from gdlnn.explain.words import points, reason_words
from gdlnn.graphs import Graph, GraphDataset, Schema
from gdlnn.model.scores import wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdlnn.explain.explanation import Explanation, Reason

MOST_PLACES = 5
"""Maximum number of kinds of places per class."""
N_EXAMPLES = 3
"""Number of example graphs of a kind of places."""
LEAST_GRAPHS = 2
"""A place of fewer held-out graphs is no kind."""
_BATCH = 256


class GlobalExample(NamedTuple):
    """An example: the row, the graph, and the reason in it."""

    row: int
    graph: Graph
    reason: Reason


@dataclass(frozen=True)
class GlobalPlace:
    """The places of one name that speak for a class.

    Attributes
    ----------
    name
        What the places are called; for models that explain by programs, the program in words.
    n_graphs, coverage
        Number of held-out graphs with such a place, and the share of the graphs of the class that have one.
    precision, precision_interval
        Share of the class among these graphs, and Wilson's 95% interval.
    points
        What such a place adds to the probability of the class, as a mean over these graphs.
    examples
        Graphs of the class that have one, those where it adds most first.
    """

    name: str
    n_graphs: int
    coverage: float
    precision: float
    precision_interval: tuple[float, float]
    points: float
    examples: tuple[GlobalExample, ...]


@dataclass(frozen=True)
class GlobalClass:
    """The places that speak for one class.

    Attributes
    ----------
    label
        The class.
    n_graphs
        Held-out graphs of the class.
    share
        Their share of all held-out graphs.
    places
        The kinds of places, those that add most over all graphs first.
    uncovered
        Rows of the class's graphs that have none of them.
    """

    label: Any
    n_graphs: int
    share: float
    places: tuple[GlobalPlace, ...]
    uncovered: tuple[int, ...]


@dataclass(frozen=True)
class GlobalExplanation:
    """The places that a model goes by, class by class.

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
    """

    classes: dict[Any, GlobalClass]
    n_graphs: int
    labeled: bool
    schema: Schema | None

    def describe(self) -> str:
        """Describe in a few lines the places of each class, and the graphs without any."""
        lines = []
        for item in self.classes.values():
            lines.append(self.headline(item))
            lines += [f"  {place.name}: {self.figures(place)}" for place in item.places]
            if not item.places:
                lines.append("  no place speaks for it in several graphs")
        return "\n".join(lines)

    def headline(self, item: GlobalClass) -> str:
        """Say how many graphs a class has, and how many of them have a place of the list."""
        name = (self.schema or Schema()).class_name(item.label)
        how = "" if self.labeled else " predicted"
        covered = item.n_graphs - len(item.uncovered)
        share = f"{item.share:.0%} of all"
        return f"{name}: {item.n_graphs}{how} graphs ({share}), {covered} of them with a place below"

    def figures(self, place: GlobalPlace) -> str:
        """Return what a kind of places adds, how frequent it is, and how precise, in words."""
        low, high = place.precision_interval
        return (
            f"{points(place.points)} points in {place.n_graphs} graphs, {place.precision:.0%} of them "
            f"of this class ({low:.0%} to {high:.0%})"
        )

    def to_html(self) -> str:
        """Return a standalone page with example graphs."""
        from gdlnn.explain.pictures import global_page

        return global_page(self)

    def to_json(self) -> dict[str, Any]:
        """Return places and figures per class as plain JSON values."""
        return {
            "n_graphs": self.n_graphs,
            "labeled": self.labeled,
            "classes": [
                {
                    **vars(item),
                    "label": plain(item.label),
                    "uncovered": list(item.uncovered),
                    "places": [_place_json(place) for place in item.places],
                }
                for item in self.classes.values()
            ],
        }


def _place_json(place: GlobalPlace) -> dict[str, Any]:
    examples = [
        {"row": one.row, "name": one.graph.name, "nodes": list(one.reason.nodes)} for one in place.examples
    ]
    return {**vars(place), "precision_interval": list(place.precision_interval), "examples": examples}


def explain_model(
    model: Any, graphs: GraphsLike, y: npt.ArrayLike | None = None, *, max_places: int = MOST_PLACES
) -> GlobalExplanation:
    """Explain a model: return for each class the places that speak for it in held-out graphs.

    Every graph is explained, and the places with one name that speak for a class are counted together.

    Parameters
    ----------
    model
        A fitted GDLNNClassifier, or a model that explains itself by programs.
    graphs
        Held-out graphs: a test or validation set that the model was not trained on, or its `Representation`.
        On training graphs every precision is too high.
    y
        The labels; by default those of the dataset. Without labels, the predicted classes are used.
    max_places
        Maximum number of kinds of places per class.
    """
    if max_places < 1:
        raise ExplanationError(f"max_places: expected a whole number of at least 1, got {max_places}")
    representation = represented(model, graphs)
    if y is None and isinstance(graphs, GraphDataset):
        y = graphs.y
    truth = np.asarray(representation.labels if y is None else y)
    if len(truth) != len(representation):
        raise ExplanationError(f"y: expected {len(representation)} labels, one per graph, got {len(truth)}")
    starts = range(0, len(truth), _BATCH)
    parts = (representation.take(range(start, min(start + _BATCH, len(truth)))) for start in starts)
    explained = (one for part in parts for one in explain(model, part))
    classes = count_places(explained, truth, representation.classes.tolist(), max_places)
    return GlobalExplanation(classes, len(truth), y is not None, model.schema_)


@dataclass
class _Kind:
    """The graphs with a place of one name, what the places of each add, and examples."""

    points: dict[int, float] = field(default_factory=dict)
    examples: list[GlobalExample] = field(default_factory=list)


def count_places(
    explained: Iterable[Explanation],
    truth: npt.NDArray[Any],
    labels: Sequence[Any],
    max_places: int = MOST_PLACES,
) -> dict[Any, GlobalClass]:
    """Return for each class the places that speak for it in explained graphs, see `explain_model`."""
    kinds: dict[Any, dict[str, _Kind]] = {plain(label): {} for label in labels}
    for row, one in enumerate(explained):
        for reason in one.listed:
            side = plain(reason.label)
            if not reason.places or (reason.weight < 0 and side == one.target):
                continue  # with several classes, what speaks against one speaks for no other
            kind = kinds[side].setdefault(reason_words(one, reason), _Kind())
            kind.points[row] = kind.points.get(row, 0.0) + abs(reason.weight)
            if truth[row] == side:
                kind.examples.append(GlobalExample(row, one.graph, reason))
    return {label: _counted_class(label, found, truth, max_places) for label, found in kinds.items()}


def _counted_class(
    label: Any, kinds: dict[str, _Kind], truth: npt.NDArray[Any], max_places: int
) -> GlobalClass:
    inside = np.asarray(truth == label)
    n_class = int(inside.sum())
    common = {
        name: kind for name, kind in kinds.items() if len(kind.points) >= LEAST_GRAPHS and kind.examples
    }
    order = sorted(common, key=lambda name: (-round(sum(common[name].points.values()), 9), name))
    places, left = [], inside.copy()
    for name in order[:max_places]:
        rows = np.array(sorted(common[name].points))
        n_own, left[rows] = int(inside[rows].sum()), False
        examples = sorted(common[name].examples, key=lambda one: (-abs(one.reason.weight), one.row))
        places.append(
            GlobalPlace(
                name=name,
                n_graphs=len(rows),
                coverage=n_own / n_class,
                precision=n_own / len(rows),
                precision_interval=wilson(n_own, len(rows)),
                points=sum(common[name].points.values()) / len(rows),
                examples=tuple(examples[:N_EXAMPLES]),
            )
        )
    share = n_class / len(truth) if len(truth) else 0.0
    return GlobalClass(label, n_class, share, tuple(places), tuple(np.flatnonzero(left).tolist()))
