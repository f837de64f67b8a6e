"""What the commands share: their options, names separated by commas, and how a study ends."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gdlnn.errors import GDLNNError
from repro.cells import RunConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repro.cells import Result

Datasets = Annotated[
    str, typer.Option("--datasets", help="Datasets, separated by commas; 'all' for the nine of the paper.")
]
Protocols = Annotated[
    Literal["paper", "repeated", "cv", "scaffold"],
    typer.Option("--protocol", help="One split and five seeds, repeated splits, ten folds, or scaffolds."),
]
Out = Annotated[Path, typer.Option("--out", help="Folder for the results; a stopped study resumes from it.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", min=1, help="Number of processes; one per CPU core unless a default is shown."),
]
Runs = Annotated[int, typer.Option("--runs", min=1, help="Number of seeds per split, or of repeated splits.")]
Data = Annotated[
    Path | None, typer.Option("--data", help="A folder with datasets, searched before GDLNN_DATA.")
]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda: where networks are trained.")]
Sample = Annotated[
    int, typer.Option("--sample", min=0, help="Number of test graphs, drawn with the seed; 0 for all.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the sample, models and explanations.")]
Limit = Annotated[
    float | None,
    typer.Option("--limit", min=0.1, help="Seconds after which a cell is abandoned and marked as such."),
]
Methods = Annotated[
    str, typer.Option("--methods", help="Methods, separated by commas; 'all' for all of them.")
]
TablesOnly = Annotated[
    bool, typer.Option("--tables-only", help="Run nothing; write the tables from existing results.")
]


def run_config(
    out: Path, data: Path | None, device: str, jobs: int | None, limit: float | None = None
) -> RunConfig:
    """Return the configuration of a study; by default it uses one process per CPU core."""
    logging.getLogger("gdlnn.graphs").setLevel(logging.ERROR)  # do not warn about duplicates on every split
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return RunConfig(str(out), None if data is None else str(data), device, jobs, limit)


def read_datasets(text: str) -> list[str]:
    """Return the datasets that an option names."""
    from gdlnn.datasets.registry import REGISTRY, canonical_name

    if text == "all":
        return list(REGISTRY)
    return list(dict.fromkeys(canonical_name(name) for name in _split("--datasets", text)))


def read_names(option: str, text: str, known: Sequence[str]) -> list[str]:
    """Return the names that an option lists, all of them known."""
    if text == "all":
        return list(known)
    names = _split(option, text)
    for name in names:
        if name not in known:
            raise GDLNNError(f"{option}: expected some of {', '.join(known)}, got {name!r}")
    return list(dict.fromkeys(names))


def _split(option: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise GDLNNError(f"{option}: expected at least one name, got none")
    return names


def report(line: str) -> None:
    """Print a line on a cell that has ended."""
    typer.echo(line, err=True)


def finish(text: str, out: Path, cells: Sequence[Result]) -> None:
    """Show the tables; end with exit code 1 if cells failed."""
    typer.echo(text)
    typer.echo(f"Tables and cells: {out}")
    n_failed = sum(cell["status"] == "failed" for cell in cells)
    if n_failed:
        typer.echo(f"{n_failed} cell(s) failed; the reasons are listed below the tables", err=True)
        raise typer.Exit(1)
