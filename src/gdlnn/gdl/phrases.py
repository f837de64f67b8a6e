"""Phrases for single nodes and edges of a program: nouns, values, articles. Sentences are in `wording`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gdlnn.gdl.conditions import number_text
from gdlnn.gdl.program import ANY, Interval
from gdlnn.gdl.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.gdl.program import Intervals
    from gdlnn.graphs import Feature, Schema

_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_ATOM_FEATURES = frozenset({"atom", "atom type", "atom_type", "element", "symbol"})
_BOND_FEATURES = frozenset({"bond", "bond type", "bond_type"})
_COUNTS = frozenset({"degree", "hydrogens", "radicals"})  # what is counted is never below zero
_MAX_EXCEPTIONS = 3  # "other than a, b or c" where few values are left out and more than these are left in
_MAX_NAMED = 8  # values that are named one by one; more are told by their first and last
_MAX_NAMED_IN_ORDER = 3  # the same where everybody knows the order: elements by number, sp to sp3
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


def article(words: str) -> str:
    """Return words after "a" or "an"."""
    return f"{'an' if words[:1].lower() in 'aeiou' else 'a'} {words}"


def counted(n: int, plural: str) -> str:
    """Return a number in words, or in digits where it is large, with what is counted."""
    return f"{_NUMBERS[n] if n < len(_NUMBERS) else n} {plural}"


@dataclass(frozen=True)
class Phrase:
    """A node or an edge in words: ``noun`` and what follows it, in the singular and in the plural."""

    noun: str
    plural: str
    details: str = ""  # "with charge of 0"

    def one(self, label: str = "", other: bool = False) -> str:
        """Return ``a carbon x1 with charge of 0``; ``another carbon`` where one was named before."""
        head = f"another {self.noun}" if other else article(self.noun)
        return " ".join(filter(None, (head, label, self.details)))

    def named(self, labels: list[str], other: bool = False) -> str:
        """Return ``carbons x1 and x2 with charge of 0``, or the singular where there is one label."""
        if len(labels) == 1:
            return self.one(labels[0], other)
        head = f"other {self.plural}" if other else self.plural
        return " ".join(filter(None, (head, listed(labels, "and"), self.details)))

    def many(self, n: int) -> str:
        """Return ``two carbons with charge of 0``."""
        return " ".join(filter(None, (counted(n, self.plural), self.details)))


class Phrases:
    """Makes phrases for the nodes and edges of one program."""

    def __init__(self, schema: Schema | None) -> None:
        self._schema = schema
        self.molecule = schema is not None and schema.domain == "molecule"

    @property
    def graphs(self) -> str:
        """What the program is about."""
        return "molecules" if self.molecule else "graphs"

    def values(self, intervals: Intervals | None, of_edge: bool = False) -> str:
        """Return what is said of the features: ``a feature value of 2.0``; empty where nothing is."""
        return self._joined(intervals, self._features(of_edge))

    def node(self, intervals: Intervals | None) -> Phrase:
        """Return the phrase for a node."""
        return self._phrase(intervals, False, "atom" if self.molecule else "node", _ATOM_FEATURES)

    def edge(self, intervals: Intervals | None) -> Phrase:
        """Return the phrase for an edge."""
        return self._phrase(intervals, True, "bond" if self.molecule else "edge", _BOND_FEATURES)

    def _features(self, of_edge: bool) -> tuple[Feature, ...] | None:
        if self._schema is None:
            return None
        return self._schema.edge if of_edge else self._schema.node

    def _phrase(
        self, intervals: Intervals | None, of_edge: bool, noun: str, naming: frozenset[str]
    ) -> Phrase:
        features = self._features(of_edge)
        nouns, plural = noun, f"{noun}s"
        if self.molecule and intervals is not None and features is not None:
            # The kind of atom or bond is the noun itself; the other features are its details.
            at = next((i for i, f in enumerate(features) if f.name.lower() in naming), None)
            if at is not None:
                names = _value_names(intervals[at], features[at])
                intervals = (*intervals[:at], ANY, *intervals[at + 1 :])
                nouns, plural = (_bond_nouns if of_edge else _atom_nouns)(names, noun)
        values = self._joined(intervals, features)
        return Phrase(nouns, plural, f"with {values}" if values else "")

    def _joined(self, intervals: Intervals | None, features: tuple[Feature, ...] | None) -> str:
        if intervals is None:
            return ""
        if features is None:
            if len(intervals) == 1:
                return f"a feature value {_range(intervals[0], repr)}"
            parts = [f"feature {i + 1} {_range(v, repr)}" for i, v in enumerate(intervals) if v != ANY]
        else:
            pairs = zip(intervals, features, strict=True)
            parts = [part for interval, feature in pairs if (part := _named(interval, feature))]
        return listed(parts, "and") if parts else ""


def _range(interval: Interval, text: Callable[[float], str]) -> str:
    lower, upper = interval
    if lower == upper:
        return f"of {text(lower)}"
    if upper == math.inf:
        return f"of at least {text(lower)}"
    if lower == -math.inf:
        return f"of at most {text(upper)}"
    return f"between {text(lower)} and {text(upper)}"


def _in_order(feature: Feature) -> bool:
    """Whether the codes of a feature stand in an order that people know."""
    if feature.name.lower() in _ATOM_FEATURES:
        return all(feature.values.get(number) == name for number, name in ((1, "H"), (6, "C"), (8, "O")))
    return feature.name == "hybridisation"


def _value_names(interval: Interval, feature: Feature) -> list[str] | str | None:
    """Return the names of the known values inside; a phrase where few are outside; None where none is."""
    inside = [name for value, name in sorted(feature.values.items()) if value in interval]
    outside = [name for value, name in sorted(feature.values.items()) if value not in interval]
    if not inside:
        return f"with a code {_range(interval, number_text)}"
    if not outside:
        return None
    if len(outside) <= _MAX_EXCEPTIONS < len(inside):
        return f"other than {listed([_ELEMENTS.get(name, name) for name in outside])}"
    open_side = -interval.lower == math.inf or interval.upper == math.inf
    if len(inside) > (_MAX_NAMED_IN_ORDER if open_side and _in_order(feature) else _MAX_NAMED):
        first, last = (_ELEMENTS.get(name, name) for name in (inside[0], inside[-1]))
        if interval.upper == math.inf:
            return f"from {first} on"
        return f"up to {last}" if interval.lower == -math.inf else f"from {first} to {last}"
    return inside


def telling(interval: Interval, feature: Feature) -> Interval:
    """Return an interval without a lower side that says nothing: that a count is at least zero."""
    empty = feature.name in _COUNTS and interval.lower <= 0 < interval.upper
    return Interval(-math.inf, interval.upper) if empty else interval


def _named(interval: Interval, feature: Feature) -> str:
    """Return what one feature of a schema says, or nothing where every known value will do."""
    interval = telling(interval, feature)
    if interval == ANY:
        return ""
    if feature.kind != "nominal":
        return f"{feature.name} {_range(interval, lambda v: feature.values.get(v, number_text(v)))}"
    if not feature.values:
        if interval.lower == interval.upper:
            return f"{feature.name} {number_text(interval.lower)}"
        return f"{feature.name} {_range(interval, number_text)}"
    names = _value_names(interval, feature)
    if names is None:
        return ""
    if isinstance(names, str):
        return f"{feature.name} {names}"
    return f"{feature.name} {listed(names)}"


def _atom_nouns(names: list[str] | str | None, noun: str) -> tuple[str, str]:
    if names is None:
        return noun, f"{noun}s"
    if isinstance(names, str):
        return f"{noun} {names}", f"{noun}s {names}"
    words = [_ELEMENTS.get(name, name) for name in names]
    if len(words) == 1:
        return words[0], f"{words[0]}s"
    return listed(words), f"{noun}s ({listed(words)})"


def _bond_nouns(names: list[str] | str | None, noun: str) -> tuple[str, str]:
    if names is None:
        return noun, f"{noun}s"
    if isinstance(names, str):
        return f"{noun} {names}", f"{noun}s {names}"
    return f"{listed(names)} {noun}", f"{listed(names)} {noun}s"
