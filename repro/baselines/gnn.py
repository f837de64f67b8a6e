"""GCN, GIN, GAT and the pooling MLP as classifiers of graphs: PyTorch Geometric's models, trained alike."""

from __future__ import annotations

import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from gdlnn.errors import ModelError
from gdlnn.jobs import one_thread
from gdlnn.model.network import choose_device
from repro.baselines.base import Baseline, FloatArray, IntArray

with warnings.catch_warnings():
    # Its import calls functions that newer versions of torch and Python advise against.
    warnings.simplefilter("ignore")
    from torch_geometric.data import Batch
    from torch_geometric.nn import GINEConv, global_add_pool, global_max_pool, global_mean_pool
    from torch_geometric.nn.models import GAT, GCN, GIN, MLP
    from torch_geometric.nn.models.basic_gnn import BasicGNN

    from repro.baselines.encoding import FeatureEncoder, to_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_geometric.data import Data

    from gdlnn.graphs import Graph, GraphDataset

Kind = Literal["gcn", "gin", "gat", "mlp"]
POOLINGS = {"mean": global_mean_pool, "max": global_max_pool, "sum": global_add_pool}
HEADS = 4
MAX_BATCH = 256
EVALUATION_BATCH = 4096
PLATEAU = 20
"""Epochs without a lower validation loss after which the learning rate is halved."""
LEAST_RATE = 1e-5
LEARNT = 1e-3
"""With a perfect validation accuracy and a lower loss than this, nothing is left to learn."""


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's own generators, and restore their state afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


# --- the module -------------------------------------------------------------------------------------------


class GINE(BasicGNN):  # type: ignore[misc]
    """GIN whose messages carry the features of their edges, which PyTorch Geometric has as a layer only."""

    supports_edge_weight = False
    supports_edge_attr = True

    def init_conv(self, in_channels: int, out_channels: int, **options: Any) -> nn.Module:
        """Return one layer."""
        inner = MLP([in_channels, out_channels, out_channels], norm="batch_norm")
        layer: nn.Module = GINEConv(inner, train_eps=True, **options)
        return layer


class GraphNetwork(nn.Module):
    """Embed nodes, pass messages, pool the outputs of all layers, classify what was pooled.

    Edge features enter GIN (as in GINE) and GAT. With the kind "mlp" nodes get no messages.
    """

    def __init__(self, model: GNNClassifier, n_classes: int) -> None:
        super().__init__()
        hidden, n_edges = model.hidden, model.encoder_.n_edge_columns
        self.kind, self.pool = model.kind, POOLINGS[model.pooling]
        self.takes_edges = model.kind in ("gin", "gat") and n_edges > 0
        self.embed = nn.Linear(model.encoder_.n_node_columns, hidden)
        options: dict[str, Any] = {"norm": "batch_norm", "jk": "cat"}
        if self.takes_edges:
            options["edge_dim"] = n_edges
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if model.kind == "mlp":
                self.nodes = MLP([hidden] * (model.n_layers + 1), norm="batch_norm", plain_last=False)
            elif model.kind == "gat":
                self.nodes = GAT(hidden, hidden, model.n_layers, heads=HEADS, **options)
            elif model.kind == "gcn":
                self.nodes = GCN(hidden, hidden, model.n_layers, **options)
            elif self.takes_edges:
                self.nodes = GINE(hidden, hidden, model.n_layers, **options)
            else:
                self.nodes = GIN(hidden, hidden, model.n_layers, train_eps=True, **options)
        self.head = MLP([2 * hidden, hidden, n_classes], norm=None, dropout=[model.dropout, 0.0])

    def forward(
        self,
        x: torch.Tensor,
        edge_index: torch.Tensor,
        edge_attr: torch.Tensor | None = None,
        batch: torch.Tensor | None = None,
        n_graphs: int | None = None,
    ) -> torch.Tensor:
        """Return one logit per graph and class; without `batch` all nodes belong to one graph."""
        first = self.embed(x)
        if self.kind == "mlp":
            nodes = self.nodes(first)
        else:
            nodes = self.nodes(first, edge_index, edge_attr=edge_attr if self.takes_edges else None)
        result: torch.Tensor = self.head(self.pool(torch.cat([first, nodes], dim=1), batch, n_graphs))
        return result

    def logits(self, batch: Data) -> torch.Tensor:
        """Return the logits of a batch of graphs."""
        result: torch.Tensor = self(batch.x, batch.edge_index, batch.edge_attr, batch.batch, batch.num_graphs)
        return result


