"""`gdlnn demo`: every step on one dataset, from graphs to a report; and the paper's Figure 1."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.report import tell_result
from gdlnn.cli.terminal import counted, echo
from gdlnn.datasets.resolve import SYNTHETIC, resolve_dataset
from gdlnn.errors import ModelError
from gdlnn.gdl.text import shortened

if TYPE_CHECKING:
    from gdlnn.graphs import GraphDataset
    from gdlnn.model import GDLNNClassifier

FIGURE_1 = "figure-1"
N_GRAPHS = 300  # of BA-2Motifs: enough for a clear result, few enough for a minute
MOST_TARGETS = 400
LONGEST = 180
"""Maximum length of a program in words, in characters."""


def demo(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="[DATASET]",
            help=f"A dataset; by default BA-2Motifs, generated. {FIGURE_1}: the paper's example.",
        ),
    ] = SYNTHETIC,
    output: Annotated[Path, opt.output("The HTML report to write.")] = Path("demo/report.html"),
    graphs: Annotated[
        int, typer.Option(min=40, help="How many graphs of BA-2Motifs to generate.")
    ] = N_GRAPHS,
    seed: Annotated[int, opt.seed("Random seed.")] = 0,
    jobs: opt.Jobs = -1,
    root: opt.Root = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Make or load graphs, mine programs, train, evaluate on held-out graphs, explain, write a report."""
    if dataset == FIGURE_1:
        _show_figure_1()
        return
    opt.check_output(output)
    steps = Steps(silent=quiet or as_json)
    data = _graphs(dataset, graphs, seed, root)
    steps.done(f"{data.name or dataset}: {len(data)} graphs of {_classes(data)}")
    train, val, test = data.split("stratified" if dataset == SYNTHETIC else "auto", seed)
    steps.say(f"Split: {len(train)} for training, {len(val)} for early stopping, {len(test)} held out")
    model = _fit(train, val, seed, jobs, steps)
    title = "BA-2Motifs" if dataset == SYNTHETIC else data.name
    made = _report(model, test, output, seed, title, steps)
    _tell_deciders(made, steps)
    steps.say("")
    tell_result(made, output, as_json=as_json, quiet=quiet)
    steps.say(f"{steps.seconds():.0f} s in all. Open {output} in a browser.")


class Steps:
    """Print each finished step with the time it took."""

    def __init__(self, *, silent: bool) -> None:
        self.silent = silent
        self.started = self.last = time.monotonic()

    def say(self, text: str) -> None:
        """Print a line."""
        if not self.silent:
            echo(text)

    def done(self, text: str) -> None:
        """Print a finished step and how long it took."""
        now = time.monotonic()
        self.say(f"{text}  ({now - self.last:.1f} s)")
        self.last = now

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.started


def _graphs(dataset: str, n: int, seed: int, root: Path | None) -> GraphDataset:
    if dataset == SYNTHETIC:
        from gdlnn.datasets.motifs import make_ba_2motifs

        return make_ba_2motifs(n, seed)
    data = resolve_dataset(dataset, root=root)
    if data.y is None:
        raise ModelError(f"{dataset}: expected labelled graphs, got graphs without labels")
    return data


def _classes(data: GraphDataset) -> str:
    counts = data.describe().class_counts
    names = data.schema.class_name if data.schema else str
    return ", ".join(f"{names(label)} ({count})" for label, count in counts.items())


def _fit(train: GraphDataset, val: GraphDataset, seed: int, jobs: int, steps: Steps) -> GDLNNClassifier:
    """Mine and train with one ε, without pooled features, with equal programs merged: quick and readable."""
    import numpy as np

    from gdlnn.graphs.splits import stratified_sample
    from gdlnn.mining import mine
    from gdlnn.model import GDLNNClassifier, Mined, MLPHead

    rows = None
    if len(train) > MOST_TARGETS:
        codes = np.unique(np.asarray(train.y), return_inverse=True)[1]
        rows = stratified_sample(codes, MOST_TARGETS, seed)
    steps.say("Mining programs from the training graphs …")
    mined = mine(train, epsilon=1.0, targets=rows, n_jobs=jobs, seed=seed, progress=False)
    steps.done(f"Mined {counted(len(mined), 'program')}; the best of each class:")
    for label, _ in mined.info.label_counts:
        best = next((item for item in mined.ranked() if item.label == label), None)
        if best is not None:
            name = train.schema.class_name(label) if train.schema else str(label)
            words = best.program.describe(train.schema, directed=train.directed)
            steps.say(f"  {name}, in {best.n_matched} graphs: {shortened(words, LONGEST)}")
    model = GDLNNClassifier(
        Mined(epsilon=1.0, merge_equal=True),
        MLPHead(ensemble_size=3, epochs=60),
        pooled=False,
        seed=seed,
        n_jobs=jobs,
    )
    model.fit(train, validation=val, programs=mined)
    steps.done(f"Trained a small network on the matches of {len(model.programs_)} distinct programs")
    return model


