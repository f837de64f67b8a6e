"""Check the input of estimators over graphs: graphs, labels and a validation set."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import GDLNNError, GraphError, ModelError
from gdlnn.graphs import Feature, Graph, GraphDataset, Origin, Schema
from gdlnn.graphs.identity import among
from gdlnn.graphs.splits import held_out_rows
from gdlnn.model.conversion import Conversion, is_alone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdlnn.mining import SetInfo

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
GraphsLike = GraphDataset | Sequence[Any] | npt.NDArray[Any] | Any
"""Graphs: a dataset, or `Graph`, SMILES, RDKit molecules, PyG Data and NetworkX graphs, one or several."""
Validation = None | float | tuple[GraphsLike, npt.ArrayLike] | GraphDataset
MIN_VALIDATION = 100
"""Minimum number of graphs worth holding out: choices made on fewer are noise."""
logger = logging.getLogger(__name__)


def as_graphs(
    graphs: GraphsLike,
    what: str = "graphs",
    *,
    alone: bool = False,
    error: type[GDLNNError] = ModelError,
    convert: Conversion | None = None,
) -> list[Graph]:
    """Return the graphs as a list; anything else among them is named in the error.

    Parameters
    ----------
    graphs
        The graphs.
    what
        What the error calls them.
    alone
        Whether a single graph outside a list is accepted.
    error
        The class of the error.
    convert
        How molecules and graphs of other libraries are converted; None accepts only graphs.
    """
    expected = "a Graph, a list of graphs" if alone else "a list of graphs"
    if isinstance(graphs, Graph) or (convert is not None and is_alone(graphs)):
        if alone:
            return [graphs] if isinstance(graphs, Graph) else _converted([graphs], what, error, convert)
        raise error(f"{what}: expected {expected} or a GraphDataset, got one Graph")
    try:
        listed = list(graphs)
    except TypeError:
        kind = type(graphs).__name__
        raise error(f"{what}: expected {expected} or a GraphDataset, got {kind}") from None
    if convert is not None and type(graphs).__name__ != "DataFrame":
        return _converted(listed, what, error, convert)
    for index, graph in enumerate(listed):
        if not isinstance(graph, Graph):
            column = "; give one of the columns" if type(graphs).__name__ == "DataFrame" else ""
            raise error(f"{what}: item {index}: expected a Graph, got {type(graph).__name__}{column}")
    return listed


def _converted(
    items: list[Any], what: str, error: type[GDLNNError], convert: Conversion | None
) -> list[Graph]:
    found = []
    for index, item in enumerate(items):
        try:
            found.append((convert or Conversion()).graph(item))
        except GraphError as problem:
            raise error(f"{what}: item {index}: {problem}") from problem
    return found


def as_labelled(
    graphs: GraphsLike, y: npt.ArrayLike | None, what: str = "fit", convert: Conversion | None = None
) -> GraphDataset:
    """Return graphs and labels as a dataset; without `y` the labels are those of the dataset."""
    convert = convert or Conversion()
    if isinstance(graphs, Iterator):
        graphs = list(graphs)
    listed = as_graphs(graphs, f"{what}: graphs", alone=True, convert=convert)
    dataset = graphs if isinstance(graphs, GraphDataset) else None
    if y is None:
        if dataset is None or dataset.y is None:
            raise ModelError(f"{what}: expected labels (y), or a GraphDataset that has them, got none")
        return dataset
    labels = _labels(y, what)
    if labels.ndim != 1 or len(labels) != len(listed):
        raise ModelError(f"{what}: y: expected {len(listed)} labels, one per graph, got shape {labels.shape}")
    if dataset is None:
        molecules = bool(listed) and listed[0].schema is not None and listed[0].schema.domain == "molecule"
        given = [graphs] if is_alone(graphs) else list(graphs)
        own = molecules and not any(isinstance(item, Graph) for item in given)
        dataset = GraphDataset((), origin=Origin(reading=convert.reading if own else None))
    try:
        origin = Origin(reading=dataset.reading)
        return GraphDataset(listed, labels, dataset.schema, dataset.name, origin=origin)
    except GraphError as error:
        raise ModelError(f"{what}: {error}") from error


def _labels(y: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    """Return labels as an array; words of a pandas column, which come as objects, as text."""
    labels = np.asarray(y)
    if labels.dtype.kind not in "Of" or labels.ndim != 1:
        return labels
    values = labels.tolist()
    for index, value in enumerate(values):
        if value is None or value != value:  # NaN, as pandas marks a hole
            raise ModelError(f"{what}: y: item {index}: expected a label, got {value}; remove these rows")
    return np.array(values) if labels.dtype.kind == "O" and len(set(map(type, values))) == 1 else labels


def as_weights(weights: npt.ArrayLike | None, n: int, what: str = "fit: sample_weight") -> FloatArray | None:
    """Return one weight per graph, finite and not negative, with a mean of 1; None for None."""
    if weights is None:
        return None
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected numbers, got {weights!r:.60}") from None
    if values.shape != (n,):
        raise ModelError(f"{what}: expected {n} weights, one per graph, got shape {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        at = int(np.argmax(~np.isfinite(values) | (values < 0)))
        raise ModelError(
            f"{what}: item {at}: expected a number of at least 0, not all of them 0, got {values[at]}"
        )
    return np.asarray(values / values.mean())


def check_probabilities(values: FloatArray) -> FloatArray:
    """Return probabilities, or their logarithms; NaN, where features and weights overflowed, is an error."""
    if np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values).any(axis=1))[0])
        raise ModelError(
            f"graph {row}: the probabilities are not finite, since features and weights are too large"
        )
    return values


def is_whole(value: object, least: int) -> bool:
    """Return whether a parameter is a whole number of at least `least`."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least


