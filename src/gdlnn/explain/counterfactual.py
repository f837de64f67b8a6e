"""Counterfactuals: the fewest nodes found whose removal changes the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import ExplanationError
from gdlnn.explain.explainer import Explainer, represented, with_schema
from gdlnn.explain.explanation import plain
from gdlnn.explain.places import growing_parts
from gdlnn.explain.words import named_parts
from gdlnn.graphs import Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import Graph
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation


@dataclass(frozen=True)
class Counterfactual:
    """Nodes whose removal changes the prediction.

    Attributes
    ----------
    graph
        The graph as the model represents it, with structure features where the model adds them.
    nodes
        The nodes to remove, sorted. With any one of them kept, the prediction is unchanged.
    prediction, probability
        The model's prediction for the whole graph.
    new_prediction, new_probability
        The prediction for the graph without the nodes.
    """

    graph: Graph
    nodes: tuple[int, ...]
    prediction: Any
    probability: float
    new_prediction: Any
    new_probability: float

    @property
    def rest(self) -> Graph:
        """The graph without the nodes; features are unchanged."""
        left = np.setdiff1d(np.arange(self.graph.n_nodes), np.array(self.nodes, dtype=np.int64))
        return self.graph.subgraph(left)

    @property
    def names(self) -> list[str]:
        """What the connected parts of the removed nodes are called, with their nodes."""
        return named_parts(self.graph, self.nodes)

    def describe(self) -> str:
        """Say what must be removed, and what the model then predicts."""
        name = (self.graph.schema or Schema()).class_name
        return (
            f"{name(self.prediction)} ({self.probability:.1%}); without {' and '.join(self.names)}: "
            f"{name(self.new_prediction)} ({self.new_probability:.1%})"
        )


def counterfactual(
    model: GDLNNClassifier, graph: Graph, *, max_nodes: int | None = None
) -> Counterfactual | None:
    """Find nodes whose removal changes the prediction.

    The places that speak for the class are removed, alone and together, then the nodes that add most. If no
    removal changes the prediction, the one that lowers the probability most is followed by others. Then nodes
    are put back, one at a time, while the prediction stays changed. The result is checked with the model:
    removing the set changes the prediction, and removing one node fewer does not.

    Parameters
    ----------
    model
        The classifier.
    graph
        The graph. Features of the whole graph are kept when nodes are removed.
    max_nodes
        Maximum number of nodes to remove before giving up; by default all.

    Returns
    -------
    The counterfactual, or None if none was found; some graphs have none, such as those that the
    model would classify alike without any node.
    """
    if max_nodes is not None and max_nodes < 1:
        raise ExplanationError(f"max_nodes: expected at least 1, got {max_nodes}")
    search = _Search(model, represented(model, graph))
    removed = search.descend(search.graph.n_nodes if max_nodes is None else max_nodes)
    return None if removed is None else search.result(search.minimize(removed))


class _Search:
    def __init__(self, model: GDLNNClassifier, whole: Representation) -> None:
        self.model = model
        self.whole = whole
        self.graph = with_schema(whole.graphs[0], model.schema_)
        self.position = int(whole.codes[0])

    def ask(self, removals: Sequence[frozenset[int]]) -> Representation:
        """Predict the graph without each set of nodes."""
        nodes = range(self.graph.n_nodes)
        graphs = [self.graph.subgraph([v for v in nodes if v not in removed]) for removed in removals]
        return self.model.represent(graphs)

    def flipped(self, asked: Representation) -> list[int]:
        """Return the rows whose prediction differs from that of the whole graph."""
        rows: list[int] = np.flatnonzero(asked.codes != self.position).tolist()
        return rows

    def descend(self, max_nodes: int) -> frozenset[int] | None:
        """Remove what supports the class until the prediction changes; None if it does not."""
        removed: frozenset[int] = frozenset()
        rest, explainer = self.whole, Explainer(self.model)
        while True:
            left = [v for v in range(self.graph.n_nodes) if v not in removed]
            _, (scored,) = explainer.attributed(rest, np.array([self.position]))
            parts = growing_parts(rest.graphs[0], scored.nodes)
            sets = [removed.union(left[v] for v in part) for part in parts]
            sets = [one for one in sets if len(one) <= max_nodes]
            if not sets:
                return None
            asked = self.ask(sets)
            if flipped := self.flipped(asked):
                return sets[flipped[0]]
            best = int(np.round(asked.probabilities[:, self.position], 9).argmin())
            removed, rest = sets[best], asked.take([best])

    def minimize(self, removed: frozenset[int]) -> frozenset[int]:
        """Put nodes back until every one of them is needed."""
        while len(removed) > 1:
            smaller = [removed - {node} for node in sorted(removed)]
            asked = self.ask(smaller)
            still = self.flipped(asked)
            if not still:
                return removed
            rows = asked.probabilities
            removed = smaller[min(still, key=lambda i: (rows[i, self.position], i))]
        return removed

    def result(self, removed: frozenset[int]) -> Counterfactual | None:
        """Return the counterfactual after asking about it alone; None if the prediction is unchanged.

        The last digits of a probability depend on what is predicted together, and may cross a threshold.
        """
        asked, classes = self.ask([removed]), self.model.classes_
        new = int(asked.codes[0])
        if new == self.position:
            return None
        return Counterfactual(
            graph=self.graph,
            nodes=tuple(sorted(removed)),
            prediction=plain(classes[self.position]),
            probability=float(self.whole.probabilities[0, self.position]),
            new_prediction=plain(classes[new]),
            new_probability=float(asked.probabilities[0, new]),
        )
