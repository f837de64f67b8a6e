"""Build graphs from tables, NetworkX and PyTorch Geometric, and convert them back.

Each library is imported on first use. Molecules of RDKit are in `molecules`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gdlnn.errors import GraphError, require
from gdlnn.graphs.arrays import degrees
from gdlnn.graphs.dataset import GraphDataset
from gdlnn.graphs.graph import FloatArray, Graph, IntArray
from gdlnn.graphs.schema import Feature, Schema, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

__all__ = [
    "from_networkx",
    "from_networkx_dataset",
    "from_pyg",
    "from_pyg_dataset",
    "from_tables",
    "to_networkx",
    "to_pyg",
    "to_pyg_dataset",
]
DEGREE = Feature("degree")
"""The feature that is used if nodes have none."""
MOST_NAMED = 5
"""Maximum number of value names that an error lists."""


# --- named nodes and edges ----------------------------------------------------------------------------------


class _Elements(NamedTuple):
    """The nodes, or the edges, of all graphs.

    Attributes
    ----------
    graphs
        The graph of each.
    names
        The name of each node, or the names of the two nodes of each edge.
    columns
        Their features, numbers or words.
    where
        Returns the place of one of them for errors.
    """

    graphs: Sequence[Hashable]
    names: Sequence[tuple[Any, ...]]
    columns: Mapping[str, Any]
    where: Callable[[int], str]

    def features(self) -> tuple[Feature, ...]:
        """Return the features that the columns show."""
        return tuple(_infer_feature(name, values) for name, values in self.columns.items())

    def encoded(self, features: Sequence[Feature]) -> FloatArray:
        """Return the columns as a matrix of numbers: words as the codes of a feature's values."""
        columns = [_encoded_column(one, self.columns[one.name], self.where) for one in features]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.graphs), 0))


def _graphs(
    nodes: _Elements, edges: _Elements, schema: Schema, directed: Mapping[Hashable, bool]
) -> Iterable[Graph]:
    """Yield the graphs in the order of `directed`, which says whether each is."""
    number: dict[tuple[Hashable, Any], int] = {}
    members: dict[Hashable, list[int]] = {key: [] for key in directed}
    for row, (key, (name,)) in enumerate(zip(nodes.graphs, nodes.names, strict=True)):
        if (key, name) in number:
            raise GraphError(f"{nodes.where(row)}: graph {key!r} has two nodes called {name!r}")
        number[key, name] = len(members[key])
        members[key].append(row)
    ends = np.zeros((len(edges.graphs), 2), dtype=np.int64)
    edge_rows: dict[Hashable, list[int]] = {key: [] for key in directed}
    for row, (key, pair) in enumerate(zip(edges.graphs, edges.names, strict=True)):
        for name in pair:
            if (key, name) not in number:
                raise GraphError(f"{edges.where(row)}: expected a node of graph {key!r}, got {name!r}")
        ends[row] = [number[key, name] for name in pair]
        edge_rows[key].append(row)
    count_edges = schema.node == (DEGREE,) and "degree" not in nodes.columns
    values = None if count_edges else nodes.encoded(schema.node)
    edge_values = edges.encoded(schema.edge)
    for key, own in members.items():
        rows = edge_rows[key]
        degree = degrees(len(own), ends[rows])[:, None].astype(np.float64)
        features = degree if values is None else values[own]
        names = [nodes.names[row][0] for row in own]
        yield Graph(
            features,
            ends[rows],
            edge_values[rows],
            directed=directed[key],
            schema=schema,
            name=str(key),
            node_names=None if names == list(range(len(names))) else names,
        )


def _infer_feature(name: str, values: Any) -> Feature:
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


def _encoded_column(feature: Feature, values: Iterable[Any], where: Callable[[int], str]) -> FloatArray:
    codes = {name: value for value, name in feature.values.items()}
    result = []
    for i, value in enumerate(values):
        named = bool(codes) and isinstance(value, str | bool | np.bool_)
        word = value if isinstance(value, str) else ("yes" if value else "no")
        try:
            result.append(codes[word] if named else math.nan if value is None else float(value))
        except (TypeError, ValueError, KeyError) as error:
            some = ", ".join(list(codes)[:MOST_NAMED]) + (" …" if len(codes) > MOST_NAMED else "")
            expected = f"one of {some}" if named else "a number"
            raise GraphError(f"{where(i)}: {feature.name}: expected {expected}, got {value!r}") from error
    return np.array(result, dtype=np.float64)


