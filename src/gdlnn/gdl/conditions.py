"""The readable form of a vector, ``atom = N, charge >= 0``: conditions by name to intervals, and back."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gdlnn.errors import ProgramError
from gdlnn.gdl.program import ANY, KEYWORDS, Interval
from gdlnn.gdl.text import TextFault, listed, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdlnn.gdl.program import Intervals, Program
    from gdlnn.graphs import Feature, Schema

_BARE = re.compile(r"[^\W\d]\w*")
_SHOWN_NAMES = 8  # the most names a message lists
_COUNTS = frozenset({"degree", "hydrogens", "radicals"})  # counts are never below zero


def check_schema(program: Program, schema: Schema) -> None:
    """Check that a program has as many intervals per node and per edge as a schema has features."""
    for what, features, got in (
        ("node", schema.node, program.n_node_features),
        ("edge", schema.edge, program.n_edge_features),
    ):
        if got is not None and got != len(features):
            reason = f"as the schema has {what} features, got {got}"
            raise ProgramError(f"expected {len(features)} interval(s) per {what}, {reason}")


Operator = Literal["=", ">=", "<=", "in []", "in {}"]


class Condition(NamedTuple):
    """One condition as written in the text; values are numbers or names, each with its offset."""

    offset: int
    feature: str
    operator: Operator
    values: list[tuple[int, float | str]]


def json_text(value: Any) -> str:
    """Return JSON as GDL text has it, with letters of all scripts left as they are."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate cannot be written to a file
        return json.dumps(value)
    return text


def name_text(name: str) -> str:
    """Return a name as GDL text: bare if it reads back as a name, else quoted."""
    bare = _BARE.fullmatch(name) is not None and name not in KEYWORDS and name != "inf"
    return name if bare else json_text(name)


def number_text(value: float) -> str:
    """Return the shortest number that reads back as the value; whole numbers without a point."""
    if math.isnan(value):
        return "missing"
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)


def _value_text(value: float, feature: Feature) -> str:
    name = feature.values.get(value)
    return number_text(value) if name is None else name_text(name)


def condition_text(interval: Interval, feature: Feature) -> str:
    """Return one interval as a condition on its feature; it must not be open on both sides."""
    name = name_text(feature.name)
    lower, upper = (_value_text(bound, feature) for bound in interval)
    if interval.lower == interval.upper:
        return f"{name} = {lower}"
    if interval.upper == math.inf:
        return f"{name} >= {lower}"
    if interval.lower == -math.inf:
        return f"{name} <= {upper}"
    if feature.kind == "nominal" and interval.lower in feature.values and interval.upper in feature.values:
        names = (feature.values[v] for v in sorted(feature.values) if v in interval)
        return f"{name} in {{{', '.join(map(name_text, names))}}}"
    return f"{name} in [{lower}, {upper}]"


def without_empty_bound(interval: Interval, feature: Feature) -> Interval:
    """Return an interval without a lower bound that excludes nothing: a count is at least zero."""
    empty = feature.name in _COUNTS and interval.lower <= 0 < interval.upper
    return Interval(-math.inf, interval.upper) if empty else interval


def intervals_from_conditions(
    conditions: Iterable[Condition], features: tuple[Feature, ...], what: str
) -> Intervals:
    """Return the vector that conditions describe; a feature without a condition is open."""
    position = {feature.name: i for i, feature in enumerate(features)}
    intervals: list[Interval] = [ANY] * len(features)
    described: set[str] = set()
    for condition in conditions:
        if condition.feature not in position:
            known = _some(list(position)) if position else "none"
            raise TextFault(
                condition.offset,
                f"expected one of the {what} features ({known}), got {shown(condition.feature)}",
            )
        if condition.feature in described:
            raise TextFault(
                condition.offset,
                f"expected one condition per feature, but {shown(condition.feature)} has two",
            )
        described.add(condition.feature)
        i = position[condition.feature]
        intervals[i] = _interval(condition, features[i])
    return tuple(intervals)


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN_NAMES]) + (", …" if len(names) > _SHOWN_NAMES else "")


def _interval(condition: Condition, feature: Feature) -> Interval:
    codes = {name: value for value, name in feature.values.items()}
    values: list[float] = []
    for offset, value in condition.values:
        if isinstance(value, str):
            if value not in codes:
                known = f"a value of {feature.name} ({_some(list(codes))})" if codes else "a number"
                raise TextFault(offset, f"expected {known}, got {shown(value)}")
            value = codes[value]
        values.append(value)
    lower, upper = min(values), max(values)
    if condition.operator == ">=":
        upper = math.inf
    elif condition.operator == "<=":
        lower = -math.inf
    elif condition.operator == "in []":
        lower, upper = values
    elif condition.operator == "in {}":
        _check_gapless(condition, feature, set(values))
    if lower > upper or lower == math.inf or upper == -math.inf:
        raise TextFault(condition.offset, f"expected bounds a ≤ b, got [{lower:g}, {upper:g}]")
    return Interval(lower, upper)


def _check_gapless(condition: Condition, feature: Feature, values: set[float]) -> None:
    """Check that a set can stand for an interval: it has all known values from least to greatest."""
    between = [v for v in sorted(feature.values) if min(values) <= v <= max(values)]
    if values != set(between):
        missing = [feature.value_name(v) for v in between if v not in values]
        lacks = f"{listed(missing[:_SHOWN_NAMES], 'and')} between them" if missing else "names alone"
        raise TextFault(
            condition.offset,
            f"expected every value of {feature.name} from the first to the last, with {lacks}",
        )
