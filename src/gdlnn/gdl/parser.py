"""GDL text to programs, by the grammar in `grammar.lark`: one program, or a file of programs with headers.

The other way is `printer`.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from gdlnn.gdl.conditions import Condition, intervals_from_conditions
from gdlnn.gdl.program import ANY, EdgeDescription, Interval, NamedProgram, NodeDescription, Program
from gdlnn.gdl.text import TextFault, listed, shown, syntax_error
from gdlnn.io import bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gdlnn.errors import GDLSyntaxError
    from gdlnn.gdl.conditions import Operator
    from gdlnn.gdl.program import Intervals
    from gdlnn.graphs import Feature, Schema

MAX_DESCRIPTIONS = 200_000
"""Maximum number of nodes and edges of one program."""
_MAX_CACHED = 1000  # characters of a vector that is converted once, however often it occurs
_NUMBER = re.compile(r"[+-]?(?:[0-9.]++(?:[eE][+-]?[0-9]++)?|inf)")
_WORD = re.compile(r"\w{1,41}")

_TERMINALS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a quoted string",
    "VECTOR": "'<'",
    "PAIR": "'('",
    "OBJECT": "'{'",
    "NODE": "node",
    "EDGE": "edge",
    "PROGRAM": "program",
    "IN": "in",
    "$END": "the end of the text",
}


Built = TypeVar("Built")


def parse_program(text: str, schema: Schema | None = None) -> Program:
    """Read one program; a header, where there is one, is read and dropped."""
    return _parse(text, "single", lambda records: _program(records, schema))


def parse_programs(text: str, schema: Schema | None = None) -> list[NamedProgram]:
    """Read a text of several programs, each after its header ``program name {"key": value, …}``.

    A text without a header is one program without a name; an empty text holds none.
    """
    return _parse(text, "several", lambda records: _programs(records, schema))


def _parse(text: str, start: str, build: Callable[[list[Record]], Built]) -> Built:
    """Build what a text says; `start` is a start rule of the grammar."""
    parser = _lark().parse_interactive(text, start=start)
    try:
        for _ in parser.iter_parse():
            pass
        return build(parser.feed_eof())  # type: ignore[no-untyped-call]
    except UnexpectedInput as error:
        accepted: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
        wrong = _unexpected(text, error, accepted)
    except TextFault as fault:
        wrong = syntax_error(text, fault.offset, fault.reason)
    # Raised here, it has no reference to the parser, so that it can be sent to another process.
    raise wrong


def _unexpected(text: str, error: UnexpectedInput, accepted: set[str]) -> GDLSyntaxError:
    """Return the error for what the parser met, where, and what it expected."""
    patterns = {terminal.name: terminal.pattern for terminal in _lark().terminals}
    words = {_TERMINALS[name] if name in _TERMINALS else f"'{patterns[name].value}'" for name in accepted}
    # Words first, signs after them: "a number or '['" reads better than the other way.
    expected = listed(sorted(words, key=lambda word: (word[0] == "'", word)))
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return syntax_error(text, len(text.rstrip()), f"expected {expected}, but the text ends")
    offset: int = error.pos_in_stream  # type: ignore[assignment]
    if text.startswith("/*", offset):
        return syntax_error(text, offset, "expected */ to close this comment, but the text ends")
    if isinstance(error, UnexpectedCharacters) and text.startswith('"', offset):
        return syntax_error(text, offset, 'expected " to close this string, but the line ends')
    word = _WORD.match(text, offset)
    got = shown(word[0] if word else text[offset : offset + 1])
    return syntax_error(text, offset, f"expected {expected}, got {got}")


# --- records ----------------------------------------------------------------------------------------------


class VectorText(NamedTuple):
    """``<…>``: intervals in a row, or conditions by name; one is empty."""

    offset: int
    intervals: Intervals = ()
    conditions: Sequence[Condition] = ()


class NodeText(NamedTuple):
    """``node x <…>``."""

    offset: int
    variable: str
    vector: VectorText | None


class EdgeText(NamedTuple):
    """``edge (x, y) <…>``."""

    offset: int
    source: str
    target: str
    vector: VectorText | None


class HeaderText(NamedTuple):
    """``program name {…}``."""

    offset: int
    name: str
    metadata: dict[str, Any]


Record = HeaderText | NodeText | EdgeText


def _offset(token: Token) -> int:
    return token.start_pos or 0


def _number(text: str, offset: int) -> float:
    value = float(text)
    if math.isinf(value) and not text.endswith("inf"):
        raise TextFault(offset, f"expected a number that a double can hold, got {shown(text)}")
    return value


def _intervals(numbers: Sequence[str], place: Callable[[int], int]) -> Intervals:
    """Return the intervals between numbers, two by two; `place` gives the offset of a number."""
    # -0.0 becomes 0.0, so that equal bounds print the same.
    bounds = [float(number) + 0.0 for number in numbers]
    if math.inf in bounds or -math.inf in bounds:
        for i, number in enumerate(numbers):
            if math.isinf(bounds[i]) and not number.endswith("inf"):
                _number(number, place(i))
    lowers, uppers = bounds[::2], bounds[1::2]
    for i, (lower, upper) in enumerate(zip(lowers, uppers, strict=True)):
        if lower > upper or lower == math.inf or upper == -math.inf:
            raise TextFault(place(2 * i), f"expected [a, b] with a ≤ b, got [{lower:g}, {upper:g}]")
    return tuple(map(Interval, lowers, uppers))


@lru_cache(maxsize=4096)
def _token_intervals(source: str) -> Intervals:
    """Return the intervals of a vector that is one token, the same object for the same text."""
    numbers = _NUMBER.findall(source)
    return _intervals(numbers, lambda i: next(islice(_NUMBER.finditer(source), i, None)).start())


def _string(token: Token) -> str:
    try:
        return str(json.loads(token))
    except ValueError as error:
        raise TextFault(_offset(token), f"expected a string with JSON escapes, got {shown(token)}") from error


def _object(token: Token) -> dict[str, Any]:
    try:
        return dict(bounded.loads(token))
    except ValueError as error:
        raise TextFault(_offset(token), f"expected a JSON object on one line, got {shown(token)}") from error


def _condition(operator: Operator) -> Callable[[object, list[Any]], Condition]:
    """Return the method of the builder for conditions with an operator."""

    def build(_: object, children: list[Any]) -> Condition:
        (offset, feature), *values = children
        return Condition(offset, feature, operator, values)

    return build


class _Builder(Transformer[Token, Any]):
    """Turn parsed rules into records while the parser runs."""

    def name(self, children: list[Token]) -> tuple[int, str]:
        token = children[0]
        return _offset(token), _string(token) if token.type == "STRING" else str(token)

    def value(self, children: list[Token]) -> tuple[int, float | str]:
        token = children[0]
        if token.type == "NUMBER":
            return _offset(token), _number(token, _offset(token)) + 0.0
        return self.name(children)

    def header(self, children: list[Any]) -> HeaderText:
        keyword, name, metadata = children
        entries = {} if metadata is None else _object(metadata)
        return HeaderText(_offset(keyword), "" if name is None else name[1], entries)

    def intervals(self, children: list[Token]) -> VectorText:
        start, *numbers = children
        return VectorText(_offset(start), _intervals(numbers, lambda i: _offset(numbers[i])))

    def vector_token(self, children: list[Token]) -> VectorText:
        source, start = str(children[0]), _offset(children[0])
        read = _token_intervals if len(source) <= _MAX_CACHED else _token_intervals.__wrapped__
        try:
            return VectorText(start, read(source))
        except TextFault as fault:
            raise TextFault(start + fault.offset, fault.reason) from None

    def conditions(self, children: list[Any]) -> VectorText:
        return VectorText(_offset(children[0]), (), children[1:])

    equal, at_least, at_most = _condition("="), _condition(">="), _condition("<=")
    between, one_of = _condition("in []"), _condition("in {}")

    def node(self, children: list[Any]) -> NodeText:
        variable, vector = children
        return NodeText(_offset(variable), str(variable), vector)

    def edge(self, children: list[Any]) -> EdgeText:
        first, *second, vector = children
        if second:
            return EdgeText(_offset(first), str(first), str(second[0]), vector)
        source, target = (end.strip() for end in first[1:-1].split(","))
        return EdgeText(_offset(first), source, target, vector)

    def single(self, children: list[Record]) -> list[Record]:
        return children

    several = single


@cache
def _lark() -> Lark:
    grammar = (files("gdlnn.gdl") / "grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", start=["single", "several"], transformer=_Builder())


# --- programs ---------------------------------------------------------------------------------------------


def _programs(records: Iterable[Record], schema: Schema | None) -> list[NamedProgram]:
    """Return the programs of a file, which begin at their headers; without any header it is one program."""
    programs: list[NamedProgram] = []
    header: HeaderText | None = None
    block: list[Record] = []
    for record in (*records, None):
        if record is not None and not isinstance(record, HeaderText):
            block.append(record)
            continue
        if header is not None:
            programs.append(NamedProgram(_program(block, schema), header.name, header.metadata))
        elif block and record is not None:
            reason = "expected a header before the first description, as the programs after it have one"
            raise TextFault(block[0].offset, reason)
        elif block:
            programs.append(NamedProgram(_program(block, schema), "", {}))
        header, block = record, []
    return programs


def _program(records: list[Record], schema: Schema | None) -> Program:
    """Check the descriptions of one program and build it."""
    if len(records) > MAX_DESCRIPTIONS:
        reason = f"expected at most {MAX_DESCRIPTIONS:,} descriptions, got {len(records):,}"
        raise TextFault(records[0].offset, reason)
    nodes: dict[str, NodeDescription] = {}
    edges: dict[tuple[str, str], EdgeDescription] = {}
    vectors = _Vectors("node", schema.node if schema else None)
    for node in (record for record in records if isinstance(record, NodeText)):
        if node.variable in nodes:
            reason = f"expected each variable once, but {shown(node.variable)} is described twice"
            raise TextFault(node.offset, reason)
        nodes[node.variable] = NodeDescription(node.variable, vectors.check(node.vector))
    vectors = _Vectors("edge", schema.edge if schema else None)
    for edge in (record for record in records if isinstance(record, EdgeText)):
        ends = (edge.source, edge.target)
        if unknown := [end for end in ends if end not in nodes]:
            reason = f"expected a declared variable, but there is no node {shown(unknown[0])}"
            raise TextFault(edge.offset, reason)
        if ends in edges:
            shown_ends = f"({', '.join(end[:40] for end in ends)})"
            raise TextFault(edge.offset, f"expected each edge once, but edge {shown_ends} is described twice")
        edges[ends] = EdgeDescription(*ends, vectors.check(edge.vector))
    return Program._trusted(tuple(nodes.values()), tuple(edges.values()))


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
            intervals = vector.intervals
            if self._length is None:
                self._length, self._reason = len(intervals), f"as for the first {self._what} with a vector"
            elif len(intervals) != self._length:
                raise TextFault(
                    vector.offset,
                    f"expected {self._length} interval(s), {self._reason}, got {len(intervals)}",
                )
        return None if all(interval == ANY for interval in intervals) else intervals
