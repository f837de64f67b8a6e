"""GCN, GIN, GAT and the pooling MLP as classifiers of graphs.

Their layers are in `network`, how they are trained in `training`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from gdlnn.baselines.base import FloatArray, GraphClassifier, IntArray
from gdlnn.baselines.encoding import FeatureEncoder
from gdlnn.errors import ModelError

if TYPE_CHECKING:
    from gdlnn.baselines.network import GraphNetwork, Kind, Pooling
    from gdlnn.graphs import Graph, GraphDataset

POOLINGS = ("mean", "max", "sum")


ATTEMPTS = 3
"""How often a network that learnt nothing is drawn anew: a baseline should not be weak by bad luck."""
ATTEMPT_SEEDS = 1_000_003


class GNNClassifier(GraphClassifier):
    """A network over graphs; the subclasses say which layers it has.

    Nominal features are one-hot, quantities standardised (see `FeatureEncoder`). Nodes are embedded, pass
    through `n_layers` layers with batch normalisation, are pooled after every layer, and a perceptron
    classifies what was pooled. On a CPU the result depends on data, parameters and seed alone; on CUDA sums
    are taken in no fixed order, so that last digits may differ.

    Parameters
    ----------
    pooling
        "mean", "max" or "sum" over the nodes of a graph.
    learning_rate, weight_decay
        Of the Adam optimiser. With a validation part the rate is halved whenever its loss has not fallen for
        20 epochs.
    hidden
        Width of every layer; a multiple of 4 for GAT, which has four heads.
    n_layers, dropout, layer_dropout
        Number of layers; share of units left out before the last linear layer, and before every layer of
        messages.
    epochs, patience
        Most epochs; epochs without a better validation accuracy or loss after which training ends.
    batch_size
        Graphs of one step; None for about eight steps an epoch, from 32 to 256 graphs each.
    class_weight
        "balanced" makes every class weigh the same, None every graph.
    validation_fraction
        Share of the training graphs held out where `fit` is given no validation part, provided it comes to
        100 graphs; with less all epochs are trained.
    seed
        Seed of weights, order of graphs and dropout.
    device
        "auto" (CUDA where there is one), "cpu", "cuda".

    Attributes
    ----------
    network_
        The fitted torch module.
    encoder_
        The fitted `FeatureEncoder`.
    history_
        Losses and validation accuracy by epoch.
    """

    kind: ClassVar[Kind]

    def __init__(
        self,
        pooling: Pooling = "mean",
        learning_rate: float = 0.005,
        hidden: int = 64,
        weight_decay: float = 0.0,
        n_layers: int = 3,
        dropout: float = 0.5,
        layer_dropout: float = 0.0,
        epochs: int = 500,
        patience: int = 100,
        batch_size: int | None = None,
        class_weight: Literal["balanced"] | None = None,
        validation_fraction: float = 0.1,
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        self.pooling = pooling
        self.learning_rate = learning_rate
        self.hidden = hidden
        self.weight_decay = weight_decay
        self.n_layers = n_layers
        self.dropout = dropout
        self.layer_dropout = layer_dropout
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.seed = seed
        self.device = device

    def _fit(self, train: GraphDataset, codes: IntArray, val: GraphDataset | None) -> None:
        self._check_parameters()
        import torch

        from gdlnn.baselines.training import is_dead, train_network
        from gdlnn.model.network import choose_device, one_thread, seeded

        device = choose_device(self.device)
        self.encoder_ = FeatureEncoder().fit(train.graphs, train.schema)
        weights = None
        if self.class_weight == "balanced":
            counts = np.bincount(codes, minlength=len(self.classes_))
            weights = torch.tensor(len(codes) / (len(counts) * counts), dtype=torch.float32, device=device)
        parts = self._tensors(train.graphs, codes, device)
        held_out = None
        if val is not None and len(val):
            assert val.y is not None
            held_out = self._tensors(val.graphs, self._codes(val.y), device)
        for attempt in range(ATTEMPTS):
            seed = (self.seed + attempt * ATTEMPT_SEEDS) % 2**63
            with one_thread(), seeded(seed, device):
                self.network_ = self._new_network().to(device)
                self.history_ = train_network(self, self.network_, parts, held_out, weights)
            if not is_dead(self.history_, codes):
                break
        self.network_.eval()

    def _new_network(self) -> GraphNetwork:
        """Return a network of the right sizes that has learnt nothing yet."""
        from gdlnn.baselines.network import GraphNetwork

        return GraphNetwork(
            self.kind,
            self.encoder_.n_node_columns,
            self.encoder_.n_edge_columns,
            len(self.classes_),
            self.hidden,
            self.n_layers,
            self.pooling,
            self.dropout,
            self.layer_dropout,
        )

    def _tensors(self, graphs: list[Graph], codes: IntArray, device: Any) -> Any:
        from gdlnn.baselines.batches import GraphTensors

        return GraphTensors(graphs, codes, self.encoder_, device)

    def _proba(self, graphs: list[Graph]) -> FloatArray:
        from gdlnn.baselines.training import probabilities
        from gdlnn.model.network import one_thread

        device = next(self.network_.parameters()).device
        with one_thread():
            part = self._tensors(graphs, np.zeros(len(graphs), dtype=np.int64), device)
            return probabilities(self.network_, part)

    def _check_parameters(self) -> None:
        divisor = 4 if self.kind == "gat" else 1
        for name, expected, fine in (
            ("pooling", f"one of {', '.join(POOLINGS)}", self.pooling in POOLINGS),
            ("learning_rate", "a number above 0", self.learning_rate > 0),
            (
                "hidden",
                f"a multiple of {divisor} that is at least {divisor}",
                _whole(self.hidden, divisor) and self.hidden % divisor == 0,
            ),
            ("weight_decay", "a number of at least 0", self.weight_decay >= 0),
            ("n_layers", "a whole number of at least 1", _whole(self.n_layers, 1)),
            ("dropout", "a share from 0 to below 1", 0 <= self.dropout < 1),
            ("layer_dropout", "a share from 0 to below 1", 0 <= self.layer_dropout < 1),
            ("epochs", "a whole number of at least 1", _whole(self.epochs, 1)),
            ("patience", "a whole number of at least 1", _whole(self.patience, 1)),
            (
                "batch_size",
                "a whole number of at least 2 or None",
                self.batch_size is None or _whole(self.batch_size, 2),
            ),
            ("class_weight", "balanced or None", self.class_weight in (None, "balanced")),
            ("seed", "a whole number of at least 0", _whole(self.seed, 0)),
        ):
            if not fine:
                raise ModelError(f"{name}: expected {expected}, got {getattr(self, name)!r}")


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least


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
