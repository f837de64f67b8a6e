"""Examples to draw programs by: a matched molecule as SMILES, with the atoms that were matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdlnn.errors import GraphError, MissingExtraError
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
        try:
            return _example(graphs[row], [witness[variable] for variable in item.program.variables])
        except (GraphError, MissingExtraError):
            return None
    return None


def _example(graph: Graph, atoms: list[int]) -> Example:
    """Write the molecule of a graph as SMILES and follow some of its atoms."""
    rd = chem("Drawing a molecule")
    molecule = graph_molecule(graph)
    try:
        rd.SanitizeMol(molecule)
    except (RuntimeError, ValueError) as error:
        raise GraphError(f"expected a molecule that RDKit can sanitise, got another: {error}") from error
    smiles = rd.MolToSmiles(molecule)
    order = list(molecule.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])
    return Example(str(smiles), tuple(order.index(v) for v in atoms))
