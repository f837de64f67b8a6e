"""chemprop side by side: its default settings, by its command line, on the splits of our own studies.

It runs in an environment of its own, `build/venv-chemprop`, or with an interpreter that has it.
"""

from __future__ import annotations

import subprocess
import tempfile
import venv
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
import typer

from gdlnn.errors import GDLNNError
from gdlnn.model.scores import classification_scores
from repro import options as opt
from repro.cells import PROJECT, Study, Task, by_dataset
from repro.inputs import FIRST_SPLIT, TARGETS, load_split, target_file, target_rows
from repro.metrics import log_loss
from repro.statistics import t_interval
from repro.tables import frame_markdown, page, write_results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repro.cells import Result, RunConfig

VERSION = "2.2.*"
ENVIRONMENT = PROJECT.parent / "build" / "venv-chemprop"
DATASETS = ("BBBP", "BACE", *TARGETS)
CALL = "from chemprop.cli.main import main; main()"
VERSION_CALL = "from importlib.metadata import version; print(version('chemprop'))"
SCORES = ("accuracy", "roc_auc", "log_loss", "rmse")


def chemprop(
    datasets: opt.Datasets = "all",
    runs: opt.Runs = 10,
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = 1,
    data: opt.Data = None,
    python: Annotated[
        Path | None, typer.Option(help="An interpreter that has chemprop; default: make an environment.")
    ] = None,
) -> None:
    """Train chemprop with its default settings on the splits of `accuracy --protocol repeated`.

    Regressions (ESOL, pIC50) have 90/10 splits; a ninth of the training set is chemprop's validation set.

    Example: python -m repro chemprop --datasets ESOL --runs 1 --out results
    """
    names = opt.read_names("--datasets", datasets, DATASETS)
    tasks = [
        Task("chemprop", name, "chemprop", seed=seed, protocol="repeated", split=f"random-{seed}")
        for name in names
        for seed in range(FIRST_SPLIT, FIRST_SPLIT + runs)
    ]
    interpreter = made_environment(ENVIRONMENT) if python is None else python.absolute()
    number = subprocess.run([interpreter, "-c", VERSION_CALL], capture_output=True, text=True, check=True)
    compute = partial(compute_chemprop, interpreter=str(interpreter), version=number.stdout.strip())
    with Study("chemprop", opt.run_config(out, data, "auto", jobs), opt.report) as study:
        cells = study.run(tasks, compute)
    opt.finish(write_chemprop(out, cells), out, cells)


def made_environment(folder: Path) -> Path:
    """Return the interpreter of an environment with chemprop; it is made where there is none."""
    interpreter = folder / "bin" / "python"
    if not (folder / "made").exists():
        opt.report(f"Installing chemprop {VERSION} into {folder.relative_to(PROJECT.parent)}")
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        constraints = str(PROJECT.with_name("constraints.txt"))
        subprocess.run([*pip, "-c", constraints, f"chemprop=={VERSION}"], check=True)
        (folder / "made").touch()
    return interpreter


def load_table(dataset: str, seed: int, folder: str | None) -> tuple[pd.DataFrame, bool]:
    """Return SMILES, targets ``y`` and the ``split`` of each row, and whether it is a regression."""
    if dataset not in TARGETS:
        split = load_split(dataset, "repeated", f"random-{seed}", folder)[0]
        parts = [pd.DataFrame({"smiles": part.smiles, "y": part.y}) for part in split]
        named = zip(parts, ("train", "val", "test"), strict=True)
        return pd.concat([part.assign(split=name) for part, name in named]), False
    read, column = pd.read_csv(target_file(dataset, folder)), TARGETS[dataset][1]
    table = pd.DataFrame({"smiles": read["smiles"].str.strip(), "y": read[column], "split": "train"})
    train, test = target_rows(len(table), seed)
    held_out = np.random.default_rng(seed).permutation(train)[: len(train) // 9]
    table.loc[held_out, "split"] = "val"
    table.loc[test, "split"] = "test"
    return table, True


def compute_chemprop(task: Task, config: RunConfig, interpreter: str, version: str) -> Result:
    """Train chemprop on one split; return the scores of its test predictions."""
    table, is_regression = load_table(task.dataset, task.seed, config.data)
    with tempfile.TemporaryDirectory() as folder:
        file, saved = Path(folder) / "table.csv", Path(folder) / "model"
        table.to_csv(file, index=False)
        words = ["train", "--data-path", str(file), "--splits-column", "split", "--save-dir", str(saved)]
        words += ["--smiles-columns", "smiles", "--target-columns", "y", "--pytorch-seed", str(task.seed)]
        words += ["--task-type", "regression" if is_regression else "classification"]
        done = subprocess.run(
            [interpreter, "-c", CALL, *words], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise GDLNNError(f"chemprop: {(done.stderr.strip() or done.stdout.strip())[-300:]}")
        predicted = pd.read_csv(saved / "model_0" / "test_predictions.csv")
    test = table[table["split"] == "test"]
    if predicted["smiles"].tolist() != test["smiles"].tolist():
        raise GDLNNError("chemprop: expected predictions of the test set, got those of other molecules")
    y, values = test["y"].to_numpy(), predicted["y"].to_numpy()
    metrics: dict[str, Any] = {"rmse": float(np.sqrt(np.mean((y - values) ** 2)))}
    if not is_regression:
        classes, proba = np.array([0, 1]), np.stack([1 - values, values], axis=1)
        metrics = {**classification_scores(y, proba, classes), "log_loss": log_loss(y, proba, classes)}
    sizes = [int((table["split"] == part).sum()) for part in ("train", "val", "test")]
    return {"sizes": sizes, "metrics": metrics, "chemprop": version}


def write_chemprop(out: Path | str, cells: Sequence[Result]) -> str:
    """Write ``chemprop.md`` and ``.csv``; return the table."""
    table = scores_table(cells)
    used = ", ".join(sorted({cell["chemprop"] for cell in cells if cell["status"] == "ok"}))
    words = f"chemprop {used}, default settings. Seconds are wall time."
    text = page({"chemprop": [words, frame_markdown(table)]})
    return write_results(out, "chemprop", cells, text, table)


def scores_table(cells: Sequence[Result]) -> pd.DataFrame:
    """Return the mean and the 95% interval of each score, and the mean seconds, by dataset."""
    rows = []
    for dataset, several in by_dataset(cells).items():
        row = {"dataset": dataset, "splits": str(len(several))}
        for score in SCORES:
            values = [cell["metrics"].get(score) for cell in several]
            known = [value for value in values if value is not None]
            half = t_interval(known)
            row[score] = f"{np.mean(known):.3f}" if known else "–"
            row[score] += f" ± {half:.3f}" if half is not None else ""
        rows.append({**row, "seconds": f"{np.mean([cell['seconds'] for cell in several]):.0f}"})
    return pd.DataFrame(rows)
