"""SDF and Mol files: molecules with properties, read through RDKit."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdlnn.datasets.molecule_rows import Fragments, MoleculeRows, OnError
from gdlnn.datasets.text import MAX_LINE, open_bytes
from gdlnn.errors import DatasetError, require
from gdlnn.graphs.molecules import chem

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from gdlnn.graphs import GraphDataset

MAX_RECORD = 16 << 20
"""Longest record read, in bytes."""


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
    title = name if name is not None else file.name.split(".")[0]
    rows = MoleculeRows(
        file.name, "record", title, labelled=label is not None, fragments=fragments, on_error=on_error
    )
    for number, block, problem in read_blocks(file):
        add_record(rows, number, block, problem, label, id)
    return rows.finish(min_classes, with_ids=id is not None or all(rows.ids))


def add_record(
    rows: MoleculeRows, number: int, block: str, problem: str, label: str | None, id: str | None
) -> None:
    """Read a record and add its molecule, or the reason why there is none."""
    molecule, reason = (None, problem) if problem else read_molecule(block)
    text = "" if molecule is None else str(chem("Reading SDF files").MolToSmiles(molecule))
    key = _text(molecule, "_Name" if id is None else id)
    rows.add(number, text, molecule, reason, label=_text(molecule, label), key=key)


def _text(molecule: Any, key: str | None) -> str:
    if molecule is None or key is None or not molecule.HasProp(key):
        return ""
    return str(molecule.GetProp(key)).strip()


def read_molecule(text: str) -> tuple[Any, str]:
    """Return the RDKit molecule of a record with its properties, or None and the reason why there is none."""
    rd = chem("Reading SDF files")
    with require("rdkit.rdBase", "chem", "Reading SDF files").BlockLogs():
        supplier = rd.SDMolSupplier()
        supplier.SetData(text)
        try:
            molecule = supplier[0] if len(supplier) else None
        except (RuntimeError, UnicodeDecodeError):
            molecule = None
    if molecule is None:
        return None, "not a molecule that RDKit accepts"
    return (molecule, "") if molecule.GetNumAtoms() else (None, "no atoms")


def read_blocks(file: Path) -> Iterator[tuple[int, str, str]]:
    """Give each record's number from 1, its text, and what is wrong with it, or "".

    They are cut here and read one by one: after a bad record RDKit's own reader of files leaves out the next.
    """
    number = 1
    try:
        with open_bytes(file) as stream:
            lines: list[bytes] = []
            size, fresh = 0, True
            while line := stream.readline(MAX_LINE):
                if fresh and line.startswith(b"$$$$"):
                    yield (number, *_block(lines, size))
                    number, lines, size = number + 1, [], 0
                else:
                    size += len(line)
                    if size <= MAX_RECORD:  # of a longer one only the length is kept
                        lines.append(line)
                fresh = line.endswith(b"\n")
            if any(line.strip() for line in lines):  # the last one may lack its end, and a Mol file has none
                yield (number, *_block(lines, size))
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(f"{file.name}: expected an SDF file, got a damaged one: {error}") from error


def _block(lines: list[bytes], size: int) -> tuple[str, str]:
    if size > MAX_RECORD:
        return "", f"expected a record of at most {MAX_RECORD:,} bytes, got {size:,}"
    data = b"".join(lines)
    if b"\0" in data:
        return "", "expected text, got binary data"
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:  # the format is older than UTF-8
        return data.decode("latin-1"), ""
