"""Perceptrons: trained perceptrons as arrays, their probabilities and what each column adds to them.

Predicting and explaining need no torch, which takes longer to import than a table to predict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import softmax

if TYPE_CHECKING:
    from collections.abc import Mapping

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Layer = tuple[npt.NDArray[Any], npt.NDArray[Any]]
POINTS, SHARES = np.polynomial.legendre.leggauss(3)
"""Points of each smooth part of a path at which gradients are taken, from -1 to 1, and their weights."""
LARGEST_ERROR = 1e-6
"""Error of the sum of contributions, as a probability, above which the parts are halved."""
MOST_HALVINGS = 4


@dataclass(frozen=True)
class Perceptrons:
    """Several perceptrons of one shape; their probabilities are averaged.

    Attributes
    ----------
    weights, biases
        Per layer, members × inputs × outputs and members × 1 × outputs. Inputs are the raw features:
        standardization is part of the first layer.
    sharpness
        A factor of the logits, which calibrates the probabilities.
    """

    weights: list[FloatArray]
    biases: list[FloatArray]
    sharpness: float = 1.0

    @classmethod
    def of(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Take the layers of an `MLPHead`."""
        mean, scale = (tensors[name].astype(np.float64) for name in ("mean", "scale"))
        levels = []
        for layers in member_layers(tensors):
            layers = [(weight.astype(np.float64), bias.astype(np.float64)) for weight, bias in layers]
            first = layers[0][0] / scale
            levels.append([(first, layers[0][1] - first @ mean), *layers[1:]])
        by_level = list(zip(*levels, strict=True))
        return cls(
            [_stored(np.stack([weight.T for weight, _ in level])) for level in by_level],
            [_stored(np.stack([bias[None] for _, bias in level])) for level in by_level],
        )

    @property
    def n_features(self) -> int:
        """Number of columns of the input."""
        return int(self.weights[0].shape[1])

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name, for a file."""
        layers = enumerate(zip(self.weights, self.biases, strict=True))
        found = {f"{name}.{i}": array for i, pair in layers for name, array in zip(_NAMES, pair, strict=True)}
        single = {name: array.astype(np.float32) for name, array in found.items()}
        return {**single, "sharpness": np.array([self.sharpness])}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Build perceptrons from what `tensors` gave; raise a ValueError where the layers do not fit."""
        n_layers = sum(name.startswith("weight.") for name in tensors)
        weights, biases = (
            [np.asarray(tensors[f"{name}.{i}"], dtype=np.float64) for i in range(n_layers)] for name in _NAMES
        )
        (sharpness,) = tensors["sharpness"].tolist()
        widths = [weights[0].shape[1], *(weight.shape[2] for weight in weights)]
        for i, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            shape = (len(weights[0]), widths[i], widths[i + 1])
            if weight.shape != shape or bias.shape != (shape[0], 1, shape[2]):
                raise ValueError(f"layer {i}: expected weights of shape {shape}, got {weight.shape}")
        if not all(np.isfinite(array).all() for array in (*weights, *biases)) or not 0 < sharpness < 1e3:
            raise ValueError("expected finite weights and a sharpness above 0")
        return cls(weights, biases, float(sharpness))

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of every member, members × rows × classes."""
        return np.asarray(softmax(self.sharpness * self.logits(X), axis=2))

    def logits(self, X: Any) -> FloatArray:
        """Return members × rows × classes, before calibration."""
        return self._rest(self._first(X) + self.biases[0])[-1]

    def _first(self, X: Any) -> FloatArray:
        """Return the products of the first layer: of thousands of programs few match a graph."""
        if isinstance(X, np.ndarray) and len(X) == 1:
            columns = np.flatnonzero(X[0])
            return np.asarray(X[:, columns] @ self.weights[0][:, columns])
        rows = csr_array(X)
        return np.stack([rows @ weight for weight in self.weights[0]])

    def _rest(self, values: FloatArray) -> list[FloatArray]:
        """Return the outputs of all layers, before ReLU, from those of the first."""
        outputs = [values]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            outputs.append(np.maximum(outputs[-1], 0) @ weight + bias)
        return outputs

    # --- what columns add -----------------------------------------------------------------------------------

    def contributions(self, X: FloatArray, baseline: FloatArray, wanted: IntArray) -> FloatArray:
        """Return what each column adds to the probability of the class `wanted` of its row.

        The gradient of the probability is integrated along the straight line from the baseline to the row.
        The first layer is linear, so that the line is one of its outputs too, and gradients there are enough.
        The sum misses at most `LARGEST_ERROR` of the change in probability, as a rule.
        """
        steps = X - baseline
        start = self._first(baseline[None])[:, 0] + self.biases[0][:, 0]
        weights = np.zeros_like(steps)
        for row, target in enumerate(wanted.tolist()):
            columns = np.flatnonzero(steps[row])
            first = self.weights[0][:, columns]
            change = (steps[row : row + 1, columns] @ first)[:, 0]
            ends = softmax(
                self.sharpness * self._rest((start + np.stack([0 * change, change])).swapaxes(0, 1))[-1],
                axis=2,
            )
            whole = float(np.diff(ends[:, :, target].mean(axis=0))[0])
            cuts = self._kinks(start, change)
            for _ in range(MOST_HALVINGS + 1):
                gradient = self._mean_gradient(start, change, target, cuts)
                found = steps[row, columns] * sum(
                    layer @ part for layer, part in zip(first, gradient, strict=True)
                )
                if abs(whole - found.sum()) <= LARGEST_ERROR:
                    break
                cuts = np.sort(np.concatenate([cuts, (cuts[1:] + cuts[:-1]) / 2]))
            weights[row, columns] = found
        return weights

    def _kinks(self, start: FloatArray, change: FloatArray) -> FloatArray:
        """Return from 0 to 1 the shares of a line where a hidden unit begins or ends to act.

        Between two of them the probability is smooth. Between those of one layer, the outputs of the next are
        linear, so that they change their sign at most once.
        """
        cuts = np.array([0.0, 1.0])
        for level in range(len(self.weights) - 1):
            outputs = self._rest(start[:, None] + cuts[:, None] * change[:, None])[level]
            before, after = outputs[:, :-1], outputs[:, 1:]
            crossed = before * after < 0
            shares = np.divide(before, before - after, out=np.zeros_like(before), where=crossed)
            places = cuts[:-1, None] + np.diff(cuts)[:, None] * shares
            cuts = np.unique(np.concatenate([cuts, places[crossed]]))
        return cuts

    def _mean_gradient(
        self, start: FloatArray, change: FloatArray, target: int, cuts: FloatArray
    ) -> FloatArray:
        """Return the mean gradient of a probability over a line of first outputs, members × outputs."""
        middles, halves = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts) / 2
        at = (middles[:, None] + halves[:, None] * POINTS).reshape(-1)
        of_point = (halves[:, None] * SHARES).reshape(-1)
        outputs = self._rest(start[:, None] + at[:, None] * change[:, None])
        chances = softmax(self.sharpness * outputs[-1], axis=2)
        own = chances[:, :, target, None]
        gradient = -chances * own
        gradient[:, :, target] += own[:, :, 0]
        gradient *= of_point[:, None] * self.sharpness / len(start)
        for weight, before in zip(reversed(self.weights[1:]), reversed(outputs[:-1]), strict=True):
            gradient = (gradient @ weight.swapaxes(1, 2)) * (before > 0)
        return np.asarray(gradient.sum(axis=1))


_NAMES = ("weight", "bias")


def layer_names(member: int, level: int) -> tuple[str, str]:
    """Return what weights and biases of a layer of an `MLPHead` are called in a file."""
    place = f"members.{member}.layers.{3 * level}"  # behind each but the last: ReLU and dropout
    return f"{place}.weight", f"{place}.bias"


def member_layers(tensors: Mapping[str, npt.NDArray[Any]]) -> list[list[Layer]]:
    """Return the layers of each perceptron of an `MLPHead`: weights, outputs × inputs, and biases."""
    members: list[list[Layer]] = []
    while layer_names(len(members), 0)[0] in tensors:
        layers: list[Layer] = []
        while (names := layer_names(len(members), len(layers)))[0] in tensors:
            layers.append((tensors[names[0]], tensors[names[1]]))
        members.append(layers)
    return members


def _stored(values: FloatArray) -> FloatArray:
    """Return what a file would hold, so that a model predicts the same before and after it is stored."""
    return np.ascontiguousarray(values, dtype=np.float32).astype(np.float64)
