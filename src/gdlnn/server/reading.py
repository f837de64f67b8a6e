"""Graphs that clients send (SMILES, JSON graphs, files as text), and examples for them to try.

No request names a path, and nothing is unpickled.
"""

from __future__ import annotations

import csv
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from gdlnn.datasets import load_jsonl, load_sdf
from gdlnn.datasets.molecules import parse_smiles
from gdlnn.datasets.tables import open_table
from gdlnn.errors import DatasetError, GDLNNError, GraphError, ServerError
from gdlnn.graphs import Graph
from gdlnn.graphs.molecules import MoleculeReader
from gdlnn.graphs.structure import given_schema, n_structure_features

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdlnn.gdl.program import Intervals, Program
    from gdlnn.graphs import Feature, GraphDataset, Schema
    from gdlnn.mining import SetInfo
    from gdlnn.model import GDLNNClassifier
    from gdlnn.server.limits import Limits

FileKind = Literal["csv", "smi", "sdf", "jsonl"]
_SUFFIXES = {"csv": ".csv", "smi": ".smi", "sdf": ".sdf", "jsonl": ".jsonl"}
# What the readers raise for text that nobody should send, beside their own errors.
_BAD_TEXT = (GDLNNError, csv.Error, ValueError, TypeError, LookupError, OverflowError, RecursionError)

MOST_EXAMPLES = 12
MOLECULES = (
    ("aspirin", "CC(=O)Oc1ccccc1C(=O)O"),
    ("caffeine", "Cn1cnc2c1c(=O)n(C)c(=O)n2C"),
    ("paracetamol", "CC(=O)Nc1ccc(O)cc1"),
    ("ibuprofen", "CC(C)Cc1ccc(cc1)C(C)C(=O)O"),
    ("aniline", "Nc1ccccc1"),
    ("4-nitrobiphenyl", "O=[N+]([O-])c1ccc(cc1)-c1ccccc1"),
    ("nicotine", "CN1CCC[C@H]1c1cccnc1"),
    ("ethanol", "CCO"),
)


@dataclass(frozen=True)
class Row:
    """One graph that was asked about, or the reason why there is none."""

    number: int
    name: str
    smiles: str | None
    graph: Graph | None
    reason: str = ""


