"""The command line: one file per command, gathered here."""

from gdlnn.cli import datasets, demo, mine
from gdlnn.cli.app import app, main

app.command("demo")(demo.demo)
app.add_typer(datasets.app, name="datasets")
app.command("mine")(mine.mine)

__all__ = ["app", "main"]
