"""`gdlnn mine`: programs from a dataset into a .jsonl file."""

from __future__ import annotations

import logging
from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import Annotated, Literal

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.app import INTERRUPTED, echo


def mine(
    dataset: opt.Dataset,
    output: Annotated[Path, opt.output("The .jsonl file to write; - writes to standard output.")],
    label: opt.Label = None,
    smiles: opt.Smiles = None,
    standardize: opt.Standardize = "none",
    data_dir: opt.DataDir = None,
    split: Annotated[
        str,
        opt.option(
            "Data", f"The training set of this split is mined: {opt.SPLIT_HELP}; none: all.", metavar="SPLIT"
        ),
    ] = "auto",
    vocabulary: Annotated[
        Literal["mined", "neighborhoods"],
        opt.option("Model", "Search using the labels, or take the surroundings of nodes, without labels."),
    ] = "mined",
    epsilon: Annotated[
        str, opt.option("Model", "ε of the score: a number, or 1% of the training graphs.")
    ] = "0.1",
    min_support: Annotated[int, opt.option("Model", "Drop programs that match fewer graphs than this.")] = 1,
    targets: Annotated[
        Literal["all", "auto"],
        opt.option("Advanced", "Graphs to start from: all, or at most 2,000 of them."),
    ] = "all",
    seed: Annotated[int, opt.option("Advanced", "Seed of the split and the targets.", min=0)] = 0,
    time_limit: Annotated[
        float | None,
        opt.option("Advanced", "Seconds after which to stop; finished programs are kept."),
    ] = None,
    checkpoint: Annotated[Path | None, opt.checkpoint("A file for finished descents")] = None,
    jobs: opt.Jobs = -1,
    dask: opt.Dask = None,
    quiet: opt.Quiet = False,
) -> None:
    """Mine programs from a dataset and write them as lines of JSON, each in words and as GDL.

    After Ctrl-C or --time-limit the finished programs are written and marked incomplete.
    """
    from gdlnn import mining
    from gdlnn.datasets.resolve import resolve_dataset

    if not opt.is_stdout(output):
        opt.check_output(output, dataset, checkpoint=checkpoint)
    reading = opt.molecule_reader(standardize)
    columns = opt.split_columns(split)
    with opt.given_input(dataset) as source:
        data = resolve_dataset(
            source, smiles=smiles, label=label, root=data_dir, reading=reading, columns=columns
        )
    logging.getLogger("gdlnn.mining").setLevel(logging.ERROR)  # an early stop is reported below
    graphs = data if split == "none" else data.split(split, seed).train
    if vocabulary == "neighborhoods":
        programs = mining.neighborhoods(
            graphs, min_support="auto" if min_support == 1 else min_support, n_jobs=jobs
        )
    else:
        with opt.on_processes(dask):
            programs = mining.mine(
                graphs,
                epsilon=epsilon,
                targets=None if targets == "all" else targets,
                min_support=min_support,
                n_jobs=jobs,
                random_state=seed,
                time_limit=time_limit,
                checkpoint=checkpoint,
                verbose=not quiet,
            )
    with opt.opened(output) as write:
        write(programs.to_text().encode())
    if not quiet:
        echo(f"{programs.summary()}\n{output.name}: {len(programs)} programs", err=opt.is_stdout(output))
    if not programs.complete:
        again = " Run the same command again to resume from the checkpoint." if checkpoint else ""
        echo(f"stopped by {programs.stopped_by}: {output.name} is incomplete.{again}", err=True)
        if programs.stopped_by == "interrupt":
            raise typer.Exit(INTERRUPTED)
