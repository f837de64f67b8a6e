"""Parse GDL text into records with offsets, by the grammar in `grammar.lark`; `parser` interprets them."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from gdlnn.gdl.conditions import Condition
from gdlnn.gdl.program import KEYWORDS
from gdlnn.gdl.text import TextFault, listed, shown, syntax_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gdlnn.errors import GDLSyntaxError
    from gdlnn.gdl.conditions import Operator

_MOST_KEPT = 4096  # vectors that are converted once, however often they occur in a text
_MAX_DIGITS = 4000  # of a whole number in a header; Python refuses to convert much longer ones
_NUMBER = re.compile(r"[+-]?(?:[0-9.]++(?:[eE][+-]?[0-9]++)?|inf)")
_WHOLE = re.compile(r"[+-]?[0-9]++")
_WORD = re.compile(r"\w{1,41}")

_TERMINALS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a quoted string",
    "VECTOR": "'<'",
    "PAIR": "'('",
    "TRUE": "true",
    "FALSE": "false",
    "NODE": "node",
    "EDGE": "edge",
    "PROGRAM": "program",
    "IN": "in",
    "$END": "the end of the text",
}


class VectorText(NamedTuple):
    """``<…>``: the bounds of intervals in a row, or conditions by name; one is empty."""

    offset: int
    bounds: list[float]
    conditions: list[Condition]
    offsets: list[int]
    source: str

    def place(self, bound: int) -> int:
        """Return the offset of a bound; a vector that was one token is searched again for it."""
        if self.offsets:
            return self.offsets[bound]
        return self.offset + next(islice(_NUMBER.finditer(self.source), bound, None)).start()


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


def _bound(text: str, offset: int) -> float:
    return _number(text, offset) + 0.0  # -0.0 becomes 0.0, so that equal bounds print the same


def _string(token: Token) -> str:
    try:
        return str(json.loads(token))
    except ValueError as error:
        raise TextFault(_offset(token), f"expected a string with JSON escapes, got {shown(token)}") from error


def _scalar(token: Token) -> Any:
    if token.type == "STRING":
        return _string(token)
    if token.type in ("TRUE", "FALSE"):
        return token.type == "TRUE"
    if _WHOLE.fullmatch(token) is None:
        return _number(token, _offset(token))
    if len(token) > _MAX_DIGITS:
        raise TextFault(_offset(token), f"expected at most {_MAX_DIGITS} digits, got {len(token)}")
    return int(token)


def _condition(children: list[Any], operator: Operator) -> Condition:
    (offset, feature), *values = children
    return Condition(offset, feature, operator, values)


class _Builder(Transformer[Token, Any]):
    """Turn parsed rules into records while the parser runs."""

    def name(self, children: list[Token]) -> tuple[int, str]:
        token = children[0]
        return _offset(token), _string(token) if token.type == "STRING" else str(token)

    def value(self, children: list[Token]) -> tuple[int, float | str]:
        token = children[0]
        if token.type == "NUMBER":
            return _offset(token), _bound(token, _offset(token))
        return self.name(children)

    def array(self, children: list[Token]) -> list[Any]:
        return [_scalar(token) for token in children]

    def entry(self, children: list[Any]) -> tuple[int, str, Any]:
        (offset, key), value = children
        return offset, key, value if isinstance(value, list) else _scalar(value)

    def metadata(self, children: list[tuple[int, str, Any]]) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for offset, key, value in children:
            if key in entries:
                raise TextFault(offset, f"expected each entry once, but {shown(key)} is there twice")
            entries[key] = value
        return entries

    def header(self, children: list[Any]) -> HeaderText:
        keyword, name, metadata = children
        return HeaderText(_offset(keyword), "" if name is None else name[1], metadata or {})

    def intervals(self, children: list[Token]) -> VectorText:
        start, *numbers = children
        offsets = [_offset(token) for token in numbers]
        bounds = [_bound(token, offset) for token, offset in zip(numbers, offsets, strict=True)]
        return VectorText(_offset(start), bounds, [], offsets, "")

    def vector_token(self, children: list[Token]) -> VectorText:
        source, start = str(children[0]), _offset(children[0])
        numbers = _NUMBER.findall(source)
        bounds = [float(number) + 0.0 for number in numbers]
        vector = VectorText(start, bounds, [], [], source)
        if math.inf in bounds or -math.inf in bounds:
            for i, number in enumerate(numbers):
                if math.isinf(bounds[i]) and not number.endswith("inf"):
                    _number(number, vector.place(i))
        return vector

    def conditions(self, children: list[Any]) -> VectorText:
        return VectorText(_offset(children[0]), [], children[1:], [], "")

    def equal(self, children: list[Any]) -> Condition:
        return _condition(children, "=")

    def at_least(self, children: list[Any]) -> Condition:
        return _condition(children, ">=")

    def at_most(self, children: list[Any]) -> Condition:
        return _condition(children, "<=")

    def between(self, children: list[Any]) -> Condition:
        return _condition(children, "in []")

    def one_of(self, children: list[Any]) -> Condition:
        return _condition(children, "in {}")

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


_VALUE = r'(?:"(?:[^"\\\n]|\\.)*+"|-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|\[[-0-9, ]*+\])'
_ENTRY = re.compile(rf"([A-Za-z_]\w*+): ({_VALUE})(?:, |$)", re.ASCII)
_HEADER_LINE = re.compile(r"program (?!node\b|edge\b|program\b)([A-Za-z_]\w*+) \{(.*)\}", re.ASCII)
_BOUND = r"-?(?:[0-9]++\.[0-9]++(?:e[+-]?[0-9]++)?|inf)"
_DESCRIPTION_LINE = re.compile(
    r"(?:node ([A-Za-z_]\w*+)|edge \(([A-Za-z_]\w*+), ([A-Za-z_]\w*+)\))"
    rf"(?: (<(?:\[{_BOUND}, {_BOUND}\](?:, (?=\[)|(?=>)))++>))?+",
    re.ASCII,
)


class OddLineError(Exception):
    """A line that is not in the printed form; the grammar may still accept it."""


def printed_records(text: str) -> Iterator[Record]:
    """Yield the records of a text as it is printed, one per line.

    This takes a tenth of the time of the grammar for files of thousands of programs. The grammar gives the
    same records for every text that is accepted here.

    Raises
    ------
    OddLineError
        At the first line in another form.
    """
    vectors: dict[str, list[float]] = {}
    offset = 0
    while offset <= len(text):
        end = text.find("\n", offset)
        end = len(text) if end < 0 else end
        line = text[offset:end]
        at, offset = offset, end + 1
        if not line or line.startswith("//"):
            continue
        if header := _HEADER_LINE.fullmatch(line):
            metadata = _plain_metadata(header[2])
            if metadata is None:
                raise OddLineError
            yield HeaderText(at, header[1], metadata)
            continue
        found = _DESCRIPTION_LINE.fullmatch(line)
        if found is None or not KEYWORDS.isdisjoint(found.groups()):
            raise OddLineError
        vector = None
        if source := found[4]:
            bounds = vectors.get(source)
            if bounds is None:
                bounds = [float(number) + 0.0 for number in _NUMBER.findall(source)]
                if any(map(math.isinf, bounds)) and "inf" not in source:
                    raise OddLineError
                if len(vectors) < _MOST_KEPT:
                    vectors[source] = bounds
            vector = VectorText(at + found.start(4), bounds, [], [], source)
        if found[1]:
            yield NodeText(at + found.start(1), found[1], vector)
        else:
            yield EdgeText(at + found.start(2) - 1, found[2], found[3], vector)


def _plain_metadata(text: str) -> dict[str, Any] | None:
    entries: dict[str, Any] = {}
    at = 0
    while at < len(text):
        entry = _ENTRY.match(text, at)
        if entry is None or entry[1] in entries:
            return None
        try:
            value = json.loads(entry[2])
        except ValueError:
            return None
        if isinstance(value, float) and math.isinf(value):
            return None
        entries[entry[1]] = value
        at = entry.end()
    return None if text.endswith(", ") else entries


def read(text: str, start: str) -> list[Record]:
    """Return the headers and descriptions of a text in order; ``start`` is a start rule of the grammar."""
    if start == "several":
        with suppress(OddLineError):
            return list(printed_records(text))
    parser = _lark().parse_interactive(text, start=start)
    try:
        for _ in parser.iter_parse():
            pass
        records: list[Record] = parser.feed_eof()  # type: ignore[no-untyped-call]
    except UnexpectedInput as error:
        accepted: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
        wrong = _unexpected(text, error, accepted)
    except TextFault as fault:
        wrong = syntax_error(text, fault.offset, fault.reason)
    else:
        return records
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
