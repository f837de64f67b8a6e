"""`python -m repro`: the studies of the paper, run from the root of the repository."""

from __future__ import annotations

import logging
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.app import INTERRUPTED
from gdlnn.cli.terminal import echo
from gdlnn.errors import GDLNNError
from gdlnn.progress import is_watched, progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from repro import RunConfig, StudyPlan

app = typer.Typer(
    help="Reproduce the paper: compare methods on datasets by accuracy, explanations and cost.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

ABLATION_DATASETS = "MUTAG,PTC_MR,ENZYMES,PROTEINS,BBBP,BACE"
COST_METHODS = "gdlnn,gdlnn-smallest,gdlnn-paper,pl4xgl,subgraphx"
DatasetsOption = Annotated[
    str, typer.Option("--datasets", help="Datasets, separated by commas; 'all' for the nine of the paper.")
]
ProtocolOption = Annotated[
    Literal["paper", "repeated", "cv", "scaffold"],
    typer.Option(help="One split and five seeds, five random splits, ten folds, or a scaffold split."),
]
OutOption = Annotated[
    Path, typer.Option("--out", help="Folder for the results; a stopped study resumes from it.")
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", min=1, help="Number of processes, and of mining threads; by default one per CPU core."
    ),
]
RunsOption = Annotated[
    int, typer.Option("--runs", min=1, help="Number of seeds per split, or of repeated splits.")
]
DataOption = Annotated[
    Path | None, typer.Option("--data", help="A folder with datasets, searched before GDLNN_DATA.")
]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda: where networks are trained.")]
DocumentOption = Annotated[
    Path | None,
    typer.Option(
        "--document",
        exists=True,
        dir_okay=False,
        writable=True,
        help="A Markdown file in which to update the tables, between its markers.",
    ),
]
TablesOption = Annotated[
    bool, typer.Option("--tables-only", help="Run nothing; write the tables from existing results.")
]
ExplainersOption = Annotated[
    str,
    typer.Option(
        "--methods",
        help="Some of gdlnn, gdlnn-smallest, gdlnn-lime, gdlnn-shap, gdlnn-paper, pl4xgl, subgraphx, "
        "gnnexplainer, gradients, separated by commas; 'all' for all of them.",
    ),
]
SampleOption = Annotated[
    int,
    typer.Option(
        "--sample", min=0, help="Number of test graphs per dataset, drawn with the seed; 0 for all."
    ),
]
SeedOption = Annotated[
    int, typer.Option("--seed", min=0, help="Seed of the sample, the models and the explanations.")
]
ProgramsOption = Annotated[
    Path | None,
    typer.Option(
        "--programs",
        help="Folder of an accuracy study whose mined programs and chosen configurations are reused; by "
        "default the results folder.",
    ),
]
LimitOption = Annotated[
    float | None,
    typer.Option("--limit", min=0.1, help="Seconds after which a cell is abandoned and marked as such."),
]


# --- commands ---------------------------------------------------------------------------------------------


@app.command()
def accuracy(
    datasets: DatasetsOption = "all",
    methods: Annotated[
        str, typer.Option("--methods", help="Methods, separated by commas; 'all' for all of them.")
    ] = "all",
    protocol: ProtocolOption = "paper",
    grid: Annotated[
        Literal["quick", "paper"],
        typer.Option(help="One documented configuration per method, or the paper's search space."),
    ] = "quick",
    configurations: Annotated[
        int | None,
        typer.Option(min=1, help="With --grid paper: try this many configurations, drawn with a fixed seed."),
    ] = None,
    out: OutOption = Path("results"),
    jobs: JobsOption = None,
    runs: RunsOption = 5,
    data: DataOption = None,
    device: DeviceOption = "auto",
    document: DocumentOption = None,
    tables_only: TablesOption = False,
) -> None:
    """Compare methods on datasets: accuracy, balanced accuracy, ROC-AUC, MCC, cost.

    Every finished cell is saved in the results folder, so a stopped study resumes without repeating any.
    Hyperparameters are chosen on the validation set only.

    Example: python -m repro accuracy --datasets synthetic:ba-2motifs --methods majority,mlp,gin,pl4xgl,gdlnn
    """
    from repro.accuracy import AccuracyPlan, write_accuracy
    from repro.methods import METHODS
    from repro.store import Store

    names = _read_names("--methods", methods, list(METHODS))
    plan = AccuracyPlan(_read_datasets(datasets), names, protocol, grid, configurations, runs)
    failed = 0 if tables_only else _run(plan, _config(out, data, device, jobs))
    _finish(write_accuracy(Store(out), protocol, document), f"Tables, figure and cells: {out}", failed)


