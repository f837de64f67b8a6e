"""Programs in plain English."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdlnn import Feature, Program, ProgramError, Schema
from gdlnn.graphs.molecules import OGB_SCHEMA
from reference.strategies import intervals, programs, schemas

MOLECULE = Schema(
    (Feature("atom", "nominal", dict(enumerate("C N O F I Cl Br".split()))), Feature("charge")),  # noqa: SIM905
    (Feature("bond", "nominal", {0: "aromatic", 1: "single", 2: "double", 3: "triple"}),),
    domain="molecule",
)
PROTEIN = Schema((Feature("element", "nominal", {1: "helix", 2: "sheet", 3: "turn"}), Feature("residues")))


def cases(table: str) -> list[tuple[str, str]]:
    """Part a table at its blank lines into programs and, after =>, their sentences."""
    parts = [entry.partition("=>") for entry in table.strip().split("\n\n")]
    return [(text, " ".join(sentence.split())) for text, _, sentence in parts]


DIRECTED = """
node x <[3.0, 4.0]> node y <[2.0, 2.0]> node z <[1.0, 1.0]> edge (x, y) edge (y, z)
=> Graphs that contain a node with a feature value between 3.0 and 4.0, whose successor has a
   feature value of 2.0, and the successor also has a successor with a feature value of 1.0.

node x <[1.0, 1.0]> node y <[0.0, 5.0]> node z <[1.0, 1.0]> edge (x, y) edge (y, z)
=> Graphs that contain a node with a feature value of 1.0, whose successor has a feature value
   between 0.0 and 5.0, and the successor also has a successor with a feature value of 1.0.

// empty
=> All graphs.

node x
=> Graphs that contain a node.

node x <[-inf, 2]>
=> Graphs that contain a node with a feature value of at most 2.0.

node x <[3, inf]> node y edge (x, y)
=> Graphs that contain a node with a feature value of at least 3.0 that has a successor.

node x node y <[1, 1]> edge (x, y)
=> Graphs that contain a node whose successor has a feature value of 1.0.

node x <[3, 3]> node y <[3, 3]>
=> Graphs that contain two nodes with a feature value of 3.0.

node x edge (x, x)
=> Graphs that contain a node that has an edge to itself.

node x <[1, 1], [2, 3]> node y <[-inf, 2], [-inf, inf]> edge (x, y) <[1, 1]>
=> Graphs that contain a node with feature 1 of 1.0 and feature 2 between 2.0 and 3.0, whose
   successor over an edge with a feature value of 1.0 has feature 1 of at most 2.0.

node x node a <[2, 2]> node b <[2, 2]> node c <[3, 3]> edge (x, a) edge (x, b) edge (x, c)
=> Graphs that contain a node, which has as successors two nodes with a feature value of 2.0 and
   a node with a feature value of 3.0.

node x <[1, 1]> node y <[2, 2]> node z <[3, 3]> edge (x, y) edge (y, z) edge (z, x)
=> Graphs that contain a node with a feature value of 1.0, which has as successor a node y with
   a feature value of 2.0 and as predecessor a node z with a feature value of 3.0; and y has as
   successor z.
"""


@pytest.mark.parametrize(("text", "sentence"), cases(DIRECTED))
def test_directed(text: str, sentence: str) -> None:
    assert Program.parse(text).describe() == sentence


UNDIRECTED = """
node x <[3, 4]> node y <[2, 2]> node z <[1, 1]> edge (x, y) edge (z, y)
=> Graphs that contain a node with a feature value between 3.0 and 4.0, whose neighbour has a
   feature value of 2.0, and the neighbour also has another neighbour with a feature value of
   1.0.

node x node y node z edge (x, y) edge (y, z) edge (z, x)
=> Graphs that contain a ring of three nodes.

node x <[1, 1]> node y <[2, 2]> node z <[3, 3]> edge (x, y) edge (y, z) edge (z, x)
=> Graphs that contain a node with a feature value of 1.0, which is joined to a node y with a
   feature value of 2.0 and a node z with a feature value of 3.0; and y is joined to z.

node x node y edge (x, y) <[1, 3]> edge (y, x) <[2, 4]>
=> Graphs that contain a node that has a neighbour over an edge with a feature value between 2.0
   and 3.0.

node x <[1, 1]> node y <[2, 2]> edge (x, y) node z <[3, 3]> edge (z, z)
=> Graphs that contain a node with a feature value of 1.0, whose neighbour has a feature value
   of 2.0, and elsewhere a node with a feature value of 3.0 that has an edge to itself.
"""


@pytest.mark.parametrize(("text", "sentence"), cases(UNDIRECTED))
def test_undirected(text: str, sentence: str) -> None:
    assert Program.parse(text).describe(directed=False) == sentence


MOLECULES = """
node x <atom = N> node y <atom = O> edge (x, y) <bond = double>
=> Molecules that contain a nitrogen bonded by a double bond to an oxygen.

