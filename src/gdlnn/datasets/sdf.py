"""SDF and Mol files: molecules with properties, read through RDKit."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdlnn.datasets.molecule_rows import Fragments, MoleculeRows, OnError
from gdlnn.errors import DatasetError, require
from gdlnn.graphs.molecules import chem

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from gdlnn.graphs import GraphDataset


def load_sdf(
    path: str | os.PathLike[str],
    label: str | None = None,
    id: str | None = None,
    *,
    fragments: Fragments = "keep",
    on_error: OnError = "skip",
    min_classes: int = 2,
    name: str | None = None,
) -> GraphDataset:
    """Read an SDF file, plain or .gz, as a data set of molecules with 9 atom and 3 bond features.

    Hydrogens that the file lists become implicit, as in SMILES.

    Parameters
    ----------
    path
        The file.
    label, id
        The properties with the label and an identifier; the record's title is the identifier where `id` is
        None and every record has one.
    fragments, on_error, min_classes, name
        As for `load_smiles`.
    """
    file = Path(path)
    if not file.is_file():
        raise DatasetError(f"{file.name}: expected an SDF file, got no such file")
    rd = chem("Reading SDF files")
    title = name if name is not None else file.name.split(".")[0]
    rows = MoleculeRows(
        file.name, "record", title, labelled=label is not None, fragments=fragments, on_error=on_error
    )
    for number, molecule, reason in _records(file):
        text = "" if molecule is None else str(rd.MolToSmiles(molecule))
        key = _text(molecule, "_Name" if id is None else id)
        rows.add(number, text, molecule, reason, label=_text(molecule, label), key=key)
    return rows.finish(min_classes, with_ids=id is not None or all(rows.ids))


def _text(molecule: Any, key: str | None) -> str:
    if molecule is None or key is None or not molecule.HasProp(key):
        return ""
    return str(molecule.GetProp(key)).strip()


def _records(file: Path) -> Iterator[tuple[int, Any, str]]:
    """Give each record's number from 1, its molecule or None, and the reason why there is none."""
    rd = chem("Reading SDF files")
    base = require("rdkit.rdBase", "chem", "Reading SDF files")
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as stream, base.BlockLogs():
            for number, molecule in enumerate(rd.ForwardSDMolSupplier(stream), start=1):
                if molecule is None:
                    yield number, None, "not a molecule that RDKit accepts"
                elif molecule.GetNumAtoms() == 0:
                    yield number, None, "no atoms"
                else:
                    yield number, molecule, ""
    except (OSError, EOFError, RuntimeError) as error:
        raise DatasetError(f"{file.name}: expected an SDF file, got a damaged one: {error}") from error
