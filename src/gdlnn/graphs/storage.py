"""A data set in one file: a zip of JSON and NumPy arrays, without pickle.

docs/datasets.md describes the format.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import DatasetError, GDLNNError, GraphError, WriteError
from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.members import BadArchiveError, open_archive, read_array, read_members
from gdlnn.graphs.packing import narrow
from gdlnn.graphs.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO

    from gdlnn.graphs.dataset import BoolArray, GraphDataset

FORMAT = "gdlnn-dataset"
VERSION = 1
MAX_CONTENT = 16 << 30
"""Most bytes a file may unpack to."""
_ARRAYS = ("node_features", "node_offsets", "edges", "edge_features", "edge_offsets")


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` that takes its place when all is on disk, else goes.

    Raises
    ------
    WriteError
        Where the folder or the disk does not take it; a file that was there before is as it was.
    """
    name: Path | None = None
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as stream:  # a pipe or a device, which must not become a file
                yield stream
            return
        if path.is_symlink():  # what it points to is written, and the link stays
            path = _target(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        name = Path(made)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # or a power cut after the renaming could leave an empty file
        # mkstemp makes a file for its owner alone; the result has the rights any other new file would have.
        mask = os.umask(0)
        os.umask(mask)
        name.chmod(0o666 & ~mask)
        name.replace(path)
    except BaseException as error:
        if name is not None:
            name.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, GDLNNError) and _is_about(error, path, name):
            kept = "; the file that was there is as it was" if path.is_file() else ""
            raise WriteError(f"{path.name}: cannot be written: {error.strerror or error}{kept}") from error
        raise


def _target(link: Path) -> Path:
    """Return what a link points to at last, there or not."""
    try:
        return link.resolve()
    except RuntimeError as error:  # before Python 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(link)) from error


def _is_about(error: OSError, path: Path, name: Path | None) -> bool:
    """Say whether an error is one of writing the file, not one of reading another file meanwhile."""
    if error.filename is None:  # what `write`, `flush` and `fsync` raise
        return error.errno is not None
    # A temporary file has its whole path in the error, whatever was given.
    where, file = _whole(error.filename), _whole(path)
    known = {file, file.parent} if name is None else {file, file.parent, _whole(name)}
    return where in known or (where.parent == file.parent and where.name.startswith(f".{file.name}."))


