"""Explanations as pictures: the graph with the programs on it, and a legend that says what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdlnn.errors import GraphError, MissingExtraError
from gdlnn.explain.drawing.graph_picture import Highlights, graph_picture
from gdlnn.explain.drawing.molecule_picture import is_molecule, molecule_picture
from gdlnn.explain.drawing.svg import FAINT, INK, QUIET, colour, document, num, text, weight_text, wrapped

if TYPE_CHECKING:
    from gdlnn.explain.counterfactual import Counterfactual
    from gdlnn.explain.explanation import Explanation
    from gdlnn.graphs import Graph

WIDTH, HEIGHT = 560, 380
_HEAD, _LETTERS = 34, 74


def draw_explanation(explanation: Explanation, *, legend: bool = True) -> str:
    """Return the picture of an explanation as SVG; of one without a subgraph, what there is instead."""
    shown = explanation.instead or explanation
    numbers = program_colours(shown)
    body = [f"<g transform='translate(0 {_HEAD})'>"]
    body += picture(shown.graph, highlights(shown, numbers), WIDTH, HEIGHT)
    body.append("</g>")
    name = explanation.class_name(explanation.target)
    body.append(text(14, 23, f"{name} ({explanation.target_probability:.1%})", 16, INK, weight="bold"))
    size = f"{len(shown.nodes)} of {shown.graph.n_nodes} nodes"
    body.append(text(WIDTH - 14, 23, size, 12, QUIET, "end"))
    height = float(_HEAD + HEIGHT)
    if legend:
        rows, height = _legend(shown, numbers, height)
        body += rows
        if shown is not explanation:
            note = f"By {explanation.technique} no important program matches; shown is {shown.technique}."
            body.append(text(14, height, note, 11, QUIET))
            height += 14
    return document(WIDTH, height, body, explanation.describe())


def draw_counterfactual(counterfactual: Counterfactual) -> str:
    """Return the picture of a counterfactual as SVG: the nodes to remove are crossed out."""
    graph = counterfactual.graph
    names = graph.schema.class_name if graph.schema else str
    title = f"{names(counterfactual.prediction)} → {names(counterfactual.new_prediction)}"
    nodes = frozenset(counterfactual.nodes)
    body = [f"<g transform='translate(0 {_HEAD})'>"]
    body += graph_picture(graph, Highlights(nodes=nodes, removed=nodes), WIDTH, HEIGHT)
    body += ["</g>", text(14, 23, title, 16, INK, weight="bold")]
    return document(WIDTH, _HEAD + HEIGHT, body, f"{title} without the nodes {sorted(nodes)}")


def picture(graph: Graph, marks: Highlights, width: int, height: int) -> list[str]:
    """Return a graph as a molecule where it is one that can be drawn, else as a plain graph."""
    if is_molecule(graph):
        try:
            return molecule_picture(graph, marks, width, height)
        except (GraphError, MissingExtraError):
            pass  # the plain picture says the same
    return graph_picture(graph, marks, width, height)


def program_colours(explanation: Explanation) -> dict[int, int]:
    """Return the colours of the programs that match, by their number; absent ones have none."""
    present = [i for i, found in enumerate(explanation.matched) if found]
    return {program: number for number, program in enumerate(present)}


def highlights(explanation: Explanation, numbers: dict[int, int]) -> Highlights:
    """Return which nodes and edges which program stands on."""
    nodes: dict[int, list[int]] = {}
    edges: dict[tuple[int, int], list[int]] = {}
    for program, number in numbers.items():
        witness = explanation.witnesses[program] or {}
        for node in witness.values():
            nodes.setdefault(node, []).append(number)
        for edge in explanation.programs[program].edges:
            u, v = witness[edge.source], witness[edge.target]
            pair = (min(u, v), max(u, v))
            if number not in edges.setdefault(pair, []):
                edges[pair].append(number)
    return Highlights(frozenset(explanation.nodes), nodes, edges)


def _legend(explanation: Explanation, numbers: dict[int, int], top: float) -> tuple[list[str], float]:
    """Return a row per program: colour or an empty ring, weight as a bar, state and words."""
    body = [f"<line x1='14' y1='{num(top)}' x2='{WIDTH - 14}' y2='{num(top)}' stroke='{FAINT}'/>"]
    largest = max((abs(w) for w in explanation.weights), default=1.0) or 1.0
    y = top + 8
    for i, (program, weight) in enumerate(zip(explanation.programs, explanation.weights, strict=True)):
        words = program.describe(explanation.schema, directed=explanation.graph.directed)
        lines = wrapped(words, _LETTERS, 3)
        if i in numbers:
            body.append(
                f"<circle cx='24' cy='{num(y + 10)}' r='8' fill='{colour(numbers[i])}' stroke='{INK}'/>"
            )
        else:
            body.append(
                f"<circle cx='24' cy='{num(y + 10)}' r='8' fill='none' stroke='{QUIET}' "
                "stroke-dasharray='3 2'/>"
            )
        body.append(text(38, y + 14, f"P{i + 1}", 12, INK, weight="bold"))
        length = 46 * abs(weight) / largest
        fill = INK if weight > 0 else QUIET
        body.append(f"<rect x='62' y='{num(y + 4)}' width='{num(max(length, 1))}' height='5' fill='{fill}'/>")
        state = "present" if i in numbers else "absent"
        body.append(text(62, y + 22, weight_text(weight), 10, INK))
        body.append(text(118, y + 12, f"{state}, speaks {'for' if weight > 0 else 'against'}", 10, QUIET))
        for number, words_line in enumerate(lines):
            body.append(text(118, y + 25 + 13 * number, words_line, 11, INK))
        y += 32 + 13 * max(len(lines) - 1, 0)
    for part in wrapped(explanation.subgraph_line(), _LETTERS + 16, 3):
        body.append(text(14, y + 14, part, 11, QUIET))
        y += 14
    return body, y + 14
