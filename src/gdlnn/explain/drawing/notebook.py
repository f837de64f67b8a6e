"""What a notebook shows of a graph or a program: a picture with the usual line below it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gdlnn.explain.drawing.explanation_picture import picture
from gdlnn.explain.drawing.graph_picture import Highlights
from gdlnn.explain.drawing.program_picture import draw_program
from gdlnn.explain.drawing.svg import document

if TYPE_CHECKING:
    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Graph

WIDTH, HEIGHT = 420, 280
MOST_NODES = 300


def graph_html(graph: Graph) -> str:
    """Return a graph with all of its nodes shown alike; a very large one as text alone."""
    told = f"<p><code>{escape(repr(graph))}</code></p>"
    if not 0 < graph.n_nodes <= MOST_NODES:
        return told
    marks = Highlights(nodes=frozenset(range(graph.n_nodes)))
    plain = Highlights() if graph.schema is not None and graph.schema.domain == "molecule" else marks
    return document(WIDTH, HEIGHT, picture(graph, plain, WIDTH, HEIGHT), repr(graph)) + told


def program_html(program: Program) -> str:
    """Return a program as a diagram, with its text below."""
    svg = draw_program(program, directed=False)
    return f"{svg}<pre>{escape(str(program))}</pre>"
