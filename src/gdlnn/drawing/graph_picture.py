"""draw_graph(): the one renderer of graphs, for pages, notebooks and files.

Molecules are drawn as chemists do, other graphs as nodes and edges. Of a very large graph only the part near
what is marked is drawn.
"""

from __future__ import annotations

import math
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from gdlnn.drawing.layers import LETTER, LINE, Outlines, bounds, placing_costs, rings_and_crosses
from gdlnn.drawing.layout import layout
from gdlnn.drawing.marks import NOTHING, Marks, signed
from gdlnn.drawing.molecule_picture import draw_molecule, graph_as_molecule, is_molecule
from gdlnn.drawing.svg import Box, Picture, arrow_head, num, polyline, text
from gdlnn.errors import GraphError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.drawing.layers import FloatArray
    from gdlnn.graphs import Feature, Graph

MOST_NODES = 160
"""Most nodes that are drawn."""
_LETTER = 6.4
_LONGEST = 14  # letters of a name that is written into a node; a longer one is its tooltip
_MOST_VALUES = 8  # edges whose values are written
_MOST_NAMED = 80  # nodes; of more, names are tooltips
_ALONG, _ASIDE = (0.55, 0.62, 0.48, 0.7, 0.4), (0.0, 14.0, -14.0, 22.0, -22.0)  # tried for values of edges
_ROOM = (440.0, 380.0)  # a drawing gets no larger than this if its nodes then still lie apart


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
        return draw_graph(*_near(graph, marks))
    if is_molecule(graph):
        try:
            return draw_molecule(graph_as_molecule(graph, smiles), marks)
        except (GraphError, MissingExtraError):
            pass  # the plain picture shows the same nodes
    return _draw_plain_graph(graph, marks)


def _near(graph: Graph, marks: Marks) -> tuple[Graph, Marks]:
    """Return the part of a large graph in widening circles around what is marked, and the marks for it."""
    marked = dict.fromkeys(node for outline in marks.outlines for node in outline.nodes)
    inside = _around(graph, [*marked, *marks.kept, *marks.gone] or [0])
    number = {node: place for place, node in enumerate(inside)}

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
    scores = None if marks.scores is None else [marks.scores[node] for node in inside]
    kept, gone = known(marks.kept), known(marks.gone)
    return graph.subgraph(inside), Marks(scores, outlines, kept, gone, marks.largest)


def _around(graph: Graph, nodes: Sequence[int]) -> list[int]:
    neighbors: dict[int, list[int]] = {}
    for u, v in graph.edges.tolist():
        neighbors.setdefault(u, []).append(v)
        neighbors.setdefault(v, []).append(u)
    reached = dict.fromkeys(nodes)
    queue = list(reached)
    for node in queue:  # grows while it is walked: breadth first
        if len(reached) >= MOST_NODES:
            break
        new = [other for other in sorted(neighbors.get(node, ())) if other not in reached]
        reached |= dict.fromkeys(new)
        queue += new
    return sorted(list(reached)[:MOST_NODES])


def _draw_plain_graph(graph: Graph, marks: Marks = NOTHING) -> Picture:
    """Return the picture of a graph."""
    labels = _labels(graph)
    half = max([8.0, *(len(label) * _LETTER / 2 + 4 for label in labels)])
    if graph.n_nodes > _MOST_NAMED:
        half = 5.0
    deciding = _deciding_edges(graph, marks)
    room = 80.0 if deciding and graph.edge_features.shape[1] else 24.0
    places = _spread(layout(graph.n_nodes, graph.edges), half, room)
    thick = "".join(polyline(places[graph.edges[i]].tolist()) for i in deciding)
    on = {node for _, outline in marks.drawn() for node in outline.nodes}
    outlines = Outlines(marks, places, max(half, 8.0) + 4)
    shapes = "".join(
        _node(graph, marks, node, x, y, labels[node], node in on)
        for node, (x, y) in enumerate(places.tolist())
    )
    boxes = [(x - half - 2, y - 11, x + half + 2, y + 11) for x, y in places.tolist()]
    if (graph.edges[:, 0] == graph.edges[:, 1]).any():
        boxes += [(x - 9, y - 24, x + 9, y) for x, y in places.tolist()]
    values, value_boxes = _edge_values(graph, places, deciding, boxes)
    tags, tag_boxes = outlines.tags([*boxes, *value_boxes])
    left, top, right, bottom = bounds(
        [*boxes, *(box for _, _, box in outlines.boxes), *value_boxes, *tag_boxes]
    )
    body = (
        outlines.body
        + _edges(graph, places, labels, half)
        + (f"<path class='e on' d='{thick}'/>" if thick else "")
        + shapes
        + values
        + rings_and_crosses(marks, places, 12.0)
        + tags
    )
    box = (left - 4, top - 4, right + 4, bottom + 4)
    return Picture(box, body, "plain", graph.n_nodes)


def _labels(graph: Graph) -> list[str]:
    """Return the name of each node's first value; none where all have the same, or of too many nodes."""
    features = graph.schema.node if graph.schema else None
    names = [(_value_names(features, row) or [""])[0] for row in graph.node_features.tolist()]
    if graph.n_nodes > _MOST_NAMED or (len(set(names)) == 1 and len(names) > 1):
        return [""] * len(names)
    return [name if len(name) <= _LONGEST else "" for name in names]


