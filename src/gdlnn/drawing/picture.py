"""draw_graph(): the one renderer of graphs, for pages, notebooks and files.

Molecules are drawn as chemists do, other graphs as nodes and edges. Of a very large graph only the part near
what is marked is drawn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gdlnn.drawing.graph_picture import draw_plain_graph
from gdlnn.drawing.marks import LEVELS, NOTHING, Marks, signed
from gdlnn.drawing.molecule_picture import draw_molecule, graph_as_molecule, is_molecule
from gdlnn.drawing.svg import Picture, num, text
from gdlnn.errors import GraphError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import Graph

MOST_NODES = 160
"""Most nodes that are drawn."""


def draw_graph(graph: Graph, marks: Marks = NOTHING, smiles: str | None = None) -> Picture:
    """Return the picture of a graph.

    Parameters
    ----------
    graph
        The graph. One whose schema names atoms is drawn as a molecule, if RDKit is installed and every
        atom is an element.
    marks
        What to bring out.
    smiles
        How the molecule was written, for stereo and isotopes, which graphs do not have; by default the name
        of the graph, where that is a SMILES.
    """
    if graph.n_nodes > MOST_NODES:
        graph, marks = near(graph, marks)
        smiles = None
    if is_molecule(graph):
        try:
            return draw_molecule(graph_as_molecule(graph, smiles), marks)
        except (GraphError, MissingExtraError):
            pass  # the plain picture shows the same nodes
    return draw_plain_graph(graph, marks)


def near(graph: Graph, marks: Marks) -> tuple[Graph, Marks]:
    """Return the part of a large graph in widening circles around what is marked, and the marks for it."""
    marked = dict.fromkeys(node for outline in marks.outlines for node in outline.nodes)
    kept = _around(graph, [*marked, *marks.kept, *marks.gone] or [0])
    number = {node: place for place, node in enumerate(kept)}

    def known(nodes: Sequence[int]) -> tuple[int, ...]:
        return tuple(number[node] for node in nodes if node in number)

    outlines = tuple(
        replace(
            outline,
            nodes=known(outline.nodes),
            edges=tuple((number[u], number[v]) for u, v in outline.edges if u in number and v in number),
        )
        for outline in marks.outlines
    )
    scores = None if marks.scores is None else [marks.scores[node] for node in kept]
    return graph.subgraph(kept), Marks(scores, outlines, known(marks.kept), known(marks.gone))


def _around(graph: Graph, nodes: Sequence[int]) -> list[int]:
    neighbours: dict[int, list[int]] = {}
    for u, v in graph.edges.tolist():
        neighbours.setdefault(u, []).append(v)
        neighbours.setdefault(v, []).append(u)
    kept = list(dict.fromkeys(nodes))[:MOST_NODES]
    seen = set(kept)
    for node in kept:  # grows while it is walked: breadth first
        for other in sorted(neighbours.get(node, ())):
            if other not in seen and len(kept) < MOST_NODES:
                seen.add(other)
                kept.append(other)
    return sorted(kept)


def score_legend(largest: float, nodes: str = "node") -> Picture:
    """Return the scale of a map of scores, from against to for, in log odds."""
    low, high = f"against {signed(-largest)}", f"{signed(largest)} for"
    body = [text(118, 9.5, low, "end small soft")]
    for place in range(2 * LEVELS):
        level = place - LEVELS + (1 if place >= LEVELS else 0)
        look = f"f{level}" if level > 0 else f"g{-level}"
        body.append(f"<rect class='{look}' x='{num(124 + 11 * place)}' y='0' width='11' height='11'/>")
    end = 124 + 22 * LEVELS
    body.append(text(end + 6, 9.5, high, "small soft"))
    body.append(text((124 + end) / 2, 24, f"log odds that each {nodes} adds", "small soft mid"))
    return Picture((0, -2, end + 124, 28), "".join(body))
