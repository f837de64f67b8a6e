"""Named groups of molecules: the table `groups.smarts`, and where a pattern is certain to have one of them.

An atom with the map number 1 must be there but is no part of the group. RDKit reads the table and finds the
groups. Without RDKit there are none, and atoms are described one by one.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from gdlnn.errors import MissingExtraError
from gdlnn.gdl.atoms import AROMATIC, DOUBLE, SINGLE, TRIPLE
from gdlnn.graphs.molecules import chem

if TYPE_CHECKING:
    from gdlnn.gdl.atoms import Pattern, Range

_BOND_NAMES = {SINGLE: "SINGLE", DOUBLE: "DOUBLE", TRIPLE: "TRIPLE", AROMATIC: "AROMATIC"}
_UNKNOWN = 9  # hydrogens, charge or further neighbors of an atom; no group of the table has so many
MOST_PLACES = 10_000  # of one group in a program
_PURPOSE = "naming groups of atoms"


class Group(NamedTuple):
    """A line of the table: the query, its atoms that belong to the group, and whether they form a ring."""

    name: str
    query: Any
    own: tuple[int, ...]
    is_ring: bool


@cache
def groups() -> tuple[Group, ...]:
    """Return the groups of the table, in the order in which they are searched for; none without RDKit."""
    try:
        rdkit = chem(_PURPOSE)
    except MissingExtraError:
        return ()
    found = []
    table = (files("gdlnn.gdl") / "groups.smarts").read_text(encoding="utf-8")
    for line in table.splitlines():
        name, _, smarts = line.partition(": ")
        query = rdkit.MolFromSmarts(smarts)
        own = tuple(atom.GetIdx() for atom in query.GetAtoms() if not atom.GetAtomMapNum())
        is_ring = any(set(own).issuperset(ring) for ring in rdkit.GetSSSR(query))
        found.append(Group(name, query, own, is_ring))
    return tuple(found)


def find_groups(pattern: Pattern) -> list[tuple[Group, tuple[int, ...]]]:
    """Return the groups that every match of a pattern has, and their atoms; no two share an atom.

    A group of one atom is left out, since the atom itself says as much. Rings are not divided into groups.
    """
    if not groups() or not pattern.possible():
        return []
    molecule = _certain_molecule(pattern)
    taken: set[int] = set()
    found = []
    for group in groups():
        if len(group.own) < 2 or group.query.GetNumAtoms() > len(pattern.atoms):
            continue
        for match in molecule.GetSubstructMatches(group.query, maxMatches=MOST_PLACES):
            own = tuple(match[place] for place in group.own)
            divided = not group.is_ring and not pattern.cyclic.isdisjoint(own)
            if not divided and taken.isdisjoint(own):
                found.append((group, own))
                taken.update(own)
    return found


def _certain_molecule(pattern: Pattern) -> Any:
    """Return a molecule in which a query finds only what all matches of the pattern have.

    It has dummy atoms for neighbors outside the pattern. What is uncertain has a value that no query has.
    """
    rdkit = chem(_PURPOSE)
    molecule = rdkit.RWMol()
    outside = []
    for v, atom in enumerate(pattern.atoms):
        known = pattern.closed(v)
        # Without features for hydrogens and charge, aromatic bonds alone make an atom aromatic.
        certain = not pattern.strict or known["aromatic"][0] == known["aromatic"][1]
        made = rdkit.Atom((atom.element or 0) if certain else 0)
        made.SetIsAromatic(known["aromatic"][0] == 1)
        made.SetNoImplicit(True)
        made.SetNumExplicitHs(_certain_number(known["hydrogens"]))
        made.SetFormalCharge(_certain_number(known["charge"]))
        molecule.AddAtom(made)
        n, (low, high) = len(pattern.neighbors[v]), known["degree"]
        outside += [v] * _certain_number((low - n, high - n))
    for (u, v), bond in pattern.bonds.items():
        if u != v:
            kind = next(iter(bond.types)) if len(bond.types) == 1 else ""
            molecule.AddBond(u, v, rdkit.BondType.names[_BOND_NAMES.get(kind, "ZERO")])
    for v in outside:
        molecule.AddBond(v, molecule.AddAtom(rdkit.Atom(0)), rdkit.BondType.ZERO)
    molecule.UpdatePropertyCache(strict=False)
    rdkit.FastFindRings(molecule)
    return molecule


def _certain_number(known: Range) -> int:
    low, high = known
    return int(low) if low == high and abs(low) < _UNKNOWN else _UNKNOWN
