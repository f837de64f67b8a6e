"""The methods of studies with their hyperparameters, and the variants of the ablation."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gdlnn.errors import GDLNNError
from repro.cells import Clock, once
from repro.inputs import load_split, mined_programs
from repro.tables import method_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdlnn.graphs import Schema
    from gdlnn.graphs.splits import Split
    from gdlnn.mining.settings import Strategy
    from repro.cells import Configuration, RunConfig, Task

Grid = Literal["quick", "paper"]


@dataclass(frozen=True)
class Method:
    """A classifier that takes part in a study.

    `name` is the one on the command line, `title` the one in tables; `maker` names the module and the class
    or function that makes the estimator. `quick` is the documented configuration, `space` has the values of
    the paper's grid, `fixed` are parameters that no grid changes. Where seeds do not change the result
    (`random`), one run on a split is enough. `options` says which of ``device``, ``n_jobs`` and ``verbose``
    the estimator takes, `strategy` how its programs are mined before it is fitted, and `domain` which graphs
    it needs, as in `Schema.domain`.
    """

    name: str
    title: str
    maker: str
    quick: Configuration = field(default_factory=dict)
    space: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    fixed: Configuration = field(default_factory=dict)
    random: bool = True
    options: tuple[str, ...] = ()
    strategy: Strategy | None = None
    domain: str = ""

    def not_applicable(self, schema: Schema | None) -> str:
        """Return why the method cannot be used on graphs of a schema; empty if it can."""
        if not self.domain or (schema is not None and schema.domain == self.domain):
            return ""
        return f"it needs {self.domain}s, and these graphs are not"

    def make(self, configuration: Configuration, seed: int, device: str) -> Any:
        """Return an unfitted estimator."""
        module, _, name = self.maker.rpartition(".")
        maker = getattr(importlib.import_module(f"repro.{module}"), name)
        given = {"device": device, "n_jobs": 1, "verbose": False}
        options = {name: given[name] for name in self.options}
        return maker(**{**self.fixed, **configuration, **options, "random_state": seed})

    def configurations(self, grid: Grid, limit: int | None = None) -> list[Configuration]:
        """Return the configurations of a grid; from a larger space the same `limit` are always drawn."""
        if grid == "quick" or not self.space:
            return [dict(self.quick)]
        names = list(self.space)
        full = [dict(zip(names, values, strict=True)) for values in product(*self.space.values())]
        if limit is None or limit >= len(full):
            return full
        rng = np.random.default_rng(2024)
        return [full[i] for i in np.sort(rng.permutation(len(full))[:limit])]


def fit_model(
    method: Method, task: Task, config: RunConfig, split: Split | None = None
) -> tuple[Any, dict[str, float]]:
    """Fit the model of a task on its training set; return it and the seconds of mining and fitting.

    Without `split` it is the one that the task names.
    """
    train, val, _ = split or load_split(task.dataset, task.protocol, task.split, config.data)[0]
    model = method.make(task.configuration, task.seed, config.device)
    given, times = {}, {}
    if method.strategy is not None:
        how = (task.configuration["epsilon"], method.strategy)
        key = ("programs", task.dataset, task.fingerprint, *how)
        programs = once(config, key, lambda: mined_programs(train, *how))
        given = {"programs": programs}
        times = {"mining": programs.stats["wall_seconds"], "mining_cpu": programs.stats["cpu_seconds"]}
    clock = Clock()
    model.fit(train, validation=val, **given)
    return model, {**times, **clock.read("fit")}


# --- the methods ------------------------------------------------------------------------------------------

GNN_SPACE: Mapping[str, Sequence[Any]] = {
    "pooling": ("max", "mean"),
    "learning_rate": (0.01, 0.005, 0.0005),
    "hidden": (20, 32, 64, 128),
    "weight_decay": (0.0, 1e-3, 5e-4, 5e-5),
}
"""The paper's space for graph networks; 3 layers, dropout 0.5, 500 epochs and patience 100 are fixed."""
GNN_QUICK: Configuration = {"pooling": "mean", "learning_rate": 0.005, "hidden": 64, "weight_decay": 5e-5}
RATES = (0.01, 0.005, 0.0005)
EPSILONS = (0.1, 0.01, 1, "1%")
"""The union of the values in the paper's text and in its table."""


def gdlnn_classifier(head: str = "auto", **flat: Any) -> Any:
    """Return GDLNN with a head by name, with options of the head and of the classifier side by side."""
    from gdlnn.model import GDLNNClassifier, MixtureHead

    made: Any = MixtureHead() if head == "auto" else head
    return _with_options(GDLNNClassifier(head=made), flat)


def paper_classifier(**flat: Any) -> Any:
    """Return the paper's recipe, with options of search, head and classifier side by side."""
    from gdlnn.model import GDLNNClassifier

    return _with_options(GDLNNClassifier.paper(), flat)


def _with_options(model: Any, flat: Configuration) -> Any:
    for name, value in flat.items():
        if name in model.get_params(deep=False) or isinstance(model.head, str):
            model.set_params(**{name: value})
        else:
            part = "head" if name in model.head.get_params() else "vocabulary"
            model.set_params(**{f"{part}__{name}": value})
    return model


