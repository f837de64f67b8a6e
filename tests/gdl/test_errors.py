"""What bad GDL text gets: what, where, expected, got."""

import pickle

import pytest

from gdlnn import Feature, GDLNNError, Program, Schema
from gdlnn.errors import GDLSyntaxError, ProgramError
from gdlnn.gdl import parse_programs

SCHEMA = Schema((Feature("atom", "nominal", {0: "C", 1: "N", 2: "O"}), Feature("charge")), (Feature("bond"),))


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("node", 1, 5, "expected a name, but the text ends"),
        ("nod x", 1, 1, "expected edge, node, program or the end of the text, got 'nod'"),
        ("node x\nnode y <[1, 2>", 2, 14, "expected ']', got '>'"),
        ("node x <[1, 2],>", 1, 16, "expected '[', got '>'"),
        ("node x <[1; 2]>", 1, 11, "expected ',', got ';'"),
        ("node x <[1, two]>", 1, 13, "expected a number, got 'two'"),
        ("node x <[nan, 2]>", 1, 10, "expected a number, got 'nan'"),
        ("node x <[1, 1e999]>", 1, 13, "expected a number that a double can hold, got '1e999'"),
        ("node x <[1, /**/ -1e999]>", 1, 18, "expected a number that a double can hold, got '-1e999'"),
        ("node x <[2, 1]>", 1, 10, "expected [a, b] with a ≤ b, got [2, 1]"),
        ("node x <[1, 1], [inf, inf]>", 1, 18, "expected [a, b] with a ≤ b, got [inf, inf]"),
        ("node x <[1,1], /**/ [-inf, -inf]>", 1, 22, "expected [a, b] with a ≤ b, got [-inf, -inf]"),
        ("edge (x y)", 1, 9, "expected ',', got 'y'"),
        ("node node", 1, 6, "expected a name, got 'node'"),
        ("node 1x", 1, 6, "expected a name, got '1x'"),
        ("node x $", 1, 8, "expected edge, node, the end of the text or '<', got '$'"),
        ("node x /* open", 1, 8, "expected */ to close this comment, but the text ends"),
        ("node x\nnode y\nnode x", 3, 6, "expected each variable once, but 'x' is described twice"),
        ("node x edge (x, y)", 1, 13, "expected a declared variable, but there is no node 'y'"),
        (
            "node x node y\nedge (x, y)\nedge (x, y)",
            3,
            6,
            "expected each edge once, but edge (x, y) is described twice",
        ),
        (
            "node x <[1, 1]>\nnode y <[1, 1], [2, 2]>",
            2,
            8,
            "expected 1 interval(s), as for the first node with a vector, got 2",
        ),
        (
            "node x edge (x, x) <[1, 1]> node y edge (x, y) <[1, 1], [2, 2]>",
            1,
            48,
            "expected 1 interval(s), as for the first edge with a vector, got 2",
        ),
        (
            "node x <charge = 1>",
            1,
            9,
            "expected intervals such as [1.0, 2.0]: features have names only with a schema",
        ),
        ("program p program q", 1, 11, "expected edge, node or the end of the text, got 'program'"),
    ],
)
def test_an_error_names_line_and_column(text: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(GDLSyntaxError) as caught:
        Program.parse(text)
    error = caught.value
    assert (error.line, error.column, error.reason) == (line, column, reason)
    source = text.split("\n")[line - 1]
    assert str(error) == f"line {line}, column {column}: {reason}\n  {source}\n  {' ' * (column - 1)}^"


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("node x <atm = C>", 9, "expected one of the node features (atom, charge), got 'atm'"),
        ("node x <atom = X>", 16, "expected a value of atom (C, N, O), got 'X'"),
        ("node x <charge = C>", 18, "expected a number, got 'C'"),
        ("node x <atom = C, atom = C>", 19, "expected one condition per feature, but 'atom' has two"),
        (
            "node x <atom in {C, O}>",
            9,
            "expected every value of atom from the first to the last, with N between them",
        ),
        ("node x <charge in [2, 1]>", 9, "expected bounds a ≤ b, got [2, 1]"),
        ("node x <charge >= inf>", 9, "expected bounds a ≤ b, got [inf, inf]"),
        ("node x <atom C>", 14, "expected in, '<=', '=' or '>=', got 'C'"),
        ("node x <[1, 1]>", 8, "expected 2 interval(s), as the schema has node features, got 1"),
        ("node x edge (x, x) <charge = 1>", 21, "expected one of the edge features (bond), got 'charge'"),
        ('node x <atom = "C>', 16, 'expected " to close this string, but the line ends'),
        (r'node x <atom = "\q">', 16, "expected a string with JSON escapes, got '\"\\\\q\"'"),
    ],
)
def test_an_error_in_a_condition_names_its_column(text: str, column: int, reason: str) -> None:
    with pytest.raises(GDLSyntaxError) as caught:
        Program.parse(text, SCHEMA)
    assert (caught.value.line, caught.value.column, caught.value.reason) == (1, column, reason)


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        (
            "node x program p",
            1,
            6,
            "expected a header before the first description, as the programs after it have one",
        ),
        ("program p {label: 1}", 1, 11, "expected a JSON object on one line, got '{label: 1}'"),
        (
            "program p node x\nprogram q edge (x, x)",
            2,
            16,
            "expected a declared variable, but there is no node 'x'",
        ),
    ],
)
def test_an_error_in_a_file_of_programs_names_line_and_column(
    text: str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(GDLSyntaxError) as caught:
        parse_programs(text)
    assert (caught.value.line, caught.value.column, caught.value.reason) == (line, column, reason)


def test_a_long_line_is_cut_around_the_place() -> None:
    with pytest.raises(GDLSyntaxError) as caught:
        Program.parse("node x " * 1 + "/*" + "a" * 5000 + "*/ ? /*" + "b" * 5000 + "*/")
    error = caught.value
    assert error.column == 5013
    assert len(error.source_line) <= 102
    assert error.source_line[error.caret] == "?"
    assert len(str(error)) < 400


def test_tabs_and_control_characters_keep_the_caret_in_place() -> None:
    with pytest.raises(GDLSyntaxError) as caught:
        Program.parse("\tnode\tx\t\x00")
    assert str(caught.value).splitlines()[1:] == ["   node x  ", "          ^"]


def test_the_error_is_a_program_error_and_travels() -> None:
    with pytest.raises(ProgramError) as caught:
        Program.parse("node")
    assert isinstance(caught.value, GDLNNError | ValueError)
    assert caught.value.__context__ is None  # which some libraries pickle too
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert (copy.line, copy.column) == (1, 5)
