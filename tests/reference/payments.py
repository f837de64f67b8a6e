"""Payment graphs whose label is a threshold on a quantity: a wire transfer of at least 900."""

import numpy as np

from gdlnn import Feature, Graph, GraphDataset, Schema

CHANNELS = {0.0: "cash", 1.0: "card", 2.0: "wire"}


def payment_graphs(n: int, seed: int, *, with_age: bool = False) -> GraphDataset:
    """Make directed graphs; half of them have an edge with channel = wire and amount ≥ 900.

    `with_age` gives nodes a random number that has nothing to do with the label.
    """
    rng = np.random.default_rng(seed)
    nodes = [Feature("kind", "nominal", {0: "person", 1: "shop"})]
    schema = Schema(
        (*nodes, *([Feature("age")] if with_age else [])),
        (Feature("channel", "nominal", CHANNELS), Feature("amount")),
        {0: "usual", 1: "suspicious"},
    )
    graphs, labels = [], []
    for i in range(n):
        size = int(rng.integers(5, 10))
        pairs = np.argwhere((rng.random((size, size)) < 0.25) & ~np.eye(size, dtype=bool))
        channel, amount = rng.integers(0, 3, len(pairs)), rng.uniform(10, 1000, len(pairs)).round(2)
        large = (channel == 2) & (amount >= 900)
        if i % 2 == 0:
            amount[large] = rng.uniform(10, 899, int(large.sum())).round(2)
        elif not large.any() and len(pairs):
            one = int(rng.integers(len(pairs)))
            channel[one], amount[one] = 2, round(float(rng.uniform(900, 1000)), 2)
        own = [rng.integers(0, 2, size), *([rng.uniform(18, 90, size).round(1)] if with_age else [])]
        edges = np.stack([channel, amount], axis=1)
        graphs.append(Graph(np.stack(own, axis=1), pairs, edges, directed=True, schema=schema))
        labels.append(int(((channel == 2) & (amount >= 900)).any()))
    return GraphDataset(graphs, np.array(labels), schema, "payments")
