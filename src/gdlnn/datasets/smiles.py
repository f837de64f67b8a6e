"""Tables of SMILES: csv, tsv and their gzip forms, read through RDKit into graphs."""

from __future__ import annotations

import csv
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gdlnn.datasets.text import open_lines
from gdlnn.errors import DatasetError
from gdlnn.graphs import Graph, GraphDataset
from gdlnn.graphs.dataset import SkippedRow
from gdlnn.graphs.molecules import chem, molecule_graph, molecule_schema

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

Fragments = Literal["keep", "largest"]
OnError = Literal["skip", "raise"]
logger = logging.getLogger(__name__)


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
    for what, value, allowed in (
        ("fragments", fragments, ("keep", "largest")),
        ("on_error", on_error, ("skip", "raise")),
    ):
        if value not in allowed:
            raise DatasetError(f"{what}: expected {' or '.join(allowed)}, got {value!r}")
    table = Path(path)
    columns = [column for column in (smiles, label, id) if column is not None]
    rows = [
        (number, dict(zip(columns, cells, strict=True))) for number, cells in read_columns(table, columns)
    ]
    if not rows:
        raise DatasetError(f"{table.name}: expected at least one row below the header, got none")
    return molecules_dataset(
        (
            (
                number,
                cells[smiles],
                None if label is None else cells[label],
                None if id is None else cells[id],
            )
            for number, cells in rows
        ),
        source=table.name,
        name=name if name is not None else table.name.split(".")[0],
        labelled=label is not None,
        with_ids=id is not None,
        fragments=fragments,
        on_error=on_error,
        min_classes=min_classes,
        classes=classes,
    )


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


def molecules_dataset(
    rows: Iterator[tuple[int, str, str | None, str | None]],
    *,
    source: str,
    name: str,
    labelled: bool,
    with_ids: bool,
    fragments: Fragments,
    on_error: OnError,
    min_classes: int,
    classes: Mapping[Any, str] | None,
) -> GraphDataset:
    """Build a data set from (row number, SMILES, label, id); see `load_smiles` for the options."""
    schema = molecule_schema(classes)
    graphs: list[Graph] = []
    texts, labels, ids = list[str](), list[str](), list[str]()
    skipped: list[SkippedRow] = []
    total = 0
    for number, text, label, key in rows:
        total += 1
        molecule, reason = parse_smiles(text, fragments)
        if molecule is not None and labelled and not label:
            molecule, reason = None, "no label"
        if molecule is None:
            if on_error == "raise":
                raise DatasetError(f"{source}, row {number}: {text!r} is not read: {reason}")
            skipped.append(SkippedRow(number, text, reason))
            continue
        graphs.append(molecule_graph(molecule, schema=schema, name=key or f"{name}/{len(graphs)}"))
        texts.append(text)
        labels.append(label or "")
        ids.append(key or "")
    if skipped:
        first = skipped[0]
        logger.warning(
            "%s: %d of %d rows are not read, the first is row %d (%r: %s); .skipped lists them",
            source, len(skipped), total, first.row, first.value, first.reason,
        )  # fmt: skip
    if not graphs:
        raise DatasetError(f"{source}: expected at least one row that parses, got none of {total}")
    y = parse_labels(labels) if labelled else None
    if y is not None and len(np.unique(y)) < min_classes:
        raise DatasetError(
            f"{source}: expected at least {min_classes} classes, got the label {y[0]} for every row"
        )
    return GraphDataset(graphs, y, schema, name, ids=ids if with_ids else None, smiles=texts, skipped=skipped)


def parse_smiles(text: str, fragments: Fragments = "keep") -> tuple[Any, str]:
    """Return the RDKit molecule of a SMILES, or None and the reason why there is none."""
    rd = chem("Reading SMILES")
    if not text:
        return None, "empty SMILES"
    from rdkit import rdBase

    with rdBase.BlockLogs():
        molecule = rd.MolFromSmiles(text)
        if molecule is None:
            return None, _why_not(rd, text)
        if fragments == "largest":
            pieces = rd.GetMolFrags(molecule, asMols=True)
            molecule = max(pieces, key=lambda piece: piece.GetNumHeavyAtoms(), default=molecule)
    if molecule.GetNumAtoms() == 0:
        return None, "no atoms"
    return molecule, ""


def _why_not(rd: Any, text: str) -> str:
    raw = rd.MolFromSmiles(text, sanitize=False)
    if raw is None:
        return "not a SMILES"
    problems = rd.DetectChemistryProblems(raw)
    return problems[0].Message() if problems else "RDKit refuses it"


def parse_labels(labels: Sequence[str]) -> npt.NDArray[Any]:
    """Return labels as whole numbers where all are, else as the text they are."""
    try:
        numbers = np.array([float(label) for label in labels])
    except ValueError:
        return np.array(labels)
    if np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all():
        return numbers.astype(np.int64)
    return np.array(labels)
