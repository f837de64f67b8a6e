"""The head's network in torch, its training and its predictions.

Nothing here changes the state of the process: random numbers come from separate generators, and the number of
threads is set only for the calling thread. So fits in several threads give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import threadpoolctl
import torch
from scipy.sparse import csr_array, issparse
from sklearn.linear_model import LogisticRegression
from threadpoolctl import LibController, ThreadpoolController
from torch import nn
from torch.nn.functional import linear, log_softmax, one_hot, relu
from torch.nn.utils import skip_init

from gdlnn.graphs.schema import label_codes
from gdlnn.model.head import class_weights
from gdlnn.progress import stage_done

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.model.head import MLPHead

FloatArray = npt.NDArray[np.float64]
Table = Any  # a dense array of doubles, or a sparse one
IntArray = npt.NDArray[np.int64]
MEMBER_SEEDS = 1_000_003  # seeds of members lie so far apart that neighbouring seeds of heads share none
ROWS_AT_ONCE = 1024
"""Number of rows predicted at a time: they fit into the CPU cache."""
LINEAR_C = 0.3
"""Inverse strength of the L2 regularisation of the linear model."""


class Perceptron(nn.Module):
    """Linear layers with ReLU and dropout between them; without hidden layers, a linear classifier.

    The weights are not initialised: `initialise` draws them, or a file sets them.
    """

    def __init__(self, n_features: int, hidden: Sequence[int], n_classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        width = n_features
        for size in hidden:
            layers += [_linear(width, size), nn.ReLU(), nn.Dropout(dropout)]
            width = size
        layers.append(_linear(width, n_classes))
        self.layers = nn.Sequential(*layers)

    def initialise(self, generator: torch.Generator) -> Perceptron:
        """Draw the weights as `nn.Linear` does by default."""
        for layer in self.linear_layers:
            nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5), generator=generator)
            bound = 1 / math.sqrt(layer.in_features) if layer.in_features else 0
            nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
        return self

    @property
    def linear_layers(self) -> list[nn.Linear]:
        """The layers that have weights, from first to last."""
        return [layer for layer in self.layers if isinstance(layer, nn.Linear)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one logit per class."""
        result: torch.Tensor = self.layers(x)
        return result

    def predicted(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits without dropout and without calling modules, which takes longer than one row."""
        *hidden, last = self.linear_layers
        for layer in hidden:
            x = linear(x, layer.weight, layer.bias).relu_()
        return linear(x, last.weight, last.bias)


def _linear(n_inputs: int, n_outputs: int) -> nn.Linear:
    """Return a layer without drawing its weights, which would use torch's own generator."""
    layer: nn.Linear = skip_init(nn.Linear, n_inputs, n_outputs)  # type: ignore[no-untyped-call]
    return layer


class HeadNetwork(nn.Module):
    """Raw features in, log probabilities out: the mean of the members' probabilities.

    Standardisation is part of the network, so that gradients and perturbations refer to the features as the
    GDL layer gives them.
    """

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(
        self,
        mean: torch.Tensor,
        scale: torch.Tensor,
        members: Sequence[Perceptron],
        linear: Perceptron | None = None,
        linear_share: float = 0.0,
    ) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)
        self.members = nn.ModuleList(members)
        self.linear = linear
        self.linear_share = linear_share

    def standardised(self, x: torch.Tensor) -> torch.Tensor:
        """Return the features as the members take them."""
        return (x - self.mean) / self.scale

    def predicted(self, x: torch.Tensor) -> torch.Tensor:
        """Return one log probability per class; of one member they are its logits less a constant per row."""
        inputs = self.standardised(x)
        return self._mean([part.predicted(inputs) for part in self._parts()])

    def predicted_with_members(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the output of `predicted`, and the probabilities of each member, members × rows × classes.

        The linear model is not a member.
        """
        inputs = self.standardised(x)
        logits = [part.predicted(inputs) for part in self._parts()]
        members = [values.softmax(dim=1) for values in logits[: len(self.members)]]
        return self._mean(logits), torch.stack(members)

    def _parts(self) -> list[Perceptron]:
        members: list[Any] = list(self.members)
        return members if self.linear is None else [*members, self.linear]

    def _mean(self, logits: list[torch.Tensor]) -> torch.Tensor:
        """Return the logarithm of the mean of the parts' probabilities."""
        logs = [torch.log_softmax(values, dim=1) for values in logits]
        if self.linear is not None:
            shares = torch.full((len(logs), 1, 1), (1 - self.linear_share) / (len(logs) - 1)).to(logs[0])
            shares[-1] = self.linear_share
            return torch.logsumexp(torch.stack(logs) + shares.log(), dim=0)
        if len(logs) == 1:
            return logs[0]
        return torch.logsumexp(torch.stack(logs), dim=0) - torch.log(torch.tensor(float(len(logs))))


# --- threads and devices ----------------------------------------------------------------------------------


class _TorchMKL(LibController):  # type: ignore[misc]
    """MKL inside torch, which threadpoolctl does not know; its limit is that of the calling thread."""

    user_api = "torch"
    internal_api = "torch_mkl"
    filename_prefixes = ("libtorch_cpu",)
    check_symbols = ("MKL_Set_Num_Threads_Local",)

    def get_num_threads(self) -> int:
        """Return the limit of this thread; 0 for none."""
        before: int = self.dynlib.MKL_Set_Num_Threads_Local(0)
        self.set_num_threads(before)
        return before

    def set_num_threads(self, num_threads: int) -> None:
        """Limit this thread."""
        self.dynlib.MKL_Set_Num_Threads_Local(num_threads)

    def get_version(self) -> None:
        """Return no version: torch does not say."""


@cache
def _threads() -> ThreadpoolController:
    threadpoolctl.register(_TorchMKL)
    return ThreadpoolController().select(user_api=["openmp", "torch"])


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread, and restore the number of threads.

    Batches are small, so a second thread costs more than it gains, and the order of sums, hence every
    last bit, depends on the number of threads. `torch.set_num_threads` would also decide for other threads.
    """
    torch.get_num_threads()  # at its first use in a thread, torch sets its own number there
    with _threads().limit(limits=1):
        yield


def generator_of(seed: int, device: torch.device) -> torch.Generator:
    """Return a random generator with a seed."""
    return torch.Generator(device=device).manual_seed(seed)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's own generators, for networks of other libraries, and restore their state afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def choose_device(name: str) -> torch.device:
    """Return the device with a name; "auto" is the accelerator if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(name)


# --- training ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Standardised features, dense or sparse, and what to learn: codes, or a probability for every class."""

    X: torch.Tensor | csr_array
    y: torch.Tensor


def train_network(
    head: MLPHead,
    X: Table,
    codes: IntArray,
    held_out: tuple[Table, IntArray] | None,
    row_weights: FloatArray | None = None,
) -> tuple[HeadNetwork, list[dict[str, Any]]]:
    """Train the members of a head; return the network and its history."""
    device, n_classes, seed = choose_device(head.device), len(head.classes_), head.seed or 0
    mean, scale = _standardisation(X)
    if issparse(X) and (device.type != "cpu" or mean.any()):
        X = X.toarray()
        held_out = None if held_out is None else (held_out[0].toarray(), held_out[1])

    def rows(features: Table, wanted: npt.NDArray[Any]) -> Rows:
        if issparse(features):  # standardised by its scale alone
            scaled = csr_array(features.multiply(1 / scale[None]), dtype=np.float32)
            return Rows(scaled, torch.from_numpy(wanted))
        values = ((features - mean) / scale).astype(np.float32)
        return Rows(torch.from_numpy(values).to(device), torch.from_numpy(wanted).to(device))

    if row_weights is None:
        train = rows(X, codes)
    else:  # the targets of a row have the weight of the row
        train = rows(X, (np.eye(n_classes)[codes] * row_weights[:, None]).astype(np.float32))
    val = None if held_out is None or not held_out[0].shape[0] else rows(*held_out)
    values = class_weights(head, codes)
    weights = None if values is None else torch.tensor(values, dtype=torch.float32, device=device)
    with one_thread():
        members = []
        for member in range(head.ensemble_size):
            perceptron = Perceptron(X.shape[1], head.hidden, n_classes, head.dropout).to(device)
            generator = generator_of((seed * MEMBER_SEEDS + member) % 2**63, device)
            members.append(perceptron.initialise(generator))
        history = _train(head, Stack(members), train, val, weights, generator_of(seed, device))
    linear = _linear_model(head, X, codes, (mean, scale), row_weights) if head.share_of_linear else None
    network = HeadNetwork(
        torch.from_numpy(mean.astype(np.float32)),
        torch.from_numpy(scale.astype(np.float32)),
        members,
        linear,
        head.share_of_linear,
    )
    return network.to(device).eval(), history


def _linear_model(
    head: MLPHead,
    X: Table,
    codes: IntArray,
    standardisation: tuple[FloatArray, FloatArray],
    row_weights: FloatArray | None,
) -> Perceptron:
    """Fit a regularised linear model, and return it as a perceptron without hidden layers."""
    mean, scale = standardisation
    scaled = X if issparse(X) and not mean.any() else (X - mean) / scale
    weights = head.class_weight
    if isinstance(weights, Mapping):
        weights = dict(zip(label_codes(weights, head.classes_).tolist(), weights.values(), strict=True))
    model = LogisticRegression(C=LINEAR_C, max_iter=1000, class_weight=weights)
    model.fit(scaled, codes, sample_weight=row_weights)
    coefficients, constants = model.coef_, model.intercept_
    if len(coefficients) == 1:  # two classes: the odds of the second, shared out evenly
        coefficients, constants = (
            np.concatenate([-values, values]) / 2 for values in (coefficients, constants)
        )
    perceptron = Perceptron(X.shape[1], (), len(head.classes_))
    (layer,) = perceptron.linear_layers
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(coefficients))
        layer.bias.copy_(torch.from_numpy(constants))
    return perceptron


