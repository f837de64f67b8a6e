"""`gdlnn mine`: programs from a dataset into a .gdl file."""

from __future__ import annotations

import logging
from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.app import INTERRUPTED
from gdlnn.cli.terminal import echo
from gdlnn.datasets.resolve import resolve_dataset
from gdlnn.errors import MiningError
from gdlnn.graphs.molecules import MoleculeReader
from gdlnn.mining import mine as mine_programs
from gdlnn.mining import neighbourhoods

if TYPE_CHECKING:
    from gdlnn.mining import ProgramSet
    from gdlnn.mining.bags import Bags

Strategy = Literal["greedy", "sequential"]


def mine(
    dataset: opt.Dataset,
    output: Annotated[Path, opt.output("The .gdl file to write.")],
    vocabulary: Annotated[
        Literal["mined", "neighbourhoods"],
        typer.Option(help="Search using the labels, or take the surroundings of nodes, without labels."),
    ] = "mined",
    radius: Annotated[int, typer.Option(help="Largest radius of a neighbourhood, in edges.")] = 3,
    epsilon: Annotated[
        str, typer.Option(help="ε of the score: a number, or 1% of the training graphs.")
    ] = "0.1",
    bags: Annotated[
        str,
        typer.Option(
            help="Split the graphs into this many bags and mine each separately: none, auto or a number."
        ),
    ] = "none",
    strategy: Annotated[
        Strategy, typer.Option(help="The paper's search (greedy), or a cheaper one.")
    ] = "greedy",
    targets: Annotated[
        Literal["all", "auto"], typer.Option(help="Graphs to start from: all, or at most 2,000 of them.")
    ] = "all",
    top: Annotated[
        str, typer.Option(help="How many of the best programs to keep: all, a number, or a fraction.")
    ] = "all",
    min_support: Annotated[int, typer.Option(help="Drop programs that match fewer graphs than this.")] = 1,
    smarts: opt.Smarts = False,
    seed: Annotated[int, typer.Option(help="Seed of the split, the targets and the bags.")] = 0,
    jobs: opt.Jobs = 1,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which to stop; finished programs are kept.")
    ] = None,
    dask: opt.Dask = None,
    checkpoint: Annotated[Path | None, opt.checkpoint("A file for finished descents")] = None,
    split: opt.Split = "auto",
    part: Annotated[opt.Part, typer.Option(help="Which part of the split to mine.")] = "train",
    smiles: opt.Smiles = None,
    label: opt.Label = None,
    id_: opt.Id = None,
    features: opt.Features = "default",
    fragments: opt.Fragments = "all",
    standardize: opt.Standardize = "none",
    root: opt.Root = None,
    as_json: opt.Json = False,
    quiet: Annotated[bool, opt.quiet("Print no progress bar, summary or table.")] = False,
) -> None:
    """Mine programs from a dataset and write them as GDL text.

    After Ctrl-C or --time-limit the finished programs are written and marked incomplete.
    """
    opt.check_output(output, dataset, checkpoint=checkpoint)
    kept = None if top == "all" else _number(top)
    reading = MoleculeReader(features, fragments, standardize)
    with opt.given_input(dataset) as source:
        data = resolve_dataset(
            source,
            smiles=smiles,
            label=label,
            id=id_,
            root=root,
            reading=reading,
            columns=opt.split_columns(split),
        )
    logging.getLogger("gdlnn.mining").setLevel(logging.ERROR)  # an early stop is reported below
    graphs = opt.part_of(data, split, part, seed)
    if vocabulary == "neighbourhoods":
        found_programs = neighbourhoods(
            graphs, radius, "auto" if min_support == 1 else min_support, n_jobs=jobs
        )
        _write(found_programs, found_programs.summary(), kept, output, as_json=as_json, quiet=quiet)
        return
    n_bags = _bags(bags)
    with opt.on_processes(dask):
        programs = mine_programs(
            graphs,
            epsilon=epsilon,
            strategy=strategy,
            targets=None if targets == "all" else targets,
            min_support=min_support,
            ignore=opt.not_in_smarts(data) if smarts else (),
            bags=n_bags,
            n_jobs=jobs,
            seed=seed,
            time_limit=time_limit,
            checkpoint=checkpoint,
            progress=not quiet,
        )
    _write(programs, programs.summary(), kept, output, as_json=as_json, quiet=quiet)
    if not programs.complete:
        again = " Run the same command again to resume from the checkpoint." if checkpoint else ""
        echo(f"stopped by {programs.stopped_by}: {output.name} is incomplete.{again}", err=True)
        if programs.stopped_by == "interrupt":
            raise typer.Exit(INTERRUPTED)


def _write(
    programs: ProgramSet,
    summary: str,
    kept: float | None,
    output: Path,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    if kept is not None:
        programs = programs.top(kept)
    programs.save(output)
    if as_json:
        opt.print_json({"programs": str(output), "n_programs": len(programs), "complete": programs.complete})
    elif not quiet:
        echo(summary)
        echo(f"{output.name}: {len(programs)} programs")


def _bags(text: str) -> Bags:
    if text == "none":
        return None
    if text == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise MiningError(f"--bags: expected none, auto or a number, got {text!r}") from None


def _number(text: str) -> int | float:
    """Parse a number: an int unless it has a decimal point."""
    try:
        return float(text) if "." in text or "e" in text.lower() else int(text)
    except ValueError:
        raise MiningError(f"--top: expected all, a number or a fraction, got {text!r}") from None
