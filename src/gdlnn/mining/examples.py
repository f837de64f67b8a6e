"""Examples to draw programs by: a matched molecule as SMILES, with the atoms that were matched."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import GraphError, MissingExtraError, require
from gdlnn.gdl.chemical import is_chemical
from gdlnn.graphs.molecules import chem, graph_molecule
from gdlnn.mining.program_set import Example

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import Graph
    from gdlnn.mining.program_set import MinedProgram

_TRIED = 20  # of the matched molecules the smallest of so many is taken


def find_example(item: MinedProgram, graphs: Sequence[Graph]) -> Example | None:
    """Return a molecule that a program matches, or None where it is none of molecules or RDKit is missing."""
    rows = np.flatnonzero(item.support)[:_TRIED].tolist()
    if not rows or not is_chemical(graphs[rows[0]].schema):
        return None
    for row in sorted(rows, key=lambda row: (graphs[row].n_nodes, row)):
        witness = item.program.find(graphs[row])
        if witness is None:
            continue
        with suppress(GraphError, MissingExtraError):  # another molecule may do
            return _example(graphs[row], [witness[variable] for variable in item.program.variables])
    return None


def _example(graph: Graph, atoms: list[int]) -> Example:
    """Write the molecule of a graph as SMILES and follow some of its atoms."""
    rd = chem("Drawing a molecule")
    molecule = graph_molecule(graph)
    if graph.schema is not None and all(feature.name != "charge" for feature in graph.schema.node):
        _charge_nitro(molecule)
    with require("rdkit.rdBase", "chem", "Drawing a molecule").BlockLogs():
        try:
            rd.SanitizeMol(molecule)
        except (RuntimeError, ValueError) as error:
            raise GraphError(f"expected a molecule that RDKit can sanitise, got another: {error}") from error
    smiles = rd.MolToSmiles(molecule)
    order = list(molecule.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])
    return Example(str(smiles), tuple(order.index(v) for v in atoms))


def _charge_nitro(molecule: Any) -> None:
    """Put charges on nitro groups of graphs without charges, where nitrogen has four bonds."""
    for atom in molecule.GetAtoms():
        if atom.GetSymbol() != "N" or sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds()) != 4:
            continue
        atom.SetFormalCharge(1)
        for bond in atom.GetBonds():
            other = bond.GetOtherAtom(atom)
            if other.GetSymbol() == "O" and other.GetDegree() == 1 and bond.GetBondTypeAsDouble() == 1:
                other.SetFormalCharge(-1)
                break
