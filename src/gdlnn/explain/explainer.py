"""explain(): from a model and graphs to explanations. The façade over techniques and the subgraph step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.explanation import Explanation, plain
from gdlnn.explain.pl4xgl import explain_pl4xgl
from gdlnn.explain.subgraph import shrink
from gdlnn.explain.techniques import Problem, Technique, make_technique
from gdlnn.explain.view import ModelView
from gdlnn.graphs import Graph, GraphDataset

if TYPE_CHECKING:
    from gdlnn.explain.techniques import Attribution
    from gdlnn.model import GDLNNClassifier

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TechniqueLike = str | Technique | Callable[[Problem], Any]


@overload
def explain(
    model: Any,
    graphs: Graph,
    technique: TechniqueLike = "lime",
    n_features: int = 5,
    target: Any = None,
    seed: int = 0,
    *,
    background: Sequence[Graph] | None = None,
) -> Explanation: ...
@overload
def explain(
    model: Any,
    graphs: Sequence[Graph] | GraphDataset,
    technique: TechniqueLike = "lime",
    n_features: int = 5,
    target: Any = None,
    seed: int = 0,
    *,
    background: Sequence[Graph] | None = None,
) -> list[Explanation]: ...
def explain(
    model: Any,
    graphs: Graph | Sequence[Graph] | GraphDataset,
    technique: TechniqueLike = "lime",
    n_features: int = 5,
    target: Any = None,
    seed: int = 0,
    *,
    background: Sequence[Graph] | None = None,
) -> Explanation | list[Explanation]:
    """Explain predictions: the programs that decide, and the part of each graph that they need.

    Parameters
    ----------
    model
        A fitted GDLNNClassifier, or a PL4XGLClassifier, which explains itself: `technique`, `n_features`,
        `target` and `seed` are then left aside.
    graphs
        One graph, or several: a list gives a list, and shares one pass.
    technique
        "lime", "lime_present" (the same over the programs that match), "kernel_shap",
        "integrated_gradients", "linear", a technique object such as ``Lime(n_samples=1000)``, or any callable
        from a `Problem` to weights, graphs × programs.
    n_features
        How many programs an explanation names; where the model has fewer, all of them.
    target
        The class to explain; by default the predicted one.
    seed
        Seed of the technique; the same seed gives the same explanation.
    background
        Graphs to take frequencies of values from, for a model that counts matches.
    """
    single = isinstance(graphs, Graph)
    listed: list[Graph] = [graphs] if isinstance(graphs, Graph) else _listed(graphs)
    if hasattr(model, "deciding_programs"):
        found = explain_pl4xgl(model, listed)
    elif hasattr(model, "head_"):
        found = _explain(model, listed, make_technique(technique), n_features, target, seed, background)
    else:
        kind = type(model).__name__
        raise ExplanationError(f"model: expected a fitted GDLNNClassifier or PL4XGLClassifier, got a {kind}")
    return found[0] if single else found


def _listed(graphs: Any) -> list[Graph]:
    try:
        listed = list(graphs)
    except TypeError:
        kind = type(graphs).__name__
        raise ExplanationError(f"graphs: expected a Graph or a list of graphs, got {kind}") from None
    for index, graph in enumerate(listed):
        if not isinstance(graph, Graph):
            raise ExplanationError(f"graphs: item {index}: expected a Graph, got {type(graph).__name__}")
    return listed


def _explain(
    model: GDLNNClassifier,
    graphs: list[Graph],
    technique: Technique,
    n_features: int,
    target: Any,
    seed: int,
    background: Sequence[Graph] | None,
) -> list[Explanation]:
    if int(n_features) != n_features or n_features < 1:
        raise ExplanationError(
            f"n_features: expected a whole number of at least 1 (more than there are programs means all), "
            f"got {n_features!r}"
        )
    view = ModelView(model, background)
    table = model.transform(graphs)
    probabilities = view.probabilities(table)
    predicted = probabilities.argmax(axis=1)
    targets = predicted if target is None else np.full(len(graphs), _position(view.classes, target))
    problem = view.problem(table, targets.astype(np.int64), min(int(n_features), view.n_programs), seed)
    attribution = technique.attribute(problem)
    chosen = [important(row, problem.n_features) for row in attribution.weights]
    return _assemble(view, graphs, technique, seed, probabilities, problem, attribution, chosen)


def _position(classes: npt.NDArray[Any], target: Any) -> int:
    for position, label in enumerate(classes.tolist()):
        if label == plain(target):
            return position
    known = ", ".join(map(repr, classes.tolist()))
    raise ExplanationError(f"target: expected one of the classes {known}, got {target!r}")


def important(weights: FloatArray, n_features: int) -> IntArray:
    """Return the programs with the largest weights by size, largest first; those of weight zero never."""
    order = np.argsort(-np.abs(weights), kind="stable")[:n_features]
    return np.asarray(order[weights[order] != 0], dtype=np.int64)


def _assemble(
    view: ModelView,
    graphs: list[Graph],
    technique: Technique,
    seed: int,
    probabilities: FloatArray,
    problem: Problem,
    attribution: Attribution,
    chosen: list[IntArray],
) -> list[Explanation]:
    """Run the subgraph step for all graphs together, and put everything into explanations."""
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
        quality = attribution.quality
        results.append(
            Explanation(
                graph=graph if graph.schema is not None else _with_schema(graph, view.model.schema_),
                prediction=plain(view.classes[predicted]),
                probability=float(probabilities[row, predicted]),
                target=plain(view.classes[target]),
                target_probability=float(probabilities[row, target]),
                programs=tuple(view.programs[c] for c in picked.tolist()),
                weights=tuple(float(attribution.weights[row, c]) for c in picked.tolist()),
                matched=tuple(left.matched[place[c]] for c in picked.tolist()),
                witnesses=tuple(left.witnesses[place[c]] for c in picked.tolist()),
                indices=tuple(picked.tolist()),
                labels=tuple(plain(view.labels[c]) for c in picked.tolist()),
                nodes=left.nodes,
                technique=technique.name,
                options=dict(technique.options()),
                seed=seed,
                quality=None if quality is None else float(quality[row]),
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
