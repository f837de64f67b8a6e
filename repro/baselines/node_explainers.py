"""Explaining graph networks by nodes: what a network says about parts of a graph, and two explainers.

GNNExplainer and integrated gradients come from PyTorch Geometric and captum. SubgraphX is in `subgraphx`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np
import numpy.typing as npt
import torch

from gdlnn.errors import ExplanationError, ModelError, require
from gdlnn.graphs import Graph
from gdlnn.graphs.graph import NodeSubset
from gdlnn.model.network import one_thread, seeded
from gdlnn.progress import progress_bar
from repro.baselines.gnn import GNNClassifier
from repro.baselines.tensors import Batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import GraphDataset

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
Absent = Literal["removed", "zeros"]
ABSENT: tuple[Absent, ...] = get_args(Absent)
BATCH_NODES = 65_536
"""Nodes of one pass on a CPU; an accelerator takes sixteen times as many."""
MAX_CACHED = 1_000_000
"""Most values that are kept for coalitions that come again."""


# --- what a network says about parts of a graph -----------------------------------------------------------


class CoalitionValues:
    """The probability of a class for parts of a graph, each given as a mask over its nodes.

    Nodes that are present keep their features: a degree is not recomputed. A mask is asked only once.

    Parameters
    ----------
    model
        A fitted graph network.
    graph
        The graph.
    target
        The position of the class in `classes_`; by default the predicted one.
    absent
        What happens to the other nodes: "removed" leaves the induced subgraph, "zeros" keeps nodes and edges
        and sets all features of these nodes to zero.

    Attributes
    ----------
    probabilities
        What the network says about the whole graph.
    n_drawn, n_asked
        Coalitions that were given, and those of them that were new and went through the network.
    """

    def __init__(
        self, model: GNNClassifier, graph: Graph, target: int | None = None, absent: Absent = "removed"
    ) -> None:
        self._network = check_network(model)
        check_absent(absent)
        self.model, self.graph, self.absent = model, graph, absent
        self.n_drawn = self.n_asked = 0
        self._tensors = model.tensors([graph])
        self._cache: dict[bytes, float] = {}
        self.probabilities: FloatArray = model.predict_proba([graph])[0]
        self.target = int(self.probabilities.argmax()) if target is None else target

    def __call__(self, masks: BoolArray) -> FloatArray:
        """Return the probability of the target class for every row of `masks`, coalitions × nodes."""
        self.n_drawn += len(masks)
        packed = np.packbits(masks, axis=1)
        keys = [row.tobytes() for row in packed]
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
        device = self._tensors.device
        batch_nodes = BATCH_NODES * (16 if device.type == "cuda" else 1)
        size = max(1, batch_nodes // max(1, self.graph.n_nodes))
        with one_thread(), torch.no_grad():
            several = [
                self._network(self._batch(torch.from_numpy(np.ascontiguousarray(some)).to(device)))
                for some in (masks[first : first + size] for first in range(0, len(masks), size))
            ]
        return torch.cat(several)

    def _batch(self, kept: torch.Tensor) -> Batch:
        """Return one copy of the graph for each mask, side by side."""
        whole = self._tensors
        if self.absent == "zeros":
            return whole.copies(whole.x[None] * kept[:, :, None].to(whole.x.dtype))
        return whole.subgraphs(kept)


def predict_masked(model: GNNClassifier, graph: Graph, masks: BoolArray) -> list[Any]:
    """Return what a network predicts for a graph in which the nodes outside a mask have features of zero."""
    logits = CoalitionValues(model, graph, absent="zeros").logits(masks)
    labels: list[Any] = model.classes_[logits.argmax(dim=1).cpu().numpy()].tolist()
    return labels


def check_network(model: GNNClassifier) -> torch.nn.Module:
    """Return the fitted torch module of a graph network; refuse any other model."""
    if not isinstance(model, GNNClassifier):
        raise ExplanationError(f"model: expected a GCN, GIN, GAT or MLP, got a {type(model).__name__}")
    if not hasattr(model, "network_"):
        raise ModelError(f"model: expected a fitted {type(model).__name__}, got one that is not fitted")
    network: torch.nn.Module = model.network_
    return network


def check_absent(absent: str) -> None:
    """Refuse an unknown value of `absent`."""
    if absent not in ABSENT:
        raise ExplanationError(f"absent: expected one of {', '.join(ABSENT)}, got {absent!r}")


def check_whole(name: str, value: object) -> None:
    """Raise an error unless the value is a whole number of at least 1."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ExplanationError(f"{name}: expected a whole number of at least 1, got {value!r}")


# --- explainers -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NodeExplanation(NodeSubset):
    """A part of a graph that explains what a graph network says about it.

    Attributes
    ----------
    graph
        The graph.
    prediction, probability
        The predicted class and its probability.
    target
        The class that is explained.
    nodes
        The nodes of the explanation, sorted.
    score
        How much the explanation matters to the explainer: for SubgraphX the Shapley value, else None.
    node_scores
        How much each node of the graph matters to the explainer.
    """

    graph: Graph
    prediction: Any
    probability: float
    target: Any
    nodes: tuple[int, ...]
    score: float | None
    node_scores: FloatArray


