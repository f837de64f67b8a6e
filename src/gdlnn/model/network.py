"""The perceptron in torch: training, and the predictions and contributions of an `MLPHead`.

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

from gdlnn.errors import uninterrupted
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
SEED_STEP = 1_000_003  # the weights of neighboring seeds come from seeds that lie far apart
ROWS_AT_ONCE = 1024
"""Number of rows predicted at a time: they fit into the CPU cache."""
POINTS, SHARES = (torch.from_numpy(part) for part in np.polynomial.legendre.leggauss(6))
"""Points of each part of a path at which gradients are taken, from -1 to 1, and their weights."""
LARGEST_ERROR = 1e-6
"""Error of the sum of contributions, as a probability, above which the parts are halved."""
MOST_HALVINGS = 10

Layers = list[tuple[torch.Tensor, torch.Tensor]]
"""Weights, outputs × inputs, and biases; ReLU is between the layers."""


def log_probabilities(tensors: Tensors, X: FloatArray) -> FloatArray:
    """Return the log probabilities of raw features.

    Standardization is part of it, so that perturbations refer to the features as the GDL layer gives them.
    """
    mean, scale = (torch.from_numpy(tensors[name]) for name in ("mean", "scale"))
    layers = _layers(tensors)
    parts: list[FloatArray] = []
    with one_thread(), torch.inference_mode():
        for start in range(0, max(1, len(X)), ROWS_AT_ONCE):
            rows = torch.from_numpy(X[start : start + ROWS_AT_ONCE].astype(np.float32))
            parts.append(log_softmax(_logits(layers, (rows - mean) / scale), dim=1).double().numpy())
    return np.concatenate(parts)


def _logits(layers: Layers, x: torch.Tensor) -> torch.Tensor:
    """Return one logit per class."""
    *hidden, last = layers
    for weight, bias in hidden:
        x = linear(x, weight, bias).relu_()
    return linear(x, *last)


def _layers(tensors: Tensors) -> Layers:
    """Return the layers from the arrays of a file."""
    layers: Layers = []
    while (names := layer_names(len(layers)))[0] in tensors:
        layers.append((torch.from_numpy(tensors[names[0]]), torch.from_numpy(tensors[names[1]])))
    return layers


def contributions(tensors: Tensors, X: FloatArray, baseline: FloatArray, wanted: IntArray) -> FloatArray:
    """Return what each column adds to the probability of the class `wanted` of its row.

    The gradient is integrated along the straight line from the baseline to the row. The first layer is
    linear, so that it is enough to follow its outputs. Between the points where one of these changes its
    sign the path is smooth, unless there are more layers: then the parts are halved until the sum is exact
    to `LARGEST_ERROR`.
    """
    (weight, bias), *rest = ((weight.double(), bias.double()) for weight, bias in _layers(tensors))
    first = weight / torch.from_numpy(tensors["scale"].astype(np.float64))
    result = np.zeros_like(X)
    with one_thread():
        start = first @ torch.from_numpy(baseline - tensors["mean"]) + bias
        for row, target in enumerate(wanted.tolist()):
            step = torch.from_numpy(X[row] - baseline)
            result[row] = (step * (first.T @ _mean_gradient(rest, start, first @ step, target))).numpy()
    return result


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
    """Train the perceptron of a head; return the arrays of a file and the history."""
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
        widths = (X.shape[1], *head.hidden, n_classes)
        network = Network(widths, generator_of(seed * SEED_STEP % 2**63, device))
        history = _train(head, network, train, val, weights, generator_of(seed, device))
    tensors = {"mean": mean.astype(np.float32), "scale": scale.astype(np.float32)}
    for level, pair in enumerate(zip(network.weights, network.biases, strict=True)):
        weight, bias = (part.detach().cpu().numpy() for part in pair)
        tensors |= zip(layer_names(level), (np.ascontiguousarray(weight.T), bias), strict=True)
    return tensors, history


class Network:
    """The layers of a perceptron while it is trained: weights, inputs × outputs, and biases."""

    def __init__(self, widths: Sequence[int], generator: torch.Generator) -> None:
        """Draw the weights as `nn.Linear` does by default."""
        self.weights, self.biases = [], []
        for n_inputs, n_outputs in pairwise(widths):
            weight, bias = (
                torch.empty(shape, device=generator.device) for shape in ((n_outputs, n_inputs), (n_outputs,))
            )
            kaiming_uniform_(weight, a=math.sqrt(5), generator=generator)
            bound = 1 / math.sqrt(n_inputs) if n_inputs else 0
            self.weights.append(weight.T.contiguous().requires_grad_())
            self.biases.append(uniform_(bias, -bound, bound, generator=generator).requires_grad_())

    def parameters(self) -> list[torch.Tensor]:
        """Return all parameters."""
        return [*self.weights, *self.biases]

    def logits(
        self, values: torch.Tensor, dropout: float = 0.0, generator: torch.Generator | None = None
    ) -> torch.Tensor:
        """Return rows × classes."""
        for level, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if level:
                values = relu(values) if generator is None else _dropout(relu(values), dropout, generator)
            values = values @ weight + bias
        return values


def _dropout(x: torch.Tensor, share: float, generator: torch.Generator) -> torch.Tensor:
    """Set a share of the values to zero and scale the rest; torch's own takes no generator."""
    if not share:
        return x
    return x * torch.empty_like(x).bernoulli_(1 - share, generator=generator).div_(1 - share)


