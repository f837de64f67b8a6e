"""Studies of explanations and of their cost: their cells, and how one is computed.

Tables are in `curves` and `cost`. Explanations are studied on the first split and seed of the paper's
protocol.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from repro.inputs import also_forget, load_split, plan_splits
from repro.methods import EXPLAINERS, find_method, fit_model
from repro.metrics import overlap
from repro.pool import Clock
from repro.store import Store, Task
from repro.study import Job, StudyPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn.graphs import Graph, GraphDataset
    from gdlnn.graphs.splits import Split
    from repro.inputs import SplitPlan
    from repro.methods import Explainer, Method
    from repro.store import Configuration, Kind, Protocol, Result, RunConfig

COST_FEATURES = 5
COST_SHARE = 0.2


# --- cells ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExplanationPlan(StudyPlan):
    """Explainers × datasets, on a sample of the test graphs.

    Attributes
    ----------
    kind
        "explain" scores explanations, "cost" times them.
    datasets, methods
        Names of datasets and of `EXPLAINERS`.
    sample
        Number of test graphs of a dataset that are explained, drawn with the seed; None for all.
    seed
        Seed of sample, models and explanations.
    """

    kind: Kind
    datasets: Sequence[str]
    methods: Sequence[str]
    sample: int | None = 30
    seed: int = 0
    protocol: Protocol = "paper"

    @property
    def lock(self) -> str:
        """The kind."""
        return self.kind

    def splits(self) -> list[SplitPlan]:
        """Return the one split of the paper's protocol."""
        return plan_splits(self.protocol, 1)

    def jobs(
        self, dataset: str, plan: SplitPlan, split: Split, fingerprint: str, config: RunConfig
    ) -> list[Job]:
        """Return a cell for every explainer, or for every graph where one takes long."""
        rows = self.explained_rows(split)
        jobs = []
        for name in self.methods:
            explainer = EXPLAINERS[name]
            store = Store(config.programs or config.out)
            configuration, _ = chosen_configuration(store, dataset, explainer.method, fingerprint)
            task = Task(self.kind, dataset, name, configuration, self.seed, self.protocol, plan.name)
            networks: tuple[Task, ...] = ()
            if explainer.way == "network":
                task = replace(task, options={"device": self._device(task, fingerprint, config)})
                networks = (network_task(task, task.options["device"]),)
                if self.kind == "cost":  # the time of a fit is always taken on the CPU
                    jobs.append(Job(network_task(task, config.device), fingerprint))
            programs = tuple(explainer.method.programs(configuration, len(split.train)))
            cells = [replace(task, rows=(row,)) for row in rows] if explainer.one_by_one else []
            cells = cells or [replace(task, rows=rows)]
            jobs += [Job(cell, fingerprint, networks, programs) for cell in cells]
        return jobs

    def explained_rows(self, split: Split) -> tuple[int, ...]:
        """Return the positions in the test set of the graphs to explain."""
        return sampled_rows(len(split.test), self.sample, self.seed)

    def without_data(self, dataset: str, plan: SplitPlan) -> list[Task]:
        """Return a cell for every explainer."""
        del plan
        return [Task(self.kind, dataset, method, {}, self.seed) for method in self.methods]

    def _device(self, task: Task, fingerprint: str, config: RunConfig) -> str:
        """Return the device on which the network that a cell explains is fitted.

        The cost of an explanation does not depend on it, so a network fitted on an accelerator by a study of
        explanations can be used.
        """
        if self.kind == "cost":
            for device in ("cuda", "auto"):
                network = network_task(task, device)
                before = Store(config.out).finished(network, fingerprint, config.limit)
                if before is not None and before["status"] == "ok":
                    return device
        return config.device

    @property
    def compute(self) -> Callable[[Task, RunConfig], Result]:
        """Fits a network, scores explanations or times them."""
        return compute_explanations

    def settle(self, task: Task, before: list[Result]) -> Task | Result:
        """Give a cell up if its network could not be fitted."""
        for network in before:
            if network["status"] != "ok":
                kept: Result = {k: network[k] for k in ("status", "limit", "fingerprint") if k in network}
                return {**kept, "reason": f"its network: {network['reason']}"}
        return task

    def describe(self, task: Task, result: Result) -> str:
        """Return the explainer and what came out, or the reason of a failure."""
        words = f"{task.method} graph {task.rows[0]}" if len(task.rows) == 1 else task.method
        if task.kind == "network":
            words = f"network {EXPLAINERS[task.method].method.title}"
        if result["status"] != "ok":
            said = str(result["reason"])
        elif task.kind == "network":
            said = f"accuracy {100 * result['accuracy']:.1f} %, {result['times']['fit']:.1f} s"
        elif task.kind == "cost":
            said = f"{np.mean([g['explain'] for g in result['graphs']]):.3g} s for an explanation"
        else:
            said = f"{len(result['graphs'])} explained, {result['times']['explain']:.1f} s"
        return f"{words}: {said}"


