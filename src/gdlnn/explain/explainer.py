"""explain(): from a model and graphs to explanations. The façade over techniques and the subgraph step."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from gdlnn.errors import ExplanationError
from gdlnn.explain.pl4xgl import explain_pl4xgl
from gdlnn.explain.question import Question
from gdlnn.explain.sufficient import explain_enough, explain_smallest
from gdlnn.explain.techniques import Problem, Technique, make_technique
from gdlnn.graphs import Graph, GraphDataset

if TYPE_CHECKING:
    from gdlnn.explain.explanation import Explanation

TechniqueLike = str | Technique | Callable[[Problem], Any]
NFeatures = int | Literal["enough", "smallest"]
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
        "smallest": the smallest subgraph of a program that does so alone, see `explain_smallest`.
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
        wanted = _checked(n_features)
        question = Question.of(model, listed, make_technique(technique), target, seed, background)
        if wanted == "enough":
            found = explain_enough(question)
        elif wanted == "smallest":
            found = explain_smallest(question)
        else:
            found = question.explain(wanted)
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


def _checked(n_features: Any) -> NFeatures:
    if n_features == "enough" or n_features == "smallest":
        return n_features  # type: ignore[no-any-return]
    whole = isinstance(n_features, int) or (isinstance(n_features, float) and n_features.is_integer())
    if not whole or n_features < 1:
        raise ExplanationError(
            f"n_features: expected a whole number of at least 1 (more than there are programs means all), "
            f"'enough' or 'smallest', got {n_features!r}"
        )
    return int(n_features)
