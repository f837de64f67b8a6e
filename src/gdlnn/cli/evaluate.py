"""`gdlnn evaluate`: studies of methods over data sets."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gdlnn.cli.app import INTERRUPTED
from gdlnn.errors import GDLNNError
from gdlnn.progress import is_watched, progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gdlnn.evaluation import Place, StudySettings
    from gdlnn.evaluation.explain_study import ExplainSettings

app = typer.Typer(help="Studies: how good methods are on data sets, and what it costs.", no_args_is_help=True)

ABLATION_DATASETS = "MUTAG,PTC_MR,ENZYMES,PROTEINS,BBBP,BACE"
DatasetsOption = Annotated[
    str, typer.Option("--datasets", help="Data sets, separated by commas; 'all' for the nine of the paper.")
]
ProtocolOption = Annotated[
    Literal["paper", "repeated", "cv", "scaffold"],
    typer.Option(help="One split and five seeds; five random splits; ten folds; a split by scaffolds."),
]
OutOption = Annotated[Path, typer.Option("--out", help="The folder of the results; a study goes on from it.")]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", min=1, help="Processes, and threads of mining; by default one for every processor."
    ),
]
RunsOption = Annotated[int, typer.Option("--runs", min=1, help="Seeds on a split, or repeated splits.")]
DataOption = Annotated[
    Path | None, typer.Option("--data", help="A folder with data sets, searched before GDLNN_DATA.")
]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda: where networks are trained.")]
DocumentOption = Annotated[
    Path | None, typer.Option("--document", help="A Markdown file to put the tables into, between its marks.")
]
TablesOption = Annotated[
    bool, typer.Option("--tables-only", help="Run nothing; write tables of what is there.")
]


@app.command()
def accuracy(
    datasets: DatasetsOption = "all",
    methods: Annotated[
        str, typer.Option("--methods", help="Methods, separated by commas; 'all' for all of them.")
    ] = "all",
    protocol: ProtocolOption = "paper",
    grid: Annotated[
        Literal["quick", "paper"],
        typer.Option(help="One documented configuration of each method, or its space in the paper."),
    ] = "quick",
    configurations: Annotated[
        int | None,
        typer.Option(min=1, help="With --grid paper: so many configurations, drawn with a fixed seed."),
    ] = None,
    out: OutOption = Path("results"),
    jobs: JobsOption = None,
    runs: RunsOption = 5,
    data: DataOption = None,
    device: DeviceOption = "auto",
    document: DocumentOption = None,
    tables_only: TablesOption = False,
) -> None:
    """Compare methods on data sets: accuracy, balanced accuracy, ROC-AUC, MCC, cost.

    Every finished cell is a file in the folder of the results: a study that was stopped goes on without
    repeating any. Hyperparameters are chosen on the validation part alone.

    Example: gdlnn evaluate accuracy --datasets synthetic:ba-2motifs --methods majority,mlp,gin,pl4xgl,gdlnn
    """
    from gdlnn.evaluation import METHODS, Place, Store, StudySettings
    from gdlnn.evaluation.output import write_accuracy

    settings = StudySettings(
        names_of(datasets),
        method_names(methods, list(METHODS)),
        protocol,
        grid,
        configurations,
        runs,
        n_workers(jobs),
    )
    place = Place(str(out), None if data is None else str(data), device, 1, runs)
    failed = 0 if tables_only else _run(settings, place)
    typer.echo(write_accuracy(Store(out), protocol, document))
    typer.echo(f"Tables, figure and cells: {out}")
    end(failed)


@app.command()
def ablation(
    datasets: DatasetsOption = ABLATION_DATASETS,
    protocol: ProtocolOption = "repeated",
    out: OutOption = Path("results"),
    jobs: JobsOption = None,
    runs: RunsOption = 5,
    data: DataOption = None,
    device: DeviceOption = "auto",
    document: DocumentOption = None,
    tables_only: TablesOption = False,
) -> None:
    """Change one choice of the paper's recipe at a time: ε, k, connected, counts, pooled, search, programs.

    Example: gdlnn evaluate ablation --datasets MUTAG,PTC_MR --out results
    """
    from gdlnn.evaluation import Place, Store, StudySettings
    from gdlnn.evaluation.ablation import VARIANTS
    from gdlnn.evaluation.output import write_ablation

    settings = StudySettings(
        names_of(datasets), list(VARIANTS), protocol, "quick", None, runs, n_workers(jobs)
    )
    place = Place(str(out), None if data is None else str(data), device, 1, runs)
    failed = 0 if tables_only else _run(settings, place)
    typer.echo(write_ablation(Store(out), protocol, document))
    typer.echo(f"Table and cells: {out}")
    end(failed)


def n_workers(jobs: int | None) -> int:
    """Return the number of processes: as many as wanted, by default one for every processor."""
    if jobs is not None:
        return jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def names_of(text: str) -> list[str]:
    """Read --datasets."""
    from gdlnn.datasets.registry import REGISTRY, canonical_name

    if text == "all":
        return list(REGISTRY)
    names = [canonical_name(name.strip()) for name in text.split(",") if name.strip()]
    if not names:
        raise GDLNNError("--datasets: expected at least one name, got none")
    return list(dict.fromkeys(names))


def method_names(text: str, known: list[str]) -> list[str]:
    """Read --methods."""
    if text == "all":
        return known
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise GDLNNError(f"--methods: expected some of {', '.join(known)}, got {name!r}")
    if not names:
        raise GDLNNError("--methods: expected at least one name, got none")
    return list(dict.fromkeys(names))


def _run(settings: StudySettings, place: Place) -> int:
    from gdlnn.evaluation import Study

    with running_study(Path(place.out), settings.protocol, settings) as report:
        return Study(settings, place, report).run()


def end(failed: int) -> None:
    """End with exit code 1 where cells failed, once the tables of the others are written."""
    if failed:
        typer.echo(f"{failed} cell(s) failed; the reasons stand under the tables", err=True)
        raise typer.Exit(1)


@contextmanager
def running_study(
    out: Path, kind: str, settings: StudySettings | ExplainSettings
) -> Iterator[Callable[[int, int, str], None]]:
    """Show a study with a bar, or with a line per task where nobody looks at a terminal.

    What it does in the folder is claimed, so that no other study does the same.
    """
    from gdlnn.io.folder_lock import claimed

    claims = [f"{kind} {dataset} {method}" for dataset in settings.datasets for method in settings.methods]
    logging.getLogger("gdlnn.graphs").setLevel(logging.ERROR)  # a study need not hear of twins on each split
    with claimed(out, claims), _shown_progress() as report:
        try:
            yield report
        except KeyboardInterrupt:
            typer.echo("stopped: the same command goes on from what is done", err=True)
            raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _shown_progress() -> Iterator[Callable[[int, int, str], None]]:
    if not is_watched():
        yield lambda done, total, says: typer.echo(f"[{done}/{total}] {says}", err=True)
        return
    with progress_bar("study", style="tasks") as update:
        yield lambda done, total, says: update(completed=done, total=total, says=says)
