"""Explanations as pictures and pages: a map of scores, outlines of programs, a legend, and lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gdlnn.drawing import Marks, Outline, Picture, draw_graph, score_legend
from gdlnn.drawing.marks import MOST_OUTLINES
from gdlnn.drawing.pages import render
from gdlnn.drawing.svg import stacked, text, wrapped
from gdlnn.explain.words import (
    baseline_line,
    domain_note,
    figure,
    further_lines,
    headline,
    nodes_text,
    nodes_word,
    reason_words,
    short_name,
    subgraph_line,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdlnn.explain.explanation import Explanation
    from gdlnn.explain.global_explanation import GlobalExample, GlobalExplanation
    from gdlnn.gdl.program import Program

_LETTERS = 76  # in a line of the list below a picture
_WIDTH = 520.0


def explanation_picture(
    explanation: Explanation, *, kept: Sequence[int] = (), gone: Sequence[int] = ()
) -> Picture:
    """Return the graph of an explanation with a map of scores; the largest reasons are outlined.

    Parameters
    ----------
    explanation
        The explanation. Programs have the numbers of `Explanation.listed`.
    kept, gone
        Nodes to ring, and nodes to cross out, see `Marks`.
    """
    found = explanation.contributions
    factor = 100.0 if explanation.value is None else 1.0
    scores = None if found is None else [factor * score for score in found.scores]
    outlines, largest = explanation_outlines(explanation), factor * largest_score(explanation)
    marks = Marks(scores, outlines, tuple(kept), tuple(gone), largest)
    return draw_graph(explanation.graph, marks, explanation.smiles)


def explanation_outlines(explanation: Explanation) -> tuple[Outline, ...]:
    """Return the reasons that are present and where they are; a line with a name goes around the largest."""
    outlines: list[Outline] = []
    for number, reason in enumerate(explanation.listed, start=1):
        if reason.witness is None:
            continue
        drawn = len(outlines) < MOST_OUTLINES
        name = short_name(reason_words(explanation, reason), number)
        label = f"{name}, {figure(explanation, reason)}" if drawn else ""
        outline = program_outline(reason.program, reason.witness, number, label, drawn=drawn)
        if len(reason.places) > 1:
            groups = [set(place) for place in reason.places]
            pairs = [(min(u, v), max(u, v)) for u, v in explanation.graph.edges.tolist()]
            edges = tuple(sorted({pair for pair in pairs if any(group.issuperset(pair) for group in groups)}))
            outline = replace(outline, nodes=reason.nodes, edges=edges)
        outlines.append(outline)
    return tuple(outlines)


def program_outline(
    program: Program, witness: Mapping[str, int], number: int = 1, label: str = "", *, drawn: bool = True
) -> Outline:
    """Return the outline of a program in a graph."""
    ends = [(witness[edge.source], witness[edge.target]) for edge in program.edges]
    edges = tuple(sorted({(min(pair), max(pair)) for pair in ends}))
    return Outline(number, tuple(sorted(set(witness.values()))), edges, label, drawn)


def draw_explanation(explanation: Explanation, *, legend: bool = True) -> str:
    """Return the picture of an explanation as the text of an SVG file; the legend lists the programs."""
    parts = [_head(explanation), explanation_picture(explanation)]
    largest = largest_score(explanation)
    if largest:
        parts.append(_legend(explanation))
    if legend:
        parts.append(_list(explanation))
    return stacked(parts, 8).document(explanation.describe())


def largest_score(explanation: Explanation) -> float:
    """Return the end of the scale of node scores, the largest one; 0 for techniques without a baseline.

    It is at least one point, or a step of a regressor's values, so that no trifle looks like a reason.
    """
    found = explanation.contributions
    return 0.0 if found is None else max([2 * explanation.least_shown, *map(abs, found.scores)])


def _legend(explanation: Explanation) -> Picture:
    """Return the scale of the map of scores."""
    largest, node = largest_score(explanation), nodes_word(explanation.graph)[:-1]
    if explanation.value is None:
        return score_legend(100 * largest, f"points that each {node} adds")
    return score_legend(
        largest, f"{explanation.value.unit} that each {node} adds".strip(), "lowers", "raises"
    )


def _head(explanation: Explanation) -> Picture:
    body = text(8, 18, headline(explanation), "head")
    return Picture((0, 0, max(_WIDTH, 9.0 * len(headline(explanation))), 26), body)


def _list(explanation: Explanation) -> Picture:
    """Return the programs of an explanation as lines of text, each with the line that goes around it."""
    body, y = [f"<path class='rule' d='M8 2H{_WIDTH - 8:.0f}'/>"], 8.0
    for card in reason_cards(explanation):
        if card["line"]:
            body.append(f"<path class='o o{card['line']}' d='M8 {y + 8:.0f}h26'/>")
        body.append(text(42, y + 12, f"P{card['number']}", "small"))
        body.append(text(104, y + 12, card["figure"], "small end"))
        side = "for" if card["weight"] > 0 else "against"
        line = f"{side}: {card['words']} ({card['where'] or 'absent'})"
        for words in wrapped(line, _LETTERS):
            body.append(text(112, y + 12, words, "small"))
            y += 14
        y += 3
    first = [domain_note(explanation), baseline_line(explanation)]
    notes = filter(None, [*first, *further_lines(explanation), subgraph_line(explanation)])
    for words in (line for note in notes for line in wrapped(note, _LETTERS + 16)):
        body.append(text(8, y + 12, words, "small soft"))
        y += 14
    return Picture((0, 0, _WIDTH, y + 8), "".join(body))


# --- pages ------------------------------------------------------------------------------------------------

_PAGE = "gdlnn.explain/explain.html"


def explanation_page(explanations: Sequence[Explanation], title: str = "Explanations") -> str:
    """Return a page with a section per explanation."""
    graphs = [shown_graph(explanation, f"graph {i}") for i, explanation in enumerate(explanations)]
    return render(_PAGE, whole=True, title=title, graphs=graphs, classes=[])


def explanation_section(explanation: Explanation) -> str:
    """Return one explanation as an HTML fragment with styles, for a notebook."""
    return render(_PAGE, whole=False, graphs=[shown_graph(explanation)], classes=[])


def global_page(found: GlobalExplanation) -> str:
    """Return a page with the places that speak for every class, and graphs that show them."""
    names = found.schema.class_name if found.schema else str
    classes = [
        {
            "name": names(item.label),
            "headline": _sentence(found.headline(item)),
            "places": [
                {
                    "name": place.name,
                    "figures": _sentence(found.figures(place)),
                    "examples": [Markup(_example_picture(example)) for example in place.examples],
                }
                for place in item.places
            ],
        }
        for item in found.classes.values()
    ]
    return render(_PAGE, whole=True, title="What the model goes by", graphs=[], classes=classes)


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def shown_graph(explanation: Explanation, name: str = "graph") -> dict[str, Any]:
    """Return the values that the page shows for an explained graph; `name` is for one that has none."""
    largest = largest_score(explanation)
    return {
        "name": explanation.graph.name or name,
        "headline": headline(explanation),
        "domain": domain_note(explanation),
        "picture": Markup(explanation_picture(explanation).svg(explanation.describe())),
        "legend": Markup(_legend(explanation).svg("The scale of the map")) if largest else "",
        "nodes": nodes_word(explanation.graph),
        "target": explanation.class_name(explanation.target)
        if explanation.value is None
        else explanation.target,
        "unit": None if explanation.value is None else explanation.value.unit,
        "technique": explanation.method.technique,
        "quality": explanation.method.quality,
        "baseline": baseline_line(explanation) or None,
        "further": further_lines(explanation),
        "subgraph": subgraph_line(explanation),
        "programs": [
            {
                **card,
                "side": reason.side,
                "class_name": explanation.class_name(reason.label),
                "gdl": str(reason.program),
            }
            for card, reason in zip(reason_cards(explanation), explanation.listed, strict=True)
        ],
    }


def reason_cards(explanation: Explanation) -> list[dict[str, Any]]:
    """Return the places, or programs, of an explanation in the order of its texts.

    `number` is that of the class ``p1``, ``p2`` … in the picture, `line` that of its outline (0: none),
    `weight` what it adds, `figure` the same as texts and pictures show it, and `behind` lists the programs
    behind a place.
    """
    drawn = {
        outline.number: line for line, outline in Marks(outlines=explanation_outlines(explanation)).drawn()
    }
    return [
        {
            "number": number,
            "line": drawn.get(number, 0),
            "index": reason.column,
            "words": reason_words(explanation, reason),
            "weight": reason.weight,
            "figure": figure(explanation, reason),
            "where": nodes_text(explanation.graph, reason.nodes) if reason.places else "",
            **({} if explanation.value is None else {"unit": explanation.value.unit}),
            "witness": list(reason.places[0]) if reason.places else None,
            "edges": None
            if reason.witness is None
            else [
                [reason.witness[edge.source], reason.witness[edge.target]] for edge in reason.program.edges
            ],
            "behind": [
                {
                    "index": one.column,
                    "words": reason_words(explanation, one),
                    "weight": one.weight,
                    "figure": figure(explanation, one),
                }
                for one in reason.terms
            ],
        }
        for number, reason in enumerate(explanation.listed, start=1)
    ]


def _example_picture(example: GlobalExample) -> str:
    """Return the picture of a graph with one place on it."""
    assert example.reason.witness is not None
    marks = Marks(outlines=(program_outline(example.reason.program, example.reason.witness),))
    return draw_graph(example.graph, marks).svg(example.graph.name or f"graph {example.row}")
