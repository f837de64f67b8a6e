"""Context and Attribution: what a technique gets, and what it returns. Graphs are not matched again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdlnn.errors import ExplanationError
from gdlnn.explain.explanation import plain
from gdlnn.model.calibration import Calibration

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
SingleArray = npt.NDArray[np.float32]

# Caches per model; dropped with the model, and when the model is fitted again.
_CACHES: WeakKeyDictionary[Any, tuple[Any, dict[Any, Any]]] = WeakKeyDictionary()


class Attribution(NamedTuple):
    """Weights per graph and program, zero for unimportant programs.

    Attributes
    ----------
    weights
        Graphs × programs.
    quality
        Per graph how well the weights describe the model nearby (R² for LIME), or None.
    baseline
        Per graph the log odds of the target where no program is present, if weights are what present
        programs add to them; else None.
    others
        Per graph what pooled features add to the log odds, where weights are such contributions.
    absent
        Graphs × programs: what the absence of a program adds, compared with a graph that has it as often as
        training graphs do; zero for present programs. None where that is not known.
    """

    weights: FloatArray
    quality: FloatArray | None = None
    baseline: FloatArray | None = None
    others: FloatArray | None = None
    absent: FloatArray | None = None


@dataclass(frozen=True)
class Context:
    """The input of a technique, which finds the programs that moved the prediction of each graph.

    Attributes
    ----------
    values
        What the programs find in the graphs, graphs × programs.
    targets
        Per graph the position of the class to explain.
    predict
        ``predict(values, row)`` gives probabilities, rows × classes. `row` names the graph whose pooled
        features the model is given; without such features it makes no difference.
    means
        The share of training graphs that each program matches; None where programs count matches.
    n_features
        How many programs are requested; a technique may give weights to more.
    seed
        Random seed.
    linear
        Weights (classes × programs) where the head is linear, else None.
    matching_only
        Whether only matching programs are requested; a technique may give weights to others.
    split
        The split head, if it consists of perceptrons; else None.
    others
        The pooled features of the graphs, or None.
    """

    values: FloatArray
    targets: IntArray
    predict: Callable[[FloatArray, int], FloatArray]
    means: FloatArray | None
    n_features: int
    seed: int = 0
    linear: FloatArray | None = None
    matching_only: bool = False
    split: SplitHead | None = None
    others: FloatArray | None = None

    def target_probabilities(self) -> FloatArray:
        """Return per graph the probability of its target class."""
        if self.others is None:
            chances = self.predict(self.values, 0)
            return np.asarray(chances[np.arange(len(chances)), self.targets])
        rows = range(len(self.values))
        single = [self.predict(self.values[i : i + 1], i)[0, self.targets[i]] for i in rows]
        return np.array(single, dtype=np.float64)

    def known_means(self, technique: str) -> FloatArray:
        """Return the means for a technique that needs them."""
        if self.means is None:
            raise ExplanationError(
                f"technique {technique!r}: expected a model with the activation 'exists', got one that "
                "counts matches; use 'contribution'"
            )
        return self.means


def make_context(
    model: GDLNNClassifier,
    representation: Representation,
    targets: IntArray,
    n_features: int,
    seed: int = 0,
    *,
    matching_only: bool = False,
) -> Context:
    """Return the context of represented graphs.

    Parameters
    ----------
    model
        The classifier.
    representation
        The graphs as the model represents them.
    targets, n_features, seed, matching_only
        See `Context`.
    """
    n_programs = len(model.programs_)
    others = np.ascontiguousarray(representation.features[:, n_programs:])
    cache = model_cache(model)
    if "means" not in cache:
        exists = model.activation == "exists"
        cache["means"] = model.programs_.frequencies if exists else None
        cache["split"] = SplitHead.of(model.head_, n_programs, model.calibration_)

    def predict(rows: FloatArray, graph: int) -> FloatArray:
        if not others.shape[1]:
            return model.head_probabilities(rows)
        split: SplitHead | None = cache["split"]
        if split is not None:
            return split.probabilities(rows, others[graph])
        fixed = np.broadcast_to(others[graph], (len(rows), others.shape[1]))
        return model.head_probabilities(np.hstack([rows, fixed]))

    return Context(
        values=np.ascontiguousarray(representation.features[:, :n_programs]),
        targets=targets,
        predict=predict,
        means=cache["means"],
        n_features=n_features,
        seed=seed,
        linear=_linear(model),
        matching_only=matching_only,
        split=cache["split"],
        others=others if others.shape[1] else None,
    )


def target_codes(representation: Representation, target: Any) -> IntArray:
    """Return per graph the position of the class to explain: a given one, or the predicted one for None."""
    if target is None:
        return representation.codes
    labels = representation.classes.tolist()
    if plain(target) not in labels:
        known = ", ".join(map(repr, labels))
        raise ExplanationError(f"target: expected one of the classes {known}, got {target!r}")
    return np.full(len(representation), labels.index(plain(target)), dtype=np.int64)


def model_cache(model: GDLNNClassifier) -> dict[Any, Any]:
    """Return the cache of a model's explanations, valid until it is fitted again."""
    kept = _CACHES.get(model)
    if kept is None or kept[0] is not model.head_:
        kept = (model.head_, {})
        _CACHES[model] = kept
    return kept[1]


