"""Labels of atoms: element, hydrogens, charge and isotope, on the side where no bond is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gdlnn.drawing.svg import Box, num

if TYPE_CHECKING:
    from gdlnn.drawing.contour import FloatArray

SIZE = 13.0
_WIDTHS = {"I": 0.28, "F": 0.61, "l": 0.23, "r": 0.34, "i": 0.23, "S": 0.67, "P": 0.67}
_LETTER, _SCRIPT = 0.74, 0.4  # widths of other letters, and of small figures
_UP = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
_DOWN = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_ANGLES = {"E": 0.0, "W": math.pi, "N": -math.pi / 2, "S": math.pi / 2}
_WIDE = math.radians(75)  # a side is free if no bond comes nearer than this
_WITH_RADICALS = {1, 5, 6, 7, 8, 9, 14, 15, 16, 17, 34, 35, 53}  # RDKit gives them to ions of metals too
_HYDROGENS_FIRST = {8, 9, 16, 17, 34, 35, 52, 53}  # H₂O, HCl


@dataclass(frozen=True)
class AtomLabel:
    """What is written at an atom.

    Attributes
    ----------
    x, y
        Where the atom is; the symbol is centred on it.
    symbol
        The element; empty for a carbon of a chain or ring, which is drawn as a corner.
    isotope, hydrogens, charge
        What is written next to it.
    side
        Where hydrogens and charge go: E, W, N or S.
    cut
        Whether the atom is the place where the rest of the molecule was cut off.
    """

    x: float
    y: float
    symbol: str = ""
    isotope: str = ""
    hydrogens: str = ""
    charge: str = ""
    side: str = "E"
    cut: bool = False

    def gap(self, dx: float, dy: float) -> float:
        """Return how far from the atom a bond in this direction ends."""
        if not self.symbol:
            return 0.0
        across, up = _width(self.symbol) / 2 + 2.2, 0.42 * SIZE + 2.6
        beside = self.charge or (self.hydrogens if self.side in "EW" else "")
        if beside and (dx > 0) == (self._towards() == "E") and abs(dx) > 0.4 and dy < 0.5:
            across += _width(self.charge)
        return 1 / math.hypot(dx / across, dy / up)

    def _towards(self) -> str:
        return "W" if self.side == "W" else "E"

    @property
    def box(self) -> Box:
        """The box of the text."""
        half = _width(self.symbol) / 2
        beside = _width(self.charge) + (_width(self.hydrogens) if self.side in "EW" else 0)
        before = _width(self.isotope)
        left, right = (before + beside, 0.0) if self.side == "W" else (before, beside)
        up = SIZE * (1.5 if self.side == "N" and self.hydrogens else 0.65)
        down = SIZE * (1.5 if self.side == "S" and self.hydrogens else 0.65)
        return self.x - half - left, self.y - up, self.x + half + right, self.y + down

    def svg(self, look: str = "") -> str:
        """Return the text; a stack of hydrogens is a text of its own."""
        half, y = _width(self.symbol) / 2, self.y + 0.36 * SIZE
        beside = self.hydrogens if self.side in "EW" else ""
        if self.side == "W":
            words = f"{self.charge}{beside}{self.isotope}{self.symbol}"
            parts = [_text(self.x + half, y, words, f"end {look}".strip())]
        else:
            words = f"{self.isotope}{self.symbol}{beside}{self.charge}"
            parts = [_text(self.x - half - _width(self.isotope), y, words, look)]
        if self.hydrogens and self.side in "NS":
            up = -0.92 if self.side == "N" else 0.95
            parts.append(_text(self.x - _width("H") / 2, y + up * SIZE, self.hydrogens, look))
        return "".join(parts)


def _text(x: float, y: float, words: str, look: str) -> str:
    classes = f" class='{look}'" if look else ""
    return f"<text{classes} x='{num(x)}' y='{num(y)}'>{words}</text>"


def _width(words: str) -> float:
    """Return about how wide a label is."""
    return SIZE * sum(_WIDTHS.get(c, _LETTER if c.isascii() else _SCRIPT) for c in words)


def atom_label(atom: Any, places: FloatArray) -> AtomLabel:
    """Return the label of an atom of an RDKit molecule, at its place in the drawing."""
    x, y = (float(value) for value in places[atom.GetIdx()])
    if atom.GetAtomicNum() == 0:
        return AtomLabel(x, y, cut=True)
    charge, isotope = int(atom.GetFormalCharge()), int(atom.GetIsotope())
    radicals = int(atom.GetNumRadicalElectrons()) if atom.GetAtomicNum() in _WITH_RADICALS else 0
    degree = int(atom.GetDegree())
    plain = atom.GetAtomicNum() == 6 and degree and not charge and not isotope and not radicals
    if plain and not _straight(atom):
        return AtomLabel(x, y)
    symbol = str(atom.GetSymbol())
    isotope_text = str(isotope).translate(_UP) if isotope else ""
    if symbol == "H" and isotope in (2, 3):
        symbol, isotope_text = ("D", "T")[isotope - 2], ""
    hydrogens = int(atom.GetTotalNumHs())
    return AtomLabel(
        x,
        y,
        symbol,
        isotope_text,
        "" if not hydrogens else "H" + (str(hydrogens).translate(_DOWN) if hydrogens > 1 else ""),
        _charge(charge) + "•" * radicals,
        _side(atom, places, bool(hydrogens)),
    )


def _charge(charge: int) -> str:
    if not charge:
        return ""
    sign = "+" if charge > 0 else "-"
    return (sign if abs(charge) == 1 else f"{abs(charge)}{sign}").translate(_UP)


def _straight(atom: Any) -> bool:
    """Whether a carbon lies on a straight line between two double bonds, where no corner shows it."""
    bonds = atom.GetBonds()
    return len(bonds) == 2 and all(str(bond.GetBondType()) == "DOUBLE" for bond in bonds)


def _side(atom: Any, places: FloatArray, hydrogens: bool) -> str:
    """Return the side that bonds leave free: right, left, or for hydrogens above or below."""
    here = places[atom.GetIdx()]
    angles = [math.atan2(*(places[near.GetIdx()] - here)[::-1]) for near in atom.GetNeighbors()]
    if not angles:
        return "W" if hydrogens and atom.GetAtomicNum() in _HYDROGENS_FIRST else "E"

    def room(side: str) -> float:
        return min(abs(math.remainder(_ANGLES[side] - angle, 2 * math.pi)) for angle in angles)

    for side in "EW":
        if room(side) >= _WIDE:
            return side
    return max("EWNS" if hydrogens else "EW", key=room)
