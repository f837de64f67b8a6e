"""Named groups of molecules: the table of names, and how to find a group in a pattern.

The table has the groups of RDKit's functional group hierarchy and more. Its notation is a small part of
SMARTS: ``D`` neighbours, ``X`` neighbours and hydrogens, ``H`` hydrogens, ``R`` and ``R0`` rings; a bond
without a sign is aromatic between aromatic atoms and single elsewhere. An atom in braces must be there but is
no part of the group. Atoms are neutral unless they have a charge in the table, and aromatic carbons have
three connections; names are also used where a program leaves that open. After ``@`` come the locants of a
ring whose atoms are not numbered in the order of its SMARTS.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from gdlnn.gdl.atoms import AROMATIC, SINGLE, Atom, Bond, Pattern, inside
from gdlnn.graphs.molecules import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

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
phosphonate group: [PH0](=O)(O)(O){#6}
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
sulfone group: [SH0D4](=O)(=O)({#6}){#6}
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
amide group: C(=O)([NX3]){#6}
formamide group: [CH](=O)[NX3]
ester group: C(=O)([OD2H0]{C}){#6}
ester group: C(=O)([OD2H0]{c}){#6}
thioester group: C(=O)([SX2]){#6}
thioamide group: C(=[SX1])([NX3]){#6}
amidine group: C(=[NX2])([NX3]){#6}
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
aldehyde group: [CH](=O){#6}
acetyl group: C(=O)([CH3D1]){#6}
ketone group: C(=O)({#6}){#6}
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
quaternary ammonium nitrogen: [ND4+]({#6})({#6})({#6}){#6}
tertiary ammonium group: [NHD3+]({#6})({#6}){#6}
secondary ammonium group: [NH2D2+]({#6}){#6}
primary ammonium group: [NH3D1+]{#6}
primary aromatic amine: [NH2D1]{c}
primary amine: [NH2D1]{CX4}
secondary amine: [NHD2]({CX4}){CX4}
tertiary amine: [ND3H0]({CX4})({CX4}){CX4}
phenolic hydroxyl: [OH]{c}
hydroxyl group: [OH]{CX4}
ether oxygen: [OD2H0]({CX4}){CX4}
sulfide sulfur: [SH0X2]({#6}){#6}
thiol group: [SHX2]
methyl group: [CH3D1]
halogen: [F,Cl,Br,I]
"""

