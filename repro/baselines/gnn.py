"""GCN, GIN, GAT and the pooling MLP as classifiers of graphs, and as files.

A saved network is a safetensors file whose header says the rest; reading it runs no code.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch

from gdlnn.errors import ModelError
from gdlnn.graphs import Schema
from gdlnn.io.atomic import atomic_write
from gdlnn.model.inputs import is_whole
from gdlnn.model.network import choose_device, one_thread, seeded
from repro.baselines.base import Baseline, FloatArray, IntArray
from repro.baselines.network import (
    HEADS,
    GraphNetwork,
    Kind,
    Pooling,
    is_dead,
    probabilities,
    train_network,
)
from repro.baselines.tensors import Column, FeatureEncoder, GraphTensors

if TYPE_CHECKING:
    import os

    from gdlnn.graphs import Graph, GraphDataset

POOLINGS = ("mean", "max", "sum")
ATTEMPTS = 3
"""How often a network that learnt nothing is initialised again: a baseline should not be weak by bad luck."""
ATTEMPT_SEEDS = 1_000_003
FORMAT = "gdlnn-network-1"


@dataclass(eq=False, repr=False)
class GNNClassifier(Baseline):
    """A network over graphs; the subclasses say which layers it has.

    Nominal features are one-hot, quantities standardised (see `FeatureEncoder`). Nodes are embedded, pass
    through `n_layers` layers with batch normalisation, are pooled after every layer, and a perceptron
    classifies what was pooled. On a CPU the result depends on data, parameters and seed alone; on CUDA sums
    are taken in no fixed order, so last digits may differ.

    Parameters
    ----------
    pooling
        "mean", "max" or "sum" over the nodes of a graph.
    learning_rate, weight_decay
        Of the Adam optimiser. With a validation set the rate is halved whenever its loss has not fallen for
        20 epochs.
    hidden
        Width of every layer; a multiple of 4 for GAT, which has four heads.
    n_layers, dropout, layer_dropout
        Number of layers; share of units dropped before the last linear layer, and before every layer of
        messages.
    epochs, patience
        Most epochs; epochs without a better validation accuracy or loss after which training ends.
    batch_size
        Graphs of one step; None for about eight steps an epoch, from 32 to 256 graphs each.
    class_weight
        "balanced" gives every class the same weight, None every graph.
    validation_fraction
        Share of the training graphs to hold out if `fit` is given no validation set, provided it comes to
        100 graphs; with fewer, all epochs are trained.
    seed
        Seed of weights, order of graphs and dropout.
    device
        "auto" (CUDA if there is one), "cpu", "cuda".

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
    pooling: Pooling = "mean"
    learning_rate: float = 0.005
    hidden: int = 64
    weight_decay: float = 0.0
    n_layers: int = 3
    dropout: float = 0.5
    layer_dropout: float = 0.0
    epochs: int = 500
    patience: int = 100
    batch_size: int | None = None
    class_weight: Literal["balanced"] | None = None
    validation_fraction: float = 0.1
    seed: int = 0
    device: str = "auto"

    def _fit(self, train: GraphDataset, codes: IntArray, val: GraphDataset | None) -> None:
        self._check_parameters()
        device = choose_device(self.device)
        self.encoder_ = FeatureEncoder().fit(train.graphs, train.schema)
        weights = None
        if self.class_weight == "balanced":
            counts = np.bincount(codes, minlength=len(self.classes_))
            weights = torch.tensor(len(codes) / (len(counts) * counts), dtype=torch.float32, device=device)
        parts = GraphTensors(train.graphs, codes, self.encoder_, device)
        held_out = None
        if val is not None and len(val):
            assert val.y is not None
            held_out = GraphTensors(val.graphs, self._codes(val.y), self.encoder_, device)
        for attempt in range(ATTEMPTS):
            seed = (self.seed + attempt * ATTEMPT_SEEDS) % 2**63
            with one_thread(), seeded(seed, device):
                self.network_ = self._new_network().to(device)
                self.history_ = train_network(self, self.network_, parts, held_out, weights)
            if not is_dead(self.history_, codes):
                break
        self.network_.eval()

    def _new_network(self) -> GraphNetwork:
        """Return an untrained network of the right sizes."""
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

    def tensors(self, graphs: list[Graph]) -> GraphTensors:
        """Return graphs as tensors on the device of the fitted network; all labels are 0."""
        device = next(self.network_.parameters()).device
        return GraphTensors(graphs, np.zeros(len(graphs), dtype=np.int64), self.encoder_, device)

    def _proba(self, graphs: list[Graph]) -> FloatArray:
        with one_thread():
            return probabilities(self.network_, self.tensors(graphs))

    def _check_parameters(self) -> None:
        divisor = HEADS if self.kind == "gat" else 1
        for name, expected, fine in (
            ("pooling", f"one of {', '.join(POOLINGS)}", self.pooling in POOLINGS),
            ("learning_rate", "a number above 0", self.learning_rate > 0),
            (
                "hidden",
                f"a multiple of {divisor} that is at least {divisor}",
                is_whole(self.hidden, divisor) and self.hidden % divisor == 0,
            ),
            ("weight_decay", "a number of at least 0", self.weight_decay >= 0),
            ("n_layers", "a whole number of at least 1", is_whole(self.n_layers, 1)),
            ("dropout", "a share from 0 to below 1", 0 <= self.dropout < 1),
            ("layer_dropout", "a share from 0 to below 1", 0 <= self.layer_dropout < 1),
            ("epochs", "a whole number of at least 1", is_whole(self.epochs, 1)),
            ("patience", "a whole number of at least 1", is_whole(self.patience, 1)),
            (
                "batch_size",
                "a whole number of at least 2 or None",
                self.batch_size is None or is_whole(self.batch_size, 2),
            ),
            ("class_weight", "balanced or None", self.class_weight in (None, "balanced")),
            ("seed", "a whole number of at least 0", is_whole(self.seed, 0)),
        ):
            if not fine:
                raise ModelError(f"{name}: expected {expected}, got {getattr(self, name)!r}")


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


