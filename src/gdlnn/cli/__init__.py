"""The command line: a file per command. What they share is in `options` and `app`."""

import os
from typing import Any

# Commands gain nothing from threads of BLAS, and each takes memory.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from gdlnn.cli import datasets, demo, explain, mine, predict, report, serve, train
from gdlnn.cli.app import Command, app, main

# In the order of a workflow, as `gdlnn --help` lists them, each with an example.
COMMANDS: dict[Any, str] = {
    demo.demo: "gdlnn demo MUTAG",
    datasets.datasets: "gdlnn datasets mine.csv --smiles smiles --label active",
    train.train: "gdlnn train mine.csv --smiles smiles --label active -o model.gdlnn",
    predict.predict: "gdlnn predict model.gdlnn new.csv -o predictions.csv",
    explain.explain: "gdlnn explain model.gdlnn MUTAG --row 3 -o why.html",
    report.report: "gdlnn report model.gdlnn mine.csv --label active -o report.html",
    report.alerts: "gdlnn alerts model.gdlnn --data mine.csv -o alerts.csv",
    serve.serve: "gdlnn serve model.gdlnn, then open the address it prints",
    mine.mine: "gdlnn mine MUTAG -o programs.jsonl",
}
for function, example in COMMANDS.items():
    app.command(cls=Command, epilog=f"Example: {example}")(function)

__all__ = ["app", "main"]
