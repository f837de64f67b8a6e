"""Program: a GDL program as an immutable value. Text, words, canonical form and matching are elsewhere."""

from __future__ import annotations

import importlib
import math
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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


KEYWORDS = frozenset({"node", "edge", "program"})
_NAME = re.compile(r"[^\W\d]\w*")
Intervals = tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """``node x <…>``: a node variable and the intervals of its features; None for any values."""

    variable: str
    intervals: Intervals | None = None


@dataclass(frozen=True, slots=True)
class EdgeDescription:
    """``edge (x, y) <…>``: an edge variable and the intervals of its features; None for any values."""

    source: str
    target: str
    intervals: Intervals | None = None


class NamedProgram(NamedTuple):
    """A program of a file, with the name and the metadata of its header."""

    program: Program
    name: str
    metadata: dict[str, Any]


class ProgramArrays(NamedTuple):
    """A program in the core's encoding: bounds per node (n, d), ends (m, 2), bounds per edge (m, c)."""

    node_lower: FloatArray
    node_upper: FloatArray
    edges: IntArray
    edge_lower: FloatArray
    edge_upper: FloatArray


def is_variable(name: object) -> bool:
    """Whether a name can be a variable in GDL text: letters, digits and _, no digit first, no keyword."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None and name not in KEYWORDS


def checked_intervals(intervals: Iterable[tuple[float, float]] | None, where: str) -> Intervals | None:
    """Check intervals and normalize them, so that a vector of open intervals becomes None."""
    if intervals is None:
        return None
    try:
        return _normalized(tuple(pair if type(pair) is Interval else tuple(pair) for pair in intervals))
    except ProgramError as error:
        raise ProgramError(f"{where}: {error}") from None


def exact_intervals(values: Iterable[float]) -> Intervals | None:
    """Return the intervals of one value each; a missing value has no condition."""
    found = tuple(ANY if math.isnan(value) else Interval(value, value) for value in values)
    return found if any(interval != ANY for interval in found) else None


@lru_cache(maxsize=4096)  # the programs of a model have few different vectors
def _normalized(intervals: tuple[tuple[float, ...], ...]) -> Intervals | None:
    checked = []
    for number, (lower, upper) in enumerate(intervals):
        low, high = float(lower) + 0.0, float(upper) + 0.0
        if math.isnan(low) or math.isnan(high) or low > high or low == math.inf or high == -math.inf:
            raise ProgramError(f"interval {number + 1}: expected [a, b] with a ≤ b, got [{low:g}, {high:g}]")
        checked.append(Interval(low, high))
    return None if all(interval == ANY for interval in checked) else tuple(checked)


def _checked_nodes(nodes: Iterable[NodeDescription | tuple[str, Any]]) -> tuple[NodeDescription, ...]:
    checked: list[NodeDescription] = []
    declared: set[str] = set()
    for node in nodes:
        variable, intervals = (node.variable, node.intervals) if isinstance(node, NodeDescription) else node
        if not is_variable(variable):
            raise ProgramError(
                f"node {variable!r}: expected a variable of letters, digits and _ that is none of "
                f"{', '.join(sorted(KEYWORDS))}"
            )
        if variable in declared:
            raise ProgramError(f"node {variable}: expected each variable once, but it is described twice")
        declared.add(variable)
        checked.append(NodeDescription(variable, checked_intervals(intervals, f"node {variable}")))
    return tuple(checked)


def _checked_edges(
    edges: Iterable[EdgeDescription | tuple[str, str, Any]], declared: set[str]
) -> tuple[EdgeDescription, ...]:
    checked: list[EdgeDescription] = []
    described: set[tuple[str, str]] = set()
    for edge in edges:
        source, target, intervals = (
            (edge.source, edge.target, edge.intervals) if isinstance(edge, EdgeDescription) else edge
        )
        where = f"edge ({source}, {target})"
        for end in (source, target):
            if end not in declared:
                raise ProgramError(f"{where}: expected a declared variable, but there is no node {end}")
        if (source, target) in described:
            raise ProgramError(f"{where}: expected each edge once, but it is described twice")
        described.add((source, target))
        checked.append(EdgeDescription(source, target, checked_intervals(intervals, where)))
    return tuple(checked)


def _check_lengths(what: str, vectors: Iterable[tuple[str, Intervals | None]]) -> None:
    first: tuple[str, int] | None = None
    for name, intervals in vectors:
        if intervals is None:
            continue
        if first is None:
            first = (name, len(intervals))
        elif len(intervals) != first[1]:
            reason = f"as for {what} {first[0]}, got {len(intervals)}"
            raise ProgramError(f"{what} {name}: expected {first[1]} interval(s), {reason}")


class Program:
    """A GDL program: node variables and edge variables with intervals over their features.

    Two programs are equal when they have the same descriptions in the same order; `canonical` brings programs
    that differ only in variable names and order of descriptions to one form. A vector of intervals that are
    all open is the same as no vector.

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
        checked_nodes = _checked_nodes(nodes)
        checked_edges = _checked_edges(edges, {node.variable for node in checked_nodes})
        _check_lengths("node", ((n.variable, n.intervals) for n in checked_nodes))
        _check_lengths("edge", ((f"({e.source}, {e.target})", e.intervals) for e in checked_edges))
        object.__setattr__(self, "nodes", checked_nodes)
        object.__setattr__(self, "edges", checked_edges)

    @classmethod
    def _trusted(
        cls,
        nodes: tuple[NodeDescription, ...],
        edges: tuple[EdgeDescription, ...],
        schema: Schema | None = None,
    ) -> Program:
        """Build from descriptions that are known to be valid, without checking them again."""
        program = object.__new__(cls)
        object.__setattr__(program, "nodes", nodes)
        object.__setattr__(program, "edges", edges)
        if schema is not None:
            program.__dict__["_schema"] = schema
        return program

    @property
    def schema(self) -> Schema | None:
        """The names of its features, if known. It is ignored when programs are compared."""
        schema: Schema | None = self.__dict__.get("_schema")
        return schema

    def with_schema(self, schema: Schema | None) -> Program:
        """Return the same program with names for its features."""
        return self if schema is self.schema else Program._trusted(self.nodes, self.edges, schema)

    # --- where it comes from --------------------------------------------------------------------------------

    @classmethod
    def parse(cls, text: str, schema: Schema | None = None) -> Program:
        """Read one program from GDL text, in the exact or (with a schema) in the readable form.

        A text that is no program raises a GDLSyntaxError with line, column and a caret.
        """
        from gdlnn.gdl.parser import parse_program  # lark is needed for text alone

        return parse_program(text, schema).with_schema(schema)

    @classmethod
    def from_graph(cls, graph: Graph) -> Program:
        """Return the most specific program of a graph: variables x0, x1, … and every value as an interval."""
        names = [f"x{i}" for i in range(graph.n_nodes)]
        nodes = map(NodeDescription, names, map(exact_intervals, graph.node_features.tolist()))
        ends = zip(graph.edges.tolist(), map(exact_intervals, graph.edge_features.tolist()), strict=True)
        edges = (EdgeDescription(names[u], names[v], vector) for (u, v), vector in ends)
        return cls._trusted(tuple(nodes), tuple(edges))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Program:
        """Build a program from what `to_json` gave."""
        from gdlnn.gdl.printer import program_from_json

        return program_from_json(data)

    # --- what it says ---------------------------------------------------------------------------------------

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

    @cached_property
    def ends(self) -> IntArray:
        """The positions of the variables that each edge joins, edges × 2."""
        position = {variable: i for i, variable in enumerate(self.variables)}
        ends = [(position[edge.source], position[edge.target]) for edge in self.edges]
        return np.array(ends, dtype=np.int64).reshape(len(self.edges), 2)

    def arrays(self, n_node_features: int, n_edge_features: int) -> ProgramArrays:
        """Return the program in the core's encoding, for graphs with these numbers of features."""
        shape = (n_node_features, n_edge_features)
        cached: tuple[tuple[int, int], ProgramArrays] | None = self.__dict__.get("_packed")
        if cached is None or cached[0] != shape:  # a model uses the same ones for every prediction
            cached = (shape, self._pack(n_node_features, n_edge_features))
            self.__dict__["_packed"] = cached
        return cached[1]

    def check_widths(self, n_node_features: int, n_edge_features: int) -> None:
        """Refuse graphs with other numbers of features than the program has."""
        for what, expected, got in (
            ("node", n_node_features, self.n_node_features),
            ("edge", n_edge_features, self.n_edge_features),
        ):
            if got is not None and got != expected:
                raise ProgramError(
                    f"expected {expected} interval(s) per {what}, as the graphs have features, got {got}"
                )

    def _pack(self, n_node_features: int, n_edge_features: int) -> ProgramArrays:
        self.check_widths(n_node_features, n_edge_features)

        def bounds(vectors: list[Intervals | None], width: int) -> tuple[FloatArray, FloatArray]:
            rows = [vector if vector is not None else (ANY,) * width for vector in vectors]
            table = np.array(rows, dtype=np.float64).reshape(len(vectors), width, 2)
            return np.ascontiguousarray(table[:, :, 0]), np.ascontiguousarray(table[:, :, 1])

        return ProgramArrays(
            *bounds([n.intervals for n in self.nodes], n_node_features),
            self.ends,
            *bounds([e.intervals for e in self.edges], n_edge_features),
        )

    def canonical(self, directed: bool = False) -> Program:
        """Return a form that is equal exactly for programs that differ only in variable names and order.

        With ``directed=False`` the orientation of edges makes no difference either, and ``edge (x, y)`` and
        ``edge (y, x)`` are one edge with the intersection of their intervals.
        """
        from gdlnn.gdl.canonical import canonical

        return canonical(self, directed=directed).with_schema(self.schema)

    # --- what it finds --------------------------------------------------------------------------------------

    def matches(self, graph: Graph) -> bool:
        """Whether the graph contains the program's pattern."""
        from gdlnn.gdl import matching

        return matching.matches(self, graph)

    def find(self, graph: Graph) -> dict[str, int] | None:
        """Return one witness, variable to node, or None if the program does not match."""
        return next(self.witnesses(graph), None)

    def witnesses(self, graph: Graph) -> Iterator[dict[str, int]]:
        """Yield every witness, in a fixed order."""
        from gdlnn.gdl import matching

        return matching.witnesses(self, graph)

    def count(self, graph: Graph, distinct: bool = False) -> int:
        """Count the witnesses, or with ``distinct=True`` the distinct subgraphs that they cover."""
        from gdlnn.gdl import matching

        return matching.count(self, graph, distinct=distinct)

    # --- how it is shown ------------------------------------------------------------------------------------

    def to_text(self, schema: Schema) -> str:
        """Return the readable form, with the names of the schema; `parse(text, schema)` reads it back."""
        from gdlnn.gdl.printer import format_readable

        return format_readable(self, schema)

    def describe(self, schema: Schema | None = None, *, directed: bool | None = None) -> str:
        """Describe in plain English which graphs the program matches.

        Parameters
        ----------
        schema
            The names of the features and of their values.
        directed
            Whether graphs are directed: successors, not neighbors. By default yes, unless a schema is given.
        """
        from gdlnn.gdl.wording import describe

        return describe(self, schema, directed=schema is None if directed is None else directed)

    def to_smarts(self, schema: Schema, *, exact: bool = True) -> str:
        """Return the SMARTS of a program over molecules; raise if SMARTS cannot express a condition.

        With ``exact=False`` such conditions are left out, and the SMARTS finds more molecules.
        """
        from gdlnn.gdl.smarts import to_smarts

        return to_smarts(self, schema, exact=exact)

    def to_json(self) -> dict[str, Any]:
        """Return the program as plain JSON values; an open side is null."""
        from gdlnn.gdl.printer import program_to_json

        return program_to_json(self)

    def __str__(self) -> str:
        from gdlnn.gdl.printer import format_exact

        return format_exact(self)

    def __repr__(self) -> str:
        from gdlnn.gdl.printer import format_short

        return format_short(self)

    def _repr_html_(self) -> str:
        # Imported by name: programs do not depend on drawings, which only notebooks need.
        drawing = importlib.import_module("gdlnn.drawing.notebook")
        return str(drawing.program_html(self))

    # --- value ----------------------------------------------------------------------------------------------

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
        return _unpickled, (
            tuple((n.variable, n.intervals) for n in self.nodes),
            tuple((e.source, e.target, e.intervals) for e in self.edges),
            self.schema,
        )


def _unpickled(nodes: Any, edges: Any, schema: Schema | None) -> Program:
    return Program(nodes, edges).with_schema(schema)
