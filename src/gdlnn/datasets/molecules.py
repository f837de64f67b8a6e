"""Molecules from files: tables of SMILES, SDF and Mol files, read row by row through RDKit."""

from __future__ import annotations

import logging
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from gdlnn.datasets.text import MAX_LINE, open_bytes, read_columns
from gdlnn.errors import DatasetError, GraphError, require
from gdlnn.graphs import Graph, GraphDataset
from gdlnn.graphs.dataset import SkippedRow
from gdlnn.graphs.molecules import Fragments, MoleculeFeatures, MoleculeReader, Standardize, chem

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

OnError = Literal["skip", "raise"]
MAX_RECORD = 16 << 20
"""Longest record of an SDF file that is read, in bytes."""
logger = logging.getLogger(__name__)


class InputRow(NamedTuple):
    """A row of an input: its number from 1, and a graph or the reason why there is none.

    ``key`` is the identifier; None if the input has none and the graphs are counted.
    """

    number: int
    key: str | None
    smiles: str | None
    graph: Graph | None
    reason: str
    label: str = ""


# --- tables of SMILES -------------------------------------------------------------------------------------


def load_smiles(
    path: str | os.PathLike[str],
    smiles: str = "smiles",
    label: str | None = None,
    id: str | None = None,
    *,
    features: MoleculeFeatures = "default",
    fragments: Fragments = "all",
    standardize: Standardize = "none",
    on_error: OnError = "skip",
    min_classes: int = 2,
    name: str | None = None,
    classes: Mapping[Any, str] | None = None,
) -> GraphDataset:
    """Read a table of SMILES as a data set of molecules.

    Parameters
    ----------
    path
        A table with a header: .csv, .tsv or .txt, plain or .gz.
    smiles, label, id
        The columns with the SMILES, the label and an identifier; without `label` the data set has no labels.
    features, fragments, standardize
        How molecules become graphs, see `MoleculeReader`; models trained on the data set keep it.
    on_error
        What to do with a row that does not parse: skip it (it is listed in ``.skipped``), or raise.
    min_classes
        The fewest different labels to accept; 1 reads a table with one class only.
    name, classes
        What to call the data set and its classes.
    """
    table = Path(path)
    columns = [column for column in (smiles, label, id) if column is not None]
    reading = MoleculeReader(features, fragments, standardize)

    def rows() -> Iterator[InputRow]:
        for number, cells in read_columns(table, columns):
            cell = dict(zip(columns, cells, strict=True))
            yield smiles_row(
                number, cell[smiles], cell.get(id or ""), label=cell.get(label or "", ""), reading=reading
            )

    return _gathered(
        rows(),
        table,
        "row",
        name,
        classes,
        labelled=label is not None,
        with_ids=id is not None,
        reading=reading,
        on_error=on_error,
        min_classes=min_classes,
    )


def smiles_row(
    number: int, text: str, key: str | None, problem: str = "", *, label: str = "", reading: MoleculeReader
) -> InputRow:
    """Read a row of a table, with what is wrong with it, or ""."""
    molecule, reason = (None, problem) if problem else parse_smiles(text)
    return _row(number, key, text, molecule, reason, label, reading)


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
    features: MoleculeFeatures = "default",
    fragments: Fragments = "all",
    standardize: Standardize = "none",
    on_error: OnError = "skip",
    min_classes: int = 2,
    name: str | None = None,
) -> GraphDataset:
    """Read an SDF file, plain or .gz, as a data set of molecules.

    Hydrogens that the file lists become implicit, as in SMILES.

    Parameters
    ----------
    path
        The file.
    label, id
        The properties with the label and an identifier; the record's title is the identifier where `id` is
        None and every record has one.
    features, fragments, standardize, on_error, min_classes, name
        As for `load_smiles`.
    """
    file = Path(path)
    if not file.is_file():
        raise DatasetError(f"{file.name}: expected an SDF file, got no such file")
    reading = MoleculeReader(features, fragments, standardize)
    rows = (sdf_row(*block, label=label, id=id, reading=reading) for block in read_blocks(file))
    return _gathered(
        rows,
        file,
        "record",
        name,
        labelled=label is not None,
        with_ids=None if id is None else True,
        reading=reading,
        on_error=on_error,
        min_classes=min_classes,
    )


def sdf_row(
    number: int,
    block: str,
    problem: str,
    *,
    label: str | None = None,
    id: str | None,
    reading: MoleculeReader,
) -> InputRow:
    """Read a record, with what is wrong with it, or "". Without a title it has no identifier."""
    molecule, reason = (None, problem) if problem else read_molecule(block)
    text = "" if molecule is None else str(chem("Reading SDF files").MolToSmiles(molecule))
    key = (_text(molecule, "_Name") or None) if id is None else _text(molecule, id)
    return _row(number, key, text, molecule, reason, _text(molecule, label), reading)


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


# --- both -------------------------------------------------------------------------------------------------


def _row(
    number: int, key: str | None, text: str, molecule: Any, reason: str, label: str, reading: MoleculeReader
) -> InputRow:
    if molecule is None:
        return InputRow(number, "", text, None, reason)
    try:
        graph = reading.graph(molecule, name=key or None)
    except GraphError as error:
        return InputRow(number, "", text, None, str(error))
    return InputRow(number, key, text, graph, "", label)


def _gathered(
    rows: Iterable[InputRow],
    file: Path,
    unit: str,
    name: str | None,
    classes: Mapping[Any, str] | None = None,
    *,
    labelled: bool,
    with_ids: bool | None,
    reading: MoleculeReader,
    on_error: OnError,
    min_classes: int,
) -> GraphDataset:
    """Return the data set of some rows, and log what was skipped. `with_ids` None: if every row has one."""
    if on_error not in get_args(OnError):
        raise DatasetError(f"on_error: expected {' or '.join(get_args(OnError))}, got {on_error!r}")
    schema, title = reading.schema(classes), file.name.split(".")[0] if name is None else name
    graphs: list[Graph] = []
    read: list[InputRow] = []
    skipped: list[SkippedRow] = []
    for row in rows:
        if row.graph is not None and (row.label or not labelled):
            graphs.append(row.graph._relabelled(schema, row.key or f"{title}/{len(graphs)}"))
            read.append(row)
            continue
        reason = "no label" if row.graph is not None else row.reason
        if on_error == "raise":
            raise DatasetError(f"{file.name}, {unit} {row.number}: {row.smiles!r} is not read: {reason}")
        skipped.append(SkippedRow(row.number, row.smiles or "", reason))
    _report_skipped(skipped, len(graphs), file.name, unit)
    y = parse_labels([row.label for row in read]) if labelled else None
    if y is not None and len(np.unique(y)) < min_classes:
        raise DatasetError(
            f"{file.name}: expected at least {min_classes} classes, got the label {y[0]} for every {unit}"
        )
    ids = [row.key or "" for row in read]
    smiles = [row.smiles or "" for row in read]
    return GraphDataset(
        graphs,
        y,
        schema,
        title,
        ids=ids if with_ids or (with_ids is None and all(ids)) else None,
        smiles=smiles,
        skipped=skipped,
        reading=reading,
    )


def _report_skipped(skipped: Sequence[SkippedRow], n_read: int, file: str, unit: str) -> None:
    """Log how many rows were skipped; none that was read is an error."""
    total = n_read + len(skipped)
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
            "%s: %d of %d %ss are not read, the first is %s %d (%r: %s); `gdlnn datasets info` "
            "lists them, in Python `.skipped`",
            *(file, len(skipped), total, unit, unit),
            *skipped[0],
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
