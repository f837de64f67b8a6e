"""Examples for drawing programs: a matched molecule as SMILES, with its matched atoms."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import GraphError, MissingExtraError
from gdlnn.gdl.atoms import is_chemical
from gdlnn.graphs.chem import chem, without_messages
from gdlnn.graphs.molecules import graph_molecule
from gdlnn.mining.program_set import Example

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import Graph
    from gdlnn.mining.program_set import MinedProgram

_TRIED = 20  # the smallest of this many matched molecules is taken


class Examples:
    """Finds molecules on which to draw programs; each is written as SMILES once.

    Parameters
    ----------
    graphs
        The graphs that programs were found in.
    """

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self._graphs = graphs
        self._written: dict[int, tuple[str, dict[int, int]] | None] = {}

    def find(self, item: MinedProgram) -> Example | None:
        """Return a molecule that a program matches; None without molecules or without RDKit."""
        graphs = self._graphs
        rows = np.flatnonzero(item.support)[:_TRIED].tolist()
        if not rows or not is_chemical(graphs[rows[0]].schema):
            return None
        for row in sorted(rows, key=lambda row: (graphs[row].n_nodes, row)):
            written = self._write(row)
            witness = item.program.find(graphs[row]) if written is not None else None
            if written is not None and witness is not None:
                smiles, place = written
                return Example(smiles, tuple(place[witness[v]] for v in item.program.variables))
        return None

    def _write(self, row: int) -> tuple[str, dict[int, int]] | None:
        """Return the SMILES of a graph and where its nodes are in it; None where RDKit refuses it."""
        if row not in self._written:
            self._written[row] = None
            with suppress(GraphError, MissingExtraError):  # another molecule may do
                self._written[row] = _as_smiles(self._graphs[row])
        return self._written[row]


def _as_smiles(graph: Graph) -> tuple[str, dict[int, int]]:
    """Write the molecule of a graph as SMILES and track its atoms."""
    rd = chem("Drawing a molecule")
    molecule = graph_molecule(graph)
    if graph.schema is not None and all(feature.name != "charge" for feature in graph.schema.node):
        _charge_nitro(molecule)
    with without_messages("Drawing a molecule"):
        try:
            rd.SanitizeMol(molecule)
        except (RuntimeError, ValueError) as error:
            raise GraphError(f"RDKit cannot sanitise this molecule: {error}") from error
    smiles = rd.MolToSmiles(molecule)
    order = list(molecule.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])
    return str(smiles), {node: place for place, node in enumerate(order)}


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
