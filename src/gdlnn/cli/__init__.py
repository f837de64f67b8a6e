"""The command line: one file per command. What they share is in `options` and `app`."""

from gdlnn.cli.app import Commands, app, main
from gdlnn.cli.late import LateCommand

Commands.late = (
    LateCommand(
        "demo",
        "Make or load graphs, mine programs, train, evaluate on held-out graphs, explain, write a report.",
        "Example: gdlnn demo MUTAG",
    ),
    LateCommand(
        "datasets",
        "List, inspect, download and convert datasets.",
        "Example: gdlnn datasets info MUTAG",
    ),
    LateCommand(
        "mine",
        "Mine programs from a dataset and write them as GDL text.",
        "Example: gdlnn mine MUTAG -o programs.gdl",
    ),
    LateCommand(
        "explain",
        "Explain predictions: which programs decide, and where they match.",
        "Example: gdlnn explain model.gdlnn MUTAG --index 3 -o why.html",
    ),
    LateCommand(
        "train",
        "Train a model on a dataset and save it to one file.",
        "Example: gdlnn train mine.csv --smiles smiles --label active -o model.gdlnn",
    ),
    LateCommand(
        "predict",
        "Predict the label of every graph and write a table.",
        "Example: gdlnn predict model.gdlnn new.csv -o predictions.csv",
    ),
    LateCommand(
        "report",
        "Write an HTML report: the model's programs, its scores and explanations of its predictions.",
        "Example: gdlnn report model.gdlnn mine.csv --label active -o report.html",
    ),
    LateCommand(
        "alerts",
        "Write structural alerts: the name, SMARTS, counts, precision and odds ratio of each.",
        "Example: gdlnn alerts model.gdlnn --data mine.csv -o alerts.csv",
    ),
    LateCommand(
        "serve",
        "Serve a model, or a folder of models: a web page and a JSON API.",
        "Example: gdlnn serve model.gdlnn, then open the address it prints",
    ),
)

__all__ = ["app", "main"]
