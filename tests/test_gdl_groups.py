"""Names of groups in the words of programs: used only where they are true."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gdlnn import Program, load_dataset, mine, neighbourhoods
from gdlnn.errors import MissingExtraError
from gdlnn.gdl.atoms import Atom, Pattern, read_pattern
from gdlnn.gdl.groups import TABLE, Found, find_groups, groups
from gdlnn.gdl.phrases import article
from gdlnn.gdl.smarts import _written
from gdlnn.graphs import GraphDataset, Table
from gdlnn.graphs.molecules import MOLECULE_SCHEMA, molecule_graph
from gdlnn.matching import match

if TYPE_CHECKING:
    from pathlib import Path

    from gdlnn import Graph

Chem = pytest.importorskip("rdkit.Chem")

# A molecule with the group, all of it told, has the group in its words.
MOLECULES = {
    "nitro group": "C[N+](=O)[O-]",
    "carboxylic acid": "OC(=O)C",
    "carboxylate group": "CC(=O)[O-]",
    "amide group": "CC(=O)NC",
    "ester group": "CC(=O)OC",
    "ketone group": "CCC(=O)CC",
    "acetyl group": "CC(C)=O",
    "aldehyde group": "CC=O",
    "urea group": "CNC(=O)NC",
    "carbamate group": "CNC(=O)OC",
    "guanidine group": "CNC(=N)NC",
    "amidine group": "CC(=N)NC",
    "sulfonamide group": "CS(=O)(=O)NC",
    "sulfone group": "CS(C)(=O)=O",
    "sulfoxide group": "CS(C)=O",
    "disulfide": "CSSC",
    "sulfide sulfur": "CSC",
    "thiol group": "CS",
    "azide group": "CN=[N+]=[N-]",
    "nitroso group": "CN=O",
    "azo group": "CN=NC",
    "hydrazine group": "CNNC",
    "hydrazone group": "CC=NNC",
    "oxime group": "CC=NO",
    "imine": "CC=NC",
    "nitrile group": "CC#N",
    "isocyanate group": "CN=C=O",
    "isothiocyanate group": "CN=C=S",
    "phosphate group": "COP(=O)(OC)OC",
    "trifluoromethyl group": "CC(F)(F)F",
    "tert-butyl group": "CC(C)(C)N",
    "isopropyl group": "CC(C)N",
    "methoxy group": "COc1ccccc1",
    "enol ether": "CC=COC",
    "acetal group": "CCOC(C)OCC",
    "epoxide": "C1OC1",
    "phenyl group": "Cc1ccccc1",
    "para-phenylene ring": "Cc1ccc(C)cc1",
    "pyridine ring": "Cc1ccccn1",
    "imidazole ring": "Cn1ccnc1",
    "furan ring": "Cc1ccco1",
    "thiophene ring": "Cc1cccs1",
    "piperidine ring": "CN1CCCCC1",
    "piperazine ring": "CN1CCNCC1",
    "morpholine ring": "CN1CCOCC1",
    "quaternary ammonium nitrogen": "C[N+](C)(C)C",
    "tertiary ammonium group": "C[NH+](C)C",
    "secondary ammonium group": "C[NH2+]Cc1ccccc1",
    "primary ammonium group": "CC[NH3+]",
    "tertiary amine": "CN(C)C",
    "secondary amine": "CNC",
    "primary amine": "CN",
    "primary aromatic amine": "Nc1ccccc1",
    "phenolic hydroxyl": "Oc1ccccc1",
    "hydroxyl group": "CO",
    "N-oxide": "C[N+](C)(C)[O-]",
    "boronic acid": "CB(O)O",
    "terminal alkyne": "CC#C",
    "acid chloride": "CC(=O)Cl",
    "indole ring": "c1ccc2[nH]ccc2c1",
}


def whole(smiles: str) -> Program:
    return Program.from_graph(molecule_graph(Chem.MolFromSmiles(smiles)))


def found_in(program: Program) -> list[Found]:
    pattern = read_pattern(program, MOLECULE_SCHEMA)
    return find_groups(pattern, pattern.needed())


def test_the_table_has_many_names() -> None:
    assert len({group.name for group in groups()}) >= 120


@pytest.mark.parametrize(("name", "smiles"), MOLECULES.items())
def test_groups_are_recognised(name: str, smiles: str) -> None:
    program = whole(smiles)
    assert name in {found.group.name for found in found_in(program)}
    assert name.removesuffix(" group") in program.describe(MOLECULE_SCHEMA)


def test_articles_follow_the_sound() -> None:
    words = ("urea group", "unsaturated O", "sp2 CH2", "chain O", "OH", "NH2", "CH2")
    assert [article(word).split()[0] for word in words] == ["a", "an", "an", "a", "an", "an", "a"]


def test_atoms_are_numbered_as_chemists_do() -> None:
    labels = {group.name: [group.label(v) for v in range(group.n)] for group in groups()}
    assert labels["indole ring"] == ["N", "C2", "C3", "C3a", "C4", "C5", "C6", "C7", "C7a"]
    assert labels["purine ring"] == ["N1", "C2", "N3", "C4", "N9", "C8", "N7", "C5", "C6"]
    assert labels["beta-lactam ring"] == ["N", "C4", "C3", "C2", "O"]
    assert labels["urea group"] == ["C", "O", "N", "N\u2032"]
    assert labels["ester group"] == ["C", "O", "O"]  # one of them cannot have a further neighbour
    for group in groups():
        told = [group.label(v) for v in group.room]
        assert len(set(told)) == len(told), group.name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            (
                "node n <atom = N, charge = 1> node o <atom = O> node p <atom = O, charge = -1> "
                "node c <aromatic = yes> edge (n, o) <bond = double> edge (n, p) <bond = single> "
                "edge (n, c) <bond = single>"
            ),
            "a nitro group on an aromatic atom.",
        ),
        (
            (
                "node n <atom = N, ring = yes> node c <atom = C> node o <atom = O> edge (n, c) "
                "edge (c, o) <bond = double>"
            ),
            "a carbonyl group next to a ring nitrogen.",
        ),
        # The oxo group of a quinolone is no ketone between two aromatic rings.
        (
            "node c <atom = C, aromatic = yes> node o <atom = O> edge (c, o) <bond = double>",
            "an aromatic ring carbonyl.",
        ),
        # An oxygen that may have no hydrogen is no acid.
        (
            (
                "node c <atom = C> node o <atom = O> node p <atom = O> edge (c, o) <bond = double> "
                "edge (c, p) <bond = single>"
            ),
            "a carbonyl group on an oxygen.",
        ),
        (
            "node x <atom = C, hydrogens = 3, ring = no> node y edge (x, y)",
            "an H=3 chain carbon next to an atom.",
        ),
        ("node x <atom = C, hydrogens = 3> node y edge (x, y) <bond = single>", "a methyl group on an atom."),
    ],
)
def test_names_in_sentences(text: str, words: str) -> None:
    program = Program.parse(text, MOLECULE_SCHEMA)
    assert program.describe(MOLECULE_SCHEMA) == f"Molecules that contain {words}"


ATOM = re.compile(r"\[[^\]]*\]|Cl|[A-Z]|[a-z]")


# --- on molecules -----------------------------------------------------------------------------------------


def line_of(found: Found) -> str:
    lines = zip(TABLE.strip().splitlines(), groups(), strict=True)
    return next(line.partition(": ")[2].partition(" @ ")[0] for line, group in lines if group is found.group)


def smarts_of(found: Found) -> Any:
    """Return the group's line of the table as RDKit reads it, with what it takes for granted."""
    text = line_of(found)

    def atom(match: re.Match[str]) -> str:
        inner = match[0].strip("[]").removesuffix(":1")
        if found.neutral and ":1" not in match[0]:
            inner += "" if "+" in inner or "-" in inner else ";+0"
            inner += ";X3" if re.match(r"c(?![a-z])", inner) and "X" not in inner else ""
        return f"[{inner}]"

    query = Chem.MolFromSmarts(ATOM.sub(atom, text))
    assert query is not None, text
    return query


