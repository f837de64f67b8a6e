"""The input of estimators over graphs: graphs or what is converted to them, labels, a validation set."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from gdlnn.datasets.molecules import parse_smiles
from gdlnn.errors import GDLNNError, GraphError, ModelError
from gdlnn.graphs import Feature, Graph, GraphDataset, Schema
from gdlnn.graphs.interop import from_networkx, from_networkx_dataset, from_pyg, from_pyg_dataset
from gdlnn.graphs.molecules import MoleculeReader
from gdlnn.graphs.splits import held_out_rows
from gdlnn.graphs.structure import given_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdlnn.mining import SetInfo

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
GraphsLike = GraphDataset | Sequence[Any] | npt.NDArray[Any] | Any
"""Graphs: a dataset, or `Graph`, SMILES, RDKit molecules, PyG Data and NetworkX graphs, one or several."""
Validation = None | float | tuple[GraphsLike, npt.ArrayLike] | GraphDataset
OnError = Literal["raise", "skip"]
logger = logging.getLogger(__name__)
MIN_VALIDATION = 100
"""Minimum number of graphs worth holding out: choices made on fewer are noise."""
ACCEPTED = "a Graph, a SMILES, an RDKit molecule, a PyG Data or a NetworkX graph"


# --- graphs -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Conversion:
    """How other objects are converted to graphs.

    Attributes
    ----------
    reading
        How molecules are read; None if a model was trained on other graphs.
    schema, directed
        What features and classes are called, and whether the edges of PyG graphs have a direction.
    """

    reading: MoleculeReader | None = field(default_factory=MoleculeReader)
    schema: Schema | None = None
    directed: bool = False

    @classmethod
    def of_model(cls, model: Any) -> Conversion:
        """Return the conversion to graphs as a fitted model was trained on."""
        info = model.programs_.info
        return cls(model.reading, given_schema(info.schema), info.directed)

    def graph(self, item: Any) -> Graph:
        """Convert one object to a graph; raise a GraphError where it cannot be read or is of another kind."""
        if isinstance(item, Graph):
            return item
        kind = type(item).__name__
        if isinstance(item, str):
            return self._molecule(parse_smiles(item), item, kind)
        if _is_molecule(item):
            return self._molecule((item, ""), None, kind)
        if _is_pyg(item):
            return from_pyg(item, directed=self.directed, schema=self.schema)
        if _is_networkx(item):
            return self._from_networkx(item)
        if _is_frame(item):
            raise GraphError("expected a column of molecules, got a DataFrame; give one of its columns")
        if is_missing(item):
            raise GraphError(f"expected {ACCEPTED}, got a missing value ({kind}); remove these rows")
        raise GraphError(f"expected a Graph, got {kind}; {ACCEPTED} will do")

    def _molecule(self, read: tuple[Any, str], text: str | None, kind: str) -> Graph:
        if self.reading is None:
            raise GraphError(f"expected a Graph, got {kind}, and the model was not trained on molecules")
        molecule, reason = read
        if molecule is None:
            raise GraphError(f"expected a SMILES, got {text!r:.60}: {reason}")
        return self.reading.graph(molecule, schema=self.schema, name=text)

    def _from_networkx(self, item: Any) -> Graph:
        """Use the attributes that the model knows, with its codes of words, if the nodes have them."""
        first: dict[str, Any] = next((data for _, data in item.nodes(data=True)), {})
        names = [] if self.schema is None else [feature.name for feature in self.schema.node]
        if not names or not all(name in first for name in names):
            return from_networkx(item)
        return from_networkx(item, schema=self.schema)


def is_alone(item: Any) -> bool:
    """Say whether something is one graph or molecule, not several."""
    return isinstance(item, Graph | str) or _is_molecule(item) or _is_pyg(item) or _is_networkx(item)


def _is_frame(item: Any) -> bool:
    return type(item).__name__ == "DataFrame"


def _is_molecule(item: Any) -> bool:
    return hasattr(item, "GetNumAtoms") and hasattr(item, "GetAtomWithIdx")


def _is_pyg(item: Any) -> bool:
    return hasattr(item, "edge_index") and hasattr(item, "num_nodes")


def _is_networkx(item: Any) -> bool:
    return hasattr(item, "is_multigraph") and hasattr(item, "nodes")


def as_graphs(
    graphs: GraphsLike,
    what: str = "graphs",
    *,
    error: type[GDLNNError] = ModelError,
    convert: Conversion | None = None,
) -> list[Graph]:
    """Return the graphs as a list; an error says `what` they are and which item is something else.

    `convert` says how molecules and graphs of other libraries are converted; None accepts only graphs.
    """
    if isinstance(graphs, Graph) or (convert is not None and is_alone(graphs)):
        graphs = [graphs]
    try:
        found = list(graphs)
    except TypeError:
        kind = type(graphs).__name__
        expected = "a Graph, a list of graphs or a GraphDataset"
        raise error(f"{what}: expected {expected}, got {kind}") from None
    table = _is_frame(graphs)  # its items are the names of its columns
    for index, item in enumerate(found):
        if (convert is None or table) and not isinstance(item, Graph):
            column = "; give one of the columns" if table else ""
            raise error(f"{what}: item {index}: expected a Graph, got {type(item).__name__}{column}")
        try:
            found[index] = item if convert is None else convert.graph(item)
        except GraphError as problem:
            raise error(f"{what}: item {index}: {problem}") from problem
    return found


def as_labeled(
    graphs: GraphsLike, y: npt.ArrayLike | None, what: str = "fit", convert: Conversion | None = None
) -> GraphDataset:
    """Return graphs and labels as a dataset; without `y` the labels are those of the dataset."""
    convert = convert or Conversion()
    graphs = _of_one_kind(listed(graphs), convert)
    found = as_graphs(graphs, f"{what}: graphs", convert=convert)
    dataset = graphs if isinstance(graphs, GraphDataset) else None
    if y is None:
        if dataset is None or dataset.y is None:
            raise ModelError(f"{what}: expected labels (y), or a GraphDataset that has them, got none")
        return dataset
    labels = _labels(y, what)
    if labels.ndim != 1 or len(labels) != len(found):
        raise ModelError(f"{what}: y: expected {len(found)} labels, one per graph, got shape {labels.shape}")
    if dataset is None:
        molecules = bool(found) and found[0].schema is not None and found[0].schema.domain == "molecule"
        given = [graphs] if is_alone(graphs) else list(graphs)
        own = molecules and not any(isinstance(item, Graph) for item in given)
        dataset = GraphDataset((), reading=convert.reading if own else None)
    try:
        return GraphDataset(found, labels, dataset.schema, dataset.name, reading=dataset.reading)
    except GraphError as error:
        raise ModelError(f"{what}: {error}") from error


def _of_one_kind(graphs: GraphsLike, convert: Conversion) -> GraphsLike:
    """Return PyG or NetworkX graphs as a dataset, so that all of them share codes of words and values."""
    if isinstance(graphs, GraphDataset) or is_alone(graphs):
        return graphs
    items = list(graphs)
    if items and all(map(_is_pyg, items)):
        return from_pyg_dataset(items, directed=convert.directed, schema=convert.schema)
    is_new = convert.schema is None and bool(items) and all(map(_is_networkx, items))
    return from_networkx_dataset(items) if is_new else graphs


def usable_rows(
    X: GraphsLike, y: npt.ArrayLike | None, weights: npt.ArrayLike | None, on_error: OnError
) -> tuple[GraphsLike, npt.ArrayLike | None, npt.ArrayLike | None]:
    """Return graphs, labels and weights without the rows that have no label, or that cannot be read.

    Skipped rows are counted in a warning. With `on_error` "raise" a graph that cannot be read is left in, for
    the error that names it.
    """
    X = listed(X)
    labels = np.asarray(X.y if y is None and isinstance(X, GraphDataset) else y, dtype=object)
    if is_alone(X) or not hasattr(X, "__len__") or labels.shape != (len(X),):
        return X, y, weights  # `as_labeled` says what is wrong
    no_label = {i for i, label in enumerate(labels) if is_missing(label)}
    reasons = unreadable(X, Conversion(), on_error)
    if no_label and on_error == "raise":  # later, items would be counted without these rows
        for index, reason in unreadable(X, Conversion(), "skip").items():
            if index not in no_label:
                raise ModelError(f"fit: graphs: item {index}: {reason}")
    bad = reasons.keys() - no_label
    if not no_label and not bad:
        return X, y, weights
    logger.warning(
        "fit: skipped %d of %d rows: %d without a label, %d that cannot be read",
        *(len(no_label) + len(bad), len(X), len(no_label), len(bad)),
    )
    kept = [i for i in range(len(X)) if i not in bad and i not in no_label]
    shares = None if weights is None else np.asarray(weights)
    if shares is not None and shares.shape == (len(X),):
        shares = shares[kept]
    found = labels[kept]
    if all(isinstance(one, float) and one.is_integer() for one in found):  # pandas has holes in numbers only
        found = found.astype(np.int64)
    if isinstance(X, GraphDataset):
        return X.take(kept).with_y(found), None, shares
    return [item for i, item in enumerate(X) if i not in bad and i not in no_label], found, shares


def listed(X: GraphsLike) -> GraphsLike:
    """Return what can be iterated once as a list."""
    return list(X) if isinstance(X, Iterator) else X


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or the NA of pandas."""
    nan = isinstance(value, float | np.floating) and value != value
    return value is None or nan or type(value).__name__ == "NAType"