class NodeExplainer:
    """An explainer of graph networks.

    Subclasses are dataclasses whose fields are the parameters, and implement `explain_sizes`.
    """

    model: GNNClassifier
    progress: bool = False

    def __post_init__(self) -> None:
        check_network(self.model)

    def explain_sizes(self, graph: Graph, sizes: Sequence[int], target: Any = None) -> list[NodeExplanation]:
        """Explain one graph with several sizes; what they share is computed once."""
        raise NotImplementedError

    @overload
    def explain(self, graphs: Graph, n_nodes: int = 5, target: Any = None) -> NodeExplanation: ...
    @overload
    def explain(
        self, graphs: Sequence[Graph] | GraphDataset, n_nodes: int = 5, target: Any = None
    ) -> list[NodeExplanation]: ...
    def explain(
        self, graphs: Graph | Sequence[Graph] | GraphDataset, n_nodes: int = 5, target: Any = None
    ) -> NodeExplanation | list[NodeExplanation]:
        """Return the explanation of one graph, or of each of several.

        Parameters
        ----------
        graphs
            One graph, or several.
        n_nodes
            Most nodes of an explanation. SubgraphX gives the smallest connected part it met if that is
            larger; the others name exactly this many nodes, which need not be connected.
        target
            The class to explain; by default the predicted one.
        """
        if isinstance(graphs, Graph):
            return self.explain_sizes(graphs, [n_nodes], target)[0]
        listed, found = list(graphs), []
        with progress_bar(type(self).__name__, len(listed), wanted=self.progress, transient=True) as update:
            for graph in listed:
                found += self.explain_sizes(graph, [n_nodes], target)
                update(advance=1)
        return found

    def _class_position(self, target: Any) -> int | None:
        """Return the position of a class in `classes_`; None stands for the predicted one."""
        if target is None:
            return None
        classes = self.model.classes_.tolist()
        if target not in classes:
            known = ", ".join(map(repr, classes))
            raise ExplanationError(f"target: expected one of the classes {known}, got {target!r}")
        return int(classes.index(target))


class _NodeScores(NodeExplainer):
    """An explainer that scores nodes one by one and names those with the largest scores."""

    def _scores(self, graph: Graph, target: int) -> FloatArray:
        raise NotImplementedError

    def scores(self, graph: Graph, target: Any = None) -> FloatArray:
        """Return how much each node of a graph matters for a class, by default the predicted one."""
        position = self._class_position(target)
        if position is None:
            position = int(self.model.predict_proba([graph])[0].argmax())
        return self._scores(graph, position) if graph.n_nodes else np.zeros(0)

    def explain_sizes(self, graph: Graph, sizes: Sequence[int], target: Any = None) -> list[NodeExplanation]:
        """Explain one graph with several sizes; its nodes are scored once."""
        for size in sizes:
            check_whole("n_nodes", size)
        said = self.model.predict_proba([graph])[0]
        scores = self.scores(graph, target)
        order = np.argsort(-scores, kind="stable")
        predicted = self.model.classes_[said.argmax()]
        wanted, chance = predicted if target is None else target, float(said.max())
        return [
            NodeExplanation(
                graph, predicted, chance, wanted, tuple(np.sort(order[:size]).tolist()), None, scores
            )
            for size in sizes
        ]


@dataclass(eq=False)
class GNNExplainer(_NodeScores):
    """GNNExplainer of Ying et al. with a mask over nodes, as implemented in PyTorch Geometric.

    Parameters
    ----------
    model
        A fitted graph network.
    epochs, learning_rate
        Steps of the mask's optimisation, and their size.
    seed
        Seed of the mask's initial values.
    """

    model: GNNClassifier
    epochs: int = 100
    learning_rate: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("epochs", self.epochs)

    def _scores(self, graph: Graph, target: int) -> FloatArray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pyg: Any = require("torch_geometric.explain", "repro", "GNNExplainer")
        whole = self.model.tensors([graph])
        explainer = pyg.Explainer(
            model=_OverNodes(self.model.network_).eval(),
            algorithm=pyg.GNNExplainer(epochs=self.epochs, lr=self.learning_rate),
            explanation_type="phenomenon",
            node_mask_type="object",
            model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"},
        )
        wanted = torch.tensor([target], device=whole.device)
        with one_thread(), seeded(self.seed, whole.device), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = explainer(whole.x, whole.ends, target=wanted, edge_attr=whole.edge_attr)
        return np.asarray(found.node_mask.detach().cpu().numpy()[:, 0], dtype=np.float64)


class _OverNodes(torch.nn.Module):
    """A network as PyTorch Geometric calls one: with the features and edges of a single graph."""

    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor, edge_attr: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the logits of the graph."""
        nodes = torch.zeros(len(x), dtype=torch.long, device=x.device)
        logits: torch.Tensor = self.network(Batch(x, edge_index, edge_attr, nodes, 1, nodes[:1]))
        return logits


@dataclass(eq=False)
class NodeIntegratedGradients(_NodeScores):
    """Integrated gradients of a class's probability from features of zero, through captum, summed by node.

    Parameters
    ----------
    model
        A fitted graph network.
    n_steps
        Points on the way from zero to the graph's own features.
    """

    model: GNNClassifier
    n_steps: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("n_steps", self.n_steps)

    def _scores(self, graph: Graph, target: int) -> FloatArray:
        captum: Any = require("captum.attr", "gradients", "Integrated gradients")
        whole = self.model.tensors([graph])

        def probability(x: torch.Tensor) -> torch.Tensor:
            return torch.softmax(self.model.network_(whole.copies(x)), dim=1)[:, target]

        with one_thread():
            found = captum.IntegratedGradients(probability).attribute(whole.x[None], n_steps=self.n_steps)
        return np.asarray(found[0].sum(dim=1).detach().cpu().numpy(), dtype=np.float64)
