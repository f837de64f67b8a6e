"""Molecules as graphs and back: features of atoms and bonds, their names, and scaffolds, through RDKit.

Reading tables of SMILES is in `gdlnn.datasets`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import permutations, product
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from gdlnn.errors import DatasetError, GraphError, require
from gdlnn.graphs.arrays import GraphArrays, components
from gdlnn.graphs.graph import FloatArray, Graph, IntArray
from gdlnn.graphs.schema import Feature, Schema, numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from types import ModuleType

    from gdlnn.graphs.dataset import GraphDataset

ELEMENTS = tuple(
    (  # noqa: SIM905 - a list of 118 strings reads worse
        "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr "
        "Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb "
        "Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr "
        "Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
    ).split()
)
MoleculeFeatures = Literal["default", "ogb"]
Fragments = Literal["all", "largest"]
Standardize = Literal["none", "parent"]
CHARGE_OFFSET = 5
"""Added to the formal charge by the Open Graph Benchmark; the names of the values are the true charges."""
CHIRALITIES = ("none", "clockwise", "counterclockwise", "other")
HYBRIDIZATIONS = ("unspecified", "s", "sp", "sp2", "sp3", "sp3d", "sp3d2", "other", "sp2d")
STEREOS = ("none", "Z", "E", "cis", "trans", "any")
BONDS = ("other", "single", "double", "triple", "aromatic")
HIDDEN = ("chirality", "radicals", "hybridisation", "stereo", "conjugated")
"""Features of the Open Graph Benchmark that models leave out by default.

Chirality and stereo change with the order in which a molecule is written; the others follow from what is
left, and programs without them can be written as SMARTS.
"""
TELLING, MIN_OF_CLASS = 0.9, 10
"""Balanced accuracy, and graphs of each class, from which charges are said to predict the label."""
MAX_SMILES = 10_000
"""Maximum length of a SMILES: RDKit takes more than quadratic time to find rings, sanitizing or not."""
MAX_ATOMS = 5_000
"""Maximum number of atoms of an SDF record: RDKit takes quadratic time to write its SMILES."""
MAX_RINGS = 200
"""Maximum number of independent rings of a molecule."""
_BRACKETS = re.compile(r"\[[^\]]*\]")
_RING_LABEL = re.compile(r"%\([0-9]+\)|%[0-9][0-9]|[0-9]")
_CONTINUED = re.compile(r"-\r?\nM  V30 ")
_COUNTS = re.compile(r"^M  V30 +COUNTS +([0-9]+)", re.MULTILINE | re.IGNORECASE)
_BOND = re.compile(r"^M  V30 +[0-9]+ +[0-9]+ +([0-9]+) +([0-9]+)", re.MULTILINE)
_YES_NO = ("no", "yes")
_OGB = "atom chirality degree charge hydrogens radicals hybridisation aromatic ring"
_COLUMNS: dict[MoleculeFeatures, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "default": (("atom", "charge", "hydrogens", "degree", "aromatic", "ring"), ("bond",)),
    "ogb": (tuple(_OGB.split()), ("bond", "stereo", "conjugated")),
}
"""The features of nodes and of edges, in order."""


# --- RDKit, and what it is not asked to read --------------------------------------------------------------


def chem(purpose: str) -> ModuleType:
    """Return RDKit's Chem module, or raise an error that says how to install it."""
    return require("rdkit.Chem", "chem", purpose)


def without_messages(purpose: str) -> AbstractContextManager[Any]:
    """Return a context in which RDKit writes no messages: GDLNN reports what it finds itself."""
    return require("rdkit.rdBase", "chem", purpose).BlockLogs()  # type: ignore[no-any-return]


