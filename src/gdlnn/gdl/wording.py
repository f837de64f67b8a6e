"""Programs in plain English: which graphs a program matches, as one sentence.

A component is described starting from one of its units, each with its branches: as a list of neighbours, as
a row, or as a ring. For molecules, fully specified atoms are written as formulas, and groups by their
names. Units with an additional link between them get numbers in brackets.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from gdlnn.gdl.conditions import check_schema
from gdlnn.gdl.phrases import Phrase, article, number_word
from gdlnn.gdl.text import listed
from gdlnn.gdl.units import Connection, Link, Unit, Units

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Schema

_MOST_DESCRIBED = 8000  # maximum nodes and edges of a program that is described in words
_LONG = 4  # from this many units on, a chain is described as a row


def describe(program: Program, schema: Schema | None, *, directed: bool) -> str:
    """Describe in one sentence which graphs a program matches."""
    if schema is not None:
        check_schema(program, schema)
    graphs = "molecules" if schema is not None and schema.domain == "molecule" else "graphs"
    if not program.nodes:
        return f"All {graphs}."
    if len(program.nodes) + len(program.edges) > _MOST_DESCRIBED:  # too long to read, and slow to describe
        counts = f"{len(program.nodes):,} nodes and {len(program.edges):,} edges"
        return f"{graphs.capitalize()} that contain a pattern of {counts}, too large for words."
    units = Units(program, schema, directed)
    singles: Counter[Phrase] = Counter()
    parts: list[str] = []
    for members in _components(units):
        unit = units.units[members[0]]
        if len(members) == 1 and unit.phrase is not None:
            singles[unit.phrase] += 1
        else:
            parts.append(_Component(units, members).sentence())
    parts += [phrase.one() if n == 1 else phrase.many(n) for phrase, n in singles.items()]
    return f"{graphs.capitalize()} that contain {', and elsewhere '.join(parts)}."


def _components(units: Units) -> list[list[int]]:
    """Return the connected components, each in the order of the units."""
    reached: set[int] = set()
    components = []
    for start in range(len(units.units)):
        if start not in reached:
            members = [start]
            reached.add(start)
            for u in members:
                new = [link.other for link in units.units[u].links if link.other not in reached]
                new = list(dict.fromkeys(new))
                reached |= set(new)
                members += new
            components.append(sorted(members))
    return components


class _Component:
    """One connected component: a tree of units, and the links that the tree leaves out.

    Branches are described from the leaves to the root, so that the depth of the tree does not matter.
    """

    def __init__(self, units: Units, members: list[int]) -> None:
        self.all, self.members = units, members
        self.root, self.start = self._root()
        self.children: dict[int, list[Link]] = {u: [] for u in members}
        self.size: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.closures: list[tuple[int, Link]] = []
        self.came: dict[int, Link] = {}
        self.texts: dict[int, str] = {}
        self._grow()

    def _unit(self, u: int) -> Unit:
        return self.all.units[u]

    def _root(self) -> tuple[int, int]:
        """Choose the unit to begin with, and of a ring the node."""
        around = self.all.pinned and len(self.all.phrases) >= _LONG
        if (self.all.exact or around) and len(self.members) == len(self.all.units):
            centre = self.all.centre()
            return self.all.unit_of[centre], centre
        rings = [u for u in self.members if self._unit(u).phrase is None]
        named = [u for u in self.members if self._unit(u).found is not None]
        if rings or named:
            root = max(named or rings, key=lambda u: (len(self._unit(u).members), -u))
        else:
            root = self._end() if self._is_path() else max(self.members, key=self._links_of)
        return root, self._unit(root).members[0]

    def _links_of(self, u: int) -> tuple[int, int]:
        return len(self._unit(u).links), -u

    def _is_path(self) -> bool:
        return all(len(self._unit(u).links) <= 2 for u in self.members)

    def _end(self) -> int:
        """Return the end of a path to begin at: of a directed one, where its edges begin."""
        ends = [u for u in self.members if len(self._unit(u).links) == 1] or self.members[:1]
        middle = self._middle(ends)
        forward = (u for u in ends for link in self._unit(u).links if link.way.words.startswith("followed"))
        return next(forward, ends[0]) if middle is None else middle

    def _middle(self, ends: list[int]) -> int | None:
        """Return the middle of three where both sides are the same."""
        if len(self.members) != 3 or len(ends) != 2:
            return None
        first, last = (self._unit(u) for u in ends)
        same = first.phrase == last.phrase and first.links[0].way == last.links[0].way
        return first.links[0].other if same else None

    def _grow(self, path: Sequence[int] = ()) -> None:
        """Grow the tree breadth first, along a path that begins at the root, if one is given."""
        order, done = [self.root, *path[1:]], {self.root, *path}
        described: set[tuple[int, int, str]] = set()
        for u, v in pairwise(path):  # with closures about, breadth first alone may reach it by other ways
            link = next(link for link in self._unit(u).links if link.other == v)
            self.children[u].append(link)
            described.add(_edge(link))
        for u in order:
            for link in self._unit(u).links:
                key = _edge(link)
                if link.other not in done:
                    done.add(link.other)
                    order.append(link.other)
                    self.children[u].append(link)
                    described.add(key)
                elif key not in described:
                    described.add(key)
                    self.closures.append((u, link))
        depth: dict[int, int] = {}
        for u in reversed(order):
            depth[u] = 1 + max((depth[link.other] for link in self.children[u]), default=0)
        self.size, self.order = depth, order
        self.came = {link.other: link for links in self.children.values() for link in links}
        self.last = {self.root}
        for u in order:
            if u in self.last and len(self.children[u]) == 1:
                self.last.add(self.children[u][0].other)
        for u, link in self.closures:
            for end in (u, link.other):
                self.names.setdefault(end, f"({len(self.names) + 1})")

    # --- sentences ----------------------------------------------------------------------------------------

    def sentence(self) -> str:
        """Describe the component."""
        uniform = self._uniform()
        if uniform:
            text = uniform
        elif self.all.exact:
            self._describe_branches([self.root])
            text = self._from_centre()
        elif not self.all.pinned and self._rows():
            text = self._row()
        else:
            self._describe_branches([self.root])
            text = self._in_words(self.root, None, top=True)
        ends = [
            f"{self._reference(u, link.here)} is {link.way.words} {self._reference(link.other, link.there)}"
            for u, link in self.closures
        ]
        return "; ".join([text, *ends])

    def _describe_branches(self, without: Iterable[int]) -> None:
        """Describe all units except some, each with its branches; every text is taken up once."""
        describe = self._formula if self.all.exact else self._in_words
        left_out = set(without)
        for u in reversed(self.order):
            if u not in left_out:
                self.texts[u] = describe(u, self.came[u])

    def _uniform(self) -> str:
        """Describe a ring or chain of equal nodes; empty if there are others."""
        nodes = [v for u in self.members for v in self._unit(u).members]
        if self.closures or len(nodes) < 3 or len(nodes) != len(set(nodes)):
            return ""
        phrase = self.all.phrases[nodes[0]]
        inside = set(nodes)
        ways = {way for (u, v), some in self.all.ways.items() if u in inside for way in some}
        if any(self.all.phrases[v] != phrase for v in nodes) or len(ways) != 1 or len(nodes) > 99:
            return ""
        if any(self._unit(u).found for u in self.members):
            return ""
        is_ring = len(self.members) == 1
        if not is_ring and not (len(nodes) >= _LONG and self._is_path()):
            return ""
        way = next(iter(ways))
        joined = f", {way.row}" if way.row else ""
        return f"a {'ring' if is_ring else 'chain'} of {phrase.many(len(nodes))}{joined}"

    def _reference(self, u: int, v: int) -> str:
        unit = self._unit(u)
        name = self.names.setdefault(u, f"({len(self.names) + 1})")
        if unit.found is not None and len(unit.members) > 1:
            return f"{unit.found.group.label(unit.members.index(v))} of {name}"
        if unit.phrase is None:
            return f"{self.all.what} {self._order(unit, self._entry(u)).index(v) + 1} of {name}"
        return name

    def _entry(self, u: int) -> int:
        """Return the node at which a unit is reached."""
        return self.came[u].there if u in self.came else self.start

    def _order(self, unit: Unit, entry: int) -> tuple[int, ...]:
        """Return the nodes of a ring from the one on at which it is reached."""
        at = unit.members.index(entry)
        return unit.members[at:] + unit.members[:at]

    # --- words --------------------------------------------------------------------------------------------

    def _in_words(self, u: int, came: Link | None, top: bool = False) -> str:
        """Describe a unit with an article and its branches."""
        unit = self._unit(u)
        if unit.phrase is None:
            return article(self._ring_text(unit, u))
        text = f"{unit.phrase.one()}{self._name(u)}{self._at(unit, came)}"
        links = self.children[u]
        if not links:
            return text
        if unit.labelled:
            branches = [f"{self._label(unit, link)} {self._hanging([link])}" for link in links]
            return f"{text} ({'; '.join(branches)})"
        hanging = self._hanging(links)
        if unit.found is not None and hanging.startswith("attached to "):
            hanging = f"on {hanging.removeprefix('attached to ')}"
        return f"{text} {hanging}" if top or (len(links) == 1 and u in self.last) else f"{text} ({hanging})"

    def _name(self, u: int) -> str:
        return f" {self.names[u]}" if u in self.names else ""

    def _at(self, unit: Unit, came: Link | None) -> str:
        if came is None or not unit.labelled:
            return ""
        return f" at {self._label(unit, came, there=True)}"

    def _label(self, unit: Unit, link: Link, there: bool = False) -> str:
        assert unit.found is not None
        return unit.found.group.label(unit.members.index(link.there if there else link.here))

    def _hanging(self, links: list[Link]) -> str:
        """Describe the branches of a unit; equal ones and those joined alike are grouped."""
        by_way: dict[str, list[Link]] = {}
        for link in links:
            by_way.setdefault(link.way.words, []).append(link)
        parts = []
        for words, some in by_way.items():
            counts: Counter[str] = Counter()
            phrases: dict[str, Phrase | None] = {}
            for link in some:
                text = self.texts.pop(link.other)
                counts[text] += 1
                leaf = not self.children[link.other] and link.other not in self.names
                phrases[text] = self._unit(link.other).phrase if leaf else None
            texts = [_many(text, n, phrases[text]) for text, n in counts.items()]
            parts.append(f"{words} {listed(texts, 'and')}")
        return listed(parts, "and")

    def _ring_text(self, unit: Unit, u: int) -> str:
        nodes = self._order(unit, self._entry(u))
        phrases = [self.all.phrases[v] for v in nodes]
        aromatic = "aromatic " if self.all.exact and all("aromatic" in p.adjectives for p in phrases) else ""
        items = []
        for i, v in enumerate(nodes):
            text = (phrases[i].without("aromatic") if aromatic else phrases[i]).bare
            way = self.all.ways[nodes[i - 1], v][0] if i else None
            items.append(self._item(text, way, self._on(u, v)))
        closing = self.all.ways[nodes[-1], nodes[0]][0]
        words = closing.row if not self.all.exact or closing.sign != "–" else ""
        close = f" ({words.strip('()')} to the first)" if words else ""
        n = number_word(len(nodes))
        head = f"{n}-membered {aromatic}ring" if self.all.exact else f"ring of {n} {self.all.what}s"
        return f"{head}{self._name(u)}: {listed(self._runs(items), 'and')}{close}"

    def _on(self, u: int, v: int) -> list[Link]:
        return [link for link in self.children[u] if link.here == v]

    def _item(self, text: str, way: Connection | None, hanging: list[Link]) -> str:
        """Describe one item of a row or ring, with its link to the previous one and its branches."""
        if self.all.exact:
            sign = "" if way is None or way.sign == "–" else way.sign
            return f"{sign}{text}" + "".join(f"({self._branch(link)})" for link in hanging)
        before = f"{way.row} " if way and way.row else ""
        return f"{before}{text}" + (f" ({self._hanging(hanging)})" if hanging else "")

    def _runs(self, items: list[str]) -> list[str]:
        """Return items with equal neighbours counted: ``three any``."""
        runs: list[tuple[str, int]] = []
        for item in items:
            if runs and runs[-1][0] == item and (self.all.chemical or item == "any"):
                runs[-1] = (item, runs[-1][1] + 1)
            else:
                runs.append((item, 1))
        return [item if n == 1 else f"{number_word(n)} {item}" for item, n in runs]

    # --- rows ---------------------------------------------------------------------------------------------

    def _rows(self) -> bool:
        """Whether the component is large enough to be described as a row."""
        plain = all(self._unit(u).phrase is not None and self._unit(u).found is None for u in self.members)
        return plain and len(self.members) >= _LONG and len(self._longest()) >= _LONG

    def _row(self) -> str:
        """Describe the longest path through the tree as a row, with its branches in brackets."""
        path = self._longest()
        self.root = path[0]
        self.children = {u: [] for u in self.members}
        self.closures, self.names = [], {}
        self._grow(path)
        self._describe_branches(path)
        along = set(path)
        items = []
        for i, u in enumerate(path):
            links = [link for link in self.children[u] if link.other not in along]
            way = next(link.way for link in self.children[path[i - 1]] if link.other == u) if i else None
            phrase = self._unit(u).phrase
            assert phrase is not None
            text = f"{phrase.bare}{self._name(u)}"
            items.append(self._item(text, way, links))
        return f"{number_word(len(path))} consecutive {self.all.what}s: {listed(self._runs(items), 'and')}"

    def _longest(self) -> list[int]:
        """Return a longest path of the tree, from the end that the links point away from."""

        def far(start: int) -> list[int]:
            came = {start: start}
            queue = [start]
            for u in queue:
                for v in near[u]:
                    if v not in came:
                        came[v] = u
                        queue.append(v)
            path = [queue[-1]]
            while path[-1] != start:
                path.append(came[path[-1]])
            return path

        near: dict[int, list[int]] = {u: [] for u in self.members}
        for u, links in self.children.items():
            for link in links:
                near[u].append(link.other)
                near[link.other].append(u)
        return far(far(self.root)[0])

    # --- formulas -----------------------------------------------------------------------------------------

    def _from_centre(self) -> str:
        """Describe the centre and, as formulas, its surroundings."""
        unit = self._unit(self.root)
        if unit.phrase is None:
            return article(self._ring_text(unit, self.root))
        text = f"{unit.phrase.one()}{self._name(self.root)}"
        links = self.children[self.root]
        if not links:
            return text
        if unit.labelled:
            return f"{text} with {listed(self._labelled(unit, links), 'and')}"
        by_way: dict[str, Counter[str]] = {}
        for link in links:
            before = "bonded to" if link.way.sign == "–" else link.way.words
            if link.way.sign.startswith("–single"):
                before = "single-bonded to"
            by_way.setdefault(before, Counter())[self.texts.pop(link.other)] += 1
        parts = []
        for before, counts in by_way.items():
            words = [text if n == 1 else f"{number_word(n)} {text}" for text, n in counts.items()]
            parts.append(f"{before} {listed(words, 'and')}")
        return f"{text} {listed(parts, 'and')}"

    def _labelled(self, unit: Unit, links: list[Link]) -> list[str]:
        """Write the branches of a group, with the atoms they are attached to."""
        return [f"{self._label(unit, link)}{self._joined(link)}" for link in links]

    def _joined(self, link: Link) -> str:
        return f"{link.way.sign}{self.texts.pop(link.other)}"

    def _branch(self, link: Link) -> str:
        sign = "" if link.way.sign == "–" else link.way.sign
        return f"{sign}{self.texts.pop(link.other)}"

    def _formula(self, u: int, came: Link) -> str:
        """Write a unit and its branches: the longest last, the others in brackets."""
        unit = self._unit(u)
        if unit.phrase is None:
            return f"[{self._ring_text(unit, u)}]"
        text = f"{unit.phrase.text.removesuffix(' group')}{self._name(u)}{self._at(unit, came)}"
        links = sorted(self.children[u], key=lambda link: self.size[link.other])
        if not links:
            return text
        if unit.labelled:
            return text + "".join(f"({end})" for end in self._labelled(unit, links))
        side = "".join(f"({self._branch(link)})" for link in links[:-1])
        return f"{text}{side}{self._joined(links[-1])}"


def _edge(link: Link) -> tuple[int, int, str]:
    """Return a key of a link that is equal from both ends."""
    words = link.way.words
    if words.startswith("preceded"):
        return link.there, link.here, words.replace("preceded", "followed")
    if words.startswith("followed"):
        return link.here, link.there, words
    return min(link.here, link.there), max(link.here, link.there), words


def _many(text: str, n: int, phrase: Phrase | None) -> str:
    """Return a text with its count."""
    if n == 1:
        return text
    return phrase.many(n) if phrase is not None else f"{number_word(n)} times {text}"
