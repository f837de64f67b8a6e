"""The language: programs as values, their text, their words and their canonical form."""

from gdlnn.gdl.printer import format_programs
from gdlnn.gdl.program import EdgeDescription, Interval, NamedProgram, NodeDescription, Program

__all__ = [
    "EdgeDescription",
    "Interval",
    "NamedProgram",
    "NodeDescription",
    "Program",
    "format_programs",
    "parse_programs",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gdlnn.gdl.parser import parse_programs


def __getattr__(name: str) -> object:
    if name == "parse_programs":  # lark is needed for reading text alone
        from gdlnn.gdl.parser import parse_programs

        return parse_programs
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
