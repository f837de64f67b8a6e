"""The explainers of studies: models with a way to explain them, and the cells that score or time them.

Explanations are studied on the first split and seed of the paper's protocol.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gdlnn.errors import GDLNNError
from gdlnn.explain import explain
from repro.baselines.node_explainers import (
    GNNExplainer,
    NodeExplanation,
    NodeIntegratedGradients,
    predict_masked,
)
from repro.baselines.subgraphx import SubgraphX
from repro.cells import Task, described, failure, once, read_cells
from repro.inputs import load_split
from repro.methods import find_method, fit_model
from repro.metrics import overlap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn.graphs import Graph, GraphDataset
    from repro.cells import Configuration, Result, RunConfig, Study
    from repro.methods import Method

N_FEATURES = (5, 10, 20, 50, 100, 200, 500, 1000)
"""How many programs LIME names, as in the paper: from 5 to 1000."""
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Sizes of explanations by nodes, as shares of a graph's nodes."""
SHOWN = 0.0
"""The setting of GDLNN's explanations as they are shown: the nodes of the places for the class."""


@dataclass(frozen=True)
class Explainer:
    """A model with a way to explain it.

    The `way` "scores" is GDLNN's explanation as it is shown, then the nodes with the largest scores, swept
    over their share; "programs" is a technique over programs, swept over their number, "smallest" the
    smallest sufficient subgraph, "deciding" one program; "network" names nodes for a graph network, swept
    over their share. With `one_by_one` every graph is a separate cell, since one takes long.
    """

    name: str
    title: str
    model: str
    kind: Literal["scores", "programs", "smallest", "deciding", "network"]
    one_by_one: bool = False
    technique: str = "lime"

    @property
    def method(self) -> Method:
        """The method that is explained."""
        return find_method(self.model)

    @property
    def settings(self) -> Sequence[float]:
        """The values of the sweep."""
        return {"scores": (SHOWN, *SHARES), "programs": N_FEATURES, "network": SHARES}.get(self.kind, (1,))


EXPLAINERS: dict[str, Explainer] = {
    explainer.name: explainer
    for explainer in (
        Explainer("gdlnn", "GDLNN", "gdlnn", "scores", technique="contribution"),
        Explainer(
            "gdlnn-smallest", "GDLNN, smallest sufficient", "gdlnn", "smallest", technique="contribution"
        ),
        Explainer("gdlnn-lime", "GDLNN + LIME", "gdlnn", "programs"),
        Explainer("gdlnn-shap", "GDLNN + SHAP", "gdlnn", "programs", technique="kernel_shap"),
        Explainer("gdlnn-paper", "GDLNN (paper's recipe) + LIME", "gdlnn-paper", "programs"),
        Explainer("pl4xgl", "PL4XGL", "pl4xgl", "deciding"),
        Explainer("subgraphx", "GIN + SubgraphX", "gin", "network", one_by_one=True),
        Explainer("gnnexplainer", "GIN + GNNExplainer", "gin", "network"),
        Explainer("gradients", "GIN + integrated gradients", "gin", "network"),
    )
}
"""All explainers by name, in the order of the tables."""
OURS = ("gdlnn", "gdlnn-smallest", "gdlnn-paper")
RIVAL = "subgraphx"
"""The explainer that GDLNN is compared with."""


# --- cells ------------------------------------------------------------------------------------------------


def run_explanations(
    study: Study,
    datasets: Sequence[str],
    methods: Sequence[str],
    compute: Callable[[Task, RunConfig], Result],
    sample: int | None = 30,
    seed: int = 0,
) -> list[Result]:
    """Fit the models, then compute a cell for every explainer on every dataset, or every graph if slow.

    The explained test graphs are a sample drawn with the seed, or all.
    """
    tasks: list[Task] = []
    lost: list[Result] = []
    for dataset in datasets:
        try:
            split, fingerprint = load_split(dataset, "paper", "paper", study.config.data)
        except (GDLNNError, OSError) as error:
            without = [Task(study.file.stem, dataset, name, seed=seed) for name in methods]
            lost += [{**described(task), **failure(error)} for task in without]
            continue
        rows = sampled_rows(len(split.test), sample, seed)
        for explainer in map(EXPLAINERS.__getitem__, methods):
            configuration = chosen_configuration(study.config, dataset, explainer.method, fingerprint)
            task = Task(study.file.stem, dataset, explainer.name, configuration, seed, rows=rows)
            task = replace(task, fingerprint=fingerprint)
            tasks += [replace(task, rows=(row,)) for row in rows] if explainer.one_by_one else [task]
    models = study.run([model_task(task) for task in tasks], compute_model, f"models-{study.config.device}")
    ready = []
    for task, model in zip(tasks, models, strict=True):
        if model["status"] == "ok":
            ready.append(task)
        else:
            known: Result = {name: model[name] for name in ("status", "limit") if name in model}
            lost.append({**described(task), **known, "reason": f"its model: {model['reason']}"})
    for cell in lost:
        study.record(cell)
    return [*study.run(ready, compute), *lost]


