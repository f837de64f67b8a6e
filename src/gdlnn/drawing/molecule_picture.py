"""Molecules as chemists draw them. Coordinates, Kekulé bonds and wedges are RDKit's; the SVG is our own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.drawing.atom_labels import AtomLabel, atom_label
from gdlnn.drawing.layers import Outlines, bounds, rings_and_crosses, score_map
from gdlnn.drawing.marks import NOTHING
from gdlnn.drawing.svg import Picture, num, polyline
from gdlnn.errors import GraphError, require
from gdlnn.graphs.chem import chem, smiles_problem, without_messages
from gdlnn.graphs.molecules import graph_molecule

if TYPE_CHECKING:
    from collections.abc import Collection

    from gdlnn.drawing.contour import FloatArray
    from gdlnn.drawing.marks import Marks
    from gdlnn.graphs import Graph

BOND = 28.0
"""Length of a bond in units of the drawing."""
_SCALE = BOND / 1.5  # RDKit's bonds are 1.5 long
_APART = 4.6  # lines of a double bond
_RADIUS = 0.4 * BOND
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


def graph_as_molecule(graph: Graph, smiles: str | None = None) -> Any:
    """Return the RDKit molecule of a graph with coordinates, Kekulé bonds and wedges.

    Parameters
    ----------
    graph
        The graph of a molecule. Its features tell no stereo and no isotopes.
    smiles
        How the molecule was written, which does; by default the name of the graph, where that is a SMILES.
        That of another molecule is ignored.

    Raises
    ------
    GraphError
        If an atom is not an element, or RDKit finds no coordinates.
    """
    molecule = graph_molecule(graph)
    columns = {feature.name for feature in graph.schema.node} if graph.schema else set()
    if "hydrogens" not in columns:  # the graph does not say, and guesses are wrong where charges are unknown
        for atom in molecule.GetAtoms():
            atom.SetNoImplicit(True)
    molecule.UpdatePropertyCache(strict=False)
    for text in (smiles, graph.name):
        written = _written(text, molecule) if text else None
        if written is not None:
            return with_coordinates(written)
    return with_coordinates(molecule)


def _written(smiles: str, molecule: Any) -> Any:
    """Return the molecule of a SMILES if it has these atoms and bonds in this order; else None."""
    if smiles_problem(smiles):
        return None
    rd = chem(_PURPOSE)
    with without_messages(_PURPOSE):
        read = rd.MolFromSmiles(smiles)
    if read is None or read.GetNumAtoms() != molecule.GetNumAtoms():
        return None

    def signature(given: Any) -> tuple[list[int], set[tuple[int, int]]]:
        ends = ((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in given.GetBonds())
        return [atom.GetAtomicNum() for atom in given.GetAtoms()], {(min(e), max(e)) for e in ends}

    return read if signature(read) == signature(molecule) else None


def with_coordinates(molecule: Any) -> Any:
    """Return a molecule with Kekulé bonds as far as there are any, coordinates, and wedges."""
    rd = chem(_PURPOSE)
    depict = require("rdkit.Chem.rdDepictor", "chem", _PURPOSE)
    with without_messages(_PURPOSE):
        rd.FastFindRings(molecule)
        try:
            kekulised = rd.Mol(molecule)
            rd.Kekulize(kekulised, clearAromaticFlags=True)
            molecule = kekulised
        except (RuntimeError, ValueError):
            pass  # a piece of a ring: its bonds are drawn as aromatic ones
        try:
            depict.Compute2DCoords(molecule, canonOrient=True)
            rd.WedgeMolBonds(molecule, molecule.GetConformer())
        except (RuntimeError, ValueError) as error:
            raise GraphError(f"expected a molecule that RDKit can draw, got another: {error}") from error
    return molecule


def draw_molecule(molecule: Any, marks: Marks = NOTHING, faded: Collection[int] = ()) -> Picture:
    """Return the picture of an RDKit molecule that has coordinates.

    Parameters
    ----------
    molecule
        As `with_coordinates` gives it. Atoms without an element are where the rest was cut off.
    marks
        What to bring out.
    faded
        Atoms in the background.
    """
    places = np.asarray(molecule.GetConformer().GetPositions(), dtype=np.float64)[:, :2] * (_SCALE, -_SCALE)
    labels = [atom_label(atom, places) for atom in molecule.GetAtoms()]
    bonds = _Bonds(molecule, places, labels, frozenset(faded))
    outlines = Outlines(marks, places, _RADIUS + 1.5)
    hits = (
        ""
        if not faded
        else "".join(
            f"<circle class='hit' cx='{num(x)}' cy='{num(y)}' r='{num(_RADIUS)}'/>"
            for node, (x, y) in enumerate(places.tolist())
            if node not in faded
        )
    )
    names = "".join(
        label.svg("q" if node in faded else "") for node, label in enumerate(labels) if label.symbol
    )
    boxes = [
        label.box if label.symbol else (x - 3, y - 3, x + 3, y + 3)
        for label, (x, y) in zip(labels, places.tolist(), strict=True)
    ]
    middles = [(places[b.GetBeginAtomIdx()] + places[b.GetEndAtomIdx()]) / 2 for b in molecule.GetBonds()]
    taken = [*boxes, *((x - 8, y - 8, x + 8, y + 8) for x, y in middles)]
    tags, tag_boxes = outlines.tags(taken)
    reach = [box for _, _, box in outlines.boxes]
    if marks.scores is not None or marks.kept or faded:
        reach += [(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS) for x, y in places.tolist()]
    left, top, right, bottom = bounds([*boxes, *reach, *tag_boxes])
    body = (
        hits
        + score_map(marks, places, _RADIUS)
        + outlines.body
        + bonds.svg()
        + names
        + rings_and_crosses(marks, places, _RADIUS)
        + tags
    )
    return Picture((left - 4, top - 4, right + 4, bottom + 4), body, "molecule", len(labels))


class _Bonds:
    """The lines of bonds, few paths for all of them."""

    def __init__(
        self, molecule: Any, places: FloatArray, labels: list[AtomLabel], faded: frozenset[int]
    ) -> None:
        self.places, self.labels, self.faded = places, labels, faded
        self.paths: dict[str, list[str]] = {}
        self.rings = [ring for ring in molecule.GetRingInfo().AtomRings() if len(ring) <= 8]
        self.neighbours = [[near.GetIdx() for near in atom.GetNeighbors()] for atom in molecule.GetAtoms()]
        for bond in molecule.GetBonds():
            self._add(bond)

    def svg(self) -> str:
        return "".join(
            f"<path class='{look}' d='{''.join(data)}'/>"
            for look, data in sorted(self.paths.items(), reverse=True)
        )

    def _line(self, look: str, *points: tuple[float, float], closed: bool = False) -> None:
        self.paths.setdefault(look, []).append(polyline(points, closed=closed))

    def _add(self, bond: Any) -> None:
        u, v = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        pale = " q" if u in self.faded or v in self.faded else ""
        start, end = self.places[u], self.places[v]
        along = end - start
        length = float(np.linalg.norm(along)) or 1.0
        along = along / length
        across = np.array([-along[1], along[0]])
        first = start + along * self.labels[u].gap(*along)
        last = end - along * self.labels[v].gap(*-along)
        kind, direction = str(bond.GetBondType()), str(bond.GetBondDir())
        for node, tip in ((u, first), (v, last)):
            if self.labels[node].cut:
                self._wave(tip, across, pale)
        if kind == "SINGLE" and direction in ("BEGINWEDGE", "BEGINDASH"):
            self._wedge(first, last, across, direction == "BEGINWEDGE", pale)
        elif kind == "DOUBLE":
            self._double(u, v, first, last, across, pale)
        elif kind == "TRIPLE":
            for shift in (-_APART, 0, _APART):
                self._line(f"b{pale}", tuple(first + shift * across), tuple(last + shift * across))
        elif kind in ("AROMATIC", "ONEANDAHALF"):
            self._line(f"b{pale}", tuple(first), tuple(last))
            self._inner(u, v, first, last, across, f"b d{pale}")
        else:
            self._line(f"b{pale}" if kind == "SINGLE" else f"b d{pale}", tuple(first), tuple(last))

    def _double(self, u: int, v: int, first: Any, last: Any, across: Any, pale: str) -> None:
        side = self._side(u, v, across)
        if side == 0:
            for shift in (-_APART / 2, _APART / 2):
                self._line(f"b{pale}", tuple(first + shift * across), tuple(last + shift * across))
        else:
            self._line(f"b{pale}", tuple(first), tuple(last))
            self._inner(u, v, first, last, across, f"b{pale}")

    def _inner(self, u: int, v: int, first: Any, last: Any, across: Any, look: str) -> None:
        """Draw the second line of a bond, shorter where the chain or ring goes on."""
        shift = (self._side(u, v, across) or 1) * _APART * across
        along = (last - first) / (float(np.linalg.norm(last - first)) or 1.0)
        start, end = (0.0 if self.labels[node].symbol else 3.0 for node in (u, v))
        self._line(look, tuple(first + shift + start * along), tuple(last + shift - end * along))

    def _side(self, u: int, v: int, across: Any) -> int:
        """Return the side of the second line: inside a ring, else where more neighbours are; 0: centred."""
        middle = (self.places[u] + self.places[v]) / 2
        rings = [ring for ring in self.rings if u in ring and v in ring]
        if rings:
            best = min(rings, key=lambda ring: (abs(len(ring) - 6), len(ring)))  # mostly benzene
            centre = self.places[list(best)].mean(axis=0)
            return 1 if float((centre - middle) @ across) > 0 else -1
        if min(len(self.neighbours[u]), len(self.neighbours[v])) < 2:
            return 0
        near = [w for node in (u, v) for w in self.neighbours[node] if w not in (u, v)]
        sides = [1 if float((self.places[w] - middle) @ across) > 0 else -1 for w in near]
        return 1 if sum(sides) > 0 else -1 if sum(sides) < 0 else sides[0]

    def _wedge(self, first: Any, last: Any, across: Any, solid: bool, pale: str) -> None:
        if solid:
            self._line(
                f"w{pale}", tuple(first), tuple(last + 3 * across), tuple(last - 3 * across), closed=True
            )
            return
        for step in range(1, 7):
            at = first + (last - first) * step / 6
            width = 3.2 * step / 6
            self._line(f"b{pale}", tuple(at + width * across), tuple(at - width * across))

    def _wave(self, tip: Any, across: Any, pale: str) -> None:
        """Draw a wavy line where the molecule goes on."""
        along = np.array([across[1], -across[0]])
        shifts = [-6 + 1.5 * i for i in range(9)]
        points = [tuple(tip + s * across + 1.5 * math.sin(s * math.pi / 3) * along) for s in shifts]
        self._line(f"b{pale}", *points)
