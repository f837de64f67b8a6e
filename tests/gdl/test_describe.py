"""Programs in plain English."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdlnn import Feature, Program, Schema
from gdlnn.errors import ProgramError
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
=> Graphs that contain a node with value in [3, 4] followed by a node with value 2 followed by a
   node with value 1.

// empty
=> All graphs.

node x
=> Graphs that contain a node.

node x <[-inf, 2]>
=> Graphs that contain a node with value ≤ 2.

node x <[3, inf]> node y edge (x, y)
=> Graphs that contain a node with value ≥ 3 followed by a node.

node x <[3, 3]> node y <[3, 3]>
=> Graphs that contain 2 × node with value 3.

node x edge (x, x)
=> Graphs that contain a node followed by itself.

node x node y edge (x, y) edge (y, x)
=> Graphs that contain a node preceded by a node (1) and followed by (1).

node x <[1, 1], [2, 3]> node y <[-inf, 2], [-inf, inf]> edge (x, y) <[1, 1]>
=> Graphs that contain a node with feature_1 1 and feature_2 in [2, 3] followed, by an edge with
   value 1, by a node with feature_1 ≤ 2.

node x node a <[2, 2]> node b <[2, 2]> node c <[3, 3]> edge (x, a) edge (x, b) edge (x, c)
=> Graphs that contain a node followed by 2 × node with value 2 and a node with value 3.

node x <[1, 1]> node y <[2, 2]> node z <[3, 3]> edge (x, y) edge (y, z) edge (z, x)
=> Graphs that contain a node with value 3 followed by a node with value 1 (followed by (1)) and
   preceded by a node with value 2 (1).

node a node b <[2, 2]> node c node d edge (a, b) edge (b, c) edge (d, c)
=> Graphs that contain a node followed by a node with value 2 followed by a node preceded by a
   node.
"""


@pytest.mark.parametrize(("text", "sentence"), cases(DIRECTED))
def test_directed_programs_say_followed_by(text: str, sentence: str) -> None:
    assert Program.parse(text).describe() == sentence


UNDIRECTED = """
node x <[3, 4]> node y <[2, 2]> node z <[1, 1]> edge (x, y) edge (z, y)
=> Graphs that contain a node with value in [3, 4] next to a node with value 2 next to a node with
   value 1.

node x node y node z edge (x, y) edge (y, z) edge (z, x)
=> Graphs that contain a ring of 3 × node.

node a node b node c node d node e edge (a, b) edge (b, c) edge (c, d) edge (d, e)
=> Graphs that contain a node next to a node next to a node next to a node next to a node.

node x <[1, 1]> node y <[2, 2]> node z <[3, 3]> edge (x, y) edge (y, z) edge (z, x)
=> Graphs that contain a ring of node with value 1, node with value 3 and node with value 2.

node a <[2, 2]> node b node c node d <[1, 1]> node e edge (a, b) edge (b, c) edge (c, d) edge (b, e)
=> Graphs that contain a node next to a node (next to a node with value 1), a node and a node with
   value 2.

node a node b node c node d edge (a, b) edge (b, c) edge (c, d) edge (d, a) edge (a, c)
=> Graphs that contain a ring of node (next to a node (1)), node and node (next to (1)).

node x node y edge (x, y) <[1, 3]> edge (y, x) <[2, 4]>
=> Graphs that contain an edge with value in [2, 3].

node x <[1, 1]> node y <[2, 2]> edge (x, y) node z <[3, 3]> edge (z, z)
=> Graphs that contain a node with value 2 next to a node with value 1, and elsewhere a node with
   value 3 next to itself.
"""


@pytest.mark.parametrize(("text", "sentence"), cases(UNDIRECTED))
def test_undirected_programs_say_next_to(text: str, sentence: str) -> None:
    assert Program.parse(text).describe(directed=False) == sentence


MOLECULES = """
node x <atom = N> node y <atom = O> edge (x, y) <bond = double>
=> Molecules that contain O double-bonded to N.

node x <atom = O> node y <atom = N> node z <atom = O> edge (x, y) <bond = double> edge (y, z)
<bond = double>
=> Molecules that contain a nitro group.

node x <atom = C> node y <atom = N> node z <atom = C> edge (x, y) edge (y, z) <bond in
{aromatic, single}>
=> Molecules that contain C bonded (single or aromatic) to N next to C.

node x0 <atom = C> node x1 <atom = C> node x2 <atom = C> node x3 <atom = C> node x4 <atom = C>
node x5 <atom = C> edge (x0, x1) <bond = aromatic> edge (x1, x2) <bond = aromatic> edge (x2, x3)
<bond = aromatic> edge (x3, x4) <bond = aromatic> edge (x4, x5) <bond = aromatic> edge (x5, x0)
<bond = aromatic>
=> Molecules that contain a benzene ring.

node x <atom = C> node a <atom = C> node b <atom = C> node o <atom = O> node n <atom = N>
edge (x, a) edge (x, b) edge (a, b) edge (a, o) <bond = double> edge (b, n)
=> Molecules that contain O double-bonded to a ring of C, C (next to N) and C.

node x <atom in {C, N, O}>
=> Molecules that contain C/N/O.

node x <atom >= I>
=> Molecules that contain Cl/Br/I.

node x <atom <= Br> node y
=> Molecules that contain 2 × atom.

node x <atom = N, charge >= 1>
=> Molecules that contain N with charge ≥ 1.

node x <atom = 99>
=> Molecules that contain an atom with atom 99.

// empty
=> All molecules.
"""


@pytest.mark.parametrize(("text", "sentence"), cases(MOLECULES))
def test_molecules_are_described_in_chemical_words(text: str, sentence: str) -> None:
    assert Program.parse(text, MOLECULE).describe(MOLECULE) == sentence


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


@pytest.mark.parametrize("schema", [None, MOLECULE])
@pytest.mark.parametrize("n", [128, 1500])
def test_long_chains_do_not_exhaust_the_stack(n: int, schema: Schema | None) -> None:
    vectors = ["<atom = C>", "<atom = N>"] if schema else ["<[1, 1]>", "<[2, 2]>"]
    nodes = [f"node x{i} {vectors[i % 2]}" for i in range(n)]
    edges = [f"edge (x{i}, x{i + 1})" for i in range(n - 1)]
    words = Program.parse("\n".join(nodes + edges), schema).describe(schema, directed=False)
    assert words.count("next to") == (n - 1 if n == 128 else 0)
    assert ("a pattern of 1,500 nodes and 1,499 edges, too large for words" in words) == (n == 1500)


@given(st.data())
def test_words_do_not_depend_on_the_order_of_variables(data: st.DataObject) -> None:
    program = data.draw(programs(widths=(1, 1), interval=intervals(st.integers(0, 1).map(float))))
    order = data.draw(st.permutations(range(len(program.nodes))))
    names = {node.variable: f"y{place}" for place, node in enumerate(program.nodes)}
    nodes = [(names[program.nodes[v].variable], program.nodes[v].intervals) for v in order]
    edges = [(names[e.source], names[e.target], e.intervals) for e in reversed(program.edges)]
    for directed in (False, True):
        assert Program(nodes, edges).describe(directed=directed) == program.describe(directed=directed)
