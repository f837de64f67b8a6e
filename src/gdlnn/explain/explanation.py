"""Explanation: the programs that decided, where they match in the graph, and how to show them.

`techniques` computes the weights of programs, `telling` words them, `pictures` draws them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError, GDLNNError
from gdlnn.gdl.program import Program
from gdlnn.graphs import Graph, Schema
from gdlnn.graphs.graph import NodeSubset
from gdlnn.io import bounded

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from gdlnn.explain.telling import Told

FloatArray = npt.NDArray[np.float64]
FORMAT = "gdlnn-explanation"
VERSION = 2
LEAST_REASON = 0.5
"""Log odds that present programs must add beyond a baseline that gives the prediction by itself."""


class Reason(NamedTuple):
    """A present program that is listed.

    Attributes
    ----------
    program, column
        The program, and its column in the GDL layer.
    contribution
        What it adds by itself to the log odds of the target.
    place
        What the nodes of its witness add, in all programs that are there: a reason that several programs
        share is larger than the contribution of any of them.
    witness
        Where it is, variable to node.
    """

    program: Program
    contribution: float
    column: int
    witness: dict[str, int]
    place: float


class Absent(NamedTuple):
    """An absent program, and what its absence adds to the log odds, compared with an average graph."""

    program: Program
    contribution: float
    column: int


@dataclass(frozen=True, eq=False)
class Explanation(NodeSubset):
    """Why a model predicted a class for one graph.

    Programs are sorted from the most to the least important; `weights`, `matched`, `witnesses`, `indices` and
    `labels` are in the same order. A program that does not match the graph may be important too: its absence
    supports the class (a positive weight) or counts against it.

    Attributes
    ----------
    graph
        The graph.
    prediction, probability
        The class the model predicts, and its probability.
    target, target_probability
        The class that is explained (by default the predicted one), and its probability.
    programs
        The important programs.
    weights
        How much each speaks for the target class, as it is: matched or absent.
    matched
        Whether each matches the graph.
    witnesses
        Where each is in the subgraph, variable to node of the graph; None where it does not match.
    indices, labels
        The columns of the GDL layer, and the labels the programs were mined for.
    nodes
        The sorted nodes of the subgraph: no more than the matched programs need.
    edges
        The edges of the graph among them, as pairs of nodes.
    technique, options, seed
        How programs were weighed.
    quality
        How well the weights describe the model nearby (R² for LIME), or None.
    complete
        False where a search ran out of steps, so that the subgraph may be larger than needed.
    baseline_probability
        The probability of the target where no program is present; None for techniques without a baseline.
    prior
        The share of training graphs that are of the target class, or None.
    added
        What all present programs together add to the log odds of the target, or None.
    others
        What pooled features add to them.
    scores, edge_scores
        What present programs add, divided evenly over all places of each program in the graph and over the
        nodes, or edges, of each place; None for techniques without a baseline.
    absent
        Programs whose absence weighs at least as much as any present program, compared with an average
        graph. They are not included in what present programs add.
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
    programs: tuple[Program, ...]
    weights: tuple[float, ...]
    matched: tuple[bool, ...]
    witnesses: tuple[dict[str, int] | None, ...]
    indices: tuple[int, ...]
    labels: tuple[Any, ...]
    nodes: tuple[int, ...]
    technique: str
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    quality: float | None = None
    complete: bool = True
    baseline_probability: float | None = None
    prior: float | None = None
    added: float | None = None
    others: float = 0.0
    scores: tuple[float, ...] | None = None
    edge_scores: tuple[float, ...] | None = None
    absent: tuple[Absent, ...] = ()
    threshold: float = 0.5
    smiles: str | None = None

    # --- for and against ------------------------------------------------------------------------------------

    @property
    def supporting(self) -> tuple[Reason, ...]:
        """The listed programs that are present and speak for the target, strongest first."""
        return tuple(reason for reason in self._present() if reason.contribution > 0)

    @property
    def opposing(self) -> tuple[Reason, ...]:
        """The listed programs that are present and speak against the target, strongest first."""
        return tuple(reason for reason in self._present() if reason.contribution < 0)

    def _present(self) -> list[Reason]:
        places = self.places
        return [
            Reason(self.programs[i], weight, self.indices[i], self.witnesses[i] or {}, place)
            for i, (weight, known) in enumerate(zip(self.weights, places, strict=True))
            if self.matched[i]
            for place in (weight if known is None else known,)
        ]

    @property
    def places(self) -> tuple[float | None, ...]:
        """What the nodes of each program's witness add together; None without scores of nodes."""
        scores = self.scores
        if scores is None:
            return (None,) * len(self.programs)
        return tuple(
            sum(scores[node] for node in set((witness or {}).values())) for witness in self.witnesses
        )

    @property
    def has_reason(self) -> bool:
        """Whether a present program speaks strongly for the target; False if the baseline alone gives it.

        That is so where the baseline gives the target, no listed program lies where the nodes add
        `LEAST_REASON`, and neither pooled features nor all programs together add as much.
        """
        if self.baseline_probability is None or self.added is None:
            return True
        if self.baseline_probability <= self.threshold:
            return True
        places = [reason.place for reason in self._present() if reason.contribution > 0]
        return max([self.others, self.added + self.others, *places]) >= LEAST_REASON

    def without_reason(self) -> Explanation:
        """Return the same explanation, with nothing highlighted if no present program is a reason."""
        return self if self.has_reason else replace(self, nodes=())

    # --- the subgraph -------------------------------------------------------------------------------------

    @property
    def node_scores(self) -> FloatArray:
        """How much each node adds to the log odds of the target: they sum to what the programs add.

        For techniques without a baseline: the absolute weights of the listed programs that match the node.
        """
        if self.scores is not None:
            return np.array(self.scores, dtype=np.float64)
        scores = np.zeros(self.graph.n_nodes)
        for weight, witness in zip(self.weights, self.witnesses, strict=True):
            if witness:
                scores[list(witness.values())] += abs(weight)
        return scores

    @cached_property
    def told(self) -> tuple[Told, ...]:
        """The programs as texts, pages and pictures tell them, numbered from 1 without gaps."""
        from gdlnn.explain.telling import told_programs

        return told_programs(self)

    # --- in words -----------------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema | None:
        """The names of the features and classes."""
        return self.graph.schema

    def class_name(self, label: Any) -> str:
        """Return the name of a class."""
        return (self.schema or Schema()).class_name(label)

    def describe(self) -> str:
        """Describe in a few lines the prediction and the programs for and against it."""
        from gdlnn.explain.telling import describe

        return describe(self)

    @property
    def missed(self) -> float | None:
        """The error of the sum of contributions, in log odds; None if below 1 % of their change.

        Integrated gradients are sums over points of a path, and more points make them more exact.
        """
        if self.baseline_probability is None or self.added is None:
            return None
        change = log_odds(self.target_probability) - log_odds(self.baseline_probability)
        missed = change - (self.added + self.others)
        return missed if abs(missed) > max(0.01 * abs(change), 0.005) else None

    def baseline_line(self) -> str:
        """Say what the model predicts without any pattern, and whether a pattern is the reason."""
        assert self.baseline_probability is not None
        start = f"Without any pattern the model says {self.baseline_probability:.0%}"
        prior = (
            "" if self.prior is None else f", and {self.prior:.0%} of the training graphs are of this class"
        )
        if self.has_reason:
            return f"{start}{prior}."
        return f"No pattern speaks strongly for it: {start[0].lower()}{start[1:]}{prior}."

    def subgraph_line(self) -> str:
        """Say how large the subgraph is, or why there is none."""
        if self.baseline_probability is not None and not self.nodes:
            return "Nothing is highlighted: no listed program speaks strongly for the class."
        if not self.programs:
            return "No program matters here, so there is no subgraph."
        if not any(self.matched):
            return "None of the important programs matches, so there is no subgraph: absence decided."
        nodes = ", ".join(map(str, self.nodes))
        more = "" if self.complete else " (it may be larger than needed: a search ran out of steps)"
        return f"Subgraph: {len(self.nodes)} of {self.graph.n_nodes} nodes ({nodes}){more}."

    # --- pictures -----------------------------------------------------------------------------------------

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
        from gdlnn.explain.explanations import Explanations

        return Explanations([self]).to_frame()

    def _repr_html_(self) -> str:
        from gdlnn.explain.pictures import explanation_section

        return explanation_section(self)

    # --- JSON ---------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as plain JSON values, the graph included."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "prediction": plain(self.prediction),
            "probability": self.probability,
            "target": plain(self.target),
            "target_probability": self.target_probability,
            "technique": self.technique,
            "options": dict(self.options),
            "seed": self.seed,
            "quality": self.quality,
            "complete": self.complete,
            "baseline_probability": self.baseline_probability,
            "prior": self.prior,
            "added": self.added,
            "others": self.others,
            "threshold": self.threshold,
            "smiles": self.smiles,
            "node_scores": None if self.scores is None else list(self.scores),
            "edge_scores": None if self.edge_scores is None else list(self.edge_scores),
            "programs": [
                {
                    "program": program.to_json(),
                    "weight": self.weights[i],
                    "matched": self.matched[i],
                    "witness": self.witnesses[i],
                    "index": self.indices[i],
                    "label": plain(self.labels[i]),
                    "words": program.describe(self.schema, directed=self.graph.directed),
                }
                for i, program in enumerate(self.programs)
            ],
            "absent": [
                {
                    "program": item.program.to_json(),
                    "weight": item.contribution,
                    "index": item.column,
                    "words": item.program.describe(self.schema, directed=self.graph.directed),
                }
                for item in self.absent
            ],
            "nodes": list(self.nodes),
            "edges": [list(edge) for edge in self.edges],
            "graph": graph_to_json(self.graph),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | str | bytes) -> Explanation:
        """Build an explanation from what `to_json` gave, or from its text."""
        try:
            values = bounded.loads(data) if isinstance(data, str | bytes) else data
            if not isinstance(values, Mapping) or values.get("format") != FORMAT:
                raise ExplanationError(f"explanation in JSON: expected an object of the format {FORMAT!r}")
            if values.get("version") != VERSION:
                got = values.get("version")
                raise ExplanationError(f"explanation in JSON: expected version {VERSION}, got {got!r}")
            found = cls._from_values(values)
            _check_values(found, values)
        except GDLNNError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise ExplanationError(f"explanation in JSON: expected what to_json gives, got {what}") from error
        return found

    @classmethod
    def _from_values(cls, values: Mapping[str, Any]) -> Explanation:
        items = values["programs"]
        return cls(
            graph=graph_from_json(values["graph"]),
            prediction=values["prediction"],
            probability=float(values["probability"]),
            target=values["target"],
            target_probability=float(values["target_probability"]),
            programs=tuple(Program.from_json(item["program"]) for item in items),
            weights=tuple(float(item["weight"]) for item in items),
            matched=tuple(bool(item["matched"]) for item in items),
            witnesses=tuple(None if item["witness"] is None else dict(item["witness"]) for item in items),
            indices=tuple(int(item["index"]) for item in items),
            labels=tuple(item["label"] for item in items),
            nodes=tuple(int(node) for node in values["nodes"]),
            technique=str(values["technique"]),
            options=dict(values["options"]),
            seed=int(values["seed"]),
            quality=None if values["quality"] is None else float(values["quality"]),
            complete=bool(values["complete"]),
            baseline_probability=_optional(values["baseline_probability"]),
            prior=_optional(values["prior"]),
            added=_optional(values["added"]),
            others=float(values["others"]),
            threshold=float(values["threshold"]),
            smiles=None if values["smiles"] is None else str(values["smiles"]),
            scores=_numbers(values["node_scores"]),
            edge_scores=_numbers(values["edge_scores"]),
            absent=tuple(
                Absent(Program.from_json(item["program"]), float(item["weight"]), int(item["index"]))
                for item in values["absent"]
            ),
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
            f"{sum(self.matched)} of {len(self.programs)} important programs present, "
            f"{len(self.nodes)} of {self.graph.n_nodes} nodes>"
        )


