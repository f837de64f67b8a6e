"""`gdlnn explain`: explain a saved model's predictions as text, a page, JSON or a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.terminal import echo
from gdlnn.datasets.molecules import parse_smiles
from gdlnn.datasets.registry import REGISTRY, canonical_name
from gdlnn.errors import ExplanationError
from gdlnn.graphs import GraphDataset
from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gdlnn.explain import Explanation
    from gdlnn.model import GDLNNClassifier

SUFFIXES = (".html", ".json", ".svg")
BATCH = 50
"""Number of graphs explained at a time."""
AT_ONCE = 200
"""Progress is reported after this many explanations."""


def explain(
    model: opt.Model,
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET|SMILES", help="A dataset as for `gdlnn train`, or the SMILES of a molecule."
        ),
    ],
    index: Annotated[
        list[int] | None,
        typer.Option("--index", "-i", help="Row to explain, counted from 0; may be repeated."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Explain every graph.")] = False,
    overall: Annotated[
        bool,
        typer.Option(
            "--global",
            help="Explain the model instead: for each class, a few programs with high precision, and how "
            "many of its graphs they cover. Use graphs the model was not trained on: --part test, or "
            "another dataset.",
        ),
    ] = False,
    technique: opt.Technique = None,
    n_features: Annotated[
        str,
        typer.Option(
            help="How many programs an explanation names; smallest: the smallest subgraph of a program that "
            "alone gets the prediction."
        ),
    ] = "5",
    target: Annotated[
        str | None, typer.Option(help="The class to explain (label or name); by default the predicted class.")
    ] = None,
    output: Annotated[
        Path | None,
        opt.output("NAME.html, NAME.json, or NAME.svg (for one graph)."),
    ] = None,
    split: opt.SplitAsTrained = None,
    part: Annotated[opt.Part, typer.Option(help="Which part of the split to explain.")] = "all",
    seed: Annotated[int, opt.seed()] = 0,
    jobs: opt.Jobs = -1,
    smiles: opt.Smiles = None,
    label: opt.Label = None,
    id_: opt.Id = None,
    encoding: opt.Encoding = "utf-8",
    root: opt.Root = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Explain predictions: which programs decide, and where they match.

    Prints the explanations, with --json as JSON; or writes them to --output, and with --json prints the path.
    """
    from gdlnn.explain.explainer import make_technique
    from gdlnn.model import load_model

    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise ExplanationError(f"{output.name}: expected a name that ends in .html, .json or .svg")
    if output is not None:
        opt.check_output(output, model, dataset)
    wanted = _n_features(n_features)
    loaded = load_model(model).set_params(n_jobs=jobs)
    table: dict[str, Any] = {"smiles": smiles, "label": label, "id": id_, "root": root, "encoding": encoding}
    data = _molecule(loaded, dataset)
    if data is None:
        with opt.given_input(dataset) as source:
            data = opt.read_as_trained(
                source, loaded, split=split, seed=seed, part=part, with_labels=False, **table
            )
    if overall:
        _explain_model(loaded, data, output, given=bool(index) or every, as_json=as_json, quiet=quiet)
        return
    rows = _rows(data, index, every)
    if output is not None and output.suffix.lower() == ".svg" and len(rows) != 1:
        raise ExplanationError(
            f"{output.name}: an SVG shows one graph, got {len(rows)}; choose one with --index or write .html"
        )
    options = (make_technique(technique), wanted, class_of(loaded, target), seed)
    found = _explanations(loaded, data, rows, options, opt.timed_messages(quiet))
    single = len(rows) == 1 and not every
    if output is None:
        _print(found, rows, as_json=as_json, single=single)
        return
    _write(found, output, single=single)
    if as_json:
        opt.print_json({"output": str(output), "explanations": len(rows)})
    elif not quiet:
        echo(f"{output.name}: {len(rows)} explanation{'s' if len(rows) != 1 else ''}")