class Reader:
    """Reads what clients send for one model.

    Parameters
    ----------
    schema, info
        The names and numbers of the features that the model was trained on.
    limits
        How much is read.
    reading
        How molecules become graphs; None for a model of other graphs.
    folder
        Where files are while they are read; None: the system's folder for such.
    """

    def __init__(
        self,
        schema: Schema | None,
        info: SetInfo,
        limits: Limits,
        reading: MoleculeReader | None,
        folder: str | None = None,
    ) -> None:
        self._folder = folder
        self.schema, self.info, self.limits, self.reading = schema, info, limits, reading
        computed = n_structure_features(schema)  # they may be there already, as in a part of a graph
        self.n_node_features = info.n_node_features - computed
        self._schemas = {info.n_node_features: schema, self.n_node_features: given_schema(schema)}
        self.takes_smiles = self.reading is not None

    def smiles(self, texts: Iterable[str], names: Iterable[str] = ()) -> list[Row]:
        """Read SMILES, one row each; one that does not parse keeps its reason."""
        if not self.takes_smiles:
            raise ServerError(f"smiles: {self._no_smiles()}")
        listed, named = list(texts), list(names)
        self._check_batch(len(listed))
        named += [""] * (len(listed) - len(named))
        return [
            self._molecule(number, text.strip(), name)
            for number, (text, name) in enumerate(zip(listed, named, strict=True), 1)
        ]

    def graphs(self, items: list[dict[str, Any]]) -> list[Row]:
        """Read JSON graphs, one row each."""
        self._check_batch(len(items))
        rows = []
        for number, item in enumerate(items, 1):
            name = str(item.get("name") or f"graph {number}")
            try:
                graph = self._graph(item, name)
                rows.append(Row(number, name, None, graph, self._unfit(graph)))
            except _BAD_TEXT as error:
                rows.append(Row(number, name, None, None, str(error)))
        return [row if not row.reason else Row(row.number, row.name, None, None, row.reason) for row in rows]

    def file(self, data: bytes, kind: str, smiles: str | None, identifier: str | None) -> list[Row]:
        """Read a file that was sent as text; its name and place stay with the client."""
        if kind not in get_args(FileKind):
            raise ServerError(f"kind: expected one of {', '.join(get_args(FileKind))}, got {kind!r}")
        if kind != "jsonl" and not self.takes_smiles:
            raise ServerError(f"{kind}: {self._no_smiles()}")
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            path = Path(folder) / f"input{_SUFFIXES[kind]}"
            path.write_bytes(data)
            try:
                if kind in ("csv", "smi"):
                    return self._table(path, smiles, identifier)
                if kind == "sdf":
                    self._check_batch(data.count(b"$$$$"))
                    return self._data_set(load_sdf(path, id=identifier, **self._reading()))
                self._check_batch(sum(1 for line in data.splitlines() if line.strip()) - 1)
                return self._data_set(load_jsonl(path))
            except _BAD_TEXT as error:
                raise ServerError(str(error)) from error

    # --- parts --------------------------------------------------------------------------------------------

    def _table(self, path: Path, smiles: str | None, identifier: str | None) -> list[Row]:
        table = open_table(path, (smiles, identifier))
        smiles = table.smiles_column() if smiles is None else smiles
        if identifier is None:
            identifier = next((name for name in table.header if name.lower() in ("id", "name")), None)
        texts, names = [], []
        for number, cells, problem in table.rows([smiles, *([identifier] if identifier else [])]):
            if problem:
                raise DatasetError(f"{path.name}, {problem}")
            self._check_batch(number)
            texts.append(cells[0])
            names.append(cells[1] if identifier else "")
        if not texts:
            raise DatasetError(f"{path.name}: expected at least one row, got the header alone")
        return self.smiles(texts, names)

    def _data_set(self, data: GraphDataset) -> list[Row]:
        """Return the rows of a data set in the order of its file, those that were not read among them."""
        self._check_batch(len(data) + len(data.skipped))
        skipped = {row.row: row for row in data.skipped}
        rows: list[Row] = []
        graphs = iter(range(len(data)))
        for number in range(1, len(data) + len(skipped) + 1):
            if number in skipped:
                row = skipped[number]
                rows.append(Row(number, f"row {number}", row.value or None, None, row.reason))
                continue
            i = next(graphs)
            graph = self._ours(data.graphs[i])
            name = data.ids[i] if data.ids is not None else graph.name or f"graph {number}"
            text = data.smiles[i] if data.smiles is not None else None
            reason = self._unfit(graph)
            rows.append(Row(number, name, text, None if reason else graph, reason))
        return rows

    def _molecule(self, number: int, text: str, name: str) -> Row:
        shown = name or text
        # RDKit needs time and memory for what is far too long before it can be counted.
        if len(text) > 20 * self.limits.nodes:
            reason = f"expected at most {self.limits.nodes} atoms, got a SMILES of {len(text)} letters"
            return Row(number, shown[:40], text[:40], None, reason)
        molecule, reason = parse_smiles(text)
        if molecule is None:
            return Row(number, shown, text, None, reason)
        if molecule.GetNumAtoms() > self.limits.nodes:
            reason = f"expected at most {self.limits.nodes} atoms, got {molecule.GetNumAtoms()}"
            return Row(number, shown, text, None, reason)
        assert self.reading is not None
        try:
            graph = self.reading.graph(molecule, schema=self.schema, name=shown)
        except GraphError as error:
            return Row(number, shown, text, None, str(error))
        return Row(number, shown, text, graph)

    def _graph(self, item: dict[str, Any], name: str) -> Graph:
        nodes, edges, features = item["nodes"], item.get("edges") or [], item.get("edge_features")
        if len(nodes) > self.limits.nodes or len(edges) > self.limits.edges:
            raise GraphError(self._too_large(len(nodes), len(edges)))
        plain = [[node] if isinstance(node, int | float) else node for node in nodes]
        empty = np.zeros((0, self.info.n_edge_features)) if not edges else None
        return self._ours(
            Graph(
                plain if plain else np.zeros((0, self.n_node_features)),
                edges,
                features if features else empty,
                directed=self.info.directed if item.get("directed") is None else item["directed"],
                name=name,
            )
        )

    def _ours(self, graph: Graph) -> Graph:
        """Return the graph with the names that the model knows, whatever the client called its features."""
        schema = self._schemas.get(graph.node_features.shape[1])
        fits = schema is not None and graph.edge_features.shape[1] == len(schema.edge)
        return Graph._trusted(
            graph.node_features,
            graph.edges,
            graph.edge_features,
            graph.directed,
            schema if fits else None,
            graph.name,
        )

    def _unfit(self, graph: Graph) -> str:
        """Return why the model cannot be asked about a graph, or nothing."""
        if graph.n_nodes > self.limits.nodes or graph.n_edges > self.limits.edges:
            return self._too_large(graph.n_nodes, graph.n_edges)
        if not graph.n_nodes:
            return "expected at least one node, got none"
        for of, expected, got, count in (
            ("node", self.n_node_features, graph.node_features.shape[1], graph.n_nodes),
            ("edge", self.info.n_edge_features, graph.edge_features.shape[1], graph.n_edges),
        ):
            if count and expected != got and not (of == "node" and got in self._schemas):
                return f"expected {expected} {of} feature(s), as in training, got {got}"
        if graph.n_edges and graph.directed != self.info.directed:
            return f"expected {'a directed' if self.info.directed else 'an undirected'} graph, as in training"
        return ""

    def _reading(self) -> dict[str, Any]:
        return {} if self.reading is None else self.reading.to_json()

    def _too_large(self, n_nodes: int, n_edges: int) -> str:
        most = f"{self.limits.nodes} nodes and {self.limits.edges} edges"
        return f"expected at most {most}, got {n_nodes} and {n_edges}"

    def _check_batch(self, n: int) -> None:
        if n > self.limits.batch:
            raise ServerError(f"expected at most {self.limits.batch} graphs in one request, got {n} or more")

    def _no_smiles(self) -> str:
        return (
            f"this model was not trained on molecules read from SMILES; it expects graphs with "
            f"{self.n_node_features} node feature(s) and {self.info.n_edge_features} edge feature(s)"
        )