def order_in_table(found: Found) -> list[int]:
    """Return which atoms of the group's line are its own, not beside it."""
    pieces = ATOM.findall(line_of(found))
    return [i for i, piece in enumerate(pieces) if ":1" not in piece]


def said_by_the_names(program: Program, found: list[Found]) -> str:
    """Return the SMARTS of what the sentence says: named atoms have the conditions of their group alone."""
    pattern = read_pattern(program, MOLECULE_SCHEMA)
    needed = pattern.needed()
    atoms = [Atom(a.elements, dict(needed[v]), a.others) for v, a in enumerate(pattern.atoms)]
    for group in found:
        small = group.group.pattern if group.neutral else group.group.charged
        for place, v in enumerate(group.atoms):
            stated = dict(small.atoms[place].stated)
            if group.counted:
                stated["degree"] = pattern.closed(v)["degree"]
            if place in group.rings:
                stated["ring"] = (float(group.rings[place]),) * 2
            atoms[v] = Atom(small.atoms[place].elements, stated)
    said = Pattern(atoms, pattern.bonds)
    return _written(said, [[] for _ in atoms])


def check_names(programs: list[Program], smiles: list[str], graphs: list[Graph]) -> Counter[str]:
    """Check the names of all programs on molecules, and return how often each was used."""
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    table = match(programs, GraphDataset(graphs, schema=MOLECULE_SCHEMA))
    used: Counter[str] = Counter()
    for column, program in enumerate(programs):
        found = found_in(program)
        if not found:
            continue
        query = Chem.MolFromSmarts(said_by_the_names(program, found))
        assert [m.HasSubstructMatch(query) for m in molecules] == table[:, column].tolist(), str(program)
        for group in found:
            used[group.group.name] += 1
            pattern, places = smarts_of(group), order_in_table(group)
            for row in np.flatnonzero(table[:, column])[:5].tolist():
                instances = {
                    tuple(way[place] for place in places)
                    for way in molecules[row].GetSubstructMatches(pattern, uniquify=False, maxMatches=100_000)
                }
                for witness in islice(program.witnesses(graphs[row]), 5):
                    values = list(witness.values())
                    assert tuple(values[v] for v in group.atoms) in instances, (group.group.name, smiles[row])
    return used


