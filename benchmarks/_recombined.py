"""Molecules by BRICS recombination: as many drug-like ones as a benchmark needs, the same for the same seed.

BBBP's and BACE's molecules are cut at BRICS bonds, and pieces are joined at random where BRICS allows a bond:
hundreds a second, where RDKit's own builder makes some thirty.
"""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

ATOMS = (8, 70)
"""Fewest and most heavy atoms; the HIV set has 25.5 on average."""
WANTED_ATOMS = 12
"""From this many atoms on pieces with few ends and few atoms are preferred."""
LARGEST_SOURCE = 60


def write_table(path: Path, n: int, root: Path, seed: int = 0, share: float = 0.035) -> None:
    """Write n different molecules; the share of HIV's actives is given to the most lipophilic, with noise."""
    import rdkit.Chem.Crippen

    crippen: Any = rdkit.Chem.Crippen

    rng = random.Random(seed)
    pieces = _pieces(root)
    found: dict[str, float] = {}
    noise = np.random.default_rng(seed)
    while len(found) < n:
        made = _molecule(pieces, rng)
        if made is not None:
            smiles, molecule = made
            if smiles not in found:
                found[smiles] = crippen.MolLogP(molecule) + 0.5 * float(noise.normal())
    border = float(np.quantile(list(found.values()), 1 - share))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("smiles", "active"))
        writer.writerows((smiles, int(value > border)) for smiles, value in found.items())
    part.replace(path)


def _rdkit() -> tuple[Any, Any]:
    """Return the RDKit functions used here, silent and without RDKit's incomplete types."""
    from rdkit import Chem, rdBase
    from rdkit.Chem import BRICS

    rdBase.DisableLog("rdApp.*")
    return Chem, BRICS


def _pieces(root: Path) -> dict[str, list[Any]]:
    """Return the pieces by the label of an end that they offer; under "" all."""
    chem, brics = _rdkit()
    texts: set[str] = set()
    for file, column in ((root / "BBBP" / "BBBP.csv", "smiles"), (root / "BACE" / "bace.csv", "smiles")):
        with file.open(newline="", encoding="utf-8") as handle:
            for row in csv.DictReader(handle):
                molecule = chem.MolFromSmiles(row[column])
                if molecule is not None and molecule.GetNumAtoms() <= LARGEST_SOURCE:
                    cut = brics.BreakBRICSBonds(molecule)
                    texts.update(chem.MolToSmiles(part) for part in chem.GetMolFrags(cut, asMols=True))
    pieces: dict[str, list[Any]] = defaultdict(list)
    for text in sorted(texts):
        piece = chem.MolFromSmiles(text)
        if piece is None:
            continue
        ends = {str(atom.GetIsotope()) for atom in piece.GetAtoms() if not atom.GetAtomicNum()}
        if ends:
            pieces[""].append(piece)
        for end in sorted(ends):
            pieces[end].append(piece)
    return pieces


def _partners() -> dict[str, list[str]]:
    _, brics = _rdkit()
    allowed: dict[str, set[str]] = defaultdict(set)
    for group in brics.reactionDefs:
        for one, other, bond in group:
            if bond == "-":
                allowed[one.rstrip("ab")].add(other.rstrip("ab"))
                allowed[other.rstrip("ab")].add(one.rstrip("ab"))
    return {label: sorted(others) for label, others in allowed.items()}


def _molecule(pieces: dict[str, list[Any]], rng: random.Random) -> tuple[str, Any] | None:
    chem, _ = _rdkit()
    partners = _partners()
    whole = chem.RWMol(rng.choice(pieces[""]))
    while True:
        open_ends = [atom for atom in whole.GetAtoms() if not atom.GetAtomicNum()]
        if not open_ends:
            break
        end = open_ends[0]
        others = [label for label in partners.get(str(end.GetIsotope()), ()) if pieces.get(label)]
        if not others or whole.GetNumAtoms() > ATOMS[1]:
            return None
        label = rng.choice(others)
        choice = [rng.choice(pieces[label]) for _ in range(4)]
        if whole.GetNumAtoms() >= WANTED_ATOMS:
            choice.sort(key=_bulk)
        _join(whole, end.GetIdx(), choice[0], label)
    try:
        chem.SanitizeMol(whole)
    except (ValueError, RuntimeError):
        return None
    if not ATOMS[0] <= whole.GetNumAtoms() <= ATOMS[1]:
        return None
    text = str(chem.MolToSmiles(whole))
    again = chem.MolFromSmiles(text)
    return None if again is None else (text, again)


def _bulk(piece: Any) -> tuple[int, int]:
    return sum(not atom.GetAtomicNum() for atom in piece.GetAtoms()), piece.GetNumAtoms()


def _join(whole: Any, end: int, piece: Any, label: str) -> None:
    """Bond a piece to an open end; both ends vanish."""
    chem, _ = _rdkit()
    shift = whole.GetNumAtoms()
    whole.InsertMol(piece)
    other = next(
        atom.GetIdx() + shift
        for atom in piece.GetAtoms()
        if not atom.GetAtomicNum() and str(atom.GetIsotope()) == label
    )
    here, there = (whole.GetAtomWithIdx(i).GetNeighbors()[0].GetIdx() for i in (end, other))
    whole.AddBond(here, there, chem.BondType.SINGLE)
    for index in sorted((end, other), reverse=True):
        whole.RemoveAtom(index)
