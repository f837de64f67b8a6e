"""Molecules as RDKit draws them, in the classes of our style sheet, and the parts that programs match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from gdlnn.drawing.layers import Outlines, bounds, rings_and_crosses, score_map
from gdlnn.drawing.marks import NOTHING
from gdlnn.drawing.svg import Box, Picture, num, text
from gdlnn.errors import GraphError, require
from gdlnn.graphs.molecules import chem, graph_molecule, smiles_problem, without_messages

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gdlnn.drawing.layers import FloatArray
    from gdlnn.drawing.marks import Marks
    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Graph

BOND = 28.0
"""Length of a bond in units of the drawing."""
_FONT = 13
_RADIUS = 0.4 * BOND
_MOST_RING = 8  # larger rings of a part are cut like chains
_PURPOSE = "Drawing a molecule"
_HALOGENS_AND_SELENIUM = (34, 35, 53)


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
        The graph of a molecule. Its features hold no stereo and no isotopes.
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
    for written in filter(None, (smiles, graph.name)):
        read = _molecule_of(written)
        if read is not None and _structure(read) == _structure(molecule):
            return with_coordinates(read)
    return with_coordinates(molecule)


def _molecule_of(smiles: str) -> Any:
    """Return the molecule of a SMILES; None where it is none."""
    with without_messages(_PURPOSE):
        return None if smiles_problem(smiles) else chem(_PURPOSE).MolFromSmiles(smiles)


def _structure(molecule: Any) -> tuple[list[int], set[frozenset[int]]]:
    """Return the elements of the atoms in their order, and which are bonded."""
    bonds = {frozenset((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())) for bond in molecule.GetBonds()}
    return [atom.GetAtomicNum() for atom in molecule.GetAtoms()], bonds


def with_coordinates(molecule: Any) -> Any:
    """Return a molecule with Kekulé bonds as far as there are any, coordinates, and wedges."""
    rd = chem(_PURPOSE)
    depict = require("rdkit.Chem.rdDepictor", "chem", _PURPOSE)
    with without_messages(_PURPOSE):
        rd.FastFindRings(molecule)
        try:
            kekulized = rd.Mol(molecule)
            rd.Kekulize(kekulized, clearAromaticFlags=True)
            molecule = kekulized
        except (RuntimeError, ValueError):
            pass  # a piece of a ring: its bonds are drawn as aromatic ones
        try:
            depict.Compute2DCoords(molecule, canonOrient=True)
            rd.WedgeMolBonds(molecule, molecule.GetConformer())
        except (RuntimeError, ValueError) as error:
            raise GraphError(f"expected a molecule that RDKit can draw, got another: {error}") from error
    for atom in molecule.GetAtoms():  # RDKit gives radicals to ions of metals too
        if atom.GetAtomicNum() > 17 and atom.GetAtomicNum() not in _HALOGENS_AND_SELENIUM:
            atom.SetNumRadicalElectrons(0)
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
    places, lines, labels, boxes = _drawn(molecule, set(faded))
    outlines = Outlines(marks, places, _RADIUS + 1.5)
    hits = "".join(
        f"<circle class='hit' cx='{num(x)}' cy='{num(y)}' r='{num(_RADIUS)}'/>"
        for node, (x, y) in enumerate(places.tolist())
        if faded and node not in faded
    )
    middles = [(places[b.GetBeginAtomIdx()] + places[b.GetEndAtomIdx()]) / 2 for b in molecule.GetBonds()]
    tags, tag_boxes = outlines.tags([*boxes, *((x - 8, y - 8, x + 8, y + 8) for x, y in middles)])
    reach = [box for _, _, box in outlines.boxes]
    if marks.scores is not None or marks.kept or faded:
        reach += [(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS) for x, y in places.tolist()]
    left, top, right, bottom = bounds([*boxes, *reach, *tag_boxes])
    crosses = rings_and_crosses(marks, places, _RADIUS)
    body = hits + score_map(marks, places, _RADIUS) + outlines.body + lines + labels + crosses + tags
    box = (left - 4, top - 4, right + 4, bottom + 4)
    return Picture(box, body, "molecule", len(places))


def _drawn(molecule: Any, faded: set[int]) -> tuple[FloatArray, str, str, list[Box]]:
    """Return the places of atoms, bonds and labels in the classes of our style sheet, and what they cover."""
    canvas = _canvas()
    canvas.DrawMolecule(molecule)
    canvas.FinishDrawing()
    places = np.array([tuple(canvas.GetDrawCoords(atom)) for atom in range(molecule.GetNumAtoms())])
    boxes = [(x - 3, y - 3, x + 3, y + 3) for x, y in places.tolist()]
    paths: dict[str, list[str]] = {}
    labels = []
    for element in ElementTree.fromstring(canvas.GetDrawingText()):
        style = element.get("style", "")
        atoms = {int(atom) for atom in re.findall(r"atom-(\d+)", element.get("class", ""))}
        is_cut = "stroke:#7F7F7F" in style  # the wavy line where the rest was cut off
        pale = "q" if is_cut or atoms & faded else ""
        if element.tag.endswith("text"):
            x, y = float(element.get("x", 0)), float(element.get("y", 0))
            size = "" if f"font-size:{_FONT}px" in style else "sub"
            letter = (element.text or "").replace("-", "−")
            labels.append(text(x, y, letter, f"{size} {pale}".strip()))
            boxes.append((x, y - 0.75 * _FONT, x + 0.7 * _FONT, y))
        elif atoms:  # the others round the corners of bonds
            look = ("b d" if "dasharray" in style else "b") if "fill:none" in style else "w"
            paths.setdefault(f"{look} {pale}".strip(), []).append(_short(element.get("d", "")))
    looks = sorted(paths.items(), reverse=True)
    lines = "".join(f"<path class='{look}' d='{''.join(data)}'/>" for look, data in looks)
    return places, lines, "".join(labels), boxes


def _canvas() -> Any:
    """Return an empty drawing of RDKit: black, with labels as text, as large as a molecule needs."""
    canvas = require("rdkit.Chem.Draw.rdMolDraw2D", "chem", _PURPOSE).MolDraw2DSVG(-1, -1, -1, -1, True)
    options = canvas.drawOptions()
    options.useBWAtomPalette()
    options.clearBackground = options.includeMetadata = options.prepareMolsBeforeDrawing = False
    options.dummiesAreAttachments = True
    options.scalingFactor = BOND / 1.5  # RDKit's bonds are 1.5 long
    options.fixedFontSize = _FONT
    return canvas


def _short(data: str) -> str:
    """Return the data of a path in fewer letters."""
    return re.sub(r"\s*([A-Z])\s*", r"\1", re.sub(r"\d+\.\d+", lambda found: num(float(found[0])), data))


# --- parts of molecules -----------------------------------------------------------------------------------


def draw_matched_part(program: Program, example: tuple[str, Sequence[int]]) -> Picture:
    """Return the part of a molecule that a program matches, with what is around it faded.

    Atoms next to the matched ones and the rings they lie on are drawn in gray, and what is further away is
    cut off at a wavy line.

    Parameters
    ----------
    program
        The program.
    example
        The SMILES of a molecule, and for each variable of the program the atom that it stands for.

    Raises
    ------
    GraphError
        Where there is nothing that a chemist could draw.
    """
    rd = chem(_PURPOSE)
    atoms, molecule = [int(v) for v in example[1]], _molecule_of(example[0])
    inside = molecule is not None and all(0 <= v < molecule.GetNumAtoms() for v in atoms)
    if not inside or not atoms or len(atoms) != len(program.nodes):
        raise GraphError("example: expected a SMILES and an atom of it for every variable of the program")
    piece, number = _cut(rd, with_coordinates(molecule), set(atoms))
    matched = {number[v] for v in atoms}
    return draw_molecule(piece, faded=set(range(piece.GetNumAtoms())) - matched)


def _cut(rd: Any, molecule: Any, matched: set[int]) -> tuple[Any, dict[int, int]]:
    """Return the matched atoms with what is around them, and the new number of every atom that is left."""
    kept = set(matched)
    for ring in molecule.GetRingInfo().AtomRings():
        if len(ring) <= _MOST_RING and matched & set(ring):
            kept |= set(ring)
    kept |= set(_around(molecule, matched))
    ends = set(_around(molecule, kept)) - kept
    piece = rd.RWMol(molecule)
    for atom in piece.GetAtoms():  # what is cut off must not become hydrogens
        atom.SetNumExplicitHs(atom.GetTotalNumHs())
        atom.SetNoImplicit(True)
        atom.SetChiralTag(rd.ChiralType.CHI_UNSPECIFIED)
    for v in ends:
        atom = piece.GetAtomWithIdx(v)
        atom.SetAtomicNum(0)
        atom.SetFormalCharge(0)
        atom.SetNumExplicitHs(0)
    for bond in list(piece.GetBonds()):
        bond.SetStereo(rd.BondStereo.STEREONONE)
        bond.SetBondDir(rd.BondDir.NONE)
        if {bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()} <= ends:
            piece.RemoveBond(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
    left = [v for v in range(molecule.GetNumAtoms()) if v in kept or v in ends]
    for v in range(molecule.GetNumAtoms() - 1, -1, -1):
        if v not in kept and v not in ends:
            piece.RemoveAtom(v)
    result = piece.GetMol()
    result.UpdatePropertyCache(strict=False)
    rd.FastFindRings(result)
    return result, {v: i for i, v in enumerate(left)}


def _around(molecule: Any, atoms: Iterable[int]) -> list[int]:
    return [near.GetIdx() for v in sorted(atoms) for near in molecule.GetAtomWithIdx(v).GetNeighbors()]
