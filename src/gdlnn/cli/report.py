"""`gdlnn report` and `gdlnn alerts`: a model on data as a page, and its programs as structural alerts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gdlnn.cli import options as opt
from gdlnn.cli.app import counted, echo, were
from gdlnn.cli.explain import class_of
from gdlnn.errors import ModelError, WriteError

if TYPE_CHECKING:
    from gdlnn.report.alerts import Alert


def report(
    model: opt.Models,
    dataset: opt.Dataset,
    output: Annotated[
        Path | None,
        opt.output("The .html file to write, report.html if not given; of a folder of models, a folder."),
    ] = None,
    title: Annotated[str, opt.option("Advanced", "The headline.", show_default="the name of the data")] = "",
    part: opt.HeldOutPart = None,
    label: opt.Label = None,
    smiles: opt.Smiles = None,
    positive: opt.Positive = None,
    data_dir: opt.DataDir = None,
    graphs: Annotated[int, opt.option("Advanced", "Maximum number of graphs in the gallery.", min=1)] = 400,
    jobs: opt.Jobs = -1,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write an HTML report: the model's programs, its scores and explanations of its predictions.

    The training table is read and split as in training, so the report is about held-out graphs; of another
    dataset all graphs are used. For a folder of models, one report each and an index are written.
    """
    from gdlnn.model.model_folder import load_models, read_manifest
    from gdlnn.report import ReportOptions, write_report
    from gdlnn.report.build import write_index

    targets = _targets(model, output, label)
    for target in targets.values():
        opt.check_output(target, *opt.model_files(model), dataset)
        opt.check_ending(target, ".html", ".htm")
    models = load_models(model)
    options = ReportOptions(max_graphs=graphs)
    table: dict[str, Any] = {"smiles": smiles, "label": label, "positive": positive, "root": data_dir}
    say = opt.timed_messages(quiet)
    with opt.given_input(dataset) as source:
        for name, fitted in models.items():
            fitted.set_params(n_jobs=jobs)
            fitted.layer_.set_params(n_jobs=jobs)
            held_out = opt.read_as_trained(source, fitted, part=part, **table)
            headline = title or (f"{held_out.name}: {name}" if name else "")
            found = write_report(fitted, held_out, targets[name], options, title=headline, say=say)
            print_result(found, targets[name], as_json=as_json, quiet=quiet)
    if "" not in models:
        write_index(next(iter(targets.values())).parent, read_manifest(model), title)


def _targets(model: Path, output: Path | None, label: str | None) -> dict[str, Path]:
    """Return the file of each report, by the label of its model."""
    from gdlnn.model.model_folder import read_manifest

    if not model.is_dir():
        return {"": output or Path("report.html")}
    folder = model if output is None else output
    if folder.suffix in (".html", ".htm") or (folder.exists() and not folder.is_dir()):
        raise WriteError(f"{folder.name}: expected a folder to write, since there are several models")
    if label is not None:
        raise ModelError("--label: expected none, since each model of the folder has its own")
    return {entry.label: folder / entry.report for entry in read_manifest(model)}


def print_result(report: dict[str, Any], output: Path, *, as_json: bool, quiet: bool) -> None:
    """Print the model's score and the path of the report, as text or JSON."""
    from gdlnn.model.scores import score_lines, value_score_lines

    found, left_out = report["performance"], report["data"]["held_out"]["left_out"]
    if as_json:
        opt.print_json({"report": str(output), "left_out": left_out, **found})
        return
    title = f"{found['n']} held-out graphs"
    if "unit" in report:
        lines = [*value_score_lines(title, found, report["unit"])]
    else:
        names = {item["label"]: item["name"] for item in report["classes"]}
        counts = report["data"]["training"]["classes"]
        lines = [*score_lines(title, found["scores"], found["majority"], counts, names.__getitem__)]
    if left_out:
        lines.append(f"{were(left_out, 'graph')} left out, since the model was trained on them")
    for line in [] if quiet else [*lines, f"{output}: {output.stat().st_size / 1e6:.1f} MB"]:
        echo(line)


# --- alerts -------------------------------------------------------------------------------------------------


def alerts(
    model: opt.Models,
    output: Annotated[
        Path,
        opt.output(
            "NAME.csv, NAME.json, NAME.smarts (a SMARTS a line), or NAME.catalog (an RDKit FilterCatalog, as "
            "its Serialize writes it); - writes csv to standard output."
        ),
    ],
    data: Annotated[
        str | None,
        opt.option(
            "Data",
            "The training table, whose test set is counted, or other molecules with labels.",
            metavar="DATASET",
        ),
    ] = None,
    part: opt.HeldOutPart = None,
    label: opt.Label = None,
    smiles: opt.Smiles = None,
    positive: opt.Positive = None,
    data_dir: opt.DataDir = None,
    most: Annotated[int, opt.option("Model", "Number of alerts; 0 for all.", "-n", "--most", min=0)] = 100,
    min_support: Annotated[
        int,
        opt.option("Model", "Fewest training molecules of an alert, and half as many held-out ones.", min=1),
    ] = 10,
    class_: Annotated[
        str | None, opt.option("Model", "Only alerts for this class (label or name).", "--class")
    ] = None,
    jobs: opt.Jobs = -1,
) -> None:
    """Write structural alerts: the name, SMARTS, counts, precision and odds ratio of each.

    The first alerts are the most reliable that add most molecules of their class. Programs that match the
    same training molecules or have the same SMARTS become one alert. Without --data the counts are from the
    training set and too optimistic: programs were chosen on these molecules.
    """
    from gdlnn.model.model_folder import load_models
    from gdlnn.report.alerts import find_alerts

    if not opt.is_stdout(output):
        opt.check_output(output, *opt.model_files(model), *([data] if data is not None else []))
        opt.check_ending(output, ".csv", ".json", ".smarts", ".catalog")
    table: dict[str, Any] = {"smiles": smiles, "label": label, "positive": positive, "root": data_dir}
    found: list[Alert] = []
    with opt.given_input(data or "") as source:
        for name, loaded in load_models(model).items():
            loaded.set_params(n_jobs=jobs)
            held_out = None if data is None else opt.read_as_trained(source, loaded, part=part, **table)
            wanted = class_of(loaded, class_)
            some = find_alerts(loaded, held_out, most or None, wanted, min_support)
            found += [replace(alert, model=name) for alert in some]
    with opt.opened(output) as write:
        write(_alerts_bytes(found, output.suffix.lower()))
    exact = sum(alert.exact for alert in found)
    text = f"{output.name}: {counted(len(found), 'alert')}, {exact} with an exact SMARTS"
    echo(text, err=opt.is_stdout(output))


def _alerts_bytes(found: list[Alert], ending: str) -> bytes:
    from gdlnn.report.alerts import alerts_csv, alerts_json, alerts_smarts, filter_catalog

    if ending == ".catalog":
        catalog: bytes = filter_catalog(found).Serialize()
        return catalog
    text = {".json": alerts_json, ".smarts": alerts_smarts}.get(ending, alerts_csv)
    return text(found).encode()
