"""The methods whose explanations are compared with a known truth: models, and ways to explain them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from repro.baselines.node_explainers import GNNExplainer, NodeIntegratedGradients
from repro.baselines.subgraphx import SubgraphX
from repro.methods import find_method

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn.graphs import Graph, GraphDataset

NETWORK_GRAPHS, SUBGRAPHX_GRAPHS = 40, 5
"""Graphs of each rule that explainers of GIN explain; SubgraphX takes ten seconds for each."""
GIN_EPOCHS, GIN_PATIENCE = 100, 30


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
        The method whose model it explains; None for one that needs none.
    explain
        From the model, graphs, the sizes of their truths and a seed to explanations.
    most
        Most graphs that it explains, or None.
    """

    title: str
    model: str | None
    explain: Callable[[Any, Sequence[Graph], Sequence[int], int], Found]
    most: int | None = None


# --- explanations -----------------------------------------------------------------------------------------


def fit_model(name: str, train: GraphDataset, val: GraphDataset, seed: int) -> Any:
    """Return a fitted model of a method; GIN needs few epochs here."""
    method = find_method(name)
    changes = {"epochs": GIN_EPOCHS, "patience": GIN_PATIENCE} if name == "gin" else {}
    return method.make({**method.quick, **changes}, seed, "cpu").fit(train, validation=val)


def _programs(model: Any, graphs: Sequence[Graph], _sizes: Sequence[int], seed: int) -> Found:
    found = model.explain(list(graphs), random_state=seed)
    return Found([e.node_mask for e in found], [e.node_scores for e in found])


def _network(maker: Callable[[Any, int], Any]) -> Callable[..., Found]:
    def explain(model: Any, graphs: Sequence[Graph], sizes: Sequence[int], seed: int) -> Found:
        explainer = maker(model, seed)
        found = [explainer.explain(graph, size) for graph, size in zip(graphs, sizes, strict=True)]
        masks = [e.node_mask for e in found]
        return Found(masks, [e.node_scores for e in found], masks)

    return explain


def _random(_model: Any, graphs: Sequence[Graph], sizes: Sequence[int], seed: int) -> Found:
    rng = np.random.default_rng(seed)
    scores = [rng.random(graph.n_nodes) for graph in graphs]
    masks = [np.argsort(np.argsort(-some)) < size for some, size in zip(scores, sizes, strict=True)]
    return Found(masks, scores)


def _heteroatoms(_model: Any, graphs: Sequence[Graph], _sizes: Sequence[int], _seed: int) -> Found:
    """Choose the atoms that are neither carbon nor hydrogen."""
    masks = []
    for graph in graphs:
        assert graph.schema is not None
        names = [graph.schema.node[0].value_name(value) for value in graph.node_features[:, 0].tolist()]
        masks.append(np.array([name not in ("C", "H") for name in names]))
    return Found(masks, [mask.astype(float) for mask in masks])


_gradients = _network(lambda model, _seed: NodeIntegratedGradients(model))
_gnnexplainer = _network(lambda model, seed: GNNExplainer(model, random_state=seed))
_subgraphx = _network(lambda model, seed: SubgraphX(model, random_state=seed, min_nodes=3))

METHODS: dict[str, TruthMethod] = {
    "gdlnn": TruthMethod("GDLNN", "gdlnn", _programs),
    "gdlnn-linear": TruthMethod("GDLNN, linear head", "gdlnn-linear", _programs),
    "gdlnn-scorecard": TruthMethod("GDLNN, scorecard", "gdlnn-scorecard", _programs),
    "gradients": TruthMethod("GIN + integrated gradients", "gin", _gradients, NETWORK_GRAPHS),
    "gnnexplainer": TruthMethod("GIN + GNNExplainer", "gin", _gnnexplainer, NETWORK_GRAPHS),
    "subgraphx": TruthMethod("GIN + SubgraphX", "gin", _subgraphx, SUBGRAPHX_GRAPHS),
    "random": TruthMethod("random nodes", None, _random),
    "heteroatoms": TruthMethod("all heteroatoms", None, _heteroatoms),
}
"""All methods by name, in the order of the tables."""
DEFAULT = ("gdlnn", "gradients", "gnnexplainer", "subgraphx", "random", "heteroatoms")
