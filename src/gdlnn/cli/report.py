"""`gdlnn report`: a model and data into one HTML file that people can read."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gdlnn.cli.datasets import (  # noqa: TC001  (typer reads the annotations)
    DatasetArgument,
    IdOption,
    JsonOption,
    LabelOption,
    RootOption,
    SmilesOption,
    SplitOption,
    TechniqueOption,
)
from gdlnn.cli.outputs import check_output
from gdlnn.datasets.resolve import resolve_dataset

if TYPE_CHECKING:
    from collections.abc import Callable

Part = Literal["train", "val", "test", "all"]


def report(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `gdlnn train` wrote.")],
    dataset: DatasetArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The .html file to write.")] = Path(
        "report.html"
    ),
    split: SplitOption = "auto",
    part: Annotated[
        Part, typer.Option(help="Which part to report on; all where the data is none of the training's.")
    ] = "test",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and of the technique.")] = 0,
    technique: TechniqueOption = None,
    n_features: Annotated[int, typer.Option(min=1, help="How many programs an explanation names.")] = 4,
    graphs: Annotated[int, typer.Option(min=1, help="Most graphs in the gallery.")] = 400,
    counterfactuals: Annotated[int, typer.Option(min=0, help="For how many graphs to look for one.")] = 24,
    title: Annotated[str, typer.Option(help="The headline; by default the name of the data.")] = "",
    jobs: Annotated[int, typer.Option("-j", "--jobs", help="Threads; -1 for all processors.")] = -1,
    smiles: SmilesOption = None,
    label: LabelOption = None,
    id_: IdOption = None,
    root: RootOption = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing of what is done.")] = False,
) -> None:
    """Write what a model is made of, how good it is and why it decides as it does, as one HTML file.

    The defaults report on the graphs that `gdlnn train` with the same --split and --seed held out.
    """
    from gdlnn.explain.techniques import make_technique
    from gdlnn.model import load_model
    from gdlnn.report import ReportOptions, write_report

    check_output(output, model, dataset)
    make_technique(technique)  # refuses a wrong name before any work is done
    fitted = load_model(model).set_params(n_jobs=jobs)
    fitted.layer_.set_params(n_jobs=jobs)
    data = resolve_dataset(dataset, smiles=smiles, label=label, id=id_, root=root, reading=fitted.reading_)
    if part != "all":
        data = dict(zip(("train", "val", "test"), data.split(split, seed), strict=True))[part]
    options = ReportOptions(technique, n_features, seed, graphs, counterfactuals)
    made = write_report(fitted, data, output, options, title=title, say=progress(quiet))
    tell_result(made, output, as_json=as_json, quiet=quiet)


def progress(quiet: bool) -> Callable[[str], None]:
    """Return how to tell what is being done: on standard error, with the seconds since the start."""
    started = time.monotonic()

    def say(text: str) -> None:
        if not quiet:
            typer.echo(f"{time.monotonic() - started:6.1f} s  {text}", err=True)

    return say


def tell_result(made: dict[str, Any], output: Path, *, as_json: bool, quiet: bool) -> None:
    """Say how good the model is and where the report lies, for people or for scripts."""
    found = made["performance"]
    if as_json:
        summary = {
            "report": str(output),
            "bytes": output.stat().st_size,
            "graphs": found["n"],
            "accuracy": found["accuracy"],
            "accuracy_interval": list(found["accuracy_interval"]),
            "majority": found["majority"]["accuracy"],
            "roc_auc": found["scores"]["roc_auc"],
            "programs": made["model"]["n_programs"],
        }
        typer.echo(json.dumps(summary, indent=2))
    elif not quiet:
        low, high = found["accuracy_interval"]
        typer.echo(
            f"accuracy {found['accuracy']:.1%} on {found['n']} graphs (95 % interval {low:.1%} to {high:.1%}"
            f"; majority class {found['majority']['accuracy']:.1%})"
        )
        typer.echo(f"{output}: {output.stat().st_size / 1e6:.1f} MB")