# --- training ---------------------------------------------------------------------------------------------


def train_network(
    model: GNNClassifier, network: GraphNetwork, train: list[Data], val: list[Data]
) -> list[dict[str, Any]]:
    """Train a network in place and leave it in its best state; return a row for every epoch.

    The best state has the highest validation accuracy, of equals the lowest validation loss. Training ends
    when neither got better for `patience` epochs, or when nothing is left to learn.
    """
    optimiser = torch.optim.Adam(
        network.parameters(), lr=model.learning_rate, weight_decay=model.weight_decay
    )
    # At the full rate the validation accuracy swings by several points from one epoch to the next.
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimiser, factor=0.5, patience=PLATEAU, min_lr=min(LEAST_RATE, model.learning_rate)
    )
    device = next(network.parameters()).device
    batches = ShuffledBatches(train, model.random_state, device)
    held_out = whole_batches(val, device)
    history: list[dict[str, Any]] = []
    best, best_loss, best_state, since = (-1.0, 0.0), float("inf"), None, 0
    for epoch in range(1, model.epochs + 1):
        started = time.perf_counter()
        row = {"epoch": epoch, "loss": _epoch(network, optimiser, batches)}
        history.append({**row, "seconds": time.perf_counter() - started})
        if not val:
            continue
        loss, accuracy = _evaluate(network, held_out)
        history[-1] |= {"val_loss": loss, "val_accuracy": accuracy}
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


