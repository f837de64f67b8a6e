"""Molecules as graphs and back: 9 atom and 3 bond features, their names, and scaffolds, through RDKit.

Reading tables of SMILES is in `gdlnn.datasets`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import DatasetError, GraphError, require
from gdlnn.graphs.graph import Graph
from gdlnn.graphs.schema import Feature, Schema, numbered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

ELEMENTS = tuple(
    (  # noqa: SIM905 - a list of 118 strings reads worse
        "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr "
        "Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb "
        "Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr "
        "Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
    ).split()
)
CHARGE_OFFSET = 5
"""Added to the formal charge, so that what is stored is not negative; the names are the true charges."""
CHIRALITIES = ("none", "clockwise", "counterclockwise", "other")
HYBRIDISATIONS = ("unspecified", "s", "sp", "sp2", "sp3", "sp3d", "sp3d2", "other", "sp2d")
STEREOS = ("none", "Z", "E", "cis", "trans", "any")
BONDS = ("other", "single", "double", "triple", "aromatic")
_YES_NO = ("no", "yes")


def molecule_schema(classes: Mapping[Any, str] | None = None) -> Schema:
    """Return the schema of the 9 atom and 3 bond features that `molecule_graph` gives."""
    charges = {float(q + CHARGE_OFFSET): f"{q:+d}" if q else "0" for q in range(-CHARGE_OFFSET, 10)}
    return Schema(
        node=(
            Feature("atom", "nominal", numbered(ELEMENTS, 1)),
            Feature("chirality", "nominal", numbered(CHIRALITIES)),
            Feature("degree", "ordinal"),
            Feature("charge", "ordinal", charges),
            Feature("hydrogens", "ordinal"),
            Feature("radicals", "ordinal"),
            Feature("hybridisation", "nominal", numbered(HYBRIDISATIONS)),
            Feature("aromatic", "nominal", numbered(_YES_NO)),
            Feature("ring", "nominal", numbered(_YES_NO)),
        ),
        edge=(
            Feature("bond", "nominal", numbered(BONDS)),
            Feature("stereo", "nominal", numbered(STEREOS)),
            Feature("conjugated", "nominal", numbered(_YES_NO)),
        ),
        classes=classes or {},
        domain="molecule",
    )


MOLECULE_SCHEMA = molecule_schema()


def chem(purpose: str) -> ModuleType:
    """Return RDKit's Chem module, or say how to install it."""
    return require("rdkit.Chem", "chem", purpose)


@lru_cache(maxsize=1)
def _codes() -> tuple[dict[Any, int], dict[Any, int], dict[Any, int], dict[Any, int]]:
    """Return the codes of RDKit's chiral tags, hybridisations, bond types and bond stereo."""
    rd = chem("Reading molecules")
    tag, hyb, bond, stereo = rd.ChiralType, rd.HybridizationType, rd.BondType, rd.BondStereo
    return (
        {tag.CHI_UNSPECIFIED: 0, tag.CHI_TETRAHEDRAL_CW: 1, tag.CHI_TETRAHEDRAL_CCW: 2},
        {
            value: HYBRIDISATIONS.index(name.lower())
            for name, value in hyb.names.items()
            if name.lower() in HYBRIDISATIONS
        },
        {bond.SINGLE: 1, bond.DOUBLE: 2, bond.TRIPLE: 3, bond.AROMATIC: 4},
        {
            stereo.STEREONONE: 0,
            stereo.STEREOZ: 1,
            stereo.STEREOE: 2,
            stereo.STEREOCIS: 3,
            stereo.STEREOTRANS: 4,
            stereo.STEREOANY: 5,
        },
    )