def smiles_problem(text: str) -> str:
    """Return why a SMILES is too large, or ""."""
    if len(text) > MAX_SMILES:
        return f"expected a SMILES of at most {MAX_SMILES:,} characters, got {len(text):,}"
    if len(text) <= 2 * MAX_RINGS:
        return ""
    bonds = _BRACKETS.sub("", text.split()[0]) if text.strip() else ""
    return _too_many_rings(len(_RING_LABEL.findall(bonds)) // 2)


def record_problem(text: str) -> str:
    """Return why a record of an SDF file is too large, or "". Damaged ones are left to RDKit."""
    lines = text.split("\n", 4)
    if len(lines) < 5:
        return ""
    try:
        n_atoms, bonds = _v3000(lines[4]) if lines[3][34:39] == "V3000" else _v2000(*lines[3:])
    except ValueError:
        return ""
    if n_atoms > MAX_ATOMS:
        return f"expected at most {MAX_ATOMS:,} atoms, got {n_atoms:,}"
    return _too_many_rings(_n_rings(bonds)) if len(bonds) > MAX_RINGS else ""


def _v2000(counts: str, block: str) -> tuple[int, list[tuple[str, str]]]:
    n_atoms, n_bonds = int(counts[:3]), int(counts[3:6])
    return n_atoms, [(line[:3], line[3:6]) for line in block.split("\n")[n_atoms : n_atoms + n_bonds]]


def _v3000(block: str) -> tuple[int, list[tuple[str, str]]]:
    joined = _CONTINUED.sub("", block)
    counts = _COUNTS.search(joined)
    return int(counts[1][:12]) if counts else 0, _BOND.findall(joined)


def _too_many_rings(n_rings: int) -> str:
    return f"expected at most {MAX_RINGS} rings, got {n_rings:,}" if n_rings > MAX_RINGS else ""


def _n_rings(bonds: list[tuple[str, str]]) -> int:
    """Return how many independent rings bonds close."""
    try:
        atoms, ends = np.unique([[int(end) for end in pair] for pair in bonds], return_inverse=True)
    except ValueError:
        return 0
    return len(bonds) - len(atoms) + len(np.unique(components(len(atoms), ends.reshape(-1, 2))))


# --- schemas ----------------------------------------------------------------------------------------------


def molecule_schema(
    classes: Mapping[Any, str] | None = None, features: MoleculeFeatures = "default"
) -> Schema:
    """Return the schema of the graphs that `molecule_graph` gives."""
    offset = CHARGE_OFFSET if features == "ogb" else 0
    charges = {float(q + offset): f"{q:+d}" if q else "0" for q in range(-CHARGE_OFFSET, 10)}
    known = {
        "atom": Feature("atom", "nominal", numbered(ELEMENTS, 1)),
        "chirality": Feature("chirality", "nominal", numbered(CHIRALITIES)),
        "charge": Feature("charge", "ordinal", charges),
        "hybridisation": Feature("hybridisation", "nominal", numbered(HYBRIDIZATIONS)),
        "aromatic": Feature("aromatic", "nominal", numbered(_YES_NO)),
        "ring": Feature("ring", "nominal", numbered(_YES_NO)),
        "bond": Feature("bond", "nominal", numbered(BONDS)),
        "stereo": Feature("stereo", "nominal", numbered(STEREOS)),
        "conjugated": Feature("conjugated", "nominal", numbered(_YES_NO)),
    }
    nodes, edges = _COLUMNS[features]
    return Schema(
        node=tuple(known.get(name, Feature(name, "ordinal")) for name in nodes),
        edge=tuple(known[name] for name in edges),
        classes=classes or {},
        domain="molecule",
    )


MOLECULE_SCHEMA = molecule_schema()
OGB_SCHEMA = molecule_schema(features="ogb")


def hidden_by_default(schema: Schema | None) -> tuple[str, ...]:
    """Return the features of a schema that models leave out by default, see `HIDDEN`."""
    if schema is None or schema.domain != "molecule":
        return ()
    return tuple(f.name for f in (*schema.node, *schema.edge) if f.name in HIDDEN)


@dataclass(frozen=True)
class MoleculeReader:
    """How molecules are converted to graphs; stored with datasets and models, so that all read alike.

    Parameters
    ----------
    features
        "default": element, charge, hydrogens, degree (heavy neighbors), aromatic and ring of every atom, and
        the type of every bond. None of them depends on how the molecule is written. "ogb": the nine and three
        features of the Open Graph Benchmark, as published with BBBP and BACE.
    fragments
        Salts and mixtures: "all" fragments become one graph, or only the "largest".
    standardize
        "parent": RDKit's charge parent, that is the largest fragment, normalized and without charges where
        possible. "none": unchanged.
    """

    features: MoleculeFeatures = "default"
    fragments: Fragments = "all"
    standardize: Standardize = "none"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("features", get_args(MoleculeFeatures)),
            ("fragments", get_args(Fragments)),
            ("standardize", get_args(Standardize)),
        ):
            if getattr(self, name) not in allowed:
                raise DatasetError(f"{name}: expected {' or '.join(allowed)}, got {getattr(self, name)!r}")

    @classmethod
    def of_schema(cls, schema: Schema | None) -> MoleculeReader | None:
        """Return a reader whose graphs have this schema, or None."""
        for features in get_args(MoleculeFeatures):
            known = molecule_schema(features=features)
            if schema is not None and (schema.node, schema.edge) == (known.node, known.edge):
                return cls(features)
        return None

    def schema(self) -> Schema:
        """Return the schema of the graphs."""
        return molecule_schema(features=self.features)

    def graph(self, molecule: Any, *, schema: Schema | None = None, name: str | None = None) -> Graph:
        """Build the graph of an RDKit molecule."""
        if self.standardize == "parent":
            molecule = _parent(molecule)
        if self.fragments == "largest":
            molecule = _largest(molecule)
        return molecule_graph(molecule, self.features, schema=schema, name=name)

    def to_json(self) -> dict[str, str]:
        """Return the choices as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MoleculeReader:
        """Build a reader from what `to_json` gave."""
        return cls(data["features"], data["fragments"], data["standardize"])


def _largest(molecule: Any) -> Any:
    rd = chem("Reading molecules")
    pieces = rd.GetMolFrags(molecule, asMols=True)
    most = max(piece.GetNumHeavyAtoms() for piece in pieces)
    largest = [piece for piece in pieces if piece.GetNumHeavyAtoms() == most]
    # Not the first fragment of equal size, which depends on how the molecule is written.
    return largest[0] if len(largest) == 1 else max(largest, key=rd.MolToSmiles)


def _parent(molecule: Any) -> Any:
    standardize = require("rdkit.Chem.MolStandardize.rdMolStandardize", "chem", "Standardizing molecules")
    with without_messages("Standardizing molecules"):
        try:
            return standardize.ChargeParent(molecule)
        except (RuntimeError, ValueError) as error:
            raise GraphError(
                f"standardize: RDKit cannot find the parent of this molecule: {error}"
            ) from error


@lru_cache(maxsize=1)
def _codes() -> tuple[dict[Any, int], dict[Any, int], dict[Any, int], dict[Any, int]]:
    """Return the codes of RDKit's chiral tags, hybridizations, bond types and bond stereo."""
    rd = chem("Reading molecules")
    tag, hyb, bond, stereo = rd.ChiralType, rd.HybridizationType, rd.BondType, rd.BondStereo
    return (
        {tag.CHI_UNSPECIFIED: 0, tag.CHI_TETRAHEDRAL_CW: 1, tag.CHI_TETRAHEDRAL_CCW: 2},
        {
            value: HYBRIDIZATIONS.index(name.lower())
            for name, value in hyb.names.items()
            if name.lower() in HYBRIDIZATIONS
        },
        {bond.SINGLE: 1, bond.DOUBLE: 2, bond.TRIPLE: 3, bond.AROMATIC: 4},
        {stereo.names[f"STEREO{name.upper()}"]: code for code, name in enumerate(STEREOS)},
    )


