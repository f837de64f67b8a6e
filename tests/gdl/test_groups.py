"""Names of groups in the words of programs: used only where they are true."""

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdlnn import Graph, Program, load_dataset, mine
from gdlnn.errors import MissingExtraError
from gdlnn.gdl.atoms import read_pattern
from gdlnn.gdl.groups import Group, find_groups, groups
from gdlnn.graphs import GraphDataset
from gdlnn.graphs.molecules import MOLECULE_SCHEMA, molecule_graph
from gdlnn.matching import match
from gdlnn.mining import neighborhoods

Chem = pytest.importorskip("rdkit.Chem")

# The program of the whole molecule has the group in its words.
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
    "N-oxide": "C[N+](C)(C)[O-]",
    "boronic acid": "CB(O)O",
    "terminal alkyne": "CC#C",
    "acid chloride": "CC(=O)Cl",
    "indole ring": "c1ccc2[nH]ccc2c1",
}


def whole(smiles: str) -> Program:
    return Program.from_graph(molecule_graph(Chem.MolFromSmiles(smiles)))


def found_in(program: Program) -> list[tuple[Group, tuple[int, ...]]]:
    return find_groups(read_pattern(program, MOLECULE_SCHEMA))


@pytest.mark.parametrize(("name", "smiles"), MOLECULES.items())
def test_groups_are_recognized(name: str, smiles: str) -> None:
    program = whole(smiles)
    assert name in {group.name for group, _ in found_in(program)}
    assert name in program.describe(MOLECULE_SCHEMA)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            (
                "node n <atom = N, charge = 1> node o <atom = O> node p <atom = O, charge = -1> "
                "node c <aromatic = yes> edge (n, o) <bond = double> edge (n, p) <bond = single> "
                "edge (n, c) <bond = single>"
            ),
            "a nitro group bonded to an aromatic atom.",
        ),
        # A carbon that may be aromatic belongs to no group.
        (
            (
                "node n <atom = N, ring = yes> node c <atom = C> node o <atom = O> edge (n, c) "
                "edge (c, o) <bond = double>"
            ),
            "O double-bonded to C next to ring N.",
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
            "a carbonyl group bonded to O.",
        ),
        (
            "node x <atom = C, hydrogens = 3, ring = no> node y edge (x, y)",
            "chain C with hydrogens 3 next to an atom.",
        ),
        ("node x <atom = C, hydrogens = 3> node y edge (x, y) <bond = single>", "CH3 bonded to an atom."),
    ],
)
def test_a_description_names_groups(text: str, words: str) -> None:
    program = Program.parse(text, MOLECULE_SCHEMA)
    assert program.describe(MOLECULE_SCHEMA) == f"Molecules that contain {words}"


def check_names(programs: list[Program], smiles: list[str], graphs: list[Graph]) -> Counter[str]:
    """Check that matches have the groups that programs are described by, and return how often each is."""
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    table = match(programs, GraphDataset(graphs, schema=MOLECULE_SCHEMA))
    used: Counter[str] = Counter()
    for column, program in enumerate(programs):
        for group, own in found_in(program):
            used[group.name] += 1
            for row in np.flatnonzero(table[:, column])[:5].tolist():
                places = molecules[row].GetSubstructMatches(group.query, uniquify=False, maxMatches=100_000)
                instances = {frozenset(place[v] for v in group.own) for place in places}
                for witness in islice(program.witnesses(graphs[row]), 5):
                    values = list(witness.values())
                    assert frozenset(values[v] for v in own) in instances, (group.name, smiles[row])
    return used


def balls(data: GraphDataset, n: int, seed: int) -> list[Program]:
    found = neighborhoods(data).programs
    return [found[i] for i in np.random.default_rng(seed).permutation(len(found))[:n]]


def default_features(name: str, data_dir: Path, step: int) -> GraphDataset:
    data = load_dataset(name, data_dir, download=False)
    assert data.smiles is not None
    smiles = data.smiles[::step]
    graphs = [molecule_graph(Chem.MolFromSmiles(text)) for text in smiles]
    labels = None if data.y is None else data.y[::step]
    return GraphDataset(graphs, labels, MOLECULE_SCHEMA, name, smiles=smiles)


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
    programs = mine(data, "1%", targets=range(150), verbose=False).programs + balls(data, 1500, 2)
    assert len(check_names(programs, data.smiles, data.graphs)) >= 25


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
    assert words == "Molecules that contain chain N+ bonded to CH3 and O− and double-bonded to O."
