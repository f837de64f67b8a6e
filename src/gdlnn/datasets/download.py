"""The cache folder, and downloads into it: resumed, retried, checked, then moved in."""

from __future__ import annotations

import errno
import hashlib
import http.client
import logging
import os
import shutil
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from gdlnn.datasets.motifs import load_ba_2motifs_pickle
from gdlnn.datasets.registry import REGISTRY, REQUIRED, Source, checksums
from gdlnn.errors import DatasetError, DownloadError, WriteError
from gdlnn.progress import progress_bar

ATTEMPTS = 4
TIMEOUT = 30.0
"""Seconds without data after which a connection counts as stalled."""
MAX_DOWNLOAD = 2 << 30
MAX_EXTRACTED = 8 << 30
_CHUNK = 1 << 16
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES})
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
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


def fetch(
    source: Source,
    *,
    base: str | None = None,
    verify: bool = True,
    attempts: int = ATTEMPTS,
    timeout: float = TIMEOUT,
    pause: float = 1.0,
) -> Path:
    """Download a dataset into the cache and return its folder; it appears there checked, or not at all.

    Parameters
    ----------
    source
        Which dataset.
    base
        The address to fetch from, in place of the published one and of GDLNN_MIRROR.
    verify
        Whether to compare the extracted files of the nine with their SHA-256.
    attempts, timeout, pause
        How often to try, after how many seconds a connection counts as stalled, and how many seconds to
        wait before the second attempt; each further wait is twice as long.
    """
    url = f"{(base or os.environ.get('GDLNN_MIRROR') or source.base).rstrip('/')}/{source.file}"
    if not url.startswith(("https://", "http://")):
        raise DownloadError(f"dataset {source.name}: expected an http or https address, got {url}")
    raw = raw_folder()
    raw.mkdir(parents=True, exist_ok=True)
    part = raw.parent / "partial" / hashlib.sha256(url.encode()).hexdigest()[:32]
    part.parent.mkdir(parents=True, exist_ok=True)
    resumed = part.exists()
    _download(url, part, source, attempts, timeout, pause)
    staging = Path(tempfile.mkdtemp(prefix=f".{source.name}.", dir=raw))
    try:
        _unpack(source, part, staging)
        _check_files(source, staging, verify)
        part.unlink()
        return _move(staging, raw / source.name)
    except DatasetError as error:
        # Wrong bytes do not become right by fetching the rest of them.
        part.unlink(missing_ok=True)
        if not resumed:
            raise DownloadError(f"dataset {source.name}, from {url}: {error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    # What an earlier run had left may have been the start of another file: once more, from the first byte.
    return fetch(source, base=base, verify=verify, attempts=attempts, timeout=timeout, pause=pause)


def _move(staging: Path, target: Path) -> Path:
    staging.chmod(0o755)
    if target.exists():
        old = staging.with_name(f"{staging.name}.old")
        target.rename(old)
        shutil.rmtree(old, ignore_errors=True)
    staging.rename(target)
    return target


def _download(url: str, part: Path, source: Source, attempts: int, timeout: float, pause: float) -> None:
    """Fetch an address into a file, going on where an earlier attempt stopped."""
    for attempt in range(attempts):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            _attempt(url, part, source.name, timeout)
        except urllib.error.HTTPError as error:
            reason = f"the server answered {error.code} {error.reason}"
            if error.code not in _RETRIED:
                raise _failed(source, url, reason) from error
        except (OSError, http.client.HTTPException) as error:
            _refuse_no_room(error, part.parent)
            reason = _in_words(error)
            if _no_network(error):
                raise _failed(source, url, reason) from error
        else:
            return
        logger.info("%s: attempt %d of %d: %s", source.name, attempt + 1, attempts, reason)
    raise _failed(source, url, f"{reason}, {attempts} times")


def _refuse_no_room(error: Exception, folder: Path) -> None:
    """Raise where an error is one of the disk: to fetch it all again would not help."""
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        raise WriteError(f"{folder}: cannot be written: {error.strerror}") from error


def _no_network(error: Exception) -> bool:
    """Say whether the server's name is unknown: without a network there is nothing to wait for."""
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    return isinstance(inner, socket.gaierror) and inner.errno != socket.EAI_AGAIN


def _in_words(error: Exception) -> str:
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(inner, TimeoutError):
        return "the connection stalled"
    return str(inner) or type(inner).__name__


def _failed(source: Source, url: str, reason: str) -> DownloadError:
    return DownloadError(
        f"dataset {source.name}: {url} cannot be downloaded: {reason}. To work offline, put "
        f"{source.files_in_words()} into a folder {source.name} inside the folder named by GDLNN_DATA"
    )


def _attempt(url: str, part: Path, name: str, timeout: float) -> None:
    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "gdlnn", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:
            # The part is as long as the file, or the file is another one by now: begin again.
            part.unlink()
            error.close()
            _attempt(url, part, name, timeout)
            return
        error.close()
        raise
    with response:
        resumed = response.status == 206 and response.headers.get("Content-Range", "").startswith(
            f"bytes {have}-"
        )
        have = have if resumed else 0
        length = response.headers.get("Content-Length")
        total = None if length is None or not length.isdigit() else have + int(length)
        if total is not None and total > MAX_DOWNLOAD:
            raise DownloadError(f"dataset {name}: expected at most {MAX_DOWNLOAD:,} bytes, got {total:,}")
        with (
            part.open("ab" if resumed else "wb") as file,
            progress_bar(name, total, style="bytes", completed=have, transient=True) as update,
        ):
            while chunk := response.read1(_CHUNK):  # what has come, so that a stall loses nothing
                have += len(chunk)
                if have > MAX_DOWNLOAD:
                    raise DownloadError(f"dataset {name}: expected at most {MAX_DOWNLOAD:,} bytes, got more")
                file.write(chunk)
                update(advance=len(chunk))
        if total is not None and have < total:
            raise http.client.IncompleteRead(b"", total - have)


def _unpack(source: Source, part: Path, folder: Path) -> None:
    if source.kind != "tu":
        shutil.copyfile(part, folder / source.file)
        return
    try:
        with zipfile.ZipFile(part) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if sum(member.file_size for member in members) > MAX_EXTRACTED:
                raise DatasetError(
                    f"{source.file}: expected at most {MAX_EXTRACTED:,} bytes of content, got more"
                )
            for member in members:
                _extract(archive, member, source, folder)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        _refuse_no_room(error, folder.parent)  # no fault of the bytes, which are kept
        raise DatasetError(f"{source.file}: not a zip file, or damaged: {error}") from error


def _extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, source: Source, folder: Path) -> None:
    """Write one member into the folder by its bare name; a name that points elsewhere is refused."""
    path = PurePosixPath(member.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in member.filename:
        raise DatasetError(f"{source.file}: expected files inside a folder, got {member.filename!r}")
    if not path.name.startswith(f"{source.tu_prefix}_") or path.suffix != ".txt":
        return  # a README and the like
    written = 0
    with archive.open(member) as read, (folder / path.name).open("wb") as write:
        while chunk := read.read(_CHUNK):
            written += len(chunk)
            if written > member.file_size:
                raise DatasetError(f"{source.file}: {path.name} is longer than the zip file says")
            write.write(chunk)


def _check_files(source: Source, folder: Path, verify: bool) -> None:
    if source.kind == "ba-2motifs":
        dataset = load_ba_2motifs_pickle(folder / source.file)
        counts = sorted(int((dataset.y == label).sum()) for label in (0, 1)) if dataset.y is not None else []
        if verify and (len(dataset) != source.size[0] or counts != [500, 500]):
            raise DatasetError(
                f"{source.file}: expected 1000 graphs, 500 of each class, got {len(dataset)}: {counts}"
            )
        return
    if source.kind == "tu":
        for suffix in REQUIRED:
            if not (folder / f"{source.tu_prefix}_{suffix}.txt").is_file():
                raise DatasetError(f"{source.file}: expected {source.tu_prefix}_{suffix}.txt in it, got none")
    if not verify or source.name not in REGISTRY:
        return
    known = (
        [source.file]
        if source.kind == "smiles"
        else [f for f in checksums() if f.startswith(f"{source.tu_prefix}_")]
    )
    missing = [name for name in known if not (folder / name).is_file()]
    if missing:
        raise DatasetError(f"{source.file}: expected {missing[0]} in it, got none")
    for path in sorted(folder.iterdir()):
        expected = checksums().get(path.name)
        with path.open("rb") as file:
            got = hashlib.file_digest(file, "sha256").hexdigest()
        if expected is not None and got != expected:
            raise DatasetError(f"{path.name}: expected SHA-256 {expected}, got {got}")
