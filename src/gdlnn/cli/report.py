"""`gdlnn report`: write a model and its predictions on data as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.terminal import echo, were
from gdlnn.errors import ModelError, WriteError


def report(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model file, or a folder of models (one per label).")
    ],
    dataset: opt.Dataset,
    output: Annotated[
        Path | None,
        opt.output("The .html file to write, report.html if not given; of a folder of models, a folder."),
    ] = None,
    split: opt.SplitAsTrained = None,
    part: opt.HeldOutPart = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of the split and of the technique.", show_default="as in training"),
    ] = None,
    technique: opt.Technique = None,
    n_features: Annotated[int, typer.Option(min=1, help="How many programs each explanation lists.")] = 4,
    graphs: Annotated[int, typer.Option(min=1, help="Maximum number of graphs in the gallery.")] = 400,
    counterfactuals: Annotated[int, typer.Option(min=0, help="For how many graphs to look for one.")] = 24,
    title: Annotated[str, typer.Option(help="The headline; by default the name of the data.")] = "",
    jobs: opt.Jobs = -1,
    smiles: opt.Smiles = None,
    label: opt.Label = None,
    id_: opt.Id = None,
    missing: opt.Missing = None,
    threshold: opt.Threshold = None,
    encoding: opt.Encoding = "utf-8",
    root: opt.Root = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write an HTML report: the model's programs, its scores and explanations of its predictions.

    The training table is read and split as in training, so the report is about held-out graphs; of another
    dataset all graphs are used. For a folder of models, one report each and an index are written.
    """
    from gdlnn.explain.explainer import make_technique
    from gdlnn.model.model_folder import load_models
    from gdlnn.report import ReportOptions, write_report

    make_technique(technique)  # refuses a wrong name before any work is done
    targets = _targets(model, output, label)
    for target in targets.values():
        opt.check_output(target, *([model] if model.is_file() else []), dataset)
        opt.check_ending(target, ".html", ".htm")
    models = load_models(model)
    options = ReportOptions(technique, n_features, seed or 0, graphs, counterfactuals)
    say = opt.timed_messages(quiet)
    with opt.given_input(dataset) as source:
        for name, fitted in models.items():
            fitted.set_params(n_jobs=jobs)
            fitted.layer_.set_params(n_jobs=jobs)
            held_out = opt.read_as_trained(
                source,
                fitted,
                split=split,
                seed=seed,
                part=part,
                smiles=smiles,
                label=label,
                id=id_,
                root=root,
                encoding=encoding,
                **opt.label_options(missing, threshold),
            )
            headline = title or (f"{held_out.name}: {name}" if name else "")
            made = write_report(fitted, held_out, targets[name], options, title=headline, say=say)
            tell_result(made, targets[name], as_json=as_json, quiet=quiet)
    if "" not in models:
        _write_index(model, next(iter(targets.values())).parent, title)


def _targets(model: Path, output: Path | None, label: str | None) -> dict[str, Path]:
    """Return the file of each report, by the label of its model."""
    from gdlnn.model.model_folder import read_manifest
    from gdlnn.report.index import report_name

    if not model.is_dir():
        return {"": output or Path("report.html")}
    folder = model if output is None else output
    if folder.suffix in (".html", ".htm") or (folder.exists() and not folder.is_dir()):
        raise WriteError(f"{folder.name}: expected a folder to write, since there are several models")
    if label is not None:
        raise ModelError("--label: expected none, since each model of the folder has its own")
    return {entry.label: folder / report_name(entry) for entry in read_manifest(model)}


def _write_index(models: Path, folder: Path, title: str) -> None:
    from gdlnn.model.model_folder import read_manifest
    from gdlnn.report.index import write_index

    write_index(folder, read_manifest(models), title)


def tell_result(made: dict[str, Any], output: Path, *, as_json: bool, quiet: bool) -> None:
    """Print the model's score and the path of the report, as text or JSON."""
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
            echo(line)
        if left_out:
            echo(f"{were(left_out, 'graph')} left out, since the model was trained on them")
        echo(f"{output}: {output.stat().st_size / 1e6:.1f} MB")