# --- tables ----------------------------------------------------------------------------------------------


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
    of_nodes = _table_rows(nodes, "nodes", (graph, node), schema.node if schema else ())
    of_edges = _table_rows(edges, "edges", (graph, *ends), schema.edge if schema else ())
    found = schema or Schema(of_nodes.features(), of_edges.features())
    keys = dict.fromkeys(of_nodes.graphs, directed)
    known = None if labels is None else dict(labels.items())
    missing = [] if known is None else [key for key in keys if key not in known]
    if missing:
        raise GraphError(f"from_tables: labels: expected one of graph {missing[0]!r}, got none")
    y = None if known is None else np.array([known[key] for key in keys])
    return GraphDataset(_graphs(of_nodes, of_edges, found, keys), y, found, name)


def _table_rows(table: Any, what: str, places: Sequence[str], given: Sequence[Feature]) -> _Elements:
    columns, where = _columns(table, f"from_tables: {what}"), f"from_tables: {what}"
    for column in (*places, *(feature.name for feature in given)):
        if column not in columns:
            raise GraphError(f"{where}: expected a column {column!r}, got {', '.join(columns) or 'none'}")
    graphs, *names = (list(columns.pop(place)) for place in places)
    return _Elements(graphs, list(zip(*names, strict=True)), columns, lambda i: f"{where}: row {i}")


def _columns(table: Any, what: str) -> dict[str, Any]:
    """Return the columns of a pandas DataFrame, of a dictionary of columns or of a list of dictionaries."""
    if hasattr(table, "columns"):
        return {str(name): table[name] for name in table.columns}
    if isinstance(table, Mapping):
        columns = {str(name): list(values) for name, values in table.items()}
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise GraphError(f"{what}: expected columns of one length, got {lengths}")
        return columns
    return _attributes(list(table), lambda i: f"{what}: row {i}")


def _attributes(
    rows: Sequence[Mapping[str, Any]], where: Callable[[int], str], names: Sequence[str] | None = None
) -> dict[str, list[Any]]:
    """Return values as columns; by default those that the first row has, and all need them."""
    names = list(rows[0] if rows else ()) if names is None else list(names)
    for i, row in enumerate(rows):
        missing = next((name for name in names if name not in row), None)
        if missing is not None:
            raise GraphError(f"{where(i)}: expected a value of {missing!r}, got none")
    return {str(name): [row[name] for row in rows] for name in names}


# --- NetworkX --------------------------------------------------------------------------------------------


def from_networkx(
    graph: Any,
    node_features: Sequence[str] | None = None,
    edge_features: Sequence[str] | None = None,
    *,
    schema: Schema | None = None,
    name: str | None = None,
) -> Graph:
    """Build a graph from a NetworkX graph; nodes are numbered in its order.

    Graphs of one dataset need the same codes for words: use `from_networkx_dataset`, whose parameters these
    are, or pass the schema.
    """
    data = from_networkx_dataset([graph], None, node_features, edge_features, schema=schema)
    return data.graphs[0]._renamed(data.schema, name)


def from_networkx_dataset(
    graphs: Iterable[Any],
    y: Any = None,
    node_features: Sequence[str] | None = None,
    edge_features: Sequence[str] | None = None,
    *,
    schema: Schema | None = None,
    name: str = "",
) -> GraphDataset:
    """Build a dataset from NetworkX graphs, with one schema for all of them.

    Attributes are numbers or words; words become nominal features whose values keep their names.

    Parameters
    ----------
    graphs
        Each a ``networkx.Graph`` or ``DiGraph``; a multigraph is refused.
    y
        Their labels.
    node_features, edge_features
        The attributes to use; by default all that the first node and the first edge have. Without node
        features the degree is the only feature.
    schema
        Names and codes to use, for example those of the training graphs; by default those found here.
    name
        The name of the dataset.
    """
    listed = {f"{name or 'graph'}/{i}": graph for i, graph in enumerate(graphs)}
    if any(graph.is_multigraph() for graph in listed.values()):
        raise GraphError("from_networkx: expected a graph without parallel edges, got a multigraph")
    if schema is not None:
        node_features = [] if schema.node == (DEGREE,) else [feature.name for feature in schema.node]
        edge_features = [feature.name for feature in schema.edge]
    nodes, edges = (
        _networkx_rows(listed, of, names) for of, names in (("node", node_features), ("edge", edge_features))
    )
    found = schema or Schema(nodes.features() or (DEGREE,), edges.features())
    directed: dict[Hashable, bool] = {key: bool(graph.is_directed()) for key, graph in listed.items()}
    return GraphDataset(_graphs(nodes, edges, found, directed), y, found, name)


