"""HiddenFeatures: features that mined programs do not mention, hidden from the search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import MiningError
from gdlnn.gdl.program import ANY, EdgeDescription, Intervals, NodeDescription, Program
from gdlnn.graphs import Graph, GraphDataset

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class HiddenFeatures:
    """The columns of the hidden features."""

    nodes: tuple[int, ...] = ()
    edges: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.edges)

    def hide(self, dataset: GraphDataset) -> GraphDataset:
        """Return the dataset with zeros in these columns: a constant carries no information."""
        if not self:
            return dataset
        graphs = [
            Graph(
                _zeroed(graph.node_features, self.nodes),
                graph.edges,
                _zeroed(graph.edge_features, self.edges),
                directed=graph.directed,
                schema=graph.schema,
                name=graph.name,
            )
            for graph in dataset.graphs
        ]
        return GraphDataset(graphs, dataset.y, dataset.schema, dataset.name)

    def open(self, program: Program, directed: bool) -> Program:
        """Return a program mined with hidden features as one over the full data, with the same matches."""
        if not self:
            return program
        nodes = [NodeDescription(n.variable, _open(n.intervals, self.nodes)) for n in program.nodes]
        edges = [EdgeDescription(e.source, e.target, _open(e.intervals, self.edges)) for e in program.edges]
        return Program(nodes, edges).canonical(directed)


def find_hidden(dataset: GraphDataset, names: Sequence[str]) -> HiddenFeatures:
    """Find features of nodes and of edges by their names in the schema.

    Raises
    ------
    MiningError
        If there is no schema, or no feature of that name.
    """
    listed: tuple[Any, ...] = (names,) if isinstance(names, str) else tuple(names)
    if not listed:
        return HiddenFeatures()
    schema = dataset.schema
    if schema is None:
        raise MiningError("ignore: needs a dataset with a schema that names the features")
    known = [feature.name for feature in (*schema.node, *schema.edge)]
    for name in listed:
        if name not in known:
            raise MiningError(f"ignore: expected features out of {', '.join(known)}, got {name!r}")
    return HiddenFeatures(
        tuple(i for i, feature in enumerate(schema.node) if feature.name in listed),
        tuple(i for i, feature in enumerate(schema.edge) if feature.name in listed),
    )


def _zeroed(table: npt.NDArray[np.float64], columns: tuple[int, ...]) -> npt.NDArray[np.float64]:
    changed = np.array(table)
    changed[:, list(columns)] = 0.0
    return changed


def _open(intervals: Intervals | None, columns: tuple[int, ...]) -> Intervals | None:
    if intervals is None:
        return None
    opened = tuple(ANY if i in columns else interval for i, interval in enumerate(intervals))
    return None if all(interval == ANY for interval in opened) else opened
