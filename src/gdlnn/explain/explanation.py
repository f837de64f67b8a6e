"""Explanation: the programs that decided, where they match in the graph, and how to show them.

`explainer` computes explanations, `words` describes them, `pictures` draws them.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError, GDLNNError
from gdlnn.gdl.program import Program
from gdlnn.graphs import Graph, Schema
from gdlnn.graphs.graph import NodeSubset
from gdlnn.io import bounded
from gdlnn.io.frames import Columns, data_frame, html_table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FloatArray = npt.NDArray[np.float64]
FORMAT = "gdlnn-explanation"
VERSION = 3
LEAST_REASON = 0.05
"""What must be added to a probability beyond a baseline that gives the prediction by itself."""


class Term(NamedTuple):
    """A program in an explanation.

    Attributes
    ----------
    program, column, label
        The program, its column in the GDL layer, and the class it was found for.
    weight
        How much it speaks for the target class, as it is: present or absent.
    places
        Where it is: the node of each of its variables; empty where it is absent.
    name, behind
        Of a place: what it is called, and programs behind it with what each adds there. The program of a
        place is the one that its nodes induce, and `weight` is what its nodes add to the probability.
    """

    program: Program
    weight: float
    places: tuple[tuple[int, ...], ...] = ()
    column: int = 0
    label: Any = None
    name: str = ""
    behind: tuple[Term, ...] = ()

    @property
    def witness(self) -> dict[str, int] | None:
        """Where it is, variable to node; None where it is absent."""
        return dict(zip(self.program.variables, self.places[0], strict=True)) if self.places else None

    def at(self, witness: Mapping[str, int] | None) -> Term:
        """Return the term with one place, variable to node, or with none."""
        if witness is None:
            return self._replace(places=())
        return self._replace(places=(tuple(int(witness[name]) for name in self.program.variables),))

    @property
    def side(self) -> str:
        """Whether it speaks "for" the target or "against" it."""
        return "for" if self.weight > 0 else "against"

    def to_json(self, graph: Graph) -> dict[str, Any]:
        """Return the term of a graph as plain JSON values."""
        return {
            "program": self.program.to_json(),
            "weight": self.weight,
            "matched": bool(self.places),
            "witness": self.witness,
            "index": self.column,
            "label": plain(self.label),
            "words": self.name or self.program.describe(graph.schema, directed=graph.directed),
            "name": self.name,
            "behind": [term.to_json(graph) for term in self.behind],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Term:
        """Build a term from what `to_json` gave."""
        program, column = Program.from_json(data["program"]), int(data["index"])
        found = cls(program, float(data["weight"]), (), column, data.get("label"), str(data.get("name", "")))
        found = found._replace(behind=tuple(map(Term.from_json, data.get("behind", ()))))
        found = found.at(data.get("witness"))
        if data.get("matched", False) is not bool(found.places):
            raise ValueError("a program that is matched without a witness, or the reverse")
        return found


class Method(NamedTuple):
    """How programs were weighed.

    Attributes
    ----------
    technique, options, seed
        The technique, its options and its seed.
    quality
        How well the weights describe the model nearby (R² for LIME), or None.
    """

    technique: str
    options: Mapping[str, Any] = {}
    seed: int = 0
    quality: float | None = None


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
    scores, edge_scores
        What present programs add, divided evenly over all places of each program in the graph and over the
        nodes, or edges, of each place.
    """

    baseline: float
    prior: float
    added: float
    pooled: tuple[tuple[str, float], ...]
    left: float
    scores: tuple[float, ...]
    edge_scores: tuple[float, ...]

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
            "edge_scores": list(self.edge_scores),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Contributions | None:
        """Build contributions from what `to_json` gave; None where there is no baseline."""
        if data["baseline_probability"] is None:
            return None
        return cls(
            baseline=float(data["baseline_probability"]),
            prior=float(data["prior"]),
            added=float(data["added"]),
            pooled=tuple((str(text), float(points)) for text, points in data["pooled"]),
            left=float(data["left"]),
            scores=tuple(map(float, data["node_scores"])),
            edge_scores=tuple(map(float, data["edge_scores"])),
        )


