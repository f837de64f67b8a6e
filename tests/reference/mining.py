"""Mining in the fewest words: every mutation scored on every graph with the reference matcher."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from gdlnn import Graph, Program
from gdlnn.gdl.program import EdgeDescription, Interval, NodeDescription
from reference.matcher import matches
from reference.mutations import Mutation, mutations


class Mined(NamedTuple):
    """What mining one target gives."""

    program: Program
    score: float
    support: tuple[bool, ...]
    steps: int


@dataclass
class Data:
    """Training graphs with labels; remembers which programs match which, so that no test is run twice."""

    graphs: list[Graph]
    y: list[int]
    epsilon: float
    nominal: tuple[frozenset[int], frozenset[int]] | None = None  # of nodes and edges; None: all are ordered
    memo: dict[Program, tuple[bool, ...]] = field(default_factory=dict)
    bounds: dict[tuple[str, int], tuple[float, float]] = field(default_factory=dict)

    def support(self, program: Program) -> tuple[bool, ...]:
        if program not in self.memo:
            # Variables have nodes of their own, so that a smaller graph needs no search.
            self.memo[program] = tuple(
                len(program.nodes) <= graph.n_nodes and matches(program, graph) for graph in self.graphs
            )
        return self.memo[program]

    def count(self, program: Program, label: int) -> tuple[float, int]:
        """Return the score, and how many graphs of the label the program matches."""
        support = self.support(program)
        positive = sum(hit and y == label for hit, y in zip(support, self.y, strict=True))
        return positive / (sum(support) + self.epsilon), positive

    def mutations(self, program: Program) -> list[Mutation]:
        return list(mutations(program, *(self.nominal or ())))

    def plain(self, program: Program) -> Program:
        """Return what is left of a program's bounds: where values are named, those that exclude something."""
        if self.nominal is None:
            return program

        def vector(of: str, intervals: tuple[Interval, ...] | None) -> tuple[Interval, ...] | None:
            kept = []
            for feature, (lower, upper) in enumerate(intervals or ()):
                lowest, highest = self.extremes(of, feature)
                named = feature in self.nominal[of == "edge"] and lower == upper
                below = lower > lowest or (named and upper < highest)
                above = upper < highest or (named and lower > lowest)
                kept.append(Interval(lower if below else -math.inf, upper if above else math.inf))
            return tuple(kept) if kept else None

        return Program(
            [NodeDescription(n.variable, vector("node", n.intervals)) for n in program.nodes],
            [EdgeDescription(e.source, e.target, vector("edge", e.intervals)) for e in program.edges],
        )

    def extremes(self, of: str, feature: int) -> tuple[float, float]:
        """Return the smallest and the largest value of a feature in all graphs."""
        if (of, feature) not in self.bounds:
            columns = [getattr(graph, f"{of}_features") for graph in self.graphs]
            values = [row[feature] for column in columns for row in column.tolist() if row]
            self.bounds[of, feature] = min(values), max(values)
        return self.bounds[of, feature]


def components(graph: Graph) -> list[list[int]]:
    """Return the nodes of each connected component, directions aside; components by their first node."""
    left, result = set(range(graph.n_nodes)), []
    while left:
        part = {min(left)}
        while True:
            more = {w for u, v in graph.edges.tolist() for w in (u, v) if u in part or v in part} - part
            if not more:
                break
            part |= more
        result.append(sorted(part))
        left -= part
    return result


def is_connected(program: Program) -> bool:
    """Whether the program hangs together, directions aside."""
    beside: dict[str, set[str]] = {variable: set() for variable in program.variables}
    for edge in program.edges:
        beside[edge.source].add(edge.target)
        beside[edge.target].add(edge.source)
    front = list(program.variables[:1])
    part = set(front)
    while front:
        more = beside[front.pop()] - part
        part |= more
        front += more
    return len(part) == len(program.nodes)


def start_program(graph: Graph, nodes: list[int]) -> Program:
    """Return the whole target, or one component of it, as a program."""
    whole = Program.from_graph(graph)
    kept = {whole.variables[node] for node in nodes}
    return Program(
        [n for n in whole.nodes if n.variable in kept],
        [e for e in whole.edges if e.source in kept and e.target in kept],
    )


