"""Programs in plain English: which graphs a program matches, as one sentence.

A sentence goes from unit to unit: a named group of atoms, a ring, or one node. A unit is followed by those it
is linked to; a link back to a unit that was mentioned before refers to it by a number in brackets.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

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
from gdlnn.gdl.conditions import check_schema, condition_text, without_empty_bound
from gdlnn.gdl.groups import find_groups
from gdlnn.gdl.program import ANY, Interval
from gdlnn.gdl.text import listed, with_article
from gdlnn.graphs.molecules import ELEMENTS
from gdlnn.graphs.schema import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gdlnn.gdl.atoms import Atom, Bond, Pattern, Ranges
    from gdlnn.gdl.program import Intervals, Program
    from gdlnn.graphs import Schema

MOST_NODES = 128
"""Programs with more nodes are not described, only counted: nobody would read the words."""
_MOST_RING = 12  # longer cycles are described node by node
_BETWEEN = ("a node followed, by", "a node preceded, by", "a node joined by")
_ENDS = (", by a node", " to a node")
_MAX_NAMED = 8  # values that are named one by one
_MAX_EXCEPTIONS = 3  # "other than a, b or c" where few values are left out and more than these are left in
_BOND_WORDS = {SINGLE: "single", DOUBLE: "double", TRIPLE: "triple", AROMATIC: "aromatic", OTHER: "other"}
_NOUNS = {"charge": "charge", "hydrogens": "hydrogens", "degree": "neighbors", "connections": "connections"}
# Neighbors and hydrogens of atoms whose bonds cannot be counted, as they have in most molecules.
_COMMON_CONNECTIONS = {14: 4, 15: 3, 16: 2, 33: 3, 34: 2, 52: 2, 53: 1}


class Link(NamedTuple):
    """A link between nodes of two units."""

    words: str
    here: int
    there: int


class Branch(NamedTuple):
    """What a node is linked to: a unit that is described there, or a reference to one described elsewhere."""

    words: str
    unit: int
    is_reference: bool


def describe(program: Program, schema: Schema | None, *, directed: bool) -> str:
    """Describe in one sentence which graphs a program matches, whatever the order of its variables."""
    if schema is not None:
        check_schema(program, schema)
    graphs = "molecules" if schema is not None and schema.domain == "molecule" else "graphs"
    if not program.nodes:
        return f"All {graphs}."
    if len(program.nodes) > MOST_NODES:
        counts = f"{len(program.nodes):,} nodes and {len(program.edges):,} edges"
        return f"{graphs.capitalize()} that contain a pattern of {counts}, too large for words."
    units = _Units(program.canonical(directed=directed), schema, directed)
    parts = Counter(_Component(units, members).words() for members in units.components())
    texts = [_counted(text, n) for text, n in parts.items()]
    return f"{graphs.capitalize()} that contain {', and elsewhere '.join(texts)}."


def _counted(text: str, n: int) -> str:
    return text if n == 1 else f"{n} \u00d7 {_without_article(text)}"


def _without_article(text: str) -> str:
    return text.removeprefix("a ").removeprefix("an ")


# --- sentences --------------------------------------------------------------------------------------------


class _Units:
    """A program as units with links.

    Attributes
    ----------
    nodes
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
        self.members: list[tuple[int, ...]] = []
        self.names: dict[int, str] = {}
        if schema is not None and is_chemical(schema) and not directed:
            self._read_atoms(read_pattern(program, schema))
        else:
            self._read_features(program, schema)
        for v in range(n):
            for words in self.links[v].pop(v, []):
                self.nodes[v] += f" {words} itself"
        free = set(range(n)).difference(*self.members)
        rings = [] if directed else _rings(self.links, free)
        self.members += [*rings, *((v,) for v in sorted(free.difference(*rings)))]
        self.unit_of = {v: u for u, members in enumerate(self.members) for v in members}
        self.outside = [
            [
                Link(words, v, w)
                for v in members
                for w in sorted(self.links[v])
                if self.unit_of[w] != u
                for words in self.links[v][w]
            ]
            for u, members in enumerate(self.members)
        ]

    def _read_atoms(self, pattern: Pattern) -> None:
        self.common_link, needed = "bonded to", pattern.needed()
        self.nodes = [_atom_words(pattern, v, needed[v]) for v in range(len(pattern.atoms))]
        aromatic = [pattern.closed(v)["aromatic"][0] == 1 for v in range(len(pattern.atoms))]
        for (u, v), bond in pattern.bonds.items():
            words = _bond_words(bond, aromatic[u] and aromatic[v])
            self._link(u, v, words, words)
        for number, (group, own) in enumerate(find_groups(pattern)):
            self.members.append(own)
            self.names[number] = with_article(group.name)

    def _read_features(self, program: Program, schema: Schema | None) -> None:
        what = "an atom" if schema is not None and schema.domain == "molecule" else "a node"
        features, of_edges = (None, None) if schema is None else (schema.node, schema.edge)
        values = [_feature_words(node.intervals, features) for node in program.nodes]
        self.nodes = [f"{what} with {words}" if words else what for words in values]
        self.common_link = "followed by" if self.directed else "next to"
        if self.directed:
            for (u, v), edge in zip(program.ends.tolist(), program.edges, strict=True):
                words = _feature_words(edge.intervals, of_edges)
                self._link(u, v, _edge_words("followed by", words), _edge_words("preceded by", words))
            return
        for (u, v), vectors in merged_edges(program).items():
            for vector in vectors:
                words = _edge_words("next to", _feature_words(vector, of_edges))
                self._link(u, v, words, words)

    def _link(self, u: int, v: int, words: str, back: str) -> None:
        self.links[u].setdefault(v, []).append(words)
        if u != v:
            self.links[v].setdefault(u, []).append(back)

    def components(self) -> list[list[int]]:
        """Return the connected components, each from its lowest unit on."""
        reached: set[int] = set()
        components = []
        for start in range(len(self.members)):
            if start not in reached:
                component = [start]
                for u in component:
                    near = dict.fromkeys(self.unit_of[link.there] for link in self.outside[u])
                    component += [other for other in near if other not in component]
                reached.update(component)
                components.append(component)
        return components


