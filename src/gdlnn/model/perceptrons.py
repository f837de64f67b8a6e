"""Perceptrons: trained perceptrons as arrays, their probabilities and what each column adds to them.

Predicting and explaining need no torch, which takes longer to import than a table to predict.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from collections.abc import Mapping

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Layer = tuple[npt.NDArray[Any], npt.NDArray[Any]]
POINTS, SHARES = np.polynomial.legendre.leggauss(6)
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
        return _softmax(self.sharpness * self.logits(X))

    def logits(self, X: Any) -> FloatArray:
        """Return members × rows × classes, before calibration."""
        return self._rest(self._first(X) + self.biases[0])[-1]

    @cached_property
    def _inputs(self) -> FloatArray:
        """The weights of the first layer, inputs × (members × outputs), those of an input in one piece."""
        return np.ascontiguousarray(self.weights[0].swapaxes(0, 1).reshape(self.n_features, -1))

    def _first(self, X: Any) -> FloatArray:
        """Return the products of the first layer: of thousands of programs few match a graph."""
        if isinstance(X, np.ndarray) and len(X) == 1:
            columns = np.flatnonzero(X[0])
            return np.asarray(X[0, columns] @ self._inputs[columns]).reshape(len(self.weights[0]), 1, -1)
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
        steps, members = X - baseline, np.arange(len(self.weights[0]))
        start = self._first(baseline[None])[:, 0] + self.biases[0][:, 0]
        weights = np.zeros_like(steps)
        for row, target in enumerate(wanted.tolist()):
            columns = np.flatnonzero(steps[row])
            first = self._inputs[columns]
            change = (steps[row, columns] @ first).reshape(start.shape)
            before, after = (
                _softmax(self.sharpness * self._along(start, change, members, np.full(len(members), at))[-1])
                for at in (0.0, 1.0)
            )
            whole = float((after - before)[:, target].mean())
            parts = self._smooth_parts(start, change)
            for _ in range(MOST_HALVINGS + 1):
                gradient = self._mean_gradient(start, change, target, *parts)
                found = steps[row, columns] * (first @ gradient.reshape(-1))
                if abs(whole - found.sum()) <= LARGEST_ERROR:
                    break
                owner, lower, upper = parts
                middle = (lower + upper) / 2
                halves = np.stack([lower, middle], axis=1), np.stack([middle, upper], axis=1)
                parts = np.repeat(owner, 2), halves[0].reshape(-1), halves[1].reshape(-1)
            weights[row, columns] = found
        return weights

    def _along(
        self, start: FloatArray, change: FloatArray, members: IntArray, at: FloatArray
    ) -> list[FloatArray]:
        """Return the outputs of all layers of members, each at a share of the line of its first outputs."""
        outputs = [start[members] + at[:, None] * change[members]]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            hidden = np.maximum(outputs[-1], 0)[:, None]
            outputs.append((hidden @ weight[members] + bias[members])[:, 0])
        return outputs

    def _smooth_parts(self, start: FloatArray, change: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """Cut the line of each member where a hidden unit begins or ends to act; between, it is smooth.

        Between the cuts of one layer, the outputs of the next are linear, so that they change their sign at
        most once. Returned are the member of each part, and from where to where it goes, from 0 to 1.
        """
        owner = np.arange(len(start))
        lower, upper = np.zeros(len(start)), np.ones(len(start))
        for level in range(len(self.weights) - 1):
            before = self._along(start, change, owner, lower)[level]
            after = self._along(start, change, owner, upper)[level]
            part, unit = np.nonzero(before * after < 0)
            share = before[part, unit] / (before[part, unit] - after[part, unit])
            cuts = lower[part] + (upper - lower)[part] * share
            order = np.lexsort(
                (at := np.concatenate([lower, cuts]), whose := np.concatenate([owner, owner[part]]))
            )
            owner, lower = whose[order], at[order]
            upper = np.append(lower[1:], 1.0)
            upper[np.append(owner[1:] != owner[:-1], True)] = 1.0
        return owner, lower, upper

    def _mean_gradient(
        self,
        start: FloatArray,
        change: FloatArray,
        target: int,
        owner: IntArray,
        lower: FloatArray,
        upper: FloatArray,
    ) -> FloatArray:
        """Return the mean gradient of a probability over a line of first outputs, members × outputs."""
        halves = (upper - lower)[:, None] / 2
        at, share = (lower[:, None] + halves * (1 + POINTS)).reshape(-1), (halves * SHARES).reshape(-1)
        members = np.repeat(owner, len(POINTS))
        outputs = self._along(start, change, members, at)
        chances = _softmax(self.sharpness * outputs[-1])
        own = chances[:, target, None]
        gradient = -chances * own
        gradient[:, target] += own[:, 0]
        gradient *= share[:, None] * self.sharpness / len(start)
        for weight, before in zip(reversed(self.weights[1:]), reversed(outputs[:-1]), strict=True):
            gradient = (weight[members] @ gradient[:, :, None])[:, :, 0] * (before > 0)
        first = np.searchsorted(members, np.arange(len(start)))
        return np.asarray(np.add.reduceat(gradient, first))


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


def _softmax(logits: FloatArray) -> FloatArray:
    """Return the probabilities of logits over the last axis; for a few rows SciPy's takes far longer."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _stored(values: FloatArray) -> FloatArray:
    """Return what a file would hold, so that a model predicts the same before and after it is stored."""
    return np.ascontiguousarray(values, dtype=np.float32).astype(np.float64)
