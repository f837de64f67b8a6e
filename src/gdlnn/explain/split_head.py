"""SplitHead: the head over many samples of program values, with the other features of one graph at a time.

The first layer is linear, so that what the samples add to it is the same for every graph. It is worked out
once; a graph then costs its own few features and the small layers above.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    FloatArray = npt.NDArray[np.float64]
    SingleArray = npt.NDArray[np.float32]


class SplitHead:
    """The perceptrons of an `MLPHead`, with the first layer cut between programs and other features.

    Parameters
    ----------
    members
        Per perceptron its layers as (weight, bias), from first to last, ReLU between them.
    mean, scale
        The standardisation of the inputs.
    n_programs
        How many of the inputs are programs.
    """

    def __init__(
        self,
        members: list[list[tuple[SingleArray, SingleArray]]],
        mean: SingleArray,
        scale: SingleArray,
        n_programs: int,
    ) -> None:
        self._n_members = len(members)
        self._above = [_side_by_side([layers[i] for layers in members]) for i in range(1, len(members[0]))]
        first = np.concatenate([layers[0][0] for layers in members]) / scale
        bias = np.concatenate([layers[0][1] for layers in members]) - first @ mean
        self._of_programs = np.ascontiguousarray(first[:, :n_programs].T)
        self._of_others = np.ascontiguousarray(first[:, n_programs:].T)
        self._bias = bias
        self._last: tuple[FloatArray, SingleArray] | None = None

    @classmethod
    def of(cls, head: Any, n_programs: int) -> Self | None:
        """Take a fitted head apart; None where it is another kind of classifier."""
        network = getattr(head, "network_", None)
        if network is None or not hasattr(network, "members"):
            return None
        members = []
        for member in network.members:
            linear = [layer for layer in member.layers if hasattr(layer, "weight")]
            members.append([(_array(layer.weight), _array(layer.bias)) for layer in linear])
        return cls(members, _array(network.mean), _array(network.scale), n_programs)

    def probabilities(self, rows: FloatArray, others: FloatArray) -> FloatArray:
        """Return rows × classes for program values and the other features of one graph."""
        x = self._samples(rows) + (others.astype(np.float32) @ self._of_others + self._bias)
        for weight, bias in self._above:
            np.maximum(x, 0, out=x)
            x = np.asarray(x @ weight + bias, dtype=np.float32)
        return _softmax(x.reshape(len(rows), self._n_members, -1).astype(np.float64))

    def _samples(self, rows: FloatArray) -> SingleArray:
        """Return what the samples add to the first layer; the last ones asked about are remembered."""
        if self._last is not None and self._last[0] is rows:
            return self._last[1]
        added: SingleArray = np.asarray(rows.astype(np.float32) @ self._of_programs, dtype=np.float32)
        if len(rows) > 1:
            self._last = (rows, added)
        return added


def _softmax(scores: FloatArray) -> FloatArray:
    """Return the mean over members of softmax; class by class, since reductions over so few are slow."""
    classes = [scores[:, :, i] for i in range(scores.shape[2])]
    highest = classes[0]
    for of_class in classes[1:]:
        highest = np.maximum(highest, of_class)
    powers = [np.exp(of_class - highest) for of_class in classes]
    total = sum(powers[1:], powers[0])
    return np.stack([(power / total).mean(axis=1) for power in powers], axis=1)


def _side_by_side(layers: list[tuple[SingleArray, SingleArray]]) -> tuple[SingleArray, SingleArray]:
    """Return the layers of several perceptrons as one: blocks on the diagonal, zeros elsewhere."""
    from scipy.linalg import block_diag

    weight = np.ascontiguousarray(block_diag(*(w.T for w, _ in layers)), dtype=np.float32)
    return weight, np.concatenate([bias for _, bias in layers])


def _array(tensor: Any) -> SingleArray:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float32)
