"""Training of a graph network: mini-batches, early stopping on a validation part; and its predictions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import cross_entropy

if TYPE_CHECKING:
    from gdlnn.baselines.batches import GraphTensors
    from gdlnn.baselines.gnn import GNNClassifier
    from gdlnn.baselines.network import GraphNetwork

FloatArray = npt.NDArray[np.float64]
MAX_BATCH = 256
EVALUATION_BATCH = 4096
PLATEAU = 20
"""Epochs without a lower validation loss after which the learning rate is halved."""
LEAST_RATE = 1e-5
LEARNT = 1e-3
"""A perfect validation part with a lower loss than this leaves nothing to wait for."""


def batch_size_for(n_graphs: int) -> int:
    """Return the default size of a batch: about eight steps an epoch, from 32 to 256 graphs each."""
    return min(MAX_BATCH, max(32, -(-n_graphs // 8)))


def train_network(
    model: GNNClassifier,
    network: GraphNetwork,
    train: GraphTensors,
    val: GraphTensors | None,
    weights: torch.Tensor | None,
) -> list[dict[str, Any]]:
    """Train a network in place and leave it in its best state; return a row for every epoch.

    The best state is the one with the highest validation accuracy, of equals the one with the lowest
    validation loss. Training ends when neither got better for `patience` epochs, or when nothing is left to
    learn.
    """
    cuda = train.device.type == "cuda"
    optimiser = torch.optim.Adam(
        network.parameters(), lr=model.learning_rate, weight_decay=model.weight_decay, fused=cuda
    )
    # At the full rate the validation accuracy swings by several points from one epoch to the next.
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimiser, factor=0.5, patience=PLATEAU, min_lr=min(LEAST_RATE, model.learning_rate)
    )
    size = model.batch_size or batch_size_for(len(train))
    rng = np.random.default_rng(model.seed)
    history: list[dict[str, Any]] = []
    best, best_loss, best_state, since = (-1.0, 0.0), float("inf"), None, 0
    for epoch in range(1, model.epochs + 1):
        started = time.perf_counter()
        order = rng.permutation(len(train)).astype(np.int64)
        row: dict[str, Any] = {
            "epoch": epoch,
            "loss": _epoch(network, optimiser, train, size, order, weights),
        }
        history.append(row)
        row["seconds"] = time.perf_counter() - started
        if val is not None:
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
    """Return loss and accuracy; a label that was not trained on counts as wrong and has no loss."""
    logits = torch.cat(_logits(network, part))
    known = part.y >= 0
    right = (logits.argmax(dim=1) == part.y).sum()
    losses = cross_entropy(logits, part.y, weight=weights, ignore_index=-1, reduction="sum")
    values = torch.stack([losses, right.float(), known.sum().float()]).tolist()
    return values[0] / max(1.0, values[2]), values[1] / max(1, len(part))


def _logits(network: GraphNetwork, part: GraphTensors) -> list[torch.Tensor]:
    network.eval()
    with torch.no_grad():
        return [network(batch) for batch in part.batches(EVALUATION_BATCH)]


def probabilities(network: GraphNetwork, part: GraphTensors) -> FloatArray:
    """Return the probability of every class."""
    values = torch.softmax(torch.cat(_logits(network, part)).double(), dim=1)
    result: FloatArray = values.cpu().numpy()
    return result
