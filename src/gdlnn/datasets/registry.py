"""The nine datasets of the paper: where they are published, their checksums, and what their codes mean.

A code without a name keeps its number; so do all codes of NCI1, whose meaning was never published.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gdlnn.errors import DatasetError
from gdlnn.graphs.schema import Feature, Schema, numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_NAME = 100
"""Longest name of a dataset."""
SPLIT_FILE = "PL4XGL_split.json"
REQUIRED = ("A", "graph_indicator", "graph_labels")
"""The files that every TU dataset has, as in NAME_A.txt."""
TU_BASE = "https://www.chrsmrrs.com/graphkerneldatasets"
MOLECULENET_BASE = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets"
BA_2MOTIFS_BASE = "https://github.com/flyingdoog/PGExplainer/raw/master/dataset"


@dataclass(frozen=True)
class Source:
    """Where one dataset comes from and how it is read."""

    name: str
    kind: Literal["tu", "smiles", "ba-2motifs"]
    base: str
    file: str
    """The file to fetch from `base`."""
    prefix: str = ""
    """NAME in NAME_A.txt, where it is not the dataset's name."""
    smiles: str = ""
    label: str = ""
    task: str = ""
    size: tuple[int, float, float, int] = (0, 0.0, 0.0, 0)
    """Graphs, average nodes, average edges, classes."""

    @property
    def tu_prefix(self) -> str:
        """NAME in NAME_A.txt."""
        return self.prefix or self.name

    def files_in_words(self) -> str:
        """Return the files to put into the dataset's folder if it cannot be downloaded, in words."""
        if self.kind == "smiles":
            return self.file
        required = ", ".join(f"{self.tu_prefix}_{suffix}.txt" for suffix in REQUIRED)
        return f"{required} and the optional files that belong to them"


def _tu(name: str, task: str, size: tuple[int, float, float, int]) -> Source:
    return Source(name, "tu", TU_BASE, f"{name}.zip", task=task, size=size)


REGISTRY: dict[str, Source] = {
    source.name: source
    for source in (
        _tu("MUTAG", "is a nitroaromatic compound a mutagen?", (188, 17.93, 19.79, 2)),
        _tu("Mutagenicity", "is a compound a mutagen?", (4337, 30.32, 30.77, 2)),
        Source(
            "BBBP", "smiles", MOLECULENET_BASE, "BBBP.csv", smiles="smiles", label="p_np",
            task="does a drug pass the blood-brain barrier?", size=(2039, 24.06, 25.95, 2),
        ),
        Source(
            "BACE", "smiles", MOLECULENET_BASE, "bace.csv", smiles="smiles", label="Class",
            task="does a compound inhibit beta-secretase 1?", size=(1513, 34.09, 36.86, 2),
        ),
        _tu("ENZYMES", "which of six classes is an enzyme of?", (600, 32.63, 62.14, 6)),
        _tu("PROTEINS", "is a protein an enzyme?", (1113, 39.06, 72.82, 2)),
        _tu("PTC_MR", "does a compound cause cancer in male rats?", (344, 14.29, 14.69, 2)),
        _tu("NCI1", "does a compound inhibit lung cancer cells?", (4110, 29.87, 32.30, 2)),
        Source(
            "BA-2Motifs", "ba-2motifs", BA_2MOTIFS_BASE, "BA-2motif.pkl", prefix="BA_2Motifs",
            task="does a random graph contain a cycle or a house?", size=(1000, 25.00, 25.48, 2),
        ),
    )
}  # fmt: skip
"""The nine datasets of the paper, in the order of its table."""

_ALIASES = {"ptc": "PTC_MR", "ba2motif": "BA-2Motifs", "ba2motifs": "BA-2Motifs"}


@cache
def checksums() -> dict[str, str]:
    """Return the SHA-256 of the extracted files of the nine, by name.

    BA-2Motifs as published is a pickle: its content is checked instead.
    """
    lines = Path(__file__).with_name("SHA256SUMS").read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def _simplified(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def canonical_name(name: str) -> str:
    """Return the registered spelling of a name, whatever its case and dashes; other names are unchanged."""
    simple = _simplified(name)
    if simple in _ALIASES:
        return _ALIASES[simple]
    return next((known for known in REGISTRY if _simplified(known) == simple), name)


def source_of(name: str) -> Source:
    """Return where a dataset comes from: one of the nine, or a TU dataset in a folder of this name."""
    known = canonical_name(name)
    if known in REGISTRY:
        return REGISTRY[known]
    # The name becomes part of a path.
    if not 1 <= len(name) <= MAX_NAME or not all(c.isalnum() or c in "-_" for c in name):
        raise DatasetError(
            f"dataset {name!r}: expected one of {', '.join(REGISTRY)}, or the folder of a TU dataset"
        )
    return _tu(name, "", (0, 0.0, 0.0, 0))


# --- what the codes mean ----------------------------------------------------------------------------------


def _molecules(atoms: str, bonds: str, classes: dict[int, str]) -> Schema:
    return Schema(
        (Feature("atom", "nominal", numbered(atoms.split())),),
        (Feature("bond", "nominal", numbered(bonds.split())),),
        classes,
        "molecule",
    )


def _proteins(start: int, attributes: Sequence[str], classes: dict[int, str]) -> Schema:
    """Return the schema of graphs whose nodes are elements of secondary structure."""
    element = Feature("element", "nominal", numbered(("helix", "sheet", "turn"), start))
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
"""Schemas of the datasets that come as TU text; BBBP and BACE have the molecule schema with CLASSES."""

CLASSES: dict[str, dict[int, str]] = {
    "BBBP": {0: "non-penetrating", 1: "penetrating"},
    "BACE": {0: "inactive", 1: "inhibitor"},
}
