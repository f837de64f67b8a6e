"""What the studies of explanations compare: models with a way to explain them, and their sweeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gdlnn.evaluation.methods import find_method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.evaluation.cells import Result, Store
    from gdlnn.evaluation.methods import Configuration, Method
    from gdlnn.graphs import Graph

N_FEATURES = (5, 10, 20, 50, 100, 200, 500, 1000)
"""How many programs LIME names, as in the paper: from 5 to 1000."""
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Sizes of explanations of graph networks, as shares of a graph's nodes."""
COST_FEATURES = 5
COST_SHARE = 0.2
Kind = Literal["programs", "smallest", "deciding", "network"]


@dataclass(frozen=True)
class Explainer:
    """A model with a way to explain it.

    Attributes
    ----------
    name, title
        The word on the command line, and what tables and figures say.
    model
        The method that is explained, a name of the accuracy study.
    kind
        "programs": LIME over programs, swept by their number. "smallest": the smallest subgraph of programs
        that is enough, no sweep. "deciding": one program, no sweep. "network": nodes of a graph for a graph
        network, swept by their share.
    one_by_one
        Whether a cell holds a single graph, since one takes long.
    """

    name: str
    title: str
    model: str
    kind: Kind
    one_by_one: bool = False

    @property
    def method(self) -> Method:
        """The method that is explained."""
        return find_method(self.model)

    @property
    def settings(self) -> Sequence[float]:
        """The values of the sweep."""
        return {"programs": N_FEATURES, "smallest": (1,), "deciding": (1,), "network": SHARES}[self.kind]

    @property
    def is_point(self) -> bool:
        """Whether there is nothing to sweep."""
        return len(self.settings) == 1


EXPLAINERS: dict[str, Explainer] = {
    explainer.name: explainer
    for explainer in (
        Explainer("gdlnn", "GDLNN + LIME", "gdlnn", "programs"),
        Explainer("gdlnn-smallest", "GDLNN, smallest sufficient", "gdlnn", "smallest"),
        Explainer("gdlnn-paper", "GDLNN (paper's recipe) + LIME", "gdlnn-paper", "programs"),
        Explainer("pl4xgl", "PL4XGL", "pl4xgl", "deciding"),
        Explainer("subgraphx", "GIN + SubgraphX", "gin", "network", one_by_one=True),
        Explainer("gnnexplainer", "GIN + GNNExplainer", "gin", "network"),
        Explainer("gradients", "GIN + integrated gradients", "gin", "network"),
    )
}
"""All by name, in the order of the tables."""
RIVAL = "subgraphx"
"""What GDLNN is compared with."""


def chosen_configuration(
    stores: Sequence[Store], dataset: str, method: Method, fingerprint: str
) -> tuple[Configuration, float | None]:
    """Return the configuration an accuracy study chose on this split, and the seconds it took to choose.

    Where no study searched, it is the documented one, and there are no seconds.
    """
    found = [
        cell
        for store in stores
        for cell in store.cells("paper")
        if (cell["dataset"], cell["method"], cell["status"]) == (dataset, method.name, "ok")
        and cell["fingerprint"] == fingerprint
        and cell["n_configurations"] > 1
    ]
    if not found:
        return dict(method.quick), None
    best = min(found, key=lambda cell: (-cell["n_configurations"], cell["seed"]))
    return dict(best["configuration"]), float(best.get("selection_seconds", 0.0))


def n_nodes_for(graph: Graph, share: float) -> int:
    """Return the size of an explanation that is a share of a graph, at least one node."""
    return max(1, round(share * graph.n_nodes))


def explain_network(
    explainer: Explainer, model: Any, graph: Graph, seed: int, shares: Sequence[float]
) -> tuple[list[Any], Result]:
    """Explain one graph for a graph network, once for each share, and tell how much the network was asked.

    What can be shared among sizes is.
    """
    sizes = [n_nodes_for(graph, share) for share in shares]
    if explainer.name == "subgraphx":
        from gdlnn.baselines.subgraphx import SubgraphX

        search = SubgraphX(model, seed=seed, progress=False).search(graph)
        counts = {"n_parts": len(search.rewards), "n_drawn": search.n_drawn, "n_asked": search.n_asked}
        return [search.best(size) for size in sizes], counts
    from gdlnn.baselines.attributions import GNNExplainer, NodeIntegratedGradients

    made: Any = NodeIntegratedGradients(model)
    if explainer.name == "gnnexplainer":
        made = GNNExplainer(model, seed=seed)
    return made.explain_sizes(graph, sizes), {}
