"""What predicting and explaining cost with default models: one graph, and ten thousand in a batch.

::

    python -m benchmarks predict [--data NAME …]

CPU time of one thread; figures of one graph are medians. Models are fitted to the whole dataset first, which
takes a minute or so for each.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from gdlnn import Graph, load_dataset
from gdlnn.graphs.arrays import GraphSet
from gdlnn.model import GDLNNClassifier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

N_BATCH = 10_000
N_ONE, N_EXPLAINED = 200, 40
EXPLAIN_MS = 20.0


class Aims(NamedTuple):
    """Milliseconds for one graph at most, graphs per CPU second in a batch at least; None: no aim."""

    one_ms: float | None = None
    batch: float | None = None


NAMES = {"BBBP": Aims(2.0, 2000.0), "NCI1": Aims(5.0), "MUTAG": Aims()}


def ms(call: Callable[[], object]) -> float:
    """Return the milliseconds of CPU that a call takes."""
    began = time.process_time()
    call()
    return 1000 * (time.process_time() - began)


def fresh(graph: Graph) -> Graph:
    """Return the same graph without anything kept from earlier questions."""
    return Graph(graph.node_features, graph.edges, graph.edge_features, directed=graph.directed)


def line(what: str, figure: str, aim: str = "", met: bool | None = None) -> None:
    verdict = {True: "met", False: "not met", None: ""}[met]
    print(f"  {what:44}{figure:>14}  {aim:>10}  {verdict}".rstrip(), flush=True)


def steps(model: Any, graphs: Sequence[Graph]) -> dict[str, float]:
    """Return the median milliseconds of each step of predicting one graph."""
    layer = model.layer_
    times: dict[str, list[float]] = {"arrays": [], "match": [], "head": []}
    for graph in graphs:
        listed = model._as_trained([fresh(graph)])
        times["arrays"].append(ms(partial(GraphSet, listed)))
        encoded = GraphSet(listed)
        times["match"].append(ms(partial(layer.plan_for(encoded).match, encoded)))
        times["head"].append(ms(partial(model.head_.predict_proba, layer.transform(listed))))
    return {step: statistics.median(values) for step, values in times.items()}


def measure(name: str, root: str) -> None:
    """Fit a default model and print what it costs to ask it."""
    data = load_dataset(name, root, download=False)
    began = time.process_time()
    model = GDLNNClassifier(progress=False).fit(data)
    spent = time.process_time() - began
    print(f"{name}: {len(model.programs_)} programs; fitted in {spent:.0f} CPU seconds")
    aims = NAMES.get(name, Aims())
    rows = np.random.default_rng(0).permutation(len(data))[:N_ONE].tolist()
    graphs = [data.graphs[i] for i in rows]
    first = ms(lambda: model.predict_proba([fresh(graphs[0])]))
    line("predict_proba, the first graph", f"{first:.1f} ms")
    one = statistics.median(ms(partial(model.predict_proba, [g])) for g in map(fresh, graphs))
    aim = f"≤ {aims.one_ms:g} ms" if aims.one_ms else ""
    line("predict_proba, one graph", f"{one:.2f} ms", aim, one <= aims.one_ms if aims.one_ms else None)
    for step, value in steps(model, graphs).items():
        line(f"  of which {step}", f"{value:.2f} ms")
    copies = [fresh(data.graphs[i % len(data)]) for i in range(N_BATCH)]
    rate = 1000 * N_BATCH / min(ms(lambda: model.predict_proba(copies)) for _ in range(2))
    aim = f"≥ {aims.batch:,.0f}" if aims.batch else ""
    line(
        f"predict_proba, {N_BATCH:,} graphs, per CPU second",
        f"{rate:,.0f}",
        aim,
        rate >= aims.batch if aims.batch else None,
    )
    model.explain([fresh(graphs[0])])
    each = [ms(partial(model.explain, [g])) for g in map(fresh, graphs[:N_EXPLAINED])]
    told = statistics.median(each)
    line("explain, one graph", f"{told:.1f} ms", f"≤ {EXPLAIN_MS:g} ms", told <= EXPLAIN_MS)


def run(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks predict")
    parser.add_argument("--data", nargs="+", default=list(NAMES), help="datasets, by name")
    options = parser.parse_args(argv or [])
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("left out: GDLNN_DATA does not name the folder with the datasets")
        return
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    with threadpool_limits(1):
        for name in options.data:
            measure(name, root)


if __name__ == "__main__":
    run()
