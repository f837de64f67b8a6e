"""The paper's recipe, tuned on a validation set, as a model file."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (typer reads the annotations)
from typing import Annotated

import typer

from gdlnn.datasets import resolve_dataset
from gdlnn.errors import GDLNNError
from gdlnn.model import GDLNNClassifier
from repro import options as opt
from repro.tuning import tune


def paper(
    dataset: Annotated[str, typer.Argument(help="A dataset by name, a file or a folder.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.")],
    smiles: Annotated[str | None, typer.Option(help="The column with SMILES.")] = None,
    label: Annotated[str | None, typer.Option(help="The column with the label.")] = None,
    split: Annotated[
        str, typer.Option(help="auto, paper, random, stratified, scaffold or column:NAME.")
    ] = "auto",
    seed: opt.Seed = 0,
    jobs: Annotated[int, typer.Option("--jobs", help="Number of threads; -1 for all CPU cores.")] = -1,
) -> None:
    """Train as in the paper and save the model: ε, k and the learning rate are chosen on the validation set.

    Example: python -m repro paper MUTAG -o model.gdlnn
    """
    if output.is_dir() or not output.parent.is_dir():
        raise GDLNNError(f"{output}: expected a file to write, in a folder that is there")
    kind, _, name = split.partition(":")
    columns = [name] if kind == "column" else []
    data = resolve_dataset(dataset, label=label, smiles=smiles, columns=columns, min_classes=2)
    if data.y is None:
        raise GDLNNError(f"{dataset} has no labels; name their column with --label")
    train, val, test = data.split(split, seed)
    found = tune(train, val, GDLNNClassifier.paper(random_state=seed, n_jobs=jobs), report=opt.report)
    chosen = ", ".join(f"{name} {value}" for name, value in found.best_params.items())
    typer.echo(f"chosen among {len(found.table)}: {chosen}")
    if len(test):
        typer.echo(f"test, {len(test)} graphs: accuracy {found.best_estimator.score(test):.4f}")
    found.best_estimator.save(output)
    typer.echo(f"{output.name}: written")
