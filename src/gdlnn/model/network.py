"""The network of the head in torch: perceptrons over standardised features, several of them averaged."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Perceptron(nn.Module):
    """Linear layers with ReLU and dropout between them; without hidden layers, a linear classifier."""

    def __init__(self, n_features: int, hidden: Sequence[int], n_classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        width = n_features
        for size in hidden:
            layers += [nn.Linear(width, size), nn.ReLU(), nn.Dropout(dropout)]
            width = size
        layers.append(nn.Linear(width, n_classes))
        self.layers = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one logit per class."""
        result: torch.Tensor = self.layers(x)
        return result


class HeadNetwork(nn.Module):
    """Raw features in, log probabilities out: the mean of the members' probabilities.

    Standardisation is part of the network, so that gradients and perturbations speak of the features as the
    GDL layer gives them.
    """

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, mean: torch.Tensor, scale: torch.Tensor, members: Sequence[Perceptron]) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)
        self.members = nn.ModuleList(members)

    def standardised(self, x: torch.Tensor) -> torch.Tensor:
        """Return the features as the members take them."""
        return (x - self.mean) / self.scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one log probability per class; of one member they are its logits less a constant per row."""
        inputs = self.standardised(x)
        logs = [torch.log_softmax(member(inputs), dim=1) for member in self.members]
        if len(logs) == 1:
            return logs[0]
        return torch.logsumexp(torch.stack(logs), dim=0) - torch.log(torch.tensor(float(len(logs))))


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread, and leave the number as it was.

    Batches are tiny, so that a second thread costs more than it brings, and the order of sums, hence every
    last bit, depends on the number of threads.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch, and leave its state as it was."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def choose_device(name: str) -> torch.device:
    """Return the device of a name; "auto" is the accelerator where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(name)