def molecule_graph(
    molecule: Any,
    features: MoleculeFeatures = "default",
    *,
    schema: Schema | None = None,
    name: str | None = None,
) -> Graph:
    """Build the graph of an RDKit molecule: a node per atom, an edge per bond in the order of its ends.

    The default features make hydrogens implicit, as in SMILES, wherever they are bonded to another atom.
    """
    default = OGB_SCHEMA if features == "ogb" else MOLECULE_SCHEMA
    nodes, (ends, values) = _ogb_rows(molecule) if features == "ogb" else _default_rows(molecule)
    return Graph._trusted(
        np.array(nodes, dtype=np.float64).reshape(-1, len(default.node)),
        ends,
        values,
        False,
        default if schema is None else schema,
        name,
    )


def _atoms(molecule: Any) -> list[Any]:
    """Return the atoms by index: RDKit's own iterator takes twice as long."""
    return list(map(molecule.GetAtomWithIdx, range(molecule.GetNumAtoms())))


def _bonds(molecule: Any) -> Iterator[Any]:
    return map(molecule.GetBondWithIdx, range(molecule.GetNumBonds()))


_Bonds = tuple[IntArray, FloatArray]
"""The ends of bonds, in order, and their features."""
_Rows = tuple[Sequence[tuple[int, ...]], _Bonds]
"""The features of atoms, and the bonds. RDKit calls dominate the reading time."""