@app.command()
def ablation(
    datasets: DatasetsOption = ABLATION_DATASETS,
    variants: Annotated[
        str,
        typer.Option("--variants", help="Variants, separated by commas; 'all' for all of them."),
    ] = "all",
    protocol: ProtocolOption = "repeated",
    out: OutOption = Path("results"),
    jobs: JobsOption = None,
    runs: RunsOption = 5,
    data: DataOption = None,
    device: DeviceOption = "auto",
    document: DocumentOption = None,
    tables_only: TablesOption = False,
) -> None:
    """Change one choice of the default at a time: sources of programs, features, values, bags, head.

    The base is always run too, since every variant is compared with it.

    Example: python -m repro ablation --datasets MUTAG,PTC_MR --out results
    """
    from repro.accuracy import AccuracyPlan, write_ablation
    from repro.methods import BASE, VARIANTS
    from repro.store import Store

    known = [name.removeprefix("ablation-") for name in VARIANTS]
    chosen = [f"ablation-{name}" for name in _read_names("--variants", variants, known)]
    names = list(dict.fromkeys([BASE, *chosen]))
    plan = AccuracyPlan(_read_datasets(datasets), names, protocol, n_runs=runs)
    failed = 0 if tables_only else _run(plan, _config(out, data, device, jobs))
    _finish(write_ablation(Store(out), protocol, document), f"Table and cells: {out}", failed)


@app.command()
def explain(
    datasets: DatasetsOption = "all",
    methods: ExplainersOption = "all",
    out: OutOption = Path("results"),
    jobs: JobsOption = None,
    sample: SampleOption = 30,
    seed: SeedOption = 0,
    programs: ProgramsOption = None,
    limit: LimitOption = None,
    data: DataOption = None,
    device: DeviceOption = "auto",
    document: DocumentOption = None,
    tables_only: TablesOption = False,
) -> None:
    """Compare explanations: sparsity against fidelity, and agreement with the truth where it is known.

    GDLNN and its LIME name 5 to 1000 programs, or the smallest sufficient subgraph; explainers of GIN name a
    tenth to nine tenths of the nodes, PL4XGL its one program. Finished cells are saved, so a stopped study
    resumes without repeating any.

    Example: python -m repro explain --datasets MUTAG --sample 10 --methods gdlnn,pl4xgl,subgraphx
    """
    from repro.curves import write_explain
    from repro.store import Store

    failed = 0
    if not tables_only:
        config = _config(out, data, device, jobs, programs, limit)
        failed = _run_explanations("explain", datasets, methods, sample, seed, config)
    _finish(write_explain(Store(out), document), f"Tables, figure and cells: {out}", failed)


@app.command()
def cost(
    datasets: DatasetsOption = "all",
    methods: ExplainersOption = COST_METHODS,
    out: OutOption = Path("results"),
    jobs: JobsOption = None,
    sample: SampleOption = 30,
    seed: SeedOption = 0,
    programs: ProgramsOption = None,
    limit: LimitOption = None,
    data: DataOption = None,
    document: DocumentOption = None,
    tables_only: TablesOption = False,
) -> None:
    """Measure the time of fitting, predicting and explaining, all on the CPU, one thread per cell.

    An explanation names 5 programs, is the smallest sufficient one, or has a fifth of the nodes. Parallel
    processes slow each other down a little: --jobs 1 gives the most reliable times.

    Example: python -m repro cost --datasets MUTAG --sample 5 --jobs 1
    """
    from repro.cost import write_cost
    from repro.store import Store

    failed = 0
    if not tables_only:
        config = _config(out, data, "cpu", jobs, programs, limit)
        failed = _run_explanations("cost", datasets, methods, sample, seed, config)
    _finish(write_cost(Store(out), programs, document), f"Tables, figure and cells: {out}", failed)


@app.command()
def motifs(
    output: Annotated[Path, typer.Option("-o", "--output", help="The SVG file to write.")] = Path(
        "motifs.svg"
    ),
    graphs: Annotated[
        int, typer.Option("--graphs", min=20, help="Number of BA-2Motifs graphs to generate.")
    ] = 1000,
    count: Annotated[
        int,
        typer.Option(min=0, help="Also count the motifs found in this many test graphs of each class."),
    ] = 0,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
) -> None:
    """Draw how GDLNN, SubgraphX and PL4XGL explain a cycle and a house of BA-2Motifs, side by side.

    Example: python -m repro motifs -o motifs.svg
    """
    from repro.motifs import MotifStudy
    from repro.tables import write_file

    opt.check_output(output)
    with tempfile.TemporaryDirectory() as folder, _shown_progress() as report:
        study = MotifStudy(graphs, seed, _config(Path(folder), None, "cpu", jobs), report, max(1, count))
    write_file(output, study.figure())
    echo(f"Picture: {output}")
    if count:
        echo(study.counts())


