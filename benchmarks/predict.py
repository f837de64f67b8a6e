"""What predicting and explaining cost with default models: one graph, and ten thousand in a batch.

CPU time of one thread; figures of one graph are medians. Models are fitted to the whole dataset first, which
takes a minute or so for each.
"""

from __future__ import annotations

import statistics
from functools import partial
from typing import Annotated, NamedTuple

import typer
from threadpoolctl import threadpool_limits

from benchmarks._measuring import cpu_ms, fresh, least, some_rows
from gdlnn import load_dataset
from gdlnn.model import GDLNNClassifier

N_BATCH = 10_000
N_ONE, N_EXPLAINED = 200, 40
EXPLAIN_MS = 8.0
SHORT = {"data": "MUTAG"}


class Aims(NamedTuple):
    """Milliseconds for one graph at most, graphs per CPU second in a batch at least; None: no aim."""

    one_ms: float | None = None
    batch: float | None = None


NAMES = {"BBBP": Aims(2.0, 2000.0), "NCI1": Aims(2.0), "MUTAG": Aims(2.0)}


def run(
    data: Annotated[str, typer.Option(help="Datasets, separated by commas.")] = ",".join(NAMES),
) -> None:
    """Measure predictions and explanations."""
    with threadpool_limits(1):
        for name in data.split(","):
            measure(name, NAMES.get(name, Aims()))


def measure(name: str, aims: Aims) -> None:
    """Fit a default model and print what it costs to ask it."""
    data = load_dataset(name, download=False)
    model = GDLNNClassifier(verbose=False)
    spent = least(lambda: model.fit(data), 1)
    print(f"{name}: {len(model.programs_)} programs; fitted in {spent:.0f} CPU seconds")
    rows = some_rows(len(data), N_ONE)
    graphs = data.graphs if rows is None else [data.graphs[i] for i in rows.tolist()]
    _line("predict_proba, the first graph", cpu_ms(lambda: model.predict_proba([fresh(graphs[0])])))
    one = statistics.median(cpu_ms(partial(model.predict_proba, [g])) for g in map(fresh, graphs))
    _line("predict_proba, one graph", one, aims.one_ms)
    copies = [fresh(data.graphs[i % len(data)]) for i in range(N_BATCH)]
    rate = N_BATCH / least(lambda: model.predict_proba(copies), 2)
    aim = f"   aim ≥ {aims.batch:,.0f}" if aims.batch else ""
    print(f"  {f'predict_proba, {N_BATCH:,} graphs, per CPU second':44}{rate:14,.0f}{aim}")
    model.explain([fresh(graphs[0])])
    explained = [cpu_ms(partial(model.explain, [g])) for g in map(fresh, graphs[:N_EXPLAINED])]
    _line("explain, one graph", statistics.median(explained), EXPLAIN_MS)


def _line(what: str, ms: float, aim: float | None = None) -> None:
    verdict = "" if aim is None else f"   aim ≤ {aim:g} ms: {'met' if ms <= aim else 'not met'}"
    print(f"  {what:44}{ms:11.2f} ms{verdict}", flush=True)
