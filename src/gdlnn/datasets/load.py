"""load_dataset: find or download a dataset's files, read them, add names, published split, ground truth."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from platformdirs import user_cache_path

from gdlnn.datasets.molecules import load_smiles
from gdlnn.datasets.motifs import load_ba_2motifs_pickle, mark_motif_nodes, mark_nitro_and_amino
from gdlnn.datasets.opening import MAX_CONTENT
from gdlnn.datasets.registry import (
    CLASSES,
    REGISTRY,
    REQUIRED,
    SCHEMAS,
    SPLIT_FILE,
    Source,
    checksums,
    source_of,
)
from gdlnn.datasets.tu import SUFFIXES, load_tu, tu_prefix
from gdlnn.errors import DatasetError, DownloadError, WriteError
from gdlnn.graphs import storage
from gdlnn.io import bounded
from gdlnn.io.bounded import BadArchiveError, read_members

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import GraphDataset
    from gdlnn.graphs.graph import IntArray

SAVED_SUFFIX = ".gdlds"
READER_VERSION = 1
"""Increased when readers return different graphs for the same files, so that caches are rebuilt."""
RETRIES = 2
TIMEOUT = 30.0
"""Seconds without data after which a connection counts as stalled."""
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
        data = bounded.loads(path.read_bytes())
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


# --- downloads --------------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Return the cache folder: GDLNN_CACHE where it is set, else where the system keeps caches."""
    return Path(os.environ.get("GDLNN_CACHE") or user_cache_path("gdlnn", appauthor=False))


def raw_folder() -> Path:
    """Return the folder of downloaded files."""
    return cache_folder() / "raw"


def fetch(source: Source, *, verify: bool = True) -> Path:
    """Download a dataset into the cache and return its folder; it appears there checked, or not at all.

    GDLNN_MIRROR names another address than the published one.

    Parameters
    ----------
    source
        Which dataset.
    verify
        Whether to compare the files of the nine with their SHA-256.
    """
    url = f"{(os.environ.get('GDLNN_MIRROR') or source.base).rstrip('/')}/{source.file}"
    if not url.startswith(("https://", "http://")):
        raise DownloadError(f"dataset {source.name}: expected an http or https address, got {url}")
    raw = raw_folder()
    try:
        raw.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{source.name}.", dir=raw) as staging:
            folder = Path(staging) / source.name
            folder.mkdir()
            _download(source, url, folder, verify)
            if source.kind == "tu":
                _unpack(source, folder)
            _check_files(source, folder, verify)
            shutil.rmtree(raw / source.name, ignore_errors=True)
            return folder.rename(raw / source.name)
    except DownloadError:
        raise
    except DatasetError as error:
        raise DownloadError(f"dataset {source.name}, from {url}: {error}") from error
    except OSError as error:
        raise WriteError(f"{raw}: cannot be written: {error.strerror or error}") from error


def _download(source: Source, url: str, folder: Path, verify: bool) -> None:
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    known = {source.file: checksums().get(source.file) if verify else None}
    fetcher = pooch.create(folder, url.removesuffix(source.file), registry=known, retry_if_failed=RETRIES)
    try:
        fetcher.fetch(source.file, downloader=pooch.HTTPDownloader(timeout=TIMEOUT))
    except requests.RequestException as error:
        if error.response is not None:
            reason = f"the server answered {error.response.status_code} {error.response.reason}"
        else:
            reason = "the connection stalled" if isinstance(error, requests.Timeout) else "no connection"
        raise DownloadError(
            f"dataset {source.name}: {url} cannot be downloaded: {reason}. To work offline, put "
            f"{source.files_in_words()} into a folder {source.name} inside the folder named by GDLNN_DATA"
        ) from error
    except ValueError as error:
        raise DatasetError(f"{source.file}: its SHA-256 is not the published one") from error


def _unpack(source: Source, folder: Path) -> None:
    """Unpack the files of a TU dataset next to its archive, by their bare names."""
    path = folder / source.file
    try:
        members = read_members(path, MAX_CONTENT)
    except BadArchiveError as error:
        raise DatasetError(f"{source.file}: not a zip file, or damaged: {error}") from error
    for member, data in members.items():
        name = member.rpartition("/")[2]
        if name.startswith(f"{source.tu_prefix}_") and name.endswith(".txt"):
            (folder / name).write_bytes(data)
    path.unlink()


def _check_files(source: Source, folder: Path, verify: bool) -> None:
    if source.kind == "ba-2motifs":  # a pickle, whose checksum is not known
        counts = np.bincount(np.asarray(load_ba_2motifs_pickle(folder / source.file).y)).tolist()
        if verify and counts != [500, 500]:
            raise DatasetError(f"{source.file}: expected 500 graphs of each class, got {counts}")
    if source.kind != "tu":
        return
    known: dict[str, str] = {}
    if verify and source.name in REGISTRY:
        known = {name: sha for name, sha in checksums().items() if name.startswith(f"{source.name}_")}
    for name in (*(f"{source.name}_{suffix}.txt" for suffix in REQUIRED), *known):
        if not (folder / name).is_file():
            raise DatasetError(f"{source.file}: expected {name} in it, got none")
    for name, expected in known.items():
        got = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if got != expected:
            raise DatasetError(f"{name}: expected SHA-256 {expected}, got {got}")


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
