"""What a notebook shows of a graph, a program or a fitted model: pictures with the usual words."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from gdlnn.drawing.graph_picture import Highlights
from gdlnn.drawing.molecule_picture import picture
from gdlnn.drawing.program_picture import draw_program
from gdlnn.drawing.svg import document
from gdlnn.graphs import Graph, Schema

if TYPE_CHECKING:
    from gdlnn.gdl.program import Program
    from gdlnn.mining.program_set import MinedProgram

WIDTH, HEIGHT = 420, 280
MOST_NODES = 300
MOST_PROGRAMS = 5


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


def model_html(model: Any) -> str:
    """Return what a fitted classifier is made of: its size, classes and strongest programs."""
    schema = model.schema_ or Schema()
    classes = ", ".join(schema.class_name(label) for label in model.classes_.tolist())
    programs = model.programs_
    told = f"{len(programs)} programs mined from {programs.info.n_graphs} graphs; classes: {classes}."
    rows = []
    for mined, label, words in _strongest(model):
        directed = programs.info.directed
        diagram = draw_program(mined.program, model.schema_, directed=directed, example=mined.example)
        said = mined.program.describe(model.schema_, directed=directed)
        rows.append(
            f"<tr><td>{diagram}</td><td style='text-align:left'>{escape(schema.class_name(label))}"
            f" ({words})<br>{escape(said)}</td></tr>"
        )
    table = f"<table><caption>The strongest programs</caption>{''.join(rows)}</table>" if rows else ""
    return f"<p><b>{escape(type(model).__name__)}</b>: {escape(told)}</p>{table}"


def _strongest(model: Any) -> list[tuple[MinedProgram, Any, str]]:
    """Return programs with the class each speaks for, and how strongly in words."""
    if not hasattr(model, "head_"):  # PL4XGL: the score is what decides
        best = model.programs_.top(MOST_PROGRAMS)
        return [(mined, mined.label, f"score {mined.score:.3f}") for mined in best]
    from gdlnn.model.program_effects import strongest_programs

    return [
        (mined, label, f"log odds +{strength:.2f}, in {mined.n_matched} training graphs")
        for _, mined, label, strength in strongest_programs(model, MOST_PROGRAMS)
    ]
