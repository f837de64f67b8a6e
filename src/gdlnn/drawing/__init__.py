"""Drawings: graphs, molecules and programs as SVG."""

from gdlnn.drawing.graph_picture import draw_graph
from gdlnn.drawing.layers import score_legend
from gdlnn.drawing.layout import layout
from gdlnn.drawing.marks import Marks, Outline
from gdlnn.drawing.program_picture import draw_program, program_picture
from gdlnn.drawing.svg import Picture, write_text

__all__ = [
    "Marks",
    "Outline",
    "Picture",
    "draw_graph",
    "draw_program",
    "layout",
    "program_picture",
    "score_legend",
    "write_text",
]
