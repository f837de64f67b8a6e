"""`gdlnn explain`: explain a saved model's predictions as text, a page, JSON or a picture."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.app import counted, echo
from gdlnn.errors import ExplanationError

if TYPE_CHECKING:
    from gdlnn.explain import Explanation
    from gdlnn.graphs import GraphDataset
    from gdlnn.graphs.graph import IntArray
    from gdlnn.model import GDLNNClassifier

Technique = Annotated[
    str | None,
    opt.option("Advanced", "How programs are weighed: also lime, kernel_shap.", show_default="contribution"),
]
BATCH = 200
"""Number of graphs explained at a time; progress is reported after each batch."""


def explain(
    model: opt.Models,
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET|SMILES", help="A dataset as for `gdlnn train`, or the SMILES of a molecule."
        ),
    ],
    output: Annotated[Path | None, opt.output("NAME.html, NAME.json, or NAME.svg (for one graph).")] = None,
    row: Annotated[
        list[int] | None,
        opt.option("Data", "Row to explain, numbered as in `gdlnn predict`; may be repeated.", "--row", "-r"),
    ] = None,
    every: Annotated[bool, opt.option("Data", "Explain every graph.", "--all")] = False,
    part: Annotated[opt.Part, opt.option("Data", "Which part of the split to explain.")] = "all",
    smiles: opt.Smiles = None,
    data_dir: opt.DataDir = None,
    overall: Annotated[
        bool,
        opt.option(
            "Model",
            "Explain the model instead: for each class, the kinds of places that speak for it, with their "
            "precision. Use graphs that are new to the model: --part test, or another dataset.",
            "--global",
        ),
    ] = False,
    class_: Annotated[
        str | None,
        opt.option(
            "Model", "The class to explain (label or name).", "--class", show_default="the predicted class"
        ),
    ] = None,
    n_reasons: Annotated[
        str,
        opt.option(
            "Model",
            "How many places to name at most; smallest: a small subgraph that alone gets the prediction.",
        ),
    ] = "5",
    technique: Technique = None,
    jobs: opt.Jobs = -1,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Explain predictions: which places of a graph decide, and how much each adds.

    Prints the explanations, with --json as JSON; or writes them to --output.
    """
    from gdlnn.drawing import write_text
    from gdlnn.explain import explain as explain_graphs
    from gdlnn.explain.explainer import make_technique
    from gdlnn.model.model_folder import load_models
    from gdlnn.progress import progress_bar

    wanted = _n_reasons(n_reasons)
    if overall and (row or every):
        raise ExplanationError("--global explains the model; leave out --row and --all")
    ending = ".json" if as_json else ".txt"
    if output is not None and not opt.is_stdout(output):
        opt.check_output(output, *opt.model_files(model), dataset)
        opt.check_ending(output, ".html", ".json", ".svg")
        ending = output.suffix.lower()
    models = load_models(model)
    table: dict[str, Any] = {"smiles": smiles, "root": data_dir}
    found: list[Explanation] = []
    texts: list[str] = []
    n_graphs = 0
    with opt.given_input(dataset) as source:
        for label, loaded in models.items():
            loaded.set_params(n_jobs=jobs)
            data = _molecule(loaded, source, data_dir)
            if data is None:
                data = opt.read_as_trained(source, loaded, part=part, with_labels=False, **table)
            n_graphs = len(data)
            if overall:
                texts.append(_global_text(loaded, data, ending, single=len(models) == 1))
                continue
            places = _places(data, row, every, ending)
            options = (make_technique(technique), wanted, class_of(loaded, class_))
            some = _named(data.take(places), data.file_rows[places], label)
            with progress_bar("explaining", len(some), wanted=not quiet) as update:
                for start in range(0, len(some), BATCH):
                    found += explain_graphs(loaded, some[start : start + BATCH], *options)
                    update(completed=len(found))
    if overall:
        text, what = "".join(texts), counted(n_graphs, "graph")
    else:
        text, what = (
            _text(found, ending, single=len(found) == 1 and not every),
            counted(len(found), "explanation"),
        )
    if output is None or opt.is_stdout(output):
        echo(text, nl=False)
        return
    write_text(output, text)
    if not quiet:
        echo(f"{output.name}: {what}")


