"""Tables of SMILES: csv, tsv and their gzip forms, read through RDKit into graphs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdlnn.datasets.molecule_rows import Fragments, MoleculeRows, OnError
from gdlnn.datasets.text import read_lines
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


def _header(path: Path, lines: Iterator[tuple[str, str]]) -> tuple[list[str], str]:
    """Return the column names and the delimiter, and leave the lines at the first row."""
    first, problem = next(lines, ("", ""))
    if problem:
        raise DatasetError(f"{path.name}, line 1: {problem}")
    if not first.strip():
        raise DatasetError(f"{path.name}: expected a header line with the column names, got an empty file")
    delimiter = "\t" if ".tsv" in path.suffixes else max(",\t;", key=first.count)
    try:
        return [cell.strip() for cell in next(csv.reader([first], delimiter=delimiter))], delimiter
    except csv.Error as error:
        raise DatasetError(f"{path.name}, line 1: expected the column names, got {error}") from error


def read_header(path: Path) -> list[str]:
    """Return the column names of a table."""
    return _header(path, read_lines(path))[0]


def read_columns(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Give the row number (from 1, the header not counted) and the wanted cells of each row of a table."""
    for number, cells, problem in read_rows(path, columns):
        if problem:
            raise DatasetError(f"{path.name}, {problem}")
        yield number, cells


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str], str]]:
    """Give the rows as `read_columns` does, and with each what is wrong with it, or "".

    A bad row has no cells, and the next one is read: of a million rows one may be damaged.
    """
    if not path.is_file():
        raise DatasetError(f"{path.name}: expected a table of SMILES, got no such file")
    lines = read_lines(path)
    header, delimiter = _header(path, lines)
    for column in columns:
        if column not in header:
            raise DatasetError(f"{path.name}: expected a column {column!r}, got {', '.join(header[:20])}")
    places = [header.index(column) for column in columns]
    source = _Noting(lines)
    reader = csv.reader(source, delimiter=delimiter)
    number = 0
    while True:
        begin, bad, cells = reader.line_num + 2, "", []  # the header is line 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            bad = f"expected a row, got {error}"
        problem = source.take()
        if source.ended:  # the reader asked for more while it was in this row
            bad = "a quote is not closed before the end of the file"
        elif not bad and not problem and not cells:
            continue
        elif not bad and len(cells) <= max(places):
            bad = f"expected {len(header)} cells, got {len(cells)}"
        number += 1
        if problem or bad:
            end = reader.line_num + 1
            yield number, [], problem or f"line {begin}{f' to {end}' if end > begin else ''}: {bad}"
        else:
            yield number, [cells[place].strip() for place in places], ""


class _Noting:
    """The lines after a header; what is wrong with one is noted for the row that it is part of."""

    def __init__(self, lines: Iterator[tuple[str, str]]) -> None:
        self._lines, self._problem = enumerate(lines, start=2), ""
        self.ended = False

    def __iter__(self) -> Iterator[str]:
        for number, (line, problem) in self._lines:
            if problem and not self._problem:
                self._problem = f"line {number}: {problem}"
            yield line
        self.ended = True

    def take(self) -> str:
        """Return what was noted since it was last asked."""
        problem, self._problem = self._problem, ""
        return problem


def parse_smiles(text: str) -> tuple[Any, str]:
    """Return the RDKit molecule of a SMILES, or None and the reason why there is none."""
    rd = chem("Reading SMILES")
    if not text:
        return None, "empty SMILES"
    if "\n" in text.strip():  # RDKit would take what follows for a name
        return None, "more than one line; perhaps a quote is not closed"
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