def model_task(task: Task) -> Task:
    """Return the task that fits the model which a task explains; explainers of one model share it."""
    return replace(task, study="model", method=EXPLAINERS[task.method].model, rows=())


def sampled_rows(n_test: int, sample: int | None, seed: int) -> tuple[int, ...]:
    """Return the sorted positions of the test graphs that are explained; always the same for a seed."""
    if sample is None or sample >= n_test:
        return tuple(range(n_test))
    drawn = np.random.default_rng(seed).permutation(n_test)[:sample]
    return tuple(np.sort(drawn).tolist())


def chosen_configuration(config: RunConfig, dataset: str, method: Method, fingerprint: str) -> Configuration:
    """Return the configuration that an accuracy study in the folder chose on this split.

    If no study searched, it is the documented one.
    """
    found = [
        cell
        for cell in read_cells(Path(config.out) / "accuracy.jsonl")
        if (cell["dataset"], cell["method"], cell["status"]) == (dataset, method.name, "ok")
        and cell["fingerprint"] == fingerprint
        and cell["n_configurations"] > 1
    ]
    if not found:
        return dict(method.quick)
    best = min(found, key=lambda cell: (-cell["n_configurations"], cell["seed"]))
    return dict(best["configuration"])


def explained_model(task: Task, config: RunConfig) -> tuple[Any, dict[str, float]]:
    """Return the model that a task explains, fitted once for the folder, and the time of fitting it."""
    fit = model_task(task) if task.study != "model" else task

    def make() -> tuple[Any, dict[str, float]]:
        return fit_model(find_method(fit.method), fit, config)

    model, times = once(config, ("model", fit.key, config.device), make)
    return model, times


def compute_model(task: Task, config: RunConfig) -> Result:
    """Fit the model that other cells explain."""
    model, times = explained_model(task, config)
    test = load_split(task.dataset, task.protocol, task.split, config.data)[0].test
    return {"times": times, "accuracy": float(model.score(test))}


def part_sizes(task: Task, config: RunConfig) -> list[int]:
    """Return the numbers of training, validation and test graphs."""
    return [len(part) for part in load_split(task.dataset, task.protocol, task.split, config.data)[0]]


def named_graphs(task: Task, config: RunConfig) -> GraphDataset:
    """Return the test graphs that a task names."""
    test = load_split(task.dataset, task.protocol, task.split, config.data)[0].test
    return test.take(np.array(task.rows, dtype=np.int64))


# --- explaining -------------------------------------------------------------------------------------------


def explain_graphs(
    explainer: Explainer, model: Any, graphs: list[Graph], settings: Sequence[float], seed: int
) -> tuple[list[list[Any]], Result]:
    """Return for every setting an explanation of every graph, and the number of network evaluations.

    Settings are numbers of programs, or shares of a graph's nodes, rounded to at least one node.
    """
    if explainer.kind == "network":
        by_graph: list[list[Any]] = []
        counts: Result = {}
        for graph in graphs:
            sizes = [max(1, round(share * graph.n_nodes)) for share in settings]
            found, counts = explain_network(explainer.name, model, graph, sizes, seed)
            by_graph.append(found)
        return [list(column) for column in zip(*by_graph, strict=True)], counts
    if explainer.kind == "scores":
        shown = explain(model, graphs, explainer.technique, random_state=seed)
        return [
            shown if share == SHOWN else [_largest(one, share) for one in shown] for share in settings
        ], {}
    if explainer.kind == "deciding":
        return [explain(model, graphs) for _ in settings], {}
    numbers: list[Any] = ["smallest" if explainer.kind == "smallest" else int(n) for n in settings]
    return [explain(model, graphs, explainer.technique, wanted, random_state=seed) for wanted in numbers], {}


