"""load_dataset: find a dataset's files, read or recall them, add names, published split and ground truth."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gdlnn.datasets.download import cache_folder, fetch, raw_folder
from gdlnn.datasets.molecules import load_smiles
from gdlnn.datasets.motifs import load_ba_2motifs_pickle, mark_motif_nodes, mark_nitro_and_amino
from gdlnn.datasets.registry import CLASSES, SCHEMAS, SPLIT_FILE, Source, source_of
from gdlnn.datasets.tu import SUFFIXES, load_tu, tu_prefix
from gdlnn.errors import DatasetError
from gdlnn.graphs import storage
from gdlnn.io import bounded_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import GraphDataset
    from gdlnn.graphs.graph import IntArray

SAVED_SUFFIX = ".gdlds"
READER_VERSION = 1
"""Increased when readers return different graphs for the same files, so that caches are rebuilt."""
logger = logging.getLogger(__name__)


def load_dataset(
    name: str, root: str | os.PathLike[str] | None = None, download: bool = True
) -> GraphDataset:
    """Load one of the nine datasets of the paper, or any other TU dataset by its name.

    The files are searched for in `root`, in the folder named by GDLNN_DATA, and in the cache; then the same
    places are searched for a saved dataset ``NAME.gdlds``. If nothing is found, it is downloaded into the
    cache.

    Parameters
    ----------
    name
        MUTAG, Mutagenicity, BBBP, BACE, ENZYMES, PROTEINS, PTC_MR, NCI1, BA-2Motifs, or another TU dataset.
    root
        A folder with the dataset's folder, or with its files.
    download
        Whether to download missing files; otherwise they are an error.
    """
    source = source_of(name)
    folder = find_folder(source, root)
    if folder is None:
        saved = find_saved(source, root)
        if saved is not None:
            return storage.load(saved)
        if not download:
            raise DatasetError(_not_at_hand(source, root))
        folder = fetch(source)
    return read_folder(source, folder)


def read_folder(source: Source, folder: Path) -> GraphDataset:
    """Read a dataset's files, or their parsed form in the cache."""
    files = source_files(source, folder)
    key = _fingerprint(source.name, files)
    dataset = _load_parsed(source.name, key)
    if dataset is None:
        dataset = _parse(source, folder)
        _save_parsed(source.name, key, dataset)
    return dataset


