"""Names for places of molecules: the groups and rings that cover a set of atoms.

The groups of the whole molecule are found first, so that two atoms of an acid are no carbonyl group.
Everything is chosen by name, never by the number of an atom: a place has the same name however its molecule
is written.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.gdl.groups import MOST_PLACES, Group, groups
from gdlnn.gdl.text import number_word, with_article
from gdlnn.graphs.molecules import ELEMENTS, chem, graph_molecule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gdlnn.graphs import Graph, Schema

IntArray = npt.NDArray[np.int64]
MOST_WORDS = 6
CHAIN = "alkyl chain"
_PURPOSE = "naming places of molecules"
# More detail than the name of a place needs; methyl and ethyl are found among the chains.
_NOT_FOR_PLACES = re.compile("phenyl|^methyl |^ethyl |^aromatic ring carbonyl|^terminal")
_NOUN = re.compile(r"(?<!o)(?<!yl)(?<!oxy) group$")  # "a nitro group" and "a methoxy group", but "an amide"
_SMALL_GROUP = 4  # most atoms of a group that is taken whole
_LEAST_OF_GROUP = 0.3  # the share of them that must be there
_HALOGENS = ("fluorine", "chlorine", "bromine", "iodine")
_PARTLY = 0.5  # the weight of an atom next to a group, and of one in a group of which others are missing


class Part(NamedTuple):
    """A group or ring of a molecule; `near` are atoms that it needs but that are no part of it."""

    name: str
    atoms: frozenset[int]
    near: frozenset[int]
    is_ring: bool


class Named(NamedTuple):
    """The parts with one name that are in a place as a whole, or those of which only some atoms are."""

    name: str
    whole: bool
    is_ring: bool
    n: int
    atoms: frozenset[int]
    near: frozenset[int]

    def worth(self, left: frozenset[int]) -> float:
        """Return how much the name says about atoms that are left without one."""
        if left.isdisjoint(self.atoms):
            return 0.0
        worth = len(self.atoms & left) + _PARTLY * len(self.near & left)
        return worth if self.whole and self.name != CHAIN else _PARTLY * worth


def molecule_place_name(graph: Graph, nodes: Iterable[int], schema: Schema) -> str:
    """Return a name for some connected atoms of a molecule; "" if the table has nothing for them."""
    molecule, parts = _parts(graph, schema)
    place = frozenset(v for v in nodes if molecule.GetAtomWithIdx(v).GetAtomicNum() != 1)
    named = list(_named([*parts, *_chains(molecule, parts, place)], place))
    left = place
    chosen: list[Named] = []
    while len(chosen) < 2 and any(item.worth(left) for item in named):
        best = max(named, key=lambda item: (item.worth(left), item.whole))  # of equals the first in the table
        chosen = [item for item in chosen if not item.atoms <= best.near] + [best]  # an aniline has its ring
        left -= best.atoms | best.near
    if not chosen:
        return _atom_name(molecule, place)
    if len(left) > max(1, len(place) // 5):
        return f"{', '.join(map(_short, chosen))} and more"
    return _one(chosen[0]) if len(chosen) == 1 else _two(molecule, chosen)


def molecule_groups(graph: Graph, schema: Schema) -> list[tuple[str, tuple[int, ...]]]:
    """Divide the atoms of a molecule into named groups: rings first, the largest first, then other groups.

    A ring that shares atoms with one before gets the others if these are at least half of it; of another
    group a third is enough, as for the oxygen of a lactone. What is left is divided into connected parts.
    """
    molecule, parts = _parts(graph, schema)
    left = {atom.GetIdx() for atom in molecule.GetAtoms()}
    found = []

    def order(part: Part) -> tuple[bool, bool, int]:
        return not part.is_ring, "-membered" in part.name, -len(part.atoms) if part.is_ring else 0

    for part in sorted(parts, key=order):
        free = part.atoms & left
        if free and (2 if part.is_ring else 3) * len(free) >= len(part.atoms):
            found.append((part.name, tuple(sorted(free))))
            left -= free
    for start in sorted(left):
        if start in left:
            rest = [start]
            for v in rest:
                near = {atom.GetIdx() for atom in molecule.GetAtomWithIdx(v).GetNeighbors()}
                rest += sorted((near & left).difference(rest))
            left.difference_update(rest)
            found.append((molecule_place_name(graph, rest, schema), tuple(sorted(rest))))
    return found


def completed_groups(graph: Graph, nodes: Iterable[int], schema: Schema) -> frozenset[int]:
    """Return atoms together with the small groups of which a third is among them, and their hydrogens.

    A group is taken whole, since nobody speaks of one oxygen of a nitro group; rings are not.
    """
    molecule, parts = _parts(graph, schema)
    chosen = frozenset(nodes)
    small = [part.atoms for part in parts if not part.is_ring and len(part.atoms) <= _SMALL_GROUP]
    found = chosen.union(*(atoms for atoms in small if len(atoms & chosen) >= _LEAST_OF_GROUP * len(atoms)))
    atoms = (molecule.GetAtomWithIdx(v) for v in found)
    near = (other for atom in atoms if atom.GetAtomicNum() != 6 for other in atom.GetNeighbors())
    return found.union(other.GetIdx() for other in near if other.GetAtomicNum() == 1)


# --- what is there ----------------------------------------------------------------------------------------


@cache
def _screened_groups() -> tuple[list[Group], IntArray]:
    """Return the groups that name places, and what a molecule needs for each, see `_counts`."""
    found = [group for group in groups() if not _NOT_FOR_PLACES.search(group.name)]
    atoms = (
        [atom for atom in group.query.GetAtoms() if not {",", "!"} & set(atom.GetSmarts())] for group in found
    )
    return found, np.array([_counts(group.query, own) for group, own in zip(found, atoms, strict=True)])


def _counts(molecule: Any, atoms: Iterable[Any]) -> IntArray:
    """Count atoms of each element, then aromatic atoms and rings: what has fewer does not contain a group."""
    listed = [(atom.GetAtomicNum(), atom.GetIsAromatic()) for atom in atoms]
    found = np.bincount([element for element, _ in listed], minlength=len(ELEMENTS) + 3)
    found[0] = 0  # any atom
    pieces = len(chem(_PURPOSE).GetMolFrags(molecule))
    found[-2:] = (
        sum(aromatic for _, aromatic in listed),
        molecule.GetNumBonds() - molecule.GetNumAtoms() + pieces,
    )
    return found


@lru_cache(maxsize=256)
def _parts(graph: Graph, schema: Schema) -> tuple[Any, tuple[Part, ...]]:
    """Return the molecule of a graph and its groups and rings, in the order of the table.

    Groups that are no rings share no atom, except with others from the same line.
    """
    rdkit = chem(_PURPOSE)
    molecule = graph_molecule(graph, schema)
    rings = [frozenset(ring) for ring in rdkit.GetSymmSSSR(molecule)]
    if not any(feature.name == "aromatic" for feature in schema.node):
        rdkit.SetAromaticity(molecule)  # bonds may be written as alternating single and double ones
    found: list[Part] = []
    taken: frozenset[int] = frozenset()
    known_groups, needed = _screened_groups()
    for at in np.flatnonzero((needed <= _counts(molecule, molecule.GetAtoms())).all(axis=1)):
        group = known_groups[at]
        near: dict[frozenset[int], frozenset[int]] = {}
        for match in molecule.GetSubstructMatches(group.query, maxMatches=MOST_PLACES):
            own = frozenset(match[i] for i in group.own)
            if group.is_ring or taken.isdisjoint(own):
                near[own] = near.get(own, frozenset()).union(match) - own
        found += [Part(_NOUN.sub("", group.name), own, near[own], group.is_ring) for own in near]
        taken = taken if group.is_ring else taken.union(*near)
    known = [part.atoms for part in found if part.is_ring]
    for ring in sorted(rings, key=len):
        if not any(ring <= atoms for atoms in known):
            found.append(Part(f"{number_word(len(ring))}-membered ring", ring, frozenset(), True))
    return molecule, tuple(found)


def _named(parts: Iterable[Part], place: frozenset[int]) -> Iterator[Named]:
    there = [part for part in parts if not place.isdisjoint(part.atoms)]
    rings = [part.atoms for part in there if part.is_ring]
    by_name: dict[tuple[str, bool], list[Part]] = {}
    for part in there:
        larger = [ring for ring in rings if len(part.atoms) > 1 and part.atoms < ring]
        if not part.is_ring:  # in a part of a chromone its carbonyl is worth a word
            larger = [ring for ring in larger if not place <= ring]
        # A purine of which more than its imidazole is there is named as a purine.
        if all(ring & place == part.atoms & place for ring in larger):
            by_name.setdefault((part.name, part.atoms <= place), []).append(part)
    for (name, whole), some in by_name.items():
        atoms = frozenset[int]().union(*(part.atoms for part in some))
        near = frozenset[int]().union(*(part.near for part in some))
        # Rings may share atoms and be several; a group with three oxygens is no two acetals.
        several = some[0].is_ring or sum(len(part.atoms) for part in some) == len(atoms)
        yield Named(name, whole, some[0].is_ring, len(some) if several and whole else 1, atoms, near)


def _chains(molecule: Any, parts: Iterable[Part], place: frozenset[int]) -> list[Part]:
    """Return the chains of saturated carbon in a place. A single CH2 or CH between groups is none."""
    free = place.difference(*(part.atoms for part in parts))
    free = frozenset(v for v in free if _is_saturated_carbon(molecule.GetAtomWithIdx(v)))
    chains = []
    while free:
        chain = [min(free)]
        for v in chain:
            near = {atom.GetIdx() for atom in molecule.GetAtomWithIdx(v).GetNeighbors()}
            chain += near & free.difference(chain)
        free = free.difference(chain)
        hydrogens = tuple(sorted(_hydrogens(molecule.GetAtomWithIdx(v)) for v in chain))
        name = {(3,): "methyl group", (2, 3): "ethyl group"}.get(hydrogens, CHAIN)
        if hydrogens not in ((0,), (1,), (2,)):
            chains.append(Part(name, frozenset(chain), frozenset(), False))
    return sorted(chains, key=lambda part: part.name)


def _is_saturated_carbon(atom: Any) -> bool:
    return bool(atom.GetAtomicNum() == 6 and atom.GetTotalDegree() == 4)


def _hydrogens(atom: Any) -> int:
    return int(atom.GetTotalNumHs(includeNeighbors=True))


def _atom_name(molecule: Any, place: frozenset[int]) -> str:
    """Return the name of a single atom; "" for more. A place without one has hydrogens only."""
    if len(place) != 1:
        return "" if place else "hydrogen"
    atom = molecule.GetAtomWithIdx(min(place))
    if _is_saturated_carbon(atom):
        return ("quaternary carbon", "CH group", "CH2 group", "methyl group", "methane")[_hydrogens(atom)]
    if not atom.GetAtomicNum():
        return "dummy atom"
    name = str(chem(_PURPOSE).GetPeriodicTable().GetElementName(atom.GetAtomicNum())).lower()
    if not atom.GetFormalCharge() or atom.GetDegree():
        return name
    return f"{name.removesuffix('ine')}ide ion" if name in _HALOGENS else f"{name} ion"


# --- words ------------------------------------------------------------------------------------------------


def _short(item: Named) -> str:
    """Return a name, in the plural if there are several: "nitro", "nitro groups"."""
    return f"{item.name}s" if item.n > 1 else item.name.removesuffix(" group")


def _one(item: Named) -> str:
    if not item.whole:
        return f"part of {with_article(item.name)}"
    return f"{number_word(item.n)} {item.name}s" if item.n > 1 else item.name


def _two(molecule: Any, chosen: list[Named]) -> str:
    """Return two names as a phrase. A part that is not there as a whole says where the other is."""
    first, second = sorted(chosen, key=lambda item: (not item.whole, item.is_ring, item.name == CHAIN))
    joint = _joint(molecule, first, second)
    if first.whole and joint and second.n == 1:
        for name in (_one(first) if first.n > 1 else _short(first), _short(first)):
            text = f"{name} {joint} {with_article(second.name)}"
            if len(text.split()) <= MOST_WORDS:
                return text
    if first.whole and not second.whole:
        return f"{_short(first)} near {with_article(second.name)}"
    if not first.whole and first.is_ring == second.is_ring:
        first, second = sorted(chosen, key=_short)
    both = f"{_short(first)} and {_short(second)}"
    if first.name.endswith(" ring") and second.name.endswith(" ring"):
        both = f"{first.name.removesuffix(' ring')} and {second.name}s"
    return both if first.whole else f"parts of {both}"


def _joint(molecule: Any, first: Named, second: Named) -> str:
    """Return how what comes first is joined to the second; "" if it is not."""
    shared = first.atoms & second.atoms
    if first.is_ring and second.is_ring and len(shared) > 1:
        return "fused to"
    if second.is_ring and 2 * len(shared) >= len(first.atoms):
        return "in"
    bonds = (molecule.GetBondBetweenAtoms(u, v) for u in first.atoms for v in second.atoms)
    if not shared and not any(bonds):
        return ""
    return "on" if second.is_ring or second.name == CHAIN else "next to"
