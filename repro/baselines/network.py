"""GraphNetwork, the torch module of the graph networks, and its training with early stopping."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from gdlnn.errors import require

if TYPE_CHECKING:
    from repro.baselines.gnn import GNNClassifier
    from repro.baselines.tensors import Batch, GraphTensors

Kind = Literal["gcn", "gin", "gat", "mlp"]
Pooling = Literal["mean", "max", "sum"]
HEADS = 4
MAX_BATCH = 256
EVALUATION_BATCH = 4096
PLATEAU = 20
"""Epochs without a lower validation loss after which the learning rate is halved."""
LEAST_RATE = 1e-5
LEARNT = 1e-3
"""With a perfect validation accuracy and a lower loss than this, nothing is left to learn."""


# --- the module -------------------------------------------------------------------------------------------


class GraphNetwork(nn.Module):
    """Embed nodes, pass messages, pool after every layer, classify what was pooled.

    Parameters
    ----------
    kind
        "gcn", "gin" and "gat" are the layers of that name; edge features enter GIN (as in GINE) and GAT. With
        "mlp" nodes get no messages.
    n_node_columns, n_edge_columns, n_classes
        Sizes of input and output.
    hidden
        Width of every layer.
    n_layers
        Number of layers.
    pooling
        How the nodes of a graph become one vector.
    dropout, layer_dropout
        Share of units dropped before the last linear layer, and before every layer of messages.
    """

    def __init__(
        self,
        kind: Kind,
        n_node_columns: int,
        n_edge_columns: int,
        n_classes: int,
        hidden: int = 64,
        n_layers: int = 3,
        pooling: Pooling = "mean",
        dropout: float = 0.5,
        layer_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.layer_dropout = nn.Dropout(layer_dropout)
        self.kind, self.pooling = kind, pooling
        self.takes_edges = kind in ("gin", "gat") and n_edge_columns > 0
        self.embed = nn.Linear(n_node_columns, hidden)
        edge_dim = n_edge_columns if self.takes_edges else None
        self.layers = nn.ModuleList([_layer(kind, hidden, edge_dim) for _ in range(n_layers)])
        self.norms = nn.ModuleList([nn.BatchNorm1d(hidden) for _ in range(n_layers)])
        self.head = nn.Sequential(
            nn.Linear(hidden * (n_layers + 1), hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, n_classes),
        )

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return one logit per graph and class."""
        x = self.embed(batch.x)
        pooled = [self._pool(x, batch)]
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = torch.relu(norm(self._messages(layer, self.layer_dropout(x), batch)))
            pooled.append(self._pool(x, batch))
        result: torch.Tensor = self.head(torch.cat(pooled, dim=1))
        return result

    def _messages(self, layer: nn.Module, x: torch.Tensor, batch: Batch) -> Any:
        if self.kind == "mlp":
            return layer(x)
        if self.takes_edges:
            return layer(x, batch.edge_index, batch.edge_attr)
        return layer(x, batch.edge_index)

    def _pool(self, x: torch.Tensor, batch: Batch) -> torch.Tensor:
        shape = (batch.n_graphs, x.shape[1])
        if self.pooling == "max":
            index = batch.graph[:, None].expand_as(x)
            return x.new_zeros(shape).scatter_reduce(0, index, x, "amax", include_self=False)
        total = x.new_zeros(shape).index_add(0, batch.graph, x)
        if self.pooling == "sum":
            return total
        sizes = x.new_zeros(batch.n_graphs).index_add(0, batch.graph, x.new_ones(len(x)))
        return total / sizes.clamp(min=1)[:, None]


