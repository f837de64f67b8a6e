"""Named groups of molecules: the table of names, and where a pattern is known to have one.

The table has the groups of RDKit's functional group hierarchy and more, as SMARTS. A bond without a sign is
aromatic between aromatic atoms and single elsewhere. An atom with the map number 1 must be there but is no
part of the group. Atoms are neutral unless they have a charge in the table, and aromatic carbons have three
connections; names are also used where a program leaves that open. After ``@`` come the locants of a ring
whose atoms are not numbered in the order of its SMARTS.

RDKit finds where elements and bonds are those of a group. A name stands for atoms of a pattern only where
their conditions imply the group's, and the group's imply theirs: every match of the pattern has the group
there, and every such group is a match. Both are decided by the rules of `gdlnn.gdl.atoms`. Without RDKit no
group is found, and atoms are described one by one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from gdlnn.errors import MissingExtraError
from gdlnn.gdl.atoms import AROMATIC, DOUBLE, SINGLE, TRIPLE, Atom, Bond, Pattern, closure, inside
from gdlnn.graphs.chem import chem
from gdlnn.graphs.molecules import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdlnn.gdl.atoms import Ranges

TABLE = """
indole ring: [nX3]1ccc2ccccc21 @ 1 2 3 3a 4 5 6 7 7a
benzimidazole ring: [nX3]1c[nX2]c2ccccc21 @ 1 2 3 3a 4 5 6 7 7a
benzofuran ring: o1ccc2ccccc21 @ 1 2 3 3a 4 5 6 7 7a
benzothiophene ring: [sX2]1ccc2ccccc21 @ 1 2 3 3a 4 5 6 7 7a
quinoline ring: [nX2]1cccc2ccccc21 @ 1 2 3 4 4a 5 6 7 8 8a
isoquinoline ring: c1[nX2]ccc2ccccc21 @ 1 2 3 4 4a 5 6 7 8 8a
purine ring: [nX2]1c[nX2]c2[nX3]c[nX2]c2c1 @ 1 2 3 4 9 8 7 5 6
purine ring: [nX2]1c[nX2]c2[nX2]c[nX3]c2c1 @ 1 2 3 4 9 8 7 5 6
naphthalene ring: c1cccc2ccccc21 @ 1 2 3 4 4a 5 6 7 8 8a
phenyl group: c1[cH][cH][cH][cH][cH]1
para-phenylene ring: c1[cH][cH]c[cH][cH]1
meta-phenylene ring: c1[cH]c[cH][cH][cH]1
ortho-phenylene ring: c1c[cH][cH][cH][cH]1
benzene ring: c1ccccc1
pyridine ring: [nX2]1ccccc1
pyridinium ring: [n+X3]1ccccc1
pyrimidine ring: [nX2]1c[nX2]ccc1
pyrazine ring: [nX2]1cc[nX2]cc1
pyridazine ring: [nX2]1[nX2]cccc1
triazine ring: [nX2]1c[nX2]c[nX2]c1
imidazole ring: [nX3]1c[nX2]cc1
pyrazole ring: [nX3]1[nX2]ccc1
pyrrole ring: [nX3]1cccc1
furan ring: o1cccc1
thiophene ring: [sX2]1cccc1
thiazole ring: [sX2]1c[nX2]cc1
isothiazole ring: [sX2]1[nX2]ccc1
oxazole ring: o1c[nX2]cc1
isoxazole ring: o1[nX2]ccc1
thiadiazole ring: [sX2]1c[nX2][nX2]c1
oxadiazole ring: o1c[nX2][nX2]c1
1,2,4-triazole ring: [nX3]1[nX2]c[nX2]c1
1,2,4-triazole ring: [nX3]1c[nX2][nX2]c1 @ 4 3 2 1 5
1,2,3-triazole ring: [nX3]1[nX2][nX2]cc1
tetrazole ring: [nX3]1[nX2][nX2][nX2]c1
tetrazole ring: [nX3]1[nX2][nX2]c[nX2]1 @ 2 3 4 5 1
piperidine ring: [NX3]1[CX4][CX4][CX4][CX4][CX4]1
piperazine ring: [NX3]1[CX4][CX4][NX3][CX4][CX4]1
morpholine ring: O1[CX4][CX4][NX3][CX4][CX4]1
thiomorpholine ring: [SX2]1[CX4][CX4][NX3][CX4][CX4]1
pyrrolidine ring: [NX3]1[CX4][CX4][CX4][CX4]1
azetidine ring: [NX3]1[CX4][CX4][CX4]1
aziridine ring: [NX3]1[CX4][CX4]1
tetrahydropyran ring: O1[CX4][CX4][CX4][CX4][CX4]1
tetrahydrofuran ring: O1[CX4][CX4][CX4][CX4]1
1,3-dioxolane ring: O1[CX4]O[CX4][CX4]1
oxetane ring: O1[CX4][CX4][CX4]1
epoxide: O1[CX4][CX4]1
beta-lactam ring: N1[CX4][CX4]C1=O @ 1 4 3 2 2
cyclohexane ring: [CX4]1[CX4][CX4][CX4][CX4][CX4]1
cyclopentane ring: [CX4]1[CX4][CX4][CX4][CX4]1
cyclobutane ring: [CX4]1[CX4][CX4][CX4]1
cyclopropane ring: [CX4]1[CX4][CX4]1
cyclohexene ring: [CX3]1=[CX3][CX4][CX4][CX4][CX4]1
cyclopentene ring: [CX3]1=[CX3][CX4][CX4][CX4]1
phosphate group: [PH0](=O)(O)(O)O
phosphonate group: [PH0](=O)(O)(O)[#6:1]
tert-butyl group: C([CH3])([CH3])[CH3]
trifluoromethyl group: C(F)(F)F
trichloromethyl group: C(Cl)(Cl)Cl
guanidine group: C(=[NX2])([NX3])[NX3]
sulfonamide group: [SH0](=O)(=O)[NX3]
sulfonyl chloride: [SH0](=O)(=O)Cl
sulfonic acid: [SH0](=O)(=O)[OH]
sulfonate group: [SH0](=O)(=O)[O-]
sulfonate ester: [SH0](=O)(=O)[OD2H0]
urea group: C(=O)([NX3])[NX3]
thiourea group: C(=[SX1])([NX3])[NX3]
carbamate group: C(=O)([NX3])[OD2H0]
carbonate group: C(=O)([OD2H0])[OD2H0]
imide group: C(=O)[NX3]C=O
anhydride: C(=O)OC=O
hydrazide: C(=O)[NX3][NX3]
hydroxamic acid: C(=O)[NX3][OH]
sulfone group: [SH0D4](=O)(=O)([#6:1])[#6:1]
sulfonyl group: [SH0D4](=O)=O
nitro group: [N+](=O)[O-]
nitro group: N(=O)=O
azide group: [NX2]=[N+]=[N-]
diazo group: [CX3]=[N+]=[N-]
isocyanate group: [NX2]=C=O
isothiocyanate group: [NX2]=C=[SX1]
carbodiimide group: [NX2]=C=[NX2]
thiocyanate group: [SX2]C#N
carboxylic acid: C(=O)[OH]
carboxylate group: C(=O)[O-]
acid chloride: C(=O)Cl
amide group: C(=O)([NX3])[#6:1]
formamide group: [CH](=O)[NX3]
ester group: C(=O)([OD2H0][C:1])[#6:1]
ester group: C(=O)([OD2H0][c:1])[#6:1]
thioester group: C(=O)([SX2])[#6:1]
thioamide group: C(=[SX1])([NX3])[#6:1]
amidine group: C(=[NX2])([NX3])[#6:1]
hydrazone group: [CX3]=[NX2][NX3]
oxime group: [CX3]=[NX2][OH]
oxime ether: [CX3]=[NX2][OD2H0]
azoxy group: [N+]([O-])=N
isopropyl group: [CH]([CH3])[CH3]
acetal group: [CX4]([OD2H0])[OD2H0]
hemiacetal group: [CX4]([OH])[OD2H0]
boronic acid: B([OH])[OH]
enol ether: [CX3]=[CX3][OD2H0]
enamine: [CX3]=[CX3][NX3]
methylenedioxy group: [OR][CH2R][OR]
aldehyde group: [CH](=O)[#6:1]
acetyl group: C(=O)([CH3D1])[#6:1]
ketone group: C(=O)([#6:1])[#6:1]
nitroso group: [NX2]=O
azo group: [NX2R0]=[NX2R0]
diazonium group: [N+]#N
hydrazine group: [NX3][NX3]
nitrile group: C#[ND1H0]
isonitrile group: [N+]#[C-]
N-oxide: [n+][O-]
N-oxide: [N+D4][O-]
peroxide: [OD2H0][OD2H0]
hydroperoxide: [OD2H0][OH]
disulfide: [SX2][SX2]
sulfoxide group: [SH0D3]=O
phosphoryl group: [PH0]=O
thiocarbonyl group: C=[SX1]
aromatic ring carbonyl: c=O
carbonyl group: [#6]=O
imine: [CX3]=[NX2]
methoxy group: [OD2H0][CH3]
ethoxy group: [OD2H0][CH2][CH3]
ethyl group: [CH2X4][CH3]
vinyl group: [CH]=[CH2]
alkene: [CX3]=[CX3]
terminal alkyne: C#[CH]
alkyne: C#C
quaternary ammonium nitrogen: [ND4+]([#6:1])([#6:1])([#6:1])[#6:1]
tertiary ammonium group: [NHD3+]([#6:1])([#6:1])[#6:1]
secondary ammonium group: [NH2D2+]([#6:1])[#6:1]
primary ammonium group: [NH3D1+][#6:1]
primary aromatic amine: [NH2D1][c:1]
primary amine: [NH2D1][CX4:1]
secondary amine: [NHD2]([CX4:1])[CX4:1]
tertiary amine: [ND3H0]([CX4:1])([CX4:1])[CX4:1]
phenolic hydroxyl: [OH][c:1]
hydroxyl group: [OH][CX4:1]
ether oxygen: [OD2H0]([CX4:1])[CX4:1]
sulfide sulfur: [SH0X2]([#6:1])[#6:1]
thiol group: [SHX2]
methyl group: [CH3D1]
halogen: [F,Cl,Br,I]
"""

_WORD = re.compile(r"#(\d+)|([HDX])(\d?)|(R0?)|([+-]\d?)|([A-Z][a-z]?|[a-z])")
_BOND_NAMES = {SINGLE: "SINGLE", DOUBLE: "DOUBLE", TRIPLE: "TRIPLE", AROMATIC: "AROMATIC"}
_MOST_PLACES = 10_000  # of one group in a program
PRIMES = ("", "\u2032", "\u2033", "\u2034")
_AROMATIC_SYMBOLS = {"b", "c", "n", "o", "p", "s"}
Embedding = tuple[int, ...]
"""The atoms of a pattern that stand for those of a group, in the group's order."""


@dataclass(frozen=True)
class Group:
    """A named group.

    Attributes
    ----------
    pattern, charged
        The atoms of the group, and after them those that must be adjacent; and the same where atoms have no
        other conditions than in the table, so that they may be charged.
    n
        Number of atoms of the group itself.
    query, parts
        Elements and bonds, as RDKit searches for them; and which of them there must be.
    room
        Atoms that can have further neighbours.
    alike
        Whether these are the same up to symmetry.
    locants
        The numbers of the atoms of a ring; empty if the group is none.
    """

    name: str
    pattern: Pattern
    charged: Pattern
    n: int
    query: Any
    parts: frozenset[int | str]
    room: tuple[int, ...]
    alike: bool
    locants: tuple[str, ...]

    def label(self, v: int) -> str:
        """Return the name of an atom of the group: its element, and which one if there are several.

        Atoms of rings have their locants. In other groups carbons are numbered, and of other elements only
        atoms that can have further neighbours are distinguished: N, N\u2032 and N\u2033.
        """
        element = self.pattern.atoms[v].element
        symbol = ELEMENTS[element - 1] if element else "X"
        same = [u for u in range(self.n) if self.pattern.atoms[u].element == element]
        if len(same) == 1:
            return symbol
        if self.locants:
            return f"{symbol}{self.locants[v]}"
        if symbol == "C":
            return f"C{1 + same.index(v)}"
        return symbol + PRIMES[sum(u < v for u in same if u in self.room)]


class Found(NamedTuple):
    """A group in a pattern.

    Attributes
    ----------
    atoms
        Those of the pattern, in the order of the group's own.
    counted
        Whether the pattern says of every atom how many neighbours it has, and the name alone does not.
    rings
        Of its atoms, by their place in the group, whether they lie on a ring, if the name leaves that open.
    neutral
        Whether the pattern asks for what a chemist takes for granted of the group, such as no charge.
    """

    group: Group
    atoms: Embedding
    counted: bool
    rings: dict[int, bool]
    neutral: bool


# --- the table --------------------------------------------------------------------------------------------


@cache
def groups() -> tuple[Group, ...]:
    """Return the groups of the table, in the order in which they are searched for; none without RDKit."""
    try:
        chem("naming groups of atoms")
    except MissingExtraError:
        return ()
    return tuple(_read(line) for line in TABLE.strip().splitlines())


def _read(line: str) -> Group:
    rdkit = chem("naming groups of atoms")
    name, _, rest = line.partition(": ")
    text, _, numbers = rest.partition(" @ ")
    query = rdkit.MolFromSmarts(text)
    outside = [atom.GetAtomMapNum() for atom in query.GetAtoms()]
    query = rdkit.RWMol(rdkit.RenumberAtoms(query, sorted(range(len(outside)), key=outside.__getitem__)))
    atoms = [_read_atom(atom.GetSmarts()) for atom in query.GetAtoms()]
    bonds = {}
    for bond in query.GetBonds():
        u, v = sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
        both = all(atoms[w].stated.get("aromatic") == (1.0, 1.0) for w in (u, v))
        bonds[u, v] = Bond(frozenset({bond.GetSmarts() or (AROMATIC if both else SINGLE)}))
    for v, atom in enumerate(atoms):  # RDKit compares elements and bonds, and all else is implied or not
        elements = ",".join(f"#{element}" for element in sorted(atom.elements or ()))
        query.ReplaceAtom(v, rdkit.AtomFromSmarts(f"[{elements}]"))
    n = outside.count(0)
    charged = Pattern(atoms, bonds)
    pattern = Pattern([Atom(a.elements, _neutral(a) | a.stated) for a in atoms[:n]] + atoms[n:], bonds)
    within = frozenset(range(n))
    room = tuple(v for v in range(n) if pattern.closed(v)["degree"][1] > pattern.site_among(v, within).n)
    known = [pattern.closed(v) for v in range(len(atoms))]
    ways = _implied(pattern, pattern, known, _places(query, _molecule(pattern)))
    images = {way[room[0]] for way in ways} if room else set()
    is_ring = bool(pattern.cyclic)
    locants = tuple(numbers.split() or (str(v + 1) for v in range(n) if is_ring))
    return Group(name, pattern, charged, n, query, _parts(pattern), room, set(room) <= images, locants)


def _neutral(atom: Atom) -> Ranges:
    """Return the conditions that names imply: no charge, and three connections of an aromatic carbon."""
    aromatic = atom.element == 6 and atom.stated.get("aromatic") == (1.0, 1.0)
    return {"charge": (0.0, 0.0)} | ({"connections": (3.0, 3.0)} if aromatic else {})


def _read_atom(text: str) -> Atom:
    elements: set[int] = set()
    stated: Ranges = {}
    for number, letter, count, ring, charge, symbol in _WORD.findall(text):
        if number:
            elements.add(int(number))
        elif letter:
            key = {"H": "hydrogens", "D": "degree", "X": "connections"}[letter]
            stated[key] = (float(count or 1),) * 2
        elif ring:
            stated["ring"] = (float(ring == "R"),) * 2
        elif charge:
            value = float(charge[1:] or 1)
            stated["charge"] = (value if charge[0] == "+" else -value,) * 2
        else:
            elements.add(ELEMENTS.index(symbol.capitalize()) + 1)
            stated["aromatic"] = (float(symbol in _AROMATIC_SYMBOLS),) * 2
    return Atom(frozenset(elements) or None, stated)


# --- in a pattern -----------------------------------------------------------------------------------------


def find_groups(pattern: Pattern, needed: list[Ranges]) -> list[Found]:
    """Return the groups that the atoms of a pattern are known to form, none sharing an atom with another.

    `needed` are the conditions that do not follow from others, see `Pattern.needed`.
    """
    known = [pattern.closed(v) for v in range(len(pattern.atoms))]
    if not groups() or any(low > high for ranges in known for low, high in ranges.values()):
        return []
    if not pattern.strict:  # atoms without an aromaticity feature: their bonds decide
        known = [ranges | {"aromatic": (ranges["aromatic"][0],) * 2} for ranges in known]
    molecule, parts = _molecule(pattern), _parts(pattern)
    taken: set[int] = set()
    found: list[Found] = []
    for group in groups():
        places = _places(group.query, molecule) if group.parts <= parts else []
        if not places:
            continue
        for small in (group.charged, group.pattern) if pattern.strict else (group.charged,):
            ways = _implied(small, pattern, known, places)
            for way in ways:
                own = way[: group.n]
                # Rings of the pattern are described whole, not split into groups.
                cut = any(w in pattern.cyclic and v not in small.cyclic for v, w in enumerate(own))
                if cut or taken & set(own) or not _same_bonds(small, own, pattern):
                    continue
                for counted in (False, True):
                    counts = known if counted else None
                    if _open_rings(small, own, pattern, needed, counts) is not None:
                        own = _best(own, ways, pattern, known)
                        rings = _open_rings(small, own, pattern, needed, counts) or {}
                        found.append(Found(group, own, counted, rings, small is group.pattern))
                        taken |= set(own)
                        break
    return found


def _parts(pattern: Pattern) -> frozenset[int | str]:
    """Return the elements and types of bonds that are certain."""
    elements = {atom.element for atom in pattern.atoms if atom.element}
    return frozenset(elements.union(*(bond.types for bond in pattern.bonds.values() if len(bond.types) == 1)))


def _molecule(pattern: Pattern) -> Any:
    """Return a molecule with the elements and bonds of a pattern; no group has those that are uncertain."""
    rdkit = chem("naming groups of atoms")
    molecule = rdkit.RWMol()
    for atom in pattern.atoms:
        # Whether all of several elements fit is decided later: halogens do.
        molecule.AddAtom(rdkit.Atom(min(atom.elements or {0})))
    for (u, v), bond in pattern.bonds.items():
        if u != v:
            names = [_BOND_NAMES.get(kind, "ZERO") for kind in bond.types]
            molecule.AddBond(u, v, rdkit.BondType.names[names[0] if len(names) == 1 else "ZERO"])
    return molecule


def _places(query: Any, molecule: Any) -> list[Embedding]:
    """Return where elements and bonds are those of a group, in a fixed order."""
    return sorted(molecule.GetSubstructMatches(query, uniquify=False, maxMatches=_MOST_PLACES))


def _implied(
    small: Pattern, large: Pattern, known: list[Ranges], places: Iterable[Embedding]
) -> list[Embedding]:
    """Return the places where all conditions of the small pattern follow from those of the large one."""
    return [
        way
        for way in places
        if all(_fits(small.atoms[v], large.atoms[w], known[w]) for v, w in enumerate(way))
        and all(large.neighbours[way[u]][way[v]].types <= bond.types for (u, v), bond in small.bonds.items())
    ]


def _fits(wanted: Atom, have: Atom, known: Ranges) -> bool:
    """Whether every atom with these conditions fits the group."""
    if wanted.elements is not None and (have.elements is None or not have.elements <= wanted.elements):
        return False
    return all(inside(known[key], value) for key, value in wanted.stated.items())


def _open_rings(
    small: Pattern,
    own: tuple[int, ...],
    pattern: Pattern,
    needed: list[Ranges],
    counts: list[Ranges] | None,
) -> dict[int, bool] | None:
    """Return which ring conditions must be added so that the name implies all conditions of its atoms.

    Bonds to other atoms are described anyway, and with `counts` the number of neighbours of every atom.
    Return None if the name leaves out more.
    """
    rings = {}
    for v, w in enumerate(own):
        atom, wanted = pattern.atoms[w], small.atoms[v]
        if atom.others or atom.elements != wanted.elements:
            return None
        implied = {"ring": small.closed(v)["ring"]} | wanted.stated
        if counts is not None:
            if counts[w]["degree"][0] != counts[w]["degree"][1]:
                return None
            implied["degree"] = counts[w]["degree"]
        follows = closure(wanted.elements, implied, pattern.site(w), pattern.strict)
        missing = [key for key, value in needed[w].items() if not inside(follows[key], value)]
        if missing not in ([], ["ring"]):
            return None
        if missing:
            rings[v] = needed[w]["ring"][0] == 1
    return rings


def _same_bonds(small: Pattern, own: tuple[int, ...], pattern: Pattern) -> bool:
    """Whether the atoms have no other bonds between them than the group's, and those say nothing else."""
    among = {frozenset(ends) for ends in pattern.bonds if set(ends) <= set(own)}
    named = [(own[u], own[v]) for u, v in small.bonds if max(u, v) < len(own)]
    return among == set(map(frozenset, named)) and not any(pattern.neighbours[u][v].others for u, v in named)


def _best(own: Embedding, ways: list[Embedding], pattern: Pattern, known: list[Ranges]) -> Embedding:
    """Return the way to number the group's atoms that puts attachments first, the same for every order."""
    n, members = len(own), set(own)
    attached = {w for w in own if known[w]["degree"][0] > len(members & set(pattern.neighbours[w]))}
    same = [way[:n] for way in ways if set(way[:n]) == members]
    return min(same, key=lambda way: ([i for i, w in enumerate(way) if w in attached], way))
