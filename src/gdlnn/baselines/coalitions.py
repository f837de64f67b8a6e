"""Coalitions: what a graph network says of many parts of one graph, in few passes of the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError, ModelError

if TYPE_CHECKING:
    import torch

    from gdlnn.baselines.batches import Batch, GraphTensors
    from gdlnn.baselines.gnn import GNNClassifier
    from gdlnn.graphs import Graph

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
Absent = Literal["removed", "zeros"]
ABSENT: tuple[Absent, ...] = get_args(Absent)
BATCH_NODES = 65_536
"""Nodes of one pass on a processor; an accelerator takes sixteen times as many."""
CACHED = 1_000_000
"""Values that are kept for coalitions that come again; beyond, they are forgotten and counted anew."""


class CoalitionValues:
    """The probability of a class for parts of a graph, each given as a mask over its nodes.

    Nodes that are present keep their features as they are: a degree is not recomputed. A mask that was asked
    before is not asked again.

    Parameters
    ----------
    model
        A fitted graph network.
    graph
        The graph.
    target
        The position of the class in `classes_`; by default that of the predicted one.
    absent
        What becomes of the other nodes: "removed" leaves the induced subgraph, "zeros" leaves nodes and edges
        with the features of the nodes all zero.

    Attributes
    ----------
    probabilities
        What the network says of the whole graph.
    n_drawn, n_asked
        Coalitions that were given, and those of them that were new and went through the network.
    """

    def __init__(
        self, model: GNNClassifier, graph: Graph, target: int | None = None, absent: Absent = "removed"
    ) -> None:
        network = check_network(model)
        if absent not in ABSENT:
            raise ExplanationError(f"absent: expected one of {', '.join(ABSENT)}, got {absent!r}")
        self.model, self.graph, self.absent = model, graph, absent
        self.n_drawn = self.n_asked = 0
        self._network = network
        device = next(network.parameters()).device
        self._tensors: GraphTensors = model._tensors([graph], np.zeros(1, dtype=np.int64), device)
        self._batch_nodes = BATCH_NODES * (16 if device.type == "cuda" else 1)
        self._cache: dict[bytes, float] = {}
        self.probabilities: FloatArray = model.predict_proba([graph])[0]
        self.target = int(self.probabilities.argmax()) if target is None else target

    def __call__(self, masks: BoolArray) -> FloatArray:
        """Return the probability of the target class for every row of `masks`, coalitions × nodes."""
        self.n_drawn += len(masks)
        packed = np.packbits(masks, axis=1)
        keys = [row.tobytes() for row in packed]
        if len(self._cache) > CACHED:
            self._cache.clear()
        # The first place of every mask that is not known yet.
        fresh = {key: place for place, key in reversed(list(enumerate(keys))) if key not in self._cache}
        if fresh:
            rows = sorted(fresh.values())
            found = self._ask(masks[rows])
            self._cache.update(zip((keys[row] for row in rows), found.tolist(), strict=True))
        return np.array([self._cache[key] for key in keys], dtype=np.float64)

    def _ask(self, masks: BoolArray) -> FloatArray:
        import torch

        from gdlnn.model.network import one_thread

        self.n_asked += len(masks)
        size = max(1, self._batch_nodes // max(1, self.graph.n_nodes))
        values = []
        with one_thread(), torch.no_grad():
            for first in range(0, len(masks), size):
                logits = self._network(self._batch(masks[first : first + size]))
                values.append(torch.softmax(logits.double(), dim=1)[:, self.target].cpu().numpy())
        return np.concatenate(values)

    def _batch(self, masks: BoolArray) -> Batch:
        """Return one copy of the graph for each mask, side by side."""
        import torch

        from gdlnn.baselines.batches import Batch

        whole = self._tensors
        device = whole.device
        kept = torch.from_numpy(np.ascontiguousarray(masks)).to(device)
        n_copies, n = kept.shape
        copies = torch.arange(n_copies, device=device)
        if self.absent == "zeros":
            return side_by_side(whole, whole.x[None] * kept[:, :, None].to(whole.x.dtype))
        rows, nodes = kept.nonzero(as_tuple=True)
        # The number of a node among those that are kept, over all copies.
        number = torch.cumsum(kept.reshape(-1), 0).reshape(n_copies, n) - 1
        of_copy, edges = (kept[:, whole.ends[0]] & kept[:, whole.ends[1]]).nonzero(as_tuple=True)
        ends = torch.stack([number[of_copy, whole.ends[0][edges]], number[of_copy, whole.ends[1][edges]]])
        attributes = None if whole.edge_attr is None else whole.edge_attr[edges]
        return Batch(whole.x[nodes], ends, attributes, rows, n_copies, copies)


def side_by_side(whole: GraphTensors, x: torch.Tensor) -> Batch:
    """Return copies of one graph, each with features of its own: copies × nodes × columns."""
    import torch

    from gdlnn.baselines.batches import Batch

    n_copies, n = x.shape[:2]
    copies = torch.arange(n_copies, device=x.device)
    ends = (whole.ends[:, None, :] + (copies * n)[None, :, None]).reshape(2, -1)
    attributes = None if whole.edge_attr is None else whole.edge_attr.repeat(n_copies, 1)
    graph = copies[:, None].expand(n_copies, n).reshape(-1)
    return Batch(x.reshape(n_copies * n, x.shape[2]), ends, attributes, graph, n_copies, copies)


def predict_masked(model: GNNClassifier, graph: Graph, masks: BoolArray) -> list[Any]:
    """Return what a network predicts of a graph in which the nodes outside a mask have features of zero."""
    import torch

    from gdlnn.model.network import one_thread

    network = check_network(model)
    device = next(network.parameters()).device
    whole = model._tensors([graph], np.zeros(1, dtype=np.int64), device)
    kept = torch.from_numpy(np.ascontiguousarray(masks)).to(device)
    with one_thread(), torch.no_grad():
        logits = network(side_by_side(whole, whole.x[None] * kept[:, :, None].to(whole.x.dtype)))
    labels: list[Any] = model.classes_[logits.argmax(dim=1).cpu().numpy()].tolist()
    return labels


def check_network(model: GNNClassifier) -> torch.nn.Module:
    """Return the fitted torch module of a graph network, or say what was given in its place."""
    from gdlnn.baselines.gnn import GNNClassifier

    if not isinstance(model, GNNClassifier):
        raise ExplanationError(f"model: expected a GCN, GIN, GAT or MLP, got a {type(model).__name__}")
    if not hasattr(model, "network_"):
        raise ModelError(f"model: expected a fitted {type(model).__name__}, got one that is not fitted")
    network: torch.nn.Module = model.network_
    return network
