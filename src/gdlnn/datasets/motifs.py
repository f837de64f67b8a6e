"""Ground truth that follows from the graphs: nitro and amino groups, and the motif nodes of BA-2Motifs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdlnn.graphs.arrays import GraphArrays

if TYPE_CHECKING:
    from gdlnn.graphs import GraphDataset
    from gdlnn.graphs.graph import BoolArray, IntArray

MOTIF_NODES = slice(20, 25)
"""The nodes of the motif in the published BA-2Motifs."""


def mark_nitro_and_amino(dataset: GraphDataset) -> None:
    """Mark the N–O bonds of NO2 and the N–H bonds of NH2 in Mutagenicity, as the published ground truth does.

    NO2: a nitrogen with three neighbours of which two are oxygens without other neighbours. NH2: a nitrogen
    with three neighbours of which two are hydrogens and the third is not an oxygen.
    """
    if dataset.schema is None:
        return
    code = {name: value for value, name in dataset.schema.node[0].values.items()}
    arrays = GraphArrays.of(dataset.graphs)
    atom = arrays.node_features[:, 0]
    ends = arrays.global_edges()
    both = np.concatenate([ends, ends[:, ::-1]])
    degree = arrays.degrees()

    def neighbours(symbol: str) -> IntArray:
        return np.bincount(both[atom[both[:, 1]] == code[symbol], 0], minlength=len(atom)).astype(np.int64)

    oxygens, hydrogens = neighbours("O"), neighbours("H")
    trivalent = (atom == code["N"]) & (degree == 3)
    nitro = trivalent & (oxygens == 2)
    amino = trivalent & (hydrogens == 2) & (oxygens == 0)

    def marked(centre: IntArray, other: IntArray) -> BoolArray:
        in_nitro = nitro[centre] & (atom[other] == code["O"]) & (degree[other] == 1)
        in_amino = amino[centre] & (atom[other] == code["H"])
        return np.asarray(in_nitro | in_amino)

    # A nitrogen with an oxygen that goes on to another atom is no nitro group: both oxygens must end there.
    truth = marked(ends[:, 0], ends[:, 1]) | marked(ends[:, 1], ends[:, 0])
    whole = np.bincount(ends[truth].reshape(-1), minlength=len(atom))
    centre_count = np.maximum(whole[ends[:, 0]], whole[ends[:, 1]])
    truth &= centre_count >= 2
    nodes = np.zeros(len(atom), dtype=bool)
    nodes[ends[truth].reshape(-1)] = True
    dataset.node_masks = list(np.split(nodes, arrays.node_offsets[1:-1]))
    dataset.edge_masks = list(np.split(truth, arrays.edge_offsets[1:-1]))


def mark_motif_nodes(dataset: GraphDataset) -> None:
    """Mark nodes 20 to 24 of the published BA-2Motifs, and the edges among them."""
    node_masks: list[BoolArray | None] = []
    edge_masks: list[BoolArray | None] = []
    for graph in dataset.graphs:
        mask = np.zeros(graph.n_nodes, dtype=bool)
        mask[MOTIF_NODES] = True
        node_masks.append(mask)
        edge_masks.append(np.asarray(mask[graph.edges].all(axis=1)))
    dataset.node_masks = node_masks
    if dataset.edge_masks is None:
        dataset.edge_masks = edge_masks
