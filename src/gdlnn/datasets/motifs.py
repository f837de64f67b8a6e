"""BA-2Motifs, a dataset with known motifs: published and generated."""

from __future__ import annotations

import codecs
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.datasets.opening import readable
from gdlnn.datasets.registry import SCHEMAS
from gdlnn.errors import DatasetError
from gdlnn.graphs import Graph, GraphDataset
from gdlnn.graphs.arrays import GraphArrays, offsets_of

if TYPE_CHECKING:
    from pathlib import Path

    from gdlnn.graphs.graph import IntArray

BASE_NODES = 20
CYCLE = ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4))
HOUSE = ((0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4))
MOTIF_NODES = range(20, 25)
"""The nodes of the motif in the published BA-2Motifs."""
MAX_PICKLE = 256 << 20
_IN_PICKLES: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): codecs.encode,
    **{
        (module, "_reconstruct"): lambda *_: np.zeros(0)  # filled by what follows
        for module in ("numpy.core.multiarray", "numpy._core.multiarray")
    },
}
"""The names in a pickle of plain arrays."""


# --- BA-2Motifs, generated --------------------------------------------------------------------------------


def make_ba_2motifs(n: int = 1000, random_state: int = 0) -> GraphDataset:
    """Generate random graphs like those of BA-2Motifs.

    Each has a Barabási–Albert base of 20 nodes (one edge per new node) and five more nodes, a cycle (label
    0) or a house (label 1), joined to the base by one edge. Nodes are renumbered at random; the node
    feature is the degree. ``node_masks`` and ``edge_masks`` mark the motif. The name is
    "synthetic:ba-2motifs", never that of the published dataset.

    Parameters
    ----------
    n
        Number of graphs; labels alternate, so that class sizes differ by at most one.
    random_state
        Seed of the random numbers; the same random_state gives the same graphs.
    """
    if n < 1:
        raise DatasetError(f"make_ba_2motifs: n: expected at least 1, got {n}")
    rng = np.random.default_rng(random_state)
    schema = SCHEMAS["BA-2Motifs"]
    graphs, node_masks, edge_masks = [], [], []
    y = np.arange(n) % 2
    for index in range(n):
        base = preferential_tree(rng)
        motif = np.array(HOUSE if y[index] else CYCLE) + BASE_NODES
        bridge = [[rng.integers(BASE_NODES), BASE_NODES + rng.integers(5)]]
        edges = np.concatenate([base, motif, bridge])
        in_motif = np.asarray((edges >= BASE_NODES).all(axis=1))
        place = rng.permutation(BASE_NODES + 5)
        edges = np.sort(place[edges], axis=1)
        order = np.lexsort((edges[:, 1], edges[:, 0]))
        edges = edges[order]
        degree = np.bincount(edges.reshape(-1), minlength=BASE_NODES + 5).astype(np.float64)
        graphs.append(Graph(degree[:, None], edges, schema=schema, name=f"ba-2motifs/{index}"))
        node_mask = np.zeros(BASE_NODES + 5, dtype=bool)
        node_mask[place[BASE_NODES:]] = True
        node_masks.append(node_mask)
        edge_masks.append(in_motif[order])
    masks: dict[str, Any] = {"node_masks": node_masks, "edge_masks": edge_masks}
    return GraphDataset(graphs, y, schema, "synthetic:ba-2motifs", **masks)


def preferential_tree(rng: np.random.Generator, n_nodes: int = BASE_NODES) -> IntArray:
    """Return a Barabási–Albert tree: a node joins an earlier one with a chance proportional to its degree."""
    ends = [0, 1]
    edges = [(0, 1)]
    for node in range(2, n_nodes):
        other = ends[int(rng.integers(len(ends)))]
        edges.append((other, node))
        ends += [other, node]
    return np.array(edges, dtype=np.int64)


# --- BA-2Motifs, the published pickle ---------------------------------------------------------------------


class ArrayUnpickler(pickle.Unpickler):
    """An unpickler for plain NumPy arrays in lists and tuples; every other name is refused."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the few names that an array needs."""
        if (module, name) not in _IN_PICKLES:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return _IN_PICKLES[module, name]


def read_array_pickle(path: Path) -> Any:
    """Read a pickle of arrays; anything else in it is an error, and no code in it is run."""
    if path.stat().st_size > MAX_PICKLE:
        raise DatasetError(f"{path.name}: expected at most {MAX_PICKLE:,} bytes, got {path.stat().st_size:,}")
    with path.open("rb") as file, readable(path, "a pickle of NumPy arrays"):
        return ArrayUnpickler(file, encoding="latin1").load()


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
        raise DatasetError(f"{path.name}: expected symmetric adjacency matrices")
    n, size, _ = adjacency.shape
    graph, u, v = np.nonzero(np.triu(adjacency))
    arrays = GraphArrays(
        np.zeros((n * size, 0)),
        np.arange(n + 1, dtype=np.int64) * size,
        np.stack([u, v], axis=1),
        np.zeros((len(graph), 0)),
        offsets_of(np.bincount(graph, minlength=n).astype(np.int64)),
        np.zeros(n, dtype=bool),
    ).with_degrees()
    names = [f"BA_2Motifs/{i}" for i in range(n)]
    return GraphDataset(arrays.graphs(None, names), np.argmax(onehot, axis=1), None, "BA-2Motifs")


def mark_motif_nodes(dataset: GraphDataset) -> None:
    """Mark nodes 20 to 24 of the published BA-2Motifs, and the edges among them."""
    masks = [np.isin(np.arange(graph.n_nodes), MOTIF_NODES) for graph in dataset.graphs]
    dataset.node_masks = masks
    if dataset.edge_masks is None:
        dataset.edge_masks = [
            np.asarray(mask[g.edges].all(axis=1)) for g, mask in zip(dataset, masks, strict=True)
        ]
