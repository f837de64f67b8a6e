"""Molecules as chemists draw them, through RDKit, with atoms and bonds coloured by program."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from gdlnn.drawing.graph_picture import Highlights, graph_picture, score_rings
from gdlnn.drawing.svg import PAPER, colour, line, num
from gdlnn.errors import GraphError, MissingExtraError, require
from gdlnn.graphs.molecules import graph_molecule

if TYPE_CHECKING:
    from gdlnn.graphs import Graph

_PURPOSE = "Drawing a molecule"


def is_molecule(graph: Graph) -> bool:
    """Whether a graph can be drawn as a molecule: its schema says so and names its atoms."""
    schema = graph.schema
    return (
        schema is not None
        and schema.domain == "molecule"
        and any(feature.name == "atom" for feature in schema.node)
        and graph.n_nodes > 0
        and not graph.directed
    )


def molecule_picture(graph: Graph, marks: Highlights, width: int, height: int) -> list[str]:
    """Return the parts of a picture of a molecule in a box of this size.

    Raises
    ------
    GraphError
        Where some atom is no element, so that only the plain picture is left.
    """
    draw = require("rdkit.Chem.Draw.rdMolDraw2D", "chem", _PURPOSE)
    depict = require("rdkit.Chem.rdDepictor", "chem", _PURPOSE)
    chem = require("rdkit.Chem", "chem", _PURPOSE)
    molecule = graph_molecule(graph)
    chem.FastFindRings(molecule)
    depict.Compute2DCoords(molecule, canonOrient=True)
    drawer = draw.MolDraw2DSVG(width, height)
    options = drawer.drawOptions()
    options.useBWAtomPalette()
    options.prepareMolsBeforeDrawing = False
    options.clearBackground = False
    options.bondLineWidth = 2
    options.minFontSize = 11
    options.fillHighlights = True
    options.scaleHighlightBondWidth = True
    options.highlightBondWidthMultiplier = 12
    options.padding = 0.06
    atoms = {v: [_rgb(p) for p in marks.node_programs.get(v, ())] or [_GREY] for v in _shown(marks)}
    bonds = {}
    for u, v in graph.edges.tolist():
        programs = marks.edge_programs.get((min(u, v), max(u, v)), ())
        if programs:
            bonds[molecule.GetBondBetweenAtoms(u, v).GetIdx()] = [_rgb(p) for p in programs]
    under: list[str] = []
    try:
        if marks.scores is not None:
            drawer.DrawMolecule(molecule)
            under = _score_map(drawer, graph, marks)
        else:
            drawer.DrawMoleculeWithHighlights(molecule, "", atoms, bonds, dict.fromkeys(atoms, 0.42), {})
    except (RuntimeError, ValueError) as error:
        raise GraphError(f"expected a molecule that can be drawn, got one that cannot: {error}") from error
    drawer.FinishDrawing()
    inner = re.sub(r"^.*?<svg[^>]*>|</svg>\s*$", "", drawer.GetDrawingText(), flags=re.DOTALL)
    inner = re.sub(r"<!--.*?-->", "", inner, flags=re.DOTALL).strip()
    box = f"viewBox='0 0 {num(width)} {num(height)}' width='{num(width)}' height='{num(height)}'"
    return [f"<svg {box}>", *under, inner, "</svg>"]


def _score_map(drawer: Any, graph: Graph, marks: Highlights) -> list[str]:
    """Return what lies under a molecule: atoms filled by their scores, and lines around programs."""
    places = [(point.x, point.y) for point in map(drawer.GetDrawCoords, range(graph.n_nodes))]
    bonds = [(u, v, *places[u], *places[v]) for u, v in graph.edges.tolist()]
    lengths = [math.dist(places[u], places[v]) for u, v in graph.edges.tolist()]
    size = 0.38 * (sum(lengths) / len(lengths) if lengths else 40.0)
    body = []
    for u, v, x1, y1, x2, y2 in bonds:
        for depth, number in enumerate(marks.edge_programs.get((min(u, v), max(u, v)), ())[:3]):
            body.append(line(x1, y1, x2, y2, colour(number), 2 * size + 7 - 4 * depth))
    for node, (x, y) in enumerate(places):
        body += score_rings(marks, node, x, y, size)
    for u, v, x1, y1, x2, y2 in bonds:  # what is inside the lines is white again
        if marks.edge_programs.get((min(u, v), max(u, v))):
            body.append(line(x1, y1, x2, y2, PAPER, 2 * size))
    for node, (x, y) in enumerate(places):
        if (fill := marks.fill(node)) is not None:
            shown = f"{(marks.scores or ())[node]:+.2f}"
            at = f"cx='{num(x)}' cy='{num(y)}' r='{num(size)}'"
            body.append(f"<circle {at} fill='{fill}'><title>{shown}</title></circle>")
    return body


_GREY = (0.8, 0.8, 0.8)


def _shown(marks: Highlights) -> list[int]:
    return sorted(set(marks.nodes) | set(marks.node_programs) | set(marks.removed))


def _rgb(number: int) -> tuple[float, float, float]:
    code = colour(number)
    red, green, blue = (int(code[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def picture(graph: Graph, marks: Highlights, width: int, height: int) -> list[str]:
    """Return a graph as a molecule where it is one that can be drawn, else as a plain graph."""
    if is_molecule(graph):
        try:
            return molecule_picture(graph, marks, width, height)
        except (GraphError, MissingExtraError):
            pass  # the plain picture says the same
    return graph_picture(graph, marks, width, height)