_WITHOUT_BASELINE: dict[str, Any] = dict.fromkeys(
    ("baseline_probability", "prior", "added", "pooled", "left", "node_scores", "edge_scores")
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
    terms
        The important programs, from the most to the least important. A program that does not match the
        graph may be important too: its absence supports the class (a positive weight) or counts against it.
    nodes
        The sorted nodes of the subgraph: no more than the matched programs need.
    method
        How programs were weighed.
    contributions
        What present programs add to a baseline; None for techniques without a baseline.
    complete
        False where a search ran out of steps, so that the subgraph may be larger than needed.
    threshold
        The probability of the target above which it is predicted.
    smiles
        How the molecule was written, for pictures with stereo and isotopes; None where unknown.
    """

    graph: Graph
    prediction: Any
    probability: float
    target: Any
    target_probability: float
    terms: tuple[Term, ...]
    nodes: tuple[int, ...]
    method: Method
    contributions: Contributions | None = None
    complete: bool = True
    threshold: float = 0.5
    smiles: str | None = None

    # --- for and against ------------------------------------------------------------------------------------

    @property
    def supporting(self) -> tuple[Term, ...]:
        """The terms that are present and speak for the target, strongest first."""
        return tuple(term for term in self.terms if term.places and term.weight > 0)

    @property
    def opposing(self) -> tuple[Term, ...]:
        """The terms that are present and speak against the target, strongest first."""
        return tuple(term for term in self.terms if term.places and term.weight < 0)

    @property
    def listed(self) -> tuple[Term, ...]:
        """The terms as texts, pages and pictures list and number them: present ones, for the target first.

        Without a baseline these are all terms in their order.
        """
        if self.contributions is None:
            return tuple(term for term in self.terms if term.weight)
        return (*self.supporting, *self.opposing)

    @property
    def has_reason(self) -> bool:
        """Whether something present speaks for the target; False if the baseline alone gives it.

        That is so where the baseline gives the target, and neither a place nor all nodes and pooled features
        together add `LEAST_REASON`.
        """
        found = self.contributions
        if found is None or found.baseline <= self.threshold:
            return True
        places = [term.weight for term in self.supporting]
        return max([found.added + found.others, *places]) >= LEAST_REASON

    @property
    def node_scores(self) -> FloatArray:
        """How much each node adds to the probability of the target: they sum to what the programs add.

        For techniques without a baseline: the absolute weights of the listed programs that match the node.
        """
        if self.contributions is not None:
            return np.array(self.contributions.scores, dtype=np.float64)
        scores = np.zeros(self.graph.n_nodes)
        for term in self.terms:
            for place in term.places:
                scores[list(place)] += abs(term.weight)
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
        """Describe in a few lines the prediction and the programs for and against it."""
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
        """Return a standalone page with picture, programs and weights; with `path`, also write it there."""
        from gdlnn.drawing import write_text
        from gdlnn.explain.pictures import explanation_page

        page = explanation_page([self])
        if path is not None:
            write_text(path, page)
        return page

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each program."""
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
            "probability": self.probability,
            "target": plain(self.target),
            "target_probability": self.target_probability,
            **self.method._asdict(),
            "complete": self.complete,
            "threshold": self.threshold,
            "smiles": self.smiles,
            **(_WITHOUT_BASELINE if found is None else found.to_json()),
            "programs": [term.to_json(self.graph) for term in self.terms],
            "nodes": list(self.nodes),
            "edges": [list(edge) for edge in self.edges],
            "graph": graph_to_json(self.graph),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | str | bytes) -> Explanation:
        """Build an explanation from what `to_json` gave, or from its text."""
        try:
            values = bounded.loads(data) if isinstance(data, str | bytes) else data
            if not isinstance(values, dict) or values.get("format") != FORMAT:
                raise ExplanationError(f"explanation in JSON: expected an object of the format {FORMAT!r}")
            if values.get("version") != VERSION:
                got = values.get("version")
                raise ExplanationError(f"explanation in JSON: expected version {VERSION}, got {got!r}")
            found = cls._from_values(values)
            _check_values(found)
        except GDLNNError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise ExplanationError(f"explanation in JSON: expected what to_json gives, got {what}") from error
        return found

    @classmethod
    def _from_values(cls, values: Mapping[str, Any]) -> Explanation:
        quality, smiles = values["quality"], values["smiles"]
        return cls(
            graph=graph_from_json(values["graph"]),
            prediction=values["prediction"],
            probability=float(values["probability"]),
            target=values["target"],
            target_probability=float(values["target_probability"]),
            terms=tuple(map(Term.from_json, values["programs"])),
            nodes=tuple(int(node) for node in values["nodes"]),
            method=Method(
                str(values["technique"]),
                dict(values["options"]),
                int(values["seed"]),
                None if quality is None else float(quality),
            ),
            contributions=Contributions.from_json(values),
            complete=values["complete"],
            threshold=float(values["threshold"]),
            smiles=None if smiles is None else str(smiles),
        )

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
        return (
            f"<Explanation{name}: {self.class_name(self.target)} ({self.target_probability:.1%}), "
            f"{sum(bool(term.places) for term in self.terms)} of {len(self.terms)} important programs "
            f"present, {len(self.nodes)} of {self.graph.n_nodes} nodes>"
        )


