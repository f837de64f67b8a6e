"""Programs as SMARTS, for chemical schemas: what the intervals say in the words of chemists' tools.

SMARTS has words for element, connections, hydrogens, charge, hybridisation, aromaticity, rings and bonds, and
conjugation can be said by what stands around a bond. It has none for the winding of a stereo centre, radical
electrons or the stereo of a bond; where a program speaks of those, no SMARTS finds the same molecules. Atoms
with non-tetrahedral stereo (``@SP`` and the like, the only ones with hybridisation sp2d or chirality "other")
are left aside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from gdlnn.errors import ProgramError
from gdlnn.gdl.conjugation import AROMATIC, DOUBLE, OTHER, SINGLE, TRIPLE, TYPES, Alternative, alternatives
from gdlnn.graphs.molecules import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gdlnn.gdl.program import EdgeDescription, Interval, Intervals, Program
    from gdlnn.graphs import Feature, Schema

NOT_IN_SMARTS = ("chirality", "radicals", "stereo")
"""Features that SMARTS has no words for; `mine(…, ignore=NOT_IN_SMARTS)` finds programs without them."""
MAX_LISTED = 16
"""Most values of a feature without named values that are listed one by one."""
MAX_ALTERNATIVES = 256
"""Most ways for the bonds of a program to be conjugated or not that are written out."""
_HYBRIDISATIONS = {"s": "^0", "sp": "^1", "sp2": "^2", "sp3": "^3", "sp3d": "^4", "sp3d2": "^5"}
_BONDS = {"single": SINGLE, "double": DOUBLE, "triple": TRIPLE, "aromatic": AROMATIC, "other": OTHER}
# Values that only atoms with non-tetrahedral stereo have.
_RARE = {"hybridisation": ("sp2d", "other"), "chirality": ("other",)}


class _InexactError(Exception):
    """A condition for which SMARTS has no words."""


def to_smarts(program: Program, schema: Schema, *, exact: bool = True) -> str:
    """Return a SMARTS that RDKit finds in the molecules the program matches.

    Where conjugation makes alternatives, the SMARTS is one atom with one alternative or another around it: it
    finds the same molecules, and of each the first atom alone.

    Parameters
    ----------
    program
        The program.
    schema
        What the features of the molecules are called.
    exact
        Refuse a condition that SMARTS has no words for. False leaves such conditions out: the SMARTS then
        finds these molecules and perhaps others.

    Raises
    ------
    ProgramError
        Where the schema is not one of molecules, or `exact` asks for what cannot be said.
    """
    if schema.domain != "molecule" or all(feature.name != "atom" for feature in schema.node):
        raise ProgramError("to_smarts: expected the schema of molecules, with a feature atom, got another")
    merged = program.canonical(directed=False)
    if not merged.nodes:
        raise ProgramError("to_smarts: expected at least one node, got the empty program")
    atoms = {
        node.variable: _atom_words(node.intervals, schema.node, f"node {node.variable}", exact)
        for node in merged.nodes
    }
    bonds = {edge: _bond_ways(edge, schema.edge, exact) for edge in merged.edges}
    number = math.prod(map(len, bonds.values()))
    if number > MAX_ALTERNATIVES:
        if exact:
            raise ProgramError(
                f"to_smarts: expected at most {MAX_ALTERNATIVES} ways for bonds to be conjugated or not, "
                f"got {number}; exact=False leaves conjugation out"
            )
        bonds = {edge: [Alternative("", _types(ways), "")] for edge, ways in bonds.items()}
    lines = [_written(atoms, dict(zip(bonds, ways, strict=True))) for ways in product(*bonds.values())]
    return lines[0] if len(lines) == 1 else f"[{','.join(f'$({line})' for line in lines)}]"


def _types(ways: list[Alternative]) -> frozenset[str]:
    return frozenset().union(*(way.types for way in ways))


# --- bonds ------------------------------------------------------------------------------------------------


def _bond_ways(edge: EdgeDescription, features: Sequence[Feature], exact: bool) -> list[Alternative]:
    """Return the ways for a bond to be as its intervals ask: one, unless they speak of conjugation."""
    where = f"edge ({edge.source}, {edge.target})"
    if edge.source == edge.target:
        raise ProgramError(f"to_smarts: {where}: SMARTS has no self-loops")
    types, conjugated = frozenset(TYPES), None
    for feature, interval in _conditions(edge.intervals, features, where):
        if feature.name == "bond" and set(feature.values.values()) <= set(_BONDS):
            kinds = {value: _BONDS[name] for value, name in feature.values.items()}
            types = frozenset(kind for value, kind in kinds.items() if value in interval)
        elif feature.name == "conjugated" and feature.values:
            inside = [name for value, name in feature.values.items() if value in interval]
            conjugated = inside == ["yes"]
        elif not (feature.name == "stereo" and 0.0 in interval and DOUBLE not in types):
            # Bonds that are not double have no stereo, so that "none" says nothing of them.
            _refuse(feature, interval, where, exact)
    if not types:
        raise ProgramError(
            f"to_smarts: {where}: expected an interval that some bond lies in, got one without"
        )
    return [Alternative("", types, "")] if conjugated is None else alternatives(types, conjugated)


def _bond(types: frozenset[str]) -> str:
    if types == frozenset(TYPES):
        return "~"
    if OTHER in types:  # told by what it is not
        return "&".join(f"!{kind}" for kind in TYPES if kind not in types)
    return ",".join(kind for kind in TYPES if kind in types)


# --- conditions -------------------------------------------------------------------------------------------


def _conditions(
    intervals: Intervals | None, features: Sequence[Feature], where: str
) -> list[tuple[Feature, Interval]]:
    """Return the features whose interval leaves out some value they can have."""
    if intervals is None:
        return []
    if len(intervals) != len(features):
        raise ProgramError(f"to_smarts: {where}: expected {len(features)} intervals, got {len(intervals)}")
    return [pair for pair in zip(features, intervals, strict=True) if not _says_nothing(*pair)]


def _refuse(feature: Feature, interval: Interval, where: str, exact: bool) -> None:
    """Raise where an exact SMARTS is asked for; else the condition is left out."""
    if exact:
        bounds = f"[{interval.lower:g}, {interval.upper:g}]"
        raise ProgramError(
            f"to_smarts: {where}: SMARTS has no words for {feature.name} in {bounds}; "
            "exact=False leaves such conditions out"
        )


def _atom_words(
    intervals: Intervals | None, features: Sequence[Feature], where: str, exact: bool
) -> list[str]:
    """Return what the intervals of a node ask for, feature by feature."""
    found = []
    for feature, interval in _conditions(intervals, features, where):
        try:
            found.append(_ATOM_WORDS.get(feature.name, _no_words)(feature, interval))
        except _InexactError:
            _refuse(feature, interval, where, exact)
    return found


def _says_nothing(feature: Feature, interval: Interval) -> bool:
    """Whether every value the feature can have lies in the interval."""
    if feature.values:
        common = [v for v, name in feature.values.items() if name not in _RARE.get(feature.name, ())]
        return interval.lower <= min(common) and interval.upper >= max(common)
    return interval.lower <= 0 and math.isinf(interval.upper)  # counts


def _no_words(_feature: Feature, _interval: Interval) -> str:
    raise _InexactError


def _listed(inside: Iterable[str], outside: Iterable[str]) -> str:
    """Say which of the words hold, or which do not: the shorter."""
    yes, no = list(inside), list(outside)
    if not yes:
        raise ProgramError("to_smarts: expected an interval that some value lies in, got one without")
    return ",".join(yes) if len(yes) <= len(no) else "&".join(f"!{word}" for word in no)


def _by_value(feature: Feature, interval: Interval, word: Callable[[str], str]) -> str:
    """Say which of the named values hold."""
    inside: list[str] = []
    outside: list[str] = []
    for value, name in feature.values.items():
        (inside if value in interval else outside).append(word(name))
    return _listed(inside, outside)


def _element(feature: Feature, interval: Interval) -> str:
    numbers = {value: ELEMENTS.index(name) + 1 for value, name in feature.values.items() if name in ELEMENTS}
    if len(numbers) < len(feature.values):
        raise _InexactError  # a value that is no element
    if all(value == number for value, number in numbers.items()):
        numbers[0.0] = 0  # atomic numbers as they are: 0 is a dummy atom
    inside = [f"#{number}" for value, number in sorted(numbers.items()) if value in interval]
    outside = [f"#{number}" for value, number in sorted(numbers.items()) if value not in interval]
    return _listed(inside, outside)


def _count(letter: str) -> Callable[[Feature, Interval], str]:
    """Return the words for a count, which is 0 or more."""

    def words(_feature: Feature, interval: Interval) -> str:
        low = max(0, math.ceil(interval.lower)) if math.isfinite(interval.lower) else 0
        if math.isinf(interval.upper):
            return "&".join(f"!{letter}{n}" for n in range(low))
        high = math.floor(interval.upper)
        if high - low >= MAX_LISTED:
            raise _InexactError
        return _listed([f"{letter}{n}" for n in range(low, high + 1)], [""] * (MAX_LISTED + 1))

    return words


def _charge(feature: Feature, interval: Interval) -> str:
    return _by_value(feature, interval, lambda name: f"{int(name):+d}")


def _hybridisation(feature: Feature, interval: Interval) -> str:
    inside: list[str] = []
    outside: list[str] = []
    unspecified_inside = False
    for value, name in feature.values.items():
        if name in _HYBRIDISATIONS:
            (inside if value in interval else outside).append(_HYBRIDISATIONS[name])
        elif name == "unspecified":
            unspecified_inside = value in interval
    # An atom without hybridisation can only be told by what it is not.
    if unspecified_inside:
        return "&".join(f"!{word}" for word in outside)
    return _listed(inside, [""] * MAX_LISTED)


def _yes_no(yes: str, no: str) -> Callable[[Feature, Interval], str]:
    def words(feature: Feature, interval: Interval) -> str:
        return _by_value(feature, interval, lambda name: {"yes": yes, "no": no}[name])

    return words


_ATOM_WORDS: dict[str, Callable[[Feature, Interval], str]] = {
    "atom": _element,
    "degree": _count("X"),
    "charge": _charge,
    # RDKit's h counts the hydrogens that are no atoms of their own, as the feature does.
    "hydrogens": _count("h"),
    "hybridisation": _hybridisation,
    "aromatic": _yes_no("a", "A"),
    "ring": _yes_no("R", "R0"),
}


# --- writing ----------------------------------------------------------------------------------------------


@dataclass
class _Tree:
    """A program as a tree, depth first: the bonds along it, and the numbers of those that close rings."""

    roots: list[str] = field(default_factory=list)
    branches: dict[str, list[tuple[EdgeDescription, str]]] = field(default_factory=dict)
    closures: dict[str, list[tuple[EdgeDescription, int]]] = field(default_factory=dict)


def _written(atoms: dict[str, list[str]], bonds: dict[EdgeDescription, Alternative]) -> str:
    """Write the pattern as a line: depth first, rings closed by numbers, components apart by dots."""
    words = {variable: list(listed) for variable, listed in atoms.items()}
    for edge, way in bonds.items():
        words[edge.source] += [way.source] if way.source else []
        words[edge.target] += [way.target] if way.target else []
    tree = _tree(list(atoms), list(bonds))

    def line(variable: str) -> str:
        # The same condition may come from several bonds.
        listed = list(dict.fromkeys(words[variable]))
        text = f"[{';'.join(listed)}]" if listed else "*"
        for edge, number in tree.closures[variable]:
            text += _bond(bonds[edge].types) + (str(number) if number < 10 else f"%{number}")
        branches = [_bond(bonds[edge].types) + line(other) for edge, other in tree.branches[variable]]
        return text + "".join(f"({branch})" for branch in branches[:-1]) + "".join(branches[-1:])

    return ".".join(map(line, tree.roots))


def _tree(variables: list[str], edges: list[EdgeDescription]) -> _Tree:
    """Find a tree over every component, and number the bonds that it leaves out."""
    tree = _Tree(branches={v: [] for v in variables}, closures={v: [] for v in variables})
    seen: set[str] = set()
    used: set[EdgeDescription] = set()
    n_closures = 0

    def visit(variable: str) -> None:
        nonlocal n_closures
        seen.add(variable)
        for edge in edges:
            if edge in used or variable not in (edge.source, edge.target):
                continue
            used.add(edge)
            other = edge.target if edge.source == variable else edge.source
            if other in seen:
                n_closures += 1
                tree.closures[variable].append((edge, n_closures))
                tree.closures[other].append((edge, n_closures))
            else:
                tree.branches[variable].append((edge, other))
                visit(other)

    for variable in variables:
        if variable not in seen:
            tree.roots.append(variable)
            visit(variable)
    return tree