def check_features(graphs: Sequence[Graph], n_node: int, n_edge: int, what: str) -> None:
    """Check that graphs have as many features of nodes and of edges as those of training."""
    for index, graph in enumerate(graphs):
        for of, expected, got, rows in (
            ("node", n_node, graph.node_features.shape[1], graph.n_nodes),
            ("edge", n_edge, graph.edge_features.shape[1], graph.n_edges),
        ):
            if rows and expected != got:
                raise ModelError(
                    f"{what}: graph {index}: expected {expected} {of} feature(s), as in training, got {got}"
                )


def check_fits(graphs: Sequence[Graph], info: SetInfo, what: str) -> None:
    """Check that graphs have the features and the direction of those the programs were mined from."""
    check_features(graphs, info.n_node_features, info.n_edge_features, what)
    check_direction(graphs, info, what)


def check_direction(graphs: Sequence[Graph], info: SetInfo, what: str) -> None:
    """Check that graphs have the direction of those the programs were mined from."""
    for index, graph in enumerate(graphs):
        if graph.directed != info.directed and graph.n_edges:
            kind = "a directed" if info.directed else "an undirected"
            raise ModelError(f"{what}: graph {index}: expected {kind} graph, as in training")


def check_schemas(graphs: list[Graph], trained: Schema | None, what: str) -> None:
    """Check that the schema of no graph contradicts that of the training graphs."""
    known = None
    for index, graph in enumerate(graphs):
        if graph.schema is not known:
            _check_schema(graph.schema, trained, f"{what}: graph {index}")
            known = graph.schema


def _check_schema(schema: Schema | None, trained: Schema | None, what: str) -> None:
    if schema is None or trained is None or schema == trained:
        return
    for of in ("node", "edge"):
        own, expected = getattr(schema, of), getattr(trained, of)
        for ours, theirs in zip(own, expected, strict=False):
            both = [value for value in ours.values if value in theirs.values]
            different = next((v for v in both if ours.values[v] != theirs.values[v]), None)
            if ours.name != theirs.name:
                raise ModelError(
                    f"{what}: expected the {of} features of training, {_listed(expected)}, got {_listed(own)}"
                )
            if different is not None:
                raise ModelError(
                    f"{what}: {of} feature {ours.name!r}: expected the value {different:g} to be called "
                    f"{theirs.values[different]!r}, as in training, got {ours.values[different]!r}"
                )


def _listed(features: Iterable[Feature]) -> str:
    return ", ".join(feature.name for feature in features)


