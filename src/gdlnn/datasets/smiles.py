"""Tables of SMILES: csv, tsv and their gzip forms, read through RDKit into graphs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdlnn.datasets.molecule_rows import Fragments, MoleculeRows, OnError
from gdlnn.datasets.text import open_lines
from gdlnn.errors import DatasetError, require
from gdlnn.graphs.molecules import chem

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from gdlnn.graphs import GraphDataset


def load_smiles(
    path: str | os.PathLike[str],
    smiles: str = "smiles",
    label: str | None = None,
    id: str | None = None,
    *,
    fragments: Fragments = "keep",
    on_error: OnError = "skip",
    min_classes: int = 2,
    name: str | None = None,
    classes: Mapping[Any, str] | None = None,
) -> GraphDataset:
    """Read a table of SMILES as a data set of molecules with 9 atom and 3 bond features.

    Parameters
    ----------
    path
        A table with a header: .csv, .tsv or .txt, plain or .gz.
    smiles, label, id
        The columns with the SMILES, the label and an identifier; without `label` the data set has no labels.
    fragments
        What to do with salts: keep all fragments in one graph, or the largest only.
    on_error
        What to do with a row that does not parse: skip it (it is listed in ``.skipped``), or raise.
    min_classes
        The fewest different labels to accept; 1 reads a table with one class only.
    name, classes
        What to call the data set and its classes.
    """
    table = Path(path)
    rows = MoleculeRows(
        table.name,
        "row",
        name if name is not None else table.name.split(".")[0],
        labelled=label is not None,
        fragments=fragments,
        on_error=on_error,
        classes=classes,
    )
    columns = [column for column in (smiles, label, id) if column is not None]
    for number, cells in read_columns(table, columns):
        row = dict(zip(columns, cells, strict=True))
        molecule, reason = parse_smiles(row[smiles])
        rows.add(
            number, row[smiles], molecule, reason, label=row.get(label or "", ""), key=row.get(id or "", "")
        )
    return rows.finish(min_classes, with_ids=id is not None)


def _header(path: Path, lines: Iterator[str]) -> tuple[list[str], str]:
    """Return the column names and the delimiter, and leave the lines at the first row."""
    first = next(lines, "")
    if not first.strip():
        raise DatasetError(f"{path.name}: expected a header line with the column names, got an empty file")
    delimiter = "\t" if ".tsv" in path.suffixes else max(",\t;", key=first.count)
    return [cell.strip() for cell in next(csv.reader([first], delimiter=delimiter))], delimiter


def read_header(path: Path) -> list[str]:
    """Return the column names of a table."""
    return _header(path, open_lines(path))[0]


def read_columns(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Give the row number (from 1, the header not counted) and the wanted cells of each row of a table."""
    if not path.is_file():
        raise DatasetError(f"{path.name}: expected a table of SMILES, got no such file")
    lines = open_lines(path)
    try:
        header, delimiter = _header(path, lines)
        for column in columns:
            if column not in header:
                raise DatasetError(f"{path.name}: expected a column {column!r}, got {', '.join(header[:20])}")
        places = [header.index(column) for column in columns]
        reader = csv.reader(lines, delimiter=delimiter)
        number = 0
        for cells in reader:
            if not cells:
                continue
            number += 1
            if len(cells) <= max(places):
                raise DatasetError(
                    f"{path.name}, line {reader.line_num + 1}: expected {len(header)} cells, got {len(cells)}"
                )
            yield number, [cells[place].strip() for place in places]
    except csv.Error as error:
        raise DatasetError(f"{path.name}: expected a table with a header, got a bad row: {error}") from error


def parse_smiles(text: str) -> tuple[Any, str]:
    """Return the RDKit molecule of a SMILES, or None and the reason why there is none."""
    rd = chem("Reading SMILES")
    if not text:
        return None, "empty SMILES"
    with require("rdkit.rdBase", "chem", "Reading SMILES").BlockLogs():
        molecule = rd.MolFromSmiles(text)
        if molecule is None:
            return None, _why_not(rd, text)
    if molecule.GetNumAtoms() == 0:
        return None, "no atoms"
    return molecule, ""


def _why_not(rd: Any, text: str) -> str:
    raw = rd.MolFromSmiles(text, sanitize=False)
    if raw is None:
        return "not a SMILES"
    problems = rd.DetectChemistryProblems(raw)
    return problems[0].Message() if problems else "RDKit refuses it"
