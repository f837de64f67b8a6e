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
        "The datasets: list them, look at one, fetch it, convert it.",
        "Example: gdlnn datasets info MUTAG",
    ),
    LateCommand(
        "mine",
        "Mine programs from a dataset and write them as GDL text.",
        "Example: gdlnn mine MUTAG -o programs.gdl",
    ),
    LateCommand(
        "explain",
        "Explain predictions: the programs that decide, and where they are in the graph.",
        "Example: gdlnn explain model.gdlnn MUTAG --index 3 -o why.html",
    ),
    LateCommand(
        "train",
        "Train a model on a dataset and write it into one file.",
        "Example: gdlnn train mine.csv --smiles smiles --label active -o model.gdlnn",
    ),
    LateCommand(
        "predict",
        "Predict the label of every graph and write a table.",
        "Example: gdlnn predict model.gdlnn new.csv -o predictions.csv",
    ),
    LateCommand(
        "report",
        "Write what a model is made of, how good it is and why it decides as it does, as one HTML file.",
        "Example: gdlnn report model.gdlnn mine.csv --label active -o report.html",
    ),
    LateCommand(
        "alerts",
        "Write the substructures that speak for a class: name, SMARTS, counts, precision, odds ratio.",
        "Example: gdlnn alerts model.gdlnn --data mine.csv -o alerts.csv",
    ),
    LateCommand(
        "serve",
        "Serve a model: a page to ask it in a browser, and a JSON API.",
        "Example: gdlnn serve model.gdlnn, then open the address it says",
    ),
    LateCommand(
        "evaluate",
        "Studies: how good methods are on datasets, and what it costs.",
        "Example: gdlnn evaluate accuracy --datasets MUTAG",
    ),
)

__all__ = ["app", "main"]
