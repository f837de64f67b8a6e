"""Tasks and their results: one JSON file for each, in the folder of a study.

A *cell* is a method on a split with a seed, judged on the test part. A *trial* is a configuration judged on
the validation part alone; trials choose the configuration of a cell.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gdlnn.evaluation.methods import Configuration
    from gdlnn.evaluation.protocols import Protocol

Result = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One thing to fit and to judge.

    Attributes
    ----------
    kind
        "cell" is judged on the test part, "trial" on the validation part.
    grid
        The grid its configuration comes from, with the number of configurations: ``quick``, ``paper-12``.
    n_configurations, space
        How many configurations that is, and a hash of them.
    """

    kind: Literal["cell", "trial"]
    dataset: str
    protocol: Protocol
    split: str
    method: str
    grid: str
    n_configurations: int
    space: str
    configuration: Configuration
    seed: int

    @property
    def name(self) -> str:
        """A name for files and messages."""
        parts = [slug(self.dataset), self.protocol, self.split, self.method]
        parts += [config_key(self.configuration)] if self.kind == "trial" else [self.grid, f"s{self.seed}"]
        return "--".join(parts)

    def to_json(self) -> Result:
        """Return the task as plain JSON values."""
        return asdict(self)


def slug(text: str) -> str:
    """Return a text that can be part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.")


def config_key(configuration: Configuration) -> str:
    """Return a short name of a configuration."""
    text = json.dumps(configuration, sort_keys=True, default=list)
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()


class Store:
    """The folder of a study. Several machines may fill copies of it, which can be laid over each other.

    Parameters
    ----------
    folder
        Made when something is first written.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def split_file(self, dataset: str, protocol: str, split: str) -> Path:
        """Return the file with the rows of a split."""
        return self.folder / "splits" / f"{slug(dataset)}--{protocol}--{split}.json"

    def programs_file(self, dataset: str, fingerprint: str, key: str) -> Path:
        """Return the file with the programs mined from a split."""
        return self.folder / "programs" / f"{slug(dataset)}--{fingerprint}--{key}.json.gz"

    def task_file(self, task: Task) -> Path:
        """Return the file with the result of a task."""
        return self.folder / f"{task.kind}s" / f"{task.name}.json"

    def finished(self, task: Task, fingerprint: str) -> Result | None:
        """Return the result of a task that went well before, on the same split and configuration, or None."""
        result = read_result(self.task_file(task))
        if result is None or result["status"] != "ok" or result["fingerprint"] != fingerprint:
            return None
        # The configuration of a cell is chosen by trials; what they choose from must be the same.
        return result if result["space"] == task.space else None

    def write(self, task: Task, result: Result) -> None:
        """Keep a result; a failure never takes the place of a success."""
        file = self.task_file(task)
        if result["status"] != "ok":
            before = read_result(file)
            if before is not None and before["status"] == "ok":
                return
        with atomic_write(file) as handle:
            handle.write(json.dumps(result, indent=1, default=list).encode())

    def cells(self, protocol: str | None = None) -> Iterator[Result]:
        """Give the cells that are there, in the order of their names."""
        for file in sorted((self.folder / "cells").glob("*.json")):
            result = read_result(file)
            if result is not None and (protocol is None or result["protocol"] == protocol):
                yield result


def read_result(file: Path) -> Result | None:
    """Read a result; a file that is none counts as absent, so that the task is done again."""
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) and "status" in result else None
