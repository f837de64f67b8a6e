"""Programs in plain English: which graphs a program matches, as one sentence.

A sentence goes from unit to unit: a named group of atoms, a ring, or one node. A unit is followed by those it
is linked to; a link back to a unit that was mentioned before refers to it by a number in brackets.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from gdlnn.gdl.atoms import (
    AROMATIC,
    DOUBLE,
    OTHER,
    SINGLE,
    TRIPLE,
    TYPES,
    VALENCES,
    is_chemical,
    on_cycles,
    read_pattern,
)
from gdlnn.gdl.canonical import merged_edges
from gdlnn.gdl.conditions import check_schema, number_text, without_empty_bound
from gdlnn.gdl.groups import find_groups
from gdlnn.gdl.program import ANY, Interval
from gdlnn.gdl.text import listed, with_article
from gdlnn.graphs.molecules import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gdlnn.gdl.atoms import Atom, Bond, Pattern, Ranges
    from gdlnn.gdl.program import Intervals, Program
    from gdlnn.graphs import Feature, Schema

_MOST_DESCRIBED = 4000  # maximum nodes and edges of a program that is described in words
_MOST_RING = 12  # longer cycles are described node by node
_SHORTEST_CHAIN = 4  # nodes; a chain of as many equal ones is counted
_MAX_NAMED = 8  # values that are named one by one
_MAX_EXCEPTIONS = 3  # "other than a, b or c" where few values are left out and more than these are left in
_BOND_WORDS = {SINGLE: "single", DOUBLE: "double", TRIPLE: "triple", AROMATIC: "aromatic", OTHER: "other"}
# Neighbours and hydrogens of atoms whose bonds cannot be counted, as they have in most molecules.
_COMMON_CONNECTIONS = {14: 4, 15: 3, 16: 2, 33: 3, 34: 2, 52: 2, 53: 1}


class Phrase(NamedTuple):
    """Words for a thing: one of it, many of it, and one in a list whose heading says what it lists."""

    one: str
    many: str
    item: str

    def followed_by(self, words: str) -> Phrase:
        """Return the phrase with words after it."""
        return Phrase(*(f"{text} {words}" for text in self)) if words else self

    def counted(self, n: int) -> str:
        """Return the phrase for `n` of the thing."""
        return self.one if n == 1 else f"{n} {self.many}"


class Link(NamedTuple):
    """A link between nodes of two units."""

    words: str
    here: int
    there: int


def describe(program: Program, schema: Schema | None, *, directed: bool) -> str:
    """Describe in one sentence which graphs a program matches, whatever the order of its variables."""
    if schema is not None:
        check_schema(program, schema)
    graphs = "molecules" if schema is not None and schema.domain == "molecule" else "graphs"
    if not program.nodes:
        return f"All {graphs}."
    if len(program.nodes) + len(program.edges) > _MOST_DESCRIBED:  # too long to read, and slow to describe
        counts = f"{len(program.nodes):,} nodes and {len(program.edges):,} edges"
        return f"{graphs.capitalize()} that contain a pattern of {counts}, too large for words."
    units = _Units(program.canonical(directed=directed), schema, directed)
    parts = Counter(_Component(units, members).phrase() for members in units.components())
    texts = [phrase.counted(n) for phrase, n in parts.items()]
    return f"{graphs.capitalize()} that contain {', and elsewhere '.join(texts)}."


# --- sentences --------------------------------------------------------------------------------------------


class _Units:
    """A program as units with links.

    Attributes
    ----------
    phrases
        The words for every node.
    links
        The links of every node by the node at the other end. There may be several between the same two.
    common_link
        The words for the most common link.
    members, names
        The nodes of every unit, in order along a ring; and the name of a group.
    outside
        The links of every unit to others.
    """

    def __init__(self, program: Program, schema: Schema | None, directed: bool) -> None:
        n, self.directed = len(program.nodes), directed
        self.links: list[dict[int, list[str]]] = [{} for _ in range(n)]
        self.what = "atom" if schema is not None and schema.domain == "molecule" else "node"
        self.members: list[tuple[int, ...]] = []
        self.names: dict[int, str] = {}
        if schema is not None and is_chemical(schema) and not directed:
            pattern = read_pattern(program, schema)
            self.common_link = "bonded to"
            needed = pattern.needed()
            self.phrases = [_atom_phrase(pattern, v, needed[v]) for v in range(n)]
            aromatic = [pattern.closed(v)["aromatic"][0] == 1 for v in range(n)]
            for (u, v), bond in pattern.bonds.items():
                words = _bond_words(bond, aromatic[u] and aromatic[v])
                self._link(u, v, words, words)
            for number, (group, own) in enumerate(find_groups(pattern)):
                self.members.append(own)
                self.names[number] = group.name
        else:
            self.common_link = "followed by" if directed else "next to"
            features = schema.node if schema else None
            self.phrases = [_node_phrase(node.intervals, features, self.what) for node in program.nodes]
            self._link_by_edges(program, schema.edge if schema else None, directed)
        for v in range(n):
            for words in self.links[v].pop(v, []):
                self.phrases[v] = self.phrases[v].followed_by(f"{words} itself")
        free = set(range(n)).difference(*self.members)
        rings = [] if directed else _rings(self.links, free)
        self.members += [*rings, *((v,) for v in sorted(free.difference(*rings)))]
        self.unit_of = {v: u for u, members in enumerate(self.members) for v in members}
        self.outside = [self._outside(u) for u in range(len(self.members))]

    def _link(self, u: int, v: int, words: str, back: str) -> None:
        self.links[u].setdefault(v, []).append(words)
        if u != v:
            self.links[v].setdefault(u, []).append(back)

    def _link_by_edges(self, program: Program, features: tuple[Feature, ...] | None, directed: bool) -> None:
        if not directed:
            for (u, v), vectors in merged_edges(program).items():
                for vector in vectors:
                    words = _edge_words("next to", _feature_words(vector, features))
                    self._link(u, v, words, words)
            return
        for (u, v), edge in zip(program.ends.tolist(), program.edges, strict=True):
            values = _feature_words(edge.intervals, features)
            self._link(u, v, _edge_words("followed by", values), _edge_words("preceded by", values))

    def _outside(self, u: int) -> list[Link]:
        return [
            Link(words, v, w)
            for v in self.members[u]
            for w in sorted(self.links[v])
            if self.unit_of[w] != u
            for words in self.links[v][w]
        ]

    def components(self) -> list[list[int]]:
        """Return the connected components, each from its lowest unit on."""
        reached: set[int] = set()
        components = []
        for start in range(len(self.members)):
            if start not in reached:
                component = [start]
                reached.add(start)
                for u in component:
                    near = dict.fromkeys(self.unit_of[link.there] for link in self.outside[u])
                    new = [other for other in near if other not in reached]
                    reached.update(new)
                    component += new
                components.append(component)
        return components


def _rings(links: Sequence[Mapping[int, object]], free: set[int]) -> list[tuple[int, ...]]:
    """Return rings of free nodes, the shortest first, that share no node."""
    edges = [(u, v) for u, near in enumerate(links) for v in sorted(near) if u < v]
    edges = [(u, v) for u, v in edges if u in free and v in free]
    left = set(on_cycles(len(links), edges))
    rings = []
    for longest in range(3, _MOST_RING + 1):
        for u, v in edges:
            if u in left and v in left and (ring := _way_round(links, left, u, v, longest)):
                rings.append(ring)
                left.difference_update(ring)
    return rings


def _way_round(
    links: Sequence[Mapping[int, object]], among: set[int], start: int, end: int, longest: int
) -> tuple[int, ...]:
    """Return a shortest path between linked nodes that avoids their link; empty if it would be too long."""
    came = {start: start}
    front = [start]
    for _ in range(longest - 1):
        reached = []
        for u in front:
            for v in sorted(links[u]):
                if v in among and v not in came and (u, v) != (start, end):
                    came[v] = u
                    reached.append(v)
        if end in came:
            path = [end]
            while path[-1] != start:
                path.append(came[path[-1]])
            return tuple(reversed(path))
        front = reached
    return ()


class Branch(NamedTuple):
    """What a node is linked to: a unit that is described there, or a reference to one described elsewhere."""

    words: str
    unit: int
    is_reference: bool


class _Component:
    """The phrase for one connected component: a tree of units, with references for the other links.

    Branches are described from the leaves to the root, so that the depth of the tree does not matter.
    """

    def __init__(self, units: _Units, members: list[int]) -> None:
        self.units, self.members = units, members
        root = self._root()
        self.order = [root]
        self.entry = {root: units.members[root][0]}
        self.branches: dict[int, list[Branch]] = {v: [] for u in members for v in units.members[u]}
        self.marks: dict[int, str] = {}
        self.texts: dict[int, Phrase] = {}
        self._grow()

    def _root(self) -> int:
        """Choose the unit to begin with: the end of a path, else the one with the most links.

        Of several it is the last, since units with fewer conditions come first.
        """
        outside = self.units.outside
        ends = [u for u in self.members if len(outside[u]) == 1]
        self.is_path = bool(ends) and all(len(outside[u]) <= 2 for u in self.members)
        if self.is_path and (self.units.directed or len(self.members) >= _SHORTEST_CHAIN):
            return min(ends, key=lambda u: (outside[u][0].words.startswith("preceded"), -u))
        return max(self.members, key=lambda u: (len(outside[u]), len(self.units.members[u]), u))

    def _grow(self) -> None:
        """Grow the tree breadth first. A link that it leaves out refers to the unit at its other end."""
        finished: set[int] = set()
        for u in self.order:
            finished.add(u)
            for link in self.units.outside[u]:
                other = self.units.unit_of[link.there]
                if other in finished:  # described from there
                    continue
                is_reference = other in self.entry
                if is_reference:
                    self.marks.setdefault(other, f"({len(self.marks) + 1})")
                else:
                    self.order.append(other)
                    self.entry[other] = link.there
                self.branches[link.here].append(Branch(link.words, other, is_reference))

    def phrase(self) -> Phrase:
        """Return the phrase for the component."""
        if self.is_path and len(self.branches) == len(self.members) >= _SHORTEST_CHAIN:
            nodes = [self.entry[u] for u in self.order]
            links = [self.units.links[u][v][0] for u, v in pairwise(nodes)]
            phrases = [self.units.phrases[v] for v in nodes]
            if len(set(links)) == len(set(phrases)) == 1:
                return self._row("chain", phrases, links, "")
        only = {self.order[0]}
        for u in self.order:
            some = [branch for v in self.units.members[u] for branch in self.branches[v]]
            only |= {branch.unit for branch in some if len(some) == 1}
        for u in reversed(self.order):
            self.texts[u] = self._unit_phrase(u, in_brackets=u not in only)
        return self.texts[self.order[0]]

    def _unit_phrase(self, u: int, in_brackets: bool) -> Phrase:
        """Return the phrase for a unit with its branches."""
        nodes, mark = self.units.members[u], self.marks.get(u, "")
        if u not in self.units.names and len(nodes) > 1:
            at = nodes.index(self.entry[u])
            nodes = nodes[at:] + nodes[:at]
            links = [self.units.links[v][w][0] for v, w in pairwise((*nodes, nodes[0]))]
            branches = [self._branches([v]) for v in nodes]
            phrases = [
                self.units.phrases[v].followed_by(f"({words})" if words else "")
                for v, words in zip(nodes, branches, strict=True)
            ]
            return self._row("ring", phrases, links, mark)
        name = self.units.names.get(u)
        phrase = self.units.phrases[nodes[0]] if name is None else _phrase(name, f"{name}s")
        words = self._branches(nodes)
        return phrase.followed_by(mark).followed_by(f"({words})" if in_brackets and words else words)

    def _branches(self, nodes: Iterable[int]) -> str:
        """Return the words for the branches of nodes; equal ones and those linked alike are grouped."""
        by_link: dict[str, Counter[Phrase]] = {}
        for v in nodes:
            for words, unit, is_reference in self.branches[v]:
                counts = by_link.setdefault(words, Counter())
                if is_reference:
                    counts[Phrase(*[self.marks[unit]] * 3)] = 1  # a unit is not counted again
                else:
                    counts[self.texts.pop(unit)] += 1
        parts = [
            f"{words} {listed([phrase.counted(n) for phrase, n in counts.items()], 'and')}"
            for words, counts in by_link.items()
        ]
        return listed(parts, "and") if parts else ""

    def _row(self, kind: str, phrases: list[Phrase], links: list[str], mark: str) -> Phrase:
        """Return the phrase for a ring or chain: its nodes in order, counted where all are equal."""
        same_links = len(set(links)) == 1
        each = f", each {links[0]} the next" if same_links and links[0] != self.units.common_link else ""
        if len(set(phrases)) == 1 and same_links:
            text = f"of {phrases[0].counted(len(phrases))}{each}"
        else:
            items = [phrase.item for phrase in phrases]
            if not same_links:
                items = [
                    item if words == self.units.common_link else f"{item} ({words} the next)"
                    for item, words in zip(items, links, strict=True)
                ]
            runs = [(item, len(list(some))) for item, some in groupby(items)]
            counted = [item if n == 1 else f"{n} \u00d7 {item}" for item, n in runs]
            text = f"of {len(phrases)} {self.units.what}s{each}: {listed(counted, 'and')}"
        return _phrase(kind, f"{kind}s").followed_by(mark).followed_by(text)


def _phrase(text: str, many: str) -> Phrase:
    return Phrase(with_article(text), many, text)


# --- features by name -------------------------------------------------------------------------------------


def _node_phrase(intervals: Intervals | None, features: tuple[Feature, ...] | None, what: str) -> Phrase:
    values = _feature_words(intervals, features)
    phrase = _phrase(what, f"{what}s").followed_by(f"with {values}" if values else "")
    return phrase._replace(item=values or "any")


def _feature_words(intervals: Intervals | None, features: tuple[Feature, ...] | None) -> str:
    """Return the words for features: ``degree 2 and age at least 20``; empty if there are none."""
    if intervals is None:
        return ""
    if features is None:
        names = ["value"] if len(intervals) == 1 else [f"feature {i + 1} of" for i in range(len(intervals))]
        pairs = zip(names, intervals, strict=True)
        parts = [f"{name} {_range_words(interval)}" for name, interval in pairs if interval != ANY]
    else:
        parts = _conditions_words(zip(features, intervals, strict=True))
    return listed(parts, "and") if parts else ""


def _conditions_words(conditions: Iterable[tuple[Feature, Interval]]) -> list[str]:
    return [words for feature, interval in conditions if (words := _condition_words(interval, feature))]


def _condition_words(interval: Interval, feature: Feature) -> str:
    """Return the words for one feature of a schema, or nothing if every known value is allowed."""
    interval = without_empty_bound(interval, feature)
    if interval == ANY:
        return ""
    if feature.kind != "nominal" or not feature.values:
        return f"{feature.name} {_range_words(interval, feature.values)}"
    inside = [name for value, name in sorted(feature.values.items()) if value in interval]
    outside = [name for value, name in sorted(feature.values.items()) if value not in interval]
    if not inside:
        return f"{feature.name} code {_range_words(interval)}"
    if not outside:
        return ""
    if len(outside) <= _MAX_EXCEPTIONS < len(inside):
        return f"{feature.name} other than {listed(outside)}"
    several = len(inside) > _MAX_NAMED
    return f"{feature.name} {f'{inside[0]} to {inside[-1]}' if several else listed(inside)}"


def _range_words(interval: Interval, names: Mapping[float, str] | None = None) -> str:
    lower, upper = (
        (names or {}).get(bound, number_text(bound)) if math.isfinite(bound) else "" for bound in interval
    )
    if interval.lower == interval.upper:
        return lower
    if interval.upper == math.inf:
        return f"at least {lower}"
    return f"at most {upper}" if interval.lower == -math.inf else f"{lower} to {upper}"


def _edge_words(words: str, values: str) -> str:
    if not values:
        return words
    by = f"by an edge with {values}"
    return f"joined {by} to" if words == "next to" else f"{words.removesuffix(' by')}, {by}, by"


# --- atoms and bonds --------------------------------------------------------------------------------------


def _bond_words(bond: Bond, aromatic: bool) -> str:
    """Return the words for a bond; `aromatic` says that both atoms are known to be."""
    names = [_BOND_WORDS[kind] for kind in TYPES if kind in bond.types]
    if bond.types == frozenset(TYPES):
        words = "next"
    elif bond.types == {AROMATIC if aromatic else SINGLE}:
        words = "bonded"
    else:
        words = f"{names[0]}-bonded" if len(names) == 1 else f"bonded ({listed(names)})"
    others = _conditions_words(bond.others)
    return f"{words} ({listed(others, 'and')}) to" if others else f"{words} to"


def _atom_phrase(pattern: Pattern, v: int, needed: Ranges) -> Phrase:
    """Return the phrase for an atom; `needed` are its conditions that do not follow from others."""
    atom, known = pattern.atoms[v], pattern.closed(v)
    # A formula says the charge and the hydrogens, and that an atom is not aromatic.
    keys = ("charge", "hydrogens", "aromatic")
    as_formula = pattern.strict and atom.element and all(known[key][0] == known[key][1] for key in keys)
    adjectives = []
    if known["aromatic"][0] == 1:
        adjectives.append("aromatic")
    elif "aromatic" in needed and not as_formula:
        adjectives.append("non-aromatic")
    if "ring" in needed:
        adjectives.append("ring" if needed["ring"][0] else "chain")
    noun, many = (_formula(atom, known),) * 2 if as_formula else _element_nouns(atom)
    left_out = set(keys) if as_formula else {"aromatic"}
    if as_formula and known["degree"] == (_expected_degree(pattern, v),) * 2:
        left_out |= {"degree", "connections"}
    details = [_count_words(key, *needed[key]) for key in needed if key not in left_out | {"ring"}]
    details += _conditions_words(atom.others)
    text, many = (" ".join([*adjectives, word]) for word in (noun, many))
    phrase = _phrase(text, many) if noun.startswith("atom") else Phrase(text, many, text)
    return phrase.followed_by(f"with {listed(details, 'and')}" if details else "")


def _element_nouns(atom: Atom) -> tuple[str, str]:
    if atom.elements is None:
        return "atom", "atoms"
    inside = [ELEMENTS[n - 1] for n in sorted(atom.elements - {0})] or ["dummy atom"]
    outside = [name for name in ELEMENTS if name not in inside]
    if len(inside) <= _MAX_NAMED:
        names = "/".join(inside)
        return names, names
    words = (
        f"other than {listed(outside)}"
        if len(outside) <= _MAX_NAMED
        else f"of {len(inside)} possible elements"
    )
    return f"atom {words}", f"atoms {words}"


def _formula(atom: Atom, known: Ranges) -> str:
    charge, hydrogens = int(known["charge"][0]), int(known["hydrogens"][0])
    text = ELEMENTS[(atom.element or 1) - 1]
    text += "" if not hydrogens else "H" if hydrogens == 1 else f"H{hydrogens}"
    sign = "\u2212" if charge < 0 else "+"
    return text + ("" if not charge else sign if abs(charge) == 1 else f"({sign}{abs(charge)})")


def _expected_degree(pattern: Pattern, v: int) -> int:
    """Return how many neighbours a formula implies: all bonds to atoms outside the pattern are single."""
    atom, known, site = pattern.atoms[v], pattern.closed(v), pattern.site(v)
    number, hydrogens = atom.element or 0, int(known["hydrogens"][0])
    if known["aromatic"][0] == 1:
        expected = 3 - hydrogens if number == 6 else 2
    elif number in VALENCES:
        most = VALENCES[number].get(int(known["charge"][0]), 0)
        expected = most - hydrogens - site.orders + site.n
    else:
        expected = _COMMON_CONNECTIONS.get(number, 0) - hydrogens
    return max(expected, site.n)


def _count_words(key: str, low: float, high: float) -> str:
    """Return the words for a charge or a count: ``\u22652 H``."""
    if key == "charge":
        return f"charge {_range_words(Interval(low, high))}"
    noun = {"hydrogens": "H", "degree": "neighbours", "connections": "connections"}[key]
    if low == high:
        return f"{low:g} {noun.removesuffix('s') if low == 1 else noun}" if low else f"no {noun}"
    if math.isinf(high):
        return f"\u2265{low:g} {noun}"
    return f"\u2264{high:g} {noun}" if low <= 0 else f"{low:g}\u2013{high:g} {noun}"
