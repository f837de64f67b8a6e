"""Programs over molecules as conditions on atoms and bonds, and what these imply in every molecule.

Words, SMARTS and named groups need to know which conditions of a program follow from the others.
Rules decide this, not examples: an aromatic bond has aromatic ends, an aromatic atom lies on a ring and
has at most three connections, a neutral carbon has at most four bonds. Atoms with dative bonds and isotopes
of hydrogen that are atoms of their own are left aside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gdlnn.errors import ProgramError
from gdlnn.gdl.canonical import merged_edges
from gdlnn.graphs.molecules import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdlnn.gdl.program import Interval, Intervals, Program
    from gdlnn.graphs import Feature, Schema

SINGLE, DOUBLE, TRIPLE, AROMATIC, OTHER = "-", "=", "#", ":", "other"
TYPES = (OTHER, SINGLE, DOUBLE, TRIPLE, AROMATIC)
KEYS = ("charge", "hydrogens", "degree", "connections", "aromatic", "ring")
"""The properties of an atom that are ranges of whole numbers. Connections are neighbors and hydrogens."""
AROMATIC_ELEMENTS = frozenset({5, 6, 7, 8, 14, 15, 16, 33, 34, 52})
_ORDERS = {OTHER: 0, SINGLE: 1, DOUBLE: 2, TRIPLE: 3, AROMATIC: 1}
# Most bonds of an element, by its charge; other charges of these elements do not occur.
VALENCES: dict[int, dict[int, int]] = {
    5: {-1: 4, 0: 3, 1: 2},
    6: {-2: 2, -1: 3, 0: 4, 1: 3, 2: 2},
    7: {-2: 1, -1: 2, 0: 3, 1: 4},
    8: {-2: 0, -1: 1, 0: 2, 1: 3},
    9: {-1: 0, 0: 1, 1: 2},
    17: {-1: 0, 0: 1, 1: 6, 2: 5, 3: 4},
    35: {-1: 0, 0: 1, 1: 6, 2: 5, 3: 4},
}
_BONDS = {"single": SINGLE, "double": DOUBLE, "triple": TRIPLE, "aromatic": AROMATIC, "other": OTHER}
_NUMBERS = {name: number for number, name in enumerate(ELEMENTS, 1)}
# Conditions are left out in this order where they follow from the rest.
_LEAVE_OUT = ("degree", "connections", "ring", "aromatic", "hydrogens", "charge")

Range = tuple[float, float]
Ranges = dict[str, Range]
Other = tuple["Feature", "Interval"]


@dataclass
class Atom:
    """The conditions on one atom.

    Attributes
    ----------
    elements
        Atomic numbers (0 is a dummy atom), or None for any element.
    stated
        Ranges of whole numbers by key, see `KEYS`.
    others
        Conditions on features that nothing is known about here.
    """

    elements: frozenset[int] | None = None
    stated: Ranges = field(default_factory=dict)
    others: tuple[Other, ...] = ()

    @property
    def element(self) -> int | None:
        """The atomic number, where it is certain."""
        return next(iter(self.elements)) if self.elements and len(self.elements) == 1 else None


@dataclass
class Bond:
    """The conditions on one bond: the types it may have, and those on other features."""

    types: frozenset[str] = frozenset(TYPES)
    others: tuple[Other, ...] = ()

    @property
    def order(self) -> int:
        """Least number of bonds it counts for."""
        return min((_ORDERS[kind] for kind in self.types), default=0)


class Site(NamedTuple):
    """The surroundings of an atom in a pattern.

    Attributes
    ----------
    n, orders
        Its neighbors, and the least that their bonds count for.
    aromatic, maybe
        Whether some bond is aromatic, and how many may be.
    cycle
        Whether it lies on a cycle of the pattern.
    """

    n: int
    orders: int
    aromatic: bool
    maybe: int
    cycle: bool


@dataclass
class Pattern:
    """Atoms and bonds with their conditions.

    Attributes
    ----------
    bonds
        By the numbers of both atoms, the smaller first.
    strict
        Whether atoms are described by charge and hydrogens, so that valences can be counted.
    implicit
        Whether hydrogens that are atoms of their own are left out of the count, as in the Open Graph
        Benchmark.
    """

    atoms: list[Atom]
    bonds: dict[tuple[int, int], Bond]
    strict: bool = True
    implicit: bool = False

    def __post_init__(self) -> None:
        self.neighbors: list[dict[int, Bond]] = [{} for _ in self.atoms]
        for (u, v), bond in self.bonds.items():
            self.neighbors[u][v] = self.neighbors[v][u] = bond
        self.cyclic = on_cycles(list(self.bonds))
        self._sites = [self._site(v) for v in range(len(self.atoms))]

    def site(self, v: int) -> Site:
        """Return the surroundings of an atom."""
        return self._sites[v]

    def _site(self, v: int) -> Site:
        near = self.neighbors[v].values()
        aromatic = any(bond.types == {AROMATIC} for bond in near)
        maybe = sum(AROMATIC in bond.types for bond in near)
        return Site(len(near), sum(bond.order for bond in near), aromatic, maybe, v in self.cyclic)

    def closed(self, v: int) -> Ranges:
        """Return everything that an atom's own conditions and bonds imply about it."""
        return closure(self.atoms[v].elements, self.atoms[v].stated, self.site(v), self.strict)

    def possible(self) -> bool:
        """Whether no atom is known to be impossible."""
        return all(low <= high for v in range(len(self.atoms)) for low, high in self.closed(v).values())

    def needed(self) -> list[Ranges]:
        """Return the conditions of every atom without those that follow from the others."""
        return [
            dict(_needed(atom.elements, tuple(atom.stated.items()), self.site(v), self.strict))
            for v, atom in enumerate(self.atoms)
        ]


