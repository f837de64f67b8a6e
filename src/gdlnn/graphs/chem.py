"""RDKit: its modules, and limits on molecules, checked on their text before it reads them.

RDKit takes more than quadratic time to find rings, even if nothing is sanitized. A SMILES of 10,000
characters could take minutes, and so could a record of an SDF file with a few thousand lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import require

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import ModuleType

MAX_SMILES = 10_000
"""Maximum length of a SMILES."""
MAX_ATOMS = 5_000
"""Maximum number of atoms of an SDF record: RDKit takes quadratic time to write its SMILES."""
MAX_RINGS = 200
"""Maximum number of independent rings of a molecule."""
_BRACKETS = re.compile(r"\[[^\]]*\]")
_RING_LABEL = re.compile(r"%\([0-9]+\)|%[0-9][0-9]|[0-9]")
_CONTINUED = re.compile(r"-\r?\nM  V30 ")
_COUNTS = re.compile(r"^M  V30 +COUNTS +([0-9]+)", re.MULTILINE | re.IGNORECASE)
_BOND = re.compile(r"^M  V30 +[0-9]+ +[0-9]+ +([0-9]+) +([0-9]+)", re.MULTILINE)


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
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    try:
        atoms, ends = np.unique([[int(end) for end in pair] for pair in bonds], return_inverse=True)
    except ValueError:
        return 0
    first, second = ends.reshape(-1, 2).T
    matrix = coo_array((np.ones(len(bonds)), (first, second)), shape=(len(atoms), len(atoms)))
    n_parts: int = connected_components(matrix, directed=False, return_labels=False)
    return len(bonds) - len(atoms) + n_parts