def molecule_graph(molecule: Any, *, schema: Schema | None = None, name: str | None = None) -> Graph:
    """Build the graph of an RDKit molecule: a node per atom, an edge per bond in the order of its ends."""
    tags, hybridisations, bonds, stereos = _codes()
    atoms = [
        (
            atom.GetAtomicNum(),
            tags.get(atom.GetChiralTag(), 3),
            atom.GetTotalDegree(),
            atom.GetFormalCharge() + CHARGE_OFFSET,
            atom.GetTotalNumHs(),
            atom.GetNumRadicalElectrons(),
            hybridisations.get(atom.GetHybridization(), 7),
            atom.GetIsAromatic(),
            atom.IsInRing(),
        )
        for atom in molecule.GetAtoms()
    ]
    rows = []
    for bond in molecule.GetBonds():
        u, v = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        kind = bonds.get(bond.GetBondType(), 0)
        stereo = stereos.get(bond.GetStereo(), 5)
        rows.append(
            (u, v, kind, stereo, bond.GetIsConjugated())
            if u < v
            else (v, u, kind, stereo, bond.GetIsConjugated())
        )
    rows.sort()
    table = np.array(rows, dtype=np.int64).reshape(-1, 5)
    nodes = np.array(atoms, dtype=np.float64).reshape(-1, 9)
    return Graph._trusted(
        nodes,
        np.ascontiguousarray(table[:, :2]),
        table[:, 2:].astype(np.float64),
        False,
        MOLECULE_SCHEMA if schema is None else schema,
        name,
    )


def graph_molecule(graph: Graph, schema: Schema | None = None) -> Any:
    """Build the RDKit molecule of a graph whose schema names the atoms (and, where it does, the bonds).

    Charges, radicals and hydrogens are set where the schema has them. Nothing is sanitised, so that a piece
    of a molecule can be drawn too.
    """
    rd = chem("Turning a graph into a molecule")
    schema = schema or graph.schema
    columns = {f.name: i for i, f in enumerate(schema.node)} if schema else {}
    if schema is None or schema.domain != "molecule" or "atom" not in columns:
        raise GraphError("expected a graph of a molecule, whose schema names the atoms, got another")
    bond_at = next((i for i, f in enumerate(schema.edge) if f.name == "bond"), None)
    molecule = rd.RWMol()
    names = schema.node[columns["atom"]]
    for row in graph.node_features:
        symbol = names.value_name(row[columns["atom"]])
        if symbol not in ELEMENTS:
            raise GraphError(f"atom: expected the symbol of an element, got {symbol!r}")
        atom = rd.Atom(symbol)
        if "charge" in columns:
            atom.SetFormalCharge(int(row[columns["charge"]]) - CHARGE_OFFSET)
        if "hydrogens" in columns:
            atom.SetNumExplicitHs(int(row[columns["hydrogens"]]))
            atom.SetNoImplicit(True)
        if "radicals" in columns:
            atom.SetNumRadicalElectrons(int(row[columns["radicals"]]))
        if "aromatic" in columns:
            atom.SetIsAromatic(bool(row[columns["aromatic"]]))
        molecule.AddAtom(atom)
    for (u, v), row in zip(graph.edges.tolist(), graph.edge_features, strict=True):
        kind = "single" if bond_at is None else schema.edge[bond_at].value_name(row[bond_at])
        order = rd.BondType.names.get(kind.upper(), rd.BondType.UNSPECIFIED)
        molecule.AddBond(u, v, order)
        if order == rd.BondType.AROMATIC:
            molecule.GetBondBetweenAtoms(u, v).SetIsAromatic(True)
            for end in (u, v):
                molecule.GetAtomWithIdx(end).SetIsAromatic(True)
    result = molecule.GetMol()
    result.UpdatePropertyCache(strict=False)
    return result


def scaffolds(smiles: Sequence[str]) -> list[str]:
    """Return the Bemis–Murcko scaffold of each SMILES; a molecule without rings has the empty scaffold."""
    rd = chem("A scaffold split")
    murcko = require("rdkit.Chem.Scaffolds.MurckoScaffold", "chem", "A scaffold split")
    found = []
    for row, text in enumerate(smiles):
        molecule = rd.MolFromSmiles(text)
        if molecule is None:
            raise DatasetError(f"smiles, row {row}: expected a SMILES, got {text!r}")
        found.append(str(murcko.MurckoScaffoldSmiles(mol=molecule)))
    return found