def _explanations(
    model: GDLNNClassifier,
    data: GraphDataset,
    rows: list[int],
    options: tuple[Any, ...],
    say: Callable[[str], None],
) -> Iterator[Explanation]:
    """Give the explanations one batch after another, and report progress."""
    from gdlnn.explain import explain as explain_graphs

    for start in range(0, len(rows), BATCH):
        if start and start % AT_ONCE == 0:
            say(f"{start} of {len(rows)} graphs explained")
        yield from explain_graphs(model, data.take(rows[start : start + BATCH]), *options)


def _molecule(model: GDLNNClassifier, text: str) -> GraphDataset | None:
    """Parse a word as SMILES; return None for a dataset, a file or anything else."""
    from gdlnn.model.inputs import Conversion

    if model.reading_ is None or text == "-" or Path(text).exists() or canonical_name(text) in REGISTRY:
        return None
    if parse_smiles(text)[0] is None:
        return None
    graph = Conversion.of_model(model).graph(text)
    return GraphDataset([graph], smiles=[text], reading=model.reading_)


def _explain_model(
    model: GDLNNClassifier,
    data: GraphDataset,
    output: Path | None,
    *,
    given: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Print the global explanation, or write it."""
    from gdlnn.drawing import write_text
    from gdlnn.explain import explain_model

    if given:
        raise ExplanationError("--global explains the model; leave out --index and --all")
    if output is not None and output.suffix.lower() == ".svg":
        raise ExplanationError(f"{output.name}: --global writes .html or .json; choose another --output")
    found = explain_model(model, data)
    values = json.dumps(found.to_json(), indent=1) + "\n"
    if output is None:
        echo(values if as_json else found.describe(), nl=not as_json)
        return
    write_text(output, found.to_html() if output.suffix.lower() == ".html" else values)
    if as_json:
        opt.print_json({"output": str(output), "graphs": found.n_graphs})
    elif not quiet:
        echo(f"{output.name}: {found.n_graphs} graphs")


def _n_features(text: str) -> Any:
    if text == "smallest":
        return text
    try:
        return int(text)
    except ValueError:
        raise ExplanationError(f"--n-features: expected a whole number or smallest, got {text!r}") from None


def _print(found: Iterator[Explanation], rows: list[int], *, as_json: bool, single: bool) -> None:
    if as_json:
        for text in _json(found, single=single):
            echo(text, nl=False)
        return
    for row, explanation in zip(rows, found, strict=True):
        echo(f"{explanation.graph.name or f'graph {row}'}: {explanation.describe()}")


def _rows(data: GraphDataset, index: list[int] | None, every: bool) -> list[int]:
    if every == bool(index) and len(data) != 1:
        raise ExplanationError(f"choose --index or --all: there are {len(data)} graphs")
    if not index:
        return list(range(len(data)))
    for row in index:
        if not 0 <= row < len(data):
            raise ExplanationError(f"--index: expected a row from 0 to {len(data) - 1}, got {row}")
    return index


def class_of(model: GDLNNClassifier, word: str | None) -> Any:
    """Return the label that a word means: the label itself or its name."""
    if word is None:
        return None
    labels = model.classes_.tolist()
    names = {str(label): label for label in labels}
    if model.schema_ is not None:
        names |= {model.schema_.class_name(label): label for label in labels}
    if word not in names:
        raise ExplanationError(f"--target: expected one of {', '.join(names)}, got {word!r}")
    return names[word]


def _write(found: Iterator[Explanation], output: Path, *, single: bool) -> None:
    """Write the file, which appears when it is complete."""
    from gdlnn.drawing import write_text
    from gdlnn.explain.pictures import explanation_page

    suffix = output.suffix.lower()
    if suffix == ".html":
        write_text(output, explanation_page(list(found)))
    elif suffix == ".svg":
        write_text(output, next(found).draw())
    else:
        with atomic_write(output) as file:
            for text in _json(found, single=single):
                file.write(text.encode())


def _json(found: Iterator[Explanation], *, single: bool) -> Iterator[str]:
    """Give the explanations as pieces of JSON: a single --index as an object, otherwise a list."""
    if single:
        yield json.dumps(next(found).to_json(), indent=1) + "\n"
        return
    start = "["
    for explanation in found:
        yield f"{start}\n{json.dumps(explanation.to_json(), indent=1)}"
        start = ","
    yield "[]\n" if start == "[" else "\n]\n"
