"""From the weights of programs to explanations: who is named, the subgraph step, and the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.explain.explanation import Explanation, plain
from gdlnn.explain.subgraph import shrink
from gdlnn.graphs import Graph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdlnn.explain.techniques import Problem
    from gdlnn.explain.view import ModelView

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def important(weights: FloatArray, n_features: int) -> IntArray:
    """Return the programs with the largest weights by size, largest first; those of weight zero never."""
    order = np.argsort(-np.abs(weights), kind="stable")[:n_features]
    return np.asarray(order[weights[order] != 0], dtype=np.int64)


class Said(NamedTuple):
    """What a technique said, and which one it was."""

    technique: str
    options: Mapping[str, Any]
    weights: FloatArray
    quality: FloatArray | None


def assemble(
    view: ModelView,
    graphs: list[Graph],
    said: Said,
    seed: int,
    probabilities: FloatArray,
    problem: Problem,
    chosen: Sequence[IntArray] | None = None,
) -> list[Explanation]:
    """Run the subgraph step for all graphs together, and put everything into explanations.

    Parameters
    ----------
    view, graphs
        The model and the graphs.
    said
        The weights.
    seed
        Seed of the technique, for the record.
    probabilities
        What the model says of the graphs, graphs × classes.
    problem
        What the technique was asked.
    chosen
        Per graph the programs to name; by default the most important ones.
    """
    if chosen is None:
        chosen = [important(row, problem.n_features) for row in said.weights]
    columns = np.unique(np.concatenate([*chosen, np.zeros(0, dtype=np.int64)])).tolist()
    programs = [view.programs[column] for column in columns]
    place = {column: i for i, column in enumerate(columns)}
    use = np.zeros((len(graphs), len(columns)), dtype=bool)
    for row, picked in enumerate(chosen):
        for column in picked.tolist():
            use[row, place[column]] = problem.values[row, column] > 0
    shrunk = shrink(
        graphs, programs, use, step_budget=view.step_budget, n_jobs=getattr(view.model, "n_jobs", 1)
    )
    results = []
    for row, (graph, picked) in enumerate(zip(graphs, chosen, strict=True)):
        left = shrunk[row]
        predicted, target = int(probabilities[row].argmax()), int(problem.targets[row])
        results.append(
            Explanation(
                graph=graph if graph.schema is not None else _with_schema(graph, view.model.schema_),
                prediction=plain(view.classes[predicted]),
                probability=float(probabilities[row, predicted]),
                target=plain(view.classes[target]),
                target_probability=float(probabilities[row, target]),
                programs=tuple(view.programs[c] for c in picked.tolist()),
                weights=tuple(float(said.weights[row, c]) for c in picked.tolist()),
                matched=tuple(left.matched[place[c]] for c in picked.tolist()),
                witnesses=tuple(left.witnesses[place[c]] for c in picked.tolist()),
                indices=tuple(picked.tolist()),
                labels=tuple(plain(view.labels[c]) for c in picked.tolist()),
                nodes=left.nodes,
                technique=said.technique,
                options=dict(said.options),
                seed=seed,
                quality=None if said.quality is None else float(said.quality[row]),
                complete=left.complete,
            )
        )
    return results


def _with_schema(graph: Graph, schema: Any) -> Graph:
    """Return a graph that knows the names of the training graphs, where they fit it."""
    fits = schema is not None and (len(schema.node), len(schema.edge)) == (
        graph.node_features.shape[1],
        graph.edge_features.shape[1],
    )
    if not fits:
        return graph
    return Graph._trusted(
        graph.node_features, graph.edges, graph.edge_features, graph.directed, schema, graph.name
    )
