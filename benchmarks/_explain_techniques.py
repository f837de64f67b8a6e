"""How techniques differ on a model with hundreds of programs: emptiness, size, faithfulness, stability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.explain import Explanation, Lime, explain
from gdlnn.explain.metrics import fidelity, sparsity, stability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn import GraphDataset
    from gdlnn.model import GDLNNClassifier

SEEDS = (0, 1, 2)
HEADER = "empty | programs that match | nodes | sparsity | fidelity | same prediction | stability | R²"


def techniques_table(model: GDLNNClassifier, val: GraphDataset) -> list[str]:
    """Return a table of techniques over the validation graphs, `n_features` as it is by default."""
    asked: tuple[tuple[str, Any, Any], ...] = (
        ("lime", Lime(), 5),
        ("lime, 20,000 samples", Lime(20_000), 5),
        ("lime_present", Lime(present_only=True), 5),
        ("lime_contribution", Lime(contributions=True), 5),
        ("lime_contribution", Lime(contributions=True), "enough"),
        ("integrated_gradients", "integrated_gradients", 5),
    )
    lines = [
        f"{len(val)} validation graphs, {len(model.programs_)} programs.",
        "",
        f"| technique | n_features | {HEADER} |",
        "|---|---|" + "---|" * 8,
    ]
    for name, technique, n_features in asked:
        runs = [explain(model, val.graphs, technique, n_features, seed=seed) for seed in SEEDS]
        lines.append(f"| {name} | {n_features} | {_row(model, val, runs)} |")
    return lines


def _row(model: GDLNNClassifier, val: GraphDataset, runs: Sequence[list[Explanation]]) -> str:
    found = runs[0]
    assert val.y is not None
    predicted, alone = model.predict(val), model.predict([e.subgraph for e in found])
    quality = [e.quality for e in found if e.quality is not None]
    values = [
        float(np.mean([e.is_empty for e in found])),
        float(np.mean([sum(e.matched) for e in found])),
        float(np.mean([len(e.nodes) for e in found])),
        sparsity([len(e.nodes) for e in found], [e.graph.n_nodes for e in found]),
        fidelity(val.y, predicted, alone),
        float(np.mean(predicted == alone)),
        stability(runs).programs,
    ]
    return " | ".join([*(f"{value:.3f}" for value in values), f"{np.mean(quality):.3f}" if quality else "–"])
