"""explain(): from a model and graphs to explanations. The façade over techniques and the subgraph step."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

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
    from gdlnn.model import GDLNNClassifier

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TechniqueLike = str | Technique | Callable[[Problem], Any]
NFeatures = int | Literal["enough"]
MOST_ENOUGH = 10
"""Most programs that an explanation with just enough of them names."""
logger = logging.getLogger(__name__)


@overload
def explain(
    model: Any,
    graphs: Graph,
    technique: TechniqueLike = "lime",
    n_features: NFeatures = 5,
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
    n_features: NFeatures = 5,
    target: Any = None,
    seed: int = 0,
    *,
    background: Sequence[Graph] | None = None,
) -> list[Explanation]: ...
def explain(
    model: Any,
    graphs: Graph | Sequence[Graph] | GraphDataset,
    technique: TechniqueLike = "lime",
    n_features: NFeatures = 5,
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
        "lime", "lime_present" (the same over the programs that match), "lime_contribution" (by what a
        program adds beside an average graph), "kernel_shap", "integrated_gradients", "linear", a technique
        object such as ``Lime(n_samples=1000)``, or any callable from a `Problem` to weights, graphs ×
        programs.
    n_features
        How many programs an explanation names; where the model has fewer, all of them. "enough": for each
        graph the fewest, at most `MOST_ENOUGH`, whose subgraph alone gets the prediction of the whole graph.
    target
        The class to explain; by default the predicted one.
    seed
        Seed of the technique; the same seed gives the same explanation.
    background
        Graphs to take frequencies of values from, for a model that counts matches.
    """
    started = time.perf_counter()
    single = isinstance(graphs, Graph)
    listed: list[Graph] = [graphs] if isinstance(graphs, Graph) else _listed(graphs)
    if seed < 0:
        raise ExplanationError(f"seed: expected a whole number of at least 0, got {seed}")
    if hasattr(model, "deciding_programs"):
        found = explain_pl4xgl(model, listed)
    elif hasattr(model, "head_"):
        asked = _Asked(make_technique(technique), target, seed, background)
        if n_features == "enough":
            found = _explain_enough(model, listed, asked)
        else:
            found = _explain(model, listed, asked, n_features)
    else:
        kind = type(model).__name__
        raise ExplanationError(f"model: expected a fitted GDLNNClassifier or PL4XGLClassifier, got a {kind}")
    seconds = time.perf_counter() - started
    name = found[0].technique if found else "no technique"
    logger.info("explain: %d graph(s) by %s in %.3f s", len(found), name, seconds)
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


class _Asked(NamedTuple):
    """How to explain, whatever the graphs."""

    technique: Technique
    target: Any
    seed: int
    background: Sequence[Graph] | None


def _explain(
    model: GDLNNClassifier, graphs: list[Graph], asked: _Asked, n_features: Any
) -> list[Explanation]:
    if not isinstance(n_features, int | float) or int(n_features) != n_features or n_features < 1:
        raise ExplanationError(
            f"n_features: expected a whole number of at least 1 (more than there are programs means all), or "
            f"'enough', got {n_features!r}"
        )
    view = ModelView(model, asked.background)
    table = model.transform(graphs)
    probabilities = view.probabilities(table)
    predicted = probabilities.argmax(axis=1)
    given = asked.target
    targets = predicted if given is None else np.full(len(graphs), _position(view.classes, given))
    wanted = min(int(n_features), view.n_programs)
    problem = view.problem(table, targets.astype(np.int64), wanted, asked.seed)
    attribution = asked.technique.attribute(problem)
    said = _Said(asked.technique.name, asked.technique.options(), attribution.weights, attribution.quality)
    found = _assemble(view, graphs, said, asked.seed, probabilities, problem)
    instead = attribution.instead
    rows = [] if instead is None else np.flatnonzero(instead.weights.any(axis=1)).tolist()
    if instead is None or not rows:
        return found
    part = replace(problem, values=problem.values[rows], targets=problem.targets[rows])
    said = _Said(instead.technique, instead.options, instead.weights[rows], instead.quality[rows])
    others = _assemble(view, [graphs[row] for row in rows], said, asked.seed, probabilities[rows], part)
    for row, other in zip(rows, others, strict=True):
        if not other.is_empty:
            found[row] = replace(found[row], instead=other)
    return found


def _explain_enough(model: GDLNNClassifier, graphs: list[Graph], asked: _Asked) -> list[Explanation]:
    """Name one program more until the model says of the subgraph what it says of the graph."""
    found = _explain(model, graphs, asked, 1)
    waiting = _not_enough(model, found, range(len(found)))
    for n_features in range(2, min(MOST_ENOUGH, len(model.programs_)) + 1):
        if not waiting:
            break
        again = _explain(model, [graphs[row] for row in waiting], asked, n_features)
        for row, explanation in zip(waiting, again, strict=True):
            found[row] = explanation
        waiting = _not_enough(model, found, waiting)
    return found


def _not_enough(model: GDLNNClassifier, found: list[Explanation], rows: Sequence[int]) -> list[int]:
    said = model.predict([found[row].subgraph for row in rows]).tolist()
    pairs = zip(rows, said, strict=True)
    return [row for row, label in pairs if found[row].is_empty or label != found[row].prediction]


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


class _Said(NamedTuple):
    """What a technique said, and which one it was."""

    technique: str
    options: Mapping[str, Any]
    weights: FloatArray
    quality: FloatArray | None


def _assemble(
    view: ModelView,
    graphs: list[Graph],
    said: _Said,
    seed: int,
    probabilities: FloatArray,
    problem: Problem,
) -> list[Explanation]:
    """Run the subgraph step for all graphs together, and put everything into explanations."""
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