class SeenValues:
    """The values of nominal features in training; others match no condition and are reported once.

    Parameters
    ----------
    values
        For each nominal feature: "node" or "edge", its column, its name, and its values.
    """

    def __init__(self, values: Sequence[tuple[str, int, Feature, FloatArray]]) -> None:
        self._values = list(values)
        self._reported: set[tuple[str, float]] = set()

    @classmethod
    def of(cls, train: GraphDataset) -> SeenValues:
        """Return the values of a training set."""
        found = []
        for of, features, tables in (
            ("node", train.schema.node if train.schema else (), [g.node_features for g in train.graphs]),
            ("edge", train.schema.edge if train.schema else (), [g.edge_features for g in train.graphs]),
        ):
            for column, feature in enumerate(features):
                if feature.kind == "nominal":
                    seen = [np.unique(table[:, column]) for table in tables if len(table)]
                    found.append((of, column, feature, np.unique(np.concatenate(seen or [np.zeros(0)]))))
        return cls(found)

    def unseen(self, graphs: Sequence[Graph]) -> Iterator[tuple[str, Feature, IntArray, float]]:
        """Give the values that no training graph had: "node" or "edge", feature, graphs with it, value."""
        for of in ("node", "edge") if graphs and self._values else ():
            tables = [getattr(graph, f"{of}_features") for graph in graphs]
            full = [i for i, table in enumerate(tables) if len(table)]
            if not full:
                continue
            whole = np.concatenate([tables[i] for i in full])
            for kind, column, feature, known in self._values:
                if kind != of:
                    continue
                values = whole[:, column]
                strange = ~among(values, known)
                if strange.any():
                    owner = np.repeat(full, [len(tables[i]) for i in full])
                    for value in np.unique(values[strange]).tolist():
                        yield of, feature, np.unique(owner[values == value]), value

    def report_unseen(self, graphs: Sequence[Graph]) -> None:
        """Warn of values that no training graph had; each is reported once."""
        fresh: dict[tuple[str, str], list[str]] = {}
        for of, feature, _, value in self.unseen(graphs):
            if (f"{of} {feature.name}", value) not in self._reported:
                self._reported.add((f"{of} {feature.name}", value))
                fresh.setdefault((of, feature.name), []).append(feature.value_name(value))
        for (of, name), values in fresh.items():
            logger.warning(
                "%s feature %r: no training graph has %s; no condition on it matches there",
                *(of, name, ", ".join(values[:10])),
            )

    def to_json(self) -> list[Any]:
        """Return the values as plain JSON values."""
        return [[of, column, values.tolist()] for of, column, _, values in self._values]

    @classmethod
    def from_json(cls, data: Sequence[Any], schema: Schema | None) -> SeenValues:
        """Build it from what `to_json` gave, with the names of a schema."""
        return cls(
            [
                (of, int(column), getattr(schema, of)[column], np.array([float(value) for value in values]))
                for of, column, values in data
            ]
        )


# --- the validation set -----------------------------------------------------------------------------------


def training_and_validation(
    data: GraphDataset, validation: Validation, fraction: float, seed: int
) -> tuple[GraphDataset, GraphDataset | None]:
    """Return the training set and the validation set, or None if there is none.

    Parameters
    ----------
    data
        All training graphs.
    validation
        What the user gave: a fraction to hold out, a validation set, or None.
    fraction
        Share to hold out if nothing was given and it is at least `MIN_VALIDATION` graphs.
    seed
        Seed of the held-out sample.
    """
    if isinstance(validation, GraphDataset):
        return data, as_labelled(validation, None, "fit: validation")
    if isinstance(validation, tuple):
        if len(validation) != 2:
            raise ModelError(f"fit: validation: expected (graphs, y), got a tuple of {len(validation)}")
        convert = Conversion() if data.reading is None else Conversion(data.reading)
        return data, as_labelled(validation[0], validation[1], "fit: validation", convert)
    if validation is None:
        if fraction * len(data) < MIN_VALIDATION:
            return data, None
        validation = fraction
    given: object = validation
    if not isinstance(given, float) or not 0 < given < 1:
        expected = "a fraction between 0 and 1, (graphs, y) or a GraphDataset"
        raise ModelError(f"fit: validation: expected {expected}, got {validation!r}")
    assert data.y is not None
    rows = held_out_rows(data.y, validation, seed)
    held_out = np.zeros(len(data), dtype=bool)
    held_out[rows] = True
    return data.take(~held_out), data.take(held_out)