def _layer(kind: Kind, hidden: int, edge_dim: int | None) -> nn.Module:
    if kind == "mlp":
        return nn.Linear(hidden, hidden)
    with warnings.catch_warnings():
        # Its import and its layers call functions that newer versions of torch and Python advise against.
        warnings.simplefilter("ignore")
        pyg: Any = require("torch_geometric.nn", "repro", f"The baseline {kind}")
        if kind == "gcn":
            layer = pyg.GCNConv(hidden, hidden)
        elif kind == "gat":
            layer = pyg.GATConv(hidden, hidden // HEADS, heads=HEADS, edge_dim=edge_dim)
        else:
            inner = nn.Sequential(
                nn.Linear(hidden, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, hidden)
            )
            # GINE is GIN whose messages carry the features of their edges.
            if edge_dim is None:
                layer = pyg.GINConv(inner, train_eps=True)
            else:
                layer = pyg.GINEConv(inner, train_eps=True, edge_dim=edge_dim)
    module: nn.Module = layer
    return module


# --- training ---------------------------------------------------------------------------------------------


def train_network(
    model: GNNClassifier,
    network: GraphNetwork,
    train: GraphTensors,
    val: GraphTensors | None,
    weights: torch.Tensor | None,
) -> list[dict[str, Any]]:
    """Train a network in place and leave it in its best state; return a row for every epoch.

    The best state has the highest validation accuracy, of equals the lowest validation loss. Training ends
    when neither got better for `patience` epochs, or when nothing is left to learn.
    """
    cuda = train.device.type == "cuda"
    optimiser = torch.optim.Adam(
        network.parameters(), lr=model.learning_rate, weight_decay=model.weight_decay, fused=cuda
    )
    # At the full rate the validation accuracy swings by several points from one epoch to the next.
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimiser, factor=0.5, patience=PLATEAU, min_lr=min(LEAST_RATE, model.learning_rate)
    )
    # By default about eight steps an epoch.
    size = model.batch_size or min(MAX_BATCH, max(32, -(-len(train) // 8)))
    rng = np.random.default_rng(model.seed)
    history: list[dict[str, Any]] = []
    best, best_loss, best_state, since = (-1.0, 0.0), float("inf"), None, 0
    for epoch in range(1, model.epochs + 1):
        started = time.perf_counter()
        order = rng.permutation(len(train)).astype(np.int64)
        loss = _epoch(network, optimiser, train, size, order, weights)
        row = {"epoch": epoch, "loss": loss, "seconds": time.perf_counter() - started}
        history.append(row)
        if val is None:
            continue
        loss, accuracy = _evaluate(network, val, weights)
        row["val_loss"], row["val_accuracy"] = loss, accuracy
        schedule.step(loss)
        since += 1
        if loss < best_loss:
            best_loss, since = loss, 0
        if (accuracy, -loss) > best:
            best, since = (accuracy, -loss), 0
            best_state = {name: value.clone() for name, value in network.state_dict().items()}
        if since >= model.patience or (accuracy == 1.0 and loss < LEARNT):
            break
    if best_state is not None:
        network.load_state_dict(best_state)
    return history


def is_dead(history: list[dict[str, Any]], codes: npt.NDArray[np.int64]) -> bool:
    """Say whether a network never did better on its training data than the shares of the classes."""
    shares = np.unique(codes, return_counts=True)[1] / max(1, len(codes))
    chance = float(-(shares * np.log(shares)).sum())
    # A few epochs prove nothing; a network whose units have all died stays at chance for ever.
    return chance > 0 and min(row["loss"] for row in history) > 0.99 * chance and len(history) > PLATEAU


def _epoch(
    network: GraphNetwork,
    optimiser: torch.optim.Optimizer,
    train: GraphTensors,
    size: int,
    order: npt.NDArray[np.int64],
    weights: torch.Tensor | None,
) -> float:
    network.train()
    total = torch.zeros((), device=train.device)
    n = 0
    for batch in train.batches(size, order):
        if batch.n_graphs < 2:  # batch normalisation cannot learn from one row
            continue
        optimiser.zero_grad(set_to_none=True)
        loss = cross_entropy(network(batch), batch.y, weight=weights)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        # Summed on the device: asking for the number after each step would make the device wait.
        total += loss.detach() * batch.n_graphs
        n += batch.n_graphs
    return float(total) / max(1, n)


def _evaluate(network: GraphNetwork, part: GraphTensors, weights: torch.Tensor | None) -> tuple[float, float]:
    """Return loss and accuracy; a label not trained on counts as wrong and has no loss."""
    logits = _logits(network, part)
    known = part.y >= 0
    right = (logits.argmax(dim=1) == part.y).sum()
    losses = cross_entropy(logits, part.y, weight=weights, ignore_index=-1, reduction="sum")
    values = torch.stack([losses, right.float(), known.sum().float()]).tolist()
    return values[0] / max(1.0, values[2]), values[1] / max(1, len(part))


def _logits(network: GraphNetwork, part: GraphTensors) -> torch.Tensor:
    network.eval()
    with torch.no_grad():
        return torch.cat([network(batch) for batch in part.batches(EVALUATION_BATCH)])


def probabilities(network: GraphNetwork, part: GraphTensors) -> npt.NDArray[np.float64]:
    """Return the probability of every class."""
    return np.asarray(torch.softmax(_logits(network, part).double(), dim=1).cpu().numpy())
