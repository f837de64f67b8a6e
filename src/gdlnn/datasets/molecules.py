"""Molecules from files: tables of SMILES, SDF and Mol files, read row by row through RDKit."""

from __future__ import annotations

import contextlib
import io
import logging
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from gdlnn.datasets.opening import byte_lines
from gdlnn.datasets.tables import UTF8, Row, open_table
from gdlnn.errors import DatasetError, GraphError, require
from gdlnn.graphs import Graph, GraphDataset, Origin, SkippedRow, Table
from gdlnn.graphs.chem import chem, record_problem, smiles_problem, without_messages
from gdlnn.graphs.molecules import Fragments, MoleculeFeatures, MoleculeReader, Standardize

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gdlnn.graphs.labels import Threshold

OnError = Literal["skip", "raise"]
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


# --- tables of SMILES -------------------------------------------------------------------------------------


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
    classes: Mapping[Any, str] | None = None,
) -> GraphDataset:
    """Read a table of SMILES as a dataset of molecules.

    Parameters
    ----------
    path
        A table: .csv, .tsv, .txt or .smi, plain or .gz, .xlsx (the first sheet) or .parquet; or a pandas
        DataFrame.
    smiles, label, id
        The columns with the SMILES, the label and an identifier; without `label` the dataset has no labels.
        Numbers from 1 for a table without a header line. `smiles` None: the column called smiles.
    features, fragments, standardize
        How molecules are converted to graphs, see `MoleculeReader`; stored in models trained on the dataset.
    on_error
        What to do with a row that does not parse or has no label: skip it (it is listed in ``.skipped``), or
        raise.
    min_classes
        Minimum number of distinct labels; 1 accepts a table with only one class.
    missing, threshold
        Cells that mean "no label", and the threshold for a column of numbers: see `LabelReader`.
    columns
        Other columns to keep in ``.columns``, such as a date to split by or a weight.
    encoding
        How the text of the table is encoded.
    name, classes
        The names of the dataset and its classes.
    """
    source = path if hasattr(path, "iloc") else Path(path)
    table = open_table(source, (smiles, label, id, *columns), encoding)
    smiles = table.smiles_column() if smiles is None else smiles
    if id is None and table.named_ids:
        id, with_ids = "name", None  # if every row has one
    else:
        with_ids = id is not None
    further = [*dict.fromkeys([*columns, *([label] if label is not None else [])])]
    wanted = [smiles, *([id] if id is not None else []), *further]
    reading = MoleculeReader(features, fragments, standardize)

    def rows() -> Iterator[Row]:
        for row in table.rows(wanted):
            if row.reason:
                raise DatasetError(f"{table.path.name}, {row.reason}")
            text, *cells = row.cells
            key = None if id is None else cells.pop(0)
            yield smiles_row(row._replace(smiles=text, key=key, cells=tuple(cells)), reading=reading)

    provenance = {"smiles": smiles} if smiles in table.header else {}
    collector = _Collector(table.path, "row", further, label, reading, on_error, provenance)
    data = collector.dataset(rows(), name, classes, with_ids=with_ids)
    return collector.labeled(data, columns, missing, threshold, min_classes)


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


def load_sdf(
    path: str | os.PathLike[str],
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
    name: str | None = None,
) -> GraphDataset:
    """Read an SDF file, plain or .gz, as a dataset of molecules.

    Hydrogens that the file lists become implicit, as in SMILES.

    Parameters
    ----------
    path
        The file.
    label, id
        The properties with the label and an identifier; the record's title is the identifier where `id` is
        None and every record has one.
    features, fragments, standardize, on_error, min_classes, missing, threshold, columns, name
        As for `load_smiles`; columns are properties.
    """
    file = Path(path)
    if not file.is_file():
        raise DatasetError(f"{file.name}: no such file; expected an SDF file")
    reading = MoleculeReader(features, fragments, standardize)
    further = [*dict.fromkeys([*columns, *([label] if label is not None else [])])]
    rows = (sdf_row(row, columns=further, id=id, reading=reading) for row in read_records(file))
    collector = _Collector(file, "record", further, label, reading, on_error, {})
    data = collector.dataset(rows, name, None, with_ids=None if id is None else True)
    return collector.labeled(data, columns, missing, threshold, min_classes)


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