def unreadable(X: GraphsLike, convert: Conversion, on_error: OnError) -> dict[int, str]:
    """Return why items cannot be read, by their position; nothing with `on_error` "raise"."""
    if on_error not in get_args(OnError):
        raise ModelError(f"on_error: expected {' or '.join(get_args(OnError))}, got {on_error!r}")
    if on_error == "raise" or isinstance(X, GraphDataset) or _is_frame(X):
        return {}
    reasons = {}
    for index, item in enumerate([X] if is_alone(X) else X):
        try:
            convert.graph(item)
        except GraphError as problem:
            reasons[index] = str(problem)
    return reasons


def _labels(y: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    """Return labels as an array; those of a list as objects, which NumPy has not made alike."""
    labels = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if labels.dtype.kind in "Of" and labels.ndim == 1:
        for index, value in enumerate(labels.tolist()):
            if is_missing(value):
                raise ModelError(f"{what}: y: item {index}: expected a label, got {value}; remove these rows")
    return labels


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


def check_outputs(values: FloatArray) -> FloatArray:
    """Return what a head predicts; NaN, where features and weights overflowed, is an error."""
    if np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values).any(axis=1))[0])
        raise ModelError(
            f"graph {row}: the prediction is not finite, since features and weights are too large"
        )
    return values