def _both(first: Range, second: Range) -> Range:
    return max(first[0], second[0]), min(first[1], second[1])


def inside(inner: Range, outer: Range) -> bool:
    """Whether every number of a range lies in another."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def closure(elements: frozenset[int] | None, stated: Mapping[str, Range], site: Site, strict: bool) -> Ranges:
    """Return everything known about an atom: the stated conditions and what they and its bonds imply."""
    return _closure(elements, tuple(stated.items()), site, strict)


@lru_cache(maxsize=1 << 15)
def _closure(
    elements: frozenset[int] | None, stated: tuple[tuple[str, Range], ...], site: Site, strict: bool
) -> Ranges:
    element = next(iter(elements)) if elements and len(elements) == 1 else None
    r: Ranges = {
        "charge": (-math.inf, math.inf),
        "hydrogens": (0.0, math.inf),
        "degree": (float(site.n), math.inf),
        "connections": (float(site.n), math.inf),
        "aromatic": (1.0 if site.aromatic else 0.0, 1.0),
        "ring": (1.0 if site.cycle else 0.0, 1.0),
    }
    for key, value in stated:
        r[key] = _both(r[key], value)
    if strict and elements is not None and not elements & AROMATIC_ELEMENTS:
        r["aromatic"] = _both(r["aromatic"], (0.0, 0.0))
    while True:
        before = tuple(r.values())
        _rings_and_counts(r, strict)
        if strict and element in VALENCES:
            _valence(r, VALENCES[element], site)
        if strict and site.maybe + r["degree"][1] - site.n < 2:  # an aromatic atom has two aromatic bonds
            r["aromatic"] = _both(r["aromatic"], (0.0, 0.0))
        if tuple(r.values()) == before or any(low > high for low, high in r.values()):
            return r


def _rings_and_counts(r: Ranges, strict: bool) -> None:
    if r["aromatic"][0] == 1:
        r["ring"] = _both(r["ring"], (1.0, 1.0))
        if strict:
            r["connections"] = _both(r["connections"], (0.0, 3.0))
    if r["ring"][0] == 1:
        r["degree"] = _both(r["degree"], (2.0, math.inf))
    if r["degree"][1] <= 1:
        r["ring"] = _both(r["ring"], (0.0, 0.0))
    if r["ring"][1] == 0:
        r["aromatic"] = _both(r["aromatic"], (0.0, 0.0))
    if not strict:
        return
    (hl, hh), (dl, dh), (xl, xh) = r["hydrogens"], r["degree"], r["connections"]
    r["connections"] = _both((xl, xh), (hl + dl, hh + dh))
    r["degree"] = _both((dl, dh), (xl - hh, xh - hl))
    r["hydrogens"] = _both((hl, hh), (xl - dh, xh - dl))
    if r["connections"][0] > 3:
        r["aromatic"] = _both(r["aromatic"], (0.0, 0.0))


def _valence(r: Ranges, valences: Mapping[int, int], site: Site) -> None:
    """Count bonds: those of the pattern by their order, the others at least once."""
    further = max(0.0, r["degree"][0] - site.n)
    used = r["hydrogens"][0] + site.orders + further
    low, high = r["charge"]
    charges = [charge for charge, most in valences.items() if most >= used and low <= charge <= high]
    if not charges:
        return  # no such atom exists
    r["charge"] = (float(min(charges)), float(max(charges)))
    most = max(valences[charge] for charge in charges)
    r["degree"] = _both(r["degree"], (0.0, site.n + most - site.orders - r["hydrogens"][0]))
    r["hydrogens"] = _both(r["hydrogens"], (0.0, most - site.orders - further))


@lru_cache(maxsize=1 << 15)
def _needed(
    elements: frozenset[int] | None, stated: tuple[tuple[str, Range], ...], site: Site, strict: bool
) -> Ranges:
    kept = dict(stated)
    if any(low > high for low, high in closure(elements, kept, site, strict).values()):
        return kept  # matches nothing: everything follows, so that nothing may be left out
    for key in _LEAVE_OUT:
        if key in kept:
            rest = {k: value for k, value in kept.items() if k != key}
            if inside(closure(elements, rest, site, strict)[key], kept[key]):
                kept = rest
    return kept


def on_cycles(edges: Sequence[tuple[int, int]]) -> frozenset[int]:
    """Return the nodes that lie on a cycle of an undirected graph; loops are none."""
    if len(edges) < 3:
        return frozenset()
    import networkx as nx  # takes a while to load, and most programs of the first words have no ring

    graph = nx.Graph(edge for edge in edges if edge[0] != edge[1])
    bridges = {frozenset(edge) for edge in nx.bridges(graph)}
    return frozenset(v for edge in graph.edges if frozenset(edge) not in bridges for v in edge)


# --- reading programs -------------------------------------------------------------------------------------


def is_chemical(schema: Schema | None) -> bool:
    """Whether a schema describes molecules and names their atoms by element."""
    if schema is None or schema.domain != "molecule":
        return False
    return any(f.name == "atom" and f.values and set(f.values.values()) <= set(ELEMENTS) for f in schema.node)


def read_pattern(program: Program, schema: Schema) -> Pattern:
    """Return what a program says of atoms and bonds. The schema must be chemical, see `is_chemical`."""
    names = {feature.name for feature in schema.node}
    implicit = "hybridisation" in names  # the Open Graph Benchmark's features: degree counts hydrogens
    atoms = [
        read_atom(node.intervals, schema.node, implicit, f"node {node.variable}") for node in program.nodes
    ]
    bonds = {
        ends: read_bond(vector, schema.edge, f"edge ({', '.join(program.variables[v] for v in ends)})")
        for ends, vectors in merged_edges(program).items()
        for vector in vectors
    }
    return Pattern(atoms, bonds, {"hydrogens", "charge"} <= names, implicit)


def read_atom(
    intervals: Intervals | None, features: Sequence[Feature], implicit: bool, where: str = "node"
) -> Atom:
    """Return what the intervals of a node say."""
    elements, stated, others = None, {}, []
    for feature, interval in _pairs(intervals, features, where):
        if feature.name == "atom":
            if interval.lower == interval.upper and interval.lower in feature.values:
                elements = frozenset({_NUMBERS[feature.values[interval.lower]]})
                continue
            names = frozenset(_NUMBERS[name] for value, name in feature.values.items() if value in interval)
            if len(names) == len(feature.values):
                continue
            if 0.0 in interval and all(value == _NUMBERS[name] for value, name in feature.values.items()):
                names |= {0}  # atomic numbers as they are: 0 is a dummy atom
            if names:
                elements = names
            else:
                others.append((feature, interval))
        elif (found := _range(feature, interval, implicit)) is not None:
            if found[1] is not None:
                stated[found[0]] = found[1]
        else:
            others.append((feature, interval))
    return Atom(elements, stated, tuple(others))


def _range(feature: Feature, interval: Interval, implicit: bool) -> tuple[str, Range | None] | None:
    """Return the key of a feature and the range of whole numbers; None in place of one that says nothing."""
    low, high = interval
    if feature.name in ("aromatic", "ring") and list(feature.values.values()) == ["no", "yes"]:
        flags = [float(name == "yes") for value, name in sorted(feature.values.items()) if value in interval]
        if not flags:
            return None
        return feature.name, None if len(flags) == 2 else (flags[0], flags[0])
    if feature.name == "charge":
        named = ((value, name) for value, name in feature.values.items() if name.lstrip("+-").isdigit())
        shift = next((value - int(name) for value, name in named), 0.0)
        low, high = low - shift, high - shift
    elif feature.name in ("hydrogens", "degree"):
        low = max(low, 0.0)
        if low == 0 and high == math.inf:
            return feature.name, None
    else:
        return None
    low, high = (
        (math.ceil(low) if math.isfinite(low) else low),
        (math.floor(high) if math.isfinite(high) else high),
    )
    if low > high:
        return None
    key = "connections" if feature.name == "degree" and implicit else feature.name
    return key, (float(low), float(high))


def read_bond(intervals: Intervals | None, features: Sequence[Feature], where: str = "edge") -> Bond:
    """Return what the intervals of an edge say."""
    types, others = frozenset(TYPES), []
    for feature, interval in _pairs(intervals, features, where):
        if feature.name == "bond" and feature.values and set(feature.values.values()) <= set(_BONDS):
            kinds = frozenset(_BONDS[name] for value, name in feature.values.items() if value in interval)
            if not kinds:
                others.append((feature, interval))
            elif len(kinds) < len(feature.values):
                types = kinds
        else:
            others.append((feature, interval))
    return Bond(types, tuple(others))


def _pairs(
    intervals: Intervals | None, features: Sequence[Feature], where: str
) -> list[tuple[Feature, Interval]]:
    if intervals is None:
        return []
    if len(intervals) != len(features):
        raise ProgramError(f"{where}: expected {len(features)} intervals, got {len(intervals)}")
    pairs = zip(features, intervals, strict=True)
    return [(f, i) for f, i in pairs if i.lower != -math.inf or i.upper != math.inf]
