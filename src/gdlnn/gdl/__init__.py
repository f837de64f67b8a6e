"""The language: programs as values, their text, their words, their canonical form and their mutations."""

from gdlnn.gdl.mutations import (
    Mutation,
    generalize_edge,
    generalize_node,
    mutations,
    remove_edge,
    remove_node,
)
from gdlnn.gdl.printer import format_programs
from gdlnn.gdl.program import EdgeDescription, Interval, NamedProgram, NodeDescription, Program

__all__ = [
    "EdgeDescription",
    "Interval",
    "Mutation",
    "NamedProgram",
    "NodeDescription",
    "Program",
    "format_programs",
    "generalize_edge",
    "generalize_node",
    "mutations",
    "parse_programs",
    "remove_edge",
    "remove_node",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gdlnn.gdl.parser import parse_programs


def __getattr__(name: str) -> object:
    if name == "parse_programs":  # lark is needed for reading text alone
        from gdlnn.gdl.parser import parse_programs

        return parse_programs
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
