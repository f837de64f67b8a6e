"""Judging explanations graph by graph, in numbers that can be averaged over any set of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.explain.metrics import overlap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.evaluation.cells import Result
    from gdlnn.graphs import GraphDataset


def judge(
    model: Any,
    data: GraphDataset,
    rows: Sequence[int],
    settings: Sequence[float],
    explained: Sequence[Sequence[Any]],
) -> list[Result]:
    """Return for every graph what the model says of it, of its explanations, and of the rest without them.

    Parameters
    ----------
    model
        The model that is explained.
    data
        The graphs, with labels, and the truth where it is known.
    rows
        Their positions in the test part.
    settings
        The values of the sweep.
    explained
        For every setting an explanation of every graph.
    """
    assert data.y is not None
    whole = _said(model, data.graphs)
    results: list[Result] = [
        {"row": row, "n_nodes": graph.n_nodes, "truth": truth, "predicted": said, "points": []}
        for row, graph, truth, said in zip(rows, data.graphs, data.y.tolist(), whole, strict=True)
    ]
    for setting, explanations in zip(settings, explained, strict=True):
        parts = _said(model, [e.subgraph for e in explanations])
        rests = _said(model, [e.graph.subgraph(np.flatnonzero(~e.node_mask)) for e in explanations])
        for i, explanation in enumerate(explanations):
            results[i]["points"].append(
                {
                    "setting": setting,
                    "n_nodes": len(explanation.nodes),
                    "nodes": list(explanation.nodes),
                    "predicted_part": parts[i],
                    "predicted_rest": rests[i],
                    "truth": _agreement(explanation, data.node_masks, i),
                }
            )
    return results


def add_masked(model: Any, results: Sequence[Result], explained: Sequence[Sequence[Any]]) -> None:
    """Add what a graph network says of explanations when the other nodes stay, with features of zero.

    Networks are not used to parts of graphs; this is the kinder way to show them one.
    """
    from gdlnn.baselines.coalitions import predict_masked

    for i, result in enumerate(results):
        several = [explanations[i] for explanations in explained]
        masks = np.array([explanation.node_mask for explanation in several])
        said = predict_masked(model, several[0].graph, masks)
        for point, label in zip(result["points"], said, strict=True):
            point["predicted_masked"] = label


def _said(model: Any, graphs: Sequence[Any]) -> list[Any]:
    return np.asarray(model.predict(list(graphs))).tolist() if graphs else []


def _agreement(explanation: Any, masks: Any, index: int) -> Result | None:
    """Return how an explanation agrees with the known truth, or None where there is none."""
    truth = None if masks is None else masks[index]
    if truth is None or not np.any(truth):
        return None
    found = overlap([explanation.node_mask], [truth], [explanation.node_scores])
    area = None if np.isnan(found.auc) else found.auc
    return {"precision": found.precision, "recall": found.recall, "jaccard": found.jaccard, "auc": area}