def _epoch(network: GraphNetwork, optimiser: torch.optim.Optimizer, batches: ShuffledBatches) -> float:
    network.train()
    losses = []
    for batch in batches:
        optimiser.zero_grad(set_to_none=True)
        loss = cross_entropy(network.logits(batch), batch.y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        losses.append(loss.detach())
    # Added up at the end: asking for the number after each step would make the device wait.
    return float(torch.stack(losses).mean()) if losses else 0.0


def _evaluate(network: GraphNetwork, batches: list[Data]) -> tuple[float, float]:
    """Return loss and accuracy; a label not trained on counts as wrong and has no loss."""
    logits, y = all_logits(network, batches), torch.cat([batch.y for batch in batches]).cpu()
    losses = cross_entropy(logits, y, ignore_index=-1, reduction="sum")
    return float(losses) / max(1, int((y >= 0).sum())), float((logits.argmax(dim=1) == y).float().mean())


def all_logits(network: GraphNetwork, batches: list[Data]) -> torch.Tensor:
    """Return the logits of graphs, on the CPU."""
    network.eval()
    with torch.no_grad():
        return torch.cat([network.logits(batch).cpu() for batch in batches])


# --- batches ----------------------------------------------------------------------------------------------


def whole_batches(graphs: list[Data], device: torch.device) -> list[Data]:
    """Return graphs in their order, as few batches on the device."""
    starts = range(0, len(graphs), EVALUATION_BATCH)
    return [Batch.from_data_list(graphs[i : i + EVALUATION_BATCH]).to(device) for i in starts]


class ShuffledBatches:
    """Batches of graphs in a new order each time, gathered from tensors that stay on the device.

    Putting together a batch from a list of graphs takes longer than a step of a small network. All batches of
    an epoch are laid out at once, since each transfer to a GPU waits for the step before it.
    """

    def __init__(self, graphs: list[Data], seed: int, device: torch.device) -> None:
        self.size = min(MAX_BATCH, max(32, -(-len(graphs) // 8)))  # about eight steps an epoch
        self.order = torch.Generator().manual_seed(seed)
        self.all = Batch.from_data_list(graphs).to(device)
        self.counts = torch.tensor([[graph.num_nodes, graph.num_edges] for graph in graphs])

    def __iter__(self) -> Iterator[Data]:
        order = torch.randperm(len(self.counts), generator=self.order)
        ends = torch.nn.functional.pad(self.counts[order].cumsum(0), (0, 0, 1, 0)).tolist()
        nodes, edges = self.counts.to(self.all.x.device).unbind(1)
        order = order.to(nodes.device)
        node, graph_of_node, shift = _positions(nodes, order, ends[-1][0])
        edge, graph_of_edge, _ = _positions(edges, order, ends[-1][1])
        ends_of_edge = self.all.edge_index[:, edge] + shift[graph_of_edge]
        for start in range(0, len(order), self.size):
            stop = min(start + self.size, len(order))
            if stop - start == 1:  # batch normalization cannot learn from one row
                continue
            (first_node, first_edge), (last_node, last_edge) = ends[start], ends[stop]
            own = edge[first_edge:last_edge]
            yield Batch(
                x=self.all.x[node[first_node:last_node]],
                edge_index=ends_of_edge[:, first_edge:last_edge] - first_node,
                edge_attr=None if self.all.edge_attr is None else self.all.edge_attr[own],
                batch=graph_of_node[first_node:last_node] - start,
                y=self.all.y[order[start:stop]],
                _num_graphs=stop - start,
            )


def _positions(
    counts: torch.Tensor, order: torch.Tensor, total: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return where the nodes or edges of graphs in another order were, their graphs, and the shift of each.

    `total` is the sum of the counts, which a GPU would have to be asked for.
    """
    own = counts[order]
    shift = own.cumsum(0) - own - (counts.cumsum(0) - counts)[order]
    graph = torch.repeat_interleave(own, output_size=total)
    return torch.arange(total, device=counts.device) - shift[graph], graph, shift


# --- classifiers ------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class GNNClassifier(Baseline):
    """A network over graphs; the subclasses say which layers it has.

    Nominal features are one-hot, quantities standardized (see `FeatureEncoder`). Nodes are embedded, pass
    through `n_layers` layers with batch normalization, are pooled, and a perceptron classifies what was
    pooled. On a CPU the result depends on data, parameters and seed alone; on CUDA sums are taken in no fixed
    order, so last digits may differ.

    With a validation set, the learning rate of Adam is halved whenever its loss has not fallen for 20 epochs,
    and training ends after `patience` epochs without a better accuracy or loss. Without one,
    `validation_fraction` of the training graphs is held out if that comes to 100 graphs. `dropout` is before
    the last linear layer. `history_` has losses and validation accuracy by epoch.
    """

    kind: ClassVar[Kind]
    pooling: str = "mean"
    learning_rate: float = 0.005
    hidden: int = 64
    weight_decay: float = 0.0
    n_layers: int = 3
    dropout: float = 0.5
    epochs: int = 500
    patience: int = 100
    validation_fraction: float = 0.1
    random_state: int = 0
    device: str = "auto"

    def _fit(self, train: GraphDataset, codes: IntArray, val: GraphDataset | None) -> None:
        divisor = HEADS if self.kind == "gat" else 1
        if self.pooling not in POOLINGS:
            raise ModelError(f"pooling: expected one of {', '.join(POOLINGS)}, got {self.pooling!r}")
        if self.hidden < 1 or self.hidden % divisor:
            raise ModelError(f"hidden: expected a multiple of {divisor}, got {self.hidden!r}")
        device = choose_device(self.device)
        self.encoder_ = FeatureEncoder().fit(train.graphs, train.schema)
        graphs, held_out = self.data(train.graphs, codes), []
        if val is not None and len(val):
            assert val.y is not None
            held_out = self.data(val.graphs, self._codes(val.y))
        with one_thread(), seeded(self.random_state, device):
            self.network_ = GraphNetwork(self, len(self.classes_)).to(device)
            self.history_ = train_network(self, self.network_, graphs, held_out)
        self.network_.eval()

    def data(self, graphs: list[Graph], codes: IntArray | None = None) -> list[Data]:
        """Return graphs as PyTorch Geometric has them; without codes all labels are 0."""
        numbers = [0] * len(graphs) if codes is None else codes.tolist()
        return [to_data(graph, self.encoder_, code) for graph, code in zip(graphs, numbers, strict=True)]

    def _proba(self, graphs: list[Graph]) -> FloatArray:
        with one_thread():
            device = next(self.network_.parameters()).device
            logits = all_logits(self.network_, whole_batches(self.data(graphs), device))
            return torch.softmax(logits.double(), dim=1).numpy()


class GCNClassifier(GNNClassifier):
    """The graph convolutional network of Kipf and Welling; see `GNNClassifier` for the parameters."""

    kind = "gcn"


class GINClassifier(GNNClassifier):
    """The graph isomorphism network of Xu et al., with edge features as in GINE; see `GNNClassifier`."""

    kind = "gin"


class GATClassifier(GNNClassifier):
    """The graph attention network of Veličković et al. with four heads; see `GNNClassifier`."""

    kind = "gat"


class PoolingMLPClassifier(GNNClassifier):
    """The same network without messages: node features through a perceptron, then pooled."""

    kind = "mlp"
