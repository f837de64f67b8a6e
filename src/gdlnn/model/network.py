"""Perceptrons in torch: their training, and the predictions and contributions of an `MLPHead`.

Nothing here changes the state of the process: random numbers come from separate generators, and the number of
threads is set only for the calling thread. So fits in several threads give the same bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import linear, log_softmax, one_hot, relu
from torch.nn.init import kaiming_uniform_, uniform_

from gdlnn.jobs import one_thread
from gdlnn.model.head import class_weights, layer_names
from gdlnn.model.linear import standardization
from gdlnn.progress import stage_done

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.model.base import Tensors
    from gdlnn.model.head import MLPHead

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
MEMBER_SEEDS = 1_000_003  # seeds of members lie so far apart that neighboring seeds of heads share none
ROWS_AT_ONCE = 1024
"""Number of rows predicted at a time: they fit into the CPU cache."""
POINTS, SHARES = (torch.from_numpy(part) for part in np.polynomial.legendre.leggauss(6))
"""Points of each part of a path at which gradients are taken, from -1 to 1, and their weights."""
LARGEST_ERROR = 1e-6
"""Error of the sum of contributions, as a probability, above which the parts are halved."""
MOST_HALVINGS = 10

Layers = list[tuple[torch.Tensor, torch.Tensor]]
"""The layers of a perceptron: weights, outputs × inputs, and biases; ReLU is between them."""


def log_probabilities(tensors: Tensors, X: FloatArray) -> FloatArray:
    """Return the log probabilities of raw features by every perceptron, members × rows × classes.

    Standardization is part of it, so that perturbations refer to the features as the GDL layer gives them.
    """
    mean, scale = (torch.from_numpy(tensors[name]) for name in ("mean", "scale"))
    members = _members(tensors)
    parts: list[FloatArray] = []
    with one_thread(), torch.inference_mode():
        for start in range(0, max(1, len(X)), ROWS_AT_ONCE):
            rows = torch.from_numpy(X[start : start + ROWS_AT_ONCE].astype(np.float32))
            inputs = (rows - mean) / scale
            found = torch.stack([log_softmax(_logits(layers, inputs), dim=1) for layers in members])
            parts.append(found.double().numpy())
    return np.concatenate(parts, axis=1)


def _logits(layers: Layers, x: torch.Tensor) -> torch.Tensor:
    """Return one logit per class."""
    *hidden, last = layers
    for weight, bias in hidden:
        x = linear(x, weight, bias).relu_()
    return linear(x, *last)


def _members(tensors: Tensors) -> list[Layers]:
    """Return the layers of each perceptron."""
    members: list[Layers] = []
    while layer_names(len(members), 0)[0] in tensors:
        layers: Layers = []
        while (names := layer_names(len(members), len(layers)))[0] in tensors:
            layers.append((torch.from_numpy(tensors[names[0]]), torch.from_numpy(tensors[names[1]])))
        members.append(layers)
    return members


def contributions(tensors: Tensors, X: FloatArray, baseline: FloatArray, wanted: IntArray) -> FloatArray:
    """Return what each column adds to the mean probability of the class `wanted` of its row.

    The gradient is integrated along the straight line from the baseline to the row. The first layer is
    linear, so that it is enough to follow its outputs. Between the points where one of these changes its
    sign the path is smooth, unless there are more layers: then the parts are halved until the sum is exact
    to `LARGEST_ERROR`.
    """
    scale, total = tensors["scale"].astype(np.float64), np.zeros_like(X)
    members = [[(weight.double(), bias.double()) for weight, bias in layers] for layers in _members(tensors)]
    with one_thread():
        for (weight, bias), *rest in members:
            first = weight / torch.from_numpy(scale)
            start = first @ torch.from_numpy(baseline - tensors["mean"]) + bias
            for row, target in enumerate(wanted.tolist()):
                step = torch.from_numpy(X[row] - baseline)
                total[row] += (step * (first.T @ _mean_gradient(rest, start, first @ step, target))).numpy()
    return total / len(members)


def _mean_gradient(rest: Layers, start: torch.Tensor, change: torch.Tensor, target: int) -> torch.Tensor:
    """Return the mean gradient of a probability along a line of outputs of the first layer."""

    def chances(outputs: torch.Tensor) -> torch.Tensor:
        logits = _logits(rest, outputs.relu()) if rest else outputs
        return logits.softmax(dim=1)[:, target]

    ends = chances(torch.stack([start, start + change]))
    crossings = -start / torch.where(change == 0, torch.inf, change)
    inner = crossings[(crossings > 0) & (crossings < 1)]
    cuts = torch.cat([torch.zeros(1), inner.sort().values, torch.ones(1)]).double()
    for _ in range(MOST_HALVINGS + 1):
        halves = cuts.diff()[:, None] / 2
        at, shares = (cuts[:-1, None] + halves * (1 + POINTS)).flatten(), (halves * SHARES).flatten()
        outputs = (start + at[:, None] * change).requires_grad_()
        (gradient,) = torch.autograd.grad((chances(outputs) * shares).sum(), outputs)
        found = gradient.sum(dim=0)
        if abs(float(ends[1] - ends[0] - found @ change)) <= LARGEST_ERROR:
            break
        cuts = torch.cat([cuts, (cuts[:-1] + cuts[1:]) / 2]).sort().values
    return found


def generator_of(seed: int, device: torch.device) -> torch.Generator:
    """Return a random generator with a seed."""
    return torch.Generator(device=device).manual_seed(seed)


def choose_device(name: str) -> torch.device:
    """Return the device with a name; "auto" is the accelerator if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(name)


