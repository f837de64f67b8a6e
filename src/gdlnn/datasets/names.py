"""What the codes of the nine data sets mean: atoms, bonds, elements of secondary structure, classes.

A code that is not listed keeps its number; so do all of NCI1's, whose meaning was never published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdlnn.graphs import Feature, Schema

if TYPE_CHECKING:
    from collections.abc import Sequence


def _codes(names: str, start: int = 0) -> dict[float, str]:
    return {float(code): name for code, name in enumerate(names.split(), start)}


def _molecules(atoms: str, bonds: str, classes: dict[int, str]) -> Schema:
    return Schema(
        (Feature("atom", "nominal", _codes(atoms)),),
        (Feature("bond", "nominal", _codes(bonds)),),
        classes,
        "molecule",
    )


def _proteins(start: int, attributes: Sequence[str], classes: dict[int, str]) -> Schema:
    """Return the schema of graphs whose nodes are elements of secondary structure."""
    element = Feature("element", "nominal", _codes("helix sheet turn", start))
    return Schema((element, *(Feature(name) for name in attributes)), (), classes)


# Four properties summed over the residues, and for each how many residues are low, medium and high in it.
# Which property is which was not published with the files, so they are numbered.
_ENZYME_ATTRIBUTES = (
    "residues",
    "length",
    *(f"property_{i}" for i in range(1, 5)),
    *(f"bin_{group}_{i}" for group in range(1, 5) for i in range(1, 4)),
)

SCHEMAS: dict[str, Schema] = {
    "MUTAG": _molecules(
        "C N O F I Cl Br", "aromatic single double triple", {-1: "non-mutagenic", 1: "mutagenic"}
    ),
    "PTC_MR": _molecules(
        "In P O N Na C Cl S Br F K Cu Zn I Ba Sn Pb Ca",
        "triple double single aromatic",
        {-1: "non-carcinogenic", 1: "carcinogenic"},
    ),
    "Mutagenicity": _molecules(
        "C O Cl H N F Br S P I Na K Li Ca", "single double triple", {0: "mutagen", 1: "nonmutagen"}
    ),
    "NCI1": Schema((Feature("atom", "nominal"),), (), {0: "inactive", 1: "active"}),
    "ENZYMES": _proteins(
        1,
        _ENZYME_ATTRIBUTES,
        {1: "oxidoreductase", 2: "transferase", 3: "hydrolase", 4: "lyase", 5: "isomerase", 6: "ligase"},
    ),
    "PROTEINS": _proteins(0, ("residues",), {1: "enzyme", 2: "non-enzyme"}),
    "BA-2Motifs": Schema((Feature("degree"),), (), {0: "cycle", 1: "house"}),
}
"""Schemas of the data sets that come as TU text; BBBP and BACE have the molecule schema with CLASSES."""

CLASSES: dict[str, dict[int, str]] = {
    "BBBP": {0: "non-penetrating", 1: "penetrating"},
    "BACE": {0: "inactive", 1: "inhibitor"},
}
