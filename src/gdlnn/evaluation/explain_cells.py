"""The cells of the studies of explanations and of cost: one JSON file for each, in the folder of a study."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gdlnn.evaluation.cells import Result, config_key, read_result, slug
from gdlnn.evaluation.running import Place
from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gdlnn.evaluation.methods import Configuration

Step = Literal["network", "explain", "cost"]
DONE = ("ok", "late")


@dataclass(frozen=True)
class ExplainPlace(Place):
    """Where cells are run, beside what `Place` says.

    Attributes
    ----------
    programs
        A folder with mined programs and the cells of an accuracy study, or None for `out`.
    limit
        Seconds after which a cell is given up, or None.
    """

    programs: str | None = None
    limit: float | None = None


@dataclass(frozen=True)
class ExplainTask:
    """One thing to do.

    Attributes
    ----------
    step
        "network" fits the graph network of a data set and keeps it; "explain" explains and judges; "cost"
        takes the time of fitting, predicting and explaining.
    method
        A name of `EXPLAINERS`.
    configuration
        Of the model that is explained.
    rows
        Positions in the test part of the graphs that are explained.
    options
        What else the result depends on, as plain values.
    """

    step: Step
    dataset: str
    method: str
    configuration: Configuration
    seed: int
    rows: tuple[int, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name for files and messages."""
        parts = [slug(self.dataset), self.method, f"s{self.seed}"]
        if self.step != "network":
            parts.append(f"g{self.rows[0]}" if len(self.rows) == 1 else f"n{len(self.rows)}")
        return "--".join([*parts, self.key])

    @property
    def key(self) -> str:
        """A short name of everything the result depends on but the data."""
        return config_key({"c": self.configuration, "rows": self.rows, "o": self.options, "s": self.seed})

    def to_json(self) -> Result:
        """Return the task as plain JSON values."""
        return {**asdict(self), "key": self.key}


class ExplainStore:
    """The folder of a study of explanations; it may be that of an accuracy study too."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def task_file(self, task: ExplainTask) -> Path:
        """Return the file with the result of a task."""
        return self.folder / f"{task.step}-cells" / f"{task.name}.json"

    def network_file(self, task: ExplainTask) -> Path:
        """Return the file of the network that a task "network" fits."""
        return self.folder / "networks" / f"{task.name}.safetensors"

    def finished(self, task: ExplainTask, fingerprint: str, limit: float | None) -> Result | None:
        """Return the result of a task that was done before on the same split, or None.

        One that was given up counts as done, unless it has more time now.
        """
        result = read_result(self.task_file(task))
        if result is None or result["status"] not in DONE or result.get("fingerprint") != fingerprint:
            return None
        if result["status"] == "late" and (limit is None or limit > result["limit"]):
            return None
        if task.step == "network" and result["status"] == "ok" and not self.network_file(task).is_file():
            return None
        return result

    def write(self, task: ExplainTask, result: Result) -> None:
        """Keep a result; a failure never takes the place of a success."""
        file = self.task_file(task)
        before = read_result(file) if result["status"] != "ok" else None
        if before is not None and before["status"] == "ok":
            return
        with atomic_write(file) as handle:
            handle.write(json.dumps(result, indent=1, default=list).encode())

    def cells(self, step: Step) -> Iterator[Result]:
        """Give the cells that are there, in the order of their names."""
        for file in sorted((self.folder / f"{step}-cells").glob("*.json")):
            result = read_result(file)
            if result is not None:
                yield result
