"""Mined programs that methods and seeds of a study share: one file for each split and way of mining.

The files are JSON, so that reading them needs no parser of GDL.
"""

from __future__ import annotations

import gzip
import json
import logging
import time
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import MiningError
from gdlnn.gdl.program import Program
from gdlnn.graphs import Schema
from gdlnn.io.atomic import atomic_write
from gdlnn.matching import match
from gdlnn.mining import MinedProgram, ProgramSet, mine
from gdlnn.mining.comparison import random_programs
from gdlnn.mining.program_set import MiningStats, SetInfo
from gdlnn.mining.settings import FINAL_BUDGET

if TYPE_CHECKING:
    from pathlib import Path

    from gdlnn.graphs import GraphDataset
    from gdlnn.mining.settings import Strategy

logger = logging.getLogger(__name__)
WAIT_SECONDS = 1.0
"""How often to look whether another run is done with the same programs."""


@dataclass(frozen=True)
class MiningSpec:
    """How programs are mined; `random` draws as many random programs of the same sizes in their place."""

    epsilon: float | str = 0.1
    strategy: Strategy = "greedy"
    connected: bool = True
    random: bool = False

    @property
    def key(self) -> str:
        """A name for files."""
        epsilon = str(self.epsilon).strip().replace("%", "pct")
        parts = [self.strategy, f"eps{epsilon}"]
        parts += [] if self.connected else ["unconnected"]
        parts += ["random"] if self.random else []
        return "-".join(parts)


def ensure_programs(train: GraphDataset, spec: MiningSpec, file: Path, n_jobs: int) -> ProgramSet:
    """Return the programs of a file; without it, mine and write them.

    A killed run goes on where it was; what another run is mining is waited for.
    """
    if file.is_file():
        return load_programs(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    checkpoint = file.with_suffix(".ckpt")
    waiting = False
    while True:
        try:
            return _mine_and_save(train, spec, file, checkpoint, n_jobs)
        except MiningError as error:
            if not isinstance(error.__cause__, BlockingIOError):  # what a lock of another run gives
                raise
            if not waiting:  # a study of other methods in the same folder mines the same
                logger.warning("%s: another run is mining these programs; waiting for it", file.name)
            waiting = True
        time.sleep(WAIT_SECONDS)
        if file.is_file():
            return load_programs(file)


def _mine_and_save(
    train: GraphDataset, spec: MiningSpec, file: Path, checkpoint: Path, n_jobs: int
) -> ProgramSet:
    mined = mine(
        train,
        epsilon=spec.epsilon,
        strategy=spec.strategy,
        connected=spec.connected,
        n_jobs=n_jobs,
        checkpoint=checkpoint,
        progress=False,
    )
    if mined.stopped_by == "interrupt":
        raise KeyboardInterrupt
    if spec.random:
        mined = _random_like(mined, train, n_jobs)
    save_programs(mined, file)
    checkpoint.unlink(missing_ok=True)
    return mined


def _random_like(mined: ProgramSet, train: GraphDataset, n_jobs: int) -> ProgramSet:
    """Return random programs, as many and as large as the mined ones, with their own labels and scores."""
    assert train.y is not None
    sizes = [len(program.nodes) for program in mined.programs]
    drawn = random_programs(train, len(sizes), seed=0, sizes=sizes)
    table = match(drawn, train, n_jobs, FINAL_BUDGET, return_unknown=True)[0]
    epsilon = float(mined.info.settings["epsilon"])
    labels = [label for label, _ in mined.info.label_counts]
    items = []
    for column, program in enumerate(drawn):
        support = np.ascontiguousarray(table[:, column])
        of_label = [int((support & (train.y == label)).sum()) for label in labels]
        best = int(np.argmax(of_label))
        score = of_label[best] / (int(support.sum()) + epsilon)
        target = np.flatnonzero(support)[:1].astype(np.int64)
        items.append(MinedProgram(program, labels[best], score, support, target, 0))
    info = replace(mined.info, settings={**mined.info.settings, "random": True})
    return ProgramSet(items, info, mined.stats)


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
    """Read what `save_programs` wrote; the last ones are kept: cells in a row share them."""
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
