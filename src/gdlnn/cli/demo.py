"""`gdlnn demo`: every step on one dataset, from graphs to a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.app import counted, echo
from gdlnn.cli.report import print_result
from gdlnn.errors import ModelError

SYNTHETIC = "synthetic:ba-2motifs"


def demo(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="[DATASET]", help="A dataset with labels.", show_default="200 graphs of BA-2Motifs"
        ),
    ] = f"{SYNTHETIC}:200",  # enough for a clear result, few enough for ten seconds
    output: Annotated[Path, opt.output("The HTML report to write.")] = Path("demo/report.html"),
    quiet: opt.Quiet = False,
) -> None:
    """Make or load graphs, train, evaluate on held-out graphs, explain, write a report."""
    from gdlnn.datasets.resolve import resolve_dataset
    from gdlnn.model import GDLNNClassifier
    from gdlnn.report import ReportOptions, write_report

    opt.check_output(output)
    say = opt.timed_messages(quiet, err=False)
    data = resolve_dataset(dataset)
    if data.y is None:
        raise ModelError(f"{dataset}: expected labeled graphs, got graphs without labels")
    names = data.schema.class_name if data.schema else str
    classes = ", ".join(f"{names(label)} ({n})" for label, n in data.describe()["classes"].items())
    say(f"{data.name or dataset}: {len(data)} graphs of {classes}")
    train, _, test = data.split(sizes=(0.9, 0.0, 0.1))
    say(f"Split: {len(train)} for training, {len(test)} held out")
    model = GDLNNClassifier(n_jobs=-1, verbose=False).fit(train)
    say(f"Trained a logistic regression and a forest on {counted(len(model.programs_), 'program')}")
    title = "BA-2Motifs" if dataset.startswith(SYNTHETIC) else data.name
    report = write_report(model, test, output, ReportOptions(max_counterfactuals=3), title=title)
    say(f"Evaluated and explained {report['performance']['n']} held-out graphs")
    if not quiet:
        echo(f"\nWhy {test.graphs[0].name or 'this graph'}: {model.explain(test.graphs[0]).describe()}\n")
    print_result(report, output, as_json=False, quiet=quiet)
    say(f"Done. Open {output} in a browser.")