node x <atom = O> node y <atom = N> node z <atom = O> edge (x, y) <bond = double> edge (y, z)
<bond = double>
=> Molecules that contain a nitrogen bonded by a double bond to two oxygens.

node x <atom = C> node y <atom = N> node z <atom = C> edge (x, y) edge (y, z) <bond in
{aromatic, single}>
=> Molecules that contain a carbon bonded to a nitrogen, which is bonded by an aromatic or
   single bond to another carbon.

node x0 <atom = C> node x1 <atom = C> node x2 <atom = C> node x3 <atom = C> node x4 <atom = C>
node x5 <atom = C> edge (x0, x1) <bond = aromatic> edge (x1, x2) <bond = aromatic> edge (x2, x3)
<bond = aromatic> edge (x3, x4) <bond = aromatic> edge (x4, x5) <bond = aromatic> edge (x5, x0)
<bond = aromatic>
=> Molecules that contain a ring of six carbons, joined by aromatic bonds.

node x <atom = C> node a <atom = C> node b <atom = C> node o <atom = O> node n <atom = N>
edge (x, a) edge (x, b) edge (a, b) edge (a, o) <bond = double> edge (b, n)
=> Molecules that contain a carbon bonded to other carbons x and b and by a double bond to an
   oxygen; x is bonded to b; and b is bonded to a nitrogen.

node x <atom in {C, N, O}>
=> Molecules that contain a carbon, nitrogen or oxygen.

node x <atom >= I>
=> Molecules that contain an iodine, chlorine or bromine.

node x <atom <= Cl>
=> Molecules that contain an atom other than bromine.

node x <atom <= Br> node y
=> Molecules that contain two atoms.

node x <atom = N, charge >= 1>
=> Molecules that contain a nitrogen with charge of at least 1.

node x <atom = 99>
=> Molecules that contain an atom with a code of 99.

// empty
=> All molecules.
"""


@pytest.mark.parametrize(("text", "sentence"), cases(MOLECULES))
def test_molecules(text: str, sentence: str) -> None:
    assert Program.parse(text, MOLECULE).describe(MOLECULE) == sentence


def test_other_schemas_speak_of_their_features() -> None:
    program = Program.parse(
        "node x <element = helix, residues >= 20> node y <element in {sheet, turn}> edge (x, y)", PROTEIN
    )
    assert program.describe(PROTEIN) == (
        "Graphs that contain a node with element helix and residues of at least 20, "
        "whose neighbour has element sheet or turn."
    )
    assert "successor" in program.describe(PROTEIN, directed=True)


def test_that_a_count_is_at_least_zero_is_not_said() -> None:
    schema = Schema(node=(Feature("hydrogens", "ordinal"), Feature("charge", "ordinal")), domain="molecule")
    program = Program.parse(
        "node x <[0, inf], [0, inf]> node y <[0, 3], [-inf, inf]> node z <[0, 0], [-inf, inf]> "
        "edge (x, y) edge (y, z)"
    )
    assert program.describe(schema) == (
        "Molecules that contain an atom with charge of at least 0, which is bonded to an atom with hydrogens "
        "of at most 3, which is bonded to an atom with hydrogens of 0."
    )


@given(st.data())
def test_every_program_has_its_sentence(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    domain = data.draw(st.sampled_from(["", "molecule"]))
    schema = Schema(schema.node, schema.edge, domain=domain)
    widths = (len(schema.node), len(schema.edge))
    program = data.draw(programs(widths=widths, interval=intervals(st.integers(-3, 7).map(float))))
    for given_schema in (None, schema):
        for directed in (False, True):
            sentence = program.describe(given_schema, directed=directed)
            assert sentence.endswith(".")
            assert "  " not in sentence.replace("\n", " ") or "  " in repr(schema)


def test_a_program_of_other_features_is_refused() -> None:
    with pytest.raises(ProgramError, match=r"expected 2 interval\(s\) per node, as the schema has"):
        Program.parse("node x <[1, 1]>").describe(PROTEIN)


def test_large_programs_are_described_in_time() -> None:
    program = Program(
        [(f"x{i}", [(i % 7, i % 7)]) for i in range(3000)],
        [(f"x{i}", f"x{i // 2}", None) for i in range(1, 3000)],
    )
    assert len(program.describe()) > 3000


def test_values_in_an_order_that_people_know_are_told_by_their_last() -> None:
    program = Program.parse(
        "node x <atom <= C, hybridisation <= sp3> node y <atom >= N> edge (x, y)", OGB_SCHEMA
    )
    assert program.describe(OGB_SCHEMA) == (
        "Molecules that contain an atom up to carbon with hybridisation up to sp3, which is bonded to an "
        "atom from nitrogen on."
    )
    few = Program.parse("node x <atom <= Li>", OGB_SCHEMA)
    assert few.describe(OGB_SCHEMA) == "Molecules that contain a hydrogen, He or lithium."
