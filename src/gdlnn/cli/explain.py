"""`gdlnn explain`: why a saved model says what it says, as text, a page, JSON or a picture."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gdlnn.cli.datasets import (  # noqa: TC001  (typer reads the annotations)
    DatasetArgument,
    IdOption,
    LabelOption,
    RootOption,
    SmilesOption,
)
from gdlnn.datasets.resolve import resolve_dataset
from gdlnn.errors import ExplanationError

if TYPE_CHECKING:
    from gdlnn.explain import Explanation
    from gdlnn.graphs import GraphDataset
    from gdlnn.model import GDLNNClassifier

SUFFIXES = (".html", ".json", ".svg")
SplitKind = Literal["paper", "random", "stratified", "scaffold"]
Part = Literal["train", "val", "test", "all"]


def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `gdlnn train` wrote.")],
    dataset: DatasetArgument,
    index: Annotated[
        list[int] | None, typer.Option("--index", "-i", help="Row to explain, from 0; may be repeated.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Explain every graph.")] = False,
    technique: Annotated[
        str, typer.Option(help="lime, lime_present, kernel_shap, integrated_gradients or linear.")
    ] = "lime",
    n_features: Annotated[int, typer.Option(help="How many programs an explanation names.")] = 5,
    target: Annotated[
        str | None, typer.Option(help="The class to explain, by label or name; else the predicted one.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="NAME.html (a page), NAME.json, or NAME.svg (one picture)."),
    ] = None,
    split: Annotated[SplitKind, typer.Option(help="How to split the data set.")] = "paper",
    part: Annotated[Part, typer.Option(help="Which part of the split the rows are of.")] = "all",
    seed: Annotated[int, typer.Option(help="Seed of the split and of the technique.")] = 0,
    smiles: SmilesOption = None,
    label: LabelOption = None,
    id_: IdOption = None,
    root: RootOption = None,
) -> None:
    """Explain predictions: the programs that decide, and where they are in the graph."""
    from gdlnn.explain import explain as explain_graphs
    from gdlnn.model import load_model

    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise ExplanationError(f"{output.name}: expected a name in .html, .json or .svg")
    loaded = load_model(model)
    data = resolve_dataset(dataset, smiles=smiles, label=label, id=id_, root=root)
    if part != "all":
        data = dict(zip(("train", "val", "test"), data.split(split, seed), strict=True))[part]
    rows = _rows(data, index, every)
    if output is not None and output.suffix.lower() == ".svg" and len(rows) != 1:
        raise ExplanationError(f"{output.name}: expected one row, since a picture shows one, got {len(rows)}")
    found = explain_graphs(
        loaded, [data.graphs[i] for i in rows], technique, n_features, _class(loaded, target), seed
    )
    if output is None:
        for row, explanation in zip(rows, found, strict=True):
            typer.echo(f"{explanation.graph.name or f'graph {row}'}: {explanation.describe()}")
        return
    _write(found, output, single=len(rows) == 1 and not every)
    typer.echo(f"{output.name}: {len(found)} explanation{'s' if len(found) != 1 else ''}")


def _rows(data: GraphDataset, index: list[int] | None, every: bool) -> list[int]:
    if every == bool(index) and len(data) != 1:
        raise ExplanationError(f"expected either --index or --all, since there are {len(data)} graphs")
    if not index:
        return list(range(len(data)))
    for row in index:
        if not 0 <= row < len(data):
            raise ExplanationError(f"--index: expected a row from 0 to {len(data) - 1}, got {row}")
    return index


def _class(model: GDLNNClassifier, word: str | None) -> Any:
    """Return the label that a word stands for, as it is or by its name."""
    if word is None:
        return None
    labels = model.classes_.tolist()
    names = {str(label): label for label in labels}
    if model.schema_ is not None:
        names |= {model.schema_.class_name(label): label for label in labels}
    if word not in names:
        raise ExplanationError(f"--target: expected one of {', '.join(names)}, got {word!r}")
    return names[word]


def _write(found: list[Explanation], output: Path, *, single: bool) -> None:
    from gdlnn.explain.drawing import explanation_page, write_text

    suffix = output.suffix.lower()
    if suffix == ".html":
        write_text(output, explanation_page(found))
    elif suffix == ".svg":
        write_text(output, found[0].draw())
    else:
        values = [explanation.to_json() for explanation in found]
        write_text(output, json.dumps(values[0] if single else values, indent=1) + "\n")
