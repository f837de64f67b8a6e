"""GDL text: reading, printing, and the round trip in every form."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdlnn import Feature, Program, Schema
from gdlnn.errors import ProgramError
from gdlnn.gdl import NamedProgram, format_programs, parse_programs
from gdlnn.gdl.program import Interval
from reference.strategies import intervals, metadata, programs, schemas

P1 = """\
node x <[3.0, 4.0]>
node y <[2.0, 2.0]>
node z <[1.0, 1.0]>
edge (x, y)
edge (y, z)"""

MOLECULE = Schema(
    node=(Feature("atom", "nominal", {0: "C", 1: "N", 2: "O", 3: "Cl"}), Feature("charge")),
    edge=(Feature("bond", "nominal", {0: "aromatic", 1: "single", 2: "double"}),),
    domain="molecule",
)


def test_a_program_reads_and_prints() -> None:
    program = Program.parse(P1)
    assert program.variables == ("x", "y", "z")
    assert program.nodes[0].intervals == ((3.0, 4.0),)
    assert [(e.source, e.target, e.intervals) for e in program.edges] == [("x", "y", None), ("y", "z", None)]
    assert str(program) == P1


def test_layout_comments_and_order_make_no_difference() -> None:
    text = """// edges may stand first
    edge(x,y)edge ( y /* here too */ , z )
    node x<[3,4]>node y <[ 2. , /* and here */ 2e0 ]>
    /* over
       lines */ node z < [ +1.0 , 10E-1 ] > // the end"""
    assert Program.parse(text) == Program.parse(P1)


@pytest.mark.parametrize(
    ("number", "value"),
    [("1", 1.0), ("-8", -8.0), (".5", 0.5), ("5.", 5.0), ("+2", 2.0), ("1e3", 1000.0), ("-1.5E-2", -0.015),
     ("-0.0", 0.0), ("1e-400", 0.0)],
)  # fmt: skip
def test_numbers_are_read_exactly(number: str, value: float) -> None:
    for spaces in ("", "/**/"):  # the comment takes the slow way
        program = Program.parse(f"node x <[{spaces}{number}, inf]>")
        assert program.nodes[0].intervals == ((value, math.inf),)
        assert math.copysign(1, program.nodes[0].intervals[0].lower) == math.copysign(1, value)


def test_open_sides_and_absent_vectors() -> None:
    program = Program.parse("node x <[-inf, 2], [1, inf]> node y <[-inf, inf], [-inf, +inf]> node z")
    assert program.nodes[0].intervals == ((-math.inf, 2.0), (1.0, math.inf))
    assert program.nodes[1].intervals is None, "a vector that is open throughout is no vector"
    assert str(program) == "node x <[-inf, 2.0], [1.0, inf]>\nnode y\nnode z"
    assert Program.parse("node x <>") == Program.parse("node x")


@given(programs())
def test_exact_form_round_trip(program: Program) -> None:
    assert Program.parse(str(program)) == program


def test_the_readable_form_uses_the_names_of_the_schema() -> None:
    program = Program.parse(
        "node x <[1, 1], [0, inf]> node y <[0, 2], [-inf, 2.5]> node z <[1, 5], [-1, 1]> edge (x, y) <[2, 2]>"
    )
    text = program.to_text(MOLECULE)
    assert text.splitlines() == [
        "node x <atom = N, charge >= 0>",
        "node y <atom in {C, N, O}, charge <= 2.5>",
        "node z <atom in [N, 5], charge in [-1, 1]>",
        "edge (x, y) <bond = double>",
    ]
    assert Program.parse(text, schema=MOLECULE) == program
    assert Program.parse(str(program), schema=MOLECULE) == program, "the exact form is read as well"


def test_names_that_are_no_words_are_quoted() -> None:
    schema = Schema((Feature("two words", "nominal", {0: "inf", 1: "1"}), Feature("node")))
    program = Program([("x", [(1, 1), (0, math.inf)]), ("y", [(0, 0), (-math.inf, math.inf)])])
    text = program.to_text(schema)
    assert text == 'node x <"two words" = "1", "node" >= 0>\nnode y <"two words" = "inf">'
    assert Program.parse(text, schema) == program


@given(st.data())
def test_readable_form_round_trip(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    bounds = st.integers(-3, 7).map(float) | st.floats(-3, 7)
    program = data.draw(
        programs(widths=(len(schema.node), len(schema.edge)), interval=intervals(bounds), max_nodes=4)
    )
    assert Program.parse(program.to_text(schema), schema=schema) == program


def test_a_program_of_other_features_has_no_readable_form() -> None:
    with pytest.raises(ProgramError, match=r"expected 2 interval\(s\) per node, as the schema has .*, got 1"):
        Program.parse(P1).to_text(MOLECULE)


def test_a_file_of_programs_gives_names_and_metadata() -> None:
    text = """
    // two programs
    program p1 {"label": 1, "score": 0.98, "tags": ["a", 2, true, null], "odd key": "say \\"{hi}\\""}
    node x <[1, 1]>
    program p2
    node x edge (x, x)
    program
    """
    first, second, third = parse_programs(text)
    assert first.name == "p1"
    assert first.metadata == {
        "label": 1,
        "score": 0.98,
        "tags": ["a", 2, True, None],
        "odd key": 'say "{hi}"',
    }
    assert type(first.metadata["label"]) is int
    assert second == NamedProgram(Program.parse("node x edge (x, x)"), "p2", {})
    assert third == NamedProgram(Program(), "", {})


def test_one_program_needs_no_header_and_may_have_one() -> None:
    assert parse_programs("node x") == [NamedProgram(Program([("x", None)]), "", {})]
    assert parse_programs("") == []
    assert Program.parse('program p {"label": 1} node x') == Program([("x", None)])


named = st.builds(NamedProgram, programs(max_nodes=3), st.text(max_size=6), metadata)


@given(st.lists(named, max_size=4))
def test_programs_written_to_a_file_are_read_back(listed: list[NamedProgram]) -> None:
    back = parse_programs(format_programs(listed))
    assert back == listed
    # 1 == True == 1.0, so compare the types too
    assert [repr(list(p.metadata.items())) for p in back] == [repr(list(p.metadata.items())) for p in listed]


def test_a_file_in_the_readable_form() -> None:
    program = Program([("x", [Interval(1, 1), Interval(0, math.inf)])])
    text = format_programs([NamedProgram(program, "p", {"label": "mutagenic"})], MOLECULE)
    assert text == 'program p {"label": "mutagenic"}\nnode x <atom = N, charge >= 0>\n'
    assert parse_programs(text, MOLECULE)[0].program == program


def test_metadata_that_cannot_be_written() -> None:
    with pytest.raises(ProgramError, match="program 'p': expected metadata as JSON"):
        format_programs([NamedProgram(Program(), "p", {"key": {1}})])


DOCS = Path(__file__).parents[2] / "docs" / "gdl.md"


def test_the_examples_of_the_reference_are_gdl() -> None:
    blocks = re.findall(r"```gdl\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        assert parse_programs(block, MOLECULE if "atom" in block else None)