def _linear(model: GDLNNClassifier) -> FloatArray | None:
    try:
        weights = np.asarray(model.head_.coef_, dtype=np.float64)
    except AttributeError:
        return None
    if len(weights) == 1 and len(model.classes_) == 2:  # scikit-learn keeps the second class alone
        weights = np.concatenate([-weights, weights])
    return np.asarray(model.calibration_.scale * weights[:, : len(model.programs_)])


# --- gradients of the head --------------------------------------------------------------------------------


class SplitHead:
    """The perceptrons of an `MLPHead`, with the first layer cut between programs and other features.

    The first layer is linear, so that what samples of program values add to it is the same for every graph.

    Parameters
    ----------
    members
        Per perceptron its layers as (weight, bias), from first to last, ReLU between them.
    mean, scale
        The standardisation of the inputs.
    n_programs
        How many of the inputs are programs.
    linear, linear_share
        The layer of a linear model, and its weight in the average of probabilities; None: there is none.
    calibration
        The calibration of the average.
    """

    def __init__(
        self,
        members: list[list[tuple[SingleArray, SingleArray]]],
        mean: SingleArray,
        scale: SingleArray,
        n_programs: int,
        linear: tuple[SingleArray, SingleArray] | None = None,
        linear_share: float = 0.0,
        calibration: Calibration | None = None,
    ) -> None:
        self._calibration = calibration or Calibration()
        self._n_members = len(members)
        self._linear_share = linear_share
        self._above = [_side_by_side([layers[i] for layers in members]) for i in range(1, len(members[0]))]
        beside = [] if linear is None else [linear]
        self._n_first = sum(len(layers[0][1]) for layers in members)
        first = np.concatenate([weight for weight, _ in [*(m[0] for m in members), *beside]]) / scale
        bias = np.concatenate([bias for _, bias in [*(m[0] for m in members), *beside]]) - first @ mean
        self._of_programs = np.ascontiguousarray(first[:, :n_programs].T)
        self._of_others = np.ascontiguousarray(first[:, n_programs:].T)
        self._bias = bias
        self._others_mean = mean[n_programs:]
        self._last: tuple[FloatArray, SingleArray] | None = None

    @classmethod
    def of(cls, head: Any, n_programs: int, calibration: Calibration | None = None) -> Self | None:
        """Split a fitted head; return None for another kind of classifier."""
        network = getattr(head, "network_", None)
        if network is None or not hasattr(network, "members"):
            return None
        members = [
            [(_array(layer.weight), _array(layer.bias)) for layer in member.linear_layers]
            for member in network.members
        ]
        linear = None
        if network.linear is not None:
            (layer,) = network.linear.linear_layers
            linear = (_array(layer.weight), _array(layer.bias))
        scaling = _array(network.mean), _array(network.scale)
        return cls(members, *scaling, n_programs, linear, network.linear_share, calibration)

    def probabilities(self, values: FloatArray, others: FloatArray) -> FloatArray:
        """Return rows × classes for program values and the other features of one graph."""
        both = self._samples(values) + (others.astype(np.float32) @ self._of_others + self._bias)
        x, linear = both[:, : self._n_first], both[:, self._n_first :]
        for weight, bias in self._above:
            np.maximum(x, 0, out=x)
            x = np.asarray(x @ weight + bias, dtype=np.float32)
        found = _softmax(x.reshape(len(values), self._n_members, -1).astype(np.float64)).mean(axis=1)
        if linear.shape[1]:
            beside = _softmax(linear[:, None].astype(np.float64))[:, 0]
            found = (1 - self._linear_share) * found + self._linear_share * beside
        return self._calibration.apply(found)

    def _samples(self, values: FloatArray) -> SingleArray:
        """Return what the samples add to the first layer; the last ones are cached."""
        last = self._last  # another thread may replace it
        if last is None or last[0] is not values:
            added = np.asarray(values.astype(np.float32) @ self._of_programs, dtype=np.float32)
            last = self._last = (values, added)
        return last[1]

    # --- along the path from no program to those that are present -------------------------------------------

    def path(
        self, values: FloatArray, others: FloatArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the start of the path, and what programs and pooled features add, at the first layer.

        It begins where no program is present and pooled features are at their mean in training.
        """
        of_others = self._of_others.astype(np.float64)
        start = np.tile(self._bias.astype(np.float64) + self._others_mean @ of_others, (len(values), 1))
        rows, columns = np.nonzero(values)
        table = csr_array((values[rows, columns], (rows, columns)), shape=values.shape)
        added = np.asarray(table @ self.program_weights)  # few programs are present
        if others is None:
            return start, added, np.zeros_like(start)
        return start, added, (others - self._others_mean) @ of_others

    @cached_property
    def program_weights(self) -> FloatArray:
        """The first layer, programs × its outputs."""
        return self._of_programs.astype(np.float64)

    def log_odds(self, first: FloatArray, targets: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the log odds of a class per row, and their gradients, from outputs of the first layer."""
        rows = np.arange(len(first))
        x, linear = first[:, : self._n_first], first[:, self._n_first :]
        inputs = []
        for weight, bias in self._above:
            inputs.append(x)
            x = np.maximum(x, 0) @ weight.astype(np.float64) + bias
        share = (1 - self._linear_share) / self._n_members
        soft = _softmax(x.reshape(len(first), self._n_members, -1))
        beside = _softmax(linear[:, None]) if linear.shape[1] else None
        chances = share * soft.sum(axis=1)
        if beside is not None:
            chances = chances + self._linear_share * beside[:, 0]
        chances = np.maximum(chances, 1e-300)
        moved, turn = self._calibrated(chances)
        own = moved[rows, targets]
        rest = np.maximum(moved.sum(axis=1) - own, 1e-300)
        slope = np.repeat(-1 / rest[:, None], chances.shape[1], axis=1)
        slope[rows, targets] = 1 / own
        slope *= turn
        back = share * soft * (slope[:, None] - (slope[:, None] * soft).sum(axis=2, keepdims=True))
        gradient = back.reshape(len(first), -1)
        for (weight, _), before in zip(reversed(self._above), reversed(inputs), strict=True):
            gradient = (gradient @ weight.T.astype(np.float64)) * (before > 0)
        if beside is not None:
            turned = beside[:, 0] * (slope - (slope * beside[:, 0]).sum(axis=1, keepdims=True))
            gradient = np.hstack([gradient, self._linear_share * turned])
        return np.log(own) - np.log(rest), gradient

    def _calibrated(self, chances: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """Return calibrated probabilities up to a factor per row, and their derivatives."""
        if self._calibration.is_identity:
            return chances, 1.0
        scale = self._calibration.scale
        factors = np.exp([0.0, self._calibration.offset]) if chances.shape[1] == 2 else 1.0
        moved = np.maximum(chances**scale * factors, 1e-300)
        return moved, scale * moved / chances


def _softmax(scores: FloatArray) -> FloatArray:
    """Return the softmax over the last axis."""
    powers = np.exp(scores - scores.max(axis=2, keepdims=True))
    return np.asarray(powers / powers.sum(axis=2, keepdims=True))


def _side_by_side(layers: list[tuple[SingleArray, SingleArray]]) -> tuple[SingleArray, SingleArray]:
    """Return the layers of several perceptrons as one: blocks on the diagonal, zeros elsewhere."""
    from scipy.linalg import block_diag

    weight = np.ascontiguousarray(block_diag(*(w.T for w, _ in layers)), dtype=np.float32)
    return weight, np.concatenate([bias for _, bias in layers])


def _array(tensor: Any) -> SingleArray:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float32)
