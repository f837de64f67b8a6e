"""Shared inputs of a study's cells: datasets, splits, and programs mined from a training set."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
import numpy.typing as npt

from gdlnn.datasets import resolve_dataset
from gdlnn.errors import GDLNNError
from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.molecules import chem, graph_molecule
from gdlnn.graphs.splits import Split
from gdlnn.mining import ProgramSet, mine
from repro.cells import Protocol

if TYPE_CHECKING:
    from gdlnn.graphs import GraphDataset
    from gdlnn.mining.settings import Strategy

PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
_NITRO = "[#7;D3;!$(*(~[#8])(~[#8])~[#8])](~[#8;D1])~[#8;D1]"
_AMINO = "[#7;D3;!$(*~[#8]);!$(*(~[#1])(~[#1])~[#1])](~[#1])~[#1]"
N_FOLDS = 10
FIRST_SPLIT = 11
"""Seed of the first repeated split; seeds below it, and those from 301, were used to choose defaults."""


@dataclass(frozen=True)
class SplitPlan:
    """One split of a protocol: its name, which may end in a number, and the seeds of the runs on it."""

    name: str
    seeds: tuple[int, ...] = ()


def plan_splits(protocol: Protocol, n_runs: int = 5, first: int = FIRST_SPLIT) -> list[SplitPlan]:
    """Return the splits of a protocol.

    - ``paper``: one split, the published one where there is one, else random with seed 0; `n_runs` seeds.
    - ``repeated``: `n_runs` random 80/10/10 splits with seeds from `first` on; one run on each.
    - ``cv``: ten stratified folds; a ninth of the other nine is the validation set; one run on each.
    - ``scaffold``: one split of molecules by scaffold; `n_runs` seeds.
    """
    if protocol not in PROTOCOLS:
        raise GDLNNError(f"protocol: expected one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    if protocol == "repeated":
        return [SplitPlan(f"random-{i}", (i,)) for i in range(first, first + n_runs)]
    if protocol == "cv":
        return [SplitPlan(f"fold-{i}", (i,)) for i in range(N_FOLDS)]
    return [SplitPlan(protocol, tuple(range(n_runs)))]


def make_split(data: GraphDataset, protocol: Protocol, name: str) -> Split:
    """Split a dataset as a protocol says; the number at the end of the name is a seed or a fold."""
    if protocol in ("paper", "scaffold"):
        return data.split(protocol, random_state=0)
    number = int(name.rpartition("-")[2])
    if protocol == "repeated":
        return data.split("random", random_state=number)
    rest, test = list(data.folds(N_FOLDS, random_state=0))[number]
    train, val = next(iter(rest.folds(N_FOLDS - 1, random_state=number)))
    for part in (train, val, test):
        part.split_source = f"stratified fold {number} of {N_FOLDS}, seed 0"
    return Split(train, val, test)


@lru_cache(maxsize=3)
def load_data(name: str, folder: str | None) -> tuple[GraphDataset, str]:
    """Return a dataset and a hash of all graphs and labels; the last ones stay in memory."""
    data = resolve_dataset(name, root=folder)
    if data.name == "Mutagenicity" and data.edge_masks is None:
        mark_nitro_and_amino(data)
    return data, data_fingerprint(data)


def mark_nitro_and_amino(data: GraphDataset) -> None:
    """Mark the N–O bonds of NO2 and the N–H bonds of NH2, as the published ground truth does."""
    patterns = [chem("Mutagenicity").MolFromSmarts(smarts) for smarts in (_NITRO, _AMINO)]
    node_masks, edge_masks = [], []
    for graph in data:
        molecule, nodes = graph_molecule(graph), np.zeros(graph.n_nodes, dtype=bool)
        groups = [set(found) for one in patterns for found in molecule.GetSubstructMatches(one)]
        nodes[[node for group in groups for node in group]] = True
        node_masks.append(nodes)
        inside = [any({u, v} <= group for group in groups) for u, v in graph.edges.tolist()]
        edge_masks.append(np.array(inside, dtype=bool))
    data.node_masks, data.edge_masks = node_masks, edge_masks


def data_fingerprint(data: GraphDataset) -> str:
    """Return a hash of all graphs and labels; the same in all versions, so that their cells can be paired."""
    flat = GraphArrays.of(data.graphs)
    arrays = (flat.node_features, flat.node_offsets, flat.edges, flat.edge_features, flat.edge_offsets)
    digest = hashlib.blake2b(digest_size=8)
    for array in arrays:
        digest.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    digest.update(json.dumps([flat.is_directed, None if data.y is None else data.y.tolist()]).encode())
    return digest.hexdigest()


@lru_cache(maxsize=4)
def load_split(dataset: str, protocol: Protocol, name: str, folder: str | None) -> tuple[Split, str]:
    """Return a split of a dataset and a hash of both; the last ones stay in memory."""
    data, digest = load_data(dataset, folder)
    split = make_split(data, protocol, name)
    position = {row: i for i, row in enumerate(data.indices.tolist())}
    rows = json.dumps([digest, *([position[row] for row in part.indices.tolist()] for part in split)])
    return split, hashlib.blake2b(rows.encode(), digest_size=8).hexdigest()


def forget() -> None:
    """Drop the datasets and splits in memory."""
    load_data.cache_clear()
    load_split.cache_clear()


atexit.register(forget)  # graphs that are still alive when the interpreter ends look like leaks of the core


TARGETS = {
    "ESOL": ("ESOL/ESOL.csv", "measured log solubility in mols per litre"),
    "pIC50": ("BACE/bace.csv", "pIC50"),
}
"""Tables of the regressions in the folder of the datasets, and their columns."""


def target_file(dataset: str, folder: str | None) -> Path:
    """Return the table of a regression, by default in the folder of GDLNN_DATA."""
    return Path(folder or os.environ["GDLNN_DATA"]) / TARGETS[dataset][0]


def target_rows(n: int, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the training and test rows of a regression, nine to one.

    They are those of ``GraphDataset.split("random", seed, (0.9, 0, 0.1))``.
    """
    order, n_train = np.random.default_rng(seed).permutation(n), int(0.9 * n + 1e-9)
    return np.sort(order[:n_train]), np.sort(order[n_train:])


def mined_programs(train: GraphDataset, epsilon: float | str, strategy: Strategy) -> ProgramSet:
    """Mine programs as the paper does: with intervals of nominal features."""
    programs = mine(train, epsilon=epsilon, strategy=strategy, nominal="interval", verbose=False)
    if programs.stopped_by == "interrupt":
        raise KeyboardInterrupt
    return programs
