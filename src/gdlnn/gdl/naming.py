"""Where a pattern is known to have a named group.

A name stands for atoms of a pattern only where their conditions imply the group's, and the group's imply
theirs: every match of the pattern has the group there, and every such group is a match. Both are decided by
the rules of `gdlnn.gdl.atoms`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gdlnn.gdl.atoms import closure, inside
from gdlnn.gdl.groups import embeddings, groups, kinds_of

if TYPE_CHECKING:
    from gdlnn.gdl.atoms import Pattern, Ranges
    from gdlnn.gdl.groups import Group


class Found(NamedTuple):
    """A group in a pattern.

    Attributes
    ----------
    atoms
        Those of the pattern, in the order of the group's own.
    counted
        Whether the pattern says of every atom how many neighbours it has, and the name alone does not.
    rings
        Of its atoms, by their place in the group, whether they lie on a ring, if the name leaves that open.
    usual
        Whether the pattern asks for what a chemist takes for granted of the group, such as no charge.
    """

    group: Group
    atoms: tuple[int, ...]
    counted: bool
    rings: dict[int, bool]
    usual: bool


def find_groups(pattern: Pattern, needed: list[Ranges]) -> list[Found]:
    """Return the groups that the atoms of a pattern are known to form, none sharing an atom with another.

    `needed` are the conditions that do not follow from others, see `Pattern.needed`.
    """
    taken: set[int] = set()
    found: list[Found] = []
    known = [pattern.closed(v) for v in range(len(pattern.atoms))]
    if any(low > high for ranges in known for low, high in ranges.values()):
        return []
    if not pattern.strict:  # atoms without an aromaticity feature: their bonds decide
        known = [ranges | {"aromatic": (ranges["aromatic"][0],) * 2} for ranges in known]
    kinds = kinds_of(pattern, known)
    for group in groups():
        if len(group.pattern.cyclic) > len(pattern.cyclic):
            continue
        if pattern.strict and any(kinds[kind] < n for kind, n in group.kinds.items()):
            continue
        for small in (group.charged, group.pattern) if pattern.strict else (group.charged,):
            for atoms in embeddings(small, pattern, group.n, known, taken):
                own = atoms[: group.n]
                # Rings of the pattern are described whole, not split into groups.
                cut = any(w in pattern.cyclic and v not in small.cyclic for v, w in enumerate(own))
                if cut or taken & set(own) or not _same_bonds(small, own, pattern):
                    continue
                for counted in (False, True):
                    rings = _said(small, own, pattern, needed, known if counted else None)
                    if rings is not None:
                        own = _best(small, own, pattern, known)
                        rings = _said(small, own, pattern, needed, known if counted else None) or {}
                        found.append(Found(group, own, counted, rings, small is group.pattern))
                        taken |= set(own)
                        break
    return found


def _said(
    small: Pattern,
    own: tuple[int, ...],
    pattern: Pattern,
    needed: list[Ranges],
    counts: list[Ranges] | None,
) -> dict[int, bool] | None:
    """Return which ring conditions must be added so that the name implies all conditions of its atoms.

    Bonds to other atoms are described anyway, and with `counts` the number of neighbours of every atom.
    Return None if the name leaves out more.
    """
    rings = {}
    for v, w in enumerate(own):
        atom, wanted = pattern.atoms[w], small.atoms[v]
        if atom.others or atom.elements != wanted.elements:
            return None
        said = {"ring": small.closed(v)["ring"]} | wanted.stated
        if counts is not None:
            if counts[w]["degree"][0] != counts[w]["degree"][1]:
                return None
            said["degree"] = counts[w]["degree"]
        follows = closure(wanted.elements, said, pattern.site(w), pattern.strict)
        missing = [key for key, value in needed[w].items() if not inside(follows[key], value)]
        if missing not in ([], ["ring"]):
            return None
        if missing:
            rings[v] = needed[w]["ring"][0] == 1
    return rings


def _same_bonds(small: Pattern, own: tuple[int, ...], pattern: Pattern) -> bool:
    """Whether the atoms have no other bonds between them than the group's, and those say nothing else."""
    among = {frozenset(ends) for ends in pattern.bonds if set(ends) <= set(own)}
    named = [(own[u], own[v]) for u, v in small.bonds if max(u, v) < len(own)]
    return among == set(map(frozenset, named)) and not any(pattern.neighbours[u][v].others for u, v in named)


def _best(small: Pattern, own: tuple[int, ...], pattern: Pattern, known: list[Ranges]) -> tuple[int, ...]:
    """Return the way to number the group's atoms that puts attachments first, the same for every order."""
    n, members = len(own), set(own)
    attached = {w for w in own if known[w]["degree"][0] > len(members & set(pattern.neighbours[w]))}
    ways = [way[:n] for way in embeddings(small, pattern, n, known) if set(way[:n]) == members]
    return min(ways, key=lambda way: ([i for i, w in enumerate(way) if w in attached], way))
