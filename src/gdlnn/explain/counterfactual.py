"""Counterfactuals: the fewest nodes found whose removal changes the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.explainer import represented
from gdlnn.explain.explanation import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import Graph
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation

FloatArray = npt.NDArray[np.float64]
_PROGRAMS = 10  # programs whose witnesses are searched in one step
_MAX_CANDIDATES = 40  # nodes tried in one step


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


def counterfactual(
    model: GDLNNClassifier, graph: Graph, *, max_nodes: int | None = None
) -> Counterfactual | None:
    """Find nodes whose removal changes the prediction.

    Step by step, the node is removed that lowers the probability of the predicted class most, among the nodes
    of the programs that support it most; any node if there are none. Then nodes are put back, one at a time,
    while the prediction stays changed. The result is checked with the model: removing the set changes the
    prediction, and removing one node fewer does not.

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
        self.graph = whole.graphs[0]
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
        removed: frozenset[int] = frozenset()
        features = self.whole.features[0]
        while len(removed) < max_nodes:
            candidates = self._candidates(removed, features)
            if not candidates:
                return None
            sets = [removed | {node} for node in candidates]
            asked = self.ask(sets)
            rows = asked.probabilities
            if flipped := self.flipped(asked):
                return sets[min(flipped, key=lambda i: (rows[i, self.position], candidates[i]))]
            best = min(range(len(sets)), key=lambda i: (rows[i, self.position], candidates[i]))
            removed, features = sets[best], asked.features[best]
        return None

    def _candidates(self, removed: frozenset[int], row: FloatArray) -> list[int]:
        """Return the nodes of the programs that support the class, or all nodes if there are none."""
        left = [v for v in range(self.graph.n_nodes) if v not in removed]
        rest = self.graph.subgraph(left)
        nodes: set[int] = set()
        for column in self._speakers(row):
            witness = self.model.programs_[column].program.find(rest)
            nodes |= {left[v] for v in (witness or {}).values()}
            if len(nodes) >= _MAX_CANDIDATES:
                break
        return sorted(nodes) or left

    def _speakers(self, row: FloatArray) -> list[int]:
        """Return the matched programs without which the class would be least likely."""
        matched = np.flatnonzero(row[: len(self.model.programs_)] > 0)
        if not len(matched):
            return []
        without = np.repeat(row[None], len(matched), axis=0)
        without[np.arange(len(matched)), matched] = 0
        cost = self.model.head_outputs(row[None])[0, self.position]
        gains = cost - self.model.head_outputs(without)[:, self.position]
        order = np.argsort(-gains, kind="stable")[:_PROGRAMS]
        return [int(matched[i]) for i in order if gains[i] > 0]

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
