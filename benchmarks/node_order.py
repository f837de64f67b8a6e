"""PL4XGL on BA-2Motifs: how its accuracy depends on the order in which a file lists the nodes of a graph.

::

    python -m benchmarks node_order [--graphs 1000] [--epsilons 0.1 1 1%] [--orders …] [--public]

PL4XGL's search tries to drop the edges of a graph from the last to the first. The published file lists the
five nodes of a motif after those of the random graph around it, so the motif is taken apart first. Orders:
"published"; "motif first", the same graphs with all nodes in reverse; "random", every graph in its own order.

With --public, programs are found by the rules of the public program to the letter, in Python. After every
drop the remaining edges are sorted by when they are reached from the first one. Of equal mutations the last
is taken, and self-loops are left out. Without it, `strategy="sequential"` is used.
"""

from __future__ import annotations

import argparse
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gdlnn import Graph, GraphDataset, PL4XGLClassifier, Program, load_dataset, match, mine
from gdlnn.gdl.program import EdgeDescription, Interval, NodeDescription
from gdlnn.mining import MinedProgram, ProgramSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    BoolArray = npt.NDArray[np.bool_]

ORDERS = ("published", "motif first", "random")
OPEN = (-np.inf, np.inf)


def run(words: Sequence[str] = ("--graphs", "60", "--epsilons", "0.1", "--public")) -> None:
    """Print the accuracy for every order and ε."""
    parser = argparse.ArgumentParser("python -m benchmarks node_order")
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--epsilons", nargs="+", default=["0.1", "1", "1%"])
    parser.add_argument("--orders", nargs="+", default=list(ORDERS), choices=ORDERS)
    parser.add_argument("--public", action="store_true")
    options = parser.parse_args(list(words))
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("node_order: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    logging.getLogger("gdlnn.graphs").setLevel(logging.ERROR)
    data = load_dataset("BA-2Motifs")
    data = data[np.random.default_rng(0).permutation(len(data))[: options.graphs]]
    print("| order of nodes | " + " | ".join(f"ε = {epsilon}" for epsilon in options.epsilons) + " |")
    print("|---|" + "---|" * len(options.epsilons))
    for order in options.orders:
        row = [accuracy(ordered(data, order), epsilon, options.public) for epsilon in options.epsilons]
        print(f"| {order} | " + " | ".join(f"{100 * value:.1f}" for value in row) + " |", flush=True)


def accuracy(data: GraphDataset, epsilon: str, public: bool) -> float:
    """Return the test accuracy of PL4XGL on a random split."""
    train, val, test = data.split("random", seed=0)
    number = epsilon if epsilon.endswith("%") else float(epsilon)
    programs = public_programs(train, number) if public else None
    model = PL4XGLClassifier(epsilon=number, progress=False)
    return float(model.fit(train, validation=val, programs=programs).score(test))


def ordered(data: GraphDataset, order: str) -> GraphDataset:
    """Return the dataset with the nodes of its graphs in another order, and edges sorted by their nodes."""
    graphs = []
    for index, graph in enumerate(data.graphs):
        places = np.arange(graph.n_nodes)  # the new place of every node
        if order == "motif first":
            places = places[::-1].copy()
        elif order == "random":
            places = np.random.default_rng(index).permutation(graph.n_nodes)
        edges = np.sort(places[graph.edges], axis=1)
        edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
        graphs.append(Graph(graph.node_features[np.argsort(places)], edges, schema=graph.schema))
    return GraphDataset(graphs, data.y, data.schema, data.name)


# --- the rules of the public program ----------------------------------------------------------------------

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


def public_programs(train: GraphDataset, epsilon: float | str) -> ProgramSet:
    """Return the programs that the public rules find from all training graphs."""
    assert train.y is not None
    frame = mine(train, epsilon, "sequential", targets=[0], nominal="interval", progress=False)
    number = float(frame.info.settings["epsilon"])
    items: dict[tuple[Program, int], MinedProgram] = {}
    for label in np.unique(train.y).tolist():
        search = PublicSearch(train, label, number)
        for row in np.flatnonzero(train.y == label).tolist():
            for state in search.find(train[row]):
                program = as_program(state.edges, state.bounds).canonical()
                target = np.array([row], dtype=np.int64)
                items.setdefault(
                    (program, label), MinedProgram(program, label, state.score, state.matched, target, 0)
                )
    return ProgramSet(list(items.values()), frame.info, frame.stats)
