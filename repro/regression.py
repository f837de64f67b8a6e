"""`python -m repro regression`: the error of GDLNNRegressor next to fingerprints and the mean.

A cell (dataset, method, seed) is one JSON line of a file, so that a stopped study resumes.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gdlnn import GDLNNRegressor, GraphDataset, load_smiles
from repro.inputs import target_rows

TARGETS = {
    "ESOL": ("ESOL/ESOL.csv", "measured log solubility in mols per litre"),
    "BACE": ("BACE/bace.csv", "pIC50"),
}
"""The table of each dataset, and the column with its target."""
METHODS = ("gdlnn", "linear", "scorecard", "ecfp4", "mean")


def regression(
    out: Annotated[Path, typer.Option(help="The folder for regression.jsonl.")],
    data: Annotated[Path | None, typer.Option(help="The folder of the datasets.")] = None,
    first: Annotated[int, typer.Option(help="The first seed.")] = 11,
    seeds: Annotated[int, typer.Option(help="Number of random splits.")] = 10,
    jobs: Annotated[int, typer.Option(help="Number of threads.")] = 2,
) -> None:
    """Score methods on random splits, nine tenths for training; one JSON line for each cell."""
    file = out / "regression.jsonl"
    out.mkdir(parents=True, exist_ok=True)
    lines = map(json.loads, file.read_text().splitlines()) if file.is_file() else ()
    known = {(line["dataset"], line["method"], line["seed"]) for line in lines}
    for name, (path, target) in TARGETS.items():
        table = load_smiles(Path(data or os.environ["GDLNN_DATA"]) / path, label=target, threshold="number")
        for seed in range(first, first + seeds):
            train, test = (table.take(rows) for rows in target_rows(len(table), seed))
            for method in METHODS:
                if (name, method, seed) not in known:
                    cell = {
                        "dataset": name,
                        "method": method,
                        "seed": seed,
                        **_cell(method, train, test, jobs),
                    }
                    with file.open("a") as lines_file:
                        lines_file.write(json.dumps(cell) + "\n")
                    typer.echo(json.dumps(cell))


def _cell(method: str, train: GraphDataset, test: GraphDataset, jobs: int) -> dict[str, Any]:
    """Return the error of a method on a test set, and for intervals how many values of each domain hold."""
    started, y, truth = time.perf_counter(), np.asarray(train.y), np.asarray(test.y)
    found: dict[str, Any] = {}
    if method == "mean":
        predicted = np.full(len(truth), y.mean())
    elif method == "ecfp4":
        from sklearn.ensemble import RandomForestRegressor

        forest = RandomForestRegressor(500, random_state=0, n_jobs=jobs).fit(_fingerprints(train), y)
        predicted = forest.predict(_fingerprints(test))
    else:
        model = GDLNNRegressor(head="auto" if method == "gdlnn" else method, n_jobs=jobs, verbose=False)
        answers: Any = model.fit(train).represent(test)
        predicted, bounds = answers.labels, answers.intervals
        held = (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])
        where = np.array([answer.domain for answer in answers.domains])
        found = {
            name: [int(held[where == name].sum()), int((where == name).sum())] for name in np.unique(where)
        }
        found = {"held": found, "width": float(np.diff(bounds).mean())}
    rmse = float(np.sqrt(np.mean((predicted - truth) ** 2)))
    return {"rmse": rmse, **found, "seconds": time.perf_counter() - started}


def _fingerprints(data: GraphDataset) -> Any:
    """Return counts of circular fingerprints of radius 2."""
    from rdkit import Chem
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    molecules = map(Chem.MolFromSmiles, data.smiles or ())
    return np.stack([generator.GetCountFingerprintAsNumPy(molecule) for molecule in molecules])