# --- training ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Standardized features, and what to learn: codes, or weights of the classes, rows × classes."""

    X: torch.Tensor
    y: torch.Tensor


def train_network(
    head: MLPHead,
    X: FloatArray,
    codes: IntArray,
    held_out: tuple[FloatArray, IntArray] | None,
    row_weights: FloatArray | None = None,
) -> tuple[Tensors, list[dict[str, Any]]]:
    """Train the members of a head; return the arrays of a file and the history."""
    device, n_classes, seed = choose_device(head.device), len(head.classes_), head.random_state or 0
    mean, scale = standardization(X)

    def rows(features: FloatArray, wanted: npt.NDArray[Any]) -> Rows:
        values = ((features - mean) / scale).astype(np.float32)
        return Rows(torch.from_numpy(values).to(device), torch.from_numpy(wanted).to(device))

    if row_weights is None:
        train = rows(X, codes)
    else:  # the targets of a row have the weight of the row
        train = rows(X, (np.eye(n_classes)[codes] * row_weights[:, None]).astype(np.float32))
    val = None if held_out is None or not len(held_out[0]) else rows(*held_out)
    values = class_weights(head, codes)
    weights = None if values is None else torch.tensor(values, dtype=torch.float32, device=device)
    with one_thread():
        members = [
            _initialized(
                (X.shape[1], *head.hidden, n_classes),
                generator_of((seed * MEMBER_SEEDS + member) % 2**63, device),
            )
            for member in range(head.ensemble_size)
        ]
        members, history = _train(head, Stack(members), train, val, weights, generator_of(seed, device))
    tensors = {"mean": mean.astype(np.float32), "scale": scale.astype(np.float32)}
    for member, layers in enumerate(members):
        for level, pair in enumerate(layers):
            names = layer_names(member, level)
            tensors |= {name: part.cpu().numpy() for name, part in zip(names, pair, strict=True)}
    return tensors, history


def _initialized(widths: Sequence[int], generator: torch.Generator) -> Layers:
    """Draw the weights of a perceptron as `nn.Linear` does by default."""
    layers = []
    for n_inputs, n_outputs in pairwise(widths):
        weight, bias = (
            torch.empty(shape, device=generator.device) for shape in ((n_outputs, n_inputs), (n_outputs,))
        )
        kaiming_uniform_(weight, a=math.sqrt(5), generator=generator)
        bound = 1 / math.sqrt(n_inputs) if n_inputs else 0
        layers.append((weight, uniform_(bias, -bound, bound, generator=generator)))
    return layers


def _dropout(x: torch.Tensor, share: float, generator: torch.Generator) -> torch.Tensor:
    """Set a share of the values to zero and scale the rest; torch's own takes no generator."""
    if not share:
        return x
    return x * torch.empty_like(x).bernoulli_(1 - share, generator=generator).div_(1 - share)


