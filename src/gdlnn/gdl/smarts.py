"""Programs as SMARTS, for chemical schemas: what the intervals say in the words of chemists' tools.

SMARTS has words for element, connections, hydrogens, charge, hybridisation, aromaticity, rings and bonds.
It has none for the winding of a stereo centre, radical electrons, conjugation or the stereo of a bond; where
a program speaks of those there is no SMARTS that finds the same molecules. Atoms with non-tetrahedral stereo
(``@SP`` and the like, the only ones with hybridisation sp2d or chirality "other") are left aside.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gdlnn.errors import ProgramError
from gdlnn.graphs.molecules import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gdlnn.gdl.program import EdgeDescription, Interval, Program
    from gdlnn.graphs import Feature, Schema

MAX_LISTED = 16
"""Most values of a feature without named values that are listed one by one."""
_HYBRIDISATIONS = {"s": "^0", "sp": "^1", "sp2": "^2", "sp3": "^3", "sp3d": "^4", "sp3d2": "^5"}
_BONDS = {"single": "-", "double": "=", "triple": "#", "aromatic": ":"}
_OTHER_BOND = "!-&!=&!#&!:"
# Values that only atoms with non-tetrahedral stereo have.
_RARE = {"hybridisation": ("sp2d", "other"), "chirality": ("other",)}


class _InexactError(Exception):
    """A condition for which SMARTS has no words."""


def to_smarts(program: Program, schema: Schema, *, exact: bool = True) -> str:
    """Return a SMARTS that RDKit finds in the molecules the program matches.

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
    names = {feature.name for feature in schema.node}
    if schema.domain != "molecule" or "atom" not in names:
        raise ProgramError(
            "to_smarts: expected the schema of molecules, with a node feature atom, got another"
        )
    merged = program.canonical(directed=False)
    if not merged.nodes:
        raise ProgramError("to_smarts: expected at least one node, got the empty program")
    for edge in merged.edges:
        if edge.source == edge.target:
            raise ProgramError(f"to_smarts: edge ({edge.source}, {edge.target}): SMARTS has no self-loops")
    atoms = {
        node.variable: _atom(
            _conditions(node.intervals, schema.node, _ATOM_WORDS, f"node {node.variable}", exact)
        )
        for node in merged.nodes
    }
    bonds = {
        edge: _bond(_conditions(edge.intervals, schema.edge, _BOND_WORDS, _name(edge), exact))
        for edge in merged.edges
    }
    return _written(atoms, bonds)


def _name(edge: EdgeDescription) -> str:
    return f"edge ({edge.source}, {edge.target})"


def _atom(conditions: list[str]) -> str:
    return (
        f"[{';'.join(['*', *conditions] if conditions and conditions[0][:1] in 'Hh' else conditions)}]"
        if conditions
        else "*"
    )


def _bond(conditions: list[str]) -> str:
    return ";".join(conditions) if conditions else "~"


# --- conditions -------------------------------------------------------------------------------------------


def _conditions(
    intervals: Sequence[Interval] | None,
    features: Sequence[Feature],
    words: dict[str, Callable[[Feature, Interval], str]],
    where: str,
    exact: bool,
) -> list[str]:
    """Return what the intervals of a node or an edge ask for, feature by feature."""
    if intervals is None:
        return []
    if len(intervals) != len(features):
        raise ProgramError(f"to_smarts: {where}: expected {len(features)} intervals, got {len(intervals)}")
    found = []
    for feature, interval in zip(features, intervals, strict=True):
        if _says_nothing(feature, interval):
            continue
        try:
            found.append(words.get(feature.name, _no_words)(feature, interval))
        except _InexactError:
            if exact:
                bounds = f"[{interval.lower:g}, {interval.upper:g}]"
                raise ProgramError(
                    f"to_smarts: {where}: SMARTS has no words for {feature.name} in {bounds}; "
                    "exact=False leaves such conditions out"
                ) from None
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


def _bond_type(feature: Feature, interval: Interval) -> str:
    inside: list[str] = []
    outside: list[str] = []
    for value, name in feature.values.items():
        if name not in _BONDS and name != "other":
            raise _InexactError
        (inside if value in interval else outside).append(_BONDS.get(name, _OTHER_BOND))
    if _OTHER_BOND in inside:
        return "&".join(f"!{word}" for word in outside)
    return ",".join(inside)


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
_BOND_WORDS: dict[str, Callable[[Feature, Interval], str]] = {"bond": _bond_type}


# --- writing ----------------------------------------------------------------------------------------------


def _written(atoms: dict[str, str], bonds: dict[EdgeDescription, str]) -> str:
    """Write the pattern as a line: depth first, rings closed by numbers, components apart by dots."""
    around: dict[str, list[EdgeDescription]] = {variable: [] for variable in atoms}
    for edge in bonds:
        around[edge.source].append(edge)
        around[edge.target].append(edge)
    seen: set[str] = set()
    tree: dict[str, list[tuple[EdgeDescription, str]]] = {variable: [] for variable in atoms}
    closures: dict[str, list[str]] = {variable: [] for variable in atoms}
    roots = []
    for variable in atoms:
        if variable not in seen:
            roots.append(variable)
            _walk(variable, around, bonds, seen, tree, closures)
    return ".".join(_line(root, atoms, bonds, tree, closures) for root in roots)


def _walk(
    root: str,
    around: dict[str, list[EdgeDescription]],
    bonds: dict[EdgeDescription, str],
    seen: set[str],
    tree: dict[str, list[tuple[EdgeDescription, str]]],
    closures: dict[str, list[str]],
) -> None:
    """Find a tree over one component, depth first, and number the bonds that it leaves out."""
    used: set[EdgeDescription] = set()

    def visit(variable: str) -> None:
        seen.add(variable)
        for edge in around[variable]:
            if edge in used:
                continue
            other = edge.target if edge.source == variable else edge.source
            used.add(edge)
            if other in seen:
                number = sum(map(len, closures.values())) // 2 + 1
                digit = str(number) if number < 10 else f"%{number}"
                closures[other].append(f"{bonds[edge]}{digit}")
                closures[variable].append(f"{bonds[edge]}{digit}")
            else:
                tree[variable].append((edge, other))
                visit(other)

    visit(root)


def _line(
    variable: str,
    atoms: dict[str, str],
    bonds: dict[EdgeDescription, str],
    tree: dict[str, list[tuple[EdgeDescription, str]]],
    closures: dict[str, list[str]],
) -> str:
    branches = [
        f"{bonds[edge]}{_line(other, atoms, bonds, tree, closures)}" for edge, other in tree[variable]
    ]
    inner = "".join(f"({branch})" for branch in branches[:-1])
    return f"{atoms[variable]}{''.join(closures[variable])}{inner}{branches[-1] if branches else ''}"
