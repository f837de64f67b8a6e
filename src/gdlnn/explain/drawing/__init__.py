"""Pictures: graphs, molecules, programs and explanations as SVG, and pages of them."""

from gdlnn.explain.drawing.explanation_picture import draw_counterfactual, draw_explanation
from gdlnn.explain.drawing.layout import layout
from gdlnn.explain.drawing.page import explanation_page, explanation_section, global_page
from gdlnn.explain.drawing.program_picture import draw_program
from gdlnn.explain.drawing.svg import COLOURS, write_text

__all__ = [
    "COLOURS",
    "draw_counterfactual",
    "draw_explanation",
    "draw_program",
    "explanation_page",
    "explanation_section",
    "global_page",
    "layout",
    "write_text",
]
