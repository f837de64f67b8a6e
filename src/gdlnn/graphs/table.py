"""The records of a dataset: Table, what its rows have, and Origin, where they come from; its statistics.

`dataset.GraphDataset` joins them to graphs and labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gdlnn.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdlnn.graphs.dataset import GraphDataset
    from gdlnn.graphs.graph import BoolArray, Graph, IntArray
    from gdlnn.graphs.molecules import MoleculeReader
    from gdlnn.io.frames import Columns

Masks = Sequence["BoolArray | None"]


class SkippedRow(NamedTuple):
    """A skipped row of a file: its number from 1 below the header, its content, and the reason."""

    row: int
    value: str
    reason: str


@dataclass(frozen=True)
class Table:
    """What the rows of a dataset have besides a graph and a label, each one entry per graph or None.

    Parameters
    ----------
    ids, smiles
        Identifiers, SMILES.
    columns
        Other columns of the table that the graphs come from, by name, as text.
    node_masks, edge_masks
        Ground truth (True: belongs to the motif); an entry may be None.
    indices
        The rows in the dataset that this one was taken from; None counts them.
    """

    ids: list[str] | None = None
    smiles: list[str] | None = None
    columns: dict[str, list[str]] = field(default_factory=dict)
    node_masks: Masks | None = None
    edge_masks: Masks | None = None
    indices: IntArray | None = None

    def take(self, rows: IntArray) -> Table:
        """Return the entries of some rows."""

        def pick(entries: Sequence[Any] | None) -> Any:
            return None if entries is None else [entries[i] for i in rows]

        return Table(
            pick(self.ids),
            pick(self.smiles),
            {name: pick(cells) for name, cells in self.columns.items()},
            pick(self.node_masks),
            pick(self.edge_masks),
            rows if self.indices is None else self.indices[rows],
        )

    def check(self, graphs: Sequence[Graph], where: str) -> None:
        """Refuse what does not have one entry per graph, and masks that do not fit their graph."""
        of_rows: dict[str, Sequence[Any] | None] = {
            "node_masks": self.node_masks,
            "edge_masks": self.edge_masks,
            "ids": self.ids,
            "smiles": self.smiles,
        }
        for what, entries in (of_rows | {f"column {n!r}": c for n, c in self.columns.items()}).items():
            if entries is not None and len(entries) != len(graphs):
                raise GraphError(
                    f"{where}: {what}: expected {len(graphs)} entries, one per graph, got {len(entries)}"
                )
        for of, masks in (("node", self.node_masks), ("edge", self.edge_masks)):
            for index, (graph, mask) in enumerate(zip(graphs, masks or (), strict=False)):
                size = graph.n_nodes if of == "node" else graph.n_edges
                if mask is not None and len(mask) != size:
                    raise GraphError(
                        f"{where}: graph {index}: {of}_masks: expected {size} values, one per {of}, "
                        f"got {len(mask)}"
                    )


@dataclass(frozen=True)
class Origin:
    """Where the rows of a dataset come from.

    Parameters
    ----------
    published_splits
        The split that was published with the data: train, val and test to row numbers.
    skipped
        The skipped rows of the file.
    reading
        How molecules were converted to graphs, or None.
    provenance
        How the graphs were read and chosen, as plain values: the columns of SMILES and label, missing labels,
        threshold, duplicates, split and seed. Models store it, so that a report reads data as in training.
    split_source
        How a part of a split was chosen: "published", or the kind and the seed.
    """

    published_splits: Mapping[str, IntArray] | None = None
    skipped: list[SkippedRow] = field(default_factory=list)
    reading: MoleculeReader | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    split_source: str = ""


def describe(dataset: GraphDataset) -> dict[str, Any]:
    """Return the row of the paper's table of datasets: counts and averages.

    An undirected self-loop counts as half an edge, as it adds 1 to the degree: the average is half that of
    the sum of degrees, as in the table of the paper.
    """
    n = max(len(dataset), 1)
    loops = sum(int((g.edges[:, 0] == g.edges[:, 1]).sum()) for g in dataset.graphs if not g.directed)
    counts: dict[Any, int] = {}
    if dataset.y is not None:
        labels, sizes = np.unique(dataset.y, return_counts=True)
        counts = dict(zip(labels.tolist(), sizes.tolist(), strict=True))
    return {
        "name": dataset.name or "dataset",
        "graphs": len(dataset),
        "avg_nodes": round(sum(g.n_nodes for g in dataset.graphs) / n, 4),
        "avg_edges": round((sum(g.n_edges for g in dataset.graphs) - loops / 2) / n, 4),
        "labels": len(counts),
        "node_features": dataset.n_node_features,
        "edge_features": dataset.n_edge_features,
        "classes": counts,
    }


def dataset_columns(dataset: GraphDataset) -> Columns:
    """Return a dataset as columns: identifier, SMILES, label, sizes, and the columns of its table."""
    columns: Columns = {"id": dataset.ids or [graph.name for graph in dataset.graphs]}
    if dataset.smiles is not None:
        columns["smiles"] = list(dataset.smiles)
    if dataset.y is not None:
        columns["label"] = dataset.y.tolist()
    columns["nodes"] = [graph.n_nodes for graph in dataset.graphs]
    columns["edges"] = [graph.n_edges for graph in dataset.graphs]
    return columns | {name: list(cells) for name, cells in dataset.columns.items() if name not in columns}
