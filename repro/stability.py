"""How large explanations are, how often they are enough, and whether models of other seeds give the same.

For each dataset one split and a model for each seed, which changes the head and the bags that are mined.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
import typer

from gdlnn import GDLNNClassifier
from repro import options as opt
from repro.cells import Study, Task, by_dataset
from repro.inputs import load_data
from repro.metrics import jaccard
from repro.tables import datasets_in, frame_markdown, page, write_results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repro.cells import Result, RunConfig

FIGURES = ("accuracy", "Jaccard of nodes", "same class", "no reason", "nodes", "programs", "fidelity")


def stability(
    datasets: opt.Datasets = "all",
    runs: opt.Runs = 5,
    graphs: Annotated[int, typer.Option(min=1, help="Most test graphs that are explained.")] = 100,
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = None,
    data: opt.Data = None,
) -> None:
    """Compare the explanations that models of different seeds give.

    Example: python -m repro stability --datasets MUTAG --runs 2
    """
    names, rows = opt.read_datasets(datasets), tuple(range(graphs))
    tasks = [Task("stability", name, "gdlnn", seed=seed, rows=rows) for name in names for seed in range(runs)]
    with Study("stability", opt.run_config(out, data, "cpu", jobs), opt.report) as study:
        cells = study.run(tasks, compute_explanations)
    opt.finish(write_stability(out, cells), out, cells)


def write_stability(out: Path | str, cells: Sequence[Result]) -> str:
    """Write ``stability.md`` and ``.csv``; return the table."""
    several = by_dataset(cells)
    found = {name: compared(several[name]) for name in datasets_in(several)}
    table = pd.DataFrame.from_dict(found, orient="index", columns=list(FIGURES)).rename_axis("dataset")
    shown = table.map("{:.2f}".format).assign(accuracy=table["accuracy"].map("{:.1%}".format))
    text = page({"Stability": [frame_markdown(shown.reset_index())]})
    return write_results(out, "stability", cells, text, table.reset_index())


def compute_explanations(task: Task, config: RunConfig) -> Result:
    """Fit a model and explain the first test graphs; "enough": the nodes alone get the same class."""
    train, val, test = load_data(task.dataset, config.data)[0].split("auto")
    model = GDLNNClassifier(random_state=task.seed, n_jobs=1, verbose=False).fit(train, validation=val)
    explanations = model.explain(test.graphs[: len(task.rows)])
    alone = model.predict([e.subgraph for e in explanations]).tolist()
    found = [
        {
            "class": str(e.prediction),
            "nodes": [int(node) for node in e.nodes],
            "share": len(e.nodes) / e.graph.n_nodes,
            "programs": len(e.supporting),
            "has_reason": bool(e.has_reason),
            "enough": str(e.prediction) == str(label),
        }
        for e, label in zip(explanations, alone, strict=True)
    ]
    return {"accuracy": model.score(test), "explanations": found}


def compared(runs: Sequence[dict[str, Any]]) -> list[float]:
    """Return the figures of one dataset, as named in `FIGURES`."""
    same, overlaps = [], []
    for first, second in combinations([run["explanations"] for run in runs], 2):
        for one, other in zip(first, second, strict=True):
            same.append(one["class"] == other["class"])
            if same[-1] and one["nodes"] and other["nodes"]:
                overlaps.append(jaccard(one["nodes"], other["nodes"]))
    everything = [e for run in runs for e in run["explanations"]]
    shown = [e for e in everything if e["nodes"]]
    return [
        _mean([run["accuracy"] for run in runs]),
        _mean(overlaps),
        _mean(same),
        _mean([not e["has_reason"] for e in everything]),
        float(np.median([e["share"] for e in shown])) if shown else float("nan"),
        _mean([e["programs"] for e in shown]),
        _mean([e["enough"] for e in shown]),
    ]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
