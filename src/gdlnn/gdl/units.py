"""The units of a sentence: nodes, named groups and rings, with the links between them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from gdlnn.gdl.atoms import AROMATIC, DOUBLE, SINGLE, TRIPLE, TYPES, is_chemical, read_pattern
from gdlnn.gdl.canonical import merged_edges
from gdlnn.gdl.groups import find_groups
from gdlnn.gdl.phrases import (
    Phrase,
    atom_phrase,
    condition_words,
    feature_words,
    is_exact,
    node_phrase,
)
from gdlnn.gdl.program import ANY
from gdlnn.gdl.text import listed

if TYPE_CHECKING:
    from gdlnn.gdl.atoms import Bond, Pattern
    from gdlnn.gdl.groups import Found
    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Schema

_MOST_RING = 12  # longer cycles are described atom by atom
_TIMES = {2: "twice"}
_SIGNS = {SINGLE: "–", DOUBLE: "=", TRIPLE: "≡"}
_BOND_WORDS = {SINGLE: "single", DOUBLE: "double", TRIPLE: "triple", AROMATIC: "aromatic", "other": "other"}


class Connection(NamedTuple):
    """How a node is joined to another: words in a sentence, words in a row, and a sign in formulas."""

    words: str
    row: str = ""
    sign: str = ""


class Link(NamedTuple):
    """A link of a unit to another, and the nodes at both ends."""

    other: int
    way: Connection
    here: int
    there: int


@dataclass
class Unit:
    """A part of the graph that is described at once.

    Attributes
    ----------
    members
        Nodes; those of a ring in order along it.
    phrase
        Its words. None for a ring, whose members are described one by one.
    found
        The named group that it is.
    labelled
        Whether a link must name the atom of the group that it begins at.
    """

    members: tuple[int, ...]
    phrase: Phrase | None
    found: Found | None = None
    links: list[Link] = field(default_factory=list)
    labelled: bool = False


class Units:
    """A program as units with links.

    Attributes
    ----------
    phrases
        What every node is called.
    exact
        Whether every atom and bond is fully specified, so that they are written as formulas.
    pinned
        Whether every node has a value of the same features, as the surroundings of a node have.
    what
        What nodes are called: atom or node.
    """

    def __init__(self, program: Program, schema: Schema | None, directed: bool) -> None:
        self.directed = directed
        self.chemical = is_chemical(schema) and not directed
        self.what = "atom" if schema is not None and schema.domain == "molecule" else "node"
        self.exact, self.pinned = False, _is_pinned(program)
        self.ways: dict[tuple[int, int], list[Connection]] = {}
        found: list[Found] = []
        if self.chemical and schema is not None:
            pattern = read_pattern(program, schema)
            if self.pinned:
                _leave_charges_out(pattern)
            needed = pattern.needed()
            self.phrases = [atom_phrase(pattern, v, needed[v]) for v in range(len(needed))]
            self.exact = _all_exact(pattern, self.pinned)
            if self.exact and not pattern.strict:  # formulas leave out the signs of aromatic bonds
                self.phrases = [
                    replace(p, adjectives=("aromatic", *p.adjectives)) if pattern.site(v).aromatic else p
                    for v, p in enumerate(self.phrases)
                ]
            found = find_groups(pattern, needed)
            self._degrees = [pattern.closed(v)["degree"][0] for v in range(len(needed))]
            self._bonds(program, pattern)
        else:
            features = schema.node if schema else None
            self.phrases = [node_phrase(node.intervals, features, self.what) for node in program.nodes]
            self._edges(program, schema, directed)
        self.near: list[list[int]] = [[] for _ in self.phrases]
        for u, v in self.ways:
            if v not in self.near[u]:
                self.near[u].append(v)
        for v, phrase in enumerate(self.phrases):
            if (v, v) in self.ways:
                by = self.ways[v, v][0].row
                self.phrases[v] = replace(phrase, details=f"{phrase.details} joined to itself {by}".strip())
        self.units = self._parts(found)
        self._link()

    # --- ways ---------------------------------------------------------------------------------------------

    def _bonds(self, program: Program, pattern: Pattern) -> None:
        aromatic = [pattern.closed(v)["aromatic"][0] == 1 for v in range(len(pattern.atoms))]
        for (u, v), vectors in merged_edges(program).items():
            way = _bond_way(pattern.bonds[u, v], aromatic[u] and aromatic[v])
            self.ways[u, v] = self.ways[v, u] = [way] * len(vectors)

    def _edges(self, program: Program, schema: Schema | None, directed: bool) -> None:
        features = schema.edge if schema else None
        if not directed:
            for (u, v), vectors in merged_edges(program).items():
                ways = [_edge_way("next to", feature_words(vector, features)) for vector in vectors]
                self.ways[u, v] = self.ways[v, u] = ways
            return
        number = {variable: i for i, variable in enumerate(program.variables)}
        for edge in program.edges:
            u, v = number[edge.source], number[edge.target]
            words = feature_words(edge.intervals, features)
            self.ways.setdefault((u, v), []).append(_edge_way("followed by", words))
            if u != v:
                self.ways.setdefault((v, u), []).append(_edge_way("preceded by", words))

    # --- parts --------------------------------------------------------------------------------------------

    def _parts(self, found: list[Found]) -> list[Unit]:
        units = [
            Unit(group.atoms, _group_phrase(group, self._further(group), self.exact), group)
            for group in found
        ]
        taken = {v for unit in units for v in unit.members}
        while not self.directed and (ring := self._smallest_ring(taken)):
            units.append(Unit(tuple(ring), None))
            taken |= set(ring)
        units += [Unit((v,), phrase) for v, phrase in enumerate(self.phrases) if v not in taken]
        return sorted(units, key=lambda unit: min(unit.members))

    def _further(self, found: Found) -> list[str] | None:
        """Return the atoms of a group with neighbours outside the program; None where that is left open."""
        if not found.counted:
            return None
        labels = []
        for place, v in enumerate(found.atoms):
            more = int(self._degrees[v]) - len(self.near[v])
            labels += [
                found.group.label(place) + (f" {_TIMES.get(more, f'{more} times')}" if more > 1 else "")
            ] * (more > 0)
        return labels

    def _smallest_ring(self, taken: set[int]) -> list[int] | None:
        """Return the shortest cycle through nodes that are not taken, in order along it."""
        best: list[int] | None = None
        core = self._core(taken)
        for start in sorted(core):
            came = {start: start}
            queue = deque([start])
            while queue:
                u = queue.popleft()
                for v in self.near[u]:
                    if v not in core or v in (u, came[u]):
                        continue
                    if v not in came:
                        came[v] = u
                        queue.append(v)
                        continue
                    ring = _joined(came, start, u, v)
                    if ring and len(ring) <= _MOST_RING and (best is None or len(ring) < len(best)):
                        best = ring
        return best

    def _core(self, taken: set[int]) -> set[int]:
        """Return the free nodes that may lie on a cycle: those left when ends of trees are taken away."""
        core = set(range(len(self.near))) - taken
        degree = {v: sum(u in core and u != v for u in self.near[v]) for v in core}
        ends = [v for v in core if degree[v] < 2]
        while ends:
            v = ends.pop()
            core.discard(v)
            for u in self.near[v]:
                if u in core and u != v:
                    degree[u] -= 1
                    if degree[u] == 1:
                        ends.append(u)
        return core

    def _link(self) -> None:
        self.unit_of = {v: i for i, unit in enumerate(self.units) for v in unit.members}
        for i, unit in enumerate(self.units):
            for v in unit.members:
                for u in sorted(self.near[v]):
                    if u != v and (self.unit_of[u] != i or not self._inside(unit, u, v)):
                        unit.links += [Link(self.unit_of[u], way, v, u) for way in self.ways[v, u]]
            unit.labelled = unit.found is not None and self._is_labelled(unit, unit.found)

    def _is_labelled(self, unit: Unit, found: Found) -> bool:
        places = {link.here for link in unit.links}
        if found.counted:
            places |= {v for v in found.atoms if self._degrees[v] > len(self.near[v])}
        few = len(places) <= 1 or len(found.group.room) <= 2
        return not (found.group.alike and few)

    def _inside(self, unit: Unit, u: int, v: int) -> bool:
        """Whether the link of two nodes of a unit is implied: all except those across a ring."""
        if unit.phrase is not None:
            return True
        places = sorted((unit.members.index(u), unit.members.index(v)))
        return places[1] - places[0] == 1 or places == [0, len(unit.members) - 1]

    def centre(self) -> int:
        """Return the node that all others are nearest to; the first where it is one of several."""
        return min(range(len(self.near)), key=lambda v: (self._eccentricity(v), v))

    def _eccentricity(self, start: int) -> int:
        distance = {start: 0}
        queue = [start]
        for u in queue:
            for v in self.near[u]:
                if v not in distance:
                    distance[v] = distance[u] + 1
                    queue.append(v)
        return distance[queue[-1]]


def _joined(came: dict[int, int], start: int, u: int, v: int) -> list[int] | None:
    """Return the cycle through the start that two branches of a search close; None where they share more."""

    def back(w: int) -> list[int]:
        path = [w]
        while path[-1] != start:
            path.append(came[path[-1]])
        return path

    first, second = back(u), back(v)
    if set(first) & set(second) != {start}:
        return None
    ring = first[::-1] + second[:-1]
    return ring if ring[1] < ring[-1] else [ring[0], *ring[:0:-1]]


def _leave_charges_out(pattern: Pattern) -> None:
    """Treat atoms as neutral if a program fixes everything except their charges.

    Then all training molecules were neutral, and charges need not be mentioned.
    """
    whole = all(atom.element and "hydrogens" in atom.stated for atom in pattern.atoms)
    if pattern.strict and whole and not any("charge" in atom.stated for atom in pattern.atoms):
        for atom in pattern.atoms:
            atom.stated["charge"] = (0.0, 0.0)
        if not pattern.possible():
            for atom in pattern.atoms:
                del atom.stated["charge"]


def _is_pinned(program: Program) -> bool:
    vectors = [node.intervals for node in program.nodes]
    if any(vector is None for vector in vectors):
        return False
    columns = zip(*(vector for vector in vectors if vector is not None), strict=True)
    return all(all(i.lower == i.upper for i in column) or all(i == ANY for i in column) for column in columns)


def _all_exact(pattern: Pattern, pinned: bool) -> bool:
    """Whether every atom and bond is fully specified, as far as the graphs have features."""
    if any(len(b.types) > 1 or b.others for b in pattern.bonds.values()):
        return False
    if any(atom.others or atom.element is None for atom in pattern.atoms):
        return False
    if not pattern.strict:
        return pinned and all("degree" in atom.stated for atom in pattern.atoms)
    return all(is_exact(atom, pattern.closed(v)) for v, atom in enumerate(pattern.atoms))


def _edge_way(words: str, values: str) -> Connection:
    by = f"by an edge with {values}" if values else ""
    row = "preceding it" if words == "preceded by" else ""
    row = f"({', '.join(filter(None, (row, by)))})" if row or by else ""
    if not by:
        return Connection(words, row)
    return Connection(
        f"joined {by} to" if words == "next to" else f"{words.removesuffix(' by')}, {by}, by", row
    )


def _bond_way(bond: Bond, aromatic: bool) -> Connection:
    """Return the words for a bond; `aromatic` says that both atoms are known to be."""
    others = [words for feature, interval in bond.others if (words := condition_words(interval, feature))]
    extra = f" (by a bond with {listed(others, 'and')})" if others else ""
    if bond.types == frozenset(TYPES):
        return Connection(f"next to{extra}", extra.strip(" ()"))
    names = [_BOND_WORDS[kind] for kind in TYPES if kind in bond.types]
    if len(names) > 1:
        words = f"bonded ({listed(names)}) to{extra}"
        return Connection(words, f"({listed(names)} bond{extra})")
    kind = next(iter(bond.types))
    sign = "–" if aromatic and kind == AROMATIC else _SIGNS.get(kind, "")
    if aromatic and kind == SINGLE:
        sign = "–single-bonded "
    words = "attached to" if kind == SINGLE else f"{names[0]}-bonded to"
    return Connection(words + extra, f"{names[0]}-bonded{extra}", sign or f"–{names[0]}-bonded ")


def _group_phrase(found: Found, further: list[str] | None, exact: bool) -> Phrase:
    """Return the name of a group with what it leaves open: rings, charges and other neighbours."""
    name = found.group.name
    adjectives = ["otherwise unsubstituted"] if further == [] else []
    adjectives += ["neutral"] if found.neutral and not exact else []
    if len(set(found.rings.values())) == 1 and _same_for_all(found):
        adjectives.append("ring" if next(iter(found.rings.values())) else "chain")
        rings: list[str] = []
    else:
        rings = [
            f"{found.group.label(v)} {'in a ring' if yes else 'in a chain'}" for v, yes in found.rings.items()
        ]
    if further:
        rings.append(f"further substituted at {listed(further, 'and')}")
    details = [f"({', '.join(rings)})"] if rings else []
    return Phrase(tuple(adjectives), name, f"{name}s", " ".join(details))


def _same_for_all(found: Found) -> bool:
    """Whether every atom for which the name leaves rings open is described."""
    small = found.group.pattern
    left_open = [v for v in range(found.group.n) if small.closed(v)["ring"] == (0.0, 1.0)]
    return set(left_open) <= set(found.rings)