# --- both -------------------------------------------------------------------------------------------------


def _with_graph(row: Row, molecule: Any, reason: str, reading: MoleculeReader) -> Row:
    if molecule is None:
        return row._replace(key="", reason=reason)
    try:
        return row._replace(graph=reading.graph(molecule, name=row.key or None))
    except GraphError as error:
        return row._replace(key="", reason=str(error))


@dataclass(frozen=True)
class _Collector:
    """Collects the rows of a file for a dataset."""

    file: Path
    unit: str
    columns: Sequence[str]
    label: str | None
    reading: MoleculeReader
    on_error: OnError
    provenance: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.on_error not in get_args(OnError):
            raise DatasetError(f"on_error: expected {' or '.join(get_args(OnError))}, got {self.on_error!r}")

    def dataset(
        self,
        rows: Iterable[Row],
        name: str | None,
        classes: Mapping[Any, str] | None,
        *,
        with_ids: bool | None,
    ) -> GraphDataset:
        """Return the dataset of the rows, without labels; `with_ids` None: if every row has one."""
        schema = self.reading.schema(classes)
        title = self.file.name.split(".")[0] if name is None else name
        graphs: list[Graph] = []
        read: list[Row] = []
        skipped: list[SkippedRow] = []
        for row in rows:
            if row.graph is not None:
                graphs.append(row.graph._renamed(schema, row.key or f"{title}/{len(graphs)}"))
                read.append(row)
            else:
                skipped.append(SkippedRow(row.number, row.smiles or "", row.reason))
                self._raise(skipped)
        self._report(skipped if not read else [], len(graphs))
        ids = [row.key or "" for row in read]
        table = Table(
            ids if with_ids or (with_ids is None and all(ids)) else None,
            [row.smiles or "" for row in read],
            {column: [row.cells[i] for row in read] for i, column in enumerate(self.columns)},
        )
        origin = Origin(skipped=skipped, reading=self.reading, provenance=self.provenance)
        return GraphDataset(graphs, None, schema, title, table=table, origin=origin)

    def labeled(
        self,
        data: GraphDataset,
        kept: Sequence[str],
        missing: Sequence[str],
        threshold: Threshold,
        min_classes: int,
    ) -> GraphDataset:
        """Return the rows that have a label, if one was asked for, with the columns to keep."""
        if self.label is not None:
            data = data.with_labels(
                self.label,
                missing=missing,
                threshold=threshold,
                min_classes=min_classes,
                where=self.file.name,
            )
            self._raise([row for row in data.skipped if row.reason.startswith("no label")])
        data.columns = {column: cells for column, cells in data.columns.items() if column in kept}
        self._report(data.skipped, len(data))
        return data

    def _raise(self, skipped: Sequence[SkippedRow]) -> None:
        if skipped and self.on_error == "raise":
            row, value, reason = skipped[0]
            raise DatasetError(f"{self.file.name}, {self.unit} {row}: {value!r} cannot be read: {reason}")

    def _report(self, skipped: Sequence[SkippedRow], n_read: int) -> None:
        """Log how many rows were skipped; raise if none was read."""
        file, unit, total = self.file.name, self.unit, n_read + len(skipped)
        if not total:
            raise DatasetError(f"{file}: expected at least one {unit}, got none")
        if not n_read:
            row, value, reason = skipped[0]
            raise DatasetError(
                f"{file}: expected at least one {unit} that parses, got none of {total}; "
                f"the first is {unit} {row} ({value!r}: {reason})"
            )
        if skipped:
            logger.warning(
                "%s: skipped %d of %d %ss, the first is %s %d (%r: %s); list them with `gdlnn datasets`, "
                "in Python with `.skipped`",
                *(file, len(skipped), total, unit, unit),
                *skipped[0],
            )
