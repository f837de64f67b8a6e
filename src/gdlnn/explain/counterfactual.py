"""Few nodes that matter: those that alone get the class, and those whose removal changes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.explainer import Explainer, represented, with_schema
from gdlnn.explain.explanation import LEAST_REASON, plain
from gdlnn.explain.places import growing_parts
from gdlnn.explain.words import named_parts
from gdlnn.graphs import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.explain.explainer import Attributed
    from gdlnn.explain.node_scores import Scored
    from gdlnn.graphs import Graph
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation

FloatArray = npt.NDArray[np.float64]
Nodes = tuple[int, ...]


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
    whole = represented(model, graph)
    (scored,) = Explainer(model).attributed(whole, whole.codes).scored
    return changed_by_removal(model, whole, scored, max_nodes)


def changed_by_removal(
    model: GDLNNClassifier, whole: Representation, scored: Scored, max_nodes: int | None = None
) -> Counterfactual | None:
    """Find nodes of a represented graph whose removal changes the prediction, see `counterfactual`."""
    search = _Search(model, whole)
    removed = search.descend(scored, search.graph.n_nodes if max_nodes is None else max_nodes)
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

    def descend(self, scored: Scored, max_nodes: int) -> frozenset[int] | None:
        """Remove what supports the class until the prediction changes; None if it does not."""
        removed: frozenset[int] = frozenset()
        rest, explainer = self.whole, Explainer(self.model)
        while True:
            left = [v for v in range(self.graph.n_nodes) if v not in removed]
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
            (scored,) = explainer.attributed(rest, np.array([self.position])).scored

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


# --- what is enough ---------------------------------------------------------------------------------------


def moves(chance: float, whole: float, baseline: float, threshold: float = 0.5) -> bool:
    """Return whether a subgraph moves the prediction, if the baseline alone gives the class.

    In that case every subgraph gets the prediction of the whole graph. A sufficient one must also move the
    probability beyond the baseline by `LEAST_REASON`, and by half of what the whole graph does.

    Parameters
    ----------
    chance, whole, baseline
        The probability of the class for the part, for the whole graph, and without any program.
    threshold
        The probability above which the class is predicted.
    """
    return baseline <= threshold or chance - baseline >= max(LEAST_REASON, (whole - baseline) / 2)


def sufficient_nodes(model: GDLNNClassifier, attributed: Attributed) -> list[Nodes]:
    """Return the nodes of a small subgraph of each graph that alone gets its class; none where no part does.

    Parts are tried in the order of `growing_parts`: places, alone and together, then the nodes that add most.
    From the first one that is enough nodes are dropped, those that add least first, while it stays enough.

    Parameters
    ----------
    model
        The classifier, which is asked about every subgraph.
    attributed
        The graphs, the class of each, and what each of its nodes adds.
    """
    representation, targets = attributed.representation, attributed.targets
    baselines = attributed.attribution.baseline

    def enough(asked: Sequence[tuple[int, Nodes]]) -> Iterator[tuple[int, Nodes]]:
        """Yield the rows and parts of which alone the model predicts the class."""
        part = model.represent([representation.graphs[row].subgraph(sorted(nodes)) for row, nodes in asked])
        for i, (row, nodes) in enumerate(asked):
            target = int(targets[row])
            chance, whole = part.probabilities[i, target], representation.probabilities[row, target]
            limit = representation.threshold(target)
            if part.codes[i] == target and moves(chance, whole, baselines[row], limit):
                yield row, nodes

    scores = (own.nodes for own in attributed.scored)
    tried = map(growing_parts, representation.graphs, scores)
    found: dict[int, Nodes] = {}
    for row, part in enough([(row, part) for row, parts in enumerate(tried) for part in parts]):
        found.setdefault(row, part)
    queues = {row: nodes[::-1] for row, nodes in found.items()}  # what adds least comes first
    for step in range(max(map(len, queues.values()), default=0)):
        fewer = [
            (row, tuple(v for v in found[row] if v != queue[step]))
            for row, queue in queues.items()
            if step < len(queue) and len(found[row]) > 1
        ]
        found.update(enough(fewer))
    return [found.get(row, ()) for row in range(len(representation))]
