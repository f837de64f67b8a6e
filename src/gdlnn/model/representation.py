"""Representation: features, matches and predictions of graphs, computed once; predictions of tables.

Memory does not grow with the length of a table: only a few batches are in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gdlnn.io.frames import data_frame, html_table
from gdlnn.jobs import run_jobs
from gdlnn.model.domain import DomainAnswer
from gdlnn.model.inputs import check_outputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gdlnn.datasets.resolve import Batch, BatchedInput
    from gdlnn.datasets.tables import Row
    from gdlnn.graphs import Graph
    from gdlnn.io.frames import Columns
    from gdlnn.model.base import GraphClassifier
    from gdlnn.model.domain import DomainName
    from gdlnn.model.threshold import Decision
    from gdlnn.model.training_graphs import TrainingRecord

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FEW_BATCHES = 16
"""An input of fewer batches is predicted sooner than other processes have started."""
TRAINED_ON = "in the training set"


class Prediction(NamedTuple):
    """The prediction for one graph.

    Attributes
    ----------
    label, probability
        The predicted label, and its probability.
    probabilities
        Of all classes, in their order.
    uncertainty
        The standard deviation of the probability over the ensemble; None for a model of one member.
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
    outputs
        Graphs × classes: the probabilities.
    classes
        The labels of the classes.
    decision
        The rule that decides a class from probabilities; None: the most probable class.
    training
        The record of the training graphs; None if unknown.
    members
        The probabilities of each member of an ensemble, members × graphs × classes, or None.
    """

    graphs: list[Graph]
    features: FloatArray
    matches: BoolArray
    outputs: FloatArray
    classes: npt.NDArray[Any]
    decision: Decision | None = None
    training: TrainingRecord | None = None
    members: FloatArray | None = None
    kind: ClassVar[type[Any]] = Prediction

    def __post_init__(self) -> None:
        check_outputs(self.outputs)

    def __len__(self) -> int:
        return len(self.graphs)

    @property
    def probabilities(self) -> FloatArray:
        """The probability of every class."""
        return self.outputs

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
    def in_training(self) -> list[bool | None]:
        """Whether the model was trained on each graph; None if unknown."""
        if self.training is None:
            return [None] * len(self)
        return list(self.training.graphs.contains(self.graphs).tolist())

    @cached_property
    def uncertainty(self) -> list[float | None]:
        """The standard deviation of the probability of the predicted class over the members of the ensemble.

        They share programs and training graphs, so it does not cover what none of them was trained on. None
        for a model of one member.
        """
        if self.members is None:
            return [None] * len(self)
        return list(self.members[:, np.arange(len(self)), self.codes].std(axis=0).tolist())

    @cached_property
    def domains(self) -> list[DomainAnswer]:
        """Whether each graph is like the training graphs, and why not."""
        if self.training is None:
            return [DomainAnswer(None, "", None, None)] * len(self)
        return self.training.domain.judge(self.graphs, self.matches)

    def predictions(self) -> list[Any]:
        """Return the `Prediction` for every graph, as plain values."""
        own = self.probabilities[np.arange(len(self)), self.codes]
        columns = (column.tolist() for column in (self.labels, own, self.probabilities))
        where = ([answer.domain for answer in self.domains], [answer.reason for answer in self.domains])
        rows = zip(*columns, self.uncertainty, self.in_training, *where, strict=True)
        return list(map(Prediction._make, rows))

    def columns(self) -> Columns:
        """Return a column for each value of the predictions, a row per graph."""
        predictions = self.predictions()
        found: Columns = {"graph": [graph.name or f"graph {i}" for i, graph in enumerate(self.graphs)]}
        for name in self.kind._fields:
            if name != "probabilities":
                found[name] = [getattr(one, name) for one in predictions]
        for place, label in enumerate(self.classes.tolist() if self.kind is Prediction else ()):
            found[f"p({label})"] = [one.probabilities[place] for one in predictions]
        return found

    def to_frame(self) -> Any:
        """Return the predictions as a pandas DataFrame."""
        return data_frame(self.columns())

    def _repr_html_(self) -> str:
        return html_table(self.columns(), f"Predictions of {len(self)} graphs")

    def threshold(self, code: int) -> float:
        """Return the probability of a class above which it is predicted."""
        if self.decision is None:
            return 0.5
        return self.decision.threshold if code == self.decision.code else 1 - self.decision.threshold

    def take(self, rows: Sequence[int]) -> Self:
        """Return the representation of some of the graphs."""
        kept = list(rows)
        return replace(
            self,
            graphs=[self.graphs[row] for row in kept],
            features=self.features[kept],
            matches=self.matches[kept],
            outputs=self.outputs[kept],
            members=None if self.members is None else self.members[:, kept],
        )


class PredictedValue(NamedTuple):
    """The prediction of a regressor for one graph.

    Attributes
    ----------
    label, lower, upper
        The predicted value, and the bounds of its 90% interval.
    seen, domain, domain_reason
        As for `Prediction`.
    """

    label: float
    lower: float
    upper: float
    seen: bool | None = None
    domain: DomainName | None = None
    domain_reason: str = ""

    @property
    def value(self) -> float:
        """The predicted value."""
        return self.label


class HalfWidth(NamedTuple):
    """Half the width of intervals: of a graph like those of training, and how it grows to one unlike them."""

    least: float
    growth: float

    def at(self, similarity: FloatArray) -> FloatArray:
        """Return half the width by the similarity to the training graphs."""
        return np.asarray(self.least + self.growth * (1 - similarity))


_NO_WIDTH = HalfWidth(0.0, 0.0)


@dataclass(frozen=True, eq=False)
class ValueRepresentation(Representation):
    """Features, matches and predicted values of graphs.

    `outputs` is one column of values, and `classes` has one name: that of the target.

    Attributes
    ----------
    half_width
        Half the width of intervals.
    """

    half_width: HalfWidth = _NO_WIDTH
    kind: ClassVar[type[Any]] = PredictedValue

    @property
    def labels(self) -> npt.NDArray[Any]:
        """The predicted value of every graph."""
        return self.outputs[:, 0]

    @cached_property
    def intervals(self) -> FloatArray:
        """Graphs × two: the bounds of the 90% intervals, wider for graphs unlike the training graphs."""
        similarity = [1.0 if answer.similarity is None else answer.similarity for answer in self.domains]
        half = self.half_width.at(np.array(similarity, dtype=np.float64))
        return np.stack([self.labels - half, self.labels + half], axis=1)

    def predictions(self) -> list[Any]:
        """Return the prediction for every graph, as plain values."""
        where = ([answer.domain for answer in self.domains], [answer.reason for answer in self.domains])
        columns = (self.labels.tolist(), *self.intervals.T.tolist(), self.in_training, *where)
        return list(map(PredictedValue._make, zip(*columns, strict=True)))


# --- tables -----------------------------------------------------------------------------------------------


PredictedRow = tuple["Row", tuple[Prediction, ...]]
"""A row of an input, and its prediction by each model; none for a row that was not read."""


def stream_predictions(
    models: Sequence[GraphClassifier], batches: Iterable[Batch]
) -> Iterator[list[PredictedRow]]:
    """Yield the predictions of batches of an input, in order; the rows come without their graphs.

    A long input is read and predicted by the processes that `joblib.parallel_config` sets.
    """
    rest = iter(batches)
    first = list(islice(rest, FEW_BATCHES))
    if len(first) < FEW_BATCHES:
        yield from (predict_batch(models, batch) for batch in first)
    else:
        yield from run_jobs(predict_batch, list(models), ((batch,) for batch in chain(first, rest)))


def predict_batch(models: Sequence[GraphClassifier], batch: Batch) -> list[PredictedRow]:
    """Read a batch and predict its graphs by every model."""
    predicted = predict_rows(models, batch.read())
    return [(row._replace(graph=None, text=""), found) for row, found in predicted]


def predict_rows(models: Sequence[GraphClassifier], rows: Sequence[Row]) -> list[PredictedRow]:
    """Predict the graphs of rows by every model."""
    graphs = [row.graph for row in rows if row.graph is not None]
    found = zip(*(model.represent(graphs).predictions() for model in models), strict=True)
    return [(row, () if row.graph is None else next(found)) for row in rows]


class AddedColumn(NamedTuple):
    """A column that predicting adds to a table.

    Attributes
    ----------
    name
        What it is called: a name that the input has already gets the prefix ``gdlnn_``.
    value
        What it holds: ``row``, ``id``, ``smiles``, ``reason`` or an attribute of `Prediction`.
    model
        The label column that the model predicts; empty for a model alone, None where it is of no model.
    code
        The position of the class that a probability is of, else None.
    """

    name: str
    value: str
    model: str | None = None
    code: int | None = None

    def cell(self, own: Mapping[str, Any], predictions: Mapping[str, Prediction]) -> Any:
        """Return the cell of a row; probabilities have four significant digits.

        `own` has ``row``, ``id``, ``smiles`` and ``reason``. A row that was not read has no `predictions`.
        """
        if self.model is None:
            return own[self.value]
        if not predictions:
            return ""
        value = getattr(predictions[self.model], self.value)
        if self.value == "label":
            return value
        if self.value == "domain":
            return value or ""
        return float(f"{value if self.code is None else value[self.code]:.4g}")


def reason_of(predictions: Iterable[Prediction]) -> str:
    """Return why to be careful with the predictions of a graph."""
    given = list(predictions)
    trained_on = TRAINED_ON if any(one.seen for one in given) else ""
    reasons = [trained_on, *(one.domain_reason for one in given)]
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason))


def added_columns(data: BatchedInput, models: Mapping[str, Any]) -> list[AddedColumn]:
    """Return the columns that predicting adds to an input; a model alone has the empty name."""
    found = [AddedColumn("row", "row")]
    if data.id != "id" and (data.id or data.smiles is None):
        found.append(AddedColumn("id", "id"))
    if data.has_smiles and data.smiles != "smiles":
        found.append(AddedColumn("smiles", "smiles"))
    for label, model in models.items():
        begin = f"{label}_" if label else ""
        names = {"prediction": "value", "lower": "lower", "upper": "upper"}
        if hasattr(model, "classes_"):
            names = {"prediction": "label", "probability": "probability"}
        found += [AddedColumn(f"{begin}{name}", value, label) for name, value in names.items()]
        found += [
            AddedColumn(f"{begin}p({word})", "probabilities", label, code)
            for code, word in enumerate(getattr(model, "classes_", ()))
        ]
        found.append(AddedColumn(f"{begin}domain", "domain", label))
    found.append(AddedColumn("reason", "reason"))
    free = _free([column.name for column in found], data.columns)
    return [column._replace(name=name) for column, name in zip(found, free, strict=True)]


def _free(names: Iterable[str], taken: Sequence[str]) -> list[str]:
    """Return names that no column of the input has: one that is taken gets a prefix."""
    found: list[str] = []
    for name in names:
        while name in taken or name in found:
            name = f"gdlnn_{name}"
        found.append(name)
    return found
