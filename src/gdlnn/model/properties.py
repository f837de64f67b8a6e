"""Properties of the whole molecule that chemists know, as columns beside pooled features."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import require
from gdlnn.graphs.chem import chem, without_messages
from gdlnn.graphs.molecules import graph_molecule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn.graphs import Graph

FloatArray = npt.NDArray[np.float64]


class Property(NamedTuple):
    """A property of a molecule, how a value of it is written, and the function of RDKit that computes it."""

    name: str
    text: str
    function: str


PROPERTIES = (
    Property("molecular weight", "molecular weight {:.0f}", "Descriptors.MolWt"),
    Property("logP", "logP {:.1f}", "Crippen.MolLogP"),
    Property("polar surface", "polar surface {:.0f} Å²", "rdMolDescriptors.CalcTPSA"),
    Property("H-bond donors", "{:.0f} H-bond donors", "rdMolDescriptors.CalcNumHBD"),
    Property("H-bond acceptors", "{:.0f} H-bond acceptors", "rdMolDescriptors.CalcNumHBA"),
    Property("rotatable bonds", "{:.0f} rotatable bonds", "rdMolDescriptors.CalcNumRotatableBonds"),
    Property("rings", "{:.0f} rings", "rdMolDescriptors.CalcNumRings"),
    Property("aromatic rings", "{:.0f} aromatic rings", "rdMolDescriptors.CalcNumAromaticRings"),
    Property("sp3 carbon", "{:.0%} of the carbons are sp3", "rdMolDescriptors.CalcFractionCSP3"),
    Property("formal charge", "formal charge {:+.0f}", "rdmolops.GetFormalCharge"),
    Property("heteroatoms", "{:.0f} heteroatoms", "rdMolDescriptors.CalcNumHeteroatoms"),
)


def molecule_properties(graphs: Sequence[Graph]) -> FloatArray:
    """Return graphs × properties; zeros for a graph that RDKit does not take for a molecule."""
    found = np.zeros((len(graphs), len(PROPERTIES)))
    rd, functions = chem("Properties of molecules"), _functions()
    with without_messages("Properties of molecules"):
        for row, graph in enumerate(graphs):
            molecule = _sanitized(rd, graph)
            if molecule is not None:
                found[row] = [function(molecule) for function in functions]
    return np.round(found, 6)  # the last bits of a sum depend on the order of atoms


@cache
def _functions() -> list[Callable[[Any], float]]:
    """Return the functions of RDKit that compute the properties."""
    names = [one.function.split(".") for one in PROPERTIES]
    return [
        getattr(require(f"rdkit.Chem.{module}", "chem", "Properties of molecules"), name)
        for module, name in names
    ]


def _sanitized(rd: Any, graph: Graph) -> Any:
    """Return the molecule of a graph with rings and hybridization; None where RDKit refuses it."""
    molecule = graph_molecule(graph)
    try:
        rd.SanitizeMol(molecule)
    except (ValueError, RuntimeError):  # a piece of a molecule may have impossible valences
        return None
    return molecule if graph.n_nodes else None
