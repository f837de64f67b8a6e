"""Molecules from files: tables of SMILES, SDF and Mol files, read row by row through RDKit."""

from __future__ import annotations

import contextlib
import io
import logging
import re
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from gdlnn.datasets.opening import byte_lines
from gdlnn.datasets.tables import UTF8, Row, open_table, table_suffix
from gdlnn.errors import DatasetError, GraphError, require
from gdlnn.graphs import GraphDataset, SkippedRow
from gdlnn.graphs.molecules import (
    Fragments,
    MoleculeFeatures,
    MoleculeReader,
    Standardize,
    chem,
    record_problem,
    smiles_problem,
    without_messages,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from gdlnn.datasets.tables import TableFile
    from gdlnn.graphs.labels import Threshold

OnError = Literal["skip", "raise"]
SDF_SUFFIXES = (".sdf", ".sd", ".mol")
FIRST_RECORDS = 100
"""Records whose properties are the columns of an SDF file."""
_PROPERTY = re.compile(r"^>.*?<([^>\n]+)>", re.MULTILINE)
_OF_RDKIT = (ArithmeticError, LookupError, RuntimeError, ValueError)
"""Errors that RDKit raises on text it cannot read, a lone surrogate in it included."""
_SYNTAX = re.compile(r"Parse Error: (.+?) (?:while parsing|for input)")
_POSITION = re.compile(r"mistakes around position ([0-9]+)")
MAX_RECORD = 16 << 20
"""Maximum size of an SDF record, in bytes."""
logger = logging.getLogger(__name__)


def load_smiles(
    path: str | os.PathLike[str] | Any,
    smiles: str | None = "smiles",
    label: str | None = None,
    id: str | None = None,
    *,
    features: MoleculeFeatures = "default",
    fragments: Fragments = "all",
    standardize: Standardize = "none",
    on_error: OnError = "skip",
    min_classes: int = 2,
    missing: Sequence[str] = (),
    threshold: Threshold = None,
    columns: Sequence[str] = (),
    encoding: str = UTF8,
    name: str | None = None,
) -> GraphDataset:
    """Read a table of SMILES, or an SDF file, as a dataset of molecules.

    Parameters
    ----------
    path
        A table: .csv, .tsv, .txt or .smi, plain or .gz, .xlsx (the first sheet) or .parquet; .sdf or .mol,
        plain or .gz, whose properties are columns; or a pandas DataFrame.
    smiles, label, id
        The columns with the SMILES, the label and an identifier; without `label` the dataset has no labels.
        Numbers from 1 for a table without a header line. `smiles` None: the column called smiles. The title
        of a record is the identifier where `id` is None and every record has one.
    features, fragments, standardize
        How molecules are converted to graphs, see `MoleculeReader`; stored in models trained on the dataset.
    on_error
        What to do with a row that does not parse or has no label: skip it (it is listed in ``.skipped``), or
        raise.
    min_classes
        Minimum number of distinct labels; 1 accepts a table with only one class.
    missing, threshold
        Cells that mean "no label", and the threshold for a column of numbers: see `read_labels`.
    columns
        Other columns to keep in ``.columns``, such as a date to split by or a weight.
    encoding
        How the text of the table is encoded.
    name
        The name of the dataset.
    """
    if on_error not in get_args(OnError):
        raise DatasetError(f"on_error: expected {' or '.join(get_args(OnError))}, got {on_error!r}")
    reading = MoleculeReader(features, fragments, standardize)
    further = [*dict.fromkeys([*columns, *([label] if label is not None else [])])]
    provenance: dict[str, Any] = {}
    rows: Iterator[Row]
    if not hasattr(path, "iloc") and table_suffix(Path(path)) in SDF_SUFFIXES:
        file, unit, titles = Path(path), "record", id is None
        if not file.is_file():
            raise DatasetError(f"{file.name}: no such file; expected an SDF file")
        rows = (sdf_row(row, columns=further, id=id, reading=reading) for row in read_records(file))
    else:
        source = path if hasattr(path, "iloc") else Path(path)
        table = open_table(source, (smiles, label, id, *columns), encoding)
        smiles = table.smiles_column() if smiles is None else smiles
        file, unit, titles = table.path, "row", id is None and table.named_ids
        rows = _smiles_rows(table, smiles, "name" if titles else id, further, reading)
        provenance = {"smiles": smiles} if smiles in table.header else {}
    report = _Report(file.name, unit, on_error)
    title = file.name.split(".")[0] if name is None else name
    read: list[Row] = []
    for row in rows:
        if row.graph is not None:
            read.append(row)
        else:
            report.skip([SkippedRow(row.number, row.smiles or "", row.reason)])
    if not read:
        report.end(0)
    ids = [row.key or "" for row in read]
    schema = reading.schema()
    data = GraphDataset(
        [row.graph._renamed(schema, row.key or f"{title}/{i}") for i, row in enumerate(read) if row.graph],
        *(None, schema, title),
        ids=ids if id is not None or (titles and all(ids)) else None,
        smiles=[row.smiles or "" for row in read],
        columns={column: [row.cells[i] for row in read] for i, column in enumerate(further)},
        skipped=report.skipped,
        reading=reading,
        provenance=provenance,
    )
    if label is not None:
        options: dict[str, Any] = {"missing": missing, "threshold": threshold, "min_classes": min_classes}
        data = data.with_labels(label, where=file.name, **options)
        report.skip(sorted(set(data.skipped) - set(report.skipped)))
    data.columns = {column: cells for column, cells in data.columns.items() if column in columns}
    report.end(len(data))
    return data


def load_sdf(
    path: str | os.PathLike[str], label: str | None = None, id: str | None = None, **options: Any
) -> GraphDataset:
    """Read an SDF file; `label` and `id` are properties, and options are those of `load_smiles`."""
    return load_smiles(path, None, label, id, **options)


@dataclass(frozen=True)
class _Report:
    """What is said of the rows of a file that are skipped."""

    file: str
    unit: str
    on_error: OnError
    skipped: list[SkippedRow] = field(default_factory=list)

    def skip(self, rows: Sequence[SkippedRow]) -> None:
        """Note rows, or raise an error that names the first."""
        if rows and self.on_error == "raise":
            row, value, reason = rows[0]
            raise DatasetError(f"{self.file}, {self.unit} {row}: {value!r} cannot be read: {reason}")
        self.skipped.extend(rows)

    def end(self, n_read: int) -> None:
        """Log how many rows were skipped; raise if none was read."""
        unit, skipped, total = self.unit, sorted(self.skipped), n_read + len(self.skipped)
        if not total:
            raise DatasetError(f"{self.file}: expected at least one {unit}, got none")
        if not n_read:
            row, value, reason = skipped[0]
            raise DatasetError(
                f"{self.file}: expected at least one {unit} that parses, got none of {total}; "
                f"the first is {unit} {row} ({value!r}: {reason})"
            )
        if skipped:
            logger.warning(
                "%s: skipped %d of %d %ss, the first is %s %d (%r: %s); list them with `gdlnn datasets`, "
                "in Python with `.skipped`",
                *(self.file, len(skipped), total, unit, unit),
                *skipped[0],
            )


def _smiles_rows(
    table: TableFile, smiles: str, id: str | None, further: Sequence[str], reading: MoleculeReader
) -> Iterator[Row]:
    for row in table.rows([smiles, *([id] if id is not None else []), *further]):
        if row.reason:
            raise DatasetError(f"{table.path.name}, {row.reason}")
        text, *cells = row.cells
        key = None if id is None else cells.pop(0)
        yield smiles_row(row._replace(smiles=text, key=key, cells=tuple(cells)), reading=reading)


def smiles_row(row: Row, *, reading: MoleculeReader) -> Row:
    """Return a row of a table with the graph of its SMILES, or the reason why there is none."""
    molecule, reason = (None, row.reason) if row.reason else parse_smiles(row.smiles or "")
    return _with_graph(row, molecule, reason, reading)


def parse_smiles(text: str) -> tuple[Any, str]:
    """Return the RDKit molecule of a SMILES, or None and the reason why there is none."""
    rd = chem("Reading SMILES")
    if not text:
        return None, "empty SMILES"
    if problem := smiles_problem(text):
        return None, problem
    if "\n" in text.strip():  # RDKit would read the rest as a name
        return None, "more than one line; is a quote not closed?"
    with without_messages("Reading SMILES"):
        try:
            molecule = rd.MolFromSmiles(text)
            if molecule is None:
                return None, _why_not(rd, text)
        except _OF_RDKIT:
            return None, "not a SMILES"
    if molecule.GetNumAtoms() == 0:
        return None, "no atoms"
    return molecule, ""


def _why_not(rd: Any, text: str) -> str:
    raw = rd.MolFromSmiles(text, sanitize=False)
    if raw is None:
        return f"not a SMILES{_syntax_error(rd, text)}"
    problems = rd.DetectChemistryProblems(raw)
    return problems[0].Message() if problems else "RDKit refuses it"


def _syntax_error(rd: Any, text: str) -> str:
    """Return what RDKit writes about a SMILES that does not parse: it raises no error."""
    base, written = require("rdkit.rdBase", "chem", "Reading SMILES"), io.StringIO()
    with contextlib.redirect_stderr(written):
        base.LogToPythonStderr()
        try:
            rd.MolFromSmiles(text, sanitize=False)
        finally:
            base.LogToCppStreams()
    reason, place = (find.search(written.getvalue()) for find in (_SYNTAX, _POSITION))
    return (f": {reason[1]}" if reason else "") + (f" at position {place[1]}" if place else "")


# --- SDF and Mol files ------------------------------------------------------------------------------------


def sdf_row(row: Row, *, columns: Sequence[str] = (), id: str | None, reading: MoleculeReader) -> Row:
    """Return a record with its graph, or the reason why there is none; without a title it has no key."""
    molecule, reason = (None, row.reason) if row.reason else read_molecule(row.text)
    smiles = "" if molecule is None else str(chem("Reading SDF files").MolToSmiles(molecule))
    key = (_text(molecule, "_Name") or None) if id is None else _text(molecule, id)
    cells = tuple(_text(molecule, column) for column in columns)
    return _with_graph(Row(row.number, key, smiles, cells=cells), molecule, reason, reading)


def _text(molecule: Any, key: str | None) -> str:
    if molecule is None or key is None or not molecule.HasProp(key):
        return ""
    return str(molecule.GetProp(key)).strip()


def read_molecule(text: str) -> tuple[Any, str]:
    """Return the RDKit molecule of a record with its properties, or None and the reason why there is none."""
    rd = chem("Reading SDF files")
    if problem := record_problem(text):
        return None, problem
    with without_messages("Reading SDF files"):
        supplier = rd.SDMolSupplier()
        try:
            supplier.SetData(text)
            molecule = supplier[0] if len(supplier) else None
        except _OF_RDKIT:
            molecule = None
    if molecule is None:
        return None, "not a molecule that RDKit accepts"
    return (molecule, "") if molecule.GetNumAtoms() else (None, "no atoms")


def read_records(file: Path) -> Iterator[Row]:
    """Yield the records of a file as rows with their text, or with the reason why it cannot be read.

    Records are split here and read one by one: RDKit's own reader skips the record after a bad one.
    """
    number, size, begins = 1, 0, True
    lines: list[bytes] = []
    for line in byte_lines(file):
        if begins and line.startswith(b"$$$$"):
            yield _record(number, lines, size)
            number, lines, size = number + 1, [], 0
        else:
            size += len(line)
            if size <= MAX_RECORD:  # of a longer one only the length is kept
                lines.append(line)
        begins = line.endswith(b"\n")
    if any(line.strip() for line in lines):  # the last one may lack its end, and a Mol file has none
        yield _record(number, lines, size)


def sdf_properties(file: Path) -> list[str]:
    """Return the names of the properties that the first records have, in the order of the file."""
    names: dict[str, None] = {}
    for row in islice(read_records(file), FIRST_RECORDS):
        names |= dict.fromkeys(_PROPERTY.findall(row.text))
    return list(names)


def _record(number: int, lines: list[bytes], size: int) -> Row:
    if size > MAX_RECORD:
        reason = f"expected a record of at most {MAX_RECORD:,} bytes, got {size:,}"
        return Row(number, reason=reason)
    data = b"".join(lines)
    if b"\0" in data:
        return Row(number, reason="expected text, got binary data")
    try:
        return Row(number, text=data.decode("utf-8"))
    except UnicodeDecodeError:  # the format is older than UTF-8
        return Row(number, text=data.decode("latin-1"))


def _with_graph(row: Row, molecule: Any, reason: str, reading: MoleculeReader) -> Row:
    if molecule is None:
        return row._replace(key="", reason=reason)
    try:
        return row._replace(graph=reading.graph(molecule, name=row.key or None))
    except GraphError as error:
        return row._replace(key="", reason=str(error))
