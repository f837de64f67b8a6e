"""The study of accuracy: methods × datasets under a protocol."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import typer

from gdlnn.errors import GDLNNError
from gdlnn.model.scores import METRICS, classification_scores
from repro import options as opt
from repro.accuracy_tables import write_accuracy
from repro.cells import NOT_APPLICABLE, Study, Task, described, failure, read_cells
from repro.inputs import FIRST_SPLIT, load_split, plan_splits
from repro.methods import METHODS, find_method, fit_model
from repro.metrics import log_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs.splits import Split
    from repro.cells import Protocol, Result, RunConfig
    from repro.methods import Grid


def accuracy(
    datasets: opt.Datasets = "all",
    methods: opt.Methods = "all",
    protocol: opt.Protocols = "paper",
    grid: Annotated[
        Literal["quick", "paper"],
        typer.Option(help="One documented configuration per method, or the paper's search space."),
    ] = "quick",
    configurations: Annotated[
        int | None,
        typer.Option(min=1, help="With --grid paper: try this many configurations, drawn with a fixed seed."),
    ] = None,
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = None,
    runs: opt.Runs = 5,
    data: opt.Data = None,
    device: opt.Device = "auto",
    limit: opt.Limit = None,
    tables_only: opt.TablesOnly = False,
) -> None:
    """Compare methods on datasets: accuracy, ROC-AUC, log loss, cost.

    Hyperparameters are chosen on the validation set only.

    Example: python -m repro accuracy --datasets synthetic:ba-2motifs --methods majority,mlp,gin,pl4xgl,gdlnn
    """
    names = opt.read_names("--methods", methods, list(METHODS))
    config = opt.run_config(out, data, device, jobs, limit)
    cells: list[Result] = []
    if not tables_only:
        with Study("accuracy", config, opt.report) as study:
            every = opt.read_datasets(datasets)
            cells = run_accuracy(study, every, names, protocol, grid, configurations, runs)
    opt.finish(write_accuracy(out, read_cells(out / "accuracy.jsonl"), protocol), out, cells)


def run_accuracy(
    study: Study,
    datasets: Sequence[str],
    methods: Sequence[str],
    protocol: Protocol = "paper",
    grid: Grid = "quick",
    n_configurations: int | None = None,
    n_runs: int = 5,
    first_split: int = FIRST_SPLIT,
) -> list[Result]:
    """Compute the cells of methods on datasets; return them.

    The grid "quick" is the documented configuration of each method; "paper" is its whole space, or
    `n_configurations` of it, chosen on the validation set. `plan_splits` has the protocols.
    """
    kind = study.file.stem
    cells, chosen, lost = [], [], []
    for dataset in datasets:
        for plan in plan_splits(protocol, n_runs, first_split):
            try:
                fingerprint = load_split(dataset, protocol, plan.name, study.config.data)[1]
            except (GDLNNError, OSError) as error:
                fingerprint, reason = "", failure(error)
            for method in map(find_method, methods):
                several = method.configurations(grid, n_configurations)
                first = Task(
                    kind,
                    dataset,
                    method.name,
                    several[0],
                    protocol=protocol,
                    split=plan.name,
                    fingerprint=fingerprint,
                    n_configurations=len(several),
                )
                tasks = [replace(first, seed=seed) for seed in plan.seeds[: None if method.random else 1]]
                if not fingerprint:
                    lost += [{**described(task), **reason} for task in tasks]
                    continue
                trials = [replace(first, study="trial", configuration=one) for one in several]
                cells += tasks
                chosen += [trials if len(several) > 1 else []] * len(tasks)
    scored = study.run([trial for trials in chosen for trial in trials], compute_accuracy, "trials")
    by_key = {result["key"]: result for result in scored}
    chosen_cells = [
        best_of(cell, [by_key[trial.key] for trial in trials])
        for cell, trials in zip(cells, chosen, strict=True)
    ]
    for cell in lost:
        study.record(cell)
    return [*study.run(chosen_cells, compute_accuracy), *lost]


def best_of(cell: Task, trials: Sequence[Result]) -> Task:
    """Give a cell the configuration with the best validation accuracy, among equals the lowest loss."""
    fine = [trial for trial in trials if trial["status"] == "ok"]
    if not fine:
        return cell
    best = min(fine, key=lambda trial: (-trial["metrics"]["accuracy"], trial["metrics"]["log_loss"]))
    return replace(cell, configuration=best["configuration"])


def compute_accuracy(task: Task, config: RunConfig, split: Split | None = None) -> Result:
    """Fit a method and score it: a trial on the validation set, a cell on the test set.

    A method that needs other graphs gets the status "n/a", which is not a failure. Without `split` it is the
    one that the task names.
    """
    split = split or load_split(task.dataset, task.protocol, task.split, config.data)[0]
    method = find_method(task.method)
    if reason := method.not_applicable(split.train.schema):
        return {"status": NOT_APPLICABLE, "reason": reason}
    model, times = fit_model(method, task, config, split)
    # Configurations are chosen on the validation set.
    part = split.val if task.study == "trial" else split.test
    assert part.y is not None
    started = time.perf_counter()
    proba = np.asarray(model.predict_proba(part), dtype=np.float64)
    times["predict"] = time.perf_counter() - started
    predicted = np.asarray(model.predict(part))
    scores = classification_scores(part.y, proba, model.classes_, predicted)
    metrics = {name: scores[name] for name in METRICS}
    history = getattr(getattr(model, "head_", model), "history_", ())
    return {
        "split_source": split.train.split_source,
        "sizes": [len(one) for one in split],
        "times": times,
        "metrics": {**metrics, "log_loss": log_loss(part.y, proba, model.classes_)},
        "truth": part.y.tolist(),
        "predicted": predicted.tolist(),
        "n_programs": len(model.programs_) if hasattr(model, "programs_") else None,
        "n_epochs": len(history) or None,
    }