def sampled_rows(n_test: int, sample: int | None, seed: int) -> tuple[int, ...]:
    """Return the sorted positions of the test graphs that are explained; always the same for a seed."""
    if sample is None or sample >= n_test:
        return tuple(range(n_test))
    drawn = np.random.default_rng(seed).permutation(n_test)[:sample]
    return tuple(np.sort(drawn).tolist())


def chosen_configuration(
    store: Store, dataset: str, method: Method, fingerprint: str
) -> tuple[Configuration, float | None]:
    """Return the configuration that an accuracy study chose on this split, and the seconds it took.

    If no study searched, it is the documented one, and there are no seconds.
    """
    found = [
        cell
        for cell in store.cells("cell", "paper")
        if (cell["dataset"], cell["method"], cell["status"]) == (dataset, method.name, "ok")
        and cell["fingerprint"] == fingerprint
        and cell["n_configurations"] > 1
    ]
    if not found:
        return dict(method.quick), None
    best = min(found, key=lambda cell: (-cell["n_configurations"], cell["seed"]))
    return dict(best["configuration"]), float(best.get("selection_seconds", 0.0))


def network_task(task: Task, device: str) -> Task:
    """Return the task that fits the network which a task explains; explainers of one model share it."""
    model = EXPLAINERS[task.method].model
    first = next(name for name, explainer in EXPLAINERS.items() if explainer.model == model)
    return replace(task, kind="network", method=first, rows=(), options={"device": device})


# --- computing --------------------------------------------------------------------------------------------


def compute_explanations(task: Task, config: RunConfig) -> Result:
    """Compute a task of the kind "network", "explain" or "cost"."""
    if task.kind == "network":
        return _fit_network(task, config)
    data = named_graphs(task, config)
    model, times = explained_model(task, config)
    return (_score if task.kind == "explain" else _time)(task, data, model, times)


def _fit_network(task: Task, config: RunConfig) -> Result:
    """Fit the graph network of a dataset and save it for the cells that explain it."""
    from repro.baselines.gnn import save_network

    model, times = fit_model(EXPLAINERS[task.method].method, task, config)
    save_network(model, Store(config.out).network_file(task))
    (_, _, test), _ = load_split(task.dataset, task.protocol, task.split, config)
    return {"times": times, "n_epochs": len(model.history_), "accuracy": float(model.score(test))}


def named_graphs(task: Task, config: RunConfig) -> GraphDataset:
    """Return the test graphs that a task names."""
    (_, _, test), _ = load_split(task.dataset, task.protocol, task.split, config)
    return test.take(np.array(task.rows, dtype=np.int64))


def explained_model(task: Task, config: RunConfig) -> tuple[Any, dict[str, float]]:
    """Return the model that a task explains, and the time of fitting it, if it was fitted here."""
    explainer = EXPLAINERS[task.method]
    if explainer.way != "network":
        if task.kind == "cost":
            return fit_model(explainer.method, task, config)
        shared = replace(task, kind="explain", method=explainer.model, rows=(), options={})
        return _shared_model(json.dumps(asdict(shared)), config)
    file = Store(config.out).network_file(network_task(task, task.options["device"]))
    return _saved_network(str(file), config.device), {}


@lru_cache(maxsize=1)
def _shared_model(task: str, config: RunConfig) -> tuple[Any, dict[str, float]]:
    """Fit the model of a task, given as JSON; explainers of the same model in a row share it."""
    read = Task(**json.loads(task))
    return fit_model(find_method(read.method), read, config)


also_forget.append(_shared_model.cache_clear)


@lru_cache(maxsize=4)
def _saved_network(file: str, device: str) -> Any:
    from repro.baselines.gnn import load_network

    return load_network(file, device)


