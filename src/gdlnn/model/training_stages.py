"""The stages of training, the settings fixed before them, and their expected time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from gdlnn.mining.estimate import told_time

if TYPE_CHECKING:
    from gdlnn.graphs import GraphDataset
    from gdlnn.model.vocabulary import Source

MATCHING = "matching the validation set"
HEAD = "training the head"
CALIBRATING = "calibrating"
EXAMPLES = "finding examples"
RECORDING = "recording the training graphs"
"""Stages of training other than finding programs, which `vocabulary` names."""


class Settled(NamedTuple):
    """The settings fixed before training begins: training and validation graphs, sources, pooled features."""

    train: GraphDataset
    val: GraphDataset | None
    sources: list[Source]
    pooled: bool


class Seconds(NamedTuple):
    """CPU time of all threads, and wall time."""

    cpu: float
    wall: float

    def times(self, factor: float) -> Seconds:
        """Return a multiple."""
        return Seconds(self.cpu * factor, self.wall * factor)

    def plus(self, other: Seconds) -> Seconds:
        """Return the sum."""
        return Seconds(self.cpu + other.cpu, self.wall + other.wall)


@dataclass(frozen=True)
class TrainingTime:
    """The expected time of training.

    Attributes
    ----------
    stages
        The stages in order, with their seconds.
    n_graphs, n_programs
        Training graphs, and about how many programs become columns.
    n_jobs
        The number of threads.
    measured_seconds
        CPU time that the estimate took.
    """

    stages: dict[str, Seconds]
    n_graphs: int
    n_programs: int
    n_jobs: int
    measured_seconds: float

    @property
    def cpu_seconds(self) -> float:
        """CPU time of all stages."""
        return sum(stage.cpu for stage in self.stages.values())

    @property
    def wall_seconds(self) -> float:
        """The wall time on otherwise idle processors."""
        return sum(stage.wall for stage in self.stages.values())

    def with_folds(self, count: int) -> TrainingTime:
        """Return the time with a preceding cross-validation, whose models see fewer graphs."""
        factor = count * (1 - 1 / count)
        folds = Seconds(self.cpu_seconds, self.wall_seconds).times(factor)
        return replace(self, stages={f"{count} folds": folds, **self.stages})

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        return {
            "n_graphs": self.n_graphs,
            "n_programs": self.n_programs,
            "n_jobs": self.n_jobs,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
            "stages": [
                {"name": name, "cpu_seconds": stage.cpu, "wall_seconds": stage.wall}
                for name, stage in self.stages.items()
            ],
        }

    def __str__(self) -> str:
        width = max(map(len, self.stages))
        threads = "1 thread" if self.n_jobs == 1 else f"{self.n_jobs} threads"
        rows = [
            f"  {name:{width}}{told_time(stage.wall):>14}{told_time(stage.cpu):>14}"
            for name, stage in [*self.stages.items(), ("all", Seconds(self.cpu_seconds, self.wall_seconds))]
        ]
        total = (
            f"about {told_time(self.wall_seconds)} on {threads} ({told_time(self.cpu_seconds)} of CPU time)"
        )
        first = (
            f"Training on {self.n_graphs:,} graphs takes {total}, with about {self.n_programs:,} programs."
        )
        return "\n".join([first, f"  {'stage':{width}}{'time':>14}{'CPU time':>14}", *rows])
