"""Other heads and other inputs than those of the default model, one changed at a time.

Splits have seeds from 301, which no reported figure uses: defaults may be chosen on them.
"""

from __future__ import annotations

from pathlib import Path

from repro import options as opt
from repro.accuracy import run_accuracy
from repro.accuracy_tables import write_differences
from repro.cells import Study
from repro.statistics import OURS

FIRST_SPLIT = 301
HEADS = ("gdlnn-linear", "gdlnn-scorecard", "ablation-no-linear", "ablation-mlp")
INPUTS = ("ablation-no-pooled", "ablation-counts")


def heads(
    datasets: opt.Datasets = "all",
    runs: opt.Runs = 4,
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = None,
    data: opt.Data = None,
) -> None:
    """Compare heads and inputs with those of the default model, on splits that defaults are chosen on.

    Example: python -m repro heads --datasets MUTAG --runs 2
    """
    with Study("heads", opt.run_config(out, data, "cpu", jobs), opt.report) as study:
        every, methods = opt.read_datasets(datasets), (OURS, *HEADS, *INPUTS)
        cells = run_accuracy(study, every, methods, "repeated", n_runs=runs, first_split=FIRST_SPLIT)
    opt.finish(write_differences(out, "heads", "Heads", cells), out, cells)
