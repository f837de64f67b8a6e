"""Training of the head: epochs, early stopping, several members; and its predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils.class_weight import compute_class_weight
from torch.nn.functional import cross_entropy, dropout

from gdlnn.model.network import HeadNetwork, Perceptron, choose_device, one_thread, seeded

if TYPE_CHECKING:
    from gdlnn.model.head import MLPHead

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
MEMBER_SEEDS = 1_000_003  # seeds of members lie so far apart that neighbouring seeds of heads share none


@dataclass(frozen=True)
class Part:
    """Standardised features and the numbers of the labels."""

    X: torch.Tensor
    y: torch.Tensor


def train_network(
    head: MLPHead,
    X: FloatArray,
    codes: IntArray,
    held_out: tuple[FloatArray, IntArray] | None,
) -> tuple[HeadNetwork, list[dict[str, Any]]]:
    """Train the members of a head one after another; return the network and its history."""
    device, n_classes = choose_device(head.device), len(head.classes_)
    mean, scale = _standardisation(X)

    def part(features: FloatArray, labels: IntArray) -> Part:
        values = ((features - mean) / scale).astype(np.float32)
        return Part(torch.from_numpy(values).to(device), torch.from_numpy(labels).to(device))

    train = part(X, codes)
    val = None if held_out is None or not len(held_out[0]) else part(*held_out)
    weights = None
    if head.class_weight is not None:
        values = compute_class_weight(head.class_weight, classes=head.classes_, y=head.classes_[codes])
        weights = torch.tensor(values, dtype=torch.float32, device=device)
    members, history = [], []
    for member in range(head.members):
        with one_thread(), seeded((head.seed * MEMBER_SEEDS + member) % 2**63, device):
            model = Perceptron(X.shape[1], head.hidden, n_classes, head.dropout).to(device)
            rows = _train_member(head, model, train, val, weights)
            history += [{"member": member, **row} for row in rows]
        members.append(model.eval())
    network = HeadNetwork(
        torch.from_numpy(mean.astype(np.float32)), torch.from_numpy(scale.astype(np.float32)), members
    )
    return network.to(device).eval(), history


def _standardisation(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what to subtract and to divide by; columns of zeros and ones stay as they are."""
    binary = ((X == 0) | (X == 1)).all(axis=0)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    # Equal values give a deviation of rounding errors, not of zero.
    constant = scale <= 1e-7 * np.maximum(1.0, np.abs(mean))
    return np.where(binary, 0.0, mean), np.where(binary | constant, 1.0, scale)


def _train_member(
    head: MLPHead, model: Perceptron, train: Part, val: Part | None, weights: torch.Tensor | None
) -> list[dict[str, Any]]:
    """Train one member in place; return a row for every epoch."""
    optimiser = torch.optim.Adam(
        model.parameters(), lr=head.learning_rate, weight_decay=head.weight_decay, foreach=True
    )
    history: list[dict[str, Any]] = []
    best_loss, best_state, since = float("inf"), None, 0
    for epoch in range(1, head.epochs + 1):
        row: dict[str, Any] = {"epoch": epoch, "loss": _epoch(head, model, optimiser, train, weights)}
        history.append(row)
        if val is None:
            continue
        row["val_loss"], row["val_accuracy"] = _evaluate(model, val, weights)
        since += 1
        if row["val_loss"] < best_loss:
            best_loss, since = row["val_loss"], 0
            best_state = {name: value.clone() for name, value in model.state_dict().items()}
        if since >= head.patience:
            break
    if best_state is not None:
        model.load_state_dict(best_state)
    return history


def _epoch(
    head: MLPHead,
    model: Perceptron,
    optimiser: torch.optim.Optimizer,
    train: Part,
    weights: torch.Tensor | None,
) -> float:
    model.train()
    total, n = 0.0, len(train.y)
    order = torch.randperm(n).to(train.y.device)
    for start in range(0, n, head.batch_size):
        rows = order[start : start + head.batch_size]
        inputs = train.X[rows]
        if head.input_dropout:
            inputs = dropout(inputs, head.input_dropout)
        loss = cross_entropy(model(inputs), train.y[rows], weight=weights)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        total += float(loss.detach()) * len(rows)
    return total / n


def _evaluate(model: Perceptron, part: Part, weights: torch.Tensor | None) -> tuple[float, float]:
    """Return loss and accuracy; a label that was not trained on has no loss and is always wrong."""
    model.eval()
    with torch.no_grad():
        logits = model(part.X)
        known = part.y >= 0
        accuracy = float((logits.argmax(dim=1) == part.y).float().mean())
        if not bool(known.any()):
            return float("inf"), accuracy
        return float(cross_entropy(logits[known], part.y[known], weight=weights)), accuracy


def log_probabilities(network: HeadNetwork, X: FloatArray) -> FloatArray:
    """Return the log probabilities of features."""
    device = network.mean.device
    with one_thread(), torch.no_grad():
        values = network(torch.from_numpy(X.astype(np.float32)).to(device))
    result: FloatArray = values.double().cpu().numpy()
    return result