_PIECE = re.compile(r"\[[^\]]*\]|\{[^}]*\}|[A-Z][a-z]?|[a-z]|[-=#:]|[()]|\d")
_WORD = re.compile(r"#(\d+)|([HDX])(\d?)|(R0?)|([+-]\d?)|([A-Z][a-z]?|[a-z])")
PRIMES = ("", "\u2032", "\u2033", "\u2034")
_AROMATIC_SYMBOLS = {"b", "c", "n", "o", "p", "s"}


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
    room: tuple[int, ...]
    alike: bool
    kinds: Counter[tuple[int, bool]]
    locants: tuple[str, ...]

    def label(self, v: int) -> str:
        """Return the name of an atom of the group: its element, and which one if there are several.

        Atoms of rings have their locants. In other groups carbons are numbered, and of other elements only
        atoms that can have further neighbours are told apart: N, N\u2032 and N\u2033.
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


def _read(line: str) -> Group:
    name, _, rest = line.partition(": ")
    text, _, numbers = rest.partition(" @ ")
    atoms: list[Atom] = []
    outside: list[bool] = []
    ends: dict[tuple[int, int], Bond] = {}
    stack: list[int] = []
    rings: dict[str, tuple[int, str]] = {}
    last, sign = -1, ""

    def join(u: int, v: int, kind: str) -> None:
        both = all(atoms[w].stated.get("aromatic") == (1.0, 1.0) for w in (u, v))
        ends[min(u, v), max(u, v)] = Bond(frozenset({kind or (AROMATIC if both else SINGLE)}))

    for piece in _PIECE.findall(text):
        if piece == "(":
            stack.append(last)
        elif piece == ")":
            last = stack.pop()
        elif piece.isdigit():
            if piece in rings:
                join(*rings.pop(piece)[:1], last, sign)
            else:
                rings[piece] = (last, sign)
            sign = ""
        elif piece in ("-", "=", "#", ":"):
            sign = piece
        else:
            atoms.append(_read_atom(piece.strip("[]{}")))
            outside.append(piece[0] == "{")
            if last >= 0:
                join(last, len(atoms) - 1, sign)
            last, sign = len(atoms) - 1, ""
    order = sorted(range(len(atoms)), key=lambda v: outside[v])
    place = {v: i for i, v in enumerate(order)}
    bonds = {(min(place[u], place[v]), max(place[u], place[v])): bond for (u, v), bond in ends.items()}
    n = outside.count(False)
    is_ring = any(piece.isdigit() for piece in _PIECE.findall(text))
    locants = tuple(numbers.split() or (str(v + 1) for v in range(n) if is_ring))
    charged = Pattern([atoms[v] for v in order], bonds)
    neutral = [Atom(a.elements, _usual(a) | a.stated) for a in charged.atoms[:n]]
    pattern = Pattern(neutral + charged.atoms[n:], bonds)
    within = frozenset(range(n))
    room = tuple(v for v in range(n) if pattern.closed(v)["degree"][1] > pattern.site(v, within).n)
    images = {way[room[0]] for way in embeddings(pattern, pattern, n)} if room else set()
    return Group(
        name,
        pattern,
        charged,
        n,
        room,
        set(room) <= images,
        kinds_of(pattern, [pattern.closed(v) for v in range(len(atoms))]),
        locants,
    )


def kinds_of(pattern: Pattern, known: list[Ranges]) -> Counter[tuple[int, bool]]:
    """Count the atoms whose element and aromaticity are certain."""
    pairs = zip(pattern.atoms, known, strict=True)
    return Counter(
        (atom.element, r["aromatic"][0] == 1)
        for atom, r in pairs
        if atom.element and r["aromatic"][0] == r["aromatic"][1]
    )


def _usual(atom: Atom) -> Ranges:
    """Return the usual conditions: no charge, and three connections of an aromatic carbon."""
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


@cache
def groups() -> tuple[Group, ...]:
    """Return the groups of the table, in the order in which they are searched for."""
    return tuple(_read(line) for line in TABLE.strip().splitlines())


def _fits(wanted: Atom, have: Atom, known: Ranges) -> bool:
    """Whether every atom with these conditions fits the group."""
    if wanted.elements is not None and (have.elements is None or not have.elements <= wanted.elements):
        return False
    return all(inside(known[key], value) for key, value in wanted.stated.items())


def embeddings(
    small: Pattern, large: Pattern, n: int, known: list[Ranges] | None = None, taken: set[int] | None = None
) -> Iterator[tuple[int, ...]]:
    """Yield the embeddings of one pattern in another for which all conditions of the small one hold.

    The first n atoms of the small pattern must not be placed on taken ones.
    """
    known = known or [large.closed(v) for v in range(len(large.atoms))]
    order = _search_order(tuple(map(tuple, small.neighbours)))
    chosen: dict[int, int] = {}

    def extend(depth: int) -> Iterator[tuple[int, ...]]:
        if depth == len(order):
            yield tuple(chosen[v] for v in range(len(order)))
            return
        v = order[depth]
        placed = [u for u in small.neighbours[v] if u in chosen]
        candidates = large.neighbours[chosen[placed[0]]] if placed else range(len(large.atoms))
        for w in sorted(candidates):
            if w in chosen.values() or (v < n and taken and w in taken):
                continue
            if not _fits(small.atoms[v], large.atoms[w], known[w]):
                continue
            if all(
                chosen[u] in large.neighbours[w]
                and large.neighbours[w][chosen[u]].types <= small.neighbours[v][u].types
                for u in placed
            ):
                chosen[v] = w
                yield from extend(depth + 1)
                del chosen[v]

    yield from extend(0)


@cache
def _search_order(near: tuple[tuple[int, ...], ...]) -> list[int]:
    order = [0]
    for v in order:
        order += [u for u in near[v] if u not in order]
    return order
