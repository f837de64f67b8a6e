"""Explanation: the reasons of a prediction, where they are in the graph, and how to show them.

`explainer` computes explanations, `words` describes them, `pictures` draws them.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.graphs import Graph, Schema
from gdlnn.graphs.graph import NodeSubset, json_rows
from gdlnn.io.frames import Columns, data_frame, html_table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from gdlnn.gdl.program import Program

FloatArray = npt.NDArray[np.float64]
FORMAT = "gdlnn-explanation"
VERSION = 4
LEAST_SHOWN = 0.005
"""Changes of a probability that round to zero points are not listed."""
LEAST_REASON = 0.05
"""What must be added to a probability beyond a baseline that gives the prediction by itself."""


class Reason(NamedTuple):
    """A reason for a prediction, or against it: a place in the graph, or a program.

    Attributes
    ----------
    program, column, label
        The program, its column in the GDL layer, and the class it speaks for. The program of a place is the
        one that its nodes induce, and its column is -1.
    weight
        What it adds to the probability of the target; without a baseline, the weight of the technique.
    places
        Where it is: the node of each of its variables; empty where it is absent.
    name, terms
        Of a place: what it is called, and the programs behind it with what each adds there.
    """

    program: Program
    weight: float
    places: tuple[tuple[int, ...], ...] = ()
    column: int = 0
    label: Any = None
    name: str = ""
    terms: tuple[Reason, ...] = ()

    @property
    def witness(self) -> dict[str, int] | None:
        """Where it is, variable to node; None where it is absent."""
        return dict(zip(self.program.variables, self.places[0], strict=True)) if self.places else None

    @property
    def nodes(self) -> tuple[int, ...]:
        """The nodes of all its places, sorted."""
        return tuple(sorted({node for place in self.places for node in place}))

    @property
    def side(self) -> str:
        """Whether it speaks "for" the target or "against" it."""
        return "for" if self.weight > 0 else "against"

    def to_json(self, graph: Graph) -> dict[str, Any]:
        """Return the reason in a graph as plain JSON values."""
        return {
            "program": self.program.to_json(),
            "weight": self.weight,
            "matched": bool(self.places),
            "witness": self.witness,
            "index": self.column,
            "label": plain(self.label),
            "words": self.name or self.program.describe(graph.schema, directed=graph.directed),
            "name": self.name,
            "terms": [reason.to_json(graph) for reason in self.terms],
        }


class Value(NamedTuple):
    """What an explanation of a regressor has: the 90% interval and unit of the predicted value.

    Attributes
    ----------
    lower, upper, unit
        The bounds of the interval, and the unit of the target.
    step
        The step to which values are written.
    """

    lower: float
    upper: float
    unit: str
    step: float

    @classmethod
    def step_of(cls, values: FloatArray) -> float:
        """Return the power of ten to which values of a target are written: a tenth of their deviation."""
        spread = float(np.std(values))
        return 10.0 ** math.floor(math.log10(spread / 10)) if spread > 0 else 0.1

    def text(self, value: float, *, sign: bool = False) -> str:
        """Return a value as it is written, with a plus sign if wanted."""
        digits = max(0, -round(math.log10(self.step)))
        rounded = round(value / self.step) * self.step
        return f"{'−' if rounded < 0 else '+' if sign else ''}{abs(rounded):.{digits}f}"


class Method(NamedTuple):
    """How programs were weighed and the subgraph was found.

    Attributes
    ----------
    technique, options, seed
        The technique, its options and its seed.
    quality
        How well the weights describe the model nearby (R² for LIME), or None.
    complete
        False where a search ran out of steps, so that the subgraph may be larger than needed.
    """

    technique: str
    options: Mapping[str, Any] = {}
    seed: int = 0
    quality: float | None = None
    complete: bool = True


class Contributions(NamedTuple):
    """What is added to the probability of the target, beyond a baseline without any program.

    The probability is the sum of baseline, `added`, the figures of `pooled` and `left`.

    Attributes
    ----------
    baseline
        The probability of the target where no program is present and pooled features are at their medians.
    prior
        The share of training graphs that are of the target class.
    added
        What all present programs add together: the sum of the scores of nodes.
    pooled
        Pooled features with their values in words, and what each adds.
    left
        The error of the sum.
    scores
        What present programs add, divided evenly over all places of each and over the nodes of each place.
    """

    baseline: float
    prior: float
    added: float
    pooled: tuple[tuple[str, float], ...]
    left: float
    scores: tuple[float, ...]

    @property
    def others(self) -> float:
        """What pooled features add together."""
        return sum(points for _, points in self.pooled)

    def to_json(self) -> dict[str, Any]:
        """Return the contributions as plain JSON values."""
        return {
            "baseline_probability": self.baseline,
            "prior": self.prior,
            "added": self.added,
            "pooled": [list(pair) for pair in self.pooled],
            "left": self.left,
            "node_scores": list(self.scores),
        }


_WITHOUT_BASELINE: dict[str, Any] = dict.fromkeys(
    ("baseline_probability", "prior", "added", "pooled", "left", "node_scores")
)


@dataclass(frozen=True, eq=False)
class Explanation(NodeSubset):
    """Why a model predicted a class for one graph.

    Attributes
    ----------
    graph
        The graph.
    prediction, probability
        The class the model predicts, and its probability.
    target, target_probability
        The class that is explained (by default the predicted one), and its probability.
    reasons
        Places, or programs, from the most to the least important. A program that does not match the graph may
        be important too: its absence supports the class (a positive weight) or counts against it.
    nodes
        The sorted nodes of the subgraph: those of the places for the target, or no more than the matched
        programs need.
    method
        How programs were weighed and the subgraph was found.
    contributions
        What present programs add to a baseline; None for techniques without a baseline.
    threshold
        The probability of the target above which it is predicted.
    smiles
        How the molecule was written, for pictures with stereo and isotopes; None where unknown.
    domain, domain_reason
        Whether the graph is "inside" what the model was trained on, at its "edge" or "outside", and why; None
        where unknown.
    value
        Of a regressor: interval and unit. `prediction`, `probability` and `target_probability` are then the
        predicted value, and `target` is the name of what is predicted.
    """

    graph: Graph
    prediction: Any
    probability: float
    target: Any
    target_probability: float
    reasons: tuple[Reason, ...]
    nodes: tuple[int, ...]
    method: Method
    contributions: Contributions | None = None
    threshold: float = 0.5
    smiles: str | None = None
    domain: str | None = None
    domain_reason: str = ""
    value: Value | None = None

    # --- for and against ------------------------------------------------------------------------------------

    @property
    def supporting(self) -> tuple[Reason, ...]:
        """The reasons that are present and speak for the target, strongest first."""
        return tuple(reason for reason in self.reasons if reason.places and reason.weight > 0)

    @property
    def opposing(self) -> tuple[Reason, ...]:
        """The reasons that are present and speak against the target, strongest first."""
        return tuple(reason for reason in self.reasons if reason.places and reason.weight < 0)

    @property
    def listed(self) -> tuple[Reason, ...]:
        """The reasons as texts, pages and pictures list and number them, the largest first."""
        if self.contributions is None:
            return tuple(reason for reason in self.reasons if reason.weight)
        least = self.least_shown
        shown = [reason for reason in self.reasons if reason.places and abs(reason.weight) >= least]
        return tuple(sorted(shown, key=lambda reason: -abs(reason.weight)))

    @property
    def least_shown(self) -> float:
        """Contributions that round to nothing are not listed."""
        return LEAST_SHOWN if self.value is None else self.value.step / 2

    @property
    def has_reason(self) -> bool:
        """Whether something present speaks for the target; False if the baseline alone gives it.

        That is so where the baseline gives the target, and neither a place nor all nodes and pooled features
        together add `LEAST_REASON`.
        """
        found = self.contributions
        if found is None or self.value is not None or found.baseline <= self.threshold:
            return True
        places = [reason.weight for reason in self.supporting]
        return max([found.added + found.others, *places]) >= LEAST_REASON

    @property
    def node_scores(self) -> FloatArray:
        """How much each node adds to the probability of the target: they sum to what the programs add.

        For techniques without a baseline: the absolute weights of the listed programs that match the node.
        """
        if self.contributions is not None:
            return np.array(self.contributions.scores, dtype=np.float64)
        scores = np.zeros(self.graph.n_nodes)
        for reason in self.reasons:
            for place in reason.places:
                scores[list(place)] += abs(reason.weight)
        return scores

    # --- words, pictures and tables -----------------------------------------------------------------------

    @property
    def schema(self) -> Schema | None:
        """The names of the features and classes."""
        return self.graph.schema

    def class_name(self, label: Any) -> str:
        """Return the name of a class."""
        return (self.schema or Schema()).class_name(label)

    def describe(self) -> str:
        """Describe in a few lines the prediction and the reasons for and against it."""
        from gdlnn.explain.words import describe

        return describe(self)

    def draw(self, path: str | os.PathLike[str] | None = None, *, legend: bool = True) -> str:
        """Return the picture as SVG; with `path`, also write it there."""
        from gdlnn.drawing import write_text
        from gdlnn.explain.pictures import draw_explanation

        svg = draw_explanation(self, legend=legend)
        if path is not None:
            write_text(path, svg)
        return svg

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a standalone page with picture and reasons; with `path`, also write it there."""
        from gdlnn.drawing import write_text
        from gdlnn.explain.pictures import explanation_page

        page = explanation_page([self])
        if path is not None:
            write_text(path, page)
        return page

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each reason."""
        return Explanations([self]).to_frame()

    def _repr_html_(self) -> str:
        from gdlnn.explain.pictures import explanation_section

        return explanation_section(self)

    # --- JSON ---------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as plain JSON values, the graph included."""
        found = self.contributions
        return {
            "format": FORMAT,
            "version": VERSION,
            "prediction": plain(self.prediction),
            "target": plain(self.target),
            **(self._chances() if self.value is None else self.value._asdict()),
            **self.method._asdict(),
            "smiles": self.smiles,
            "domain": self.domain,
            "domain_reason": self.domain_reason,
            **(_WITHOUT_BASELINE if found is None else found.to_json()),
            "reasons": [reason.to_json(self.graph) for reason in self.reasons],
            "nodes": list(self.nodes),
            "edges": [list(edge) for edge in self.edges],
            "graph": graph_to_json(self.graph),
        }

    def _chances(self) -> dict[str, float]:
        """Return the probabilities, which only a classifier has."""
        return {
            "probability": self.probability,
            "target_probability": self.target_probability,
            "threshold": self.threshold,
        }

    def save(self, path: str | os.PathLike[str] | Path) -> None:
        """Write the JSON; the file appears when it is complete."""
        from gdlnn.drawing import write_text

        write_text(path, json.dumps(self.to_json(), indent=1) + "\n")

    # --- value --------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Explanation):
            return NotImplemented
        return self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        name = f" of {self.graph.name!r}" if self.graph.name is not None else ""
        what = f"{self.class_name(self.target)} ({self.target_probability:.1%})"
        if self.value is not None:
            what = f"{self.target} {self.value.text(self.prediction)} {self.value.unit}".rstrip()
        return (
            f"<Explanation{name}: {what}, "
            f"{len(self.reasons)} reasons, {len(self.nodes)} of {self.graph.n_nodes} nodes>"
        )


