"""How fast a model predicts: from graphs to labels, and what each part of that takes."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gdlnn.datasets import load_dataset, make_ba_2motifs
from gdlnn.matching import match
from gdlnn.mining import mine
from gdlnn.model import GDLNNClassifier, Mined, MLPHead

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.graphs import GraphDataset

N_PROGRAMS = 100
N_GRAPHS = 5000
AIM = 5000
REPEATS = 3


def cpu(call: Callable[[], object]) -> float:
    """Return the least CPU time of a few runs."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def data() -> GraphDataset:
    root = os.environ.get("GDLNN_DATA")
    if root and Path(root).is_dir():
        return load_dataset("MUTAG", root, download=False)
    return make_ba_2motifs(188, seed=0)


def run() -> None:
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    dataset = data()
    mined = mine(dataset, restarts=1, progress=False)
    copies = (dataset.graphs * (N_GRAPHS // len(dataset) + 1))[:N_GRAPHS]
    print(f"{dataset.name}: {N_GRAPHS} graphs, {N_PROGRAMS} programs, one core")
    for pooled in (False, True):
        model = GDLNNClassifier(Mined(k=N_PROGRAMS), MLPHead(epochs=10), pooled=pooled, progress=False)
        model.fit(dataset, programs=mined)
        graphs = [type(g)(g.node_features, g.edges, g.edge_features) for g in copies]
        rate = N_GRAPHS / cpu(lambda model=model, graphs=graphs: model.predict(graphs))  # type: ignore[misc]
        words = "programs and pooled features" if pooled else "programs"
        print(f"  predict, {words:32}{rate:12,.0f} graphs per CPU second   aim ≥ {AIM:,}")
    rate = N_GRAPHS / cpu(lambda: match(mined.top(N_PROGRAMS).programs, copies))
    print(f"  match alone {'':29}{rate:12,.0f} graphs per CPU second")


if __name__ == "__main__":
    run()
