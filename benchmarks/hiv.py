"""Training and predicting at the size of the HIV set: 41,127 molecules, from a csv file with the defaults.

The molecules are recombined from pieces of BBBP and BACE, see `_recombined`. Tables and models stay in
build/benchmarks. With several sizes, the growth of the CPU time of training with their number is fitted.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import typer

from benchmarks._measuring import Cost, data_folder, run_gdlnn
from benchmarks._recombined import write_table

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = Path("build/benchmarks/hiv")
HIV = 41_127
HEADER = (
    *("molecules", "training, s", "CPU s", "CPU ms per molecule", "peak MB", "model MB"),
    *("predicting, CPU s", "peak MB"),
)
SHORT = {"molecules": "500"}


class Run(NamedTuple):
    """What training and predicting took on a table of molecules, and the size of the model."""

    molecules: int
    train: Cost
    predict: Cost
    model_mb: float


def run(
    molecules: Annotated[str, typer.Option(help="Sizes of tables, separated by commas.")] = str(HIV),
    jobs: Annotated[int, typer.Option(help="Number of threads.")] = 2,
    out: Annotated[Path | None, typer.Option(help="A Markdown file to write.")] = None,
) -> None:
    """Train on tables of molecules and predict them."""
    runs = [measured(int(size), jobs) for size in molecules.split(",")]
    text = report(runs, f"python -m benchmarks hiv --molecules {molecules} --jobs {jobs}")
    print(text)
    if out is not None:
        out.write_text(text, encoding="utf-8")


def measured(molecules: int, jobs: int) -> Run:
    """Run `gdlnn train` and `gdlnn predict` on a table of this many molecules."""
    table = FOLDER / f"molecules-{molecules}.csv"
    model, predictions = table.with_suffix(".gdlnn"), table.with_suffix(".predictions.csv")
    if not table.exists():
        write_table(table, molecules, data_folder())
    words = ("-j", str(jobs), "-q")
    train = run_gdlnn("train", str(table), "--label", "active", "-o", str(model), *words)
    predict = run_gdlnn("predict", str(model), str(table), "-o", str(predictions), *words)
    return Run(molecules, train, predict, model.stat().st_size / 2**20)


def report(runs: Sequence[Run], command: str) -> str:
    """Return the page: a table, and how CPU time grows."""
    lines = [
        "# Training time by the number of molecules",
        "",
        "The whole of `gdlnn train` with its defaults, from a csv file of molecules, recombined from",
        "those of the datasets, to the file of the model; then `gdlnn predict` on the same table.",
        "",
        f"Written by `{command}`.",
        "",
        f"| {' | '.join(HEADER)} |",
        "|" + "---|" * len(HEADER),
    ]
    for size, train, predict, model_mb in runs:
        cells = [f"{size:,}", f"{train.seconds:.0f}", f"{train.cpu:.0f}", f"{1000 * train.cpu / size:.1f}"]
        cells += [f"{train.peak_mb:.0f}", f"{model_mb:.1f}", f"{predict.cpu:.0f}", f"{predict.peak_mb:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    if len(runs) > 1:
        sizes, times = np.log([run.molecules for run in runs]), np.log([run.train.cpu for run in runs])
        exponent = np.polyfit(sizes, times, 1)[0]
        lines += ["", f"CPU time grows with |D|^{exponent:.2f}."]
    return "\n".join(lines) + "\n"
