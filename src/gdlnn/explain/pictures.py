"""Explanations as pictures and pages: the graph with the programs on it, a legend, and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gdlnn.drawing.graph_picture import Highlights, LegendRow, draw_legend, graph_picture
from gdlnn.drawing.molecule_picture import picture
from gdlnn.drawing.pages import render
from gdlnn.drawing.program_picture import draw_program
from gdlnn.drawing.svg import INK, QUIET, colour, document, moved_down, score_legend, text, weight_text
from gdlnn.explain.explanation import what_it_contains

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.explain.counterfactual import Counterfactual
    from gdlnn.explain.explanation import Explanation
    from gdlnn.explain.global_explanation import GlobalExample, GlobalExplanation, GlobalProgram
    from gdlnn.gdl.program import Program

WIDTH, HEIGHT = 560, 380
_HEAD = 34


def draw_explanation(explanation: Explanation, *, legend: bool = True) -> str:
    """Return the picture of an explanation as SVG."""
    numbers = program_colours(explanation)
    marks = highlights(explanation, numbers)
    body = moved_down(picture(explanation.graph, marks, WIDTH, HEIGHT), _HEAD)
    name = explanation.class_name(explanation.target)
    body.append(text(14, 23, f"{name} ({explanation.target_probability:.1%})", 16, INK, weight="bold"))
    size = f"{len(explanation.nodes)} of {explanation.graph.n_nodes} nodes"
    body.append(text(WIDTH - 14, 23, size, 12, QUIET, "end"))
    height = float(_HEAD + HEIGHT)
    if marks.largest:
        body += score_legend(marks.largest, WIDTH - 190, height)
        height += 18
    if legend:
        rows, height = _legend(explanation, numbers, height)
        body += rows
    return document(WIDTH, height, body, explanation.describe())


def _legend(explanation: Explanation, numbers: dict[int, int], top: float) -> tuple[list[str], float]:
    rows = [
        LegendRow(numbers.get(i), weight, _words(explanation, program), explanation.matched[i])
        for i, (program, weight) in enumerate(zip(explanation.programs, explanation.weights, strict=True))
    ]
    return draw_legend(rows, explanation.subgraph_line(), WIDTH, top)


def _words(explanation: Explanation, program: Program) -> str:
    return what_it_contains(program.describe(explanation.schema, directed=explanation.graph.directed))


def draw_counterfactual(counterfactual: Counterfactual) -> str:
    """Return the picture of a counterfactual as SVG: the nodes to remove are crossed out."""
    graph = counterfactual.graph
    names = graph.schema.class_name if graph.schema else str
    title = f"{names(counterfactual.prediction)} → {names(counterfactual.new_prediction)}"
    nodes = frozenset(counterfactual.nodes)
    body = moved_down(graph_picture(graph, Highlights(nodes=nodes, removed=nodes), WIDTH, HEIGHT), _HEAD)
    body.append(text(14, 23, title, 16, INK, weight="bold"))
    return document(WIDTH, _HEAD + HEIGHT, body, f"{title} without the nodes {sorted(nodes)}")


def program_colours(explanation: Explanation) -> dict[int, int]:
    """Return the colours of the matching programs, by index; absent ones have none."""
    present = [i for i, found in enumerate(explanation.matched) if found]
    if (
        explanation.baseline_probability is not None
    ):  # colours show nodes against the class; outlines show nodes for it
        present = [i for i in present if explanation.weights[i] > 0 and explanation.nodes]
    return {program: number for number, program in enumerate(present)}


def highlights(explanation: Explanation, numbers: dict[int, int]) -> Highlights:
    """Return which program matches which nodes and edges."""
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
    return Highlights(frozenset(explanation.nodes), nodes, edges, scores=explanation.scores)


# --- pages ------------------------------------------------------------------------------------------------

_PAGE = "gdlnn.explain/explain.html"


def explanation_page(explanations: Sequence[Explanation], title: str = "Explanations") -> str:
    """Return a page with a section per explanation."""
    graphs = [_shown_graph(explanation) for explanation in explanations]
    return render(_PAGE, whole=True, title=title, graphs=graphs, classes=[])


def explanation_section(explanation: Explanation) -> str:
    """Return one explanation as an HTML fragment with styles, for a notebook."""
    return render(_PAGE, whole=False, graphs=[_shown_graph(explanation)], classes=[])


def global_page(found: GlobalExplanation) -> str:
    """Return a page with the programs that cover every class, and graphs that show them."""
    names = found.schema.class_name if found.schema else str
    classes = [
        {
            "name": names(item.label),
            "headline": _sentence(found.headline(item)),
            "programs": [_shown_program(found, program) for program in item.programs],
            "uncovered": _sentence(found.uncovered_line(item)),
        }
        for item in found.classes.values()
    ]
    return render(_PAGE, whole=True, title="What the model goes by", graphs=[], classes=classes)


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _shown_graph(explanation: Explanation) -> dict[str, Any]:
    """Return the values that the page shows for an explained graph."""
    numbers = program_colours(explanation)
    return {
        "name": explanation.graph.name or "graph",
        "class_name": explanation.class_name(explanation.prediction),
        "probability": explanation.probability,
        "picture": Markup(draw_explanation(explanation, legend=False)),
        "target": explanation.class_name(explanation.target),
        "technique": explanation.technique,
        "quality": explanation.quality,
        "subgraph": explanation.subgraph_line(),
        "programs": [
            {
                "fill": colour(numbers[i]) if i in numbers else "",
                "state": "present" if explanation.matched[i] else "absent",
                "weight": weight_text(weight),
                "words": _words(explanation, program),
                "class_name": explanation.class_name(explanation.labels[i]),
                "gdl": str(program),
            }
            for i, (program, weight) in enumerate(zip(explanation.programs, explanation.weights, strict=True))
        ],
    }


def _shown_program(found: GlobalExplanation, item: GlobalProgram) -> dict[str, Any]:
    """Return the values that the page shows for a program of a class."""
    return {
        "diagram": Markup(draw_program(item.program, found.schema, directed=found.directed)),
        "words": found.words(item),
        "figures": _sentence(found.figures(item)),
        "examples": [Markup(_example_picture(item, example)) for example in item.examples[:2]],
    }


def _example_picture(item: GlobalProgram, example: GlobalExample) -> str:
    """Return the picture of a graph with one program on it."""
    nodes = {node: [0] for node in example.witness.values()}
    ends = [(example.witness[edge.source], example.witness[edge.target]) for edge in item.program.edges]
    edges = {(min(pair), max(pair)): [0] for pair in ends}
    name = example.graph.name or f"graph {example.row}"
    body = moved_down(
        picture(example.graph, Highlights(frozenset(nodes), nodes, edges), WIDTH, HEIGHT), _HEAD
    )
    body.append(text(14, 23, name, 14, INK))
    return document(WIDTH, _HEAD + HEIGHT, body, f"{name}, with the program")
