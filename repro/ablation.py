"""The ablation: the default classifier with one choice changed at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from repro import options as opt
from repro.accuracy import run_accuracy
from repro.accuracy_tables import write_ablation
from repro.cells import Study, read_cells
from repro.methods import VARIANTS
from repro.statistics import OURS

if TYPE_CHECKING:
    from repro.cells import Result


def ablation(
    datasets: opt.Datasets = "all",
    variants: Annotated[
        str, typer.Option("--variants", help="Variants, separated by commas; 'all' for all of them.")
    ] = "all",
    protocol: opt.Protocols = "repeated",
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = None,
    runs: opt.Runs = 10,
    data: opt.Data = None,
    device: opt.Device = "auto",
    tables_only: opt.TablesOnly = False,
) -> None:
    """Change one choice of the default at a time: vocabularies, features, calibration, head.

    The default is run too, as a cell of the accuracy study in the same folder: variants are compared with it.

    Example: python -m repro ablation --datasets MUTAG,PTC_MR --out results
    """
    known = [name.removeprefix("ablation-") for name in VARIANTS]
    chosen = [f"ablation-{name}" for name in opt.read_names("--variants", variants, known)]
    cells: list[Result] = []
    if not tables_only:
        config, every = opt.run_config(out, data, device, jobs), opt.read_datasets(datasets)
        for name, several in (("accuracy", [OURS]), ("ablation", chosen)):
            with Study(name, config, opt.report) as study:
                cells += run_accuracy(study, every, several, protocol, n_runs=runs)
    every_cell = [*read_cells(out / "accuracy.jsonl"), *read_cells(out / "ablation.jsonl")]
    opt.finish(write_ablation(out, every_cell, protocol), out, cells)
