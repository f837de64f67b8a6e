"""The command line: one file per command. What they share is in `options` and `app`."""

from gdlnn.cli import alerts, datasets, demo, evaluate, explain, mine, predict, report, serve, train
from gdlnn.cli.app import app, main

app.command("demo", epilog="Example: gdlnn demo MUTAG")(demo.demo)
app.add_typer(datasets.app, name="datasets", epilog="Example: gdlnn datasets info MUTAG")
app.command("mine", epilog="Example: gdlnn mine MUTAG -o programs.gdl")(mine.mine)
app.command("explain", epilog="Example: gdlnn explain model.gdlnn MUTAG --index 3 -o why.html")(
    explain.explain
)
app.command("train", epilog="Example: gdlnn train mine.csv --smiles smiles --label active -o model.gdlnn")(
    train.train
)
app.command("predict", epilog="Example: gdlnn predict model.gdlnn new.csv -o predictions.csv")(
    predict.predict
)
app.command("report", epilog="Example: gdlnn report model.gdlnn mine.csv --label active -o report.html")(
    report.report
)
app.command("alerts", epilog="Example: gdlnn alerts model.gdlnn --data mine.csv -o alerts.csv")(alerts.alerts)
app.command("serve", epilog="Example: gdlnn serve model.gdlnn, then open the address it says")(serve.serve)
app.add_typer(evaluate.app, name="evaluate", epilog="Example: gdlnn evaluate accuracy --datasets MUTAG")

__all__ = ["app", "main"]