def _ordered(bonds: Iterable[tuple[int, ...]], width: int) -> _Bonds:
    """Return the bonds in the order of their ends, the smaller one first."""
    rows = sorted((v, u, *values) if u > v else (u, v, *values) for u, v, *values in bonds)
    table = np.array(rows, dtype=np.int64).reshape(-1, 2 + width)
    return np.ascontiguousarray(table[:, :2]), table[:, 2:].astype(np.float64)


def _default_rows(molecule: Any) -> _Rows:
    atoms = _atoms(molecule)
    elements = [atom.GetAtomicNum() for atom in atoms]
    pairs = zip(atoms, elements, strict=True)
    if any(element in (15, 16) and atom.GetFormalCharge() > 0 for atom, element in pairs):
        molecule = _with_double_bonds_to_oxygen(molecule)
        atoms = _atoms(molecule)
    if 1 in elements:
        molecule = _without_hydrogens(molecule)
        atoms = _atoms(molecule)
        elements = [atom.GetAtomicNum() for atom in atoms]
    if 1 in elements:  # one that is bonded to no other atom stays
        hydrogens = [atom.GetTotalNumHs(includeNeighbors=True) for atom in atoms]
    else:
        hydrogens = [atom.GetTotalNumHs() for atom in atoms]
    codes = _codes()[2]
    ends = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx(), codes.get(b.GetBondType(), 0)) for b in _bonds(molecule)]
    bonds = _ordered(ends, 1)
    degrees = np.bincount(bonds[0].ravel(), minlength=len(atoms)).tolist()
    rows = [
        (element, atom.GetFormalCharge(), count, degree, atom.GetIsAromatic(), atom.IsInRing())
        for atom, element, count, degree in zip(atoms, elements, hydrogens, degrees, strict=True)
    ]
    return rows, bonds


def _ogb_rows(molecule: Any) -> _Rows:
    tags, hybridizations, types, stereos = _codes()
    atoms = [
        (
            atom.GetAtomicNum(),
            tags.get(atom.GetChiralTag(), 3),
            atom.GetTotalDegree(),
            atom.GetFormalCharge() + CHARGE_OFFSET,
            atom.GetTotalNumHs(),
            atom.GetNumRadicalElectrons(),
            hybridizations.get(atom.GetHybridization(), 7),
            atom.GetIsAromatic(),
            atom.IsInRing(),
        )
        for atom in _atoms(molecule)
    ]
    bonds = [
        (
            bond.GetBeginAtomIdx(),
            bond.GetEndAtomIdx(),
            types.get(bond.GetBondType(), 0),
            stereos.get(bond.GetStereo(), 5),
            bond.GetIsConjugated(),
        )
        for bond in _bonds(molecule)
    ]
    return atoms, _ordered(bonds, 3)


