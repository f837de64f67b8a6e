"""Drawings: graphs, molecules and programs as SVG."""

from gdlnn.drawing.layout import layout
from gdlnn.drawing.program_picture import draw_program
from gdlnn.drawing.svg import COLOURS, write_text

__all__ = ["COLOURS", "draw_program", "layout", "write_text"]