def _networkx_rows(graphs: Mapping[str, Any], of: str, names: Sequence[str] | None) -> _Elements:
    rows = [
        (key, tuple(found), data)
        for key, graph in graphs.items()
        for *found, data in (graph.nodes if of == "node" else graph.edges)(data=True)
    ]

    def where(i: int) -> str:
        shown = repr(rows[i][1][0]) if of == "node" else repr(rows[i][1])
        return f"from_networkx: {of} {shown}"

    columns = _attributes([data for *_, data in rows], where, names)
    return _Elements([key for key, *_ in rows], [found for _, found, _ in rows], columns, where)


def to_networkx(graph: Graph) -> Any:
    """Build a ``networkx.Graph`` or ``DiGraph``; attributes are named as in the schema, else x0, x1, …."""
    import networkx as nx

    def names(features: Sequence[Feature] | None, width: int) -> list[str]:
        return [f"x{i}" for i in range(width)] if features is None else [f.name for f in features]

    schema = graph.schema
    node_names = names(schema.node if schema else None, graph.node_features.shape[1])
    edge_names = names(schema.edge if schema else None, graph.edge_features.shape[1])
    result = nx.DiGraph() if graph.directed else nx.Graph()
    for node, row in enumerate(graph.node_features.tolist()):
        result.add_node(node, **dict(zip(node_names, row, strict=True)))
    for (u, v), row in zip(graph.edges.tolist(), graph.edge_features.tolist(), strict=True):
        result.add_edge(u, v, **dict(zip(edge_names, row, strict=True)))
    return result


# --- PyTorch Geometric -----------------------------------------------------------------------------------


def from_pyg(
    data: Any, *, directed: bool = False, schema: Schema | None = None, name: str | None = None
) -> Graph:
    """Build a graph from a PyTorch Geometric ``Data``: x, edge_index and edge_attr.

    An undirected graph may list its edges in one or in both directions; two directions with different
    features are an error. Without x the degree is the only feature.
    """
    pairs = np.asarray(data.edge_index.cpu().numpy()).T.astype(np.int64).reshape(-1, 2)
    features = _matrix(data.edge_attr, len(pairs), schema.edge if schema else None)
    if not directed:
        pairs, features = _each_once(pairs, features)
    n_nodes = int(data.num_nodes)
    if data.x is None:
        nodes = degrees(n_nodes, pairs)[:, None].astype(np.float64)
        schema = schema or Schema((DEGREE,), tuple(Feature(f"x{i}") for i in range(features.shape[1])))
    else:
        nodes = _matrix(data.x, n_nodes, schema.node if schema else None)
    return Graph(nodes, pairs, features, directed=directed, schema=schema, name=name)


def _matrix(tensor: Any, rows: int, features: Sequence[Feature] | None = None) -> FloatArray:
    """Return a tensor as a matrix; one-hot columns at its end become the nominal feature of a schema."""
    if tensor is None:
        return np.zeros((rows, 0))
    values: FloatArray = np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)
    values = (
        values.reshape(rows, -1) if rows else values.reshape(0, values.shape[-1] if values.ndim > 1 else 0)
    )
    n_hot = 0 if features is None else values.shape[1] - len(features) + 1
    if not features or n_hot < 2 or features[-1] != _one_hot(n_hot):
        return values
    hot = values[:, -n_hot:]
    if not ((hot == 0) | (hot == 1)).all() or (hot.sum(axis=1) != 1).any():
        raise GraphError(f"from_pyg: expected {n_hot} one-hot columns at the end, as in training")
    return np.column_stack((values[:, :-n_hot], hot.argmax(axis=1)))


def _one_hot(n_values: int) -> Feature:
    return Feature("label", "nominal", numbered(map(str, range(n_values))))


def _hot_columns(matrices: Sequence[FloatArray]) -> int:
    """Return how many columns at the end have one 1 and otherwise 0 in every row, or 0.

    PyG's TU datasets write node and edge labels like this, after the attributes.
    """
    values = np.concatenate([matrix for matrix in matrices if len(matrix)] or [np.zeros((0, 0))])
    binary = np.logical_and.accumulate(((values == 0) | (values == 1)).all(axis=0)[::-1])
    sums = np.cumsum(values[:, ::-1][:, : int(binary.sum())], axis=1)
    hot = np.flatnonzero((sums == 1).all(axis=0)) if len(values) else np.zeros(0)
    return 0 if not len(hot) or hot[0] == 0 else int(hot[0]) + 1


