"""Convert programs over molecules to SMARTS.

SMARTS can express element, neighbors, hydrogens, charge, hybridisation, aromaticity, rings and bonds. It
cannot express the winding of a stereo center, radical electrons, the stereo of a bond or its conjugation; a
program with such conditions has no equivalent SMARTS.
Conditions that follow from others are left out, see `gdlnn.gdl.atoms`. Atoms with non-tetrahedral stereo
(``@SP`` and the like, the only ones with hybridisation sp2d or chirality "other") are left aside.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gdlnn.errors import ProgramError
from gdlnn.gdl.atoms import (
    AROMATIC,
    AROMATIC_ELEMENTS,
    DOUBLE,
    KEYS,
    OTHER,
    SINGLE,
    TYPES,
    closure,
    is_chemical,
    read_pattern,
)
from gdlnn.graphs.molecules import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdlnn.gdl.atoms import Atom, Bond, Pattern, Range, Ranges, Site
    from gdlnn.gdl.program import Interval, Program
    from gdlnn.graphs import Feature, Schema

NOT_IN_SMARTS = ("chirality", "radicals", "stereo", "conjugated")
"""Features that SMARTS cannot express; `mine(…, ignore=NOT_IN_SMARTS)` finds programs without them."""
MAX_LISTED = 16
"""Maximum number of values listed one by one."""
_HYBRIDIZATIONS = {"s": "^0", "sp": "^1", "sp2": "^2", "sp3": "^3", "sp3d": "^4", "sp3d2": "^5"}
# Values that only atoms with non-tetrahedral stereo have.
_RARE = {"hybridisation": ("sp2d", "other"), "chirality": ("other",)}
_CHARGES = (-5.0, 9.0)  # formal charges lie in this range
_ORGANIC = frozenset("B C N O P S F Cl Br I b c n o p s a A *".split())  # noqa: SIM905 - need no brackets


Ends = tuple[int, int]
Words = list[str]


def to_smarts(program: Program, schema: Schema, *, exact: bool = True) -> str:
    """Return a SMARTS that RDKit finds in the molecules the program matches.

    Parameters
    ----------
    program
        The program.
    schema
        The names of the features of the molecules.
    exact
        Refuse a condition that SMARTS cannot express. False leaves such conditions out: the SMARTS then
        finds these molecules and perhaps others.

    Raises
    ------
    ProgramError
        If it is not a molecule schema, or a condition cannot be expressed and `exact` is set.
    """
    if not is_chemical(schema):
        raise ProgramError("to_smarts: expected a molecule schema, with a feature named atom")
    merged = program.canonical(directed=False)
    if not merged.nodes:
        raise ProgramError("to_smarts: expected at least one node, got the empty program")
    try:
        pattern = read_pattern(merged, schema)
    except ProgramError as error:
        raise ProgramError(f"to_smarts: {error}") from error
    names = merged.variables
    others = [_other_words(atom, f"node {names[v]}", exact) for v, atom in enumerate(pattern.atoms)]
    for ends, bond in pattern.bonds.items():
        _check_bond(bond, f"edge ({names[ends[0]]}, {names[ends[1]]})", exact, ends)
    return _written(pattern, others)


# --- conditions that nothing follows from -----------------------------------------------------------------


def _check_bond(bond: Bond, where: str, exact: bool, ends: Ends) -> None:
    """Refuse a bond with conditions that SMARTS cannot express."""
    if ends[0] == ends[1]:
        raise ProgramError(f"to_smarts: {where}: SMARTS has no self-loops")
    for feature, interval in bond.others:
        if _says_nothing(feature, interval):
            continue
        if feature.name == "bond" and feature.values:
            raise ProgramError(f"to_smarts: {where}: expected an interval that contains a value of some bond")
        # Bonds that are not double have no stereo, and aromatic ones are conjugated.
        no_stereo = feature.name == "stereo" and 0.0 in interval and DOUBLE not in bond.types
        conjugated = feature.name == "conjugated" and 1.0 in interval and bond.types == {AROMATIC}
        if not (no_stereo or conjugated):
            _refuse(feature, interval, where, exact)


def _refuse(feature: Feature, interval: Interval, where: str, exact: bool) -> None:
    """Raise if an exact SMARTS is requested; else the condition is left out."""
    if exact:
        bounds = f"[{interval.lower:g}, {interval.upper:g}]"
        raise ProgramError(
            f"to_smarts: {where}: SMARTS cannot express {feature.name} in {bounds}; "
            "exact=False leaves such conditions out"
        )


def _other_words(atom: Atom, where: str, exact: bool) -> Words:
    found = []
    for feature, interval in atom.others:
        if _says_nothing(feature, interval):
            continue
        if feature.name == "hybridisation" and feature.values:
            found.append(_hybridization(feature, interval))
        else:
            _refuse(feature, interval, where, exact)
    return found


def _says_nothing(feature: Feature, interval: Interval) -> bool:
    """Whether every value the feature can have lies in the interval."""
    if feature.values:
        common = [v for v, name in feature.values.items() if name not in _RARE.get(feature.name, ())]
        return interval.lower <= min(common) and interval.upper >= max(common)
    return interval.lower <= 0 and math.isinf(interval.upper)  # counts


def _hybridization(feature: Feature, interval: Interval) -> str:
    inside: Words = []
    outside: Words = []
    unspecified_inside = False
    for value, name in feature.values.items():
        if name in _HYBRIDIZATIONS:
            (inside if value in interval else outside).append(_HYBRIDIZATIONS[name])
        elif name == "unspecified":
            unspecified_inside = value in interval
    # An atom without hybridisation can only be described by excluding the others.
    return "&".join(f"!{word}" for word in outside) if unspecified_inside else _listed(inside, None)


def _listed(inside: Iterable[str], outside: Iterable[str] | None) -> str:
    """List the words that hold or those that do not, whichever is shorter."""
    yes = ",".join(inside)
    if outside is None:
        if not yes:
            raise ProgramError("to_smarts: expected an interval that contains some value")
        return yes
    no = "".join(f"!{word}" for word in outside)
    return no if not yes or (no and len(no) < len(yes)) else yes


# --- atoms ------------------------------------------------------------------------------------------------


def _atom(atom: Atom, needed: Ranges, symbol: str, site: Site, pattern: Pattern, others: Words) -> str:
    """Write an atom: its needed conditions, with numbers only if they are not implied."""
    words = []
    for key in KEYS:
        if key in needed and key != "aromatic":
            rest = {k: value for k, value in needed.items() if k != key}
            context = closure(atom.elements, rest, site, pattern.strict)[key]
            words.append(_number(key, needed[key], context, pattern.implicit))
    words.sort(key=lambda word: "HhDXR+-".find(word.lstrip("!")[:1]))
    if symbol and "," not in symbol and words and words[0] == "H1":
        words[0] = "H"  # alone it would be the element
    words = [*([symbol] if symbol else []), *words, *dict.fromkeys(others)]
    if not words:
        return "*"
    if len(words) == 1 and words[0] in _ORGANIC:
        return words[0]
    unlisted = [word for word in words if "," not in word]
    # A comma binds weaker than what is written side by side, and a semicolon weaker than a comma.
    joined = (";" if any(set("$&h^") & set(word) for word in unlisted) else "").join(unlisted)
    return f"[{';'.join(filter(None, (joined, *(word for word in words if ',' in word))))}]"


def _symbol(atom: Atom, aromatic: Range, needed: bool) -> str:
    number = atom.element
    certain = aromatic[0] == aromatic[1]
    if number and number > 1 and certain:
        name = ELEMENTS[number - 1]
        if aromatic[0] == 0:
            return name
        if number in AROMATIC_ELEMENTS:
            return name.lower()
    flag = ("a" if aromatic[0] else "A") if needed else ""
    if atom.elements is None:
        return flag
    inside = [f"#{n}" for n in sorted(atom.elements)]
    outside = [f"#{n}" for n in range(len(ELEMENTS) + 1) if n not in atom.elements]
    words = _listed(inside, outside)
    return f"{words};{flag}" if flag and "," in words else words + flag


def _number(key: str, wanted: Range, context: Range, implicit: bool) -> str:
    """Express that a number lies in a range; the context is the range it is already known to lie in."""
    if key == "ring":
        return "R" if wanted[0] else "R0"
    if key == "charge":
        context = max(context[0], _CHARGES[0]), min(context[1], _CHARGES[1])
        letters = _charge
    else:
        letter = {"hydrogens": "h" if implicit else "H", "degree": "D", "connections": "X"}[key]

        def letters(n: int) -> str:
            return f"{letter}{n}"

    low, high = max(wanted[0], context[0]), min(wanted[1], context[1])
    if low > high:  # contradicts the rest: the program matches nothing
        low, high = (max(wanted[0], _CHARGES[0]), min(wanted[1], _CHARGES[1])) if key == "charge" else wanted
        context = low, high
    above = range(int(high) + 1, int(context[1]) + 1) if math.isfinite(context[1]) else None
    outside = (
        None if above is None and math.isfinite(high) else [*range(int(context[0]), int(low)), *(above or ())]
    )
    if math.isinf(high):
        return "".join(f"!{letters(n)}" for n in range(int(context[0]), int(low)))
    if high - low >= MAX_LISTED:
        raise ProgramError(
            f"to_smarts: expected at most {MAX_LISTED} values of {key}, got {high - low + 1:g}"
        )
    inside = (letters(n) for n in range(int(low), int(high) + 1))
    return _listed(inside, None if outside is None else (letters(n) for n in outside))


def _charge(n: int) -> str:
    return "+0" if n == 0 else f"{'+' if n > 0 else '-'}{abs(n) if abs(n) > 1 else ''}"


# --- bonds ------------------------------------------------------------------------------------------------


def _bond(types: frozenset[str], first: Ranges, second: Ranges, sure: bool) -> str:
    """Write a bond. No sign means single or aromatic, which is enough where only one of them is possible.

    `sure` says that both atoms are written as aromatic ones.
    """
    possible = first["aromatic"][1] == second["aromatic"][1] == 1
    if types == {SINGLE, AROMATIC} or (types == {SINGLE} and not possible):
        return ""
    # An aromatic atom with two neighbors has no other bonds than aromatic ones.
    if types == {AROMATIC} and sure and min(first["degree"][1], second["degree"][1]) <= 2:
        return ""
    if types == frozenset(TYPES):
        return "~"
    if OTHER in types:  # described by excluding the others
        return "&".join(f"!{kind}" for kind in TYPES if kind not in types)
    return ",".join(kind for kind in TYPES if kind in types)


# --- writing ----------------------------------------------------------------------------------------------


def _written(pattern: Pattern, others: list[Words]) -> str:
    """Write a pattern as a line: depth first, rings closed by numbers, components apart by dots."""
    needed, known, texts, aromatic_symbols = pattern.needed(), [], [], []
    for v, atom in enumerate(pattern.atoms):
        aromatic = atom.stated.get("aromatic", pattern.closed(v)["aromatic"])
        symbol = _symbol(atom, aromatic, "aromatic" in needed[v])
        aromatic_symbols.append(symbol[:1].islower())
        texts.append(_atom(atom, needed[v], symbol, pattern.site(v), pattern, others[v]))
        written = atom.element and aromatic[0] == aromatic[1]
        conditions = needed[v] | ({"aromatic": aromatic} if written else {})
        # Signs are left out by what is known without them: any such bond may be aromatic.
        maybe = sum(bool(bond.types & {SINGLE, AROMATIC}) for bond in pattern.neighbors[v].values())
        site = pattern.site(v)._replace(maybe=maybe)
        known.append(closure(atom.elements, conditions, site, pattern.strict))

    def bond(u: int, v: int) -> str:
        sure = aromatic_symbols[u] and aromatic_symbols[v]
        return _bond(pattern.neighbors[u][v].types, known[u], known[v], sure)

    roots, branches, closures = _tree(pattern)
    pieces: list[str] = []
    stack: list[int | str] = []
    for root in roots:
        pieces += ["."] if pieces else []
        stack.append(root)
        while stack:  # atoms still to write, and what to write between them
            piece = stack.pop()
            if isinstance(piece, str):
                pieces.append(piece)
                continue
            v = piece
            pieces.append(texts[v])
            for other, number in closures[v]:
                pieces.append(bond(v, other) + (str(number) if number < 10 else f"%{number}"))
            for i, other in enumerate(reversed(branches[v])):
                brackets = ("(", ")") if i else ("", "")
                stack += [brackets[1], other, brackets[0] + bond(v, other)]
    return "".join(pieces)


def _tree(pattern: Pattern) -> tuple[list[int], list[list[int]], list[list[tuple[int, int]]]]:
    """Return the roots of trees over the components, the branches of every atom, and what closes rings.

    The bonds that the trees leave out are numbered: every atom has its others, with these numbers.
    """
    n, n_closures = len(pattern.atoms), 0
    roots: list[int] = []
    branches: list[list[int]] = [[] for _ in range(n)]
    closures: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    reached: set[int] = set()
    used: set[Ends] = set()
    for root in range(n):
        if root in reached:
            continue
        roots.append(root)
        reached.add(root)
        stack = [(root, iter(sorted(pattern.neighbors[root])))]
        while stack:
            v, rest = stack[-1]
            other = next((u for u in rest if (min(u, v), max(u, v)) not in used), None)
            if other is None:
                stack.pop()
                continue
            used.add((min(v, other), max(v, other)))
            if other in reached:
                n_closures += 1
                closures[v].append((other, n_closures))
                closures[other].append((v, n_closures))
            else:
                reached.add(other)
                branches[v].append(other)
                stack.append((other, iter(sorted(pattern.neighbors[other]))))
    return roots, branches, closures
