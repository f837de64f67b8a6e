"""How large explanations are, how often they are enough, and whether models of other seeds give the same.

::

    python -m benchmarks stability [--datasets BBBP BACE …] [--seeds 5] [--graphs 100] [-j 1]

For each dataset one split and a model for each seed, which changes the head and the bags that are mined.
"""

from __future__ import annotations

import argparse
import logging
import os
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gdlnn import GDLNNClassifier, GraphDataset, load_dataset
from repro.metrics import jaccard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn import Explanation

DATASETS = (
    *("MUTAG", "Mutagenicity", "PTC_MR", "NCI1", "BBBP", "BACE", "PROTEINS", "ENZYMES", "BA-2Motifs"),
)


class Row(NamedTuple):
    """What was measured on one dataset."""

    name: str
    accuracy: float
    jaccard: float
    agree: float
    no_reason: float
    share: float
    programs: float
    fidelity: float


def run(words: Sequence[str] = ("--datasets", "MUTAG", "--seeds", "2", "--graphs", "10")) -> None:
    """Measure, and print one row per dataset."""
    parser = argparse.ArgumentParser("python -m benchmarks stability")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--graphs", type=int, default=100)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args(list(words))
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("stability: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    print("| dataset | accuracy | Jaccard of nodes | same class | no reason | nodes | programs | fidelity |")
    print("|---|---|---|---|---|---|---|---|")
    tasks = [(name, seed, root, options.graphs) for name in options.datasets for seed in range(options.seeds)]
    with ProcessPoolExecutor(options.jobs) as pool:
        found = list(pool.map(explained, *zip(*tasks, strict=True)))
    for start in range(0, len(found), options.seeds):
        row = measured(tasks[start][0], found[start : start + options.seeds])
        figures = (f"{value:.2f}" for value in row[2:])
        print(f"| {row.name} | {row.accuracy:.1%} | {' | '.join(figures)} |")


def loaded(name: str, root: str) -> GraphDataset:
    """Read a dataset by name, or one that was saved in the folder."""
    saved = Path(root) / f"{name}.gdlds"
    return GraphDataset.load(saved) if saved.is_file() else load_dataset(name, root, download=False)


def explained(name: str, seed: int, root: str, n_graphs: int) -> tuple[float, list[Explanation], list[bool]]:
    """Fit a model; return its accuracy, explanations of test graphs, and which subgraphs are enough."""
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    train, val, test = loaded(name, root).split("auto")
    model = GDLNNClassifier(seed=seed, progress=False).fit(train, validation=val)
    some = test.take(np.arange(min(n_graphs, len(test))))
    explanations = model.explain(some.graphs)
    shown = [e for e in explanations if e.nodes]
    said = model.predict([e.subgraph for e in shown]).tolist() if shown else []
    return (
        model.score(test),
        explanations,
        [label == e.prediction for e, label in zip(shown, said, strict=True)],
    )


def measured(name: str, runs: Sequence[tuple[float, list[Explanation], list[bool]]]) -> Row:
    """Compare the explanations of several models."""
    same, overlaps = [], []
    for first, second in combinations([explanations for _, explanations, _ in runs], 2):
        for one, other in zip(first, second, strict=True):
            same.append(one.prediction == other.prediction)
            if same[-1] and one.nodes and other.nodes:
                overlaps.append(jaccard(one.nodes, other.nodes))
    everything = [e for _, explanations, _ in runs for e in explanations]
    shown = [e for e in everything if e.nodes]
    return Row(
        name,
        float(np.mean([accuracy for accuracy, _, _ in runs])),
        float(np.mean(overlaps)) if overlaps else float("nan"),
        float(np.mean(same)) if same else float("nan"),
        float(np.mean([not e.has_reason for e in everything])),
        float(np.median([len(e.nodes) / e.graph.n_nodes for e in shown])) if shown else float("nan"),
        float(np.mean([len(e.supporting) for e in shown])) if shown else float("nan"),
        float(np.mean([one for _, _, enough in runs for one in enough])) if shown else float("nan"),
    )