def opens_nothing(program: Program, mutation: Mutation, data: Data) -> bool:
    """Whether a mutation opens a side whose bound no training value lies beyond."""
    if mutation.feature is None:
        return False
    of = "node" if mutation.rule == "generalize node" else "edge"
    lowest, highest = data.extremes(of, mutation.feature)
    described = next(
        item.intervals
        for item in (program.nodes if of == "node" else program.edges)
        if (item.variable if isinstance(item, NodeDescription) else (item.source, item.target))
        == mutation.target
    )
    lower, upper = described[mutation.feature]
    if mutation.side == "both":
        return lower <= lowest and upper >= highest
    return lower <= lowest if mutation.side == "lower" else upper >= highest


def offered(program: Program, data: Data, connected: bool) -> list[Mutation]:
    """Return the mutations that the greedy strategy may choose from, in the order of ties."""
    return [
        mutation
        for mutation in data.mutations(program)
        if mutation.program.nodes
        and not opens_nothing(program, mutation, data)
        and (not connected or mutation.feature is not None or is_connected(mutation.program))
    ]


def greedy(data: Data, target: int, nodes: list[int], *, connected: bool = True) -> Mined:
    """Mine one target by Algorithm 3."""
    label = data.y[target]
    program = start_program(data.graphs[target], nodes)
    score, _ = data.count(program, label)
    steps = 0
    while True:
        best: tuple[float, int] | None = None
        for mutation in offered(program, data, connected):
            mutant_score, rank = data.count(mutation.program, label)
            if best is None or (mutant_score, rank) > best:
                best, chosen = (mutant_score, rank), mutation
        if best is None or best[0] < score:
            return Mined(data.plain(program), score, data.support(program), steps)
        program, score, steps = chosen.program, best[0], steps + 1


def drop_edge(program: Program, edge: EdgeDescription, connected: bool) -> Program | None:
    """Return the program without an edge and without ends that have no other; None where it may not go."""
    edges = [e for e in program.edges if e != edge]
    touched = {end for e in edges for end in (e.source, e.target)}
    lost = {edge.source, edge.target} - touched
    dropped = Program([n for n in program.nodes if n.variable not in lost], edges)
    if not edges or (connected and not is_connected(dropped)):
        return None
    return dropped


def open_edge(program: Program, ends: tuple[str, str]) -> Program:
    """Return the program with all intervals of an edge opened."""
    edges = [EdgeDescription(*ends) if (e.source, e.target) == ends else e for e in program.edges]
    return Program(program.nodes, edges)


def open_node(program: Program, variable: str) -> Program:
    """Return the program with all intervals of a node opened."""
    nodes = [NodeDescription(variable) if n.variable == variable else n for n in program.nodes]
    return Program(nodes, program.edges)


def excludes(program: Program, rule: str, target: object, data: Data) -> bool:
    """Whether some interval of a node or an edge leaves out a training value: opening it is a step."""
    return any(
        (m.rule, m.target) == (rule, target) and not opens_nothing(program, m, data)
        for m in data.mutations(program)
    )


def sequential(data: Data, target: int, nodes: list[int], *, connected: bool = True) -> Mined:
    """Mine one target as PL4XGL does: three passes, each from the last to the first, then a greedy loop."""
    label = data.y[target]
    program = start_program(data.graphs[target], nodes)
    before, steps = program, 0

    def try_(mutant: Program | None) -> bool:
        nonlocal program
        if mutant is None or data.count(mutant, label)[0] < data.count(program, label)[0]:
            return False
        program = mutant
        return True

    for loop in [e for e in reversed(program.edges) if e.source == e.target]:
        without = drop_edge(program, loop, connected)
        if without is not None:  # whatever that does to the score
            program, steps = without, steps + 1
    for ends in [(e.source, e.target) for e in reversed(program.edges)]:
        edge = next((e for e in program.edges if (e.source, e.target) == ends), None)
        if edge is not None:
            steps += try_(drop_edge(program, edge, connected))
    for ends in [(e.source, e.target) for e in reversed(program.edges)]:
        steps += try_(open_edge(program, ends)) and excludes(before, "generalize edge", ends, data)
    for variable in reversed(program.variables):
        steps += try_(open_node(program, variable)) and excludes(before, "generalize node", variable, data)
    while len(data.graphs) < 1000:
        mutants = [drop_edge(program, edge, connected) for edge in program.edges]
        mutants += [
            m.program
            for m in data.mutations(program)
            if m.feature is not None and not opens_nothing(program, m, data)
        ]
        choice = max((m for m in mutants if m is not None), key=lambda m: data.count(m, label), default=None)
        if not try_(choice):
            break
        steps += 1
    return Mined(data.plain(program), data.count(program, label)[0], data.support(program), steps)
