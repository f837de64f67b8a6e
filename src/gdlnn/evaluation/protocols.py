"""Protocols: how a data set is split, and with which seeds a method runs on each split."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from gdlnn.errors import DatasetError, GDLNNError
from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.splits import Split
from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

    from gdlnn.graphs import GraphDataset

Protocol = Literal["paper", "repeated", "cv", "scaffold"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
MAIN_METRIC: dict[Protocol, str] = {
    "paper": "accuracy",
    "repeated": "accuracy",
    "cv": "accuracy",
    "scaffold": "roc_auc",
}
N_SPLITS = 5
N_FOLDS = 10


@dataclass(frozen=True)
class SplitPlan:
    """One split of a protocol: its name, and the seeds of the runs on it."""

    name: str
    number: int
    seeds: tuple[int, ...]


def plan_splits(protocol: Protocol, n_runs: int = 5) -> list[SplitPlan]:
    """Return the splits of a protocol.

    - ``paper``: one split, the published one where there is one, else random with seed 0; `n_runs` seeds.
    - ``repeated``: `n_runs` random 80/10/10 splits with seeds 1, 2, …; one run on each.
    - ``cv``: ten stratified folds; a ninth of what is not tested is the validation part; one run on each.
    - ``scaffold``: one split of molecules by scaffold; `n_runs` seeds.
    """
    if protocol not in PROTOCOLS:
        raise GDLNNError(f"protocol: expected one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    if protocol == "repeated":
        return [SplitPlan(f"random-{i}", i, (i,)) for i in range(1, n_runs + 1)]
    if protocol == "cv":
        return [SplitPlan(f"fold-{i}", i, (i,)) for i in range(N_FOLDS)]
    return [SplitPlan(protocol, 0, tuple(range(n_runs)))]


def make_split(data: GraphDataset, protocol: Protocol, plan: SplitPlan) -> Split:
    """Cut a data set as a protocol says."""
    if protocol == "paper":
        return data.split("paper", seed=0)
    if protocol == "repeated":
        return data.split("random", seed=plan.number)
    if protocol == "scaffold":
        return data.split("scaffold", seed=0)
    rest, test = list(data.folds(N_FOLDS, seed=0))[plan.number]
    train, val = next(iter(rest.folds(N_FOLDS - 1, seed=plan.number)))
    for part in (train, val, test):
        part.split_source = f"stratified fold {plan.number} of {N_FOLDS}, seed 0"
    return Split(train, val, test)


def stored_split(data: GraphDataset, protocol: Protocol, plan: SplitPlan, file: Path) -> tuple[Split, str]:
    """Return a split and its fingerprint; its rows are kept in a file, which another machine may have left.

    A scaffold split needs RDKit to be made, but not to be read.

    Raises
    ------
    DatasetError
        Where the file belongs to other data.
    """
    digest = data_fingerprint(data)
    if not file.is_file():
        split = make_split(data, protocol, plan)
        made = {
            "data": digest,
            "source": split.train.split_source,
            **{
                name: _positions(data, part)
                for name, part in zip(("train", "val", "test"), split, strict=True)
            },
        }
        with atomic_write(file) as handle:
            handle.write(json.dumps(made).encode())
    content = _read_split(file)
    if content["data"] != digest:
        raise DatasetError(
            f"{file.name}: expected the split of this data set ({digest}), got one of other data "
            f"({content['data']}); use another folder for its results"
        )
    parts = [data.take(np.array(content[name], dtype=np.int64)) for name in ("train", "val", "test")]
    for part in parts:
        part.split_source = content["source"]
    rows = json.dumps([content[name] for name in ("data", "train", "val", "test")])
    return Split(*parts), hashlib.blake2b(rows.encode(), digest_size=8).hexdigest()


def _read_split(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetError(
            f"{file.name}: expected the rows of a split, got a damaged file: {error}"
        ) from error
    if not isinstance(content, dict) or not {"data", "source", "train", "val", "test"} <= set(content):
        raise DatasetError(f"{file.name}: expected the rows of a split, got another file")
    return content


def _positions(data: GraphDataset, part: GraphDataset) -> list[int]:
    place = {row: i for i, row in enumerate(data.indices.tolist())}
    return [place[row] for row in part.indices.tolist()]


def data_fingerprint(data: GraphDataset) -> str:
    """Return a hash of all graphs and labels."""
    flat = GraphArrays.of(data.graphs)
    digest = hashlib.blake2b(digest_size=8)
    for array in (flat.node_features, flat.node_offsets, flat.edges, flat.edge_features, flat.edge_offsets):
        digest.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    digest.update(json.dumps([flat.directed, None if data.y is None else data.y.tolist()]).encode())
    return digest.hexdigest()
