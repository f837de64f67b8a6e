"""Molecules from files: tables of SMILES, SDF and Mol files, read row by row through RDKit."""

from __future__ import annotations

import logging
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gdlnn.datasets.text import MAX_LINE, open_bytes, read_columns
from gdlnn.errors import DatasetError, require
from gdlnn.graphs import Graph, GraphDataset
from gdlnn.graphs.dataset import SkippedRow
from gdlnn.graphs.molecules import chem, molecule_graph, molecule_schema

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

Fragments = Literal["keep", "largest"]
OnError = Literal["skip", "raise"]
MAX_RECORD = 16 << 20
"""Longest record of an SDF file that is read, in bytes."""
logger = logging.getLogger(__name__)


class MoleculeRows:
    """The molecules of a file so far.

    Parameters
    ----------
    source, unit
        What to call the file and its rows in messages.
    name, classes
        What to call the data set and its classes.
    labelled
        Whether each row needs a label.
    fragments, on_error
        As for `load_smiles`.
    """

    def __init__(
        self,
        source: str,
        unit: str,
        name: str,
        *,
        labelled: bool,
        fragments: Fragments,
        on_error: OnError,
        classes: Mapping[Any, str] | None = None,
    ) -> None:
        for what, value, allowed in (
            ("fragments", fragments, ("keep", "largest")),
            ("on_error", on_error, ("skip", "raise")),
        ):
            if value not in allowed:
                raise DatasetError(f"{what}: expected {' or '.join(allowed)}, got {value!r}")
        self.source, self.unit, self.name = source, unit, name
        self.labelled, self.fragments, self.on_error = labelled, fragments, on_error
        self.schema = molecule_schema(classes)
        self.graphs: list[Graph] = []
        self.smiles: list[str] = []
        self.labels: list[str] = []
        self.ids: list[str] = []
        self.skipped: list[SkippedRow] = []

    def add(
        self, number: int, text: str, molecule: Any, reason: str, *, label: str = "", key: str = ""
    ) -> bool:
        """Add one row, its molecule or None and the reason; say whether there is a graph of it."""
        if molecule is not None and self.labelled and not label:
            molecule, reason = None, "no label"
        if molecule is None:
            if self.on_error == "raise":
                raise DatasetError(f"{self.source}, {self.unit} {number}: {text!r} is not read: {reason}")
            self.skipped.append(SkippedRow(number, text, reason))
            return False
        if self.fragments == "largest":
            pieces = chem("Reading molecules").GetMolFrags(molecule, asMols=True)
            molecule = max(pieces, key=lambda piece: piece.GetNumHeavyAtoms())
        name = key or f"{self.name}/{len(self.graphs)}"
        self.graphs.append(molecule_graph(molecule, schema=self.schema, name=name))
        self.smiles.append(text)
        self.labels.append(label)
        self.ids.append(key)
        return True

    def finish(self, min_classes: int, *, with_ids: bool) -> GraphDataset:
        """Return the data set, and log what was skipped."""
        total = len(self.graphs) + len(self.skipped)
        if not total:
            raise DatasetError(f"{self.source}: expected at least one {self.unit}, got none")
        if not self.graphs:
            row, value, reason = self.skipped[0]
            raise DatasetError(
                f"{self.source}: expected at least one {self.unit} that parses, got none of {total}; "
                f"the first is {self.unit} {row} ({value!r}: {reason})"
            )
        if self.skipped:
            first = self.skipped[0]
            logger.warning(
                "%s: %d of %d %ss are not read, the first is %s %d (%r: %s); `gdlnn datasets info` "
                "lists them, in Python `.skipped`",
                *(self.source, len(self.skipped), total, self.unit, self.unit),
                *first,
            )
        y = parse_labels(self.labels) if self.labelled else None
        if y is not None and len(np.unique(y)) < min_classes:
            raise DatasetError(
                f"{self.source}: expected at least {min_classes} classes, "
                f"got the label {y[0]} for every {self.unit}"
            )
        ids = self.ids if with_ids else None
        return GraphDataset(
            self.graphs, y, self.schema, self.name, ids=ids, smiles=self.smiles, skipped=self.skipped
        )


def parse_labels(labels: Sequence[str]) -> npt.NDArray[Any]:
    """Return labels as whole numbers if all of them are, else as text."""
    try:
        numbers = np.array([float(label) for label in labels])
    except ValueError:
        return np.array(labels)
    if np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all():
        return numbers.astype(np.int64)
    return np.array(labels)


# --- tables of SMILES -------------------------------------------------------------------------------------


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


# --- SDF and Mol files ------------------------------------------------------------------------------------


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
) -> bool:
    """Read a record and add its molecule, or the reason why there is none; say which."""
    molecule, reason = (None, problem) if problem else read_molecule(block)
    text = "" if molecule is None else str(chem("Reading SDF files").MolToSmiles(molecule))
    key = _text(molecule, "_Name" if id is None else id)
    return rows.add(number, text, molecule, reason, label=_text(molecule, label), key=key)


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
    """Yield each record's number from 1, its text, and what is wrong with it, or "".

    Records are cut here and read one by one: RDKit's own reader skips the record after a bad one.
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
