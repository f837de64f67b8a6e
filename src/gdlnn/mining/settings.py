"""Settings: the parameters of a mining call, checked once; and the features that it ignores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from gdlnn.errors import MiningError
from gdlnn.gdl.program import ANY, EdgeDescription, Intervals, NodeDescription, Program
from gdlnn.graphs import Graph, GraphDataset

Strategy = Literal["greedy", "sequential"]
Nominal = Literal["value", "interval"]
Targets = Sequence[int] | npt.NDArray[np.int64] | Literal["auto"] | None
MOST_TARGETS = 2000
"""Most graphs that ``targets="auto"`` starts from."""

STEP_BUDGET = 20_000
"""Maximum steps of one search while mining."""
FINAL_BUDGET = 2_000_000
"""Maximum steps of one search when the support of a mined program is recounted."""


@dataclass(frozen=True)
class Settings:
    """The settings that determine the result of mining: everything except threads, clocks and files."""

    epsilon: float
    strategy: Strategy = "greedy"
    connected: bool = True
    step_budget: int = STEP_BUDGET
    random_state: int = 0
    nominal: Nominal = "value"

    def __post_init__(self) -> None:
        for name, choices in (("strategy", get_args(Strategy)), ("nominal", get_args(Nominal))):
            if getattr(self, name) not in choices:
                raise wrong(name, f"one of {', '.join(choices)}", getattr(self, name))


def resolved_epsilon(epsilon: float | str, n_graphs: int) -> float:
    """Return ε as a number; ``"1%"`` means 0.01 times the number of training graphs."""
    expected = 'a positive number, or a percentage of the training graphs such as "1%"'
    try:
        if isinstance(epsilon, str) and epsilon.strip().endswith("%"):
            value = float(epsilon.strip()[:-1]) / 100 * n_graphs
        else:
            value = float(epsilon)
    except (TypeError, ValueError):
        raise wrong("epsilon", expected, epsilon) from None
    if isinstance(epsilon, bool) or not (math.isfinite(value) and value > 0):
        raise wrong("epsilon", expected, epsilon)
    return value


def whole(name: str, value: Any, least: int) -> int:
    """Check a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least or value >= 2**63:
        raise wrong(name, f"a whole number of at least {least}", value)
    return int(value)


def checked_seconds(name: str, value: Any) -> float:
    """Check a number of seconds; None is without limit."""
    if value is None:
        return math.inf
    if not isinstance(value, int | float | np.integer | np.floating) or not 0 <= value < math.inf:
        raise wrong(name, "a number of at least 0", value)
    return float(value)


def checked_labels(dataset: GraphDataset) -> tuple[list[Any], npt.NDArray[np.int32]]:
    """Return the distinct labels as Python values, in order, and the number of each graph's label."""
    if not isinstance(dataset, GraphDataset):
        raise wrong("dataset", "a GraphDataset", dataset)
    if not len(dataset):
        raise MiningError("mine: dataset: expected at least one graph, got none")
    if dataset.y is None:
        raise MiningError("mine: dataset: the dataset has no labels (y)")
    if dataset.y.dtype.kind == "f" and np.isnan(dataset.y).any():
        row = int(np.flatnonzero(np.isnan(dataset.y))[0])
        raise MiningError(f"mine: dataset: graph {row}: expected a label, got nan")
    labels, codes = np.unique(dataset.y, return_inverse=True)
    return labels.tolist(), codes.astype(np.int32)


def wrong(name: str, expected: str, got: object) -> MiningError:
    """Return the error for a parameter of `mine`."""
    return MiningError(f"mine: {name}: expected {expected}, got {got!r:.80}")


# --- features to ignore -----------------------------------------------------------------------------------


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
        graphs = []
        for graph in dataset.graphs:
            nodes, edges = graph.node_features.copy(), graph.edge_features.copy()
            nodes[:, self.nodes] = edges[:, self.edges] = 0.0
            graphs.append(Graph(nodes, graph.edges, edges, directed=graph.directed, schema=graph.schema))
        return GraphDataset(graphs, dataset.y, dataset.schema, dataset.name)

    def open(self, program: Program, directed: bool) -> Program:
        """Return a program mined with hidden features as one over the full data, with the same matches."""
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


def _open(intervals: Intervals | None, columns: tuple[int, ...]) -> Intervals | None:
    return intervals and tuple(ANY if i in columns else interval for i, interval in enumerate(intervals))
