"""`gdlnn demo`: every step on one dataset, from graphs to a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.app import counted, echo
from gdlnn.cli.report import print_result
from gdlnn.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.graphs import GraphDataset
    from gdlnn.model import GDLNNClassifier

SYNTHETIC = "synthetic:ba-2motifs"
MOST_TARGETS = 400
LONGEST = 180
"""Maximum length of a program in words, in characters."""


def demo(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="[DATASET]", help="A dataset with labels.", show_default="300 graphs of BA-2Motifs"
        ),
    ] = f"{SYNTHETIC}:300",  # enough for a clear result, few enough for a minute
    output: Annotated[Path, opt.output("The HTML report to write.")] = Path("demo/report.html"),
    data_dir: opt.DataDir = None,
    jobs: opt.Jobs = -1,
    quiet: opt.Quiet = False,
) -> None:
    """Make or load graphs, mine programs, train, evaluate on held-out graphs, explain, write a report."""
    from gdlnn.datasets.resolve import resolve_dataset
    from gdlnn.report import ReportOptions, write_report

    opt.check_output(output)
    say = opt.timed_messages(quiet, err=False)
    data = resolve_dataset(dataset, root=data_dir)
    if data.y is None:
        raise ModelError(f"{dataset}: expected labelled graphs, got graphs without labels")
    say(f"{data.name or dataset}: {len(data)} graphs of {_classes(data)}")
    train, val, test = data.split("stratified" if dataset.startswith(SYNTHETIC) else "auto")
    say(f"Split: {len(train)} for training, {len(val)} for early stopping, {len(test)} held out")
    model = _fit(train, val, jobs, say)
    title = "BA-2Motifs" if dataset.startswith(SYNTHETIC) else data.name
    report = write_report(model, test, output, ReportOptions(max_counterfactuals=10), title=title)
    say(f"Evaluated and explained {report['performance']['n']} held-out graphs")
    if not quiet:
        _print_deciders(report)
    print_result(report, output, as_json=False, quiet=quiet)
    say(f"Done. Open {output} in a browser.")


def _classes(data: GraphDataset) -> str:
    counts = data.describe().class_counts
    names = data.schema.class_name if data.schema else str
    return ", ".join(f"{names(label)} ({count})" for label, count in counts.items())


def _fit(train: GraphDataset, val: GraphDataset, jobs: int, say: Callable[[str], None]) -> GDLNNClassifier:
    """Mine and train with one ε, without pooled features, with equal programs merged: quick and readable."""
    import numpy as np

    from gdlnn.graphs.splits import stratified_sample
    from gdlnn.mining import mine
    from gdlnn.model import GDLNNClassifier, Mined, MLPHead

    rows = None
    if len(train) > MOST_TARGETS:
        codes = np.unique(np.asarray(train.y), return_inverse=True)[1]
        rows = stratified_sample(codes, MOST_TARGETS, 0)
    mined = mine(train, epsilon=1.0, targets=rows, n_jobs=jobs, verbose=False)
    say(f"Mined {counted(len(mined), 'program')}")
    head = MLPHead(ensemble_size=3, epochs=60)
    model = GDLNNClassifier(Mined(epsilon=1.0, merge_equal=True), head, pooled=False, n_jobs=jobs)
    model.fit(train, validation=val, programs=mined)
    say(f"Trained a small network on the matches of {len(model.programs_)} distinct programs")
    return model


def _print_deciders(report: dict[str, Any]) -> None:
    """Print the strongest programs of each class, and the explanation of one graph."""
    from gdlnn.gdl.text import shortened

    names = {item["label"]: item["name"] for item in report["classes"]}
    words = {row["index"]: row["words"] for row in report["programs"]}
    echo("\nWhat decides:")
    for item in report["global"]:
        for program in item["programs"][:2]:
            text = shortened(words[program["index"]], LONGEST)
            figures = f"{program['coverage']:.0%} have it, precision {program['precision']:.0%}"
            echo(f"  for {names[item['label']]} ({figures}): {text}")
    echo("\nA few graphs:")
    for label in names:
        card = next((c for c in report["graphs"] if c["prediction"] == label), None)
        if card is not None:
            echo(f"  {card['name']}: {names[label]} ({card['probability']:.1%}), because of {_where(card)}")


def _where(card: dict[str, Any]) -> str:
    n_programs = sum(program["witness"] is not None for program in card["programs"])
    if not n_programs:
        return "the programs it does not contain"
    return f"{counted(n_programs, 'program')} on {len(card['nodes'])} of its {card['n_nodes']} nodes"
