"""How fast explanations are on BACE: one graph, and a batch of 200.

CPU time with one thread, so that the result does not depend on the load of the machine.
"""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks._measuring import cpu_ms, fresh
from gdlnn import GDLNNClassifier, load_dataset

SINGLE_AIM, BATCH_AIM = 20.0, 2.0
BATCH, REPEATS = 200, 40
CASES: tuple[tuple[str, GDLNNClassifier, dict[str, Any]], ...] = (
    ("default", GDLNNClassifier(verbose=False), {}),
    ("scorecard", GDLNNClassifier(head="scorecard", verbose=False), {}),
    ("default, LIME", GDLNNClassifier(verbose=False), {"technique": "lime"}),
)


def run() -> None:
    """Measure how long explanations take."""
    train, val, test = load_dataset("BACE", download=False).split("paper")
    graphs = [*test.graphs, *train.graphs][:BATCH]
    print("BACE; CPU time of one thread: medians in ms, batch in s")
    print(f"{'model':18}{'programs':>9}{'one':>8}{'first':>8}{f'batch of {BATCH}':>14}")
    for name, model, options in CASES:
        model.fit(train, validation=val)
        explain = partial(model.explain, **options)
        with threadpool_limits(1):
            first = cpu_ms(partial(explain, [fresh(graphs[0])]))  # what later calls share is made here
            one = statistics.median(cpu_ms(partial(explain, [fresh(g)])) for g in graphs[:REPEATS])
            batch = cpu_ms(partial(explain, [fresh(g) for g in graphs])) / 1000
        print(f"{name:18}{len(model.programs_):9}{one:8.1f}{first:8.0f}{batch:14.2f}")
    print(f"aims: one ≤ {SINGLE_AIM:g} ms, batch ≤ {BATCH_AIM:g} s")