def balls(data: GraphDataset, n: int, seed: int) -> list[Program]:
    found = neighbourhoods(data).programs
    return [found[i] for i in np.random.default_rng(seed).permutation(len(found))[:n]]


def default_features(name: str, data_dir: Path, step: int) -> GraphDataset:
    data = load_dataset(name, data_dir, download=False)
    assert data.smiles is not None
    smiles = data.smiles[::step]
    graphs = [molecule_graph(Chem.MolFromSmiles(text)) for text in smiles]
    labels = None if data.y is None else data.y[::step]
    return GraphDataset(graphs, labels, MOLECULE_SCHEMA, name, table=Table(smiles=smiles))


@pytest.mark.data
@pytest.mark.parametrize("name", ["BBBP", "BACE"])
def test_names_are_true_of_molecules(name: str, data_dir: Path) -> None:
    data = default_features(name, data_dir, 10)
    assert data.smiles is not None
    used = check_names(balls(data, 250, 1), data.smiles, data.graphs)
    assert len(used) >= 10


@pytest.mark.data
@pytest.mark.long
@pytest.mark.parametrize("name", ["BBBP", "BACE"])
def test_names_are_true_of_all_molecules(name: str, data_dir: Path) -> None:
    data = default_features(name, data_dir, 1)
    assert data.smiles is not None
    programs = mine(data, "1%", targets=range(150), progress=False).programs + balls(data, 1500, 2)
    assert len(check_names(programs, data.smiles, data.graphs)) >= 25


@pytest.mark.data
def test_words_are_few_and_tell_programs_apart(data_dir: Path) -> None:
    data = default_features("BBBP", data_dir, 3)
    mined = mine(data, targets=range(60), progress=False).programs
    around = neighbourhoods(data).programs
    for programs, median in ((mined, 20), (around, 30)):
        words = [len(program.describe(MOLECULE_SCHEMA).split()) for program in programs]
        assert np.median(words) <= median
        assert max(words) <= 60
    # Programs that say the same in different ways, as a chloride and a chlorine with a negative charge, have
    # the same SMARTS too.
    said = {(p.describe(MOLECULE_SCHEMA), p.to_smarts(MOLECULE_SCHEMA)) for p in (*mined, *around)}
    assert len({words for words, _ in said}) == len(said)


def test_neutral_molecules_are_told_the_same_without_charges() -> None:
    graph = molecule_graph(Chem.MolFromSmiles("Cc1ccccc1"))
    program = Program.from_graph(graph)
    charge = [feature.name for feature in MOLECULE_SCHEMA.node].index("charge")
    nodes = [
        (n.variable, [(-np.inf, np.inf) if i == charge else v for i, v in enumerate(n.intervals or ())])
        for n in program.nodes
    ]
    without = Program(nodes, program.edges)
    assert without.describe(MOLECULE_SCHEMA) == program.describe(MOLECULE_SCHEMA)
    assert "phenyl group" in without.describe(MOLECULE_SCHEMA)


def test_without_rdkit_atoms_are_described_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    program = whole("C[N+](=O)[O-]")
    assert "nitro" in program.describe(MOLECULE_SCHEMA)

    def missing(purpose: str) -> Any:
        raise MissingExtraError(purpose)

    monkeypatch.setattr("gdlnn.gdl.groups.chem", missing)
    groups.cache_clear()
    try:
        words = program.describe(MOLECULE_SCHEMA)
    finally:
        groups.cache_clear()
    assert words == "Molecules that contain an N+ bonded to CH3 and O− and double-bonded to O."
