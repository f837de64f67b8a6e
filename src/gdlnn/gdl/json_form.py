"""Programs as plain JSON values, and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gdlnn.errors import ProgramError
from gdlnn.gdl.program import Program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdlnn.gdl.program import Intervals


def program_to_json(program: Program) -> dict[str, Any]:
    """Return the program as plain JSON values; an open side is null, since JSON has no infinity."""

    def vector(intervals: Intervals | None) -> list[list[float | None]] | None:
        if intervals is None:
            return None
        return [[None if math.isinf(bound) else bound for bound in interval] for interval in intervals]

    return {
        "nodes": [{"variable": n.variable, "intervals": vector(n.intervals)} for n in program.nodes],
        "edges": [
            {"source": e.source, "target": e.target, "intervals": vector(e.intervals)} for e in program.edges
        ],
    }


def program_from_json(data: Mapping[str, Any]) -> Program:
    """Build a program from what `program_to_json` gave."""
    nodes = [(_get(item, "variable", where), _vector(item, where)) for where, item in _items(data, "nodes")]
    edges = [
        (_get(item, "source", where), _get(item, "target", where), _vector(item, where))
        for where, item in _items(data, "edges")
    ]
    return Program(nodes, edges)


def _items(data: Any, key: str) -> list[tuple[str, Any]]:
    items = data.get(key) if isinstance(data, dict) else None
    if not isinstance(items, list):
        raise ProgramError(f"program in JSON: expected an object with a list {key!r}")
    return [(f"program in JSON: {key}[{i}]", item) for i, item in enumerate(items)]


def _get(item: Any, key: str, where: str) -> str:
    value = item.get(key) if isinstance(item, dict) else None
    if not isinstance(value, str):
        raise ProgramError(f"{where}: expected an object with a string {key!r}, got {value!r}")
    return value


def _vector(item: Any, where: str) -> list[tuple[float, float]] | None:
    vector = item.get("intervals")
    if vector is None:
        return None
    intervals = []
    for pair in vector if isinstance(vector, list) else [vector]:
        if not isinstance(pair, list) or len(pair) != 2 or not all(_is_bound(bound) for bound in pair):
            raise ProgramError(f"{where}: intervals: expected null or pairs of numbers or null, got {pair!r}")
        lower, upper = pair
        intervals.append((-math.inf if lower is None else lower, math.inf if upper is None else upper))
    return intervals


def _is_bound(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