def _pyg_schema(items: Sequence[Any]) -> Schema | None:
    """Return a schema in which one-hot columns at the end are one nominal feature, or None without them."""
    found = []
    for name, tensors in (
        ("x", [data.x for data in items]),
        ("edge_attr", [data.edge_attr for data in items]),
    ):
        matrices = [] if any(tensor is None for tensor in tensors) else [_matrix(t, len(t)) for t in tensors]
        width = max((matrix.shape[1] for matrix in matrices), default=0)
        n_hot = _hot_columns(matrices) if len({m.shape[1] for m in matrices if len(m)}) == 1 else 0
        plain = tuple(Feature(f"{name}{i}") for i in range(width - n_hot))
        found.append((n_hot, (*plain, _one_hot(n_hot)) if n_hot else plain))
    (hot_nodes, nodes), (hot_edges, edges) = found
    return Schema(nodes or (DEGREE,), edges) if hot_nodes or hot_edges else None


def _each_once(pairs: IntArray, features: FloatArray) -> tuple[IntArray, FloatArray]:
    ends = np.sort(pairs, axis=1)
    unique, first, inverse = np.unique(ends, axis=0, return_index=True, return_inverse=True)
    known = np.where(np.isnan(features), np.inf, features)  # missing values are equal
    differs = np.flatnonzero((known != known[first][inverse.reshape(-1)]).any(axis=1))
    if len(differs):
        u, v = (int(end) for end in pairs[differs[0]])
        raise GraphError(
            f"from_pyg: edge ({u}, {v}): expected the same features in both directions, got different ones"
        )
    return unique.reshape(-1, 2), features[first]


def to_pyg(graph: Graph, y: Any = None) -> Any:
    """Build a PyTorch Geometric ``Data``; an undirected edge is listed in both directions, as PyG expects."""
    torch = require("torch", "pyg", "Converting a graph to PyTorch Geometric")
    pyg = require("torch_geometric.data", "pyg", "Converting a graph to PyTorch Geometric")
    edges, features = graph.edges, graph.edge_features
    if not graph.directed:
        back = edges[:, 0] != edges[:, 1]
        edges = np.concatenate([edges, edges[back][:, ::-1]])
        features = np.concatenate([features, features[back]])
        order = np.lexsort((edges[:, 1], edges[:, 0]))
        edges, features = edges[order], features[order]
    data = pyg.Data(
        x=torch.tensor(graph.node_features, dtype=torch.float32),
        edge_index=torch.tensor(np.ascontiguousarray(edges.T), dtype=torch.long),
        num_nodes=graph.n_nodes,
    )
    if features.shape[1]:
        data.edge_attr = torch.tensor(features, dtype=torch.float32)
    if y is not None:
        data.y = torch.tensor([y])
    return data


def from_pyg_dataset(
    dataset: Iterable[Any], *, directed: bool = False, schema: Schema | None = None, name: str = ""
) -> GraphDataset:
    """Build a dataset from PyG ``Data`` objects; y is used if each of them has a single label.

    One-hot columns at the end of x or edge_attr, as PyG's TU datasets have them, become one nominal feature.
    """
    items = list(dataset)
    schema = schema or _pyg_schema(items)
    graphs = [
        from_pyg(data, directed=directed, schema=schema, name=f"{name or 'graph'}/{i}")
        for i, data in enumerate(items)
    ]
    labels = [data.y for data in items]
    y = None
    if items and all(label is not None and label.numel() == 1 for label in labels):
        y = np.array([label.item() for label in labels])
        if np.array_equal(y, y.astype(np.int64)):
            y = y.astype(np.int64)
    return GraphDataset(graphs, y, schema, name)


def to_pyg_dataset(dataset: GraphDataset) -> list[Any]:
    """Build a list of PyG ``Data``; y counts the classes from 0 in the order of their labels."""
    if dataset.y is None:
        return [to_pyg(graph) for graph in dataset.graphs]
    codes = np.unique(dataset.y, return_inverse=True)[1].reshape(-1).tolist()
    return [to_pyg(graph, code) for graph, code in zip(dataset.graphs, codes, strict=True)]
