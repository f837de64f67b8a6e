"""Program: a GDL program as an immutable value. Text is in `parser` and `printer`, evaluation in `evaluation`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ProgramError

if TYPE_CHECKING:
    from gdlnn.graphs import Graph, Schema

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Interval(NamedTuple):
    """A closed interval; ``-inf`` and ``inf`` leave a side open."""

    lower: float = -math.inf
    upper: float = math.inf

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.lower <= value <= self.upper


ANY = Interval()
Intervals = tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """``node x <…>``: a node variable and the intervals of its features; None where every node will do."""

    variable: str
    intervals: Intervals | None = None


@dataclass(frozen=True, slots=True)
class EdgeDescription:
    """``edge (x, y) <…>``: an edge variable and the intervals of its features; None where every edge will do."""

    source: str
    target: str
    intervals: Intervals | None = None


class ProgramArrays(NamedTuple):
    """A program as the core takes it: bounds per node (n, d), ends (m, 2), bounds per edge (m, c)."""

    node_lower: FloatArray
    node_upper: FloatArray
    edges: IntArray
    edge_lower: FloatArray
    edge_upper: FloatArray


def _intervals(intervals: Iterable[tuple[float, float]] | None, where: str) -> Intervals | None:
    """Check intervals and bring them into the one form that equal vectors share: all open means none."""
    if intervals is None:
        return None
    checked = []
    for number, (lower, upper) in enumerate(intervals):
        low, high = float(lower) + 0.0, float(upper) + 0.0
        if math.isnan(low) or math.isnan(high) or low > high or low == math.inf or high == -math.inf:
            raise ProgramError(f"{where}: interval {number + 1}: expected [a, b] with a ≤ b, got [{low:g}, {high:g}]")
        checked.append(Interval(low, high))
    return None if all(interval == ANY for interval in checked) else tuple(checked)


class Program:
    """A GDL program: node variables and edge variables with intervals over their features.

    Two programs are equal when they have the same descriptions in the same order; `canonical` brings programs that
    differ only in variable names and order of descriptions to one form. A vector of intervals that are all open
    is the same as no vector.

    Parameters
    ----------
    nodes
        Node descriptions, or pairs ``(variable, intervals or None)``.
    edges
        Edge descriptions, or triples ``(source, target, intervals or None)``.
    """

    nodes: tuple[NodeDescription, ...]
    edges: tuple[EdgeDescription, ...]

    def __init__(
        self,
        nodes: Iterable[NodeDescription | tuple[str, Any]] = (),
        edges: Iterable[EdgeDescription | tuple[str, str, Any]] = (),
    ) -> None:
        checked_nodes: list[NodeDescription] = []
        declared: set[str] = set()
        for node in nodes:
            variable, intervals = (
                (node.variable, node.intervals) if isinstance(node, NodeDescription) else node
            )
            if variable in declared:
                raise ProgramError(f"node {variable}: expected each variable once, but it is described twice")
            declared.add(variable)
            checked_nodes.append(NodeDescription(variable, _intervals(intervals, f"node {variable}")))
        checked_edges: list[EdgeDescription] = []
        seen: set[tuple[str, str]] = set()
        for edge in edges:
            source, target, intervals = (
                (edge.source, edge.target, edge.intervals) if isinstance(edge, EdgeDescription) else edge
            )
            where = f"edge ({source}, {target})"
            for end in (source, target):
                if end not in declared:
                    raise ProgramError(f"{where}: expected a declared variable, but there is no node {end}")
            if (source, target) in seen:
                raise ProgramError(f"{where}: expected each edge once, but it is described twice")
            seen.add((source, target))
            checked_edges.append(EdgeDescription(source, target, _intervals(intervals, where)))
        for what, lengths in (
            ("node", {len(n.intervals): n.variable for n in checked_nodes if n.intervals is not None}),
            ("edge", {len(e.intervals): f"({e.source}, {e.target})" for e in checked_edges if e.intervals is not None}),
        ):
            if len(lengths) > 1:
                (one, first), (other, second) = list(lengths.items())[:2]
                raise ProgramError(
                    f"{what} {second}: expected {one} interval(s), as for {what} {first}, got {other}"
                )
        object.__setattr__(self, "nodes", tuple(checked_nodes))
        object.__setattr__(self, "edges", tuple(checked_edges))

    # --- what it says -------------------------------------------------------------------------------------------

    @property
    def variables(self) -> tuple[str, ...]:
        """The node variables, in order."""
        return tuple(node.variable for node in self.nodes)

    @cached_property
    def n_node_features(self) -> int | None:
        """Number of node features, or None where no node has a vector."""
        return next((len(n.intervals) for n in self.nodes if n.intervals is not None), None)

    @cached_property
    def n_edge_features(self) -> int | None:
        """Number of edge features, or None where no edge has a vector."""
        return next((len(e.intervals) for e in self.edges if e.intervals is not None), None)

    def arrays(self, n_node_features: int, n_edge_features: int) -> ProgramArrays:
        """Return the program as the core takes it, for graphs with these numbers of features."""
        for what, expected, got in (
            ("node", n_node_features, self.n_node_features),
            ("edge", n_edge_features, self.n_edge_features),
        ):
            if got is not None and got != expected:
                raise ProgramError(f"expected {expected} interval(s) per {what}, as the graphs have features, got {got}")

        def bounds(vectors: list[Intervals | None], width: int) -> tuple[FloatArray, FloatArray]:
            rows = [vector if vector is not None else (ANY,) * width for vector in vectors]
            table = np.array(rows, dtype=np.float64).reshape(len(vectors), width, 2)
            return np.ascontiguousarray(table[:, :, 0]), np.ascontiguousarray(table[:, :, 1])

        position = {variable: i for i, variable in enumerate(self.variables)}
        ends = np.array([(position[e.source], position[e.target]) for e in self.edges], dtype=np.int64)
        return ProgramArrays(
            *bounds([n.intervals for n in self.nodes], n_node_features),
            ends.reshape(len(self.edges), 2),
            *bounds([e.intervals for e in self.edges], n_edge_features),
        )

    # --- value ----------------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Program cannot be changed (tried to set {name!r}); build a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Program cannot be changed (tried to delete {name!r}); build a new one")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        return self.nodes == other.nodes and self.edges == other.edges

    def __hash__(self) -> int:
        return hash((self.nodes, self.edges))

    def __reduce__(self) -> tuple[Any, ...]:
        return Program, (
            tuple((n.variable, n.intervals) for n in self.nodes),
            tuple((e.source, e.target, e.intervals) for e in self.edges),
        )
