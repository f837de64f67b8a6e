"""Running one cell of the studies of explanations and of cost, in this process or in a worker."""

from __future__ import annotations

import datetime
import signal
import threading
import time
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.evaluation.cells import Result, Store
from gdlnn.evaluation.explain_cells import ExplainPlace, ExplainStore, ExplainTask
from gdlnn.evaluation.explainers import (
    COST_FEATURES,
    COST_SHARE,
    EXPLAINERS,
    Explainer,
    explain_network,
)
from gdlnn.evaluation.judging import add_masked, judge
from gdlnn.evaluation.programs import load_programs
from gdlnn.evaluation.running import failure, load_split, machine, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from gdlnn.graphs import GraphDataset

PROTOCOL = "paper"
"""Explanations are studied on the first split and seed of this protocol."""


class OutOfTimeError(BaseException):
    """A cell's time is up. No `Exception`, so that nobody on the way takes it for one of theirs."""


def run_explain_task(task: ExplainTask, place: ExplainPlace) -> Result:
    """Run a cell; whatever goes wrong becomes a result with its reason, and so does running out of time."""
    common: Result = {**task.to_json(), "versions": versions(), "machine": machine()}
    steps: dict[str, Callable[[ExplainTask, ExplainPlace], Result]] = {
        "network": _network,
        "explain": _explain,
        "cost": _cost,
    }
    try:
        split, common["fingerprint"] = load_split(task.dataset, PROTOCOL, PROTOCOL, place)
        common["sizes"] = [len(part) for part in split]
        with time_limit(place.limit):
            status: Result = {"status": "ok", **steps[task.step](task, place)}
    except OutOfTimeError:
        reason = f"not finished in {place.limit:g} s"
        status = {"status": "late", "reason": reason, "limit": place.limit}
    except Exception as error:  # one cell's failure must not end the study
        status = failure(error)
    finished = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {**common, **status, "finished": finished}


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `OutOfTimeError` in the block after so many seconds; only the main thread can be stopped so."""
    able = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not able:
        yield
        return

    def stop(number: int, frame: Any) -> None:  # noqa: ARG001
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Clock:
    """Wall and processor seconds since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Return both."""
        return time.perf_counter() - self._wall, time.process_time() - self._cpu


# --- models -----------------------------------------------------------------------------------------------


def _network(task: ExplainTask, place: ExplainPlace) -> Result:
    """Fit the graph network of a data set and keep it for the cells that explain it."""
    from gdlnn.baselines.saved_network import save_network

    (train, val, test), _ = load_split(task.dataset, PROTOCOL, PROTOCOL, place)
    method = EXPLAINERS[task.method].method
    model = method.make(task.configuration, task.seed, place.device, place.n_jobs)
    clock = Clock()
    model.fit(train, validation=val)
    wall, cpu = clock.read()
    save_network(model, ExplainStore(place.out).network_file(task))
    return {
        "times": {"fit": wall, "fit_cpu": cpu},
        "n_epochs": len(model.history_),
        "accuracy": float(model.score(test)),
    }


def network_task(task: ExplainTask, device: str) -> ExplainTask:
    """Return the task that fits the network which a task explains; networks of one model are shared."""
    model = EXPLAINERS[task.method].model
    first = next(name for name, explainer in EXPLAINERS.items() if explainer.model == model)
    return ExplainTask("network", task.dataset, first, task.configuration, task.seed, (), {"device": device})


@lru_cache(maxsize=4)
def _saved(file: str, device: str) -> Any:
    from gdlnn.baselines.saved_network import load_network

    return load_network(file, device)


def programs_file(place: ExplainPlace, dataset: str, fingerprint: str, key: str) -> Path:
    """Return the file of programs in the folder that was named for them, where it is there, else in `out`."""
    folders = [place.out] if place.programs is None else [place.programs, place.out]
    files = [Store(folder).programs_file(dataset, fingerprint, key) for folder in folders]
    return next((file for file in files if file.is_file()), files[-1])


def _model(task: ExplainTask, place: ExplainPlace) -> tuple[Any, Result]:
    """Return the model that a task explains, and what it took."""
    explainer = EXPLAINERS[task.method]
    (train, val, _), fingerprint = load_split(task.dataset, PROTOCOL, PROTOCOL, place)
    if explainer.kind == "network":
        file = ExplainStore(place.out).network_file(network_task(task, task.options["device"]))
        return _saved(str(file), place.device), {}
    assert explainer.method.programs is not None
    sets = [
        load_programs(programs_file(place, task.dataset, fingerprint, spec.key))
        for spec in explainer.method.programs(task.configuration, len(train))
    ]
    model = explainer.method.make(task.configuration, task.seed, place.device, place.n_jobs)
    clock = Clock()
    model.fit(train, validation=val, programs=sets[0] if len(sets) == 1 else sets)
    wall, cpu = clock.read()
    times = {
        "mining": float(sum(programs.stats.wall_seconds for programs in sets)),
        "mining_cpu": float(sum(programs.stats.cpu_seconds for programs in sets)),
        "fit": wall,
        "fit_cpu": cpu,
    }
    return model, times


# --- cells ------------------------------------------------------------------------------------------------


def _sample(task: ExplainTask, place: ExplainPlace) -> GraphDataset:
    (_, _, test), _ = load_split(task.dataset, PROTOCOL, PROTOCOL, place)
    return test.take(np.array(task.rows, dtype=np.int64))


def _explain(task: ExplainTask, place: ExplainPlace) -> Result:
    """Explain graphs with every setting of the sweep, and judge."""
    explainer, data = EXPLAINERS[task.method], _sample(task, place)
    model, times = _model(task, place)
    settings = explainer.settings
    clock = Clock()
    if explainer.kind == "network":
        by_graph = [explain_network(explainer, model, graph, task.seed, settings)[0] for graph in data.graphs]
        explained = [list(column) for column in zip(*by_graph, strict=True)]
    else:
        explained = [_with_programs(explainer, model, data.graphs, int(n), task.seed) for n in settings]
    wall, cpu = clock.read()
    graphs = judge(model, data, task.rows, settings, explained)
    if explainer.kind == "network":
        add_masked(model, graphs, explained)
    return {
        "times": {**times, "explain": wall, "explain_cpu": cpu},
        "n_programs": len(model.programs_) if hasattr(model, "programs_") else None,
        "graphs": graphs,
    }


def _with_programs(
    explainer: Explainer, model: Any, graphs: list[Any], n_features: int, seed: int
) -> list[Any]:
    from gdlnn.explain import explain

    if explainer.kind == "deciding":
        return explain(model, graphs)
    wanted: Any = "smallest" if explainer.kind == "smallest" else n_features
    return explain(model, graphs, "lime", wanted, seed=seed)


def _cost(task: ExplainTask, place: ExplainPlace) -> Result:
    """Take the time of predicting and of explaining graphs, one after another."""
    explainer, data = EXPLAINERS[task.method], _sample(task, place)
    model, times = _model(task, place)
    rows = []
    for row, graph in zip(task.rows, data.graphs, strict=True):
        clock = Clock()
        model.predict([graph])
        predict, predict_cpu = clock.read()
        clock = Clock()
        counts: Result = {}
        if explainer.kind == "network":
            _, counts = explain_network(explainer, model, graph, task.seed, (COST_SHARE,))
        else:
            _with_programs(explainer, model, [graph], COST_FEATURES, task.seed)
        wall, cpu = clock.read()
        times_of_row = {"predict": predict, "predict_cpu": predict_cpu, "explain": wall, "explain_cpu": cpu}
        rows.append({"row": row, **times_of_row, **counts})
    return {"times": times, "graphs": rows}
