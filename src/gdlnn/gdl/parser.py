"""GDL text to programs: one program, or a file of programs with headers. The other way is `printer`."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from gdlnn.gdl.conditions import intervals_from_conditions
from gdlnn.gdl.program import ANY, EdgeDescription, Interval, NamedProgram, NodeDescription, Program
from gdlnn.gdl.syntax import EdgeText, HeaderText, NodeText, OddLineError, printed_records, read
from gdlnn.gdl.text import TextFault, shown, syntax_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gdlnn.errors import GDLSyntaxError
    from gdlnn.gdl.program import Intervals
    from gdlnn.gdl.syntax import Record, VectorText
    from gdlnn.graphs import Feature, Schema


MAX_DESCRIPTIONS = 200_000
"""Maximum number of nodes and edges of one program."""


def parse_program(text: str, schema: Schema | None = None) -> Program:
    """Read one program; a header, where there is one, is read and dropped.

    Raises
    ------
    GDLSyntaxError
        With line, column and a caret, if the text is not a program.
    """
    records = read(text, "single")
    try:
        return _program(records, schema)
    except TextFault as fault:
        wrong = syntax_error(text, fault.offset, fault.reason)
    raise wrong


def parse_programs(text: str, schema: Schema | None = None) -> list[NamedProgram]:
    """Read a text of several programs, each after its header ``program name {key: value, …}``.

    A text without a header is one program without a name; an empty text holds none.
    """
    return list(iterate_programs(text, schema))


def iterate_programs(text: str, schema: Schema | None = None) -> Iterator[NamedProgram]:
    """Yield the programs that `parse_programs` gives one by one: what was read of one is then let go."""
    wrong: GDLSyntaxError | None = None
    done = 0
    try:
        try:
            for program in _programs(printed_records(text), schema):
                yield program
                done += 1
        except OddLineError:  # the grammar reads all of it, and gives the same programs up to here
            yield from islice(_programs(iter(read(text, "several")), schema), done, None)
    except TextFault as fault:
        wrong = syntax_error(text, fault.offset, fault.reason)
    if wrong is not None:
        raise wrong


def _programs(records: Iterator[Record], schema: Schema | None) -> Iterator[NamedProgram]:
    """Yield the programs of a file, which begin at their headers; without any header it is one program."""
    header: HeaderText | None = None
    block: list[Record] = []
    for record in records:
        if not isinstance(record, HeaderText):
            block.append(record)
            continue
        if header is not None:
            yield NamedProgram(_program(block, schema), header.name, header.metadata)
        elif block:
            reason = "expected a header before the first description, as the programs after it have one"
            raise TextFault(block[0].offset, reason)
        header, block = record, []
    if header is not None or block:
        name, metadata = (header.name, header.metadata) if header is not None else ("", {})
        yield NamedProgram(_program(block, schema), name, metadata)


def _program(records: list[Record], schema: Schema | None) -> Program:
    """Check the descriptions of one program and build it."""
    if len(records) > MAX_DESCRIPTIONS:
        reason = f"expected at most {MAX_DESCRIPTIONS:,} descriptions, got {len(records):,}"
        raise TextFault(records[0].offset, reason)
    nodes = [record for record in records if isinstance(record, NodeText)]
    edges = [record for record in records if isinstance(record, EdgeText)]
    declared: set[str] = set()
    node_vectors = _Vectors("node", schema.node if schema else None)
    built_nodes = []
    for node in nodes:
        if node.variable in declared:
            reason = f"expected each variable once, but {shown(node.variable)} is described twice"
            raise TextFault(node.offset, reason)
        declared.add(node.variable)
        built_nodes.append(NodeDescription(node.variable, node_vectors.check(node.vector)))
    seen: set[tuple[str, str]] = set()
    edge_vectors = _Vectors("edge", schema.edge if schema else None)
    built_edges = []
    for edge in edges:
        ends = (edge.source, edge.target)
        for end in ends:
            if end not in declared:
                raise TextFault(
                    edge.offset, f"expected a declared variable, but there is no node {shown(end)}"
                )
        if ends in seen:
            shown_ends = f"({', '.join(end[:40] for end in ends)})"
            raise TextFault(edge.offset, f"expected each edge once, but edge {shown_ends} is described twice")
        seen.add(ends)
        built_edges.append(EdgeDescription(*ends, edge_vectors.check(edge.vector)))
    return Program._trusted(tuple(built_nodes), tuple(built_edges))


class _Vectors:
    """Checks the vectors of the nodes, or of the edges, of one program: all have one length."""

    def __init__(self, what: str, features: tuple[Feature, ...] | None) -> None:
        self._what, self._features = what, features
        self._length = None if features is None else len(features)
        self._reason = f"as the schema has {what} features"

    def check(self, vector: VectorText | None) -> Intervals | None:
        """Return the intervals of a vector; one that is open throughout is none."""
        if vector is None:
            return None
        if vector.conditions:
            if self._features is None:
                raise TextFault(
                    vector.conditions[0].offset,
                    "expected intervals such as [1.0, 2.0]: features have names only with a schema",
                )
            intervals = intervals_from_conditions(vector.conditions, self._features, self._what)
        else:
            intervals = _intervals(vector)
            if self._length is None:
                self._length, self._reason = len(intervals), f"as for the first {self._what} with a vector"
            elif len(intervals) != self._length:
                raise TextFault(
                    vector.offset,
                    f"expected {self._length} interval(s), {self._reason}, got {len(intervals)}",
                )
        return None if all(interval == ANY for interval in intervals) else intervals


def _intervals(vector: VectorText) -> Intervals:
    return _checked_bounds(tuple(vector.bounds)) or _faulty(vector)


@lru_cache(maxsize=4096)
def _checked_bounds(bounds: tuple[float, ...]) -> Intervals | None:
    """Return the intervals of bounds, the same object for the same ones; None where one is at fault."""
    lowers, uppers = bounds[::2], bounds[1::2]
    for lower, upper in zip(lowers, uppers, strict=True):
        if lower > upper or lower == math.inf or upper == -math.inf:
            return None
    return tuple(map(Interval, lowers, uppers))


def _faulty(vector: VectorText) -> Intervals:
    lowers, uppers = vector.bounds[::2], vector.bounds[1::2]
    for i, (lower, upper) in enumerate(zip(lowers, uppers, strict=True)):
        if lower > upper or lower == math.inf or upper == -math.inf:
            raise TextFault(vector.place(2 * i), f"expected [a, b] with a ≤ b, got [{lower:g}, {upper:g}]")
    return ()
