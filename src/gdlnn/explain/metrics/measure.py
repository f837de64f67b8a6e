"""measure(): all metrics of a model's explanations of labelled graphs, in one go."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from gdlnn.explain.metrics.checks import same_length
from gdlnn.explain.metrics.faithfulness import (
    characterization,
    fidelity_minus,
    fidelity_plus,
    unfaithfulness,
)
from gdlnn.explain.metrics.ground_truth import Overlap, overlap
from gdlnn.explain.metrics.paper import fidelity, sparsity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn.explain.explanation import Explanation
    from gdlnn.graphs import Graph, GraphDataset

FloatArray = npt.NDArray[np.float64]


class Predictor(Protocol):
    """Whatever classifies graphs; `predict_proba` may be missing."""

    def predict(self, graphs: Any, /) -> npt.NDArray[Any]:
        """Return a label per graph."""
        ...


@dataclass(frozen=True)
class Measures:
    """The metrics of some explanations; `docs/explanations.md` has the formulas.

    Those over the truth are None where the data has none, `unfaithfulness` where the model gives no
    probabilities.
    """

    n_graphs: int
    accuracy: float
    sparsity: float
    fidelity: float
    fidelity_plus: float
    fidelity_minus: float
    fidelity_plus_phenomenon: float
    fidelity_minus_phenomenon: float
    characterization: float
    unfaithfulness: float | None
    empty: float
    seconds_per_graph: float | None
    nodes: Overlap | None
    edges: Overlap | None

    def to_json(self) -> dict[str, Any]:
        """Return the metrics as plain JSON values."""
        values = asdict(self)
        for name, found in (("nodes", self.nodes), ("edges", self.edges)):
            values[name] = None if found is None else found._asdict()
        return values


def measure(
    model: Predictor,
    explanations: Sequence[Explanation],
    y: npt.ArrayLike,
    *,
    node_masks: Sequence[Any] | None = None,
    edge_masks: Sequence[Any] | None = None,
    seconds: float | None = None,
) -> Measures:
    """Measure explanations of labelled graphs.

    Subgraphs and rests are induced subgraphs with features as they were, given to the model anew.

    Parameters
    ----------
    model
        The model that is explained.
    explanations
        One explanation per graph.
    y
        The labels.
    node_masks, edge_masks
        The truth per graph, where it is known.
    seconds
        How long explaining took.
    """
    truth = np.asarray(y)
    same_length("measure", explanations=explanations, y=truth)
    graphs = [e.graph for e in explanations]
    parts = [e.subgraph for e in explanations]
    rests = [e.graph.subgraph(np.flatnonzero(~e.node_mask)) for e in explanations]
    whole, part, rest = (np.asarray(model.predict(some)) for some in (graphs, parts, rests))
    plus, minus = fidelity_plus(whole, rest), fidelity_minus(whole, part)
    scores = [e.node_scores for e in explanations]
    return Measures(
        n_graphs=len(truth),
        accuracy=float(np.mean(whole == truth)),
        sparsity=sparsity([len(e.nodes) for e in explanations], [g.n_nodes for g in graphs]),
        fidelity=fidelity(truth, whole, part),
        fidelity_plus=plus,
        fidelity_minus=minus,
        fidelity_plus_phenomenon=fidelity_plus(whole, rest, truth),
        fidelity_minus_phenomenon=fidelity_minus(whole, part, truth),
        characterization=characterization(plus, minus),
        unfaithfulness=_unfaithfulness(model, graphs, parts),
        empty=float(np.mean([e.is_empty for e in explanations])),
        seconds_per_graph=None if seconds is None else seconds / len(truth),
        nodes=_overlap([e.node_mask for e in explanations], node_masks, scores),
        edges=_overlap([e.edge_mask for e in explanations], edge_masks, None),
    )


def measure_model(
    model: Any, dataset: GraphDataset, explain: Callable[[Any, list[Graph]], list[Explanation]]
) -> Measures:
    """Explain the graphs of a data set with `explain(model, graphs)`, take the time, and measure."""
    start = time.perf_counter()
    explanations = explain(model, dataset.graphs)
    seconds = time.perf_counter() - start
    assert dataset.y is not None
    return measure(
        model,
        explanations,
        dataset.y,
        node_masks=dataset.node_masks,
        edge_masks=dataset.edge_masks,
        seconds=seconds,
    )


def _unfaithfulness(model: Predictor, graphs: list[Graph], parts: list[Graph]) -> float | None:
    predict_proba = getattr(model, "predict_proba", None)
    if predict_proba is None:
        return None
    return unfaithfulness(predict_proba(graphs), predict_proba(parts))


def _overlap(
    masks: list[npt.NDArray[np.bool_]], truths: Sequence[Any] | None, scores: list[FloatArray] | None
) -> Overlap | None:
    if truths is None or not any(truth is not None and np.any(truth) for truth in truths):
        return None
    return overlap(masks, truths, scores)
