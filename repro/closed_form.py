"""Closed forms: add back to a program everything that all its matched graphs share with its target.

Mining keeps only what distinguishes the classes, often three nodes of a five-node motif. The closed form
matches the same graphs and shows the whole motif.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.subgraph import shrink
from gdlnn.gdl.program import ANY, EdgeDescription, Interval, NodeDescription, Program
from gdlnn.matching import GraphSet, match
from gdlnn.mining.program_set import matched_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.explain.explanation import Explanation
    from gdlnn.graphs import Graph, GraphDataset
    from gdlnn.mining import ProgramSet

FloatArray = npt.NDArray[np.float64]


def closed_form(program: Program, target: Graph, support: Sequence[Graph]) -> Program:
    """Add constraints of a target back to a program while it still matches the same graphs.

    The program starts at its first witness in the target. These are added, in this order: the target's
    edges among its nodes; the sides of intervals, node by node and edge by edge, lower before upper; and
    neighbours in the order of their indices. A neighbour is added with its values and the edge that leads
    to it, or not at all; its other edges follow. Adding just any node would say nothing and would lead from
    a motif into its surroundings. A constraint refused once need not be tried again, since a program only
    gets stricter.
    """
    witness = program.find(target)
    if witness is None:
        raise ExplanationError(
            "closed_form: expected a program that matches its target, got one that does not"
        )
    return _Closure(program, target, witness, GraphSet(support)).run()


class _Closure:
    """A program that grows, in terms of its target's nodes."""

    def __init__(self, program: Program, target: Graph, witness: dict[str, int], graphs: GraphSet) -> None:
        self.program, self.target, self.graphs = program, target, graphs
        self.name_of = {node: variable for variable, node in witness.items()}
        self.edge_at: dict[tuple[int, int], int] = {}
        self.neighbours: dict[int, set[int]] = {v: set() for v in range(target.n_nodes)}
        for number, (u, v) in enumerate(target.edges.tolist()):
            self.edge_at[u, v] = number
            if not target.directed:
                self.edge_at[v, u] = number
            self.neighbours[u].add(v)
            self.neighbours[v].add(u)

    def run(self) -> Program:
        for number in range(self.target.n_edges):
            self._try_edge(number)
        self._close_sides()
        waiting = self._frontier(set())
        refused: set[int] = set()
        while waiting:
            node = min(waiting)
            if not self._try_node(node):
                refused.add(node)
            waiting = self._frontier(refused)
        return self.program

    def _try(self, candidate: Program) -> bool:
        """Accept a stricter program if it still matches every graph."""
        found, _ = match([candidate], self.graphs, return_unknown=True)
        if found.all():
            self.program = candidate
            return True
        return False

    def _frontier(self, refused: set[int]) -> set[int]:
        inside = set(self.name_of)
        around: set[int] = set()
        for node in inside:
            around |= self.neighbours[node]
        return around - inside - refused

    def _has_edge(self, u: int, v: int) -> bool:
        ends = (self.name_of[u], self.name_of[v])
        pairs = {(e.source, e.target) for e in self.program.edges}
        return ends in pairs or (not self.target.directed and ends[::-1] in pairs)

    def _edge(self, number: int) -> EdgeDescription:
        u, v = self.target.edges[number].tolist()
        vector = _exact(self.target.edge_features[number])
        return EdgeDescription(self.name_of[u], self.name_of[v], vector)

    def _try_edge(self, number: int) -> None:
        """Add an edge back with its values, or without them, or not at all."""
        u, v = self.target.edges[number].tolist()
        if u not in self.name_of or v not in self.name_of or self._has_edge(u, v):
            return
        edge = self._edge(number)
        for candidate in (edge, replace(edge, intervals=None)):
            if self._try(Program(self.program.nodes, (*self.program.edges, candidate))):
                return

    def _try_node(self, node: int) -> bool:
        """Add a neighbour back with its values and the edge from the lowest node that has one."""
        taken = set(self.program.variables)
        name = next(f"x{i}" for i in range(len(taken) + 1) if f"x{i}" not in taken)
        anchor = min(self.neighbours[node] & set(self.name_of))
        fresh = NodeDescription(name, _exact(self.target.node_features[node]))
        self.name_of[node] = name
        edges = [self.edge_at[pair] for pair in ((anchor, node), (node, anchor)) if pair in self.edge_at]
        candidate = Program((*self.program.nodes, fresh), (*self.program.edges, self._edge(edges[0])))
        if not self._try(candidate):
            del self.name_of[node]
            return False
        for other in sorted(self.neighbours[node] | {node}):
            for pair in ((other, node), (node, other)):
                if other in self.name_of and pair in self.edge_at:
                    self._try_edge(self.edge_at[pair])
        return True

    def _close_sides(self) -> None:
        node_of = {variable: node for node, variable in self.name_of.items()}
        for position, node in enumerate(self.program.nodes):
            values = self.target.node_features[node_of[node.variable]]
            self._close(position, values, of_edge=False)
        for position, edge in enumerate(self.program.edges):
            pair = (node_of[edge.source], node_of[edge.target])
            self._close(position, self.target.edge_features[self.edge_at[pair]], of_edge=True)

    def _close(self, position: int, values: FloatArray, *, of_edge: bool) -> None:
        """Close what is open at one node or edge, side by side."""
        for feature, value in enumerate(values.tolist()):
            for lower in (True, False):
                old = (self.program.edges if of_edge else self.program.nodes)[position]
                vector = list(old.intervals or (ANY,) * len(values))
                interval = vector[feature]
                closed = Interval(value, interval.upper) if lower else Interval(interval.lower, value)
                if closed == interval:
                    continue
                vector[feature] = closed
                self._try(self._with_vector(position, tuple(vector), of_edge=of_edge))

    def _with_vector(self, position: int, vector: tuple[Interval, ...], *, of_edge: bool) -> Program:
        nodes, edges = list(self.program.nodes), list(self.program.edges)
        if of_edge:
            edges[position] = replace(edges[position], intervals=vector)
        else:
            nodes[position] = replace(nodes[position], intervals=vector)
        return Program(nodes, edges)