def _rings(links: Sequence[Mapping[int, object]], free: set[int]) -> list[tuple[int, ...]]:
    """Return rings of free nodes, the shortest first, that share no node."""
    import networkx as nx

    left = nx.Graph((u, v) for u in sorted(free) for v in sorted(links[u]) if u < v and v in free)
    left = left.subgraph(on_cycles(list(left.edges))).copy()
    rings = []
    while left.number_of_edges():
        ways = [_way_round(left, u, v) for u, v in sorted(left.edges)]
        ring = min(filter(None, ways), key=len, default=())
        if not 0 < len(ring) <= _MOST_RING:
            break
        rings.append(ring)
        left.remove_nodes_from(ring)
    return rings


def _way_round(graph: Any, u: int, v: int) -> tuple[int, ...]:
    """Return a shortest path between two neighbors that avoids the edge between them; empty without any."""
    import networkx as nx

    rest = nx.restricted_view(graph, [], [(u, v)])
    return tuple(nx.shortest_path(rest, u, v)) if nx.has_path(rest, u, v) else ()


class _Component:
    """The words for one connected component: a tree of units, with references for the other links."""

    def __init__(self, units: _Units, members: list[int]) -> None:
        self.units = units
        self.root = self._root(members)
        self.entry = {self.root: units.members[self.root][0]}
        self.branches: dict[int, list[Branch]] = {v: [] for u in members for v in units.members[u]}
        self.marks: dict[int, str] = {}
        self._grow()

    def _root(self, members: list[int]) -> int:
        """Choose the unit to begin with: the end of a path, else the one with the most links.

        Of several it is the last, since units with fewer conditions come first.
        """
        outside = self.units.outside
        ends = [u for u in members if len(outside[u]) == 1]
        if ends and all(len(outside[u]) <= 2 for u in members):
            last = [u for u in ends if outside[u][0].words.startswith("preceded")]
            members = [u for u in ends if u not in last] or ends
        return max(members, key=lambda u: (len(outside[u]), len(self.units.members[u]), u))

    def _grow(self) -> None:
        """Grow the tree breadth first. A link that it leaves out refers to the unit at its other end."""
        order, finished = [self.root], set()
        for u in order:
            finished.add(u)
            for link in self.units.outside[u]:
                other = self.units.unit_of[link.there]
                if other in finished:  # described from there
                    continue
                is_reference = other in self.entry
                if is_reference:
                    self.marks.setdefault(other, f" ({len(self.marks) + 1})")
                else:
                    order.append(other)
                    self.entry[other] = link.there
                self.branches[link.here].append(Branch(link.words, other, is_reference))

    def words(self) -> str:
        """Return the words for the component; of an edge between any two nodes those for the edge alone."""
        start, _, end = self._unit(self.root, in_brackets=False).partition(" an edge with ")
        if len(self.branches) == 2 and start in _BETWEEN and end.endswith(_ENDS):
            return f"an edge with {end.removesuffix(_ENDS[0]).removesuffix(_ENDS[1])}"
        return self._unit(self.root, in_brackets=False)

    def _unit(self, u: int, in_brackets: bool) -> str:
        """Return the words for a unit and its branches."""
        nodes, mark = self.units.members[u], self.marks.get(u, "")
        if u not in self.units.names and len(nodes) > 1:
            return f"a ring{mark} of {self._ring(nodes, self.entry[u])}"
        text = self.units.names.get(u, self.units.nodes[nodes[0]]) + mark
        words = self._branches(nodes)
        return f"{text} ({words})" if in_brackets and words else f"{text} {words}".rstrip()

    def _branches(self, nodes: Iterable[int]) -> str:
        """Return the words for the branches of nodes; equal ones and those linked alike are grouped."""
        every = [branch for v in nodes for branch in self.branches[v]]
        by_link: dict[str, Counter[str]] = {}
        for words, unit, is_reference in every:
            counts = by_link.setdefault(words, Counter())
            if is_reference:
                counts[self.marks[unit].strip()] = 1  # a unit is not counted again
            else:
                counts[self._unit(unit, in_brackets=len(every) > 1)] += 1
        parts = [
            f"{words} {listed([_counted(text, n) for text, n in counts.items()], 'and')}"
            for words, counts in by_link.items()
        ]
        return listed(parts, "and") if parts else ""

    def _ring(self, nodes: tuple[int, ...], entry: int) -> str:
        """Return the words for the nodes of a ring, in order; equal ones in a row are counted."""
        at = nodes.index(entry)
        nodes = nodes[at:] + nodes[:at]
        items = []
        for v, w in pairwise((*nodes, nodes[0])):
            link, words = self.units.links[v][w][0], self._branches([v])
            is_plain = link in (self.units.common_link, "next to")  # as neighbors in a ring always are
            notes = [] if is_plain else [f"{link} the next"]
            notes += [words] if words else []
            text = _without_article(self.units.nodes[v])
            items.append(f"{text} ({'; '.join(notes)})" if notes else text)
        return listed([_counted(item, len(list(some))) for item, some in groupby(items)], "and")


