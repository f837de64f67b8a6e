"""Representation: features, matches and predictions of graphs, computed once; in batches for large sets.

Memory does not grow with the length of a stream: only a few batches are in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gdlnn.io.frames import data_frame, html_table
from gdlnn.jobs import run_jobs
from gdlnn.model.domain import DomainAnswer
from gdlnn.model.inputs import check_probabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gdlnn.datasets.resolve import Batch
    from gdlnn.graphs import Graph
    from gdlnn.io.frames import Columns
    from gdlnn.model.base import GraphClassifier
    from gdlnn.model.calibration import Decision
    from gdlnn.model.domain import Domain, DomainName
    from gdlnn.model.seen import SeenGraphs

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FEW_BATCHES = 16
"""An input of fewer batches is predicted sooner than other processes have started."""


class Prediction(NamedTuple):
    """The prediction for one graph.

    Attributes
    ----------
    label, probability
        The predicted label, and its probability.
    probabilities
        Of all classes, in their order.
    uncertainty
        The standard deviation of the probability over the ensemble, see `GDLNNClassifier.uncertainty`; None
        for a model of one member.
    seen
        Whether the model was trained on the graph; None if unknown.
    domain, domain_reason
        Whether the graph is like the training graphs, and why not, see `DomainAnswer`.
    """

    label: Any
    probability: float
    probabilities: list[float]
    uncertainty: float | None = None
    seen: bool | None = None
    domain: DomainName | None = None
    domain_reason: str = ""


@dataclass(frozen=True, eq=False)
class Representation:
    """Features, matches and predictions of graphs.

    Attributes
    ----------
    graphs
        The graphs.
    features
        The input of the head: one column per program, then pooled features.
    matches
        Graphs × programs: which programs match.
    probabilities
        Graphs × classes.
    classes
        The labels of the classes.
    decision
        The rule that decides a class from probabilities; None: the most probable class.
    trained_on
        The graphs that the model was trained on; None if unknown.
    domain
        The record of what training graphs are like; None if unknown.
    spread
        Returns how much the members of an ensemble disagree on each graph; None where there are none.
    members
        What each member of an ensemble says, members × graphs × classes; None where there are none.
    """

    graphs: list[Graph]
    features: FloatArray
    matches: BoolArray
    probabilities: FloatArray
    classes: npt.NDArray[Any]
    decision: Decision | None = None
    trained_on: SeenGraphs | None = None
    domain: Domain | None = None
    spread: Callable[[Representation], FloatArray | None] | None = None
    members: FloatArray | None = None

    def __post_init__(self) -> None:
        check_probabilities(self.probabilities)

    def __len__(self) -> int:
        return len(self.graphs)

    @property
    def codes(self) -> IntArray:
        """The position of the predicted class of every graph."""
        if self.decision is not None:
            return self.decision.codes(self.probabilities)
        return np.asarray(self.probabilities.argmax(axis=1), dtype=np.int64)

    @property
    def labels(self) -> npt.NDArray[Any]:
        """The predicted label of every graph."""
        return np.asarray(self.classes[self.codes])

    @cached_property
    def seen(self) -> list[bool | None]:
        """Whether the model was trained on each graph; None if unknown."""
        if self.trained_on is None:
            return [None] * len(self)
        return list(self.trained_on.contains(self.graphs).tolist())

    @cached_property
    def uncertainty(self) -> list[float | None]:
        """How much the members of the ensemble disagree on each graph; None for a model of one member."""
        found = None if self.spread is None else self.spread(self)
        return [None] * len(self) if found is None else list(found.tolist())

    @cached_property
    def domains(self) -> list[DomainAnswer]:
        """Whether each graph is like the training graphs, and why not."""
        if self.domain is None:
            return [DomainAnswer(None, "", None, None)] * len(self)
        return self.domain.judge(self.graphs, self.matches)

    def predictions(self) -> list[Prediction]:
        """Return the prediction for every graph, as plain values."""
        own = self.probabilities[np.arange(len(self)), self.codes]
        columns = (self.labels, own, self.probabilities)
        plain = zip(
            *(column.tolist() for column in columns), self.uncertainty, self.seen, self.domains, strict=True
        )
        return [
            Prediction(label, probability, probabilities, spread, seen, where.domain, where.reason)
            for label, probability, probabilities, spread, seen, where in plain
        ]

    def columns(self) -> Columns:
        """Return a column for each value of the predictions, a row per graph."""
        said = self.predictions()
        found: Columns = {"graph": [graph.name or f"graph {i}" for i, graph in enumerate(self.graphs)]}
        for name in Prediction._fields:
            if name != "probabilities":
                found[name] = [getattr(one, name) for one in said]
        for place, label in enumerate(self.classes.tolist()):
            found[f"p({label})"] = [one.probabilities[place] for one in said]
        return found

    def to_frame(self) -> Any:
        """Return the predictions as a pandas DataFrame."""
        return data_frame(self.columns())

    def _repr_html_(self) -> str:
        return html_table(self.columns(), f"Predictions of {len(self)} graphs")

    def take(self, rows: Sequence[int]) -> Self:
        """Return the representation of some of the graphs."""
        kept = list(rows)
        return replace(
            self,
            graphs=[self.graphs[row] for row in kept],
            features=self.features[kept],
            matches=self.matches[kept],
            probabilities=self.probabilities[kept],
            members=None if self.members is None else self.members[:, kept],
        )


# --- large sets -------------------------------------------------------------------------------------------


class RowAnswer(NamedTuple):
    """The result for a row of an input besides its probabilities; see `datasets.tables.Row`."""

    number: int
    key: str | None
    smiles: str | None
    has_graph: bool
    reason: str
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class BatchAnswer:
    """The predictions of a batch.

    Attributes
    ----------
    rows
        Every row of the batch.
    predictions
        For each model, one for each row that has a graph.
    """

    rows: list[RowAnswer]
    predictions: list[list[Prediction]]


def stream_predictions(models: Sequence[GraphClassifier], batches: Iterable[Batch]) -> Iterator[BatchAnswer]:
    """Yield the predictions of batches of an input, in order.

    A long input is read and predicted by the processes that `joblib.parallel_config` sets.
    """
    rest = iter(batches)
    first = list(islice(rest, FEW_BATCHES))
    if len(first) < FEW_BATCHES:
        yield from (predict_batch(models, batch) for batch in first)
    else:
        yield from run_jobs(predict_batch, list(models), ((batch,) for batch in chain(first, rest)))


def predict_batch(models: Sequence[GraphClassifier], batch: Batch) -> BatchAnswer:
    """Read a batch and predict its graphs by every model."""
    rows = batch.read()
    told = [
        RowAnswer(row.number, row.key, row.smiles, row.graph is not None, row.reason, row.cells)
        for row in rows
    ]
    graphs = [row.graph for row in rows if row.graph is not None]
    return BatchAnswer(told, [model.represent(graphs).predictions() for model in models])