class Stack:
    """The layers of several perceptrons stacked, so that one step trains them all.

    Steps on small batches cost calls, not arithmetic; so several members take little more than one.
    """

    def __init__(self, members: list[Layers]) -> None:
        levels = list(zip(*members, strict=True))
        self.weights = [torch.stack([weight.T for weight, _ in level], dim=1) for level in levels]
        self.biases = [torch.stack([bias[None] for _, bias in level], dim=1) for level in levels]
        for tensor in self.parameters():
            tensor.requires_grad_()

    def parameters(self) -> list[torch.Tensor]:
        """Return all parameters, members along the second axis."""
        return [*self.weights, *self.biases]

    def logits(
        self, X: torch.Tensor, dropout: float = 0.0, generator: torch.Generator | None = None
    ) -> torch.Tensor:
        """Return members × rows × classes."""
        values = X @ self.weights[0].flatten(1)
        members = values.view(len(values), *self.weights[0].shape[1:]).transpose(0, 1)
        values = members + self.biases[0].transpose(0, 1)
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            values = relu(values) if generator is None else _dropout(relu(values), dropout, generator)
            values = torch.matmul(values, weight.transpose(0, 1)) + bias.transpose(0, 1)
        return values

    def unstacked(self, states: list[torch.Tensor]) -> list[Layers]:
        """Return the layers of each member, from parameters."""
        pairs = list(zip(states[: len(self.weights)], states[len(self.weights) :], strict=True))
        return [
            [(weight[:, member].T.contiguous(), bias[0, member].clone()) for weight, bias in pairs]
            for member in range(states[0].shape[1])
        ]


def _train(
    head: MLPHead,
    stack: Stack,
    train: Rows,
    val: Rows | None,
    weights: torch.Tensor | None,
    generator: torch.Generator,
) -> tuple[list[Layers], list[dict[str, Any]]]:
    """Train the members, each up to its own best epoch; return them and a row for every member and epoch."""
    parameters = stack.parameters()
    optimizer = torch.optim.Adam(
        parameters, lr=head.learning_rate, weight_decay=head.weight_decay, foreach=True
    )
    history: list[dict[str, Any]] = []
    best_states = [parameter.detach().clone() for parameter in parameters]
    # By accuracy before loss: the loss rises within a few epochs, when the head becomes confident in programs
    # that fit the training graphs perfectly, long before it has learnt which of them to trust.
    best = [(-1.0, 0.0)] * head.ensemble_size
    since = [0] * head.ensemble_size
    for epoch in range(1, head.epochs + 1):
        losses = _epoch(head, stack, optimizer, train, weights, generator)
        rows = [{"member": i, "epoch": epoch, "loss": loss} for i, loss in enumerate(losses)]
        history += rows
        stage_done(epoch, head.epochs)
        if val is None:
            for state, parameter in zip(best_states, parameters, strict=True):
                state.copy_(parameter.detach())
            continue
        for i, (loss, accuracy) in enumerate(_evaluate(stack, val, weights)):
            rows[i] |= {"val_loss": loss, "val_accuracy": accuracy}
            since[i] += 1
            if (accuracy, -loss) > best[i]:
                best[i], since[i] = (accuracy, -loss), 0
                for state, parameter in zip(best_states, parameters, strict=True):
                    state[:, i] = parameter.detach()[:, i]
        if min(since) >= head.patience:
            break
    return stack.unstacked(best_states), history


def _losses(logits: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None) -> torch.Tensor:
    """Return the cross entropy of every member."""
    wanted = one_hot(y, logits.shape[2]).to(logits.dtype) if y.ndim == 1 else y
    if weights is not None:
        wanted = wanted * weights
    total = wanted.sum(dim=(-2, -1)).clamp(min=1e-12)
    return -(wanted * log_softmax(logits, dim=2)).sum(dim=(1, 2)) / total


def _epoch(
    head: MLPHead,
    stack: Stack,
    optimizer: Any,
    train: Rows,
    weights: torch.Tensor | None,
    generator: torch.Generator,
) -> list[float]:
    """Go through the training data once; return the members' mean losses."""
    n = len(train.y)
    order = torch.randperm(n, generator=generator, device=generator.device)
    total = torch.zeros(head.ensemble_size, device=train.y.device)
    for start in range(0, n, head.batch_size):
        rows = order[start : start + head.batch_size]
        inputs = _dropout(train.X[rows], head.input_dropout, generator)
        logits = stack.logits(inputs, head.dropout, generator)
        losses = _losses(logits, train.y[rows], weights)
        optimizer.zero_grad()
        losses.sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        total += losses.detach() * len(rows)
    return [value / n for value in total.tolist()]


def _evaluate(stack: Stack, rows: Rows, weights: torch.Tensor | None) -> list[tuple[float, float]]:
    """Return loss and accuracy of every member; a label not trained on has no loss and is always wrong."""
    with torch.no_grad():
        logits = stack.logits(rows.X)
        known = rows.y >= 0
        accuracies = (logits.argmax(dim=2) == rows.y).float().mean(dim=1).tolist()
        if not bool(known.any()):
            return [(float("inf"), accuracy) for accuracy in accuracies]
        losses = _losses(logits[:, known], rows.y[known], weights).tolist()
    return list(zip(losses, accuracies, strict=True))
