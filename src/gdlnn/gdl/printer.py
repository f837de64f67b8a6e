"""Programs as GDL text (the exact form, the readable form, files) and as JSON. English is in `wording`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gdlnn.errors import ProgramError
from gdlnn.gdl.conditions import check_schema, condition_text, json_text, name_text
from gdlnn.gdl.program import ANY, Program

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gdlnn.gdl.program import Intervals, NamedProgram
    from gdlnn.graphs import Feature, Schema

_SHORT = 100  # characters of a repr


def _exact_vector(intervals: Intervals | None) -> str:
    if intervals is None:
        return ""
    return f" <{', '.join(f'[{lower!r}, {upper!r}]' for lower, upper in intervals)}>"


def _descriptions(program: Program) -> Iterable[str]:
    for node in program.nodes:
        yield f"node {node.variable}{_exact_vector(node.intervals)}"
    for edge in program.edges:
        yield f"edge ({edge.source}, {edge.target}){_exact_vector(edge.intervals)}"


def format_exact(program: Program) -> str:
    """Return the program as GDL text, one description per line; numbers are read back exactly."""
    return "\n".join(_descriptions(program))


def format_short(program: Program) -> str:
    """Return the text of `repr`: the descriptions on one line, shortened if there are many."""
    parts: list[str] = []
    length = 0
    for part in _descriptions(program):
        if parts and length + len(part) > _SHORT:
            rest = len(program.nodes) + len(program.edges) - len(parts)
            parts.append(f"… {rest} more")
            break
        parts.append(part)
        length += len(part) + 2
    return f"<Program: {'; '.join(parts)}>" if parts else "<Program: empty>"


def format_readable(program: Program, schema: Schema) -> str:
    """Return the program with the names of the schema for features and values."""
    check_schema(program, schema)

    def vector(intervals: Intervals | None, features: tuple[Feature, ...]) -> str:
        if intervals is None:
            return ""
        pairs = zip(intervals, features, strict=True)
        return f" <{', '.join(condition_text(i, f) for i, f in pairs if i != ANY)}>"

    lines = [f"node {n.variable}{vector(n.intervals, schema.node)}" for n in program.nodes]
    lines += [f"edge ({e.source}, {e.target}){vector(e.intervals, schema.edge)}" for e in program.edges]
    return "\n".join(lines)


def format_programs(programs: Iterable[NamedProgram], schema: Schema | None = None) -> str:
    """Return a file of programs, each after its header; with a schema in the readable form.

    `parse_programs` gives back the same programs, names and metadata, which are numbers, strings, booleans,
    None or lists of those.
    """
    blocks = []
    for program, name, metadata in programs:
        header = "program" + (f" {name_text(name)}" if name else "")
        if metadata:
            try:
                header += f" {json_text(metadata)}"
            except (TypeError, ValueError) as error:
                raise ProgramError(f"program {name!r}: expected metadata as JSON, got {error}") from None
        body = format_exact(program) if schema is None else format_readable(program, schema)
        blocks.append(f"{header}\n{body}\n" if body else f"{header}\n")
    return "\n".join(blocks)


# --- JSON -------------------------------------------------------------------------------------------------


def program_to_json(program: Program) -> dict[str, Any]:
    """Return the program as plain JSON values; an open side is null, since JSON has no infinity."""
    return {
        "nodes": [
            {"variable": node.variable, "intervals": vector_to_json(node.intervals)} for node in program.nodes
        ],
        "edges": [
            {"source": edge.source, "target": edge.target, "intervals": vector_to_json(edge.intervals)}
            for edge in program.edges
        ],
    }


def vector_to_json(intervals: Intervals | None) -> list[list[float | None]] | None:
    """Return a vector as plain JSON values; an open side is null."""
    if intervals is None:
        return None
    return [[None if math.isinf(bound) else bound for bound in interval] for interval in intervals]


def program_from_json(data: Mapping[str, Any]) -> Program:
    """Build a program from what `program_to_json` gave."""
    where = "program in JSON"
    try:
        nodes = [(node["variable"], vector_from_json(node.get("intervals"), where)) for node in data["nodes"]]
        edges = [
            (str(edge["source"]), str(edge["target"]), vector_from_json(edge.get("intervals"), where))
            for edge in data["edges"]
        ]
    except (LookupError, TypeError, AttributeError) as error:
        raise ProgramError(f"{where}: expected lists of nodes and edges, got other data: {error!r}") from None
    return Program(nodes, edges)


def vector_from_json(vector: Any, where: str) -> list[tuple[float, float]] | None:
    """Return the bounds of what `vector_to_json` gave."""
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
