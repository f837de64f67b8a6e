"""Training of the head: all its members side by side, with early stopping; and its predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.class_weight import compute_class_weight
from torch.nn.functional import dropout, log_softmax, one_hot, relu

from gdlnn.model.network import HeadNetwork, Perceptron, choose_device, one_thread, seeded

if TYPE_CHECKING:
    from gdlnn.model.head import MLPHead

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
MEMBER_SEEDS = 1_000_003  # seeds of members lie so far apart that neighbouring seeds of heads share none
N_TREES = 300


@dataclass(frozen=True)
class Part:
    """Standardised features and what to learn: numbers of labels, or a chance for every class."""

    X: torch.Tensor
    y: torch.Tensor


def train_network(
    head: MLPHead, X: FloatArray, codes: IntArray, held_out: tuple[FloatArray, IntArray] | None
) -> tuple[HeadNetwork, list[dict[str, Any]]]:
    """Train the members of a head; return the network and its history."""
    device, n_classes = choose_device(head.device), len(head.classes_)
    mean, scale = _standardisation(X)

    def part(features: FloatArray, wanted: npt.NDArray[Any]) -> Part:
        values = ((features - mean) / scale).astype(np.float32)
        return Part(torch.from_numpy(values).to(device), torch.from_numpy(wanted).to(device))

    taught = head.teacher == "forest" or (head.teacher == "auto" and n_classes == 2)
    train = part(X, _taught(X, codes, n_classes, head.seed) if taught else codes)
    val = None if held_out is None or not len(held_out[0]) else part(*held_out)
    weights = None
    if head.class_weight is not None:
        values = compute_class_weight(head.class_weight, classes=head.classes_, y=head.classes_[codes])
        weights = torch.tensor(values, dtype=torch.float32, device=device)
    with one_thread():
        members = []
        for member in range(head.members):
            with seeded((head.seed * MEMBER_SEEDS + member) % 2**63, device):
                members.append(Perceptron(X.shape[1], head.hidden, n_classes, head.dropout).to(device))
        with seeded(head.seed, device):
            history = _train(head, Stack(members), train, val, weights)
    network = HeadNetwork(
        torch.from_numpy(mean.astype(np.float32)), torch.from_numpy(scale.astype(np.float32)), members
    )
    return network.to(device).eval(), history


def _taught(X: FloatArray, codes: IntArray, n_classes: int, seed: int) -> npt.NDArray[np.float32]:
    """Return what to learn of each row: its label where a forest agrees unseen, else its votes."""
    forest = RandomForestClassifier(N_TREES, bootstrap=True, random_state=seed).fit(X, codes)
    votes = np.zeros((len(X), n_classes))
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        unseen = np.ones(len(X), dtype=bool)
        unseen[drawn] = False
        if unseen.any():
            votes[unseen] += tree.predict_proba(X[unseen])
    # A row that every tree has seen, as may happen with very few rows, has no votes and keeps its label too.
    doubted = votes.argmax(axis=1) != codes
    doubted &= votes.sum(axis=1) > 0
    wanted = np.eye(n_classes)[codes]
    wanted[doubted] = votes[doubted] / votes[doubted].sum(axis=1, keepdims=True)
    return wanted.astype(np.float32)


def _standardisation(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what to subtract and to divide by; columns of zeros and ones stay as they are."""
    binary = ((X == 0) | (X == 1)).all(axis=0)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    # Equal values give a deviation of rounding errors, not of zero.
    constant = scale <= 1e-7 * np.maximum(1.0, np.abs(mean))
    return np.where(binary, 0.0, mean), np.where(binary | constant, 1.0, scale)


def _linear_layers(member: Perceptron) -> list[torch.nn.Linear]:
    return [layer for layer in member.layers if isinstance(layer, torch.nn.Linear)]


