"""Programs over molecules as chemists draw them: the part of a molecule that one matches, the rest faded.

The picture shows an example, a training molecule with the atoms that the program matched. Atoms next to those
and the rings they lie on are drawn in grey, and what is further away is cut off at a wavy line. A program
without an example is drawn as the molecule that its own conditions describe, where they describe one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gdlnn.drawing.molecule_picture import draw_molecule, with_coordinates
from gdlnn.errors import GraphError, ProgramError
from gdlnn.gdl.atoms import AROMATIC, DOUBLE, SINGLE, TRIPLE, Pattern, is_chemical, is_exact, read_pattern
from gdlnn.graphs.chem import chem, without_messages
from gdlnn.graphs.molecule_limits import smiles_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdlnn.drawing.svg import Picture
    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Schema

_PURPOSE = "Drawing a molecule"
_MOST_RING = 8  # larger rings are cut like chains


def fragment_picture(
    program: Program, schema: Schema | None, example: tuple[str, Sequence[int]] | None
) -> Picture:
    """Return the picture of a program.

    Parameters
    ----------
    program
        The program.
    schema
        What its features are called.
    example
        The SMILES of a molecule, and for each variable of the program the atom that it stands for.

    Raises
    ------
    GraphError
        Where there is nothing that a chemist could draw.
    """
    rd = chem(_PURPOSE)
    if not program.nodes or not is_chemical(schema) or schema is None:
        raise GraphError("expected a program over molecules, got another")
    if example is None:
        molecule = _built(rd, program, schema)
        atoms: Sequence[int] = range(len(program.nodes))
    else:
        smiles, atoms = example[0], [int(v) for v in example[1]]
        with without_messages(_PURPOSE):
            molecule = None if smiles_problem(smiles) else rd.MolFromSmiles(smiles)
        inside = molecule is not None and all(0 <= v < molecule.GetNumAtoms() for v in atoms)
        if not inside or len(atoms) != len(program.nodes):
            raise GraphError("example: expected a SMILES and an atom of it for every variable of the program")
    piece, number = _cut(rd, with_coordinates(molecule), set(atoms))
    matched = {number[v] for v in atoms}
    return draw_molecule(piece, faded=set(range(piece.GetNumAtoms())) - matched)


# --- what is drawn ----------------------------------------------------------------------------------------


def _cut(rd: Any, molecule: Any, matched: set[int]) -> tuple[Any, dict[int, int]]:
    """Return the matched atoms with what is around them, and the new number of every atom that is left."""
    kept = set(matched)
    for ring in molecule.GetRingInfo().AtomRings():
        if len(ring) <= _MOST_RING and matched & set(ring):
            kept |= set(ring)
    kept |= set(_around(molecule, matched))
    ends = set(_around(molecule, kept)) - kept
    piece = rd.RWMol(molecule)
    for atom in piece.GetAtoms():  # what is cut off must not become hydrogens
        atom.SetNumExplicitHs(atom.GetTotalNumHs())
        atom.SetNoImplicit(True)
        atom.SetChiralTag(rd.ChiralType.CHI_UNSPECIFIED)
    for v in ends:
        atom = piece.GetAtomWithIdx(v)
        atom.SetAtomicNum(0)
        atom.SetFormalCharge(0)
        atom.SetNumExplicitHs(0)
    for bond in list(piece.GetBonds()):
        bond.SetStereo(rd.BondStereo.STEREONONE)
        bond.SetBondDir(rd.BondDir.NONE)
        if {bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()} <= ends:
            piece.RemoveBond(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
    left = [v for v in range(molecule.GetNumAtoms()) if v in kept or v in ends]
    for v in range(molecule.GetNumAtoms() - 1, -1, -1):
        if v not in kept and v not in ends:
            piece.RemoveAtom(v)
    result = piece.GetMol()
    result.UpdatePropertyCache(strict=False)
    rd.FastFindRings(result)
    return result, {v: i for i, v in enumerate(left)}


def _around(molecule: Any, atoms: Iterable[int]) -> list[int]:
    return [near.GetIdx() for v in sorted(atoms) for near in molecule.GetAtomWithIdx(v).GetNeighbors()]


# --- without an example -----------------------------------------------------------------------------------


def _built(rd: Any, program: Program, schema: Schema) -> Any:
    """Build the molecule that a program describes: all atoms and bonds must be known, and RDKit accept it."""
    try:
        pattern = read_pattern(program, schema)
    except ProgramError as error:
        raise GraphError(str(error)) from error
    known = [pattern.closed(v) for v in range(len(pattern.atoms))]
    exact = all(is_exact(atom, known[v]) for v, atom in enumerate(pattern.atoms))
    if not pattern.strict or not exact or any(len(bond.types) > 1 for bond in pattern.bonds.values()):
        raise GraphError("expected a program with all atoms and bonds known, got another")
    molecule = rd.RWMol()
    for atom, ranges in zip(pattern.atoms, known, strict=True):
        new = rd.Atom(atom.element)
        new.SetFormalCharge(int(ranges["charge"][0]))
        new.SetNumExplicitHs(int(ranges["hydrogens"][0]))
        new.SetNoImplicit(True)
        new.SetIsAromatic(ranges["aromatic"][0] == 1)
        molecule.AddAtom(new)
    _join(rd, molecule, pattern)
    for v, ranges in enumerate(known):  # neighbours outside the program
        for _ in range(int(ranges["degree"][0]) - len(pattern.neighbors[v])):
            molecule.AddBond(v, molecule.AddAtom(rd.Atom(0)), rd.BondType.SINGLE)
    with without_messages(_PURPOSE):
        try:
            rd.SanitizeMol(molecule)
        except (RuntimeError, ValueError) as error:
            raise GraphError(f"expected a molecule that RDKit accepts, got another: {error}") from error
    return molecule.GetMol()


def _join(rd: Any, molecule: Any, pattern: Pattern) -> None:
    types = rd.BondType
    orders = {SINGLE: types.SINGLE, DOUBLE: types.DOUBLE, TRIPLE: types.TRIPLE, AROMATIC: types.AROMATIC}
    for (u, v), bond in pattern.bonds.items():
        if u == v:
            raise GraphError("expected bonds between two atoms, got a loop")
        molecule.AddBond(u, v, orders.get(next(iter(bond.types)), types.UNSPECIFIED))
