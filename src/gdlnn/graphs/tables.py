"""Build a dataset from a table of nodes and one of edges; columns of numbers or words as named features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gdlnn.errors import GraphError
from gdlnn.graphs.dataset import GraphDataset
from gdlnn.graphs.graph import Graph
from gdlnn.graphs.schema import Feature, Schema, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gdlnn.graphs.graph import FloatArray

MOST_NAMED = 5
"""Maximum number of value names that an error lists."""


class _Rows(NamedTuple):
    """The rows of a table: their graphs, the columns that identify nodes, and the features."""

    graphs: list[Any]
    places: list[list[Any]]
    features: tuple[Feature, ...]
    values: FloatArray


def from_tables(
    nodes: Any,
    edges: Any,
    labels: Mapping[Any, Any] | None = None,
    *,
    graph: str = "graph",
    node: str = "node",
    ends: tuple[str, str] = ("source", "target"),
    directed: bool = False,
    schema: Schema | None = None,
    name: str = "",
) -> GraphDataset:
    """Build a dataset from a table of nodes and one of edges.

    A table is a pandas DataFrame, a dictionary of columns or a list of dictionaries. Columns that are not
    named below are features: numbers unchanged, words as nominal features whose values keep their names.

    Parameters
    ----------
    nodes, edges
        The tables.
    labels
        The label of each graph: a dictionary, or a pandas Series with the graphs as its index.
    graph, node
        The columns with the graph of each row, and with the name of a node.
    ends
        The columns of the edges with the nodes at both ends.
    directed
        Whether edges lead from the first end to the second.
    schema
        Names and codes to use, for example those of the training graphs; by default those found here.
    name
        The name of the dataset.
    """
    of_nodes = _rows(nodes, "from_tables: nodes", graph, (node,), schema.node if schema else None)
    of_edges = _rows(edges, "from_tables: edges", graph, ends, schema.edge if schema else None)
    found = schema or Schema(of_nodes.features, of_edges.features)
    number, members = _numbered(of_nodes)
    edge_rows = _edge_rows(of_edges, number, members)
    graphs = []
    for key, own in members.items():
        rows = edge_rows[key]
        pairs = [[number[key, end[i]] for end in of_edges.places] for i in rows]
        graphs.append(
            Graph(
                of_nodes.values[own],
                np.array(pairs, dtype=np.int64).reshape(-1, 2),
                of_edges.values[rows],
                directed=directed,
                schema=found,
                name=str(key),
            )
        )
    return GraphDataset(graphs, _labels(labels, members), found, name)


def _rows(
    table: Any, what: str, graph: str, places: Sequence[str], given: tuple[Feature, ...] | None
) -> _Rows:
    columns = columns_of(table, what)
    for column in (graph, *places, *(feature.name for feature in given or ())):
        if column not in columns:
            raise GraphError(f"{what}: expected a column {column!r}, got {', '.join(columns) or 'none'}")
    kept = {name: values for name, values in columns.items() if name not in (graph, *places)}
    inferred = tuple(infer_feature(name, values) for name, values in kept.items()) if given is None else given
    encoded = [encode(feature, columns[feature.name], lambda i: f"{what}: row {i}") for feature in inferred]
    keys = list(columns[graph])
    values = np.stack(encoded, axis=1) if encoded else np.zeros((len(keys), 0))
    return _Rows(keys, [list(columns[place]) for place in places], inferred, values)


def _numbered(nodes: _Rows) -> tuple[dict[tuple[Any, Any], int], dict[Any, list[int]]]:
    """Return the number of each node within its graph, and the rows of each graph, in order of appearance."""
    number: dict[tuple[Any, Any], int] = {}
    members: dict[Any, list[int]] = {}
    for row, (key, name) in enumerate(zip(nodes.graphs, nodes.places[0], strict=True)):
        own = members.setdefault(key, [])
        if (key, name) in number:
            raise GraphError(f"from_tables: nodes: row {row}: graph {key!r} has two nodes called {name!r}")
        number[key, name] = len(own)
        own.append(row)
    return number, members


def _edge_rows(
    edges: _Rows, number: dict[tuple[Any, Any], int], members: dict[Any, list[int]]
) -> dict[Any, list[int]]:
    """Return the rows of the edges of each graph, whose ends must be nodes of it."""
    rows: dict[Any, list[int]] = {key: [] for key in members}
    for row, key in enumerate(edges.graphs):
        for end in edges.places:
            if (key, end[row]) not in number:
                raise GraphError(
                    f"from_tables: edges: row {row}: expected a node of graph {key!r}, got {end[row]!r}"
                )
        rows[key].append(row)
    return rows


def _labels(labels: Mapping[Any, Any] | None, members: Mapping[Any, Any]) -> Any:
    if labels is None:
        return None
    known = dict(labels.items())
    missing = [key for key in members if key not in known]
    if missing:
        raise GraphError(f"from_tables: labels: expected one of graph {missing[0]!r}, got none")
    return np.array([known[key] for key in members])


# --- columns ------------------------------------------------------------------------------------------------


def columns_of(table: Any, what: str) -> dict[str, Any]:
    """Return the columns of a pandas DataFrame, of a dictionary of columns or of a list of dictionaries."""
    if hasattr(table, "columns"):
        return {str(name): table[name] for name in table.columns}
    if isinstance(table, Mapping):
        columns = {str(name): list(values) for name, values in table.items()}
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise GraphError(f"{what}: expected columns of one length, got {lengths}")
        return columns
    rows = list(table)
    names = list(rows[0]) if rows else []
    for i, row in enumerate(rows):
        missing = next((name for name in names if name not in row), None)
        if missing is not None:
            raise GraphError(f"{what}: row {i}: expected a value of {missing!r}, got none")
    return {str(name): [row[name] for row in rows] for name in names}


def infer_feature(name: str, values: Any) -> Feature:
    """Infer the feature of a column: words and booleans are nominal, all else must be numbers.

    Words are numbered in alphabetical order. A pandas column of categories keeps theirs, and is ordinal where
    they are ordered.
    """
    categories = getattr(getattr(values, "dtype", None), "categories", None)
    if categories is not None:
        kind = "ordinal" if values.dtype.ordered else "nominal"
        return Feature(name, kind, numbered(map(str, categories)))  # type: ignore[arg-type]
    listed = list(values)
    if listed and all(isinstance(value, bool | np.bool_) for value in listed):
        return Feature(name, "nominal", numbered(("no", "yes")))
    if listed and all(isinstance(value, str) for value in listed):
        return Feature(name, "nominal", numbered(sorted(set(listed))))
    return Feature(name)


def encode(feature: Feature, values: Iterable[Any], where: Callable[[int], str]) -> FloatArray:
    """Return a column as numbers: words as the codes of the feature's values.

    `where` returns the name of a row for errors.
    """
    codes = {name: value for value, name in feature.values.items()}
    listed = list(values)
    result = np.empty(len(listed))
    for i, value in enumerate(listed):
        if codes and isinstance(value, str | bool | np.bool_):
            word = value if isinstance(value, str) else ("yes" if value else "no")
            if word not in codes:
                raise GraphError(
                    f"{where(i)}: {feature.name}: expected {_one_of(list(codes))}, got {value!r}"
                )
            result[i] = codes[word]
            continue
        try:
            result[i] = float(value)
        except (TypeError, ValueError) as error:
            raise GraphError(f"{where(i)}: {feature.name}: expected a number, got {value!r}") from error
    return result


def _one_of(names: Sequence[str]) -> str:
    listed = ", ".join(names[:MOST_NAMED])
    return f"one of {listed}" + (" …" if len(names) > MOST_NAMED else "")
