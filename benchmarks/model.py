"""How many graphs a second a model with a hundred programs predicts, and how much of that is matching."""

from __future__ import annotations

from functools import partial

from benchmarks._measuring import fresh, least
from gdlnn import load_dataset
from gdlnn.model import GDLNNClassifier, Mined, MLPHead

N_PROGRAMS = 100
N_GRAPHS = 5000
AIM = 5000


def run() -> None:
    """Measure predictions and matching of MUTAG, with and without pooled features."""
    dataset = load_dataset("MUTAG", download=False)
    graphs = [fresh(dataset.graphs[i % len(dataset)]) for i in range(N_GRAPHS)]
    print(f"{dataset.name}: {N_GRAPHS} graphs, {N_PROGRAMS} programs; graphs per CPU second, aim ≥ {AIM:,}")
    for pooled in (False, True):
        model = GDLNNClassifier(Mined(k=N_PROGRAMS), MLPHead(epochs=10), pooled=pooled, verbose=False)
        model.fit(dataset)
        for step in (model.predict, model.transform):
            rate = N_GRAPHS / least(partial(step, graphs))
            title = f"{step.__name__}{', with pooled features' if pooled else ''}"
            print(f"  {title:34}{rate:12,.0f}")