def _value_names(features: Sequence[Feature] | None, row: Sequence[float]) -> list[str]:
    return [features[i].value_name(value) if features else f"{value:g}" for i, value in enumerate(row)]


def _spread(places: FloatArray, half: float, room: float) -> FloatArray:
    """Scale positions so that neighbors lie apart, and no further than the room allows."""
    if len(places) < 2:
        return places
    span = np.maximum(np.ptp(places, axis=0), 1e-9)
    wanted = 2 * half + room
    return np.asarray(
        places * max(min(wanted, float((np.array(_ROOM) / span).min())), min(wanted, 2 * half + 6))
    )


def _edges(graph: Graph, places: FloatArray, labels: list[str], half: float) -> str:
    """Return all edges as one path, and the heads of arrows as another."""
    lines, heads = [], []
    for u, v in graph.edges.tolist():
        (x1, y1), (x2, y2) = places[u].tolist(), places[v].tolist()
        if u == v:
            lines.append(f"M{num(x1 - 5)} {num(y1 - 6)}a8 8 0 1 1 10 0")
            continue
        lines.append(polyline([(x1, y1), (x2, y2)]))
        if graph.directed:
            share = _reach(labels[v], x2 - x1, y2 - y1, half) / (math.hypot(x2 - x1, y2 - y1) or 1.0)
            tip = x2 - (x2 - x1) * share, y2 - (y2 - y1) * share
            heads.append(arrow_head((x1, y1), tip, 7, 3.2))
    arrows = f"<path class='a arrow' d='{''.join(heads)}'/>" if heads else ""
    return (f"<path class='e' d='{''.join(lines)}'/>" if lines else "") + arrows


def _deciding_edges(graph: Graph, marks: Marks) -> list[int]:
    """Return the edges of outlined places."""
    on = {pair for _, outline in marks.drawn() for pair in outline.edges}
    return [i for i, (u, v) in enumerate(graph.edges.tolist()) if (min(u, v), max(u, v)) in on and u != v]


def _edge_values(
    graph: Graph, places: FloatArray, rows: Sequence[int], taken: Sequence[Box]
) -> tuple[str, list[Box]]:
    """Return the values of a few edges where they cover no nodes, and their boxes.

    Each is nearer to where its edge leads, so that two directions lie apart.
    """
    body, boxes = list[str](), list[Box]()
    for i in rows if graph.edge_features.shape[1] and len(rows) <= _MOST_VALUES else ():
        start, end = places[graph.edges[i]]
        words = _value_names(graph.schema.edge if graph.schema else None, graph.edge_features[i].tolist())
        values = " ".join(words)[:_LONGEST]
        half = np.array([len(values) * LETTER / 2, LINE / 2])
        aside = np.array([start[1] - end[1], end[0] - start[0]]) / (math.dist(start, end) or 1.0)
        shares = [(share, off) for off in _ASIDE for share in _ALONG]
        middles = [(1 - share) * start + share * end + off * aside for share, off in shares]
        spots: list[Box] = [(*(spot - half), *(spot + half)) for spot in middles]
        costs = placing_costs(spots, [*taken, *boxes], bounds(taken))
        best = int(np.argmin(costs))
        boxes.append(spots[best])
        x, y = middles[best].tolist()
        body.append(text(x, y + 3.5, values, "tag mid small"))
    return "".join(body), boxes


def _reach(label: str, dx: float, dy: float, half: float) -> float:
    """Return how far from its middle the rim of a node lies."""
    if not label:
        return min(half, 8.0)
    length = math.hypot(dx, dy) or 1.0
    wide = len(label) * _LETTER / 2 + 4
    return min(wide / max(abs(dx) / length, 1e-9), 9.5 / max(abs(dy) / length, 1e-9))


def _node(graph: Graph, marks: Marks, node: int, x: float, y: float, label: str, on: bool) -> str:
    level = marks.level(node)
    words = escape(_values(graph, node))
    if marks.scores is not None:
        score = signed(marks.scores[node])
        words = f"{words}: {score}" if words else score
    look = " ".join(filter(None, ("n", "on" if on else "", level)))
    title = f"<title>{words}</title>" if words else ""
    if not label:
        radius = 8 if graph.n_nodes <= _MOST_NAMED else 5
        return f"<circle class='{look}' cx='{num(x)}' cy='{num(y)}' r='{radius}'>{title}</circle>"
    wide = max(17.0, len(label) * _LETTER + 8)
    at = f"x='{num(x - wide / 2)}' y='{num(y - 9)}' width='{num(wide)}' height='18' rx='9'"
    return f"<rect class='{look}' {at}>{title}</rect>" + text(x, y + 4, label, "mid small")


def _values(graph: Graph, node: int) -> str:
    features = graph.schema.node if graph.schema else None
    names = _value_names(features, graph.node_features[node].tolist())
    return ", ".join(f"{features[i].name} {name}" if features else name for i, name in enumerate(names))