def search_path(root: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the folders that are searched for datasets, in order."""
    folders = [] if root is None else [Path(root)]
    if os.environ.get("GDLNN_DATA"):
        folders.append(Path(os.environ["GDLNN_DATA"]))
    return [*folders, raw_folder()]


def find_folder(source: Source, root: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder with a dataset's files, or None."""
    for parent in search_path(root):
        for folder in (parent / source.name, parent / source.tu_prefix, parent):
            if folder.is_dir() and _complete(source, folder):
                return folder
    return None


def find_saved(source: Source, root: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the file of a saved dataset, or None. Machines without RDKit can read molecules this way."""
    files = (folder / f"{source.name}{SAVED_SUFFIX}" for folder in search_path(root))
    return next((file for file in files if file.is_file()), None)


def _complete(source: Source, folder: Path) -> bool:
    if (folder / source.file).is_file() and source.kind != "tu":
        return True
    return source.kind != "smiles" and (folder / f"{source.tu_prefix}_A.txt").is_file()


def source_files(source: Source, folder: Path) -> list[Path]:
    """Return the files in a folder that a dataset is read from."""
    wanted = [SPLIT_FILE]
    if source.kind == "smiles" or not (folder / f"{source.tu_prefix}_A.txt").is_file():
        wanted.append(source.file)
    else:
        wanted += [f"{source.tu_prefix}_{suffix}.txt" for suffix in SUFFIXES]
    return [folder / file for file in sorted(wanted) if (folder / file).is_file()]


def _not_at_hand(source: Source, root: str | os.PathLike[str] | None) -> str:
    places = "the folder given as root" if root is not None else "the folder named by GDLNN_DATA"
    return (
        f"dataset {source.name}: not found, and download=False. Put {source.files_in_words()} "
        f"(published at {source.base}/{source.file}) into a folder {source.name} in {places}"
    )


def _parse(source: Source, folder: Path) -> GraphDataset:
    if source.kind == "smiles":
        dataset = load_smiles(
            folder / source.file,
            source.smiles,
            source.label,
            features="ogb",  # as published
            name=source.name,
            classes=CLASSES[source.name],
        )
    elif (folder / f"{source.tu_prefix}_A.txt").is_file():
        if tu_prefix(folder) != source.tu_prefix:
            raise DatasetError(
                f"{folder.name}: expected {source.tu_prefix}_A.txt alone, found other _A.txt files"
            )
        dataset = load_tu(folder)
    else:
        dataset = load_ba_2motifs_pickle(folder / source.file)
    dataset.name = source.name
    if source.name in SCHEMAS:
        dataset = dataset.with_schema(SCHEMAS[source.name])
    if dataset.edge_masks is None and source.name == "Mutagenicity":
        mark_nitro_and_amino(dataset)
    if source.name == "BA-2Motifs":
        mark_motif_nodes(dataset)
    dataset.published_splits = read_split(folder / SPLIT_FILE, len(dataset))
    return dataset


def read_split(path: Path, n: int) -> dict[str, IntArray] | None:
    """Read a published split, lists of rows from 0 under train, val and test, or None without one."""
    if not path.is_file():
        return None
    try:
        data = bounded_json.loads(path.read_bytes())
        parts = {name: np.array(data[name], dtype=np.int64) for name in ("train", "val", "test")}
    except (ValueError, KeyError, TypeError, OverflowError, OSError) as error:
        raise DatasetError(
            f"{path.name}: expected lists of rows under train, val and test: {error}"
        ) from error
    rows = np.sort(np.concatenate(list(parts.values())))
    if not np.array_equal(rows, np.arange(n)):
        raise DatasetError(
            f"{path.name}: expected each of the rows 0 to {n - 1} once, got {len(rows)} row(s) that differ"
        )
    return parts


# --- parsed datasets in the cache ------------------------------------------------------------------------


def _fingerprint(name: str, files: Sequence[Path]) -> str:
    """Return a key that changes with the files' names and bytes, the reader, and the names we give."""
    digest = hashlib.blake2b(digest_size=16)
    schema = SCHEMAS[name].to_json() if name in SCHEMAS else {}
    stamp = [storage.VERSION, READER_VERSION, name, schema, sorted(CLASSES.get(name, {}).items())]
    if name in CLASSES:
        stamp.append(_rdkit_version())
    digest.update(json.dumps(stamp, sort_keys=True).encode())
    for path in files:
        try:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).digest()
        except OSError as error:
            raise DatasetError(f"{path.name}: cannot be read: {error.strerror}") from error
        digest.update(path.name.encode() + b"\0" + content)
    return digest.hexdigest()


def _rdkit_version() -> str:
    """Return RDKit's version without loading it: releases may perceive molecules differently."""
    try:
        return importlib.metadata.version("rdkit")
    except importlib.metadata.PackageNotFoundError:
        return "none"


def _parsed_file(name: str, key: str) -> Path:
    return cache_folder() / "parsed" / f"{name}-{key}.gdlds"


def _load_parsed(name: str, key: str) -> GraphDataset | None:
    """Return what was parsed from the same files before, or None."""
    path = _parsed_file(name, key)
    if not path.is_file():
        return None
    try:
        return storage.load(path)
    except DatasetError as error:
        logger.info("cache: %s; reading the files again", error)
        return None


def _save_parsed(name: str, key: str, dataset: GraphDataset) -> None:
    """Store a parsed dataset; a cache that cannot be written only costs time."""
    path = _parsed_file(name, key)
    try:
        storage.save(dataset, path)
        for old in path.parent.glob(f"{name}-{'?' * 32}.gdlds"):
            if old != path:
                old.unlink(missing_ok=True)
    except OSError as error:
        logger.info("cache: cannot store %s: %s", name, error.strerror)