def _score(task: Task, data: GraphDataset, model: Any, times: dict[str, float]) -> Result:
    """Explain graphs with every setting of the sweep, and score the explanations."""
    explainer = EXPLAINERS[task.method]
    clock = Clock()
    explained = explain_graphs(explainer, model, data.graphs, explainer.settings, task.seed)[0]
    wall, cpu = clock.read()
    return {
        "times": {**times, "explain": wall, "explain_cpu": cpu},
        "n_programs": len(model.programs_) if hasattr(model, "programs_") else None,
        "graphs": score_explanations(explainer, model, data, task.rows, explained),
    }


def _time(task: Task, data: GraphDataset, model: Any, times: dict[str, float]) -> Result:
    """Time the prediction and explanation of graphs, one after another."""
    explainer, rows = EXPLAINERS[task.method], []
    setting = COST_SHARE if explainer.way == "network" else COST_FEATURES
    for row, graph in zip(task.rows, data.graphs, strict=True):
        clock = Clock()
        model.predict([graph])
        predict, predict_cpu = clock.read()
        clock = Clock()
        _, counts = explain_graphs(explainer, model, [graph], (setting,), task.seed)
        wall, cpu = clock.read()
        taken = {"predict": predict, "predict_cpu": predict_cpu, "explain": wall, "explain_cpu": cpu}
        rows.append({"row": row, **taken, **counts})
    return {"times": times, "graphs": rows}


def explain_graphs(
    explainer: Explainer, model: Any, graphs: list[Graph], settings: Sequence[float], seed: int
) -> tuple[list[list[Any]], Result]:
    """Return for every setting an explanation of every graph, and the number of network evaluations.

    Parameters
    ----------
    explainer, model
        The explainer and the fitted model.
    graphs
        The graphs.
    settings
        Numbers of programs, or shares of a graph's nodes, rounded to at least one.
    seed
        Of the explanations.
    """
    if explainer.way == "network":
        by_graph: list[list[Any]] = []
        counts: Result = {}
        for graph in graphs:
            sizes = [max(1, round(share * graph.n_nodes)) for share in settings]
            found, counts = _explain_network(explainer.name, model, graph, sizes, seed)
            by_graph.append(found)
        return [list(column) for column in zip(*by_graph, strict=True)], counts
    from gdlnn.explain import explain

    if explainer.way == "deciding":
        return [explain(model, graphs) for _ in settings], {}
    numbers: list[Any] = ["smallest" if explainer.way == "smallest" else int(n) for n in settings]
    return [explain(model, graphs, explainer.technique, wanted, seed=seed) for wanted in numbers], {}


def _explain_network(
    name: str, model: Any, graph: Graph, sizes: Sequence[int], seed: int
) -> tuple[list[Any], Result]:
    """Explain one graph for a graph network with several sizes; what they can share is computed once."""
    from repro.baselines import GNNExplainer, NodeIntegratedGradients, SubgraphX

    if name == "subgraphx":
        search = SubgraphX(model, seed=seed, progress=False).search(graph)
        counts = {"n_parts": len(search.rewards), "n_drawn": search.n_drawn, "n_asked": search.n_asked}
        return [search.best(size) for size in sizes], counts
    made = GNNExplainer(model, seed=seed) if name == "gnnexplainer" else NodeIntegratedGradients(model)
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

    Parameters
    ----------
    explainer, model
        The explainer and the model that it explains.
    data
        The graphs, with labels, and the truth where it is known.
    rows
        Their positions in the test set.
    explained
        For every setting an explanation of every graph.
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
                "n_nodes": len(explanation.nodes),
                "nodes": list(explanation.nodes),
                "predicted_part": parts[i],
                "predicted_rest": rests[i],
                "truth": _agreement(explanation, data.node_masks, i),
                **_sides(explanation),
            }
            results[i]["points"].append(point)
    if explainer.way == "network":
        from repro.baselines.node_explainers import predict_masked

        for i, result in enumerate(results):
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
    if getattr(explanation, "baseline_probability", None) is None:
        return {}
    return {
        "n_supporting": len(explanation.supporting),
        "n_opposing": len(explanation.opposing),
        "has_reason": explanation.has_reason,
    }


def _agreement(explanation: Any, masks: Any, index: int) -> Result | None:
    """Return how an explanation agrees with the known truth, or None if there is none."""
    truth = None if masks is None else masks[index]
    if truth is None or not np.any(truth):
        return None
    found = overlap([explanation.node_mask], [truth], [explanation.node_scores])
    area = None if np.isnan(found.auc) else found.auc
    return {
        "precision": found.precision,
        "recall": found.recall,
        "jaccard": found.jaccard,
        "auc": area,
        "jaccard_at_size": found.jaccard_at_size,
    }
