"""Phrases for single nodes and atoms: nouns, adjectives, details. Sentences are in `wording`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gdlnn.gdl.atoms import VALENCES, closure
from gdlnn.gdl.conditions import number_text
from gdlnn.gdl.program import ANY, Interval
from gdlnn.gdl.text import listed
from gdlnn.graphs.molecules import ELEMENTS as SYMBOLS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdlnn.gdl.atoms import Atom, Pattern, Range, Ranges
    from gdlnn.gdl.program import Intervals
    from gdlnn.graphs import Feature

_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_COUNTS = frozenset({"degree", "hydrogens", "radicals"})  # counts are never below zero
_MAX_EXCEPTIONS = 3  # "other than a, b or c" where few values are left out and more than these are left in
_MAX_NAMED = 8  # values that are named one by one; of more, the first and last are named
_MAX_NAMED_IN_ORDER = 3  # the same where everybody knows the order: elements by atomic number, sp to sp3
_SPELLED = tuple("ANFHILMORSX")  # letters whose names begin with a vowel: an NH, an OH
# Neighbours and hydrogens of atoms whose bonds cannot be counted, as they usually are.
_COMMON_CONNECTIONS = {14: 4, 15: 3, 16: 2, 33: 3, 34: 2, 52: 2, 53: 1}
_ELEMENTS = {
    "H": "hydrogen",
    "B": "boron",
    "C": "carbon",
    "N": "nitrogen",
    "O": "oxygen",
    "F": "fluorine",
    "Si": "silicon",
    "P": "phosphorus",
    "S": "sulfur",
    "Cl": "chlorine",
    "Se": "selenium",
    "Br": "bromine",
    "I": "iodine",
    "Li": "lithium",
    "Na": "sodium",
    "K": "potassium",
    "Mg": "magnesium",
    "Ca": "calcium",
    "Ba": "barium",
    "Al": "aluminium",
    "In": "indium",
    "Sn": "tin",
    "Pb": "lead",
    "Fe": "iron",
    "Co": "cobalt",
    "Ni": "nickel",
    "Cu": "copper",
    "Zn": "zinc",
    "Ag": "silver",
    "Pt": "platinum",
    "Hg": "mercury",
    "As": "arsenic",
    "Te": "tellurium",
    "Sb": "antimony",
    "Bi": "bismuth",
    "Ti": "titanium",
    "Cr": "chromium",
    "Mn": "manganese",
}


def number_word(n: int) -> str:
    """Return a number in words, or in digits where it is large."""
    return _NUMBERS[n] if n < len(_NUMBERS) else str(n)


def article(words: str) -> str:
    """Return words after "a" or "an"; a formula is read letter by letter."""
    first = words.split(" ")[0]
    spelled = first[:1].isupper() and (len(first) == 1 or not first[1:2].islower())
    heard = not first.startswith("urea") and (first[:1].lower() in "aeiou" or first in ("sp2", "sp3"))
    vowel = first.startswith(_SPELLED) if spelled else heard  # "an sp2 CH2", "a urea group"
    return f"{'an' if vowel else 'a'} {words}"


@dataclass(frozen=True)
class Phrase:
    """A node or an atom in words.

    Attributes
    ----------
    adjectives
        What comes before the noun.
    noun, plural
        The kind, and more than one of it.
    details
        What comes after it: ``with two neighbours``.
    generic
        Whether the noun says no more than that it is a node, and can be left out in a row of them.
    """

    adjectives: tuple[str, ...]
    noun: str
    plural: str
    details: str = ""
    generic: bool = False

    def _with(self, noun: str) -> str:
        return " ".join(filter(None, (*self.adjectives, noun, self.details)))

    @property
    def text(self) -> str:
        """The phrase without an article: ``ring nitrogen``."""
        return self._with(self.noun)

    def one(self) -> str:
        """Return ``a ring nitrogen``."""
        return article(self.text)

    def many(self, n: int) -> str:
        """Return ``two ring nitrogens``."""
        return f"{number_word(n)} {self._with(self.plural)}"

    def without(self, adjective: str) -> Phrase:
        """Return the phrase without an adjective."""
        return replace(self, adjectives=tuple(word for word in self.adjectives if word != adjective))

    @property
    def bare(self) -> str:
        """The phrase for a place in a row whose heading says what is in it."""
        if not self.generic:
            return self.text
        return self._with("").removeprefix("with ") or "any"


# --- features by name -------------------------------------------------------------------------------------


def node_phrase(intervals: Intervals | None, features: tuple[Feature, ...] | None, what: str) -> Phrase:
    """Return the phrase for a node of any graph; `what` it is called."""
    values = feature_words(intervals, features)
    return Phrase((), what, f"{what}s", f"with {values}" if values else "", generic=True)


def feature_words(intervals: Intervals | None, features: tuple[Feature, ...] | None) -> str:
    """Return the words for features: ``degree 2 and age at least 20``; empty if there are none."""
    if intervals is None:
        return ""
    if features is None:
        names = ["value"] if len(intervals) == 1 else [f"feature {i + 1} of" for i in range(len(intervals))]
        pairs = zip(names, intervals, strict=True)
        parts = [f"{name} {_range(interval)}" for name, interval in pairs if interval != ANY]
    else:
        named = zip(intervals, features, strict=True)
        parts = [words for interval, feature in named if (words := condition_words(interval, feature))]
    return listed(parts, "and") if parts else ""


def _range(interval: Interval, names: Mapping[float, str] | None = None) -> str:
    lower, upper = (
        (names or {}).get(bound, number_text(bound)) if math.isfinite(bound) else "" for bound in interval
    )
    if interval.lower == interval.upper:
        return lower
    if interval.upper == math.inf:
        return f"at least {lower}"
    return f"at most {upper}" if interval.lower == -math.inf else f"{lower} to {upper}"


def telling(interval: Interval, feature: Feature) -> Interval:
    """Return an interval without a lower side that excludes nothing: a count is at least zero."""
    empty = feature.name in _COUNTS and interval.lower <= 0 < interval.upper
    return Interval(-math.inf, interval.upper) if empty else interval


def condition_words(interval: Interval, feature: Feature) -> str:
    """Return the words for one feature of a schema, or nothing if every known value is allowed."""
    interval = telling(interval, feature)
    if interval == ANY:
        return ""
    if feature.kind != "nominal" or not feature.values:
        return f"{feature.name} {_range(interval, feature.values)}"
    names = _value_names(interval, feature)
    return f"{feature.name} {names}" if names else ""


def _value_names(interval: Interval, feature: Feature) -> str:
    """Return the names of the known values inside, or what they are not; nothing where none is outside."""
    inside = [name for value, name in sorted(feature.values.items()) if value in interval]
    outside = [name for value, name in sorted(feature.values.items()) if value not in interval]
    if not inside:
        return f"code {_range(interval)}"
    if not outside:
        return ""
    if len(outside) <= _MAX_EXCEPTIONS < len(inside):
        return f"other than {listed(outside)}"
    open_side = -interval.lower == math.inf or interval.upper == math.inf
    if len(inside) > (_MAX_NAMED_IN_ORDER if open_side and feature.name == "hybridisation" else _MAX_NAMED):
        if interval.upper == math.inf:
            return f"from {inside[0]} on"
        return f"up to {inside[-1]}" if interval.lower == -math.inf else f"{inside[0]} to {inside[-1]}"
    return listed(inside)


# --- atoms ------------------------------------------------------------------------------------------------


def is_exact(atom: Atom, known: Ranges) -> bool:
    """Whether element, charge, hydrogens, neighbours and aromaticity of an atom are all known."""
    keys = ("charge", "hydrogens", "degree", "aromatic")
    return atom.element is not None and atom.element > 0 and all(known[k][0] == known[k][1] for k in keys)


def atom_phrase(pattern: Pattern, v: int, needed: Ranges) -> Phrase:
    """Return the phrase for an atom; `needed` are its conditions that do not follow from others."""
    atom, known = pattern.atoms[v], pattern.closed(v)
    if pattern.strict and is_exact(atom, known):
        return _formula(pattern, v, needed, known)
    noun, plural = _element_nouns(atom)
    generic = atom.elements is None
    site = pattern.site(v)
    adjectives = []
    for key in ("charge", "hydrogens", "degree", "connections"):
        if key in needed:
            rest = {k: value for k, value in needed.items() if k != key}
            context = closure(atom.elements, rest, site, pattern.strict)[key]
            adjectives.append(_count_words(key, needed[key], context))
    adjectives += _ring_words(needed)
    details = [words for feature, interval in atom.others if (words := condition_words(interval, feature))]
    return Phrase(
        tuple(adjectives), noun, plural, f"with {listed(details, 'and')}" if details else "", generic
    )


def _element_nouns(atom: Atom) -> tuple[str, str]:
    if atom.elements is None:
        return "atom", "atoms"
    numbers = sorted(atom.elements - {0}) or [0]
    names = [element_name(number) for number in numbers]
    if len(names) == 1:
        return names[0], f"{names[0]}s"
    gapless = len(names) > _MAX_NAMED_IN_ORDER and numbers == [*range(numbers[0], numbers[-1] + 1)]
    if gapless and numbers[0] == 1:
        words = f"up to {names[-1]}"
    elif gapless and numbers[-1] == len(SYMBOLS):
        words = f"from {names[0]} on"
    elif len(names) > _MAX_NAMED:
        words = f"from {names[0]} to {names[-1]}"
    else:
        return listed(names), f"atoms ({listed(names)})"
    return f"atom {words}", f"atoms {words}"


def element_name(number: int) -> str:
    """Return the name of an element, or its symbol where the name is little known."""
    symbol = SYMBOLS[number - 1] if number else "dummy"
    return _ELEMENTS.get(symbol, symbol)


def _count_words(key: str, wanted: Range, context: Range) -> str:
    """Return an adjective for a count. The context is known without it."""
    if key == "charge":
        return _charge_words(*wanted)
    at_least, at_most = wanted[0] > context[0], wanted[1] < context[1]
    low, high = max(wanted[0], context[0]), wanted[1] if at_most else math.inf
    if key == "hydrogens":
        return (
            "H-free" if high == 0 else "H-bearing" if (low, high) == (1, math.inf) else _hydrogens(low, high)
        )
    if key == "degree":
        if high == 0 or low == high == 1:
            return "isolated" if high == 0 else "terminal"
        if high == 2 and not at_least:
            return "unbranched"
        if high == math.inf and low in (2, 3):
            return "branched" if low == 3 else "non-terminal"
    return f"{_amount(low, high)}-{'connected' if key == 'degree' else 'coordinate'}"


def _hydrogens(low: float, high: float) -> str:
    if low == high:
        return f"H={low:g}"
    if math.isinf(high):
        return f"H≥{low:g}"
    return f"H≤{high:g}" if low == 0 else f"H={low:g}–{high:g}"


def _amount(low: float, high: float) -> str:
    if low == high:
        return number_word(int(low))
    if math.isinf(high):
        return f"≥{low:g}"
    return f"≤{high:g}" if low <= 1 else f"{low:g}–{high:g}"


def _charge_words(low: float, high: float) -> str:
    if low == high == 0:
        return "neutral"
    if (low, high) in ((1, math.inf), (-math.inf, -1)):
        return "cationic" if low == 1 else "anionic"
    if (low, high) in ((0, math.inf), (-math.inf, 0)):
        return "non-anionic" if low == 0 else "non-cationic"
    if low == high:
        return f"{signed(low)}-charged"
    return f"charge-{_range(Interval(low, high)).replace(' ', '-')}"


def signed(charge: float) -> str:
    """Return a charge with its sign."""
    return f"{'−' if charge < 0 else '+'}{abs(charge):g}"


def _ring_words(needed: Ranges) -> list[str]:
    words = []
    if "aromatic" in needed:
        words.append("aromatic" if needed["aromatic"][0] else "non-aromatic")
    if "ring" in needed:
        words.append("ring" if needed["ring"][0] else "chain")
    return words


def _formula(pattern: Pattern, v: int, needed: Ranges, known: Ranges) -> Phrase:
    """Return a fully specified atom as a formula: ``ring CH2``, ``aromatic N``, ``O−``."""
    atom, site = pattern.atoms[v], pattern.site(v)
    number = atom.element or 0
    charge, hydrogens, degree = (int(known[key][0]) for key in ("charge", "hydrogens", "degree"))
    noun = SYMBOLS[number - 1] + ("" if not hydrogens else "H" if hydrogens == 1 else f"H{hydrogens}")
    noun += "" if not charge else signed(charge)[0] if abs(charge) == 1 else f"({signed(charge)})"
    adjectives = []
    aromatic = known["aromatic"][0] == 1
    if aromatic:
        adjectives.append("aromatic")
        expected = 3 - hydrogens if number == 6 else 2
    elif "ring" in needed:
        adjectives.append("ring" if needed["ring"][0] else "chain")
    if not aromatic and number in VALENCES:
        left = VALENCES[number].get(charge, 0) - hydrogens - site.orders - (degree - site.n)
        if left > 0:
            sp = number == 6 and site.orders == site.n
            adjectives.append({1: "sp2", 2: "sp"}.get(left, "unsaturated") if sp else "unsaturated")
        if left > (2 if number == 6 else 1):
            adjectives.insert(0, f"{number_word(degree)}-connected")
    else:
        expected = expected if aromatic else _COMMON_CONNECTIONS.get(number, 0) - hydrogens
        if degree != max(expected, site.n):
            adjectives.insert(0, f"{number_word(degree)}-connected")
    details = [words for feature, interval in atom.others if (words := condition_words(interval, feature))]
    return Phrase(tuple(adjectives), noun, noun, f"with {listed(details, 'and')}" if details else "")
