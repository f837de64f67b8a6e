"""The command line: one file per command, gathered here."""

from gdlnn.cli import datasets, demo, evaluate, explain, mine, predict, report, train
from gdlnn.cli.app import app, main

app.command("demo")(demo.demo)
app.add_typer(datasets.app, name="datasets")
app.command("mine")(mine.mine)
app.command("explain")(explain.explain)
app.command("train")(train.train)
app.command("predict")(predict.predict)
app.command("report")(report.report)
app.add_typer(evaluate.app, name="evaluate")

__all__ = ["app", "main"]