def _standardisation(X: Table) -> tuple[FloatArray, FloatArray]:
    """Return what to subtract and to divide by; columns of zeros and ones are unchanged."""
    if issparse(X):
        if not (X.data == 1).all():  # counts; there are few of such tables
            return _standardisation(X.toarray())
        return np.zeros(X.shape[1]), np.ones(X.shape[1])
    binary = ((X == 0) | (X == 1)).all(axis=0)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    # Equal values give a deviation of rounding errors, not of zero.
    constant = scale <= 1e-7 * np.maximum(1.0, np.abs(mean))
    return np.where(binary, 0.0, mean), np.where(binary | constant, 1.0, scale)


def _dropout(x: torch.Tensor, share: float, generator: torch.Generator) -> torch.Tensor:
    """Set a share of the values to zero and scale the rest; torch's own takes no generator."""
    if not share:
        return x
    return x * torch.empty_like(x).bernoulli_(1 - share, generator=generator).div_(1 - share)


class Stack:
    """The layers of several perceptrons stacked, so that one step trains them all.

    Steps on small batches cost calls, not arithmetic; so five members take little more than one.
    """

    def __init__(self, members: list[Perceptron]) -> None:
        self._members = members
        levels = list(zip(*(member.linear_layers for member in members), strict=True))
        self.weights = [torch.stack([layer.weight.detach().T for layer in level]) for level in levels]
        self.biases = [torch.stack([layer.bias.detach()[None] for layer in level]) for level in levels]
        for tensor in self.parameters():
            tensor.requires_grad_()
        self._gradient: torch.Tensor | None = None

    def parameters(self) -> list[torch.Tensor]:
        """Return all parameters, members along the first axis."""
        return [*self.weights, *self.biases]

    def logits(
        self, X: torch.Tensor | csr_array, dropout: float = 0.0, generator: torch.Generator | None = None
    ) -> torch.Tensor:
        """Return members × rows × classes."""
        first = torch.matmul(X, self.weights[0]) if isinstance(X, torch.Tensor) else self.sparse_product(X)
        return self.logits_after(first, dropout, generator)

    def logits_after(
        self, first: torch.Tensor, dropout: float = 0.0, generator: torch.Generator | None = None
    ) -> torch.Tensor:
        """Return members × rows × classes from the products of the first layer."""
        values = first + self.biases[0]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            values = relu(values) if generator is None else _dropout(relu(values), dropout, generator)
            values = torch.matmul(values, weight) + bias
        return values

    def sparse_product(self, X: csr_array) -> torch.Tensor:
        """Return members × rows × outputs of the first layer: of thousands of programs few match a graph."""
        weights = self.weights[0].detach().numpy()
        return torch.from_numpy(np.stack([X @ of_member for of_member in weights]))

    def set_first_gradient(self, X: csr_array, gradient: torch.Tensor) -> None:
        """Set the gradient of the first layer from that of its products."""
        touched, places = np.unique(X.indices, return_inverse=True)
        narrow = csr_array((X.data, places.astype(np.int32), X.indptr), shape=(X.shape[0], len(touched))).T
        if self._gradient is None:
            self._gradient = torch.zeros_like(self.weights[0])
        self._gradient.zero_()
        values = self._gradient.numpy()
        for member, of_member in enumerate(gradient.numpy()):
            values[member, touched] = narrow @ of_member
        self.weights[0].grad = self._gradient

    def unstack(self, states: list[torch.Tensor]) -> None:
        """Copy the layers back to the members."""
        n_levels = len(self.weights)
        with torch.no_grad():
            for number, member in enumerate(self._members):
                layers = zip(member.linear_layers, states[:n_levels], states[n_levels:], strict=True)
                for layer, weight, bias in layers:
                    layer.weight.copy_(weight[number].T)
                    layer.bias.copy_(bias[number, 0])