def _network(name: str, maker: str) -> Method:
    fixed = {"n_layers": 3, "dropout": 0.5, "epochs": 500, "patience": 100}
    maker = f"baselines.gnn.{maker}"
    return Method(name, name.upper(), maker, GNN_QUICK, GNN_SPACE, fixed, options=("device",))


def _kernel(name: str, maker: str) -> Method:
    space = {"n_iter": (1, 2, 3, 4, 5), "C": (0.1, 1.0, 10.0, 100.0)}
    quick = {"n_iter": 4, "C": 10.0}
    return Method(name, name.upper(), f"baselines.kernels.{maker}", quick, space, random=False)


def _gdlnn(name: str, title: str, maker: str, **more: Any) -> Method:
    own = {"options": ("n_jobs", "verbose"), **more}
    return Method(name, title, f"methods.{maker}", **own)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("majority", "Majority", "baselines.base.MajorityClassifier", random=False),
        _network("mlp", "PoolingMLPClassifier"),
        _network("gcn", "GCNClassifier"),
        _network("gin", "GINClassifier"),
        _network("gat", "GATClassifier"),
        _kernel("wl", "WLClassifier"),
        _kernel("wl-oa", "WLOAClassifier"),
        Method(
            "ecfp-rf",
            "ECFP4 + forest",
            "baselines.base.FingerprintForestClassifier",
            space={"n_bits": (1024, 2048, 4096), "n_trees": (100, 500)},
            options=("n_jobs",),
            domain="molecule",
        ),
        Method(
            "pooled-rf",
            "Pooled features + forest",
            "baselines.base.PooledForestClassifier",
            space={"n_trees": (100, 500)},
            options=("n_jobs",),
        ),
        Method(
            "pl4xgl",
            "PL4XGL",
            "pl4xgl.PL4XGLClassifier",
            quick={"epsilon": 0.1},
            space={"epsilon": EPSILONS},
            random=False,
            options=("n_jobs", "verbose"),
            strategy="sequential",
        ),
        _gdlnn("gdlnn", "GDLNN", "gdlnn_classifier"),
        _gdlnn("gdlnn-linear", "GDLNN, linear head", "gdlnn_classifier", fixed={"head": "linear"}),
        _gdlnn("gdlnn-scorecard", "GDLNN, scorecard", "gdlnn_classifier", fixed={"head": "scorecard"}),
        _gdlnn(
            "gdlnn-paper",
            "GDLNN (paper's recipe)",
            "paper_classifier",
            quick={"epsilon": 0.1, "k": 1.0, "learning_rate": 0.005},
            space={"epsilon": EPSILONS, "k": (0.01, 0.2, 0.4, 0.6, 0.8, 1.0), "learning_rate": RATES},
            strategy="greedy",
        ),
    )
}
"""All methods by name, in the order of the tables."""


def ablated_classifier(
    *, levels: Sequence[str] = ("full", "coarse"), mined: bool = False, **others: Any
) -> Any:
    """Return the classifier of a variant; without changes, the default.

    `levels` are those of neighborhoods, `mined` adds mined programs, `others` are parameters of
    `GDLNNClassifier`.
    """
    from gdlnn.model import GDLNNClassifier, Mined, MixtureHead, Neighborhoods

    sources: list[Any] = [Neighborhoods(levels=tuple(levels)), *([Mined()] if mined else [])]
    return _with_options(GDLNNClassifier(sources, MixtureHead()), others)


def _variant(name: str, title: str, **changes: Any) -> Method:
    options = ("n_jobs", "verbose")
    return Method(f"ablation-{name}", title, "methods.ablated_classifier", changes, options=options)


VARIANTS: dict[str, Method] = {
    method.name: method
    for method in (
        _variant("no-coarse", "without the coarse level", levels=["full"]),
        _variant("no-forest", "without the forest", head="linear"),
        _variant("no-linear", "without the linear model", head="forest"),
        _variant("no-pooled", "without pooled features", pooled=False),
        _variant("no-properties", "without properties", properties=False),
        _variant("no-calibration", "without calibration", calibrate=False),
        _variant("counts", "counts of places for presence", activation="count"),
        _variant("with-mined", "with mined programs", mined=True),
        _variant("mlp", "five perceptrons alone", head="mlp"),
    )
}
"""The default with one choice changed at a time."""


def find_method(name: str) -> Method:
    """Return a method by name, the variants of the ablation included."""
    known = {**METHODS, **VARIANTS}
    if name not in known:
        raise GDLNNError(f"method: expected one of {', '.join(METHODS)}, got {name!r}")
    return known[name]


def row_title(row: str) -> str:
    """Return what a row of the tables is called.

    ``gin`` is GIN, ``gin:6@0.2`` is GIN (6 configurations, version 0.2).
    """
    title, (chosen, _, version) = find_method(method_of(row)).title, row.partition("@")
    several = chosen.partition(":")[2]
    more = [f"{several} configurations"] * bool(several) + [f"version {version}"] * bool(version)
    if not more:
        return title
    start = f"{title[:-1]}, " if title.endswith(")") else f"{title} ("
    return f"{start}{', '.join(more)})"
