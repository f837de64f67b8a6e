"""SDF and Mol files: molecules with properties, read through RDKit."""

from __future__ import annotations

import gzip
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.datasets.smiles import Fragments, OnError, parse_labels
from gdlnn.errors import DatasetError, require
from gdlnn.graphs import Graph, GraphDataset
from gdlnn.graphs.dataset import SkippedRow
from gdlnn.graphs.molecules import chem, molecule_graph, molecule_schema

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

logger = logging.getLogger(__name__)


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
    schema = molecule_schema()
    title = name if name is not None else file.name.split(".")[0]
    graphs, skipped = list[Graph](), list[SkippedRow]()
    texts, labels, ids = list[str](), list[str](), list[str]()
    total = 0
    for number, molecule, reason in _records(file):
        total += 1
        value = _text(molecule, label)
        if molecule is not None and label is not None and not value:
            reason = f"no property {label!r}"
        if reason:
            if on_error == "raise":
                raise DatasetError(f"{file.name}, record {number}: not read: {reason}")
            skipped.append(SkippedRow(number, "", reason))
            continue
        if fragments == "largest":
            molecule = max(rd.GetMolFrags(molecule, asMols=True), key=lambda piece: piece.GetNumHeavyAtoms())
        graphs.append(molecule_graph(molecule, schema=schema, name=f"{title}/{len(graphs)}"))
        texts.append(str(rd.MolToSmiles(molecule)))
        labels.append(value)
        ids.append(_text(molecule, "_Name" if id is None else id))
    if skipped:
        first = skipped[0]
        logger.warning(
            "%s: %d of %d records are not read, the first is record %d (%s); .skipped lists them",
            file.name, len(skipped), total, first.row, first.reason,
        )  # fmt: skip
    if not graphs:
        raise DatasetError(f"{file.name}: expected at least one molecule, got none of {total} record(s)")
    y = None if label is None else parse_labels(labels)
    if y is not None and len(np.unique(y)) < min_classes:
        raise DatasetError(
            f"{file.name}: expected at least {min_classes} classes, got the label {y[0]} for every record"
        )
    has_ids = id is not None or all(ids)
    return GraphDataset(graphs, y, schema, title, ids=ids if has_ids else None, smiles=texts, skipped=skipped)


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
