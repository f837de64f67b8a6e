"""Whatever the text, reading it gives a program or a GDL syntax error, however long."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gdlnn import Feature, Program, Schema
from gdlnn.errors import GDLSyntaxError
from gdlnn.gdl import parse_programs
from gdlnn.gdl.parser import parse_program
from reference.strategies import programs

SCHEMA = Schema((Feature("a", "nominal", {0: "C", 1: "N"}),), (Feature("b"),))
LONG = 250_000
T = TypeVar("T")


def attempt(read: Callable[[str], T], text: str) -> T | None:
    """Read a text; an error must be a GDL syntax error with a place, and short however long the text."""
    try:
        return read(text)
    except GDLSyntaxError as caught:
        error = caught
    assert error.line >= 1
    assert error.column >= 1
    assert len(str(error)) < 1000
    return None


def survives(text: str) -> Program | None:
    """Read in every way; return the program where there is one."""
    attempt(parse_programs, text)
    attempt(lambda text: parse_program(text, SCHEMA), text)
    return attempt(parse_program, text)


@given(st.binary(max_size=200))
def test_random_bytes_give_a_program_or_an_error(data: bytes) -> None:
    survives(data.decode("latin-1"))
    survives(data.decode("utf-8", errors="replace"))
    survives(data.decode("utf-8", errors="surrogateescape"))


WORDS = (
    "node edge program x y ( ) < > [ ] { } , : = >= <= in 1 2.5 -inf inf 1e999 true a b C // /* */ é ² \\ "
)
tokens = st.sampled_from([*WORDS.split(), '"C"', '"', "\n", "\x00"])


@given(st.lists(tokens, max_size=30), st.sampled_from([" ", ""]))
@example(["node", "x", "<", "[", "1", ",", "1", "]"], " ")
def test_random_tokens_give_a_program_or_an_error(parts: list[str], between: str) -> None:
    survives(between.join(parts))


@given(programs(max_nodes=4), st.data())
def test_mutated_programs_that_parse_print_back(program: Program, data: st.DataObject) -> None:
    text = str(program)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 5))
        text = text[:at] + data.draw(tokens | st.text(max_size=3)) + text[at + cut :]
    read = survives(text)
    if read is not None:
        assert Program.parse(str(read)) == read


@pytest.mark.parametrize(
    ("name", "make", "parses"),
    [
        ("one vector", lambda: f"node x <{','.join(['[1,1]'] * (LONG // 6))}>", True),
        ("blanks", lambda: "node x" + " \n" * (LONG // 2), True),
        ("comments", lambda: "//\n" * (LONG // 6) + "/**/" * (LONG // 8) + "node x", True),
        ("one comment", lambda: f"/*{'* /' * (LONG // 3)}*/ node x", True),
        ("one name", lambda: f"node {'x' * LONG}", True),
        ("one number", lambda: f"node x <[0.{'1' * LONG}, 1]>", True),
        ("one huge number", lambda: f"node x <[{'1' * LONG}, inf]>", False),
        ("one string", lambda: f'program "{"x" * LONG}" node x', True),
        ("one string of escapes", lambda: 'program "' + r"\n" * (LONG // 2) + '" node x', True),
        ("open comment", lambda: "node x /*" + "*" * LONG, False),
        ("open string", lambda: 'program "' + "x" * LONG, False),
        ("open vector", lambda: f"node x <{'[1,1],' * (LONG // 60)}", False),
        *((f"deep {sign}", lambda sign=sign: "node x " + sign * LONG, False) for sign in "<[({"),
        ("deep list", lambda: f"program p {{a: {'[' * LONG}", False),
        ("one variable again and again", lambda: "node x\n" * (LONG // 7), False),
        ("no line ends", lambda: f"node x {'?' * LONG}", False),
        ("NUL", lambda: "\x00" * LONG, False),
    ],
)  # fmt: skip
def test_long_texts_parse_or_are_refused(name: str, make: Callable[[], str], parses: bool) -> None:
    text = make()
    assert (attempt(parse_program, text) is not None) == parses, name
