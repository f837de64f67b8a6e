"""What a notebook shows of a graph, a program or a fitted model: pictures with a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gdlnn.drawing.graph_picture import draw_graph
from gdlnn.drawing.pages import render
from gdlnn.drawing.program_picture import draw_program
from gdlnn.graphs import Graph, Schema

if TYPE_CHECKING:
    from gdlnn.gdl.program import Program
    from gdlnn.mining.program_set import MinedProgram

MOST_NODES = 300
MOST_PROGRAMS = 5


def graph_html(graph: Graph) -> str:
    """Return a graph with all of its nodes shown alike; a very large one as text alone."""
    caption = Markup("<p><code>{}</code></p>").format(repr(graph))
    if not 0 < graph.n_nodes <= MOST_NODES:
        return caption
    return f"{draw_graph(graph).document(repr(graph))}{caption}"


def program_html(program: Program) -> str:
    """Return a program as a diagram, with its text below."""
    text = Markup("<pre>{}</pre>").format(str(program))
    return f"{draw_program(program, directed=False)}{text}"


def model_html(model: Any) -> str:
    """Return what a fitted classifier is made of: its size, classes and strongest programs."""
    schema, info = model.schema_ or Schema(), model.programs_.info
    programs = [
        {
            "diagram": Markup(
                draw_program(mined.program, model.schema_, directed=info.directed, example=mined.example)
            ),
            "class_name": schema.class_name(label),
            "strength": strength,
            "words": mined.program.describe(model.schema_, directed=info.directed),
        }
        for mined, label, strength in _strongest(model)
    ]
    return render(
        "gdlnn.drawing/model.html",
        name=type(model).__name__,
        n_programs=len(model.programs_),
        n_graphs=info.n_graphs,
        classes=[schema.class_name(label) for label in getattr(model, "classes_", ())],
        programs=programs,
    )


def _strongest(model: Any) -> list[tuple[MinedProgram, Any, str]]:
    """Return programs with the class each speaks for, and how strongly in words."""
    from gdlnn.model.base import SelfExplaining
    from gdlnn.model.program_effects import strongest_programs

    if isinstance(model, SelfExplaining):
        return model.strongest(MOST_PROGRAMS)
    scale, form = (100, "{:+.1f} points") if hasattr(model, "classes_") else (1, f"{{:+.2f}} {model.unit}")
    return [
        (mined, label, f"{form.format(scale * strength).rstrip()}, in {mined.n_matched} training graphs")
        for _, mined, label, strength in strongest_programs(model, MOST_PROGRAMS)
    ]
