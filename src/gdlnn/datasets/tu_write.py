"""Writing the TU text format; reading it is in `tu`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdlnn.errors import DatasetError, WriteError
from gdlnn.graphs.arrays import GraphArrays

if TYPE_CHECKING:
    import os

    from gdlnn.graphs import Feature, GraphDataset
    from gdlnn.graphs.graph import FloatArray


def save_tu(dataset: GraphDataset, folder: str | os.PathLike[str]) -> None:
    """Write a data set as a new TU folder whose name is that of the files; it appears when it is complete.

    Leading nominal features become labels, all others attributes, so that reading gives the same order.
    Names, ids and SMILES have no place in the format and are left out.
    """
    target = Path(folder)
    if target.exists():
        raise DatasetError(f"{target.name}: expected a folder that is not there yet, got one that is")
    if dataset.directed:
        raise DatasetError("TU format: expected undirected graphs, got directed ones")
    if dataset.y is None or not np.issubdtype(dataset.y.dtype, np.integer):
        raise DatasetError("TU format: expected a whole number as label of each graph, got others")
    staging: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        _write(dataset, staging, target.name)
        staging.chmod(0o755)
        staging.rename(target)
    except OSError as error:
        raise WriteError(f"{target.name}: cannot be written: {error.strerror or error}") from error
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)


def _write(dataset: GraphDataset, folder: Path, prefix: str) -> None:
    arrays = GraphArrays.of(dataset.graphs)
    ends = arrays.global_edges()
    back = np.flatnonzero(ends[:, 0] != ends[:, 1])
    rows = np.concatenate([np.arange(len(ends)), back])
    lines = np.concatenate([ends, ends[back][:, ::-1]])
    order = np.lexsort((lines[:, 1], lines[:, 0]))
    lines, rows = lines[order] + 1, rows[order]
    graph_of_node = np.repeat(np.arange(arrays.n_graphs), np.diff(arrays.node_offsets)) + 1

    def write(suffix: str, table: npt.NDArray[np.generic]) -> None:
        whole = not np.issubdtype(table.dtype, np.floating)
        # 17 digits: a double that is read back is the same double.
        np.savetxt(folder / f"{prefix}_{suffix}.txt", table, fmt="%d" if whole else "%.17g", delimiter=", ")

    write("A", lines)
    write("graph_indicator", graph_of_node)
    write("graph_labels", np.asarray(dataset.y))
    schema = dataset.schema
    for of, matrix, features in (
        ("node", arrays.node_features, schema.node if schema else ()),
        ("edge", arrays.edge_features[rows], schema.edge if schema else ()),
    ):
        cut = _leading_labels(matrix, features)
        if cut:
            write(f"{of}_labels", matrix[:, :cut].astype(np.int64))
        if cut < matrix.shape[1]:
            write(f"{of}_attributes", matrix[:, cut:])
    if dataset.edge_masks is not None and all(mask is not None for mask in dataset.edge_masks):
        truth = np.concatenate([np.asarray(mask, dtype=np.int64) for mask in dataset.edge_masks])
        write("edge_gt", truth[rows])


def _leading_labels(matrix: FloatArray, features: tuple[Feature, ...]) -> int:
    """Return how many columns from the left are nominal whole numbers."""
    count = 0
    for feature, column in zip(features, matrix.T, strict=False):
        if feature.kind != "nominal" or not np.array_equal(column, np.floor(column)):
            break
        count += 1
    return count
