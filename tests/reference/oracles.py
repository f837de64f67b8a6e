"""Outside oracles: the same question put to networkx, and PL4XGL's truth tables."""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import networkx
import numpy as np
import numpy.typing as npt

from gdlnn import Graph, Program
from gdlnn.gdl.program import Intervals

Wanted = list["Intervals | None"]


def inside(row: list[float], wanted: Wanted) -> bool:
    """Whether a row of features lies in every vector of intervals."""
    return all(
        intervals is None
        or all(lower <= value <= upper for value, (lower, upper) in zip(row, intervals, strict=True))
        for intervals in wanted
    )


def program_edges(program: Program, directed: bool) -> dict[tuple[int, int], Wanted]:
    """Return what each pair of variables must have between them; undirected, both orientations are one."""
    position = {variable: i for i, variable in enumerate(program.variables)}
    edges: dict[tuple[int, int], Wanted] = {}
    for edge in program.edges:
        ends = (position[edge.source], position[edge.target])
        edges.setdefault(ends if directed else (min(ends), max(ends)), []).append(edge.intervals)
    return edges


def networkx_count(program: Program, graph: Graph) -> int:
    """Return the number of witnesses that networkx finds."""
    kind = networkx.DiGraph if graph.directed else networkx.Graph
    host, pattern = kind(), kind()
    host.add_nodes_from((v, {"row": row}) for v, row in enumerate(graph.node_features.tolist()))
    host.add_edges_from(
        (u, v, {"row": row})
        for (u, v), row in zip(graph.edges.tolist(), graph.edge_features.tolist(), strict=True)
    )
    pattern.add_nodes_from((x, {"wanted": [node.intervals]}) for x, node in enumerate(program.nodes))
    pattern.add_edges_from(
        (x, y, {"wanted": wanted}) for (x, y), wanted in program_edges(program, graph.directed).items()
    )

    def fits(have: dict[str, Any], want: dict[str, Any]) -> bool:
        return inside(have["row"], want["wanted"])

    isomorphism = networkx.algorithms.isomorphism
    matcher = isomorphism.DiGraphMatcher if graph.directed else isomorphism.GraphMatcher
    return sum(1 for _ in matcher(host, pattern, fits, fits).subgraph_monomorphisms_iter())


class TruthTable(NamedTuple):
    """Programs, graphs, and which matches which: graphs × programs."""

    programs: list[Program]
    graphs: list[Graph]
    truth: npt.NDArray[np.bool_]


def load_truth_table(path: Path) -> TruthTable:
    """Read one of the tables of the public PL4XGL program's evaluator."""
    table = json.loads(path.read_text())
    graphs = [
        Graph(g["nodes"], [edge[:2] for edge in g["edges"]], [edge[2] for edge in g["edges"]])
        for g in table["graphs"]
    ]
    n_node_features, n_edge_features = graphs[0].node_features.shape[1], graphs[0].edge_features.shape[1]

    def intervals(given: dict[str, list[float | None]], width: int) -> list[tuple[float, float]]:
        vector = [(-math.inf, math.inf)] * width
        for feature, (lower, upper) in given.items():
            vector[int(feature)] = (
                -math.inf if lower is None else lower,
                math.inf if upper is None else upper,
            )
        return vector

    programs = [
        Program(
            [(f"x{i}", intervals(node, n_node_features)) for i, node in enumerate(p["nodes"])],
            [(f"x{u}", f"x{v}", intervals(edge, n_edge_features)) for u, v, edge in p["edges"]],
        )
        for p in table["programs"]
    ]
    truth = np.array([[character == "1" for character in row] for row in table["truth"]]).T
    return TruthTable(programs, graphs, truth)
