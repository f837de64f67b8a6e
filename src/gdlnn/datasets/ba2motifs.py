"""The published BA-2Motifs file, a pickle: read by an unpickler that admits NumPy arrays and nothing else."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import DatasetError
from gdlnn.graphs import GraphDataset
from gdlnn.graphs.arrays import GraphArrays, offsets_of

if TYPE_CHECKING:
    from pathlib import Path

    from gdlnn.graphs.graph import IntArray

MAX_PICKLE = 256 << 20
_ARRAY_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")


def _reconstruct(subtype: Any, shape: Any, dtype: Any) -> npt.NDArray[Any]:
    """Make the empty array that a pickled array is then filled into."""
    if subtype is not np.ndarray or shape != (0,):
        raise pickle.UnpicklingError("an array that is not a plain one")
    return np.ndarray(shape, dtype)


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    """Turn text back into bytes, as protocol 2 writes them."""
    if not isinstance(text, str) or encoding != "latin1":
        raise pickle.UnpicklingError(f"the encoding {encoding!r}")
    return text.encode("latin1")


class ArrayUnpickler(pickle.Unpickler):
    """An unpickler for plain NumPy arrays in lists and tuples; every other name is refused."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the few things an array needs."""
        if module in _ARRAY_MODULES and name == "_reconstruct":
            return _reconstruct
        if module == "numpy" and name in ("ndarray", "dtype"):
            return getattr(np, name)
        if module == "_codecs" and name == "encode":
            return _encode
        raise pickle.UnpicklingError(f"{module}.{name}")


def read_array_pickle(path: Path) -> Any:
    """Read a pickle of arrays; anything else in it is an error, and none of it is run."""
    if path.stat().st_size > MAX_PICKLE:
        raise DatasetError(f"{path.name}: expected at most {MAX_PICKLE:,} bytes, got {path.stat().st_size:,}")
    with path.open("rb") as file:
        try:
            return ArrayUnpickler(file, encoding="latin1").load()
        except pickle.UnpicklingError as error:
            raise DatasetError(f"{path.name}: expected NumPy arrays and nothing else, got {error}") from error
        except Exception as error:  # a damaged pickle fails in as many ways as there are opcodes
            raise DatasetError(f"{path.name}: expected a pickle, got a damaged one: {error}") from error


def load_ba_2motifs_pickle(path: Path) -> GraphDataset:
    """Read the published file: adjacency matrices, features that are not used, and one-hot labels."""
    content = read_array_pickle(path)
    try:
        blocks = [np.asarray(block).astype(np.float64) for block in content]
    except (TypeError, ValueError) as error:
        raise DatasetError(f"{path.name}: expected three arrays of numbers, got {error}") from error
    shapes = [block.shape for block in blocks]
    fits = len(shapes) == 3 and len(shapes[0]) == 3 and len(shapes[2]) == 2
    if not fits or shapes[0][1] != shapes[0][2] or shapes[0][0] != shapes[2][0]:
        raise DatasetError(
            f"{path.name}: expected square matrices, features and one-hot labels, got the shapes {shapes}"
        )
    adjacency, onehot = blocks[0] != 0, blocks[2]
    if not np.array_equal(adjacency, adjacency.transpose(0, 2, 1)):
        raise DatasetError(f"{path.name}: expected symmetric matrices, got others")
    n, size, _ = adjacency.shape
    graph, u, v = np.nonzero(np.triu(adjacency))
    y = np.argmax(onehot, axis=1).astype(np.int64)
    return _with_degrees(n, size, graph, np.stack([u, v], axis=1), y)


def _with_degrees(n: int, size: int, graph: IntArray, edges: IntArray, y: IntArray) -> GraphDataset:
    nodes = np.arange(n + 1, dtype=np.int64) * size
    rows = offsets_of(np.bincount(graph, minlength=n).astype(np.int64))
    no_edge_features = np.zeros((len(edges), 0))
    arrays = GraphArrays(np.zeros((n * size, 0)), nodes, edges, no_edge_features, rows)
    degrees = arrays.degrees().astype(np.float64)[:, None]
    arrays = GraphArrays(degrees, nodes, edges, no_edge_features, rows)
    return GraphDataset(arrays.graphs(None, [f"BA_2Motifs/{i}" for i in range(n)]), y, None, "BA-2Motifs")
