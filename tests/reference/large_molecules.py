"""Molecules that are much work for their size: rings that share bonds, many atoms, counts that lie."""

from collections.abc import Sequence

Bonds = list[tuple[int, int]]


def v3000(symbols: Sequence[str], bonds: Bonds, counts: str = "") -> str:
    """Return a record of an SDF file in the version without a limit on atoms; atoms are counted from 1."""
    count_line = counts or f"COUNTS {len(symbols)} {len(bonds)} 0 0 0"
    atoms = (f"{number} {symbol} {number}.0 0 0 0" for number, symbol in enumerate(symbols, start=1))
    listed = (f"{number} 1 {a} {b}" for number, (a, b) in enumerate(bonds, start=1))
    parts = ["BEGIN CTAB", count_line, "BEGIN ATOM", *atoms, "END ATOM", "BEGIN BOND", *listed, "END BOND"]
    head = ["", "  x", "", "  0  0  0     0  0            999 V3000"]
    return "\n".join([*head, *(f"M  V30 {part}" for part in (*parts, "END CTAB")), "M  END", ""])


def v2000(symbols: Sequence[str], bonds: Bonds) -> str:
    """Return a record of an SDF file in the old version."""
    atoms = [f"{place:10.4f}    0.0000    0.0000 {symbol:3} 0  0" for place, symbol in enumerate(symbols)]
    listed = [f"{a:3}{b:3}  1  0" for a, b in bonds]
    head = f"{len(symbols):3}{len(bonds):3}  0  0  0  0  0  0  0  0999 V2000"
    return "\n".join(["", "  x", "", head, *atoms, *listed, "M  END", ""])


def straight(n: int) -> Bonds:
    """Return the bonds of n atoms in a row."""
    return [(atom, atom + 1) for atom in range(1, n)]


def ladder(n_rings: int) -> Bonds:
    """Return the bonds of rings of four atoms, each of which shares a bond with the next."""
    return straight(2 * n_rings + 2) + [(atom, atom + 3) for atom in range(1, 2 * n_rings, 2)]


def bipartite(few: int, many: int) -> Bonds:
    """Return the bonds between each of a few atoms and each of many."""
    return [(a, few + b) for a in range(1, few + 1) for b in range(1, many + 1)]


def smiles_of(bonds: Bonds) -> str:
    """Return a SMILES of these bonds, those of a chain and others that close rings."""
    others = [(a, b, f"%{10 + number % 90}") for number, (a, b) in enumerate(bonds) if b != a + 1]
    labels: dict[int, str] = {}
    for a, b, label in others:
        labels[a] = labels.get(a, "") + label
        labels[b] = labels.get(b, "") + label
    return "".join(f"C{labels.get(atom, '')}" for atom in range(1, max(b for _, b in bonds) + 1))
