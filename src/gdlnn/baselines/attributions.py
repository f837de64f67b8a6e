"""GNNExplainer and integrated gradients over the nodes of a graph, through PyTorch Geometric and captum."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.baselines.coalitions import check_network
from gdlnn.baselines.node_explanation import NodeExplanation, most_important
from gdlnn.baselines.subgraphx import check_whole, class_position
from gdlnn.errors import require
from gdlnn.graphs import Graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.baselines.gnn import GNNClassifier
    from gdlnn.graphs import GraphDataset

FloatArray = npt.NDArray[np.float64]


class _NodeAttribution:
    """What the two share: scores of nodes become the `n_nodes` nodes with the largest ones."""

    def __init__(self, model: GNNClassifier, seed: int = 0) -> None:
        check_network(model)
        self.model, self.seed = model, seed

    def _scores(self, graph: Graph, target: int) -> FloatArray:
        raise NotImplementedError

    def scores(self, graph: Graph, target: Any = None) -> FloatArray:
        """Return how much each node of a graph matters for a class, by default the predicted one."""
        position = class_position(self.model, target)
        if position is None:
            position = int(self.model.predict_proba([graph])[0].argmax())
        return self._scores(graph, position) if graph.n_nodes else np.zeros(0)

    def explain(
        self, graphs: Graph | Sequence[Graph] | GraphDataset, n_nodes: int = 5, target: Any = None
    ) -> Any:
        """Return the `n_nodes` most important nodes of one graph, or of each of several.

        They need not be connected, since nodes are scored one by one.

        Parameters
        ----------
        graphs
            One graph, or several.
        n_nodes
            Number of nodes of an explanation.
        target
            The class to explain; by default the predicted one.
        """
        if not isinstance(graphs, Graph):
            return [self.explain_sizes(graph, [n_nodes], target)[0] for graph in graphs]
        return self.explain_sizes(graphs, [n_nodes], target)[0]

    def explain_sizes(self, graph: Graph, sizes: Sequence[int], target: Any = None) -> list[NodeExplanation]:
        """Explain one graph with several sizes; its nodes are scored once."""
        for size in sizes:
            check_whole("n_nodes", size)
        said = self.model.predict_proba([graph])[0]
        scores = self.scores(graph, target)
        predicted = self.model.classes_[said.argmax()]
        wanted, chance = predicted if target is None else target, float(said.max())
        return [
            NodeExplanation(graph, predicted, chance, wanted, most_important(scores, size), None, scores)
            for size in sizes
        ]


class GNNExplainer(_NodeAttribution):
    """GNNExplainer of Ying et al. with a mask over nodes, as PyTorch Geometric has it.

    Parameters
    ----------
    model
        A fitted graph network.
    epochs, learning_rate
        Steps of the mask's optimisation, and their size.
    seed
        Seed of the mask's first values.
    """

    def __init__(
        self, model: GNNClassifier, epochs: int = 100, learning_rate: float = 0.01, seed: int = 0
    ) -> None:
        super().__init__(model, seed)
        check_whole("epochs", epochs)
        self.epochs, self.learning_rate = epochs, learning_rate

    def _scores(self, graph: Graph, target: int) -> FloatArray:
        import torch

        from gdlnn.model.network import one_thread, seeded

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pyg: Any = require("torch_geometric.explain", "baselines", "GNNExplainer")
        whole = _tensors(self.model, graph)
        explainer = pyg.Explainer(
            model=_over_nodes(self.model),
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


class NodeIntegratedGradients(_NodeAttribution):
    """Integrated gradients of a class's probability from features of zero, through captum, summed by node.

    Parameters
    ----------
    model
        A fitted graph network.
    n_steps
        Points on the way from zero to the graph's own features.
    """

    def __init__(self, model: GNNClassifier, n_steps: int = 50) -> None:
        super().__init__(model)
        check_whole("n_steps", n_steps)
        self.n_steps = n_steps

    def _scores(self, graph: Graph, target: int) -> FloatArray:
        import torch
        from captum.attr import IntegratedGradients

        from gdlnn.baselines.coalitions import side_by_side
        from gdlnn.model.network import one_thread

        whole = _tensors(self.model, graph)
        network: Any = self.model.network_

        def probability(x: torch.Tensor) -> torch.Tensor:
            return torch.softmax(network(side_by_side(whole, x)), dim=1)[:, target]

        with one_thread():
            found = IntegratedGradients(probability).attribute(whole.x[None], n_steps=self.n_steps)
        return np.asarray(found[0].sum(dim=1).detach().cpu().numpy(), dtype=np.float64)


def _tensors(model: GNNClassifier, graph: Graph) -> Any:
    device = next(model.network_.parameters()).device
    return model._tensors([graph], np.zeros(1, dtype=np.int64), device)


def _over_nodes(model: GNNClassifier) -> Any:
    """Return the network as PyTorch Geometric calls one: features and edges of a single graph."""
    import torch

    from gdlnn.baselines.batches import Batch

    class OverNodes(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = model.network_

        def forward(
            self, x: torch.Tensor, edge_index: torch.Tensor, edge_attr: torch.Tensor | None = None
        ) -> torch.Tensor:
            nodes = torch.zeros(len(x), dtype=torch.long, device=x.device)
            logits: torch.Tensor = self.network(Batch(x, edge_index, edge_attr, nodes, 1, nodes[:1]))
            return logits

    return OverNodes().eval()