def _whole(path: str | Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  (resolve() would follow links, and fail on loops)


def save(dataset: GraphDataset, path: str | os.PathLike[str]) -> None:
    """Write a data set; the file appears when it is complete."""
    if dataset.y is not None and dataset.y.dtype.kind not in "biufU":
        raise GraphError(f"save: y: expected numbers or text, got values of type {dataset.y.dtype}")
    flat = GraphArrays.of(dataset.graphs)
    arrays: dict[str, npt.NDArray[Any]] = {name: narrow(getattr(flat, name)) for name in _ARRAYS}
    if dataset.y is not None:
        arrays["y"] = dataset.y
    arrays["indices"] = dataset.indices
    for what, masks in (("node_masks", dataset.node_masks), ("edge_masks", dataset.edge_masks)):
        if masks is not None:
            arrays[f"{what}_present"] = np.array([mask is not None for mask in masks], dtype=bool)
            kept = [np.asarray(mask, dtype=bool) for mask in masks if mask is not None]
            arrays[what] = np.concatenate(kept) if kept else np.zeros(0, dtype=bool)
    for name, rows in (dataset.published_splits or {}).items():
        arrays[f"split_{name}"] = np.asarray(rows, dtype=np.int64)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "name": dataset.name,
        "directed": dataset.directed,
        "schema": None if dataset.schema is None else dataset.schema.to_json(),
        "graph_names": [graph.name for graph in dataset.graphs],
        "ids": dataset.ids,
        "smiles": dataset.smiles,
        "skipped": [list(row) for row in dataset.skipped],
        "split_source": dataset.split_source,
        "published_splits": None if dataset.published_splits is None else list(dataset.published_splits),
    }
    with atomic_write(Path(path)) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _put(archive, "dataset.json", json.dumps(header, ensure_ascii=False).encode())
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            _put(archive, f"{name}.npy", buffer.getvalue())


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Add a member with a fixed date, so that the same data set gives the same bytes."""
    archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)


def load(path: str | os.PathLike[str]) -> GraphDataset:
    """Read a data set that `save` wrote; whatever the file holds, no code of it is run."""
    file = Path(path)
    try:
        members = read_members(file, MAX_CONTENT)
        header = _header(members, file.name)
        arrays = {
            name.removesuffix(".npy"): read_array(data)
            for name, data in members.items()
            if name.endswith(".npy")
        }
        return _assemble(header, arrays)
    except FileNotFoundError as error:
        raise DatasetError(f"{file.name}: expected a saved data set, got no such file") from error
    except DatasetError:
        raise
    except (
        *(BadArchiveError, ValueError, LookupError, TypeError, OSError, AttributeError),
        *(RecursionError, OverflowError, MemoryError),
    ) as error:
        raise DatasetError(f"{file.name}: expected a saved data set, got a damaged file: {error}") from error


def _header(members: Mapping[str, bytes], name: str) -> dict[str, Any]:
    header = json.loads(members["dataset.json"])
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DatasetError(f"{name}: expected a saved data set, got another kind of file")
    if header.get("version") != VERSION:
        raise DatasetError(f"{name}: expected version {VERSION} of the format, got {header.get('version')}")
    return header


def is_saved(path: Path) -> bool:
    """Say whether a file looks like a saved data set."""
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    with (
        contextlib.suppress(
            *(BadArchiveError, zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError)
        ),
        path.open("rb") as file,
        open_archive(file) as archive,
    ):
        return "dataset.json" in archive.namelist()
    return False


def _assemble(header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> GraphDataset:
    from gdlnn.graphs.dataset import GraphDataset, SkippedRow

    flat = GraphArrays(
        arrays["node_features"].astype(np.float64),
        arrays["node_offsets"].astype(np.int64),
        arrays["edges"].astype(np.int64).reshape(-1, 2),
        arrays["edge_features"].astype(np.float64),
        arrays["edge_offsets"].astype(np.int64),
        bool(header["directed"]),
    )
    flat.check()
    schema = None if header["schema"] is None else Schema.from_json(header["schema"])
    splits = header["published_splits"]
    if len(header["graph_names"]) != flat.n_graphs:
        raise GraphError(f"expected {flat.n_graphs} graph names, got {len(header['graph_names'])}")
    dataset = GraphDataset(
        flat.graphs(schema, header["graph_names"]),
        arrays.get("y"),
        schema,
        header["name"],
        node_masks=_cut(arrays, "node_masks", np.diff(flat.node_offsets)),
        edge_masks=_cut(arrays, "edge_masks", np.diff(flat.edge_offsets)),
        ids=header["ids"],
        smiles=header["smiles"],
        published_splits=None if splits is None else {name: arrays[f"split_{name}"] for name in splits},
        skipped=[SkippedRow(*row) for row in header["skipped"]],
    )
    dataset.indices = arrays["indices"].astype(np.int64)
    dataset.split_source = header["split_source"]
    return dataset


def _cut(
    arrays: dict[str, npt.NDArray[Any]], what: str, sizes: npt.NDArray[np.int64]
) -> Sequence[BoolArray | None] | None:
    if what not in arrays:
        return None
    present = arrays[f"{what}_present"].astype(bool)
    ends = np.cumsum(np.where(present, sizes, 0))
    values = arrays[what].astype(bool)
    starts = ends - np.where(present, sizes, 0)
    return [
        values[a:b] if here else None
        for a, b, here in zip(starts.tolist(), ends.tolist(), present.tolist(), strict=True)
    ]
