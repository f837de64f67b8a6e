"""The study of regression: the error of GDLNNRegressor next to fingerprints, chemprop and the mean."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn import GDLNNRegressor, load_smiles
from repro import options as opt
from repro.cells import Clock, Study, Task, read_cells
from repro.inputs import FIRST_SPLIT, TARGETS, target_file, target_rows
from repro.statistics import OURS, compare, frame_of, summary_of, t_interval
from repro.tables import markdown, page, write_results

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from gdlnn import GraphDataset
    from repro.cells import Result, RunConfig

METHODS = {
    "gdlnn": "GDLNN",
    "gdlnn-linear": "GDLNN, linear head",
    "gdlnn-scorecard": "GDLNN, scorecard",
    "ecfp-rf": "ECFP4 counts + forest",
    "mean": "Mean",
}
HEADS = {"gdlnn": "auto", "gdlnn-linear": "linear", "gdlnn-scorecard": "scorecard"}
TITLES = {**METHODS, "chemprop": "chemprop"}
"""The rows of the tables; chemprop has a study of its own, whose cells are read from the same folder."""
NOTE = (
    "RMSE on random 90/10 splits. Differences to GDLNN are paired over splits, with 95% intervals of the "
    "corrected resampled t-test; * where p < 0.05 after Holm's correction within the dataset. Seconds are "
    "CPU time of a fit and its predictions, of chemprop wall time."
)


def regression(
    datasets: opt.Datasets = "all",
    methods: opt.Methods = "all",
    runs: opt.Runs = 10,
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = None,
    data: opt.Data = None,
    tables_only: opt.TablesOnly = False,
) -> None:
    """Compare methods on the regressions ESOL and pIC50 of BACE, on random splits, nine tenths for training.

    Example: python -m repro regression --datasets ESOL --methods gdlnn-linear,mean --runs 2
    """
    names = opt.read_names("--datasets", datasets, list(TARGETS))
    chosen = opt.read_names("--methods", methods, list(METHODS))
    cells: list[Result] = []
    if not tables_only:
        with Study("regression", opt.run_config(out, data, "cpu", jobs), opt.report) as study:
            cells = study.run(regression_tasks(names, chosen, runs), compute_regression)
    known = [*read_cells(out / "regression.jsonl"), *read_cells(out / "chemprop.jsonl")]
    opt.finish(write_regression(out, [cell for cell in known if cell["dataset"] in TARGETS]), out, cells)


def regression_tasks(datasets: Sequence[str], methods: Sequence[str], runs: int) -> list[Task]:
    """Return a task for each dataset, split and method."""
    return [
        Task("regression", name, method, seed=seed, protocol="repeated", split=f"random-{seed}")
        for name in datasets
        for seed in range(FIRST_SPLIT, FIRST_SPLIT + runs)
        for method in methods
    ]


def compute_regression(task: Task, config: RunConfig) -> Result:
    """Score a method on the test set of a split, and say how many values lie in their intervals."""
    table = load_smiles(
        target_file(task.dataset, config.data), label=TARGETS[task.dataset][1], threshold="number"
    )
    train, test = (table.take(rows) for rows in target_rows(len(table), task.seed))
    clock, y, truth = Clock(), np.asarray(train.y), np.asarray(test.y)
    found: Result = {}
    if task.method == "mean":
        predicted = np.full(len(truth), y.mean())
    elif task.method == "ecfp-rf":
        from sklearn.ensemble import RandomForestRegressor

        forest = RandomForestRegressor(500, random_state=task.seed, n_jobs=1).fit(fingerprints(train), y)
        predicted = forest.predict(fingerprints(test))
    else:
        model = GDLNNRegressor(head=HEADS[task.method], random_state=task.seed, n_jobs=1, verbose=False)
        answers: Any = model.fit(train).represent(test)
        predicted, bounds = answers.labels, answers.intervals
        held = (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])
        where = np.array([answer.domain for answer in answers.domains])
        parts = {
            name: [int(held[where == name].sum()), int((where == name).sum())] for name in np.unique(where)
        }
        found = {"held": parts, "width": float(np.diff(bounds).mean())}
    errors = predicted - truth
    metrics = {"rmse": float(np.sqrt(np.mean(errors**2))), "mae": float(np.abs(errors).mean())}
    return {"sizes": [len(train), 0, len(test)], "metrics": metrics, **found, "times": clock.read("fit")}


def fingerprints(data: GraphDataset) -> Any:
    """Return counts of circular fingerprints of radius 2."""
    from rdkit import Chem
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    molecules = map(Chem.MolFromSmiles, data.smiles or ())
    return np.stack([generator.GetCountFingerprintAsNumPy(molecule) for molecule in molecules])


# --- tables -----------------------------------------------------------------------------------------------


def write_regression(out: Path | str, cells: Sequence[Result]) -> str:
    """Write ``regression.md`` and ``.csv`` of the cells there are; return the tables."""
    fine = [cell for cell in cells if cell["status"] == "ok"]
    if not fine:
        return "There are no cells yet.\n"
    frame = frame_of(fine)
    sections = {"Regression": [NOTE, error_table(frame)], "Intervals": [interval_table(fine)]}
    measured = [name for name in ("rmse", "mae") if name in frame]  # chemprop alone has no mean error
    return write_results(out, "regression", fine, page(sections), summary_of(frame, measured))


def error_table(frame: pd.DataFrame) -> str:
    """Return the errors of each method by dataset, their differences to GDLNN's, and the seconds of a fit."""
    datasets = [name for name in TARGETS if name in set(frame["dataset"])]
    seconds = frame.get("fit_cpu_s", frame["seconds"]).fillna(frame["seconds"])
    found = compare(frame, OURS, list(TITLES), "rmse")
    header = [""]
    for dataset in datasets:
        header += [dataset, "minus GDLNN", "seconds"]
    rows = []
    for method in (name for name in TITLES if name in set(frame["row"])):
        row = [TITLES[method]]
        for dataset in datasets:
            own = frame[(frame["row"] == method) & (frame["dataset"] == dataset)]
            half = t_interval(own["rmse"].tolist())
            error = f"{own['rmse'].mean():.3f}" + ("" if half is None else f" ± {half:.3f}")
            gap = "–"
            if (dataset, method) in found.index:
                compared = found.loc[(dataset, method)]
                star = "\\*" if compared["corrected"] < 0.05 else ""
                gap = f"{-compared['difference']:+.3f} ± {compared['half']:.3f}{star}"
            row += [error, gap, f"{seconds[own.index].mean():.1f}"] if len(own) else ["not run", "–", "–"]
        rows.append(row)
    return markdown(header, rows)


def interval_table(cells: Sequence[Result]) -> str:
    """Return the share of held-out values inside their 90% intervals, over all splits, and by domain."""
    rows = []
    for dataset in TARGETS:
        for method in METHODS:
            several = [c for c in cells if (c["dataset"], c["method"]) == (dataset, method) and "held" in c]
            inside: Counter[str] = Counter()
            every: Counter[str] = Counter()
            for cell in several:
                for name, (n_held, n) in cell["held"].items():
                    inside.update({name: n_held, "all": n_held})
                    every.update({name: n, "all": n})
            if several:
                shares = [
                    f"{inside[name] / every[name]:.3f} ({every[name]})" if every[name] else "–"
                    for name in ("all", "inside", "edge", "outside")
                ]
                width = np.mean([cell["width"] for cell in several])
                rows.append([dataset, METHODS[method], *shares, f"{width:.2f}"])
    header = ["", "", "held", "inside the domain", "at its edge", "outside", "mean width"]
    return markdown(header, rows) if rows else ""
