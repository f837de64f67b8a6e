"""How large explanations are, how often they are enough, and whether models of other seeds give the same.

For each dataset one split and a model for each seed, which changes the head and the bags that are mined.
"""

from __future__ import annotations

import logging
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from gdlnn import GDLNNClassifier, load_dataset
from repro.metrics import jaccard
from repro.paired import DATASETS
from repro.rows import OUT, measure_all
from repro.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADER = (
    *("dataset", "accuracy", "Jaccard of nodes", "same class", "no reason", "nodes", "programs"),
    "fidelity",
)


def stability(
    datasets: Annotated[str, typer.Option(help="Datasets, separated by commas.")] = DATASETS,
    seeds: Annotated[int, typer.Option(min=1, help="Number of models for each dataset.")] = 5,
    graphs: Annotated[int, typer.Option(min=1, help="Most test graphs that are explained.")] = 100,
    jobs: Annotated[int, typer.Option(help="Number of processes.")] = 1,
    out: Annotated[Path, typer.Option(help=OUT)] = Path("build/results/stability.jsonl"),
) -> None:
    """Compare the explanations that models of different seeds give."""
    rows = []
    for name in datasets.split(","):
        settings = [{"name": name, "seed": seed, "n_graphs": graphs} for seed in range(seeds)]
        accuracy, *figures = compared(measure_all(explained, settings, out, jobs))
        rows.append([name, f"{accuracy:.1%}", *(f"{value:.2f}" for value in figures)])
    typer.echo(markdown(HEADER, rows))


def explained(name: str, seed: int, n_graphs: int) -> dict[str, Any]:
    """Fit a model and explain test graphs; "enough": the nodes alone get the same class."""
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    train, val, test = load_dataset(name, download=False).split("auto")
    model = GDLNNClassifier(random_state=seed, verbose=False).fit(train, validation=val)
    explanations = model.explain(test.graphs[:n_graphs])
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
    """Return the figures of one dataset, in the order of the header."""
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