class Explanations(list[Explanation]):
    """The result of `explain` for several graphs: a list that can be converted to a DataFrame."""

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each reason of each explanation."""
        return data_frame(_columns(self))

    def _repr_html_(self) -> str:
        return html_table(_columns(self), f"Explanations of {len(self)} graphs")


def _columns(explanations: Iterable[Explanation]) -> Columns:
    """Return a row for each reason of each explanation, by column."""
    rows = [
        {
            "graph": one.graph.name or f"graph {number}",
            "prediction": plain(one.prediction),
            "probability": one.probability,
            "target": plain(one.target),
            "reason": reason.name or reason.program.describe(one.schema, directed=one.graph.directed),
            "weight": reason.weight,
            "nodes": reason.nodes,
        }
        for number, one in enumerate(explanations)
        for reason in one.reasons
    ]
    names = ("graph", "prediction", "probability", "target", "reason", "weight", "nodes")
    return {name: [row[name] for row in rows] for name in names}


def plain(label: Any) -> Any:
    """Return a label as a JSON value."""
    return label.item() if isinstance(label, np.generic) else label


def graph_to_json(graph: Graph) -> dict[str, Any]:
    """Return a graph as plain JSON values."""
    return {
        "name": graph.name,
        "directed": graph.directed,
        "node_features": json_rows(graph.node_features),
        "n_node_features": graph.node_features.shape[1],
        "edges": graph.edges.tolist(),
        "edge_features": json_rows(graph.edge_features),
        "n_edge_features": graph.edge_features.shape[1],
        "schema": None if graph.schema is None else graph.schema.to_json(),
    }
