"""Convert graphs from and to NetworkX, PyTorch Geometric and RDKit, each imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import GraphError, require
from gdlnn.graphs.arrays import degrees
from gdlnn.graphs.dataset import GraphDataset
from gdlnn.graphs.graph import FloatArray, Graph, IntArray
from gdlnn.graphs.molecules import MoleculeFeatures, graph_molecule, molecule_graph
from gdlnn.graphs.schema import Feature, Schema
from gdlnn.graphs.tables import encode, from_tables, infer_feature

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "from_networkx",
    "from_networkx_dataset",
    "from_pyg",
    "from_pyg_dataset",
    "from_rdkit",
    "from_tables",
    "to_networkx",
    "to_pyg",
    "to_pyg_dataset",
    "to_rdkit",
]
DEGREE = Feature("degree")
"""The feature that is used if nodes have none."""


def from_networkx(
    graph: Any,
    node_features: Sequence[str] | None = None,
    edge_features: Sequence[str] | None = None,
    *,
    schema: Schema | None = None,
    name: str | None = None,
) -> Graph:
    """Build a graph from a NetworkX graph; nodes are numbered in its order.

    Attributes are numbers or words; words become nominal features whose values keep their names. Graphs
    of one dataset need the same codes for words: use `from_networkx_dataset`, or pass the schema.

    Parameters
    ----------
    graph
        A ``networkx.Graph`` or ``DiGraph``; a multigraph is refused.
    node_features, edge_features
        The attributes to use; by default all that the first node and the first edge have. Without node
        features the degree is the only feature.
    schema
        Names and codes to use; other features are ignored.
    name
        The name of the graph.
    """
    read = _NetworkX(graph)
    found = schema or _schema_of([read], node_features, edge_features)
    return read.build(found, name)


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

    Parameters
    ----------
    graphs
        The graphs, as for `from_networkx`.
    y
        Their labels.
    node_features, edge_features
        The attributes to use; by default all that the first node and the first edge have.
    schema
        Names and codes to use, for example those of the training graphs; by default those found here.
    name
        The name of the dataset.
    """
    read = [_NetworkX(graph) for graph in graphs]
    found = schema or _schema_of(read, node_features, edge_features)
    built = [one.build(found, f"{name or 'graph'}/{i}") for i, one in enumerate(read)]
    return GraphDataset(built, None if y is None else np.asarray(y), found, name)


class _NetworkX:
    """The attributes of a NetworkX graph, not yet numbers."""

    def __init__(self, graph: Any) -> None:
        if graph.is_multigraph():
            raise GraphError("from_networkx: expected a graph without parallel edges, got a multigraph")
        self.directed = bool(graph.is_directed())
        index = {node: i for i, node in enumerate(graph.nodes)}
        self.nodes = [(f"node {node!r}", data) for node, data in graph.nodes(data=True)]
        rows = list(graph.edges(data=True))
        self.edges = [(f"edge ({u!r}, {v!r})", data) for u, v, data in rows]
        self.pairs = np.array([(index[u], index[v]) for u, v, _ in rows], dtype=np.int64).reshape(-1, 2)

    def build(self, schema: Schema, name: str | None) -> Graph:
        """Return the graph with the features of a schema."""
        if schema.node == (DEGREE,) and not all("degree" in data for _, data in self.nodes):
            nodes = degrees(len(self.nodes), self.pairs)[:, None].astype(np.float64)
        else:
            nodes = _encoded(self.nodes, schema.node)
        edges = _encoded(self.edges, schema.edge)
        return Graph(nodes, self.pairs, edges, directed=self.directed, schema=schema, name=name)


def _schema_of(
    graphs: Sequence[_NetworkX], node_features: Sequence[str] | None, edge_features: Sequence[str] | None
) -> Schema:
    """Return the schema that fits all graphs, with the degree where nodes have no feature."""
    nodes = _features([row for graph in graphs for row in graph.nodes], node_features)
    return Schema(
        nodes or (DEGREE,), _features([row for graph in graphs for row in graph.edges], edge_features)
    )