def _check_values(found: Explanation, values: Mapping[str, Any]) -> None:
    """Refuse values that no explanation can have: a file is untrusted."""
    for share in (found.probability, found.target_probability):
        if not 0 <= share <= 1 + 1e-9:
            raise ValueError(f"{share} for a probability")
    numbers = (*found.weights, found.others, *(found.scores or ()), *(found.edge_scores or ()))
    numbers += tuple(item.contribution for item in found.absent)
    if not all(map(math.isfinite, numbers)):
        raise ValueError("a weight or score that is not finite")
    told = [values["complete"], *(item["matched"] for item in values["programs"])]
    if not all(isinstance(value, bool) for value in told):
        raise TypeError("other values than true and false")
    n_nodes = found.graph.n_nodes
    if not all(0 <= node < n_nodes for node in found.nodes):
        raise ValueError(f"other nodes than 0 to {n_nodes - 1}")
    for part, n_rows in ((found.scores, n_nodes), (found.edge_scores, found.graph.n_edges)):
        if part is not None and len(part) != n_rows:
            raise ValueError(f"{len(part)} scores in place of {n_rows}")


def log_odds(chance: float) -> float:
    """Return the log odds of a probability; those of 0 and 1 are finite."""
    kept = min(max(chance, 1e-12), 1 - 1e-12)
    return math.log(kept) - math.log1p(-kept)


def _optional(value: Any) -> float | None:
    return None if value is None else float(value)


def _numbers(values: Any) -> tuple[float, ...] | None:
    return None if values is None else tuple(float(value) for value in values)


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
