"""PL4XGL on BA-2Motifs: the package's search next to the rules of the public program, written in Python.

The rules to the letter: after every drop the remaining edges are sorted by when they are reached from the
first one; of equal mutations the last is taken; self-loops are left out. The first two hardly matter. The
last does: 40 graphs of BA-2Motifs have a self-loop and a motif that touches nothing else, and from these the
search finds the motif at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from gdlnn import Graph, GraphDataset, Program, load_dataset, mine
from gdlnn.gdl.program import EdgeDescription, Interval, NodeDescription
from gdlnn.matching import match
from gdlnn.mining import MinedProgram, ProgramSet
from gdlnn.mining.program_set import support_matrix
from repro.pl4xgl import PL4XGLClassifier

BoolArray = npt.NDArray[np.bool_]

OPEN = (-np.inf, np.inf)
EPSILON = 0.1


@pytest.mark.filterwarnings("ignore")
def test_our_programs_classify_as_well_as_those_of_the_public_rules(data_dir: Path) -> None:
    data = load_dataset("BA-2Motifs", data_dir)
    data = data[np.random.default_rng(0).permutation(len(data))]
    train, val, test = data[:40], data[40:140], data[140:440]
    ours = mine(train, EPSILON, "sequential", nominal="interval", verbose=False)
    theirs = public_programs(train, EPSILON)
    scores = []
    for programs in (ours, theirs):
        model = PL4XGLClassifier(epsilon=EPSILON, verbose=False)
        scores.append(model.fit(train, validation=val, programs=programs).score(test))
    assert scores[0] >= scores[1] - 0.03
    assert len(set(ours.programs) & set(theirs.programs)) >= len(theirs) / 4


Edges = list[tuple[int, int]]
Bounds = dict[int, tuple[float, float]]


@dataclass(frozen=True)
class State:
    """A program with the training graphs it matches."""

    edges: Edges
    bounds: Bounds
    matched: BoolArray
    score: float


class PublicSearch:
    """The search of the public program for one label.

    Parameters
    ----------
    train, label, epsilon
        Training graphs, the label of the programs, and ε as a number.
    """

    def __init__(self, train: GraphDataset, label: int, epsilon: float) -> None:
        self.graphs, self.epsilon = train.graphs, epsilon
        self.of_label = np.asarray(train.y) == label

    def find(self, graph: Graph) -> Iterator[State]:
        """Yield one program for each connected component of a graph."""
        values = graph.node_features[:, 0].tolist()
        left: Edges = [(a, b) for a, b in graph.edges.tolist() if a != b]
        while left:
            part = in_reach(left)
            alone = len(part) == len(left)
            # Only the edges of graphs that fall apart are reordered at the start.
            edges = left if alone else part
            bounds = {node: (values[node], values[node]) for edge in edges for node in edge}
            start = self.evaluated(edges, bounds, np.zeros(len(self.graphs), dtype=bool))
            yield self.descend(start)
            left = [edge for edge in left if edge not in part]

    def descend(self, state: State) -> State:
        """Drop edges, then open nodes, then take the best single step as long as there is one."""
        for place in reversed(range(len(state.edges))):
            rest = self.dropped(state, place)
            tried = None if rest is None else self.evaluated(*rest, state.matched)
            state = tried if tried is not None and tried.score >= state.score else state
        for node in sorted(state.bounds, reverse=True):
            tried = self.evaluated(state.edges, {**state.bounds, node: OPEN}, state.matched)
            state = tried if tried.score >= state.score else state
        while True:
            best = None
            for tried in self.evaluated_all(list(self.steps(state)), state.matched):
                if tried.score >= (state if best is None else best).score:
                    best = tried
            if best is None:
                return state
            state = best

    def steps(self, state: State) -> Iterator[tuple[Edges, Bounds]]:
        """Yield every opening of one side, and every drop of an edge from the last to the first."""
        for node in sorted(state.bounds):
            low, high = state.bounds[node]
            sides = [(low, np.inf), (-np.inf, high)]
            for side in sides if np.isfinite([low, high]).all() else [OPEN]:
                if (low, high) != OPEN:
                    yield state.edges, {**state.bounds, node: side}
        for place in reversed(range(len(state.edges))):
            tried = self.dropped(state, place)
            if tried is not None:
                yield tried

    def dropped(self, state: State, place: int) -> tuple[Edges, Bounds] | None:
        """Return the program without an edge, or None if it would fall apart or have no edge."""
        rest = [*state.edges[:place], *state.edges[place + 1 :]]
        if not rest or len(in_reach(rest)) < len(rest):
            return None
        nodes = {node for edge in rest for node in edge}
        return in_reach(rest), {node: bound for node, bound in state.bounds.items() if node in nodes}

    def evaluated(self, edges: Edges, bounds: Bounds, known: BoolArray) -> State:
        """Return a program with its matches; graphs known to match are not tested again."""
        return self.evaluated_all([(edges, bounds)], known)[0]

    def evaluated_all(self, several: list[tuple[Edges, Bounds]], known: BoolArray) -> list[State]:
        """Return programs with their matches, in the same order."""
        rows = np.flatnonzero(~known)
        matched = np.tile(known, (len(several), 1))
        if len(rows) and several:
            programs = [as_program(*one) for one in several]
            matched[:, rows] = match(programs, [self.graphs[row] for row in rows]).T
        scores = (matched & self.of_label).sum(axis=1) / (matched.sum(axis=1) + self.epsilon)
        return [
            State(*one, row, float(score)) for one, row, score in zip(several, matched, scores, strict=True)
        ]


def in_reach(edges: Edges) -> Edges:
    """Return the edges connected with the first one, in the order in which sweeps reach them."""
    found, reached, waiting = [edges[0]], set(edges[0]), edges[1:]
    while True:
        later = []
        for edge in waiting:
            if reached.isdisjoint(edge):
                later.append(edge)
            else:
                reached.update(edge)
                found.append(edge)
        if len(later) == len(waiting):
            return found
        waiting = later


def as_program(edges: Edges, bounds: Bounds) -> Program:
    """Return a program of the package."""
    nodes = sorted({node for edge in edges for node in edge})
    described = [
        NodeDescription(f"x{node}", None if bounds[node] == OPEN else (Interval(*bounds[node]),))
        for node in nodes
    ]
    return Program(described, [EdgeDescription(f"x{a}", f"x{b}", None) for a, b in edges])


def public_programs(train: GraphDataset, epsilon: float) -> ProgramSet:
    """Return the programs that the public rules find from all training graphs."""
    assert train.y is not None
    frame = mine(train, epsilon, "sequential", targets=[0], nominal="interval", verbose=False)
    items: dict[tuple[Program, int], tuple[MinedProgram, npt.NDArray[np.intp]]] = {}
    for label in np.unique(train.y).tolist():
        search = PublicSearch(train, label, epsilon)
        for row in np.flatnonzero(train.y == label).tolist():
            for state in search.find(train[row]):
                program = as_program(state.edges, state.bounds).canonical()
                rows = np.flatnonzero(state.matched)
                item = MinedProgram(program, label, state.score, len(rows))
                items.setdefault((program, label), (item, rows))
    supports = support_matrix([rows for _, rows in items.values()], len(train))
    return ProgramSet([item for item, _ in items.values()], supports, frame.info)
