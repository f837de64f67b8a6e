"""Programs in plain English: which graphs a program matches, as one sentence."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from gdlnn.errors import ProgramError
from gdlnn.gdl.canonical import merged_edges
from gdlnn.gdl.phrases import Phrase, Phrases
from gdlnn.gdl.text import listed

if TYPE_CHECKING:
    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Schema


class _Arc(NamedTuple):
    """An edge variable between numbered node variables, in words."""

    source: int
    target: int
    phrase: Phrase


class _Mention(NamedTuple):
    """One edge as it is told from a node: which other node is its successor, predecessor or neighbour."""

    other: int
    role: str
    phrase: Phrase


def describe(program: Program, schema: Schema | None, *, directed: bool) -> str:
    """Say in one sentence which graphs a program matches."""
    if schema is not None:
        for what, features, got in (
            ("node", schema.node, program.n_node_features),
            ("edge", schema.edge, program.n_edge_features),
        ):
            if got is not None and got != len(features):
                reason = f"as the schema has {what} features, got {got}"
                raise ProgramError(f"expected {len(features)} interval(s) per {what}, {reason}")
    phrases = Phrases(schema)
    if not program.nodes:
        return f"All {phrases.graphs}."
    pattern = _Pattern(program, phrases, directed)
    singles: Counter[Phrase] = Counter()
    parts: list[str] = []
    for members in pattern.components():
        if len(members) == 1 and not pattern.arcs[members[0]]:
            singles[pattern.nodes[members[0]]] += 1
        else:
            parts.append(_component(pattern, members))
    parts += [phrase.one() if n == 1 else phrase.many(n) for phrase, n in singles.items()]
    return f"{phrases.graphs.capitalize()} that contain {', and elsewhere '.join(parts)}."


class _Pattern:
    """A program with its descriptions in words and its edges at both ends."""

    def __init__(self, program: Program, phrases: Phrases, directed: bool) -> None:
        self.program, self.phrases, self.directed = program, phrases, directed
        self.nodes = [phrases.node(node.intervals) for node in program.nodes]
        self.values = [phrases.values(node.intervals) for node in program.nodes]
        if directed:
            number = {variable: i for i, variable in enumerate(program.variables)}
            arcs = [
                _Arc(number[e.source], number[e.target], phrases.edge(e.intervals)) for e in program.edges
            ]
        else:
            arcs = [
                _Arc(*ends, phrases.edge(vector))
                for ends, vectors in merged_edges(program).items()
                for vector in vectors
            ]
        self.arcs: list[list[_Arc]] = [[] for _ in self.nodes]
        for arc in arcs:
            for end in {arc.source, arc.target}:
                self.arcs[end].append(arc)

    def components(self) -> list[list[int]]:
        """Return the connected components, each in the order of the variables."""
        seen: set[int] = set()
        components = []
        for start in range(len(self.nodes)):
            if start in seen:
                continue
            members, todo = {start}, [start]
            while todo:
                for arc in self.arcs[todo.pop()]:
                    new = {arc.source, arc.target} - members
                    members |= new
                    todo.extend(new)
            seen |= members
            components.append(sorted(members))
        return components

    def path(self, members: list[int]) -> list[int] | None:
        """Return the nodes along a simple path, from its source or its first end; None for other shapes."""
        arcs = {id(arc): arc for v in members for arc in self.arcs[v]}.values()
        if len(arcs) != len(members) - 1 or any(len(self.arcs[v]) > 2 for v in members):
            return None
        ends = [v for v in members if len(self.arcs[v]) == 1]
        start = next((v for v in ends if self.arcs[v][0].source == v), ends[0]) if self.directed else ends[0]
        path = [start]
        while len(path) < len(members):
            nearby = (arc.source + arc.target - path[-1] for arc in self.arcs[path[-1]])
            path.append(next(v for v in nearby if v not in path[-2:]))
        return path

    def is_ring(self, members: list[int]) -> bool:
        """Whether a component is one ring; loops and double edges are none."""
        if len(members) < 3 or any(len(self.arcs[v]) != 2 for v in members):
            return False
        return all(len({e for a in self.arcs[v] for e in (a.source, a.target)}) == 3 for v in members)


def _component(pattern: _Pattern, members: list[int]) -> str:
    """Say what one connected component looks like: by its shape where that is plain, else edge by edge."""
    uniform = len({pattern.nodes[v] for v in members}) == 1
    kinds = {arc.phrase for v in members for arc in pattern.arcs[v]}
    path = pattern.path(members)
    if not pattern.directed and uniform and len(kinds) == 1:
        shape = "ring" if pattern.is_ring(members) else "chain" if path and len(path) > 3 else None
        if shape:
            nodes = pattern.nodes[members[0]].many(len(members))
            return f"a {shape} of {nodes}{_joined_by(pattern, kinds.pop())}"
    if path and len(path) <= 3 and not (pattern.phrases.molecule and _symmetric(pattern, path)):
        along = [_arc_between(pattern, u, v) for u, v in pairwise(path)]
        forward = all(arc.source == u for arc, u in zip(along, path, strict=False))
        if pattern.phrases.molecule:
            return _bonded_path(pattern, path, along)
        if forward or not pattern.directed:
            return _plain_path(pattern, path, along)
    return _narrative(pattern, members)


def _symmetric(pattern: _Pattern, path: list[int]) -> bool:
    """Whether a path of three reads better from its middle: the same on both sides."""
    if len(path) < 3 or pattern.nodes[path[0]] != pattern.nodes[path[2]]:
        return False
    return len({arc.phrase for arc in pattern.arcs[path[1]]}) == 1


def _joined_by(pattern: _Pattern, edge: Phrase) -> str:
    if edge == pattern.phrases.edge(None):
        return ""
    return f", joined by {edge.plural}{' ' if edge.details else ''}{edge.details}"


def _arc_between(pattern: _Pattern, u: int, v: int) -> _Arc:
    return next(arc for arc in pattern.arcs[u] if v in (arc.source, arc.target))


def _over(pattern: _Pattern, arc: _Arc) -> str:
    """Return how an edge that says something is mentioned beside a successor or neighbour."""
    return "" if arc.phrase == pattern.phrases.edge(None) else f" over {arc.phrase.one()}"


def _plain_path(pattern: _Pattern, path: list[int], along: list[_Arc]) -> str:
    """Word a path of two or three nodes by successors or neighbours."""
    word = "successor" if pattern.directed else "neighbour"
    first, second = pattern.nodes[path[0]].one(), pattern.values[path[1]]
    over = _over(pattern, along[0])
    if second:
        comma = "," if pattern.values[path[0]] else ""
        text = f"{first}{comma} whose {word}{over} has {second}"
    else:
        text = f"{first} that has a {word}{over}"
    if len(path) == 3:
        third = pattern.values[path[2]]
        has = f"a {word}" if pattern.directed else f"another {word}"
        text += (
            f", and the {word} also has {has}{_over(pattern, along[1])}{f' with {third}' if third else ''}"
        )
    return text


def _bonded_path(pattern: _Pattern, path: list[int], along: list[_Arc]) -> str:
    """Word a path of two or three atoms by their bonds."""
    atoms = [pattern.nodes[v] for v in path]
    parts = [atoms[0].one()]
    for i, arc in enumerate(along):
        other = atoms[i + 1].one(other=atoms[i + 1] in atoms[: i + 1])
        bonded = f"bonded {_by(pattern, arc.phrase)}to {other}"
        parts.append(f", which is {bonded}" if i or atoms[0].details else f" {bonded}")
    return "".join(parts)


def _by(pattern: _Pattern, edge: Phrase) -> str:
    return "" if edge == pattern.phrases.edge(None) else f"by {edge.one()} "


# --- edge by edge ---------------------------------------------------------------------------------------


def _narrative(pattern: _Pattern, members: list[int]) -> str:
    """Word any component: node after node, each with those of its edges that were not told before."""
    root = _root(pattern, members)
    if len(members) == 1:
        return f"{pattern.nodes[root].one()} that has {pattern.arcs[root][0].phrase.one()} to itself"
    told = _tell(pattern, root)
    loops = [v for v in members if any(arc.source == arc.target for arc in pattern.arcs[v])]
    mentions = Counter(mention.other for told_of in told.values() for mention in told_of)
    # A node needs its name only where it is spoken of again.
    named = (
        {v for v in told if v != root and told[v]} | {v for v, n in mentions.items() if n > 1} | set(loops)
    )
    known = {root}
    variables = pattern.program.variables
    clauses = []
    for v, edges in told.items():
        if edges:
            name = variables[v] if v in named else ""
            subject = pattern.nodes[v].one(name) if v == root else name
            clauses.append(_clause(pattern, v, subject, edges, named, known, v == root))
    for v in loops:
        loop = next(arc.phrase for arc in pattern.arcs[v] if arc.source == arc.target)
        clauses.append(f"{variables[v]} has {loop.one()} to itself")
    return clauses[0] if len(clauses) == 1 else f"{'; '.join(clauses[:-1])}; and {clauses[-1]}"


def _root(pattern: _Pattern, members: list[int]) -> int:
    """Choose where to begin: at the end of a path, a source that reaches all, else where most edges are."""
    path = pattern.path(members)
    if path:
        return path[1] if _symmetric(pattern, path) else path[0]
    if pattern.directed:
        for v in members:
            if all(arc.source == v for arc in pattern.arcs[v]) and _reached(pattern, v) == len(members):
                return v
    return max(members, key=lambda v: len(pattern.arcs[v]))


def _reached(pattern: _Pattern, start: int) -> int:
    seen, todo = {start}, [start]
    while todo:
        u = todo.pop()
        new = {arc.target for arc in pattern.arcs[u] if arc.source == u} - seen
        seen |= new
        todo.extend(new)
    return len(seen)


def _tell(pattern: _Pattern, root: int) -> dict[int, list[_Mention]]:
    """Return the nodes breadth first, each with the edges that no earlier node has told."""
    told: dict[int, list[_Mention]] = {root: []}
    queue = [root]
    done: set[int] = set()
    for u in queue:
        for arc in pattern.arcs[u]:
            if arc.source == arc.target:
                continue
            other = arc.target if arc.source == u else arc.source
            if other not in done:
                role = "successor" if arc.source == u else "predecessor"
                role = role if pattern.directed else "neighbour"
                told[u].append(_Mention(other, role, arc.phrase))
            if other not in told:
                told[other] = []
                queue.append(other)
        done.add(u)
    return told


def _clause(
    pattern: _Pattern,
    v: int,
    subject: str,
    edges: list[_Mention],
    named: set[int],
    known: set[int],
    first: bool,
) -> str:
    """Word the edges of one node, those of the same kind together."""
    groups: dict[tuple[str, Phrase], list[int]] = {}
    for other, role, phrase in edges:
        groups.setdefault((role, phrase), []).append(other)
    parts = []
    for (role, phrase), others in groups.items():
        others_text, n = _others(pattern, v, others, named, known), len(others)
        if role == "neighbour":
            parts.append(f"{_by(pattern, phrase)}to {others_text}")
        else:
            over = "" if phrase == pattern.phrases.edge(None) else f", over {phrase.one()},"
            parts.append(f"as {role}{'s' if n > 1 else ''}{over} {others_text}")
    joined = "bonded" if pattern.phrases.molecule else "joined"
    if first and pattern.phrases.molecule and not pattern.directed and not pattern.nodes[v].details:
        verb = f" {joined}"
    else:
        verb = f"{', which' if first else ''} {'has' if pattern.directed else f'is {joined}'}"
    return f"{subject}{verb} {listed(parts, 'and')}"


def _others(pattern: _Pattern, v: int, others: list[int], named: set[int], known: set[int]) -> str:
    """Word the nodes at the other ends: new ones by what they are, known ones by name, equal ones at once."""
    anonymous: Counter[Phrase] = Counter()
    labels: dict[Phrase, list[str]] = {}
    words = []
    for other in others:
        name, phrase = pattern.program.variables[other], pattern.nodes[other]
        if other in known:
            words.append(name)
        elif other in named:
            labels.setdefault(phrase, []).append(name)
        else:
            anonymous[phrase] += 1
        known.add(other)
    for phrase, names in labels.items():
        words.append(phrase.named(names, other=phrase == pattern.nodes[v]))
    for phrase, n in anonymous.items():
        words.append(phrase.one(other=phrase == pattern.nodes[v]) if n == 1 else phrase.many(n))
    return listed(words, "and")