# --- examples -----------------------------------------------------------------------------------------------


def given_examples(data: GraphDataset, *, as_smiles: bool) -> list[dict[str, Any]]:
    """Return the first graphs of a data set as a client would send them.

    Parameters
    ----------
    data
        The graphs.
    as_smiles
        Whether the model reads SMILES, so that a molecule may be told by its own.
    """
    shown: list[dict[str, Any]] = []
    for i, graph in enumerate(data.graphs[:MOST_EXAMPLES]):
        name = data.ids[i] if data.ids is not None else graph.name or f"graph {i}"
        if as_smiles and data.smiles is not None:
            shown.append({"name": name, "smiles": data.smiles[i]})
        else:
            shown.append({"name": name, "graph": graph_json(graph)})
    return shown


def graph_json(graph: Graph) -> dict[str, Any]:
    """Return a graph as the JSON that a client sends."""
    found: dict[str, Any] = {"nodes": graph.node_features.tolist(), "edges": graph.edges.tolist()}
    if graph.edge_features.shape[1]:
        found["edge_features"] = graph.edge_features.tolist()
    if graph.directed:
        found["directed"] = True
    return found


def own_examples(model: GDLNNClassifier) -> list[dict[str, Any]]:
    """Return examples for a model that came without any.

    A model of SMILES gets well-known molecules; any other the smallest graphs that contain the best program
    of each class.
    """
    schema = model.schema_
    if MoleculeReader.of_schema(schema) is not None:
        return [{"name": name, "smiles": smiles} for name, smiles in MOLECULES]
    found: dict[Any, dict[str, Any]] = {}
    for number, item in enumerate(model.programs_, 1):
        if item.label in found or not item.program.nodes:
            continue
        word = schema.class_name(item.label) if schema is not None else str(item.label)
        graph = pattern_graph(item.program, schema, model)
        found[item.label] = {"name": f"what program {number} asks for ({word})", "graph": graph}
    return list(found.values())[:MOST_EXAMPLES]


def pattern_graph(program: Program, schema: Schema | None, model: GDLNNClassifier) -> dict[str, Any]:
    """Return the graph that has just the nodes and edges of a program, with values from its intervals."""
    info = model.programs_.info
    place = {variable: i for i, variable in enumerate(program.variables)}
    node_names = schema.node if schema is not None else ()
    edge_names = schema.edge if schema is not None else ()
    found: dict[str, Any] = {
        "nodes": [_values(node.intervals, info.n_node_features, node_names) for node in program.nodes],
        "edges": [[place[edge.source], place[edge.target]] for edge in program.edges],
    }
    if info.n_edge_features and program.edges:
        found["edge_features"] = [
            _values(edge.intervals, info.n_edge_features, edge_names) for edge in program.edges
        ]
    if info.directed:
        found["directed"] = True
    return found


def _values(intervals: Intervals | None, width: int, features: tuple[Feature, ...]) -> list[float]:
    values = []
    for number in range(width):
        lower, upper = intervals[number] if intervals else (-math.inf, math.inf)
        usual = min(features[number].values, default=0.0) if number < len(features) else 0.0
        # A bound has been seen in training; between bounds that are open any value will do.
        values.append(next((bound for bound in (lower, upper) if math.isfinite(bound)), usual))
    return values
