"""GraphNetwork: layers of messages (or none), pooled after every layer, and a classifier on top."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import nn

from gdlnn.errors import require

if TYPE_CHECKING:
    from gdlnn.baselines.batches import Batch

Kind = Literal["gcn", "gin", "gat", "mlp"]
Pooling = Literal["mean", "max", "sum"]
HEADS = 4


class GraphNetwork(nn.Module):
    """Embed nodes, pass messages, pool after every layer, classify what was pooled.

    Parameters
    ----------
    kind
        "gcn", "gin" and "gat" are the layers of that name; edge features enter GIN (as in GINE) and GAT. With
        "mlp" nodes do not hear of each other.
    n_node_columns, n_edge_columns, n_classes
        Sizes of input and output.
    hidden
        Width of every layer.
    n_layers
        Number of layers.
    pooling
        How the nodes of a graph become one vector.
    dropout, layer_dropout
        Share of units left out before the last linear layer, and before every layer of messages.
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
        # Its import compiles functions in a way that newer versions of torch advise against.
        warnings.simplefilter("ignore")
        pyg: Any = require("torch_geometric.nn", "baselines", f"The baseline {kind}")
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