def _report(
    model: GDLNNClassifier, test: GraphDataset, output: Path, seed: int, title: str, steps: Steps
) -> dict[str, Any]:
    from gdlnn.report import ReportOptions, write_report

    made = write_report(model, test, output, ReportOptions(seed=seed, max_counterfactuals=10), title=title)
    found = made["performance"]
    steps.done(
        f"Evaluated and explained {found['n']} held-out graphs: {found['n_right']} right, accuracy "
        f"{found['accuracy']:.1%} (always the commonest class: {found['majority']['accuracy']:.1%})"
    )
    return made


def _tell_deciders(made: dict[str, Any], steps: Steps) -> None:
    """Print the strongest program of each class, and the explanation of one graph."""
    names = {item["label"]: item["name"] for item in made["classes"]}
    words = {row["index"]: row["words"] for row in made["programs"]}
    steps.say("\nWhat decides:")
    for item in made["global"]:
        for program in item["programs"][:2]:
            told = shortened(words[program["index"]], LONGEST)
            figures = f"{program['coverage']:.0%} have it, precision {program['precision']:.0%}"
            steps.say(f"  for {names[item['label']]} ({figures}): {told}")
    steps.say("\nA few graphs:")
    for label in names:
        card = next((c for c in made["graphs"] if c["prediction"] == label), None)
        if card is None:
            continue
        steps.say(f"  {card['name']}: {names[label]} ({card['probability']:.1%}), because of {_where(card)}")


def _where(card: dict[str, Any]) -> str:
    n_programs = sum(program["witness"] is not None for program in card["programs"])
    if not n_programs:
        return "the programs it does not contain"
    return f"{counted(n_programs, 'program')} on {len(card['nodes'])} of its {card['n_nodes']} nodes"


# --- figure 1: four graphs, two programs, and the representations they give the graphs ----------------------

# Feature of each node, edges, label.
FIGURE_GRAPHS = {
    "G1": ([4.0, 2.0, 1.0, 1.0], [(0, 1), (1, 2), (1, 3)], 1),
    "G2": ([1.0, 2.0, 1.0, 4.0], [(0, 1), (1, 2), (1, 3)], 2),
    "G3": ([3.0, 2.0, 1.0, 3.0], [(0, 1), (1, 2), (2, 3)], 1),
    "G4": ([1.0, 2.0, 1.0, 3.0], [(0, 1), (1, 2), (2, 3)], 2),
}

FIGURE_PROGRAMS = {
    "P1": "node x <[3, 4]> node y <[2, 2]> node z <[1, 1]> edge (x, y) edge (y, z)",
    "P2": "node x <[1, 1]> node y <[0, 5]> node z <[1, 1]> edge (x, y) edge (y, z)",
}


def _show_figure_1() -> None:
    """Show how programs turn graphs into readable representations."""
    from rich.console import Console
    from rich.table import Table

    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Graph

    console = Console()
    programs = {name: Program.parse(text) for name, text in FIGURE_PROGRAMS.items()}
    for name, program in programs.items():
        console.print(f"\n[bold]Program {name}[/bold]")
        console.print(str(program), markup=False, highlight=False)
        console.print(program.describe(directed=True), style="italic", markup=False, highlight=False)

    table = Table(title="\nWhich programs match", title_justify="left")
    for column in ("graph", "nodes", "edges", "label", *programs, "representation"):
        table.add_column(column)
    for name, (features, edges, label) in FIGURE_GRAPHS.items():
        graph = Graph([[value] for value in features], edges, directed=True, name=name)
        row = [program.matches(graph) for program in programs.values()]
        table.add_row(
            name,
            " ".join(f"{value}" for value in features),
            " ".join(f"{u}→{v}" for u, v in edges),
            str(label),
            *("matches" if found else "–" for found in row),
            f"⟨{', '.join(str(float(found)) for found in row)}⟩",
        )
    console.print(table)
    console.print("\nGraphs with the same label get the same representation; a classifier builds on that.")
