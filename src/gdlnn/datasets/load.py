"""load_dataset: find or download a dataset's files, read them, add names, published split, ground truth."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from platformdirs import user_cache_path

from gdlnn.datasets.molecules import load_smiles
from gdlnn.datasets.motifs import load_ba_2motifs_pickle, mark_motif_nodes
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
from gdlnn.datasets.tu import load_tu, tu_prefix
from gdlnn.errors import DatasetError, DownloadError, WriteError
from gdlnn.graphs.molecules import molecule_schema
from gdlnn.graphs.splits import checked_split
from gdlnn.io import bounded
from gdlnn.io.bounded import BadArchiveError, read_members

if TYPE_CHECKING:
    from gdlnn.graphs import GraphDataset
    from gdlnn.graphs.graph import IntArray

RETRIES = 2
TIMEOUT = 30.0
"""Seconds without data after which a connection counts as stalled."""
logger = logging.getLogger(__name__)


def load_dataset(
    name: str, root: str | os.PathLike[str] | None = None, download: bool = True
) -> GraphDataset:
    """Load one of the nine datasets of the paper, or a TU dataset on this machine, by its name.

    The files are searched for in `root`, in the folder named by GDLNN_DATA, and in the cache. If nothing is
    found, one of the nine is downloaded into the cache; any other name is an error, and never leaves the
    machine.

    Parameters
    ----------
    name
        MUTAG, Mutagenicity, BBBP, BACE, ENZYMES, PROTEINS, PTC_MR, NCI1, BA-2Motifs, or that of a TU folder.
    root
        A folder with the dataset's folder, or with its files.
    download
        Whether to download missing files; otherwise they are an error.
    """
    source = source_of(name)
    found = find_dataset(source, root)
    if found is None:
        if not download or source.name not in REGISTRY:
            raise DatasetError(_not_at_hand(source, root))
        found = fetch(source)
    return _parse(source, found)


def find_dataset(source: Source, root: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder with a dataset's files, or None."""
    files = [source.file] if source.kind == "smiles" else [f"{source.tu_prefix}_A.txt"]
    if source.kind == "ba-2motifs":
        files.append(source.file)
    given = [root, os.environ.get("GDLNN_DATA"), raw_folder()]
    for parent in (Path(place) for place in given if place):
        for folder in (parent / source.name, parent / source.tu_prefix, parent):
            if any((folder / file).is_file() for file in files):
                return folder
    return None


def _not_at_hand(source: Source, root: str | os.PathLike[str] | None) -> str:
    places = "the folder given as root" if root is not None else "the folder named by GDLNN_DATA"
    known = source.name in REGISTRY
    address = f"published at {source.base}/{source.file}" if known else "of a TU dataset"
    why = "not found, and download=False" if known else f"not found, and not one of {', '.join(REGISTRY)}"
    return (
        f"dataset {source.name}: {why}. Put {source.files_in_words()} ({address}) into a folder "
        f"{source.name} in {places}"
    )


def _parse(source: Source, folder: Path) -> GraphDataset:
    if source.kind == "smiles":
        dataset = load_smiles(
            folder / source.file,
            source.smiles,
            source.label,
            features="ogb",  # as published
            name=source.name,
        )
        dataset = dataset.with_schema(molecule_schema(CLASSES[source.name], "ogb"))
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
    if source.name == "BA-2Motifs":
        mark_motif_nodes(dataset)
    dataset.published_splits = read_split(folder / SPLIT_FILE, len(dataset))
    return dataset


def read_split(path: Path, n: int) -> dict[str, IntArray] | None:
    """Read a published split, lists of rows from 0 under train, val and test, or None without one."""
    if not path.is_file():
        return None
    try:
        return checked_split(bounded.loads(path.read_bytes()), n)
    except (ValueError, TypeError, OSError) as error:
        raise DatasetError(f"{path.name}: {error}") from error


# --- downloads --------------------------------------------------------------------------------------------


def raw_folder() -> Path:
    """Return the folder of downloaded files, in GDLNN_CACHE or where the system keeps caches."""
    return Path(os.environ.get("GDLNN_CACHE") or user_cache_path("gdlnn", appauthor=False)) / "raw"


def fetch(source: Source) -> Path:
    """Download a dataset into the cache and return its folder; it appears there checked, or not at all.

    GDLNN_MIRROR names another address than the published one.
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
            _download(source, url, folder)
            if source.kind == "tu":
                _unpack(source, folder)
            _check_files(source, folder)
            shutil.rmtree(raw / source.name, ignore_errors=True)
            return folder.rename(raw / source.name)
    except DownloadError:
        raise
    except DatasetError as error:
        raise DownloadError(f"dataset {source.name}, from {url}: {error}") from error
    except OSError as error:
        raise WriteError(f"{raw}: cannot be written: {error.strerror or error}") from error


def _download(source: Source, url: str, folder: Path) -> None:
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    known = {source.file: checksums().get(source.file)}
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
        ) from None  # three exceptions of other libraries, sixty lines long
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


def _check_files(source: Source, folder: Path) -> None:
    if source.kind == "ba-2motifs":  # a pickle, whose checksum is not known
        counts = np.bincount(np.asarray(load_ba_2motifs_pickle(folder / source.file).y)).tolist()
        if counts != [500, 500]:
            raise DatasetError(f"{source.file}: expected 500 graphs of each class, got {counts}")
    if source.kind != "tu":
        return
    known = {name: sha for name, sha in checksums().items() if name.startswith(f"{source.name}_")}
    for name in (*(f"{source.name}_{suffix}.txt" for suffix in REQUIRED), *known):
        if not (folder / name).is_file():
            raise DatasetError(f"{source.file}: expected {name} in it, got none")
    for name, expected in known.items():
        got = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if got != expected:
            raise DatasetError(f"{name}: expected SHA-256 {expected}, got {got}")
