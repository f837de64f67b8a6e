"""The cache folder: downloaded files, and parsed data sets keyed by a fingerprint of their files."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gdlnn.datasets.registry import CLASSES, SCHEMAS
from gdlnn.errors import DatasetError
from gdlnn.graphs import storage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import GraphDataset

READER_VERSION = 1
"""Increased when readers give other graphs for the same files, so that these are read again."""
logger = logging.getLogger(__name__)


def cache_folder() -> Path:
    """Return the cache folder: GDLNN_CACHE where it is set, else where the system keeps caches."""
    if os.environ.get("GDLNN_CACHE"):
        return Path(os.environ["GDLNN_CACHE"])
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "gdlnn"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "gdlnn"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "gdlnn" / "cache"
    return Path.home() / ".cache" / "gdlnn"


def raw_folder() -> Path:
    """Return the folder of downloaded files."""
    return cache_folder() / "raw"


def fingerprint(name: str, files: Sequence[Path]) -> str:
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
    """Return RDKit's version without loading it: another release may see molecules otherwise."""
    try:
        return importlib.metadata.version("rdkit")
    except importlib.metadata.PackageNotFoundError:
        return "none"


def _parsed_file(name: str, key: str) -> Path:
    return cache_folder() / "parsed" / f"{name}-{key}.gdlds"


def load_parsed(name: str, key: str) -> GraphDataset | None:
    """Return what was parsed from the same files before, or None."""
    path = _parsed_file(name, key)
    if not path.is_file():
        return None
    try:
        return storage.load(path)
    except DatasetError as error:
        logger.info("cache: %s; the files are read anew", error)
        return None


def save_parsed(name: str, key: str, dataset: GraphDataset) -> None:
    """Keep a parsed data set; a cache that cannot be written to costs time, not the result."""
    path = _parsed_file(name, key)
    try:
        storage.save(dataset, path)
        for old in path.parent.glob(f"{name}-{'?' * 32}.gdlds"):
            if old != path:
                old.unlink(missing_ok=True)
    except OSError as error:
        logger.info("cache: %s is not kept: %s", name, error.strerror)
