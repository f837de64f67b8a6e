"""The paper's recipe, tuned on a validation set, as a model file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdlnn.datasets import resolve_dataset
from gdlnn.errors import GDLNNError
from repro import options as opt
from repro.accuracy import best_of, compute_accuracy
from repro.cells import Study, Task
from repro.inputs import data_fingerprint
from repro.methods import find_method, fit_model

if TYPE_CHECKING:
    from gdlnn.graphs.splits import Split

RECIPE = "gdlnn-paper"


def paper(
    dataset: Annotated[str, typer.Argument(help="A dataset by name, a file or a folder.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.")],
    smiles: Annotated[str | None, typer.Option(help="The column with SMILES.")] = None,
    label: Annotated[str | None, typer.Option(help="The column with the label.")] = None,
    split: Annotated[
        str, typer.Option(help="auto, paper, random, stratified, scaffold or column:NAME.")
    ] = "auto",
    seed: opt.Seed = 0,
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = None,
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
    parts = data.split(split, seed)
    with Study("paper", opt.run_config(out, None, "cpu", jobs), opt.report) as study:
        model = tune(study, dataset, parts, seed)
    typer.echo(", ".join(f"{name} {value}" for name, value in model.choice_.items()))
    if len(parts.test):
        typer.echo(f"test, {len(parts.test)} graphs: accuracy {model.score(parts.test):.4f}")
    model.save(output)
    typer.echo(f"{output.name}: written")


def tune(study: Study, dataset: str, split: Split, seed: int = 0) -> Any:
    """Choose ε, k and the learning rate by accuracy on the validation set, then by its loss.

    Each combination is a cell of the study; programs are mined once for each ε. Return the best model,
    fitted.
    """
    if not len(split.val):
        raise GDLNNError("tune: expected at least one validation graph, got none")
    method = find_method(RECIPE)
    several = method.configurations("paper")
    task = Task("trial", dataset, RECIPE, seed=seed, split="given", n_configurations=len(several))
    task = replace(task, fingerprint="-".join(data_fingerprint(part) for part in split[:2]))
    trials = [replace(task, configuration=one) for one in several]
    scored = study.run(trials, partial(compute_accuracy, split=split))
    if failed := [trial for trial in scored if trial["status"] != "ok"]:
        raise GDLNNError(f"tune: {len(failed)} combination(s) failed: {failed[0]['reason']}")
    best = best_of(task, scored)
    model, _ = fit_model(method, best, study.config, split)
    by = f"accuracy on {len(split.val)} validation graphs out of {len(scored)} combinations"
    model.choice_ = {**best.configuration, "by": by}
    return model
