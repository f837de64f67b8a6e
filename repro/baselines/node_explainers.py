"""Explaining graph networks by nodes: what a network says about parts of a graph, and two explainers.

GNNExplainer and integrated gradients are those of PyTorch Geometric. SubgraphX is in `subgraphx`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from gdlnn.errors import ExplanationError
from gdlnn.graphs.graph import NodeSubset
from gdlnn.jobs import one_thread
from repro.baselines.gnn import GNNClassifier, seeded

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch_geometric import explain as pyg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import Graph

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
BATCH_NODES = 65_536
"""Nodes of one pass on a CPU; an accelerator takes sixteen times as many."""
MAX_CACHED = 1_000_000
"""Most values that are kept for coalitions that come again."""


# --- what a network says about parts of a graph -----------------------------------------------------------


class CoalitionValues:
    """The probability of a class for parts of a graph, each given as a mask over its nodes.

    Nodes outside a mask stay, with features of zero. A mask is asked only once.

    `target` is the position of the class in `classes_`, by default the predicted one. `probabilities` is what
    the network says about the whole graph; `n_drawn` and `n_asked` count the coalitions that were given, and
    those of them that were new and went through the network.
    """

    def __init__(self, model: GNNClassifier, graph: Graph, target: int | None = None) -> None:
        self._network, self.n_drawn, self.n_asked = checked_network(model), 0, 0
        self._device = next(self._network.parameters()).device
        self._data = model.data([graph])[0].to(self._device)
        self._cache: dict[bytes, float] = {}
        self.probabilities: FloatArray = model.predict_proba([graph])[0]
        self.target = int(self.probabilities.argmax()) if target is None else target

    def __call__(self, masks: BoolArray) -> FloatArray:
        """Return the probability of the target class for every row of `masks`, coalitions × nodes."""
        self.n_drawn += len(masks)
        keys = [row.tobytes() for row in np.packbits(masks, axis=1)]
        if len(self._cache) > MAX_CACHED:
            self._cache.clear()
        # The first place of every mask that is not known yet.
        fresh = {key: place for place, key in reversed(list(enumerate(keys))) if key not in self._cache}
        if fresh:
            rows = sorted(fresh.values())
            self.n_asked += len(rows)
            found = torch.softmax(self.logits(masks[rows]).double(), dim=1)[:, self.target].cpu().numpy()
            self._cache.update(zip((keys[row] for row in rows), found.tolist(), strict=True))
        return np.array([self._cache[key] for key in keys], dtype=np.float64)

    def logits(self, masks: BoolArray) -> torch.Tensor:
        """Return what the network says about every row of `masks`: coalitions × classes."""
        batch_nodes = BATCH_NODES * (16 if self._device.type == "cuda" else 1)
        size = max(1, batch_nodes // max(1, masks.shape[1]))
        parts = [masks[first : first + size] for first in range(0, len(masks), size)]
        with one_thread(), torch.no_grad():
            return torch.cat([self._copies(np.ascontiguousarray(part)) for part in parts])

    def _copies(self, masks: BoolArray) -> torch.Tensor:
        """Return the logits of one copy of the graph for each mask, side by side."""
        data, (n_copies, n) = self._data, masks.shape
        copies = torch.arange(n_copies, device=self._device)
        x = data.x[None] * torch.from_numpy(masks).to(self._device)[:, :, None]
        ends = (data.edge_index[:, None, :] + (copies * n)[None, :, None]).reshape(2, -1)
        attributes = None if data.edge_attr is None else data.edge_attr.repeat(n_copies, 1)
        batch = copies.repeat_interleave(n)
        result: torch.Tensor = self._network(
            x.reshape(n_copies * n, x.shape[2]), ends, attributes, batch, n_copies
        )
        return result


def predict_masked(model: GNNClassifier, graph: Graph, masks: BoolArray) -> list[Any]:
    """Return what a network predicts for a graph in which the nodes outside a mask have features of zero."""
    logits = CoalitionValues(model, graph).logits(masks)
    labels: list[Any] = model.classes_[logits.argmax(dim=1).cpu().numpy()].tolist()
    return labels


def checked_network(model: Any) -> torch.nn.Module:
    """Return the fitted torch module of a graph network; refuse any other model."""
    if not isinstance(model, GNNClassifier) or not hasattr(model, "network_"):
        raise ExplanationError(f"model: expected a fitted GCN, GIN, GAT or MLP, got a {type(model).__name__}")
    network: torch.nn.Module = model.network_
    return network


# --- explainers -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NodeExplanation(NodeSubset):
    """A part of a graph that explains what a graph network says about it.

    The predicted class is explained. `score` is how much the explanation matters to SubgraphX, its Shapley
    value; `node_scores` is how much each node matters to the explainer.
    """

    graph: Graph
    prediction: Any
    probability: float
    nodes: tuple[int, ...]
    score: float | None
    node_scores: FloatArray


class NodeExplainer:
    """An explainer of what a graph network predicts; subclasses implement `explain_sizes`."""

    model: GNNClassifier

    def explain_sizes(self, graph: Graph, sizes: Sequence[int]) -> list[NodeExplanation]:
        """Explain one graph with several sizes; what they share is computed once."""
        raise NotImplementedError

    def explain(self, graph: Graph, n_nodes: int = 5) -> NodeExplanation:
        """Return an explanation of at most `n_nodes` nodes.

        SubgraphX gives the smallest connected part it met if that is larger; the others name exactly this
        many nodes, which need not be connected.
        """
        if n_nodes < 1:
            raise ExplanationError(f"n_nodes: expected a whole number of at least 1, got {n_nodes!r}")
        return self.explain_sizes(graph, [n_nodes])[0]


class _NodeScores(NodeExplainer):
    """An explainer that scores nodes one by one and names those with the largest scores."""

    def scores(self, graph: Graph) -> FloatArray:
        """Return how much each node of a graph matters for the predicted class."""
        raise NotImplementedError

    def explain_sizes(self, graph: Graph, sizes: Sequence[int]) -> list[NodeExplanation]:
        """Explain one graph with several sizes; its nodes are scored once."""
        network = checked_network(self.model)
        network.eval()
        chances = self.model.predict_proba([graph])[0]
        scores = self.scores(graph) if graph.n_nodes else np.zeros(0)
        order = np.argsort(-scores, kind="stable")
        about = (graph, self.model.classes_[chances.argmax()], float(chances.max()))
        return [
            NodeExplanation(*about, tuple(np.sort(order[:size]).tolist()), None, scores) for size in sizes
        ]

    def _masked(self, graph: Graph, algorithm: Any, mask_type: str, random_state: int) -> FloatArray:
        """Return what an algorithm of PyTorch Geometric finds about nodes: nodes × 1, or × columns."""
        data = self.model.data([graph])[0].to(next(self.model.network_.parameters()).device)
        explainer = pyg.Explainer(
            model=_Probabilities(self.model.network_).eval(),
            algorithm=algorithm,
            explanation_type="model",
            node_mask_type=mask_type,
            model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": "probs"},
        )
        with one_thread(), seeded(random_state, data.x.device), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = explainer(data.x, data.edge_index, edge_attr=data.edge_attr)
        return np.asarray(found.node_mask.detach().cpu().numpy(), dtype=np.float64)


class _Probabilities(torch.nn.Module):
    """A network whose outputs are probabilities."""

    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor, edge_attr: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the probabilities of the classes of one graph."""
        return torch.softmax(self.network(x, edge_index, edge_attr), dim=1)


@dataclass(eq=False)
class GNNExplainer(_NodeScores):
    """GNNExplainer of Ying et al. with a mask over nodes, whose initial values are random."""

    model: GNNClassifier
    epochs: int = 100
    random_state: int = 0

    def scores(self, graph: Graph) -> FloatArray:
        """Return the mask over nodes after `epochs` steps."""
        return self._masked(
            graph, pyg.GNNExplainer(epochs=self.epochs, lr=0.01), "object", self.random_state
        )[:, 0]


@dataclass(eq=False)
class NodeIntegratedGradients(_NodeScores):
    """Integrated gradients of a class's probability from features of zero, through captum, summed by node."""

    model: GNNClassifier
    n_steps: int = 50

    def scores(self, graph: Graph) -> FloatArray:
        """Return the sum over the features of each node."""
        algorithm = pyg.CaptumExplainer("IntegratedGradients", n_steps=self.n_steps)
        return np.asarray(self._masked(graph, algorithm, "attributes", 0).sum(axis=1))
