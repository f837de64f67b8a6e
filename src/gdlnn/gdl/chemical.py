"""Programs over molecules as atoms and bonds with conditions, whatever features their schema has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gdlnn.errors import ProgramError
from gdlnn.gdl.atoms import AROMATIC, DOUBLE, OTHER, SINGLE, TRIPLE, TYPES, Atom, Bond, Pattern
from gdlnn.gdl.canonical import merged_edges
from gdlnn.graphs.molecules import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.gdl.atoms import Range
    from gdlnn.gdl.program import Interval, Intervals, Program
    from gdlnn.graphs import Feature, Schema

_BONDS = {"single": SINGLE, "double": DOUBLE, "triple": TRIPLE, "aromatic": AROMATIC, "other": OTHER}


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


_NUMBERS = {name: number for number, name in enumerate(ELEMENTS, 1)}


def _range(feature: Feature, interval: Interval, implicit: bool) -> tuple[str, Range | None] | None:
    """Return the key of a feature and the range of whole numbers; None in place of one that says nothing."""
    low, high = interval
    if feature.name in ("aromatic", "ring") and list(feature.values.values()) == ["no", "yes"]:
        flags = [float(name == "yes") for value, name in sorted(feature.values.items()) if value in interval]
        if not flags:
            return None
        return feature.name, None if len(flags) == 2 else (flags[0], flags[0])
    if feature.name == "charge":
        shift = next((value - int(name) for value, name in feature.values.items() if _is_whole(name)), 0.0)
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


def _is_whole(text: str) -> bool:
    return text.lstrip("+-").isdigit()


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
