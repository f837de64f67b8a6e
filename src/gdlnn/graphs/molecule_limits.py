"""Limits on molecules, checked on their text before RDKit reads it.

RDKit's time to find rings grows faster than the square of their number, whatever else is skipped. A SMILES of
10,000 characters could take minutes, and so could a record of an SDF file with a few thousand lines.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_SMILES = 10_000
"""Maximum length of a SMILES."""
MAX_ATOMS = 5_000
"""Maximum number of atoms of an SDF record: RDKit takes quadratic time to write its SMILES."""
MAX_RINGS = 200
"""Maximum number of independent rings of a molecule."""
_BRACKETS = re.compile(r"\[[^\]]*\]")
_RING_LABEL = re.compile(r"%\([0-9]+\)|%[0-9][0-9]|[0-9]")
_V30 = "M  V30 "


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
    lines = text.split("\n")
    try:
        n_atoms, bonds = _v3000(lines) if lines[3][34:39] == "V3000" else _v2000(lines)
        if n_atoms > MAX_ATOMS:
            return f"expected at most {MAX_ATOMS:,} atoms, got {n_atoms:,}"
        return _too_many_rings(_n_rings(bonds))
    except (ValueError, IndexError, StopIteration):
        return ""


def _too_many_rings(n_rings: int) -> str:
    return f"expected at most {MAX_RINGS} rings, got {n_rings:,}" if n_rings > MAX_RINGS else ""


def _n_rings(bonds: Iterable[tuple[int, int]]) -> int:
    """Return how many independent rings bonds close: those whose atoms are connected without them."""
    above: dict[int, int] = {}
    n_rings = 0
    for pair in bonds:
        first, second = (_topmost(above, atom) for atom in pair)
        n_rings += first == second
        above[first] = second
    return n_rings


def _topmost(above: dict[int, int], atom: int) -> int:
    """Return the atom that stands for all those connected with one (union-find with path halving)."""
    while (parent := above.setdefault(atom, atom)) != atom:
        above[atom] = atom = above[parent]
    return atom


# --- atoms and bonds of both versions of the format ---------------------------------------------------------


def _v2000(lines: list[str]) -> tuple[int, Iterator[tuple[int, int]]]:
    n_atoms, n_bonds = int(lines[3][:3]), int(lines[3][3:6])
    listed = lines[4 + n_atoms : 4 + n_atoms + n_bonds] if n_bonds > MAX_RINGS else []
    return n_atoms, ((int(line[:3]), int(line[3:6])) for line in listed)


def _v3000(lines: list[str]) -> tuple[int, Iterator[tuple[int, int]]]:
    logical = _joined(islice(lines, 4, None))
    next(logical)  # BEGIN CTAB
    word, n_atoms, n_bonds, *_ = next(logical).split()
    if word.upper() != "COUNTS":
        raise ValueError(word)
    return int(n_atoms), _v3000_bonds(logical, int(n_bonds))


def _v3000_bonds(logical: Iterator[str], n_bonds: int) -> Iterator[tuple[int, int]]:
    if n_bonds <= MAX_RINGS:
        return
    while next(logical, "BEGIN BOND").upper().split() != ["BEGIN", "BOND"]:
        pass
    for line in islice(logical, n_bonds):
        _, _, first, second, *_ = line.split()
        yield int(first), int(second)


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines without their prefix; one that ends in a hyphen goes on in the next."""
    begun: list[str] = []
    for line in (ended.removesuffix("\r") for ended in lines):
        if not line.startswith(_V30):
            raise ValueError(line)
        begun.append(line.removeprefix(_V30).removesuffix("-"))
        if not line.endswith("-"):
            yield "".join(begun)
            begun.clear()