def _train(
    head: MLPHead,
    stack: Stack,
    train: Rows,
    val: Rows | None,
    weights: torch.Tensor | None,
    generator: torch.Generator,
) -> list[dict[str, Any]]:
    """Train the members in place, each up to its own best epoch; return a row for every member and epoch."""
    parameters = stack.parameters()
    how: Any = {"foreach": True} if isinstance(train.X, torch.Tensor) else {"fused": True}
    optimiser = torch.optim.Adam(parameters, lr=head.learning_rate, weight_decay=head.weight_decay, **how)
    history: list[dict[str, Any]] = []
    best_states = [parameter.detach().clone() for parameter in parameters]
    # By accuracy before loss: the loss rises within a few epochs, when the head becomes confident in programs
    # that fit the training graphs perfectly, long before it has learnt which of them to trust.
    best = [(-1.0, 0.0)] * head.ensemble_size
    since = [0] * head.ensemble_size
    for epoch in range(1, head.epochs + 1):
        losses = _epoch(head, stack, optimiser, train, weights, generator)
        rows = [{"member": i, "epoch": epoch, "loss": loss} for i, loss in enumerate(losses)]
        history += rows
        stage_done(epoch, head.epochs)
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
    return -(wanted * log_softmax(logits, dim=2)).sum(dim=(1, 2)) / wanted.sum().clamp(min=1e-12)


