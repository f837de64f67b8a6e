"""Named groups of molecules: a table of SMARTS, and where a pattern is certain to have one of them.

An atom with the map number 1 must be there but is no part of the group. RDKit reads the table and finds the
groups. Without RDKit there are none, and atoms are described one by one.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from gdlnn.errors import MissingExtraError
from gdlnn.gdl.atoms import AROMATIC, DOUBLE, SINGLE, TRIPLE
from gdlnn.graphs.chem import chem

if TYPE_CHECKING:
    from gdlnn.gdl.atoms import Pattern, Range

TABLE = """
pyrene ring: c1cc2ccc3cccc4ccc(c1)c2c34
anthracene ring: c1ccc2cc3ccccc3cc2c1
phenanthrene ring: c1ccc2c(c1)ccc1ccccc12
carbazole ring: c1ccc2c(c1)[nX3]c1ccccc12
acridine ring: c1ccc2[nX2]c3ccccc3cc2c1
benzothiazole ring: [sX2]1c[nX2]c2ccccc21
benzoxazole ring: o1c[nX2]c2ccccc21
benzisoxazole ring: o1[nX2]cc2ccccc21
indazole ring: [nX3]1[nX2]cc2ccccc21
indazole ring: [nX2]1[nX3]cc2ccccc21
benzotriazole ring: [nX3]1[nX2][nX2]c2ccccc21
quinazoline ring: [nX2]1c[nX2]cc2ccccc21
quinoxaline ring: [nX2]1cc[nX2]c2ccccc21
quinolone ring: [nX3]1ccc(=O)c2ccccc21
coumarin ring: o1c(=O)ccc2ccccc21
chromone ring: o1ccc(=O)c2ccccc21
xanthine ring: n1c(=O)nc2[nX3]c[nX2]c2c1=O
xanthine ring: n1c(=O)nc2[nX2]c[nX3]c2c1=O
uracil ring: n1c(=O)nccc1=O
pyridone ring: [nX3]1c(=O)cccc1
pyridone ring: [nX3]1ccc(=O)cc1
indole ring: [nX3]1ccc2ccccc21
benzimidazole ring: [nX3]1c[nX2]c2ccccc21
benzofuran ring: o1ccc2ccccc21
benzothiophene ring: [sX2]1ccc2ccccc21
quinoline ring: [nX2]1cccc2ccccc21
isoquinoline ring: c1[nX2]ccc2ccccc21
purine ring: [nX2]1c[nX2]c2[nX3]c[nX2]c2c1
purine ring: [nX2]1c[nX2]c2[nX2]c[nX3]c2c1
naphthalene ring: c1cccc2ccccc21
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
1,2,4-triazole ring: [nX3]1c[nX2][nX2]c1
1,2,3-triazole ring: [nX3]1[nX2][nX2]cc1
tetrazole ring: [nX3]1[nX2][nX2][nX2]c1
tetrazole ring: [nX3]1[nX2][nX2]c[nX2]1
piperidine ring: [NX3,NX4+]1[CX4][CX4][CX4][CX4][CX4]1
piperazine ring: [NX3,NX4+]1[CX4][CX4][NX3,NX4+][CX4][CX4]1
morpholine ring: O1[CX4][CX4][NX3,NX4+][CX4][CX4]1
thiomorpholine ring: [SX2]1[CX4][CX4][NX3,NX4+][CX4][CX4]1
pyrrolidine ring: [NX3,NX4+]1[CX4][CX4][CX4][CX4]1
azetidine ring: [NX3,NX4+]1[CX4][CX4][CX4]1
aziridine ring: [NX3]1[CX4][CX4]1
tetrahydropyran ring: O1[CX4][CX4][CX4][CX4][CX4]1
tetrahydrofuran ring: O1[CX4][CX4][CX4][CX4]1
1,3-dioxolane ring: O1[CX4]O[CX4][CX4]1
oxetane ring: O1[CX4][CX4][CX4]1
epoxide: O1[CX4][CX4]1
beta-lactam ring: N1[CX4][CX4]C1=O
cyclohexane ring: [CX4]1[CX4][CX4][CX4][CX4][CX4]1
cyclopentane ring: [CX4]1[CX4][CX4][CX4][CX4]1
cyclobutane ring: [CX4]1[CX4][CX4][CX4]1
cyclopropane ring: [CX4]1[CX4][CX4]1
cyclohexene ring: [CX3]1=[CX3][CX4][CX4][CX4][CX4]1
cyclopentene ring: [CX3]1=[CX3][CX4][CX4][CX4]1
cycloheptane ring: [CX4]1[CX4][CX4][CX4][CX4][CX4][CX4]1
azepane ring: [NX3,NX4+]1[CX4][CX4][CX4][CX4][CX4][CX4]1
tetrahydrothiophene ring: [SX2]1[CX4][CX4][CX4][CX4]1
1,4-dioxane ring: O1[CX4][CX4]O[CX4][CX4]1
imidazoline ring: [CX3]1=[NX2][CX4][CX4][NX3]1
steroid skeleton: C1~C~C~C2~C(~C1)~C~C~C1~C~2~C~C~C2~C~C~C~C~1~2
steroid skeleton: c1ccc2c(c1)CCC1C2CCC2CCCC12
adamantane: C1C2CC3CC1CC(C2)C3
fluorene ring: c1ccc2c(c1)Cc1ccccc12
phenothiazine ring: c1ccc2c(c1)[#7]c1ccccc1[#16]2
dibenzazepine ring: c1ccc2c(c1)[#6]~[#6]c1ccccc1[NX3]2
benzodiazepine ring: c1ccc2c(c1)~[#6]~[#7]~[#6]~[#6]~[#7]2
indoline ring: [NX3]1[CX4][CX4]c2ccccc21
isoindoline ring: [CX4]1[NX3,NX4+][CX4]c2ccccc21
tetrahydroquinoline ring: [NX3]1[CX4][CX4][CX4]c2ccccc21
tetrahydroisoquinoline ring: [CX4]1[NX3,NX4+][CX4][CX4]c2ccccc21
chromane ring: O1[CX4][CX4][CX4]c2ccccc21
indane ring: [CX4]1[CX4][CX4]c2ccccc21
tetralin ring: [CX4]1[CX4][CX4][CX4]c2ccccc21
benzodioxole ring: O1[CX4]Oc2ccccc21
phthalimide: C1(=O)[NX3]C(=O)c2ccccc21
tropane ring: [NX3,NX4+]1[CX4]2[CX4][CX4][CX4]1[CX4][CX4][CX4]2
quinuclidine ring: [NX3,NX4+]12[CX4][CX4][CX4]([CX4][CX4]1)[CX4][CX4]2
penicillin core: [NX3]12[CX4][CX4]S[CX4]1[CX4]C2=O
cephalosporin core: [NX3]12[CX3]=[CX3]CS[CX4]1[CX4]C2=O
barbiturate ring: [NX3]1C(=[O,SX1])[NX3]C(=O)CC1=O
hydantoin ring: [NX3]1C(=O)[NX3]CC1=O
iminohydantoin ring: [N]1~C(~[N])~[N]CC1=O
oxazolidinone ring: [NX3]1C(=O)OCC1
glutarimide: [NX3]1C(=O)CCCC1=O
succinimide: [NX3]1C(=O)CCC1=O
phosphate group: [PH0](=O)(O)(O)O
thiophosphate group: [PH0](=[SX1])(O)(O)O
phosphonate group: [PH0](=O)(O)(O)[#6:1]
tert-butyl group: C([CH3])([CH3])[CH3]
trifluoromethoxy group: [OX2]C(F)(F)F
trifluoromethyl group: C(F)(F)F
trichloromethyl group: C(Cl)(Cl)Cl
guanidine group: C(=[NX2])([NX3])[NX3]
guanidinium group: C(=[NX3+])([NX3])[NX3]
isothiourea group: C(=[NX2,NX3+])([NX3])[SX2]
isourea group: C(=[NX2,NX3+])([NX3])[OX2]
sulfonamide group: [SH0](=O)(=O)[NX3]
sulfonyl chloride: [SH0](=O)(=O)Cl
sulfonic acid: [SH0](=O)(=O)[OH]
sulfonate group: [SH0](=O)(=O)[O-]
sulfonate ester: [SH0](=O)(=O)[OD2H0]
urea group: C(=O)([NX3])[NX3]
thiourea group: C(=[SX1])([NX3])[NX3]
carbamate group: C(=O)([NX3])[OD2H0]
carbonate group: C(=O)([OD2H0])[OD2H0]
cyclic imide: C(=O)@[NX3]@C=O
imide group: C(=O)[NX3]C=O
anhydride: C(=O)OC=O
hydrazide: C(=O)[NX3][NX3]
hydroxamic acid: C(=O)[NX3][OH]
sulfone group: [SH0D4](=O)(=O)([#6:1])[#6:1]
sulfonyl group: [SH0D4](=O)=O
nitro group: [N+](=O)[O-]
nitro group: N(=O)=O
nitro group: [NX3](=O)[OHX2]
azide group: [NX2]=[N+]=[N-]
diazo group: [CX3]=[N+]=[N-]
isocyanate group: [NX2]=C=O
isothiocyanate group: [NX2]=C=[SX1]
carbodiimide group: [NX2]=C=[NX2]
thiocyanate group: [SX2]C#N
carboxylic acid: C(=O)[OH]
carboxylate group: C(=O)[O-]
acid chloride: C(=O)Cl
lactam: C(=O)(@[NX3])@[#6:1]
amide group: C(=O)([NX3])[#6:1]
formamide group: [CH](=O)[NX3]
lactone: C(=O)(@[OX2])@[#6:1]
ester group: C(=O)([OD2H0][C:1])[#6:1]
ester group: C(=O)([OD2H0][c:1])[#6:1]
thioester group: C(=O)([SX2])[#6:1]
thioamide group: C(=[SX1])([NX3])[#6:1]
amidine group: C(=[NX2])([NX3])[#6:1]
amidinium group: C(=[NX3+])([NX3])[#6:1]
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
acetyl group: C(=O)([CH3X4])[#6:1]
ketone group: C(=O)([#6:1])[#6:1]
nitroso group: [NX2]=O
azo group: [NX2]=[NX2]
diazonium group: [N+]#N
hydrazine group: [NX3][NX3]
hydroxylamine: [NX3][OHX2]
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
quaternary ammonium: [NX4H0+]([#6:1])([#6:1])([#6:1])[#6:1]
tertiary ammonium: [NHX4+]([#6:1])([#6:1])[#6:1]
secondary ammonium: [NH2X4+]([#6:1])[#6:1]
primary ammonium: [NH3X4+][#6:1]
aniline: [NH2X3][c:1]1[c:1][c:1][c:1][c:1][c:1]1
aromatic amine: [NH2X3][c:1]
aromatic amine: [NHX3]([c:1])[c,CX4:1]
aromatic amine: [NX3H0]([c:1])([c,CX4:1])[c,CX4:1]
primary amine: [NH2X3][CX4:1]
secondary amine: [NHX3]([CX4:1])[CX4:1]
tertiary amine: [NX3H0]([CX4:1])([CX4:1])[CX4:1]
phenol: [OHX2][c:1]1[c:1][c:1][c:1][c:1][c:1]1
aromatic hydroxyl group: [OHX2][c:1]
alcohol: [OHX2][CX4:1]
enol: [OHX2][CX3:1]=[C:1]
ether: [OX2H0;!r3]([CX4:1])[CX4:1]
ether: [OX2H0]([c:1])[c,CX4:1]
thioether: [SH0X2]([#6:1])[#6:1]
thiol: [SHX2]
methyl group: [CH3X4]
fluorine: [F;X1]
chlorine: [Cl;X1]
bromine: [Br;X1]
iodine: [I;X1]
"""

_BOND_NAMES = {SINGLE: "SINGLE", DOUBLE: "DOUBLE", TRIPLE: "TRIPLE", AROMATIC: "AROMATIC"}
_UNKNOWN = 9  # hydrogens, charge or further neighbours of an atom; no group of the table has so many
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
    for line in TABLE.strip().splitlines():
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

    It has dummy atoms for neighbours outside the pattern. What is uncertain has a value that no query has.
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
