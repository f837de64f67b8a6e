"""A dataset in one file: a zip of JSON and NumPy arrays, without pickle.

docs/file-formats.md describes the format.
"""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from gdlnn.errors import DatasetError, GraphError
from gdlnn.graphs.arrays import ARRAYS, GraphArrays
from gdlnn.graphs.molecules import MoleculeReader
from gdlnn.graphs.schema import Schema, label_array
from gdlnn.graphs.splits import checked_split
from gdlnn.io import bounded
from gdlnn.io.bounded import (
    DAMAGED,
    BadArchiveError,
    read_array,
    read_members,
    write_members,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from gdlnn.graphs.dataset import GraphDataset, Masks

Kind = TypeVar("Kind")
FORMAT = "gdlnn-dataset"
VERSION = 1
MAX_CONTENT = 16 << 30
"""Maximum size of an unpacked file, in bytes."""


def save(dataset: GraphDataset, path: str | os.PathLike[str]) -> None:
    """Write a dataset; the file appears once it is complete."""
    arrays = GraphArrays.of(dataset.graphs).narrowed()
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
        "node_names": [graph.node_names for graph in dataset.graphs],
        "ids": dataset.ids,
        "smiles": dataset.smiles,
        "skipped": [list(row) for row in dataset.skipped],
        "split_source": dataset.split_source,
        "reading": None if dataset.reading is None else dataset.reading.to_json(),
        "published_splits": None if dataset.published_splits is None else list(dataset.published_splits),
        "columns": dataset.columns,
        "provenance": dataset.provenance,
    }
    described = ("dataset.json", json.dumps(header, ensure_ascii=False).encode())
    write_members(Path(path), chain([described], ((f"{name}.npy", _npy(arrays[name])) for name in arrays)))


def _npy(array: npt.NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def load(path: str | os.PathLike[str]) -> GraphDataset:
    """Read a dataset that `save` wrote; no code in the file is ever run."""
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
        raise DatasetError(f"{file.name}: no such file; expected a saved dataset") from error
    except DatasetError:
        raise
    except (
        *(BadArchiveError, ValueError, LookupError, TypeError, OSError, AttributeError),
        *(RecursionError, OverflowError, MemoryError),
    ) as error:
        raise DatasetError(f"{file.name}: not a saved dataset, or damaged: {error}") from error


def _header(members: Mapping[str, bytes], name: str) -> dict[str, Any]:
    header = bounded.loads(members["dataset.json"])
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DatasetError(f"{name}: not a saved dataset")
    if header.get("version") != VERSION:
        raise DatasetError(f"{name}: expected version {VERSION} of the format, got {header.get('version')}")
    return header


def is_saved(path: Path) -> bool:
    """Say whether a file looks like a saved dataset."""
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    with contextlib.suppress(*DAMAGED), zipfile.ZipFile(path) as archive:
        return "dataset.json" in archive.namelist()
    return False


def _assemble(header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> GraphDataset:
    from gdlnn.graphs.dataset import GraphDataset, Origin, SkippedRow, Table

    flat = GraphArrays.widened([arrays[name] for name in ARRAYS], _kind(header, "directed", bool))
    flat.check()
    schema = None if header["schema"] is None else Schema.from_json(header["schema"])
    splits = header["published_splits"]
    for key in ("graph_names", "ids", "smiles"):
        names = header[key]
        if key == "graph_names" and len(names) != flat.n_graphs:
            raise GraphError(f"expected {flat.n_graphs} graph names, got {len(names)}")
        if any(
            not isinstance(name, str) and (key != "graph_names" or name is not None) for name in names or ()
        ):
            raise GraphError(f"{key}: expected text")
    indices = arrays["indices"]
    if indices.shape != (flat.n_graphs,) or indices.dtype.kind not in "iu" or (indices < 0).any():
        raise GraphError(f"indices: expected {flat.n_graphs} row numbers")
    table = Table(
        header["ids"],
        header["smiles"],
        _kind(header, "columns", dict),
        _cut(arrays, "node_masks", np.diff(flat.node_offsets)),
        _cut(arrays, "edge_masks", np.diff(flat.edge_offsets)),
        indices.astype(np.int64),
    )
    origin = Origin(
        None
        if splits is None
        else checked_split({name: arrays[f"split_{name}"] for name in splits}, flat.n_graphs),
        [SkippedRow(int(row), str(value), str(reason)) for row, value, reason in header["skipped"]],
        None if header["reading"] is None else MoleculeReader.from_json(header["reading"]),
        _kind(header, "provenance", dict),
        _kind(header, "split_source", str),
    )
    return GraphDataset(
        flat.graphs(schema, header["graph_names"], _node_names(header, np.diff(flat.node_offsets).tolist())),
        None if "y" not in arrays else label_array(arrays["y"], "labels"),
        schema,
        _kind(header, "name", str),
        table=table,
        origin=origin,
    )


def _node_names(header: dict[str, Any], sizes: list[int]) -> list[list[str] | None]:
    found: list[Any] = header.get("node_names") or [None] * len(sizes)
    for names, size in zip(found, sizes, strict=True):
        if names is not None and (len(names) != size or not all(isinstance(name, str) for name in names)):
            raise GraphError(f"node_names: expected {size} names")
    return found


def _kind(header: dict[str, Any], key: str, kind: type[Kind]) -> Kind:
    """Return an entry of the header, which must have exactly this type."""
    value = header[key]
    if not isinstance(value, kind):
        raise GraphError(f"{key}: expected {kind.__name__}, got {value!r:.60}")
    return value


def _cut(arrays: dict[str, npt.NDArray[Any]], what: str, sizes: npt.NDArray[np.int64]) -> Masks | None:
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
