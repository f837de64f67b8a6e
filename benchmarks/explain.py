"""How fast explanations are: one graph and a batch of 200 on BACE, end to end, with each step's share.

CPU time with one thread, so that the result does not depend on the load of the machine.
"""

from __future__ import annotations

import logging
import os
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from gdlnn import load_dataset, mine
from gdlnn.explain import Lime, explain, shrink
from gdlnn.explain.explainer import Explainer, important
from gdlnn.model import GDLNNClassifier

if TYPE_CHECKING:
    from collections.abc import Callable

SINGLE_AIM, BATCH_AIM, SUBGRAPH_AIM = 20.0, 5.0, 2.0
TARGETS = 300  # graphs that are mined from: enough for a model of the usual size
REPEATS = 40


def run() -> None:
    """Measure the speed of explanations; `rules` compares them with the truth."""
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("explain: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    data = load_dataset("BACE", root, download=False)
    train, _, test = data.split("paper")
    graphs = [*test.graphs, *train.graphs][:200]
    programs = mine(train, 0.1, targets=TARGETS, progress=False)
    nodes = np.mean([g.n_nodes for g in graphs])
    print(f"BACE, mean {nodes:.0f} nodes; CPU time of one thread: medians in ms, batch in s")
    print(f"{'model':28}{'k':>6}{'samples':>9}{'one':>8}{'first':>8}", end="")
    print(f"{'match':>8}{'head':>8}{'LIME':>8}{'subgraph':>10}{'batch of 200':>14}")
    recipes: tuple[tuple[str, dict[str, Any]], ...] = (
        ("paper, k = 1 % of |D|", {"k": 0.01}),
        ("paper, all programs", {"k": None}),
        ("pooled, 5 members", {"k": None, "pooled": True}),
    )
    for name, recipe in recipes:
        model = GDLNNClassifier.paper(epochs=20, progress=False, **recipe)
        model.set_params(head__ensemble_size=5 if model.pooled else 1).fit(train, programs=programs)
        with threadpool_limits(1):
            _measure(name, model, graphs)
    print(f"aims: one ≤ {SINGLE_AIM:g} ms, batch ≤ {BATCH_AIM:g} s, subgraph ≤ {SUBGRAPH_AIM:g} ms")


def _measure(name: str, model: GDLNNClassifier, graphs: list[Any]) -> None:
    first = _ms(lambda: explain(model, graphs[0]))  # builds what later calls share
    alone = [_ms(lambda g=g: explain(model, g)) for g in graphs[:REPEATS]]  # type: ignore[misc]
    fresh = Lime()
    batch = _ms(lambda: explain(model, graphs, fresh, seed=1)) / 1000
    shares = np.median([_steps(model, g) for g in graphs[:REPEATS]], axis=0)
    match, head, lime, subgraph = shares.tolist()
    print(
        f"{name:28}{len(model.programs_):6}{fresh.n_samples:9}{statistics.median(alone):8.1f}{first:8.0f}",
        end="",
    )
    print(f"{match:8.1f}{head:8.1f}{lime:8.1f}{subgraph:10.2f}{batch:14.2f}")


def _steps(model: GDLNNClassifier, graph: Any) -> list[float]:
    """Return the milliseconds of matching, of the head on the graph itself, of LIME, of the subgraph."""
    times: list[float] = []
    explainer = Explainer(model, Lime())

    def timed(call: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = call()
        times.append(1000 * (time.process_time() - start))
        return result

    table = timed(lambda: model.transform([graph]))
    timed(lambda: model.head_probabilities(table))
    seen = model.represent([graph])
    context = explainer.context(seen, seen.codes, min(5, len(model.programs_)))
    weights = timed(lambda: explainer.technique.attribute(context).weights[0])
    # Five programs that match, so that there is a subgraph to find.
    chosen = important(np.where(seen.matches[0], weights + 1e-12, 0.0), 5)
    picked = [explainer.programs[i] for i in chosen.tolist()]
    timed(lambda: shrink([graph], picked))
    return times


def _ms(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return 1000 * (time.process_time() - start)


if __name__ == "__main__":
    run()