class Stack:
    """The layers of several perceptrons laid one upon another: one step trains them all.

    Steps on small batches cost calls, not arithmetic; so five members take little more than one.
    """

    def __init__(self, members: list[Perceptron]) -> None:
        self._members = members
        linear = [[layer for layer in m.layers if isinstance(layer, torch.nn.Linear)] for m in members]
        self.weights = [
            torch.stack([layer.weight.detach().T for layer in level]) for level in zip(*linear, strict=True)
        ]
        self.biases = [
            torch.stack([layer.bias.detach()[None] for layer in level]) for level in zip(*linear, strict=True)
        ]
        for tensor in self.parameters():
            tensor.requires_grad_()

    def parameters(self) -> list[torch.Tensor]:
        """Return all that is learnt, members along the first axis."""
        return [*self.weights, *self.biases]

    def logits(self, X: torch.Tensor, share_dropped: float = 0.0) -> torch.Tensor:
        """Return members × rows × classes."""
        values = X
        for level, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if level:
                values = dropout(relu(values), share_dropped) if share_dropped else relu(values)
            values = torch.matmul(values, weight) + bias
        return values

    def unstack(self, states: list[torch.Tensor]) -> None:
        """Give the members their layers."""
        n_levels = len(self.weights)
        with torch.no_grad():
            for number, member in enumerate(self._members):
                linear = _linear_layers(member)
                for layer, weight, bias in zip(linear, states[:n_levels], states[n_levels:], strict=True):
                    layer.weight.copy_(weight[number].T)
                    layer.bias.copy_(bias[number, 0])


def _train(
    head: MLPHead, stack: Stack, train: Part, val: Part | None, weights: torch.Tensor | None
) -> list[dict[str, Any]]:
    """Train the members in place, each up to its own best epoch; return a row for every member and epoch."""
    parameters = stack.parameters()
    optimiser = torch.optim.Adam(
        parameters, lr=head.learning_rate, weight_decay=head.weight_decay, foreach=True
    )
    history: list[dict[str, Any]] = []
    best_states = [parameter.detach().clone() for parameter in parameters]
    # By accuracy before loss: the loss turns up within a few epochs, when the head grows sure of programs
    # that fit the training graphs perfectly, long before it has learnt which of them to trust.
    best = [(-1.0, 0.0)] * head.members
    since = [0] * head.members
    for epoch in range(1, head.epochs + 1):
        losses = _epoch(head, stack, optimiser, train, weights)
        rows = [{"member": i, "epoch": epoch, "loss": loss} for i, loss in enumerate(losses)]
        history += rows
        if val is None:
            continue
        for i, (loss, accuracy) in enumerate(_evaluate(stack, val, weights)):
            rows[i] |= {"val_loss": loss, "val_accuracy": accuracy}
            since[i] += 1
            if (accuracy, -loss) > best[i]:
                best[i], since[i] = (accuracy, -loss), 0
                for state, parameter in zip(best_states, parameters, strict=True):
                    state[i] = parameter.detach()[i]
        if min(since) >= head.patience:
            break
    stack.unstack(best_states if val is not None else [p.detach() for p in parameters])
    return history


def _losses(logits: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None) -> torch.Tensor:
    """Return the cross entropy of every member."""
    wanted = y if y.ndim == 2 else one_hot(y, logits.shape[2]).to(logits.dtype)
    if weights is not None:
        wanted = wanted * weights
    return -(wanted * log_softmax(logits, dim=2)).sum(dim=(1, 2)) / wanted.sum()


def _epoch(
    head: MLPHead, stack: Stack, optimiser: torch.optim.Optimizer, train: Part, weights: torch.Tensor | None
) -> list[float]:
    """Go through the training data once; return the members' mean losses."""
    n = len(train.y)
    order = torch.randperm(n).to(train.y.device)
    total = torch.zeros(head.members, device=train.y.device)
    for start in range(0, n, head.batch_size):
        rows = order[start : start + head.batch_size]
        inputs = train.X[rows]
        if head.input_dropout:
            inputs = dropout(inputs, head.input_dropout)
        losses = _losses(stack.logits(inputs, head.dropout), train.y[rows], weights)
        optimiser.zero_grad()
        losses.sum().backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        total += losses.detach() * len(rows)
    return [value / n for value in total.tolist()]


def _evaluate(stack: Stack, part: Part, weights: torch.Tensor | None) -> list[tuple[float, float]]:
    """Return loss and accuracy of every member; a label not trained on has no loss and is always wrong."""
    with torch.no_grad():
        logits = stack.logits(part.X)
        known = part.y >= 0
        accuracies = (logits.argmax(dim=2) == part.y).float().mean(dim=1).tolist()
        if not bool(known.any()):
            return [(float("inf"), accuracy) for accuracy in accuracies]
        losses = _losses(logits[:, known], part.y[known], weights).tolist()
    return list(zip(losses, accuracies, strict=True))


def log_probabilities(network: HeadNetwork, X: FloatArray) -> FloatArray:
    """Return the log probabilities of features."""
    device = network.mean.device
    with one_thread(), torch.no_grad():
        values = network(torch.from_numpy(X.astype(np.float32)).to(device))
    result: FloatArray = values.double().cpu().numpy()
    return result
