"""Checkpoint: a file of finished descents, to which the same call goes back after a stop or a kill."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdlnn.errors import GDLNNError, MiningError
from gdlnn.graphs.records import RecordFile, payload
from gdlnn.mining.results import TaskResult, parse_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from gdlnn.mining.settings import Settings
    from gdlnn.mining.tasks import Plan

KIND = "gdlnn mining checkpoint"
FORMAT = 1
_NAMES = {
    "data": "the data set (its graphs, or which of them share a label)",
    "labels": "the labels",
    "version": "the version of gdlnn",
    "format": "the format of the file",
    "tasks": "the targets",
}


def checkpoint_header(
    fingerprint: str, labels: Sequence[Any], settings: Settings, plan: Plan, version: str
) -> dict[str, Any]:
    """Return what a file must agree on for its results to be those of this call."""
    tasks = hashlib.sha256(json.dumps([plan.tasks, plan.rows]).encode()).hexdigest()
    return {
        "format": FORMAT,
        "version": version,
        "data": fingerprint,
        "labels": list(labels),
        "n_tasks": len(plan),
        "tasks": tasks,
        **settings.to_json(),
    }


class Checkpoint(RecordFile):
    """An open checkpoint file, locked against other runs.

    Parameters
    ----------
    path
        The file; made where it is not there.
    header
        What this run mines and how.
    n_graphs
        How many graphs there are.

    Attributes
    ----------
    finished
        The results that were there, by task.

    Raises
    ------
    MiningError
        Where the file is none, is damaged, is one of another call, or is in use.
    """

    def __init__(self, path: str | os.PathLike[str], header: Mapping[str, Any], n_graphs: int) -> None:
        super().__init__(path, KIND, header, _NAMES, MiningError)
        self.finished: dict[int, TaskResult] = {}
        self._n_tasks, self._n_graphs = int(header.get("n_tasks", 0)), n_graphs
        try:
            for place, value in self.read():
                self._add(value, place)
        except BaseException:
            self.close()
            raise

    def add(self, results: Sequence[TaskResult]) -> None:
        """Add finished descents."""
        self.append([result.to_json() for result in results])

    def _add(self, value: Any, place: int) -> None:
        """Take a record whose checksum is right; what it says may still be no result of this call."""
        try:
            result = TaskResult.from_json(value)
            parse_rows(str(result.task), self._n_tasks)
            parse_rows(result.support, self._n_graphs)
        except (TypeError, KeyError, ValueError, AttributeError, GDLNNError) as error:
            raise self._failed(f"the record at byte {place} is no result: {error}") from error
        self.finished[result.task] = result


def read_records(path: str | os.PathLike[str]) -> list[tuple[int, float]]:
    """Return task and processor time of each finished descent in a file; none where there is no file."""
    if not Path(path).exists():
        return []
    found = [payload(line) for line in Path(path).read_bytes().splitlines()[1:]]
    return [(value["task"], value["seconds"]) for value in found if value is not None]
