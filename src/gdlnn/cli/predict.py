"""`gdlnn predict`: the labels and probabilities that a model gives to graphs, as a table."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdlnn.cli.datasets import (  # noqa: TC001  (typer reads the annotations)
    DatasetArgument,
    IdOption,
    JsonOption,
    RootOption,
    SmilesOption,
)
from gdlnn.cli.outputs import check_output
from gdlnn.cli.prediction_table import PredictionTable, prediction_checkpoint
from gdlnn.cluster import dask_executor
from gdlnn.datasets.resolve import batched_dataset
from gdlnn.errors import DatasetError
from gdlnn.io.atomic import atomic_write
from gdlnn.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BATCH = 1024
"""Rows that are read and predicted together."""


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    dataset: DatasetArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The .csv or .jsonl file to write.")],
    smiles: SmilesOption = None,
    id_: IdOption = None,
    root: RootOption = None,
    jobs: Annotated[int, typer.Option("-j", "--jobs", help="Threads; -1 for all processors.")] = -1,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="local:N|ADDRESS",
            help="Predict on a Dask cluster: N processes of this machine, or that of a scheduler's address.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A file for finished rows; the same command goes on from it.")
    ] = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No bar, no summary.")] = False,
) -> None:
    """Predict the label of every graph and write a table.

    Rows that do not parse are kept, with the reason. Graphs that no program matches are flagged: they lie
    outside what was learnt. Tables of SMILES, SDF files and JSON Lines are read as they are used: they may be
    of any length.
    """
    from gdlnn.model import load_model
    from gdlnn.model.representation import stream_predictions

    check_output(output, model, dataset)
    fitted = load_model(model).set_params(n_jobs=jobs)
    started = time.monotonic()
    info = fitted.programs_.info
    widths = (info.n_node_features, info.n_edge_features)
    data = batched_dataset(
        dataset, BATCH, smiles=smiles, id=id_, root=root, reading=fitted.reading_, widths=widths
    )
    table = PredictionTable(fitted, data.name, data.has_smiles, as_lines=output.suffix.lower() == ".jsonl")
    with ExitStack() as stack:
        saved = None
        if checkpoint is not None:
            options = {"smiles": smiles, "id": id_, "batch": BATCH}
            saved = stack.enter_context(prediction_checkpoint(checkpoint, model, dataset, options, table))
        executor = None
        if dask is not None:
            executor, said = stack.enter_context(dask_executor(dask))
            if not quiet:
                typer.echo(f"predicting on {said}", err=True)
        advance = stack.enter_context(_progress(not quiet and not as_json))
        file = stack.enter_context(atomic_write(output))
        file.write(table.header())
        for record in saved.finished() if saved is not None else ():
            file.write(table.restore(record))
        before = table.n_rows
        rest = islice(data.batches, table.n_batches, None)
        for answer in stream_predictions(fitted, rest, executor):
            text = table.add(answer)
            file.write(text)
            if saved is not None:
                saved.append([table.record(text)])
            advance(table.n_rows, before)
        if not table.n_graphs:
            raise DatasetError(
                f"{dataset}: expected at least one row that parses, got none of {table.n_rows}"
            )
    seconds = time.monotonic() - started
    if as_json:
        told = {"predictions": str(output), **table.summary(), "seconds": seconds}
        typer.echo(json.dumps(told, indent=2))
    elif not quiet:
        for line in table.told(output.name, seconds, before):
            typer.echo(line)


@contextmanager
def _progress(wanted: bool) -> Iterator[Callable[[int, int], Any]]:
    """Show rows done and rows per second in a terminal; how many there are is not known beforehand."""
    with progress_bar("predicting", style="rows", wanted=wanted) as update:
        started = time.monotonic()

        def advance(rows: int, before: int) -> None:
            rate = (rows - before) / max(1e-9, time.monotonic() - started)
            update(says=f"{rows:,} rows, {rate:,.0f} per second")

        yield advance