def _exact(values: FloatArray) -> tuple[Interval, ...] | None:
    return tuple(Interval(v, v) for v in values.tolist()) if len(values) else None


def closed_forms(
    programs: ProgramSet,
    train: GraphDataset,
    indices: Sequence[int] | None = None,
) -> dict[int, Program]:
    """Return by position the closed forms of mined programs, each over the training graphs that it matches.

    `train` has the graphs they were mined from, in the same order; `indices` says which, by default all.
    """
    chosen = range(len(programs)) if indices is None else sorted(set(indices))
    closed: dict[int, Program] = {}
    rows = matched_rows(programs.supports)
    for index in chosen:
        mined = programs[index]
        if programs.info.n_graphs != len(train):
            raise ExplanationError(
                f"closed_forms: train: expected the {programs.info.n_graphs} graphs the programs were mined "
                f"from, got {len(train)}"
            )
        target = train.graphs[int(mined.targets[0])]
        support = [train.graphs[row] for row in rows[index].tolist()]
        closed[index] = closed_form(mined.program, target, support)
    return closed


def with_closed_forms(explanations: Sequence[Explanation], closed: dict[int, Program]) -> list[Explanation]:
    """Return explanations that show closed forms where they match, and subgraphs to go with them.

    A closed form matches the same training graphs as its program; on another graph it may fail, and the
    program itself is then shown.
    """
    results = []
    for explanation in explanations:
        graph = explanation.graph
        programs = [
            closed[term.column]
            if term.places and term.column in closed and closed[term.column].matches(graph)
            else term.program
            for term in explanation.terms
        ]
        use = np.array([[bool(term.places) for term in explanation.terms]], dtype=bool)
        (left,) = shrink([graph], programs, use)
        terms = tuple(
            term._replace(program=program).at(witness)
            for term, program, witness in zip(explanation.terms, programs, left.witnesses, strict=True)
        )
        results.append(replace(explanation, terms=terms, nodes=left.nodes, complete=left.complete))
    return results