def _largest(shown: Any, share: float) -> NodeExplanation:
    """Return the nodes of an explanation that have the largest scores, at least one."""
    order = np.argsort(-shown.node_scores, kind="stable")
    nodes = np.sort(order[: max(1, round(share * shown.graph.n_nodes))])
    return NodeExplanation(
        shown.graph, shown.prediction, shown.probability, tuple(nodes.tolist()), None, shown.node_scores
    )


def explain_network(
    name: str, model: Any, graph: Graph, sizes: Sequence[int], seed: int, min_nodes: int = 5
) -> tuple[list[Any], Result]:
    """Explain one graph for a graph network with several sizes; what they can share is computed once.

    SubgraphX prunes down to `min_nodes`.
    """
    if name == "subgraphx":
        search = SubgraphX(model, random_state=seed, min_nodes=min_nodes).search(graph)
        counts = {"n_parts": len(search.rewards), "n_drawn": search.n_drawn, "n_asked": search.n_asked}
        return [search.best(size) for size in sizes], counts
    made = (
        GNNExplainer(model, random_state=seed) if name == "gnnexplainer" else NodeIntegratedGradients(model)
    )
    return made.explain_sizes(graph, sizes), {}


# --- scoring ----------------------------------------------------------------------------------------------


def score_explanations(
    explainer: Explainer,
    model: Any,
    data: GraphDataset,
    rows: Sequence[int],
    explained: Sequence[Sequence[Any]],
) -> list[Result]:
    """Return for every graph what the model predicts for it, for its explanations, and for the rest of it.

    For graph networks also what they predict for explanations when the other nodes stay, with features of
    zero: they are not trained on subgraphs, and this is closer to their training data.

    `rows` are the positions of the graphs in the test set; `explained` has for every setting an explanation
    of every graph.
    """
    assert data.y is not None
    whole = _predicted(model, data.graphs)
    results: list[Result] = [
        {"row": row, "n_nodes": graph.n_nodes, "truth": truth, "predicted": predicted, "points": []}
        for row, graph, truth, predicted in zip(rows, data.graphs, data.y.tolist(), whole, strict=True)
    ]
    for setting, explanations in zip(explainer.settings, explained, strict=True):
        parts = _predicted(model, [e.subgraph for e in explanations])
        rests = _predicted(model, [e.graph.subgraph(np.flatnonzero(~e.node_mask)) for e in explanations])
        for i, explanation in enumerate(explanations):
            point = {
                "setting": setting,
                "nodes": list(explanation.nodes),
                "predicted_part": parts[i],
                "predicted_rest": rests[i],
                "truth": _agreement(explanation, data.node_masks, i),
                **_sides(explanation),
            }
            results[i]["points"].append(point)
    for i, result in enumerate(results if explainer.kind == "network" else ()):
        masks = np.array([explanations[i].node_mask for explanations in explained])
        masked = predict_masked(model, data.graphs[i], masks)
        for point, label in zip(result["points"], masked, strict=True):
            point["predicted_masked"] = label
    return results


def _predicted(model: Any, graphs: Sequence[Graph]) -> list[Any]:
    return np.asarray(model.predict(list(graphs))).tolist() if graphs else []


def _sides(explanation: Any) -> Result:
    """Return the numbers of listed programs for and against the class, and whether one is a reason.

    Explanations by nodes and by techniques without a baseline have none of it.
    """
    if getattr(explanation, "contributions", None) is None:
        return {}
    return {
        "n_supporting": len(explanation.supporting),
        "n_opposing": len(explanation.opposing),
        "has_reason": explanation.has_reason,
    }


def _agreement(explanation: Any, masks: Any, index: int) -> Result:
    """Return how an explanation agrees with the known truth; empty if there is none."""
    truth = None if masks is None else masks[index]
    if truth is None or not np.any(truth):
        return {}
    found = overlap([explanation.node_mask], [truth], [explanation.node_scores])
    names = ("precision", "recall", "jaccard", "auc", "jaccard_at_size")
    return {name: getattr(found, name) for name in names}