def _named(data: GraphDataset, rows: IntArray, label: str) -> GraphDataset:
    """Return graphs with names, those of a folder of models with the label that is explained."""
    for place, row in enumerate(rows):
        graph = data.graphs[place]
        name = graph.name or f"row {row}"
        data.graphs[place] = graph._renamed(graph.schema, f"{label}: {name}" if label else name)
    return data


def _text(found: list[Explanation], ending: str, *, single: bool) -> str:
    """Return the explanations in a format; as JSON, a single --row as an object, otherwise a list."""
    from gdlnn.explain.pictures import explanation_page

    if ending == ".html":
        return explanation_page(found)
    if ending == ".svg":
        return found[0].draw()
    if ending == ".json":
        values = [one.to_json() | {"name": one.graph.name} for one in found]
        return json.dumps(values[0] if single else values, indent=1) + "\n"
    return "".join(f"{one.graph.name}: {one.describe()}\n" for one in found)


def _global_text(model: GDLNNClassifier, data: GraphDataset, ending: str, *, single: bool) -> str:
    """Return the global explanation in a format."""
    from gdlnn.explain import explain_model

    if not single and ending != ".txt":
        raise ExplanationError("--global explains one model of a folder; name its file")
    if ending == ".svg":
        raise ExplanationError("--global writes .html or .json; choose another --output")
    found = explain_model(model, data)
    if ending == ".html":
        return found.to_html()
    return (json.dumps(found.to_json(), indent=1) if ending == ".json" else found.describe()) + "\n"


def _molecule(model: GDLNNClassifier, text: str, root: Path | None) -> GraphDataset | None:
    """Parse a word as SMILES; return None for a dataset, a file or anything else."""
    from gdlnn.datasets.molecules import parse_smiles
    from gdlnn.datasets.resolve import is_dataset
    from gdlnn.graphs import GraphDataset
    from gdlnn.model.inputs import Conversion

    if model.reading is None or text == "-" or is_dataset(text, root) or parse_smiles(text)[0] is None:
        return None
    graph = Conversion.of_model(model).graph(text)
    return GraphDataset([graph], smiles=[text], reading=model.reading)


def _n_reasons(text: str) -> Any:
    if text == "smallest":
        return text
    try:
        return int(text)
    except ValueError:
        raise ExplanationError(f"--n-reasons: expected a whole number or smallest, got {text!r}") from None


def _places(data: GraphDataset, rows: list[int] | None, every: bool, ending: str) -> list[int]:
    """Return the positions of the graphs to explain."""
    if every == bool(rows) and len(data) != 1:
        raise ExplanationError(f"choose --row or --all: there are {len(data)} graphs")
    place_of = {row: place for place, row in enumerate(data.file_rows.tolist())}
    for row in rows or ():
        if row not in place_of:
            raise ExplanationError(f"--row: expected a row from 1 to {max(place_of)} with a graph, got {row}")
    if ending == ".svg" and len(rows or place_of) != 1:
        raise ExplanationError(
            f"an SVG shows one graph, got {len(rows or place_of)}; choose one with --row or write .html"
        )
    return [place_of[row] for row in rows or place_of]


def class_of(model: GDLNNClassifier, word: str | None) -> Any:
    """Return the label that a word means: the label itself or its name."""
    from gdlnn.model.program_effects import SIDES

    if word is None:
        return None
    labels = model.classes_.tolist() if hasattr(model, "classes_") else list(SIDES)
    names = {str(label): label for label in labels}
    if model.schema_ is not None:
        names |= {model.schema_.class_name(label): label for label in labels}
    if word not in names:
        raise ExplanationError(f"--class: expected one of {', '.join(names)}, got {word!r}")
    return names[word]
