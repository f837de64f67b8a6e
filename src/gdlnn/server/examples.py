"""Examples for clients to try: graphs of a dataset, well-known molecules, or the patterns of programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gdlnn.graphs.molecules import MoleculeReader

if TYPE_CHECKING:
    from gdlnn.gdl.program import Intervals, Program
    from gdlnn.graphs import Feature, Graph, GraphDataset, Schema
    from gdlnn.model import GDLNNClassifier

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


def given_examples(data: GraphDataset, *, as_smiles: bool) -> list[dict[str, Any]]:
    """Return the first graphs of a dataset as a client would send them.

    Parameters
    ----------
    data
        The graphs.
    as_smiles
        Whether the model reads SMILES, so that molecules are given as SMILES.
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