def _with_double_bonds_to_oxygen(molecule: Any) -> Any:
    """Return the molecule with S=O and P=O where they are written with charges, as in [S+][O-]."""
    found = [
        bond.GetIdx()
        for bond in _bonds(molecule)
        for oxygen, other in permutations((bond.GetBeginAtom(), bond.GetEndAtom()))
        if other.GetAtomicNum() in (15, 16) and other.GetFormalCharge() > 0 and not other.GetIsAromatic()
        if oxygen.GetAtomicNum() == 8 and oxygen.GetFormalCharge() == -1
    ]
    if not found:
        return molecule
    rd = chem("Reading molecules")
    changed = rd.Mol(molecule)
    for bond in map(changed.GetBondWithIdx, found):
        ends = bond.GetBeginAtom(), bond.GetEndAtom()
        charges = [end.GetFormalCharge() for end in ends]
        if 0 in charges:  # more such oxygens than charges
            continue
        bond.SetBondType(rd.BondType.DOUBLE)
        for end, charge in zip(ends, charges, strict=True):
            end.SetFormalCharge(charge - 1 if charge > 0 else 0)
    changed.UpdatePropertyCache(strict=False)
    return changed


def _without_hydrogens(molecule: Any) -> Any:
    rd = chem("Reading molecules")
    options = rd.RemoveHsParameters()
    options.removeDefiningBondStereo = True  # stereo is not a feature, and hydrogens may be written or not
    options.removeWithWedgedBond = True
    options.removeIsotopes = True  # isotopes are not a feature either: deuterium is a hydrogen
    options.showWarnings = False
    try:
        return rd.RemoveHs(molecule, options)
    except (RuntimeError, ValueError) as error:
        raise GraphError(f"RDKit cannot sanitise this molecule: {error}") from error


_MOST_KNOWN_ATOMS = 4096
PLACEHOLDER = "0"  # what the atom * of a SMILES is called: its number, since it has no symbol
_OF_ATOMS = ("atom", "charge", "hydrogens", "radicals", "aromatic")


def _atom(rd: Any, schema: Schema, values: Mapping[str, float]) -> Any:
    """Return an atom of RDKit with the values of features that it knows."""
    named = {feature.name: feature for feature in schema.node}
    symbol = named["atom"].value_name(values["atom"])
    if symbol not in (*ELEMENTS, PLACEHOLDER):
        raise GraphError(f"atom: expected the symbol of an element, got {symbol!r}")
    atom = rd.Atom(0 if symbol == PLACEHOLDER else symbol)
    if "charge" in values:
        atom.SetFormalCharge(int(named["charge"].value_name(values["charge"])))
    if "hydrogens" in values:
        atom.SetNumExplicitHs(int(values["hydrogens"]))
        atom.SetNoImplicit(True)
    if "radicals" in values:
        atom.SetNumRadicalElectrons(int(values["radicals"]))
    if "aromatic" in values:
        atom.SetIsAromatic(bool(values["aromatic"]))
    return atom


@lru_cache(maxsize=8)
def _known_atoms(schema: Schema) -> dict[tuple[float, ...], Any]:  # noqa: ARG001 - the key of the cache
    """Return the atoms of a schema that were made before, by the values of their features."""
    return {}


