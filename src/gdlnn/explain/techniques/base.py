"""What every technique is given and gives: a Problem over the GDL layer in, weights of programs out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Background:
    """How often each program had which value on the training graphs.

    Parameters
    ----------
    values
        Per program its values in training, rising.
    frequencies
        Per program how often each of them occurred; they add up to one.
    """

    def __init__(self, values: list[FloatArray], frequencies: list[FloatArray]) -> None:
        self.values = values
        self.frequencies = frequencies
        self.is_binary = all(np.isin(of_one, (0.0, 1.0)).all() for of_one in values)
        """Whether every program either matches or does not."""

    @classmethod
    def from_shares(cls, shares: FloatArray) -> Background:
        """Build the background of programs that match a share of the training graphs or do not."""
        both = np.array([0.0, 1.0])
        return cls([both] * len(shares), [np.array([1.0 - share, share]) for share in shares.tolist()])

    @classmethod
    def from_representations(cls, representations: FloatArray) -> Background:
        """Build the background from the representations of the training graphs."""
        columns = [np.unique(column, return_counts=True) for column in representations.T]
        return cls([v for v, _ in columns], [counts / counts.sum() for _, counts in columns])

    @cached_property
    def means(self) -> FloatArray:
        """The mean value of each program."""
        pairs = zip(self.values, self.frequencies, strict=True)
        return np.array([float(values @ shares) for values, shares in pairs])

    def shares_of(self, representations: FloatArray) -> FloatArray:
        """Return how often each value of some representations occurred in training, graphs × programs."""
        if self.is_binary:
            return np.where(representations > 0, self.means, 1.0 - self.means)
        columns = [
            np.where(column[:, None] == values, shares, 0.0).sum(axis=1)
            for column, values, shares in zip(representations.T, self.values, self.frequencies, strict=True)
        ]
        return np.stack(columns, axis=1)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n representations, each program on its own from what it was in training."""
        if self.is_binary:
            return (rng.random((n, len(self.values))) < self.means).astype(np.float64)
        columns = [
            rng.choice(values, size=n, p=shares)
            for values, shares in zip(self.values, self.frequencies, strict=True)
        ]
        return np.stack(columns, axis=1)


@dataclass(frozen=True)
class Problem:
    """The question a technique answers: which programs made the model say what it said.

    Attributes
    ----------
    values
        Representations of the graphs, graphs × programs.
    targets
        Per graph the position of the class to explain.
    predict
        ``predict(representations, row)`` gives probabilities, rows × classes. `row` names the graph whose
        other inputs (pooled features) the model is given; where `shared`, it makes no difference.
    background
        How often each program had which value in training.
    n_features
        How many programs are wanted; a technique may give weights to more.
    seed
        Seed of whatever is random.
    shared
        Whether the model looks at the programs alone, so that what it says of a representation holds for
        every graph.
    network
        ``network(row)`` gives a torch function from representations to log probabilities, differentiable;
        None where the head is no network.
    linear
        Weights (classes × programs) where the head is linear, else None.
    cache
        Where a technique may keep what depends on the model and the seed alone.
    matching_only
        Whether only programs that match the graph are wanted; a technique may give weights to others.
    """

    values: FloatArray
    targets: IntArray
    predict: Callable[[FloatArray, int], FloatArray]
    background: Background
    n_features: int
    seed: int
    shared: bool = True
    network: Callable[[int], Callable[[Any], Any]] | None = None
    linear: FloatArray | None = None
    cache: dict[Any, Any] | None = None
    matching_only: bool = False

    def own_probabilities(self) -> FloatArray:
        """Return per graph the probability of its target class."""
        if self.shared:
            said = self.predict(self.values, 0)
            return np.asarray(said[np.arange(len(said)), self.targets])
        rows = range(len(self.values))
        single = [self.predict(self.values[i : i + 1], i)[0, self.targets[i]] for i in rows]
        return np.array(single, dtype=np.float64)


class Instead(NamedTuple):
    """Weights and quality by another technique, its name and its settings."""

    technique: str
    options: Mapping[str, Any]
    weights: FloatArray
    quality: FloatArray


class Attribution(NamedTuple):
    """Weights per graph and program, zero for programs that play no part.

    Attributes
    ----------
    weights
        Graphs × programs.
    quality
        Per graph how well the weights describe the model nearby (R² for LIME), or None.
    instead
        What another technique says of graphs for which none of the weighed programs matches, in rows of its
        own; rows of zeros elsewhere. None where there is no such technique.
    """

    weights: FloatArray
    quality: FloatArray | None = None
    instead: Instead | None = None


@runtime_checkable
class Technique(Protocol):
    """A way to tell which programs matter. Options are attributes of the object, fixed when it is made."""

    name: str

    def attribute(self, problem: Problem) -> Attribution:
        """Weigh the programs for each graph of the problem."""
        ...

    def options(self) -> Mapping[str, Any]:
        """Return the settings that decide the result, for the record."""
        ...