def _check_values(found: Explanation) -> None:
    """Refuse values that no explanation can have: a file is untrusted."""
    for share in (found.probability, found.target_probability):
        if not 0 <= share <= 1 + 1e-9:
            raise ValueError(f"{share} for a probability")
    added, graph = found.contributions, found.graph
    numbers = [term.weight for term in found.terms]
    if added is not None:
        numbers += [added.baseline, added.prior, added.added, added.others, added.left]
        for part, n_rows in ((added.scores, graph.n_nodes), (added.edge_scores, graph.n_edges)):
            numbers += part
            if len(part) != n_rows:
                raise ValueError(f"{len(part)} scores in place of {n_rows}")
    if not all(map(math.isfinite, numbers)):
        raise ValueError("a weight or score that is not finite")
    if not isinstance(found.complete, bool):
        raise TypeError("other values than true and false")
    nodes = {*found.nodes, *(node for term in found.terms for place in term.places for node in place)}
    if not all(0 <= node < graph.n_nodes for node in nodes):
        raise ValueError(f"other nodes than 0 to {graph.n_nodes - 1}")


class Explanations(list[Explanation]):
    """The result of `explain` for several graphs: a list that can be converted to a DataFrame."""

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each program of each explanation."""
        return data_frame(_columns(self))

    def _repr_html_(self) -> str:
        return html_table(_columns(self), f"Explanations of {len(self)} graphs")


def _columns(explanations: Iterable[Explanation]) -> Columns:
    """Return a row for each program of each explanation, by column."""
    names = [
        "graph",
        "prediction",
        "probability",
        "target",
        "program",
        "weight",
        "matched",
        "nodes",
        "column",
    ]
    columns: Columns = {name: [] for name in names}
    for number, one in enumerate(explanations):
        for term in one.terms:
            cells = (
                *(one.graph.name or f"graph {number}", plain(one.prediction), one.probability),
                *(plain(one.target), term.program.describe(one.schema, directed=one.graph.directed)),
                *(term.weight, bool(term.places), term.places[0] if term.places else None, term.column),
            )
            for name, cell in zip(names, cells, strict=True):
                columns[name].append(cell)
    return columns


def log_odds(chance: float) -> float:
    """Return the log odds of a probability; those of 0 and 1 are finite."""
    kept = min(max(chance, 1e-12), 1 - 1e-12)
    return math.log(kept) - math.log1p(-kept)


def plain(label: Any) -> Any:
    """Return a label as a JSON value."""
    return label.item() if isinstance(label, np.generic) else label


def graph_to_json(graph: Graph) -> dict[str, Any]:
    """Return a graph as plain JSON values."""
    return {
        "name": graph.name,
        "directed": graph.directed,
        "node_features": graph.node_features.tolist(),
        "n_node_features": graph.node_features.shape[1],
        "edges": graph.edges.tolist(),
        "edge_features": graph.edge_features.tolist(),
        "n_edge_features": graph.edge_features.shape[1],
        "schema": None if graph.schema is None else graph.schema.to_json(),
    }


def graph_from_json(data: Mapping[str, Any]) -> Graph:
    """Build a graph from what `graph_to_json` gave."""
    return Graph(
        np.array(data["node_features"], dtype=np.float64).reshape(-1, data["n_node_features"])
        if data["n_node_features"]
        else np.zeros((len(data["node_features"]), 0)),
        np.array(data["edges"], dtype=np.int64).reshape(-1, 2),
        np.array(data["edge_features"], dtype=np.float64).reshape(
            len(data["edges"]), data["n_edge_features"]
        ),
        directed=data["directed"],
        schema=None if data["schema"] is None else Schema.from_json(data["schema"]),
        name=data["name"],
    )
