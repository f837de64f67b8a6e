"""Features and predictions of large sets, batch by batch in the order of the input: here or on an executor.

Memory does not grow with the number of graphs: a bounded number of batches is under way.
"""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gdlnn.graphs.packing import PackedGraphs, pack_graphs, unpack_graphs
from gdlnn.workers import Shared, ordered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Executor

    from gdlnn.datasets.batches import Batch
    from gdlnn.graphs import Graph
    from gdlnn.model.estimator import GDLNNClassifier
    from gdlnn.model.layer import FloatArray

BATCH = 1024
"""Graphs of a batch."""


class RowAnswer(NamedTuple):
    """What is told of a row of an input besides its probabilities; see `InputRow`."""

    number: int
    key: str | None
    smiles: str | None
    has_graph: bool
    reason: str


@dataclass(frozen=True)
class BatchAnswer:
    """The predictions of a batch.

    Attributes
    ----------
    rows
        Every row of the batch.
    probabilities
        One row for each row that has a graph, one column per class.
    matched_nothing
        For the same rows: whether no program matches.
    """

    rows: list[RowAnswer]
    probabilities: FloatArray
    matched_nothing: list[bool]


def shared_model(model: Any) -> Shared:
    """Return a fitted model as what the workers of an executor share."""
    packed = pickle.dumps(model)
    return Shared(hashlib.sha256(packed).hexdigest(), lambda: packed, unpack_model)


def unpack_model(data: bytes) -> Any:
    """Read a model in a worker, which has one thread for it."""
    import torch

    model = pickle.loads(data)
    torch.set_num_threads(1)
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=1)
    if hasattr(model, "layer_"):
        model.layer_.set_params(n_jobs=1)
    return model


def stream_features(
    model: GDLNNClassifier,
    graphs: Iterable[Graph],
    executor: Executor | None = None,
    batch_size: int = BATCH,
) -> Iterator[FloatArray]:
    """Give the features of many graphs, `batch_size` rows at a time.

    Parameters
    ----------
    model
        A fitted model, or any transformer over graphs.
    graphs
        The graphs; an iterator is drawn from as needed.
    executor
        Workers that do it in place of this process.
    batch_size
        Graphs of a batch.
    """
    job = _packed_features if executor is not None else _features
    items = ((pack_graphs(some) if executor is not None else some,) for some in _chunks(graphs, batch_size))
    yield from ordered(executor, shared_model(model), model, job, items, "features")


def _chunks(graphs: Iterable[Graph], size: int) -> Iterator[list[Graph]]:
    source = iter(graphs)
    while some := list(islice(source, size)):
        yield some


def _features(model: Any, graphs: Sequence[Graph]) -> FloatArray:
    found: FloatArray = model.transform(list(graphs))
    return found


def _packed_features(model: Any, graphs: PackedGraphs) -> FloatArray:
    return _features(model, unpack_graphs(graphs))


def stream_predictions(
    model: GDLNNClassifier, batches: Iterable[Batch], executor: Executor | None = None
) -> Iterator[BatchAnswer]:
    """Give the predictions of batches of an input, which the workers of an executor also read."""
    items = ((batch,) for batch in batches)
    yield from ordered(executor, shared_model(model), model, predict_batch, items, "predict")


def predict_batch(model: GDLNNClassifier, batch: Batch) -> BatchAnswer:
    """Read a batch and predict its graphs."""
    rows = batch.read()
    graphs = [row.graph for row in rows if row.graph is not None]
    told = [RowAnswer(row.number, row.key, row.smiles, row.graph is not None, row.reason) for row in rows]
    if not graphs:
        return BatchAnswer(told, np.zeros((0, len(model.classes_))), [])
    features = model.transform(graphs)  # matched once for both questions
    nothing = (features[:, : len(model.programs_)] == 0).all(axis=1).tolist()
    return BatchAnswer(told, np.asarray(model.head_.predict_proba(features)), nothing)