def graph_molecule(graph: Graph, schema: Schema | None = None) -> Any:
    """Build the RDKit molecule of a graph whose schema names the atoms (and, where it does, the bonds).

    Charges, radicals and hydrogens are set where the schema has them. Nothing is sanitised, so that a piece
    of a molecule can be drawn too.
    """
    rd = chem("Converting a graph to a molecule")
    schema = schema or graph.schema
    columns = {f.name: i for i, f in enumerate(schema.node) if f.name in _OF_ATOMS} if schema else {}
    if schema is None or schema.domain != "molecule" or "atom" not in columns:
        raise GraphError("expected the graph of a molecule, whose schema names the atoms")
    bond_at = next((i for i, f in enumerate(schema.edge) if f.name == "bond"), None)
    molecule = rd.RWMol()
    atoms = _known_atoms(schema)  # RDKit copies an atom that is added
    if len(atoms) > _MOST_KNOWN_ATOMS:
        atoms.clear()
    for row in graph.node_features.tolist():
        values = tuple(row[i] for i in columns.values())
        if values not in atoms:
            atoms[values] = _atom(rd, schema, dict(zip(columns, values, strict=True)))
        molecule.AddAtom(atoms[values])
    orders: dict[float, Any] = {}
    for (u, v), row in zip(graph.edges.tolist(), graph.edge_features.tolist(), strict=True):
        kind = 0.0 if bond_at is None else row[bond_at]
        if kind not in orders:
            name = "single" if bond_at is None else schema.edge[bond_at].value_name(kind)
            orders[kind] = rd.BondType.names.get(name.upper(), rd.BondType.UNSPECIFIED)
        molecule.AddBond(u, v, orders[kind])  # the ends of an aromatic bond become aromatic
    result = molecule.GetMol()
    result.UpdatePropertyCache(strict=False)
    return result


def scaffolds(smiles: Sequence[str]) -> list[str]:
    """Return the Bemis–Murcko scaffold of each SMILES; a molecule without rings has the empty scaffold."""
    rd = chem("A scaffold split")
    murcko = require("rdkit.Chem.Scaffolds.MurckoScaffold", "chem", "A scaffold split")
    found = []
    with without_messages("A scaffold split"):
        for row, text in enumerate(smiles):
            if problem := smiles_problem(text):
                raise DatasetError(f"smiles, row {row}: {problem}")
            molecule = rd.MolFromSmiles(text)
            if molecule is None:
                raise DatasetError(f"smiles, row {row}: expected a SMILES, got {text!r}")
            found.append(str(murcko.MurckoScaffoldSmiles(mol=molecule)))
    return found


def charges_predict_label(dataset: GraphDataset) -> str | None:
    """Return a warning if charges or counter-ions alone nearly tell a class from the others, else None.

    Some tables write the molecules of one class as ions or salts: a model then learns how they are written.
    Charges next to their opposite, as in nitro groups, do not count.
    """
    columns = [] if dataset.schema is None else [feature.name for feature in dataset.schema.node]
    if dataset.y is None or dataset.schema is None or "charge" not in columns:
        return None
    arrays, at = GraphArrays.of(dataset.graphs), columns.index("charge")
    neutral = next((code for code, name in dataset.schema.node[at].values.items() if name == "0"), 0.0)
    charges, ends = arrays.node_features[:, at] - neutral, arrays.global_edges()
    paired = ends[charges[ends].prod(axis=1) < 0]
    charges[paired.reshape(-1)] = 0
    graph = np.repeat(np.arange(len(dataset)), np.diff(arrays.node_offsets))
    pieces = np.unique(np.column_stack((graph, components(len(arrays.node_features), ends))), axis=0)[:, 0]
    signs = {
        "charged atoms": np.isin(np.arange(len(dataset)), graph[charges != 0]),
        "several fragments": np.bincount(pieces, minlength=len(dataset)) > 1,
    }
    for label, (what, sign) in product(np.unique(dataset.y), signs.items()):
        own, others = sign[dataset.y == label], sign[dataset.y != label]
        if min(len(own), len(others)) >= MIN_OF_CLASS and own.mean() + 1 - others.mean() >= 2 * TELLING:
            return (
                f"{own.mean():.0%} of class {dataset.schema.class_name(label)} have {what}, but only "
                f"{others.mean():.0%} of the others: a model would learn how the molecules are written; "
                "--standardize parent removes counter-ions and charges"
            )
    return None
