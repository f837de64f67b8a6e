"""Shared inputs of a study's tasks: datasets, splits, and programs mined from a training set.

Splits and programs are files in the folder of the study, written once. Program files are JSON, so that
reading them needs no parser of GDL.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from gdlnn.datasets import resolve_dataset
from gdlnn.errors import DatasetError, GDLNNError, MiningError
from gdlnn.gdl.program import Program
from gdlnn.graphs import Schema
from gdlnn.graphs.arrays import GraphArrays
from gdlnn.graphs.splits import Split
from gdlnn.io.atomic import atomic_write
from gdlnn.mining import MinedProgram, ProgramSet, mine
from gdlnn.mining.program_set import MiningStats, SetInfo
from repro.store import Protocol, RunConfig, Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gdlnn.graphs import GraphDataset
    from gdlnn.mining.settings import Strategy

logger = logging.getLogger(__name__)
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
PARTS = ("train", "val", "test")
N_FOLDS = 10
FIRST_SPLIT = 11
"""Seed of the first repeated split; seeds below it, and those from 301, were used to choose defaults."""
WAIT_SECONDS = 1.0
"""How often to check whether another run has finished mining the same programs."""


# --- splits -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SplitPlan:
    """One split of a protocol: its name, which may end in a number, and the seeds of the runs on it."""

    name: str
    seeds: tuple[int, ...] = ()

    @property
    def number(self) -> int:
        """The number at the end of the name, 0 without one."""
        number = self.name.rpartition("-")[2]
        return int(number) if number.isdigit() else 0


def plan_splits(protocol: Protocol, n_runs: int = 5) -> list[SplitPlan]:
    """Return the splits of a protocol.

    - ``paper``: one split, the published one where there is one, else random with seed 0; `n_runs` seeds.
    - ``repeated``: `n_runs` random 80/10/10 splits with seeds 11, 12, …; one run on each.
    - ``cv``: ten stratified folds; a ninth of the other nine is the validation set; one run on each.
    - ``scaffold``: one split of molecules by scaffold; `n_runs` seeds.
    """
    if protocol not in PROTOCOLS:
        raise GDLNNError(f"protocol: expected one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    if protocol == "repeated":
        return [SplitPlan(f"random-{i}", (i,)) for i in range(FIRST_SPLIT, FIRST_SPLIT + n_runs)]
    if protocol == "cv":
        return [SplitPlan(f"fold-{i}", (i,)) for i in range(N_FOLDS)]
    return [SplitPlan(protocol, tuple(range(n_runs)))]


def make_split(data: GraphDataset, protocol: Protocol, plan: SplitPlan) -> Split:
    """Split a dataset as a protocol says."""
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
    """Return a split and its fingerprint; its rows are read from a file, which is written first if missing.

    The file may come from another machine: a scaffold split needs RDKit to be made, but not to be read.

    Raises
    ------
    DatasetError
        If the file belongs to other data.
    """
    digest = data_fingerprint(data)
    if not file.is_file():
        split = make_split(data, protocol, plan)
        position = {row: i for i, row in enumerate(data.indices.tolist())}
        made: dict[str, Any] = {"data": digest, "source": split.train.split_source}
        for name, part in zip(PARTS, split, strict=True):
            made[name] = [position[row] for row in part.indices.tolist()]
        with atomic_write(file) as handle:
            handle.write(json.dumps(made).encode())
    content = _read_split(file)
    if content["data"] != digest:
        raise DatasetError(
            f"{file.name}: expected the split of this dataset ({digest}), got one of other data "
            f"({content['data']}); use another folder for its results"
        )
    parts = [data.take(np.array(content[name], dtype=np.int64)) for name in PARTS]
    for part in parts:
        part.split_source = content["source"]
    rows = json.dumps([content[name] for name in ("data", *PARTS)])
    return Split(*parts), hashlib.blake2b(rows.encode(), digest_size=8).hexdigest()


def _read_split(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetError(
            f"{file.name}: expected the rows of a split, got a damaged file: {error}"
        ) from error
    if not isinstance(content, dict) or not {"data", "source", *PARTS} <= set(content):
        raise DatasetError(f"{file.name}: expected the rows of a split, got another file")
    return content


def data_fingerprint(data: GraphDataset) -> str:
    """Return a hash of all graphs and labels."""
    flat = GraphArrays.of(data.graphs)
    digest = hashlib.blake2b(digest_size=8)
    for array in (flat.node_features, flat.node_offsets, flat.edges, flat.edge_features, flat.edge_offsets):
        digest.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    digest.update(json.dumps([flat.directed, None if data.y is None else data.y.tolist()]).encode())
    return digest.hexdigest()


@lru_cache(maxsize=3)
def load_data(name: str, data: str | None) -> GraphDataset:
    """Load a dataset; the last ones are kept in memory."""
    return resolve_dataset(name, root=data)


@lru_cache(maxsize=4)
def load_split(name: str, protocol: Protocol, split: str, config: RunConfig) -> tuple[Split, str]:
    """Return a split of a dataset and its fingerprint; the last ones are kept in memory."""
    file = Store(config.out).split_file(name, protocol, split)
    return stored_split(load_data(name, config.data), protocol, SplitPlan(split), file)


def forget() -> None:
    """Drop the datasets, splits, programs and models that are kept in memory."""
    for cached in (load_data, load_split, load_programs):
        cached.cache_clear()
    for clear in also_forget:
        clear()


also_forget: list[Callable[[], None]] = []
"""What other modules keep in memory for tasks that follow each other."""


# --- programs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MiningSpec:
    """How programs are mined."""

    epsilon: float | str = 0.1
    strategy: Strategy = "greedy"

    @property
    def key(self) -> str:
        """A name for files."""
        epsilon = str(self.epsilon).strip().replace("%", "pct")
        return f"{self.strategy}-eps{epsilon}"


def find_programs(config: RunConfig, dataset: str, fingerprint: str, spec: MiningSpec) -> Path:
    """Return the file of mined programs: in the folder named for them if it is there, else in `out`."""
    folders = [config.out] if config.programs is None else [config.programs, config.out]
    files = [Store(folder).programs_file(dataset, fingerprint, spec.key) for folder in folders]
    return next((file for file in files if file.is_file()), files[-1])


def ensure_programs(train: GraphDataset, spec: MiningSpec, file: Path, n_jobs: int) -> ProgramSet:
    """Return the programs of a file, which is mined and written first if missing.

    A killed run continues from its checkpoint. Programs that another run is mining are waited for.
    """
    if file.is_file():
        return load_programs(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    waiting = False
    while True:
        try:
            return _mine_and_save(train, spec, file, n_jobs)
        except MiningError as error:
            if not isinstance(error.__cause__, BlockingIOError):  # the checkpoint is locked by another run
                raise
            if not waiting:  # a study of other methods in the same folder needs the same programs
                logger.warning("%s: another run is mining these programs; waiting for it", file.name)
            waiting = True
        time.sleep(WAIT_SECONDS)
        if file.is_file():
            return load_programs(file)


def _mine_and_save(train: GraphDataset, spec: MiningSpec, file: Path, n_jobs: int) -> ProgramSet:
    checkpoint = file.with_suffix(".ckpt")
    mined = mine(
        train,
        epsilon=spec.epsilon,
        strategy=spec.strategy,
        nominal="interval",  # as in the paper
        n_jobs=n_jobs,
        checkpoint=checkpoint,
        progress=False,
    )
    if mined.stopped_by == "interrupt":
        raise KeyboardInterrupt
    save_programs(mined, file)
    checkpoint.unlink(missing_ok=True)
    return mined


def save_programs(programs: ProgramSet, file: Path) -> None:
    """Write programs as compressed JSON; the file appears when it is complete."""
    info = {name: value for name, value in vars(programs.info).items() if name != "schema"}
    content = {
        "info": {**info, "label_counts": [list(pair) for pair in programs.info.label_counts]},
        "schema": None if programs.schema is None else programs.schema.to_json(),
        "stats": asdict(programs.stats),
        "programs": [_item_json(item) for item in programs],
    }
    with atomic_write(file) as handle:
        handle.write(gzip.compress(json.dumps(content).encode(), compresslevel=3, mtime=0))


def _item_json(item: MinedProgram) -> dict[str, Any]:
    return {
        "program": item.program.to_json(),
        "label": item.label,
        "score": item.score,
        "support": np.flatnonzero(item.support).tolist(),
        "targets": item.targets.tolist(),
        "steps": item.steps,
        "complete": item.complete,
    }


@lru_cache(maxsize=8)
def load_programs(file: Path) -> ProgramSet:
    """Read what `save_programs` wrote; the last sets are kept in memory, since cells in a row share them."""
    content = json.loads(gzip.decompress(file.read_bytes()))
    given = content["info"]
    schema = None if content["schema"] is None else Schema.from_json(content["schema"])
    counts = tuple((label, int(count)) for label, count in given["label_counts"])
    info = SetInfo(**{**given, "label_counts": counts, "schema": schema})
    items = []
    for row in content["programs"]:
        support = np.zeros(info.n_graphs, dtype=bool)
        support[row["support"]] = True
        targets = np.array(row["targets"], dtype=np.int64)
        program = Program.from_json(row["program"])
        items.append(
            MinedProgram(program, row["label"], row["score"], support, targets, row["steps"], row["complete"])
        )
    return ProgramSet(items, info, MiningStats(**content["stats"]))