def is_whole(value: object, least: int) -> bool:
    """Return whether a parameter is a whole number of at least `least`."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least


def check_features(graphs: Sequence[Graph], n_node: int, n_edge: int, what: str) -> None:
    """Check that graphs have as many features of nodes and of edges as those of training."""
    for index, graph in enumerate(graphs):
        for of, expected, table in (
            ("node", n_node, graph.node_features),
            ("edge", n_edge, graph.edge_features),
        ):
            if len(table) and expected != table.shape[1]:
                raise ModelError(
                    f"{what}: graph {index}: expected {expected} {of} feature(s), as in training, "
                    f"got {table.shape[1]}"
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


# --- the validation set -----------------------------------------------------------------------------------


def training_and_validation(
    data: GraphDataset, validation: Validation, fraction: float, random_state: int
) -> tuple[GraphDataset, GraphDataset | None]:
    """Return the training set and the validation set, or None if there is none.

    `validation` is what the user gave: a fraction to hold out, a validation set, or None. If nothing was
    given, `fraction` is held out where it comes to at least `MIN_VALIDATION` graphs.
    """
    if isinstance(validation, GraphDataset):
        return data, as_labeled(validation, None, "fit: validation")
    if isinstance(validation, tuple):
        if len(validation) != 2:
            raise ModelError(f"fit: validation: expected (graphs, y), got a tuple of {len(validation)}")
        convert = Conversion() if data.reading is None else Conversion(data.reading)
        return data, as_labeled(validation[0], validation[1], "fit: validation", convert)
    if validation is None:
        if fraction * len(data) < MIN_VALIDATION:
            return data, None
        validation = fraction
    given: object = validation
    if not isinstance(given, float) or not 0 < given < 1:
        expected = "a fraction between 0 and 1, (graphs, y) or a GraphDataset"
        raise ModelError(f"fit: validation: expected {expected}, got {validation!r}")
    assert data.y is not None
    rows = held_out_rows(data.y, validation, random_state)
    held_out = np.zeros(len(data), dtype=bool)
    held_out[rows] = True
    return data.take(~held_out), data.take(held_out)
