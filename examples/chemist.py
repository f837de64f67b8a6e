"""A chemist's own table: molecules with a yes or no in a csv, a model of them, a report to read.

    python examples/chemist.py [TABLE] [REPORT]

`examples/molecules.csv` is made up: "active" are primary aromatic amines, carboxylic acids and nitro
compounds, so one can see whether the programs find out.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gdlnn
from gdlnn.report import write_report

TABLE = Path(__file__).with_name("molecules.csv")


def main(table: Path = TABLE, report: Path = Path("molecules-report.html")) -> None:
    data = gdlnn.load_smiles(table, smiles="smiles", label="active", id="id")
    train, _, test = data.split(random_state=1, sizes=(0.7, 0, 0.3))
    print(f"{len(data)} molecules: {len(train)} to learn from, {len(test)} held out")

    model = gdlnn.GDLNNClassifier(verbose=False).fit(train)
    print(f"accuracy on held-out molecules: {model.score(test):.1%}")

    explanation = model.explain(test[0])
    print(explanation.describe())

    model.save(report.with_suffix(".gdlnn"))
    write_report(model, test, report, title="My molecules")
    print(f"report: {report}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
