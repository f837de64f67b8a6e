"""Properties of the whole molecule that chemists know, as columns beside pooled features."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.graphs.molecules import graph_molecule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import Graph, Schema

FloatArray = npt.NDArray[np.float64]


class Property(NamedTuple):
    """A property of a molecule, and how a value of it is written."""

    name: str
    text: str
    of: Callable[[Any], float]


def _properties() -> tuple[Property, ...]:
    from rdkit.Chem import Crippen, Descriptors, GetFormalCharge, rdMolDescriptors

    return (
        Property("molecular weight", "molecular weight {:.0f}", Descriptors.MolWt),
        Property("logP", "logP {:.1f}", Crippen.MolLogP),
        Property("polar surface", "polar surface {:.0f} Å²", rdMolDescriptors.CalcTPSA),
        Property("H-bond donors", "{:.0f} H-bond donors", rdMolDescriptors.CalcNumHBD),
        Property("H-bond acceptors", "{:.0f} H-bond acceptors", rdMolDescriptors.CalcNumHBA),
        Property("rotatable bonds", "{:.0f} rotatable bonds", rdMolDescriptors.CalcNumRotatableBonds),
        Property("rings", "{:.0f} rings", rdMolDescriptors.CalcNumRings),
        Property("aromatic rings", "{:.0f} aromatic rings", rdMolDescriptors.CalcNumAromaticRings),
        Property("sp3 carbon", "{:.0%} of the carbons are sp3", rdMolDescriptors.CalcFractionCSP3),
        Property("formal charge", "formal charge {:+.0f}", GetFormalCharge),
        Property("heteroatoms", "{:.0f} heteroatoms", rdMolDescriptors.CalcNumHeteroatoms),
        Property("halogens", "{:.0f} halogens", _halogens),
    )


def _halogens(molecule: Any) -> float:
    return float(sum(atom.GetAtomicNum() in (9, 17, 35, 53) for atom in molecule.GetAtoms()))


PROPERTIES = (
    "molecular weight",
    "logP",
    "polar surface",
    "H-bond donors",
    "H-bond acceptors",
    "rotatable bonds",
    "rings",
    "aromatic rings",
    "sp3 carbon",
    "formal charge",
    "heteroatoms",
    "halogens",
)


def molecule_properties(graphs: Sequence[Graph], schema: Schema | None) -> FloatArray:
    """Return graphs × properties, of graphs that were read as molecules."""
    known = _properties()
    table = np.zeros((len(graphs), len(known)))
    for row, graph in enumerate(graphs):
        molecule = graph_molecule(graph, schema)
        table[row] = [one.of(molecule) for one in known]
    return table