@app.command()
def paper(
    dataset: opt.Dataset,
    output: Annotated[Path, opt.output("The model file to write.")],
    smiles: opt.Smiles = None,
    label: Annotated[str | None, typer.Option(help="The column with the label.")] = None,
    split: Annotated[str, typer.Option(metavar="SPLIT", help=f"How to split: {opt.SPLIT_HELP}.")] = "auto",
    seed: SeedOption = 0,
    jobs: opt.Jobs = -1,
    checkpoint: Annotated[Path | None, opt.checkpoint("A folder for finished steps")] = None,
) -> None:
    """Train as in the paper and save the model: ε, k and the learning rate are chosen on the validation set.

    Example: python -m repro paper MUTAG -o model.gdlnn
    """
    from gdlnn.datasets.resolve import resolve_dataset
    from gdlnn.model import GDLNNClassifier
    from repro.tuning import tune

    opt.check_output(output, dataset, checkpoint=checkpoint)
    data = resolve_dataset(
        dataset, label=label, smiles=smiles, min_classes=2, columns=opt.split_columns(split)
    )
    if data.y is None:
        raise GDLNNError(f"{dataset} has no labels; name their column with --label")
    train, val, test = data.split(split, seed)
    found = tune(train, val, GDLNNClassifier.paper(seed=seed, n_jobs=jobs), directory=checkpoint)
    model = found.best_estimator
    echo(str(found))
    if len(test):
        echo(f"test, {len(test)} graphs: accuracy {model.score(test):.4f}")
    model.save(output)
    echo(f"{output.name}: written")


# --- what commands share ----------------------------------------------------------------------------------


def _config(
    out: Path,
    data: Path | None,
    device: str,
    jobs: int | None,
    programs: Path | None = None,
    limit: float | None = None,
) -> RunConfig:
    """Return the configuration of a study; by default it uses one process per CPU core."""
    from repro.store import RunConfig

    if programs is not None and not (programs / "programs").is_dir():
        raise GDLNNError(f"--programs: expected the folder of an accuracy study, got {programs}")
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    folders = [None if folder is None else str(folder) for folder in (data, programs)]
    return RunConfig(str(out), folders[0], device, 1, jobs, folders[1], limit)


def _read_datasets(text: str) -> list[str]:
    from gdlnn.datasets.registry import REGISTRY, canonical_name

    if text == "all":
        return list(REGISTRY)
    return list(dict.fromkeys(canonical_name(name) for name in _split("--datasets", text)))


def _read_names(option: str, text: str, known: list[str]) -> list[str]:
    if text == "all":
        return known
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


def _run_explanations(
    kind: Literal["explain", "cost"], datasets: str, methods: str, sample: int, seed: int, config: RunConfig
) -> int:
    from repro.explanations import ExplanationPlan
    from repro.methods import EXPLAINERS

    names = _read_names("--methods", methods, list(EXPLAINERS))
    return _run(ExplanationPlan(kind, _read_datasets(datasets), names, sample or None, seed), config)


def _run(plan: StudyPlan, config: RunConfig) -> int:
    """Run a study; lock its cells in the folder so that no other study computes the same ones.

    Returns
    -------
    The number of failed cells.
    """
    from gdlnn.io.folder_lock import claimed
    from repro.study import Study

    claims = [f"{plan.lock} {dataset} {method}" for dataset in plan.datasets for method in plan.methods]
    logging.getLogger("gdlnn.graphs").setLevel(logging.ERROR)  # do not warn about duplicates on every split
    with claimed(Path(config.out), claims), _shown_progress() as report:
        try:
            return Study(plan, config, report).run()
        except KeyboardInterrupt:
            echo("stopped; run the same command again to resume", err=True)
            raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _shown_progress() -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar, or a line per task if standard error is not a terminal."""
    if not is_watched():
        yield lambda done, total, says: echo(f"[{done}/{total}] {says}", err=True)
        return
    with progress_bar("study") as update:
        yield lambda done, total, says: update(completed=done, total=total, says=says)


def _finish(text: str, where: str, failed: int) -> None:
    """Show the tables; end with exit code 1 if cells failed."""
    echo(text)
    echo(where)
    if failed:
        echo(f"{failed} cell(s) failed; the reasons are listed below the tables", err=True)
        raise typer.Exit(1)


# --- the command line -------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Errors in the input become one line and exit code 2."""
    try:
        app(args=arguments, prog_name="python -m repro")
    except (GDLNNError, OSError) as error:
        echo(f"error: {error}", err=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
