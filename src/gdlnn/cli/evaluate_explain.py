"""`gdlnn evaluate explain` and `gdlnn evaluate cost`: how good explanations are, and what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from gdlnn.cli.evaluate import (
    DataOption,
    DatasetsOption,
    DeviceOption,
    DocumentOption,
    JobsOption,
    OutOption,
    TablesOption,
    end,
    method_names,
    n_workers,
    names_of,
    running_study,
)
from gdlnn.errors import GDLNNError

COST_METHODS = "gdlnn,gdlnn-smallest,gdlnn-paper,pl4xgl,subgraphx"
MethodsOption = Annotated[
    str,
    typer.Option(
        "--methods",
        help="Some of gdlnn, gdlnn-paper, pl4xgl, subgraphx, gnnexplainer, gradients, separated by commas; "
        "'all' for all of them.",
    ),
]
SampleOption = Annotated[
    int,
    typer.Option("--sample", min=0, help="Test graphs of each data set, drawn with the seed; 0 for all."),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of sample, models and explanations.")]
ProgramsOption = Annotated[
    Path | None,
    typer.Option(
        "--programs",
        help="The folder of an accuracy study, whose mined programs and chosen configurations are used; by "
        "default the folder of the results.",
    ),
]
LimitOption = Annotated[
    float | None,
    typer.Option("--limit", min=0.1, help="Seconds after which a cell is given up and marked so."),
]


def explain(
    datasets: DatasetsOption = "all",
    methods: MethodsOption = "all",
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

    GDLNN and its LIME name 5 to 1000 programs, or the smallest part that is enough; explainers of GIN name a
    tenth to nine tenths of the nodes, PL4XGL its one program. A cell is a file: a study that was stopped goes
    on without repeating any.

    Example: gdlnn evaluate explain --datasets MUTAG --sample 10 --methods gdlnn,pl4xgl,subgraphx
    """
    from gdlnn.evaluation.explain_cells import ExplainStore
    from gdlnn.evaluation.explain_output import write_explain

    failed = 0
    if not tables_only:
        failed = _run("explain", datasets, methods, out, jobs, sample, seed, programs, limit, data, device)
    typer.echo(write_explain(ExplainStore(out), document))
    typer.echo(f"Tables, figure and cells: {out}")
    end(failed)


def cost(
    datasets: DatasetsOption = "all",
    methods: MethodsOption = COST_METHODS,
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
    """Take the time of fitting, predicting and explaining, all on the processor, one thread for each cell.

    An explanation names 5 programs, is the smallest that is enough, or has a fifth of the nodes. With as many
    processes as processors they get into each other's way a little: --jobs 1 gives the calmest clock.

    Example: gdlnn evaluate cost --datasets MUTAG --sample 5 --jobs 1
    """
    from gdlnn.evaluation.explain_cells import ExplainStore
    from gdlnn.evaluation.explain_output import write_cost

    failed = 0
    if not tables_only:
        failed = _run("cost", datasets, methods, out, jobs, sample, seed, programs, limit, data, "cpu")
    typer.echo(write_cost(ExplainStore(out), programs, document))
    typer.echo(f"Tables, figure and cells: {out}")
    end(failed)


def _run(
    step: Literal["explain", "cost"],
    datasets: str,
    methods: str,
    out: Path,
    jobs: int | None,
    sample: int,
    seed: int,
    programs: Path | None,
    limit: float | None,
    data: Path | None,
    device: str,
) -> int:
    from gdlnn.evaluation.explain_cells import ExplainPlace
    from gdlnn.evaluation.explain_study import ExplainSettings, ExplainStudy
    from gdlnn.evaluation.explainers import EXPLAINERS

    if programs is not None and not (programs / "programs").is_dir():
        raise GDLNNError(f"--programs: expected the folder of an accuracy study, got {programs}")
    settings = ExplainSettings(
        step,
        names_of(datasets),
        method_names(methods, list(EXPLAINERS)),
        sample or None,
        seed,
        n_workers(jobs),
    )
    place = ExplainPlace(
        str(out),
        None if data is None else str(data),
        device,
        programs=None if programs is None else str(programs),
        limit=limit,
    )
    with running_study(out, step, settings) as report:
        return ExplainStudy(settings, place, report).run()


def motifs(
    output: Annotated[Path, typer.Option("-o", "--output", help="The picture, an SVG file.")] = Path(
        "motifs.svg"
    ),
    graphs: Annotated[int, typer.Option("--graphs", min=20, help="Graphs of BA-2Motifs to make.")] = 1000,
    count: Annotated[
        int,
        typer.Option(min=0, help="Count the motifs found too, in so many test graphs of each class."),
    ] = 0,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
) -> None:
    """Draw a cycle and a house of BA-2Motifs as GDLNN, SubgraphX and PL4XGL explain them, side by side.

    Example: gdlnn evaluate motifs -o motifs.svg
    """
    from gdlnn.evaluation.motifs import MotifStudy
    from gdlnn.evaluation.output import write_file

    study = MotifStudy(graphs, seed, lambda says: typer.echo(says, err=True), n_workers(jobs))
    write_file(output, study.figure())
    typer.echo(f"Picture: {output}")
    if count:
        typer.echo(study.counts(count))
