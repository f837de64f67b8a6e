"""Tasks of a study, how they are run, and the folder that keeps one JSON file per result.

Results of accuracy are in ``cells`` and ``trials``, others in ``KIND-cells``; ``splits``, ``programs`` and
``networks`` hold what cells share. Folders that were filled on several machines can be merged by copying.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterator

Result = dict[str, Any]
Configuration = dict[str, Any]
Kind = Literal["cell", "trial", "network", "predict", "explain", "cost", "motifs"]
Protocol = Literal["paper", "repeated", "cv", "scaffold"]
NOT_APPLICABLE = "n/a"
"""The status of a method that cannot be used on a dataset, such as fingerprints without molecules."""
PREREQUISITES = ("trial", "network")
"""Kinds of tasks that only prepare others: their failures count where they are used."""
STORED_NAMES = {
    "gdlnn": "gdlnn-v2",
    "gdlnn-smallest": "gdlnn-v2-smallest",
    "gdlnn-v1": "gdlnn",
    "gdlnn-v1-smallest": "gdlnn-smallest",
}
"""What methods are called in files where that differs: what version 0.1 called gdlnn is gdlnn-v1 today."""
_METHODS_OF_FILES = {stored: name for name, stored in STORED_NAMES.items()}
_ACCURACY_FIELDS = (
    *("kind", "dataset", "protocol", "split", "method", "grid", "n_configurations", "space"),
    *("configuration", "seed"),
)


@dataclass(frozen=True)
class RunConfig:
    """Where results go and with what tasks are run.

    Attributes
    ----------
    out
        The folder of the study.
    data
        A folder to look for datasets in, or None.
    device
        "auto", "cpu" or "cuda".
    n_jobs
        Threads of one task.
    n_workers
        Processes; mining uses as many threads.
    programs
        Another folder with mined programs and the cells of an accuracy study, or None.
    limit
        Seconds after which a task is given up, or None.
    """

    out: str
    data: str | None = None
    device: str = "auto"
    n_jobs: int = 1
    n_workers: int = 1
    programs: str | None = None
    limit: float | None = None


@dataclass(frozen=True)
class Task:
    """One thing to compute.

    Attributes
    ----------
    kind
        "cell" fits a method and scores it on the test set, "trial" on the validation set. "network" fits and
        saves a graph network, "predict" predicts the test set. "explain" scores explanations, "cost" times
        them, "motifs" keeps what the figure needs.
    dataset, protocol, split
        The dataset and the name of its split.
    method
        A name in `METHODS`, in `VARIANTS` or, except for accuracy, in `EXPLAINERS`.
    configuration
        Hyperparameters of the model.
    grid, n_configurations, space
        Of accuracy: the grid that the configuration comes from (``quick``, ``paper-12``), its number of
        configurations, and a hash of them.
    rows
        Of explanations: positions in the test set of the graphs to explain.
    options
        What else the computation takes, as plain values.
    """

    kind: Kind
    dataset: str
    method: str
    configuration: Configuration
    seed: int
    protocol: Protocol = "paper"
    split: str = "paper"
    grid: str = "quick"
    n_configurations: int = 1
    space: str = ""
    rows: tuple[int, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def is_accuracy(self) -> bool:
        """Whether the task belongs to a study of accuracy."""
        return self.kind in ("cell", "trial")

    @property
    def name(self) -> str:
        """A name for files; the same for all tasks with the same result."""
        method = STORED_NAMES.get(self.method, self.method)
        if self.kind == "cell":
            parts = [self.protocol, self.split, method, self.grid, f"s{self.seed}"]
        elif self.kind == "trial":
            parts = [self.protocol, self.split, method, config_key(self.configuration)]
        else:
            rows = f"g{self.rows[0]}" if len(self.rows) == 1 else f"n{len(self.rows)}"
            parts = [method, f"s{self.seed}", *([] if self.kind == "network" else [rows]), self.key]
        return "--".join([slug(self.dataset), *parts])

    @property
    def key(self) -> str:
        """A hash of all that the result depends on except the data."""
        return config_key({"c": self.configuration, "rows": self.rows, "o": self.options, "s": self.seed})

    def to_json(self) -> Result:
        """Return the fields that a file of this kind holds, as plain JSON values."""
        if self.is_accuracy:
            return {name: getattr(self, name) for name in _ACCURACY_FIELDS}
        fields = {name: getattr(self, name) for name in ("dataset", "method", "configuration", "seed")}
        return {"step": self.kind, **fields, "rows": self.rows, "options": self.options, "key": self.key}


def slug(text: str) -> str:
    """Return a text that can be part of a file name."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.")


def config_key(configuration: Configuration) -> str:
    """Return a short hash of a configuration."""
    text = json.dumps(configuration, sort_keys=True, default=list)
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()


class Store:
    """The folder of a study.

    Parameters
    ----------
    folder
        Created when something is first written.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def split_file(self, dataset: str, protocol: str, split: str) -> Path:
        """Return the file with the rows of a split."""
        return self.folder / "splits" / f"{slug(dataset)}--{protocol}--{split}.json"

    def programs_file(self, dataset: str, fingerprint: str, key: str) -> Path:
        """Return the file with the programs mined from a split."""
        return self.folder / "programs" / f"{slug(dataset)}--{fingerprint}--{key}.json.gz"

    def network_file(self, task: Task) -> Path:
        """Return the file of the network that a task of the kind "network" fits."""
        return self.folder / "networks" / f"{task.name}.safetensors"

    def task_file(self, task: Task) -> Path:
        """Return the file with the result of a task."""
        return self._results(task.kind) / f"{task.name}.json"

    def _results(self, kind: Kind) -> Path:
        return self.folder / (f"{kind}s" if kind in ("cell", "trial") else f"{kind}-cells")

    def finished(self, task: Task, fingerprint: str, limit: float | None = None) -> Result | None:
        """Return the result of a task that is done, or None.

        It counts where it was computed on the same split. A task that ran out of time is done unless it may
        take longer now. A cell of accuracy must have been chosen from the same configurations.
        """
        result = read_result(self.task_file(task))
        if result is None or result.get("fingerprint") != fingerprint:
            return None
        if result["status"] == "late":
            return result if limit is not None and limit <= result["limit"] else None
        if result["status"] == NOT_APPLICABLE:
            return result
        if result["status"] != "ok" or (task.kind == "cell" and result["space"] != task.space):
            return None
        return None if task.kind == "network" and not self.network_file(task).is_file() else result

    def write(self, task: Task, result: Result) -> None:
        """Keep a result; a failure never replaces a success."""
        file = self.task_file(task)
        before = read_result(file) if result["status"] != "ok" else None
        if before is not None and before["status"] == "ok":
            return
        if "method" in result:
            result = {**result, "method": STORED_NAMES.get(result["method"], result["method"])}
        with atomic_write(file) as handle:
            handle.write(json.dumps(result, indent=1, default=list).encode())

    def cells(self, kind: Kind = "cell", protocol: str | None = None) -> Iterator[Result]:
        """Yield the results of a kind, in the order of their file names."""
        for file in sorted(self._results(kind).glob("*.json")):
            result = read_result(file)
            if result is not None and (protocol is None or result["protocol"] == protocol):
                yield result


def read_result(file: Path) -> Result | None:
    """Read a result; a missing or damaged file gives None, so that the task is done again."""
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(result, dict) or "status" not in result:
        return None
    if "method" in result:
        result["method"] = _METHODS_OF_FILES.get(result["method"], result["method"])
    return result
