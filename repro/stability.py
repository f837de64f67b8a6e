"""How large explanations are, how often they are enough, and whether models of other seeds give the same.

For each dataset one split and a model for each seed, which changes the head and the bags that are mined.
"""

from __future__ import annotations

import logging
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import typer
from joblib import Parallel, delayed
from repro.metrics import jaccard
from repro.paired import DATASETS
from repro.tables import markdown

from gdlnn import GDLNNClassifier, load_dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn import Explanation

HEADER = (
    *("dataset", "accuracy", "Jaccard of nodes", "same class", "no reason", "nodes", "programs"),
    "fidelity",
)


class Run(NamedTuple):
    """A model's accuracy, its explanations, and for those with nodes whether these alone are enough."""

    accuracy: float
    explanations: list[Explanation]
    enough: list[bool]


def stability(
    datasets: Annotated[str, typer.Option(help="Datasets, separated by commas.")] = DATASETS,
    seeds: Annotated[int, typer.Option(min=1, help="Number of models for each dataset.")] = 5,
    graphs: Annotated[int, typer.Option(min=1, help="Most test graphs that are explained.")] = 100,
    jobs: Annotated[int, typer.Option(help="Number of processes.")] = 1,
) -> None:
    """Compare the explanations that models of different seeds give."""
    rows = []
    for name in datasets.split(","):
        runs = Parallel(jobs)(delayed(explained)(name, seed, graphs) for seed in range(seeds))
        accuracy, *figures = measured(runs)
        rows.append([name, f"{accuracy:.1%}", *(f"{value:.2f}" for value in figures)])
    typer.echo(markdown(HEADER, rows))


def explained(name: str, seed: int, n_graphs: int) -> Run:
    """Fit a model and explain test graphs."""
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    train, val, test = load_dataset(name, download=False).split("auto")
    model = GDLNNClassifier(seed=seed, progress=False).fit(train, validation=val)
    explanations = model.explain(test.graphs[:n_graphs])
    shown = [e for e in explanations if e.nodes]
    alone = model.predict([e.subgraph for e in shown]).tolist() if shown else []
    enough = [label == e.prediction for e, label in zip(shown, alone, strict=True)]
    return Run(model.score(test), explanations, enough)


def measured(runs: Sequence[Run]) -> list[float]:
    """Return the figures of one dataset, in the order of the header."""
    same, overlaps = [], []
    for first, second in combinations([run.explanations for run in runs], 2):
        for one, other in zip(first, second, strict=True):
            same.append(one.prediction == other.prediction)
            if same[-1] and one.nodes and other.nodes:
                overlaps.append(jaccard(one.nodes, other.nodes))
    everything = [e for run in runs for e in run.explanations]
    shown = [e for e in everything if e.nodes]
    return [
        _mean([run.accuracy for run in runs]),
        _mean(overlaps),
        _mean(same),
        _mean([not e.has_reason for e in everything]),
        float(np.median([len(e.nodes) / e.graph.n_nodes for e in shown])) if shown else float("nan"),
        _mean([len(e.supporting) for e in shown]),
        _mean([one for run in runs for one in run.enough]),
    ]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
