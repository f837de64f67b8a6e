"""`gdlnn report`: a model and data into one HTML file that people can read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gdlnn.cli import options as opt
from gdlnn.datasets.resolve import resolve_dataset


def report(
    model: opt.Model,
    dataset: opt.Dataset,
    output: Annotated[Path, opt.output("The .html file to write.")] = Path("report.html"),
    split: opt.Split = "auto",
    part: Annotated[
        opt.Part, typer.Option(help="Which part to report on; all where the data is none of the training's.")
    ] = "test",
    seed: Annotated[int, opt.seed()] = 0,
    technique: opt.Technique = None,
    n_features: Annotated[int, typer.Option(min=1, help="How many programs an explanation names.")] = 4,
    graphs: Annotated[int, typer.Option(min=1, help="Most graphs in the gallery.")] = 400,
    counterfactuals: Annotated[int, typer.Option(min=0, help="For how many graphs to look for one.")] = 24,
    title: Annotated[str, typer.Option(help="The headline; by default the name of the data.")] = "",
    jobs: opt.Jobs = -1,
    smiles: opt.Smiles = None,
    label: opt.Label = None,
    id_: opt.Id = None,
    root: opt.Root = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write what a model is made of, how good it is and why it decides as it does, as one HTML file.

    The defaults report on the graphs that `gdlnn train` with the same --split and --seed held out.
    """
    from gdlnn.explain.techniques import make_technique
    from gdlnn.model import load_model
    from gdlnn.report import ReportOptions, write_report

    opt.check_output(output, model, dataset)
    make_technique(technique)  # refuses a wrong name before any work is done
    fitted = load_model(model).set_params(n_jobs=jobs)
    fitted.layer_.set_params(n_jobs=jobs)
    data = resolve_dataset(dataset, smiles=smiles, label=label, id=id_, root=root, reading=fitted.reading_)
    held_out = opt.part_of(data, split, part, seed)
    options = ReportOptions(technique, n_features, seed, graphs, counterfactuals)
    made = write_report(fitted, held_out, output, options, title=title, say=opt.timed_messages(quiet))
    tell_result(made, output, as_json=as_json, quiet=quiet)


def tell_result(made: dict[str, Any], output: Path, *, as_json: bool, quiet: bool) -> None:
    """Say how good the model is and where the report lies, for people or for scripts."""
    from gdlnn.model.scores import score_lines

    found, left_out = made["performance"], made["data"]["held_out"]["left_out"]
    if as_json:
        summary = {
            "report": str(output),
            "bytes": output.stat().st_size,
            "graphs": found["n"],
            "accuracy": found["accuracy"],
            "accuracy_interval": list(found["accuracy_interval"]),
            "majority": found["majority"]["accuracy"],
            "roc_auc": found["scores"]["roc_auc"],
            "scores": found["scores"],
            "domains": found["domains"],
            "left_out": left_out,
            "programs": made["model"]["n_programs"],
        }
        opt.print_json(summary)
    elif not quiet:
        names = {item["label"]: item["name"] for item in made["classes"]}
        counts = made["data"]["training"]["classes"]
        title = f"{found['n']} held-out graphs"
        for line in score_lines(title, found["scores"], found["majority"], counts, names.__getitem__):
            typer.echo(line)
        if left_out:
            typer.echo(f"{left_out} graphs were left out, since the model was trained on them")
        typer.echo(f"{output}: {output.stat().st_size / 1e6:.1f} MB")
