"""PL4XGL explains itself: the program that decided, and where it is in the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdlnn.explain.explanation import Explanation, plain
from gdlnn.explain.subgraph import shrink
from gdlnn.mining.settings import FINAL_BUDGET

if TYPE_CHECKING:
    from gdlnn.graphs import Graph
    from gdlnn.model import PL4XGLClassifier


def explain_pl4xgl(model: PL4XGLClassifier, graphs: list[Graph]) -> list[Explanation]:
    """Explain predictions of a PL4XGLClassifier.

    The one program is the best-scoring one of the predicted label, its weight is its score, and the
    subgraph is its witness. A graph that nothing matches has the default label and an empty explanation.

    Parameters
    ----------
    model
        The classifier.
    graphs
        The graphs.
    """
    if not graphs:
        return []
    probabilities = model.predict_proba(graphs)
    labels = np.asarray(model.predict(graphs))
    classes = np.asarray(model.classes_).tolist()
    place = {id(item): i for i, item in enumerate(model.programs_)}
    results = []
    for row, (graph, mined) in enumerate(zip(graphs, model.deciding_programs(graphs), strict=True)):
        programs = () if mined is None else (mined,)
        (left,) = shrink([graph], [item.program for item in programs], step_budget=FINAL_BUDGET)
        label = plain(labels[row])
        chance = float(probabilities[row, classes.index(label)])
        results.append(
            Explanation(
                graph=graph,
                prediction=label,
                probability=chance,
                target=label,
                target_probability=chance,
                programs=tuple(item.program for item in programs),
                weights=tuple(float(item.score) for item in programs),
                matched=left.matched,
                witnesses=left.witnesses,
                indices=tuple(place[id(item)] for item in programs),
                labels=tuple(plain(item.label) for item in programs),
                nodes=left.nodes,
                technique="pl4xgl",
                complete=left.complete,
            )
        )
    return results
