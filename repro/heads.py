"""Other heads and other inputs on the programs of the default model, paired over splits.

All variants of a split share the programs. "counts": how often a program matches, not whether.
Splits have seeds from 301, which no reported figure uses: defaults may be chosen on them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn import GDLNNClassifier
from gdlnn.model.scores import classification_scores
from repro import options as opt
from repro.cells import Study, run_seeds
from repro.inputs import load_data
from repro.metrics import log_loss
from repro.paired import write_paired

if TYPE_CHECKING:
    from repro.cells import Result, RunConfig, Task

FIRST_SEED = 301
SCORES = ("accuracy", "ROC-AUC", "log loss")
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "without pooled features": {"pooled": False},
    "counts": {"activation": "count"},
    "perceptrons": {"head": "mlp"},
    "forest": {"head": "forest"},
    "linear": {"head": "linear"},
}


def heads(
    datasets: opt.Datasets = "all",
    runs: opt.Runs = 4,
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = None,
    data: opt.Data = None,
) -> None:
    """Compare heads and inputs on the programs of the default model.

    Example: python -m repro heads --datasets MUTAG --runs 2
    """
    with Study("heads", opt.run_config(out, data, "cpu", jobs), opt.report) as study:
        seeds = range(FIRST_SEED, FIRST_SEED + runs)
        cells = run_seeds(study, opt.read_datasets(datasets), seeds, compute_heads)
    opt.finish(write_paired(out, "heads", cells, SCORES), out, cells)


def compute_heads(task: Task, config: RunConfig) -> Result:
    """Return the scores of every variant on the test set of one split."""
    train, val, test = load_data(task.dataset, config.data)[0].split("random", task.seed)
    scores, programs = {}, None
    for title, changes in VARIANTS.items():
        model = GDLNNClassifier(n_jobs=1, verbose=False, **changes)
        model.fit(train, validation=val, programs=programs)
        programs = model.programs_ if programs is None else programs
        y, proba = np.asarray(test.y), np.asarray(model.predict_proba(test))
        found = classification_scores(y, proba, model.classes_)
        values = [found["accuracy"], found["roc_auc"], log_loss(y, proba, model.classes_)]
        scores[title] = [float("nan") if value is None else value for value in values]
    return {"scores": scores}