def _epoch(
    head: MLPHead,
    stack: Stack,
    optimiser: torch.optim.Optimizer,
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
        inputs = _input(train.X, rows, head.input_dropout, generator)
        sparse = not isinstance(inputs, torch.Tensor)
        if sparse:
            first = stack.sparse_product(inputs).requires_grad_()
            logits = stack.logits_after(first, head.dropout, generator)
        else:
            logits = stack.logits(inputs, head.dropout, generator)
        losses = _losses(logits, train.y[rows], weights)
        optimiser.zero_grad()
        losses.sum().backward()  # type: ignore[no-untyped-call]
        if sparse:
            assert first.grad is not None
            stack.set_first_gradient(inputs, first.grad)
        optimiser.step()
        total += losses.detach() * len(rows)
    return [value / n for value in total.tolist()]


def _input(
    X: torch.Tensor | csr_array, rows: torch.Tensor, share: float, generator: torch.Generator
) -> torch.Tensor | csr_array:
    """Return some rows with a share of their features left out."""
    if isinstance(X, torch.Tensor):
        return _dropout(X[rows], share, generator)
    chosen = X[rows.numpy()]
    chosen.data = _dropout(torch.from_numpy(chosen.data), share, generator).numpy()
    return chosen


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


def log_probabilities(network: HeadNetwork, X: FloatArray) -> FloatArray:
    """Return the log probabilities of features."""
    device = network.mean.device
    parts: list[FloatArray] = []
    with one_thread(), torch.inference_mode():
        for start in range(0, max(1, len(X)), ROWS_AT_ONCE):
            rows = X[start : start + ROWS_AT_ONCE].astype(np.float32)
            parts.append(network.predicted(torch.from_numpy(rows).to(device)).double().cpu().numpy())
    return np.concatenate(parts)


def log_and_member_probabilities(network: HeadNetwork, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the log probabilities of features, and the probabilities of each member of the ensemble."""
    device = network.mean.device
    parts: list[tuple[FloatArray, FloatArray]] = []
    with one_thread(), torch.inference_mode():
        for start in range(0, max(1, len(X)), ROWS_AT_ONCE):
            rows = torch.from_numpy(X[start : start + ROWS_AT_ONCE].astype(np.float32)).to(device)
            logs, members = network.predicted_with_members(rows)
            parts.append((logs.double().cpu().numpy(), members.double().cpu().numpy()))
    return np.concatenate([logs for logs, _ in parts]), np.concatenate([said for _, said in parts], axis=1)
