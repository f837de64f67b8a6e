"""Other libraries' matchers, given the same constraints as ours: candidates per variable, made beforehand.

What they get for free: graphs and programs in their own form, and which nodes and edges satisfy which
intervals.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import igraph
import networkx
import numpy as np
import numpy.typing as npt
import rustworkx

from gdlnn import Graph, Program

if TYPE_CHECKING:
    from pathlib import Path

    from gdlnn.gdl.program import FloatArray, Intervals

LONGEST = 2
"""CPU seconds after which a matcher is taken to have given up on a pair."""


class TruthTable(NamedTuple):
    """Programs, graphs, and which matches which: graphs × programs."""

    programs: list[Program]
    graphs: list[Graph]
    truth: npt.NDArray[np.bool_]


def load_truth_table(path: Path) -> TruthTable:
    """Read one of the tables of the public PL4XGL program's evaluator."""
    table = json.loads(path.read_text())
    graphs = [
        Graph(g["nodes"], [e[:2] for e in g["edges"]], [e[2] for e in g["edges"]]) for g in table["graphs"]
    ]
    widths = graphs[0].node_features.shape[1], graphs[0].edge_features.shape[1]

    def vector(given: dict[str, list[float | None]], width: int) -> list[tuple[float, float]]:
        pairs = [given.get(str(f), [None, None]) for f in range(width)]
        return [(-math.inf if a is None else a, math.inf if b is None else b) for a, b in pairs]

    programs = [
        Program(
            [(f"x{i}", vector(node, widths[0])) for i, node in enumerate(p["nodes"])],
            [(f"x{u}", f"x{v}", vector(edge, widths[1])) for u, v, edge in p["edges"]],
        )
        for p in table["programs"]
    ]
    return TruthTable(programs, graphs, np.array([[c == "1" for c in row] for row in table["truth"]]).T)


class Candidates(NamedTuple):
    """For each variable the nodes, for each edge of the program the edges that its intervals admit."""

    nodes: list[list[bool]]
    edges: list[list[bool]]


def candidates(program: Program, graph: Graph) -> Candidates:
    """Compare every variable with every node, and every edge of the program with every edge."""

    def admitted(features: FloatArray, intervals: Intervals | None) -> list[bool]:
        if intervals is None:
            return [True] * len(features)
        low, high = np.array(intervals).T
        inside: list[bool] = ((features >= low) & (features <= high)).all(axis=1).tolist()
        return inside

    return Candidates(
        [admitted(graph.node_features, node.intervals) for node in program.nodes],
        [admitted(graph.edge_features, edge.intervals) for edge in program.edges],
    )


class Shape(NamedTuple):
    """Number of nodes and edges as pairs: all that is left of a graph or a program besides the candidates."""

    n: int
    edges: list[tuple[int, int]]


def shape_of(item: Graph | Program) -> Shape:
    """Return the shape of an undirected graph or program."""
    if isinstance(item, Graph):
        return Shape(item.n_nodes, [(u, v) for u, v in item.edges.tolist()])
    position = {variable: i for i, variable in enumerate(item.variables)}
    return Shape(len(item.nodes), [(position[e.source], position[e.target]) for e in item.edges])


class Matcher(Protocol):
    """A library: its form of a shape, and the question whether a graph contains a program."""

    name: str

    def build(self, shape: Shape, *, is_program: bool) -> Any: ...
    def matches(self, graph: Any, program: Any, admitted: Candidates) -> bool: ...


class NetworkX:
    """networkx's VF2."""

    name = "networkx VF2"

    def build(self, shape: Shape, *, is_program: bool) -> Any:  # noqa: ARG002
        """Return a networkx graph whose nodes and edges know their numbers."""
        graph = networkx.Graph()
        graph.add_nodes_from((v, {"i": v}) for v in range(shape.n))
        graph.add_edges_from((u, v, {"i": e}) for e, (u, v) in enumerate(shape.edges))
        return graph

    def matches(self, graph: Any, program: Any, admitted: Candidates) -> bool:
        """Ask for a monomorphism."""
        nodes, edges = admitted
        matcher = networkx.algorithms.isomorphism.GraphMatcher(
            graph, program, lambda v, x: nodes[x["i"]][v["i"]], lambda a, b: edges[b["i"]][a["i"]]
        )
        return bool(matcher.subgraph_is_monomorphic())


class Rustworkx:
    """rustworkx's VF2."""

    name = "rustworkx VF2"

    def build(self, shape: Shape, *, is_program: bool) -> Any:
        """Return a rustworkx graph whose nodes and edges carry their numbers, negative in programs.

        rustworkx passes the two graphs of a comparison in either order; the sign shows which is which.
        """
        graph: Any = rustworkx.PyGraph()
        graph.add_nodes_from([~v if is_program else v for v in range(shape.n)])
        graph.add_edges_from([(u, v, ~e if is_program else e) for e, (u, v) in enumerate(shape.edges)])
        return graph

    def matches(self, graph: Any, program: Any, admitted: Candidates) -> bool:
        """Ask for a subgraph that is not induced; no search where the graph is the smaller one."""
        nodes, edges = admitted
        if program.num_nodes() > graph.num_nodes():
            return False

        def fits(table: list[list[bool]]) -> Any:
            return lambda a, b: table[~b][a] if b < 0 else table[~a][b]

        return bool(
            rustworkx.is_subgraph_isomorphic(
                graph, program, fits(nodes), fits(edges), id_order=False, induced=False
            )
        )


class IgraphVF2:
    """igraph's VF2."""

    name = "igraph VF2"

    def build(self, shape: Shape, *, is_program: bool) -> Any:  # noqa: ARG002
        """Return an igraph graph."""
        return igraph.Graph(n=shape.n, edges=shape.edges)

    def matches(self, graph: Any, program: Any, admitted: Candidates) -> bool:
        """Ask with functions that look up the candidates."""
        nodes, edges = admitted
        return bool(
            graph.subisomorphic_vf2(
                program,
                node_compat_fn=lambda _g, _p, v, x: nodes[x][v],
                edge_compat_fn=lambda _g, _p, a, b: edges[b][a],
            )
        )


class IgraphLAD:
    """igraph's LAD with domains. It knows no edge constraints, so that every edge gets a node of its own."""

    name = "igraph LAD"

    def build(self, shape: Shape, *, is_program: bool) -> Any:  # noqa: ARG002
        """Return an igraph graph with a node on each edge, and the number of the real nodes."""
        halves = [(end, shape.n + e) for e, ends in enumerate(shape.edges) for end in ends]
        return igraph.Graph(n=shape.n + len(shape.edges), edges=halves), shape.n

    def matches(self, graph: Any, program: Any, admitted: Candidates) -> bool:
        """Ask with the candidates as domains."""
        (host, n), (pattern, _) = graph, program
        domains = [[v for v, good in enumerate(row) if good] for row in admitted.nodes]
        domains += [[n + e for e, good in enumerate(row) if good] for row in admitted.edges]
        return bool(host.subisomorphic_lad(pattern, domains=domains))


MATCHERS: list[Matcher] = [NetworkX(), Rustworkx(), IgraphVF2(), IgraphLAD()]
