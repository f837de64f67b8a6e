"""The methods whose explanations are compared with a known truth: models, and ways to explain them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gdlnn.model import GDLNNClassifier
from repro.baselines import GINClassifier, GNNExplainer, NodeIntegratedGradients, SubgraphX
from repro.methods import GNN_QUICK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn.graphs import Graph, GraphDataset

NETWORK_GRAPHS, SUBGRAPHX_GRAPHS = 40, 5
"""Graphs of each rule that explainers of GIN explain; SubgraphX takes ten seconds for each."""
GIN_EPOCHS, GIN_PATIENCE = 100, 30


class Effort(NamedTuple):
    """How much is done: seed, threads, and whether it is a quick run, whose figures mean little."""

    seed: int = 0
    n_jobs: int = 1
    quick: bool = False


class Found(NamedTuple):
    """Explanations of graphs: the nodes given, scores of all nodes, and nodes at the size of the truth.

    Without `at_size` the nodes with the largest scores are taken.
    """

    masks: list[Any]
    scores: list[Any]
    at_size: list[Any] | None = None


class TruthMethod(NamedTuple):
    """A way to explain.

    Attributes
    ----------
    title
        The name in tables.
    model
        Which model it explains, a name in `MODELS`; None for one that needs none.
    explain
        From the model, graphs, the sizes of their truths and the effort to explanations.
    most
        Most graphs that it explains, or None.
    """

    title: str
    model: str | None
    explain: Callable[[Any, Sequence[Graph], Sequence[int], Effort], Found]
    most: int | None = None


# --- models -----------------------------------------------------------------------------------------------


def _gdlnn(head: str) -> Callable[[GraphDataset, GraphDataset, Effort], Any]:
    def fit(train: GraphDataset, val: GraphDataset, effort: Effort) -> Any:
        model = GDLNNClassifier(head=head, seed=effort.seed, n_jobs=effort.n_jobs, progress=False)
        return model.fit(train, validation=val)

    return fit


def _gin(train: GraphDataset, val: GraphDataset, effort: Effort) -> Any:
    epochs = 10 if effort.quick else GIN_EPOCHS
    model = GINClassifier(**GNN_QUICK, epochs=epochs, patience=GIN_PATIENCE, seed=effort.seed, device="cpu")
    return model.fit(train, validation=val)


MODELS: dict[str, Callable[[GraphDataset, GraphDataset, Effort], Any]] = {
    "gdlnn": _gdlnn("mlp"),
    "gdlnn-linear": _gdlnn("linear"),
    "gdlnn-scorecard": _gdlnn("scorecard"),
    "gin": _gin,
}


# --- explanations -----------------------------------------------------------------------------------------


def _programs(model: Any, graphs: Sequence[Graph], _sizes: Sequence[int], effort: Effort) -> Found:
    found = model.explain(list(graphs), seed=effort.seed)
    return Found([e.node_mask for e in found], [e.node_scores for e in found])


def _network(maker: Callable[[Any, Effort], Any]) -> Callable[..., Found]:
    def explain(model: Any, graphs: Sequence[Graph], sizes: Sequence[int], effort: Effort) -> Found:
        explainer = maker(model, effort)
        found = [explainer.explain(graph, size) for graph, size in zip(graphs, sizes, strict=True)]
        masks = [e.node_mask for e in found]
        return Found(masks, [e.node_scores for e in found], masks)

    return explain


def _subgraphx(model: Any, effort: Effort) -> SubgraphX:
    less: dict[str, Any] = {"n_rollouts": 2, "n_samples": 5} if effort.quick else {}
    return SubgraphX(model, seed=effort.seed, min_nodes=3, **less)


def _random(_model: Any, graphs: Sequence[Graph], sizes: Sequence[int], effort: Effort) -> Found:
    rng = np.random.default_rng(effort.seed)
    scores = [rng.random(graph.n_nodes) for graph in graphs]
    masks = [np.argsort(np.argsort(-some)) < size for some, size in zip(scores, sizes, strict=True)]
    return Found(masks, scores)


def heteroatoms(graph: Graph) -> Any:
    """Return which atoms are neither carbon nor hydrogen."""
    assert graph.schema is not None
    names = [graph.schema.node[0].value_name(value) for value in graph.node_features[:, 0].tolist()]
    return np.array([name not in ("C", "H") for name in names])


def _heteroatoms(_model: Any, graphs: Sequence[Graph], _sizes: Sequence[int], _effort: Effort) -> Found:
    masks = [heteroatoms(graph) for graph in graphs]
    return Found(masks, [mask.astype(float) for mask in masks])


METHODS: dict[str, TruthMethod] = {
    "gdlnn": TruthMethod("GDLNN", "gdlnn", _programs),
    "gdlnn-linear": TruthMethod("GDLNN, linear head", "gdlnn-linear", _programs),
    "gdlnn-scorecard": TruthMethod("GDLNN, scorecard", "gdlnn-scorecard", _programs),
    "gradients": TruthMethod(
        "GIN + integrated gradients",
        "gin",
        _network(lambda model, _: NodeIntegratedGradients(model)),
        NETWORK_GRAPHS,
    ),
    "gnnexplainer": TruthMethod(
        "GIN + GNNExplainer",
        "gin",
        _network(lambda model, effort: GNNExplainer(model, seed=effort.seed)),
        NETWORK_GRAPHS,
    ),
    "subgraphx": TruthMethod("GIN + SubgraphX", "gin", _network(_subgraphx), SUBGRAPHX_GRAPHS),
    "random": TruthMethod("random nodes", None, _random),
    "heteroatoms": TruthMethod("all heteroatoms", None, _heteroatoms),
}
"""All methods by name, in the order of the tables."""
DEFAULT = ("gdlnn", "gradients", "gnnexplainer", "subgraphx", "random", "heteroatoms")