def _features(rows: list[tuple[str, dict[str, Any]]], names: Sequence[str] | None) -> tuple[Feature, ...]:
    if names is None:
        names = list(rows[0][1]) if rows else []
    return tuple(infer_feature(str(name), _values(rows, name)) for name in names)


def _values(rows: list[tuple[str, dict[str, Any]]], name: str) -> list[Any]:
    for where, data in rows:
        if name not in data:
            raise GraphError(f"from_networkx: {where}: expected an attribute {name!r}, got none")
    return [data[name] for _, data in rows]


def _encoded(rows: list[tuple[str, dict[str, Any]]], features: Sequence[Feature]) -> FloatArray:
    columns = [
        encode(feature, _values(rows, feature.name), lambda i: f"from_networkx: {rows[i][0]}")
        for feature in features
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))


def to_networkx(graph: Graph) -> Any:
    """Build a ``networkx.Graph`` or ``DiGraph``; attributes are named as in the schema, else x0, x1, …."""
    import networkx as nx

    node_names, edge_names = _names(graph)
    result = nx.DiGraph() if graph.directed else nx.Graph()
    for node, row in enumerate(graph.node_features.tolist()):
        result.add_node(node, **dict(zip(node_names, row, strict=True)))
    for (u, v), row in zip(graph.edges.tolist(), graph.edge_features.tolist(), strict=True):
        result.add_edge(u, v, **dict(zip(edge_names, row, strict=True)))
    return result


def _names(graph: Graph) -> tuple[list[str], list[str]]:
    if graph.schema is not None:
        return [f.name for f in graph.schema.node], [f.name for f in graph.schema.edge]
    return (
        [f"x{i}" for i in range(graph.node_features.shape[1])],
        [f"x{i}" for i in range(graph.edge_features.shape[1])],
    )


def from_pyg(
    data: Any, *, directed: bool = False, schema: Schema | None = None, name: str | None = None
) -> Graph:
    """Build a graph from a PyTorch Geometric ``Data``: x, edge_index and edge_attr.

    An undirected graph may list its edges in one or in both directions; two directions with different
    features are an error. Without x the degree is the only feature.
    """
    pairs = np.asarray(data.edge_index.cpu().numpy()).T.astype(np.int64).reshape(-1, 2)
    features = _matrix(data.edge_attr, len(pairs))
    if not directed:
        pairs, features = _each_once(pairs, features)
    n_nodes = int(data.num_nodes)
    if data.x is None:
        nodes = degrees(n_nodes, pairs)[:, None].astype(np.float64)
        schema = schema or Schema((DEGREE,), tuple(Feature(f"x{i}") for i in range(features.shape[1])))
    else:
        nodes = _matrix(data.x, n_nodes)
    return Graph(nodes, pairs, features, directed=directed, schema=schema, name=name)


def _matrix(tensor: Any, rows: int) -> FloatArray:
    if tensor is None:
        return np.zeros((rows, 0))
    values: FloatArray = np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)
    return values.reshape(rows, -1) if rows else values.reshape(0, values.shape[1] if values.ndim > 1 else 0)


def _each_once(pairs: IntArray, features: FloatArray) -> tuple[IntArray, FloatArray]:
    ends = np.sort(pairs, axis=1)
    unique, first, inverse = np.unique(ends, axis=0, return_index=True, return_inverse=True)
    differs = np.flatnonzero((features != features[first][inverse.reshape(-1)]).any(axis=1))
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
    """Build a dataset from PyG ``Data`` objects; y is used if each of them has a single label."""
    items = list(dataset)
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


def from_rdkit(molecule: Any, *, features: MoleculeFeatures = "default", name: str | None = None) -> Graph:
    """Build the graph of an RDKit molecule, with the features of `MoleculeReader`."""
    return molecule_graph(molecule, features, name=name)


def to_rdkit(graph: Graph, schema: Schema | None = None) -> Any:
    """Build the RDKit molecule of a graph whose schema names the atoms; it is not sanitised."""
    return graph_molecule(graph, schema)
