"""ModelView: what explanations need to know of a fitted GDLNNClassifier, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.split_head import SplitHead
from gdlnn.explain.techniques.base import Background, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Graph
    from gdlnn.model import GDLNNClassifier

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_T = TypeVar("_T")
# What techniques keep per model; it goes when the model goes, and is dropped when the model is fitted again.
_CACHES: WeakKeyDictionary[Any, tuple[Any, dict[Any, Any]]] = WeakKeyDictionary()


class ModelView:
    """A fitted classifier as explanations see it: programs, classes, and a head over representations.

    Columns of the representation that are no programs (pooled features) are held at the explained graph's
    own values: what is explained is the part that programs play.

    Parameters
    ----------
    model
        The classifier.
    background
        Graphs to take the frequencies of values from; by default what mining counted on the training
        graphs. A model that counts matches needs them.
    """

    def __init__(self, model: GDLNNClassifier, background: Sequence[Graph] | None = None) -> None:
        self.model = model
        self.programs: list[Program] = model.programs_.programs
        self.labels: list[Any] = model.programs_.labels
        self.classes: npt.NDArray[Any] = np.asarray(model.classes_)
        self.n_programs = len(self.programs)
        self._background_graphs = background
        self._split: SplitHead | None = None
        self._own_cache: dict[Any, Any] = {}

    @property
    def step_budget(self) -> int | None:
        """Most steps of one search, as the model predicts with."""
        budget: int | None = self.model.layer_.step_budget
        return budget

    def background(self) -> Background:
        """Return how often each program had which value in training."""
        if self._background_graphs is not None:
            table = self.model.transform(list(self._background_graphs))[:, : self.n_programs]
            return Background.from_representations(table)
        if self.model.activation != "exists":
            raise ExplanationError(
                f"background: expected training graphs, since the model counts matches (activation "
                f"{self.model.activation!r}) and keeps no frequencies of counts; give background=graphs"
            )
        if not self.n_programs:
            return Background([], [])
        return Background.from_shares(self.model.programs_.supports.mean(axis=0))

    def problem(self, table: FloatArray, targets: IntArray, n_features: int, seed: int) -> Problem:
        """Return the question for a technique, about graphs with these representations."""
        values = np.ascontiguousarray(table[:, : self.n_programs])
        others = np.ascontiguousarray(table[:, self.n_programs :])
        self._split = self._split_head() if others.shape[1] else None
        return Problem(
            values=values,
            targets=targets,
            predict=lambda rows, graph: self._predict(rows, others, graph),
            background=self._kept("background", self.background),
            n_features=n_features,
            seed=seed,
            shared=others.shape[1] == 0,
            network=self._network(others),
            linear=self._linear(),
            cache=self._cache(),
        )

    def probabilities(self, table: FloatArray) -> FloatArray:
        """Return the head's probabilities for whole representations."""
        if not len(table):
            return np.zeros((0, len(self.classes)))
        head = self.model.head_
        if hasattr(head, "predict_proba"):
            return np.asarray(head.predict_proba(table), dtype=np.float64)
        said = np.asarray(head.predict(table))
        return np.asarray(said[:, None] == self.classes[None, :], dtype=np.float64)

    def _predict(self, rows: FloatArray, others: FloatArray, graph: int) -> FloatArray:
        if not others.shape[1]:
            return self.probabilities(rows)
        if self._split is not None:
            return self._split.probabilities(rows, others[graph])
        fixed = np.broadcast_to(others[graph], (len(rows), others.shape[1]))
        return self.probabilities(np.hstack([rows, fixed]))

    def _network(self, others: FloatArray) -> Callable[[int], Callable[[Any], Any]] | None:
        network = getattr(self.model.head_, "network_", None)
        if network is None:
            return None

        def of_graph(graph: int) -> Callable[[Any], Any]:
            import torch

            device = next(network.parameters()).device
            fixed = torch.from_numpy(others[graph].astype(np.float32)).to(device)
            return lambda x: network(torch.cat([x.to(device), fixed.expand(len(x), -1)], dim=1))

        return of_graph

    def _linear(self) -> FloatArray | None:
        try:
            weights = np.asarray(self.model.head_.coef_, dtype=np.float64)
        except AttributeError:
            return None
        if len(weights) == 1 and len(self.classes) == 2:  # scikit-learn keeps the second class alone
            weights = np.concatenate([-weights, weights])
        return np.asarray(weights[:, : self.n_programs])

    def _split_head(self) -> SplitHead | None:
        return self._kept("head", lambda: SplitHead.of(self.model.head_, self.n_programs))

    def _kept(self, name: str, make: Callable[[], _T]) -> _T:
        """Return what was made for this model before, or make it."""
        cache = self._cache()
        if (name,) not in cache:
            cache[name,] = make()
        kept: _T = cache[name,]
        return kept

    def _cache(self) -> dict[Any, Any]:
        if self._background_graphs is not None:
            return self._own_cache  # another background, other samples
        kept = _CACHES.get(self.model)
        if kept is None or kept[0] is not self.model.head_:
            kept = (self.model.head_, {})
            _CACHES[self.model] = kept
        return kept[1]