# --- features by name -------------------------------------------------------------------------------------


def feature_conditions(intervals: Intervals | None, features: Sequence[Feature] | None) -> list[str]:
    """Return the words for each feature that has a condition: ``degree 2``, ``age ≥ 20``."""
    if intervals is None:
        return []
    names = ["value"] if len(intervals) == 1 else [f"feature_{i + 1}" for i in range(len(intervals))]
    return _conditions_words(zip(features or map(Feature, names), intervals, strict=True))


def _feature_words(intervals: Intervals | None, features: Sequence[Feature] | None) -> str:
    parts = feature_conditions(intervals, features)
    return listed(parts, "and") if parts else ""


def _conditions_words(conditions: Iterable[tuple[Feature, Interval]]) -> list[str]:
    return [words for feature, interval in conditions if (words := condition_words(interval, feature))]


def condition_words(interval: Interval, feature: Feature) -> str:
    """Return the words for one feature, or nothing if every known value is allowed."""
    # The mean of two values is not always a short number.
    interval = Interval(*(float(f"{bound:.9g}") for bound in without_empty_bound(interval, feature)))
    inside = [name for value, name in sorted(feature.values.items()) if value in interval]
    outside = [name for value, name in sorted(feature.values.items()) if value not in interval]
    if interval == ANY or (feature.kind == "nominal" and inside and not outside):
        return ""
    if feature.kind == "nominal" and len(outside) <= _MAX_EXCEPTIONS < len(inside):
        return f"{feature.name} other than {listed(outside)}"
    text = condition_text(interval, feature).replace(" = ", " ", 1)
    return text.replace(" >= ", " \u2265 ", 1).replace(" <= ", " \u2264 ", 1)


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


def _atom_words(pattern: Pattern, v: int, needed: Ranges) -> str:
    """Return the words for an atom; `needed` are its conditions that do not follow from others."""
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
    left_out = {"ring", *(keys if as_formula else ("aromatic",))}
    if as_formula and known["degree"] == (_expected_degree(pattern, v),) * 2:
        left_out |= {"degree", "connections"}
    counts = [(Feature(_NOUNS[key]), Interval(*needed[key])) for key in needed if key not in left_out]
    details = _conditions_words([*counts, *atom.others])
    text = " ".join([*adjectives, _formula(atom, known) if as_formula else _element_words(atom)])
    text = with_article(text) if "atom" in text.split() else text
    return f"{text} with {listed(details, 'and')}" if details else text


def _element_words(atom: Atom) -> str:
    if atom.elements is None:
        return "atom"
    inside = [ELEMENTS[n - 1] for n in sorted(atom.elements - {0})] or ["dummy atom"]
    outside = [name for name in ELEMENTS if name not in inside]
    if len(inside) <= _MAX_NAMED:
        return "/".join(inside)
    return (
        f"atom other than {listed(outside)}"
        if len(outside) <= _MAX_NAMED
        else f"atom of {len(inside)} elements"
    )


def _formula(atom: Atom, known: Ranges) -> str:
    charge, hydrogens = int(known["charge"][0]), int(known["hydrogens"][0])
    text = ELEMENTS[(atom.element or 1) - 1]
    text += "" if not hydrogens else "H" if hydrogens == 1 else f"H{hydrogens}"
    sign = "\u2212" if charge < 0 else "+"
    return text + ("" if not charge else sign if abs(charge) == 1 else f"({sign}{abs(charge)})")


def _expected_degree(pattern: Pattern, v: int) -> int:
    """Return how many neighbors a formula implies: all bonds to atoms outside the pattern are single."""
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