# --- files ------------------------------------------------------------------------------------------------


def save_network(model: GNNClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted graph network; the file appears when it is complete."""
    from safetensors.torch import save

    about = {
        "kind": model.kind,
        "parameters": model.get_params(),
        "classes": model.classes_.tolist(),
        "n_node_features": model.n_node_features_,
        "n_edge_features": model.n_edge_features_,
        "schema": None if model.schema_ is None else model.schema_.to_json(),
        "node_columns": [_column_json(column) for column in model.encoder_.node_],
        "edge_columns": [_column_json(column) for column in model.encoder_.edge_],
        "history": model.history_,
    }
    weights = {name: value.detach().cpu().contiguous() for name, value in model.network_.state_dict().items()}
    content = save(weights, {"format": FORMAT, "about": json.dumps(about)})
    with atomic_write(Path(path)) as handle:
        handle.write(content)


def load_network(path: str | os.PathLike[str], device: str = "auto") -> GNNClassifier:
    """Read what `save_network` wrote.

    Parameters
    ----------
    path
        The file.
    device
        Where it is used: "auto", "cpu" or "cuda".
    """
    from safetensors import SafetensorError, safe_open

    file = Path(path)
    try:
        with safe_open(str(file), "pt") as content:
            header = content.metadata() or {}
            weights = {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118 - no mapping
    except SafetensorError as error:
        raise ModelError(f"{file.name}: expected a saved graph network, got {error}") from error
    if header.get("format") != FORMAT:
        got = header.get("format")
        raise ModelError(f"{file.name}: expected a graph network of the format {FORMAT}, got {got!r}")
    about = json.loads(header["about"])
    classes = {one.kind: one for one in (GCNClassifier, GINClassifier, GATClassifier, PoolingMLPClassifier)}
    model: GNNClassifier = classes[about["kind"]](**{**about["parameters"], "device": device})
    model.classes_ = np.array(about["classes"])
    model.n_node_features_, model.n_edge_features_ = about["n_node_features"], about["n_edge_features"]
    model.schema_ = None if about["schema"] is None else Schema.from_json(about["schema"])
    model.encoder_ = FeatureEncoder()
    model.encoder_.node_ = [_column(values) for values in about["node_columns"]]
    model.encoder_.edge_ = [_column(values) for values in about["edge_columns"]]
    model.history_ = about["history"]
    model.network_ = model._new_network()
    model.network_.load_state_dict(weights)
    model.network_.to(choose_device(device)).eval()
    return model


def _column_json(column: Column) -> dict[str, Any]:
    values = None if column.values is None else column.values.tolist()
    return {"values": values, "mean": column.mean, "scale": column.scale}


def _column(given: dict[str, Any]) -> Column:
    values = None if given["values"] is None else np.array(given["values"], dtype=np.float64)
    return Column(values, given["mean"], given["scale"])
