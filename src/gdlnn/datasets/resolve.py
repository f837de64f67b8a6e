"""What `DATASET` on the command line means: a name, a folder or a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from gdlnn.datasets.jsonl import load_jsonl
from gdlnn.datasets.load import load_dataset
from gdlnn.datasets.registry import REGISTRY, canonical_name
from gdlnn.datasets.sdf import load_sdf
from gdlnn.datasets.smiles import load_smiles, read_header
from gdlnn.datasets.synthetic import make_ba_2motifs
from gdlnn.datasets.tu import load_tu, tu_prefix
from gdlnn.errors import DatasetError
from gdlnn.graphs import GraphDataset, storage

if TYPE_CHECKING:
    import os

    from gdlnn.datasets.molecule_rows import Fragments, OnError

SYNTHETIC = "synthetic:ba-2motifs"
RowFile = Literal["table", "sdf", "jsonl"]
"""The files that are read row by row."""
_ROW_FILES: dict[str, RowFile] = {
    **dict.fromkeys((".csv", ".tsv", ".smi", ".txt"), "table"),
    **dict.fromkeys((".sdf", ".sd", ".mol"), "sdf"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
}


def resolve_dataset(
    text: str,
    *,
    smiles: str | None = None,
    label: str | None = None,
    id: str | None = None,
    root: str | os.PathLike[str] | None = None,
    download: bool = True,
    fragments: Fragments = "keep",
    on_error: OnError = "skip",
    min_classes: int = 1,
) -> GraphDataset:
    """Return the data set that a word on the command line stands for.

    A path that exists comes first: a TU folder, a SMILES table, an SDF file, JSON Lines or a saved data
    set. Then ``synthetic:ba-2motifs`` (``synthetic:ba-2motifs:N:SEED`` for other sizes), then the name of a
    data set.

    Parameters
    ----------
    text
        The word.
    smiles, label, id
        Columns of a SMILES table; without `smiles`, the column called smiles in any case.
    root, download
        As for `load_dataset`.
    fragments, on_error, min_classes
        As for `load_smiles`.
    """
    path = Path(text)
    if text.split(":")[0] == "synthetic":
        return _synthetic(text)
    if canonical_name(text) in REGISTRY and not (path.is_dir() and tu_prefix(path)):
        return load_dataset(text, root, download)
    if path.is_dir():
        return _named_folder(path, min_classes)
    if path.is_file():
        options: _Options = {"fragments": fragments, "on_error": on_error, "min_classes": min_classes}
        return _file(path, smiles, label, id, options)
    if path.suffix or len(path.parts) > 1:
        raise DatasetError(
            f"{path.name}: expected a folder, a file or the name of a data set, got nothing there"
        )
    return load_dataset(text, root, download)


class _Options(TypedDict):
    fragments: Fragments
    on_error: OnError
    min_classes: int


def _file(
    path: Path, smiles: str | None, label: str | None, identifier: str | None, options: _Options
) -> GraphDataset:
    if storage.is_saved(path):
        return storage.load(path)
    kind = _kind(path)
    if kind == "jsonl":
        return load_jsonl(path)
    if kind == "sdf":
        return load_sdf(path, label, identifier, **options)
    if kind == "table":
        return load_smiles(path, smiles or smiles_column(path), label, identifier, **options)
    raise DatasetError(
        f"{path.name}: expected a table (.csv, .tsv), .sdf, .jsonl (each also .gz) or a saved data set, "
        "got another file"
    )


def _synthetic(text: str) -> GraphDataset:
    parts = text.split(":")
    if parts[:2] != SYNTHETIC.split(":") or len(parts) > 4:
        raise DatasetError(f"{text!r}: expected {SYNTHETIC}, alone or with :N:SEED")
    try:
        numbers = [int(part) for part in parts[2:]]
    except ValueError as error:
        raise DatasetError(f"{text!r}: expected {SYNTHETIC}:N:SEED with whole numbers") from error
    return make_ba_2motifs(*numbers)


def _named_folder(path: Path, min_classes: int) -> GraphDataset:
    """Read a TU folder; one of the nine gets its names, as by its own name."""
    prefix = tu_prefix(path)
    if prefix is not None and canonical_name(prefix) in REGISTRY:
        return load_dataset(prefix, path, download=False)
    return load_tu(path, min_classes=min_classes)


def file_kind(path: Path) -> RowFile | None:
    """Say which of the files a path is that are read row by row; None for any other thing."""
    return _kind(path) if path.is_file() and not storage.is_saved(path) else None


def _kind(path: Path) -> RowFile | None:
    suffix = next((suffix for suffix in reversed(path.suffixes) if suffix != ".gz"), "")
    return _ROW_FILES.get(suffix.lower())


def smiles_column(path: Path) -> str:
    """Return the column called smiles, in whichever case."""
    header = read_header(path)
    return next((column for column in header if column.lower() == "smiles"), "smiles")