def _train(
    head: MLPHead,
    network: Network,
    train: Rows,
    val: Rows | None,
    weights: torch.Tensor | None,
    generator: torch.Generator,
) -> list[dict[str, Any]]:
    """Train up to the best epoch on the validation set; return a row for every epoch."""
    parameters = network.parameters()
    with uninterrupted():  # the first optimizer imports many more parts of torch
        optimizer = torch.optim.Adam(parameters, lr=head.learning_rate, foreach=True)
    history: list[dict[str, Any]] = []
    best_state = [parameter.detach().clone() for parameter in parameters]
    # By accuracy before loss: the loss rises within a few epochs, when the head becomes confident in programs
    # that fit the training graphs perfectly, long before it has learned which of them to trust.
    best, best_epoch = (-1.0, 0.0), 0
    for epoch in range(1, head.epochs + 1):
        history.append({"epoch": epoch, "loss": _epoch(head, network, optimizer, train, weights, generator)})
        stage_done(epoch, head.epochs)
        if val is None:
            continue
        loss, accuracy = _evaluate(network, val, weights)
        history[-1] |= {"val_loss": loss, "val_accuracy": accuracy}
        if (accuracy, -loss) > best:
            best, best_epoch = (accuracy, -loss), epoch
            best_state = [parameter.detach().clone() for parameter in parameters]
        if epoch - best_epoch >= head.patience:
            break
    if val is not None:
        with torch.no_grad():
            for parameter, state in zip(parameters, best_state, strict=True):
                parameter.copy_(state)
    return history


def _loss(logits: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None) -> torch.Tensor:
    """Return the cross entropy."""
    wanted = one_hot(y, logits.shape[1]).to(logits.dtype) if y.ndim == 1 else y
    if weights is not None:
        wanted = wanted * weights
    return -(wanted * log_softmax(logits, dim=1)).sum() / wanted.sum().clamp(min=1e-12)


def _epoch(
    head: MLPHead,
    network: Network,
    optimizer: Any,
    train: Rows,
    weights: torch.Tensor | None,
    generator: torch.Generator,
) -> float:
    """Go through the training data once; return the mean loss."""
    n = len(train.y)
    order = torch.randperm(n, generator=generator, device=generator.device)
    total = 0.0
    for start in range(0, n, head.batch_size):
        rows = order[start : start + head.batch_size]
        loss = _loss(network.logits(train.X[rows], head.dropout, generator), train.y[rows], weights)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        total += float(loss.detach()) * len(rows)
    return total / n


def _evaluate(network: Network, rows: Rows, weights: torch.Tensor | None) -> tuple[float, float]:
    """Return loss and accuracy; a label not trained on has no loss and is always wrong."""
    with torch.no_grad():
        logits = network.logits(rows.X)
        known = rows.y >= 0
        accuracy = float((logits.argmax(dim=1) == rows.y).float().mean())
        if not bool(known.any()):
            return float("inf"), accuracy
        return float(_loss(logits[known], rows.y[known], weights)), accuracy
