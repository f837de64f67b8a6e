"""The methods of studies with their hyperparameters, variants for the ablation, and explainers."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gdlnn.errors import GDLNNError
from repro.inputs import MiningSpec, find_programs, load_programs, load_split
from repro.pool import Clock
from repro.tables import method_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdlnn.graphs import Schema
    from repro.store import Configuration, RunConfig, Task

Grid = Literal["quick", "paper"]


@dataclass(frozen=True)
class Method:
    """A classifier that takes part in a study.

    Attributes
    ----------
    name, title
        The name on the command line, and the one in tables.
    home, maker
        Module and class (or function) that makes its estimator, imported when it is first needed.
    quick
        The documented configuration of the grid ``quick``.
    space
        The values of the grid ``paper``, by parameter.
    fixed
        Parameters that no grid changes.
    random
        Whether seeds change the result; if not, one run on a split is enough.
    options
        Which of ``device``, ``n_jobs`` and ``progress`` the estimator takes, besides ``seed``.
    mining
        How its programs are mined, as changes of `MiningSpec` besides ε; None for a method without programs.
    domain
        The domain of the graphs that the method needs, as in `Schema.domain`; empty for any graphs.
    """

    name: str
    title: str
    home: str
    maker: str
    quick: Configuration = field(default_factory=dict)
    space: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    fixed: Configuration = field(default_factory=dict)
    random: bool = True
    options: tuple[str, ...] = ()
    mining: Mapping[str, Any] | None = None
    domain: str = ""

    def not_applicable(self, schema: Schema | None) -> str:
        """Return why the method cannot be used on graphs of a schema; empty if it can."""
        if not self.domain or (schema is not None and schema.domain == self.domain):
            return ""
        return f"it needs {self.domain}s, and these graphs are not"

    def make(self, configuration: Configuration, seed: int, device: str, n_jobs: int) -> Any:
        """Return an unfitted estimator."""
        maker = getattr(importlib.import_module(self.home), self.maker)
        given = {"device": device, "n_jobs": n_jobs, "progress": False}
        options = {name: given[name] for name in self.options}
        return maker(**{**self.fixed, **configuration, **options, "seed": seed})

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

    def programs(self, configuration: Configuration, n_train: int) -> list[MiningSpec]:
        """Return how the programs for a configuration are mined from this many training graphs."""
        if self.mining is None:
            return []
        from gdlnn.model.vocabulary import listed_epsilons

        epsilons = listed_epsilons(configuration.get("epsilon", "auto"), n_train)
        return [replace(MiningSpec(epsilon), **self.mining) for epsilon in epsilons]


def fit_model(method: Method, task: Task, config: RunConfig) -> tuple[Any, dict[str, float]]:
    """Fit the model of a task on its training set; return it and the seconds of mining and fitting.

    Programs must have been mined before.
    """
    (train, val, _), fingerprint = load_split(task.dataset, task.protocol, task.split, config)
    model = method.make(task.configuration, task.seed, config.device, config.n_jobs)
    specs = method.programs(task.configuration, len(train))
    sets = [load_programs(find_programs(config, task.dataset, fingerprint, spec)) for spec in specs]
    given = {"programs": sets[0] if len(sets) == 1 else sets} if sets else {}
    clock = Clock()
    model.fit(train, validation=val, **given)
    wall, cpu = clock.read()
    times = {"fit": wall, "fit_cpu": cpu}
    if sets:
        times["mining"] = float(sum(programs.stats.wall_seconds for programs in sets))
        # Where mining was resumed, only the descents are counted from the beginning.
        spent = (max(programs.stats.cpu_seconds, programs.stats.descent_seconds) for programs in sets)
        times["mining_cpu"] = float(sum(spent))
    return model, times


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


def default_classifier(**flat: Any) -> Any:
    """Return the default GDLNN, with options of the head and of the classifier side by side.

    Studies compare accuracies, so the most probable class is predicted even if one is rare.
    """
    from gdlnn.model import GDLNNClassifier, MLPHead

    return _with_options(GDLNNClassifier(head=MLPHead(), decide=0.5), flat)


def linear_classifier(**flat: Any) -> Any:
    """Return GDLNN with ``head="linear"``, with options as for `default_classifier`."""
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.head import linear_head

    return _with_options(GDLNNClassifier(head=linear_head(), decide=0.5), flat)


def scorecard_classifier(**flat: Any) -> Any:
    """Return GDLNN with ``head="scorecard"``."""
    from gdlnn.model import GDLNNClassifier

    return GDLNNClassifier(head="scorecard", decide=0.5, **flat)


def first_classifier(**flat: Any) -> Any:
    """Return the default of version 0.1, with options of search, head and classifier side by side.

    The files of results name configurations in this way.
    """
    from gdlnn.model import GDLNNClassifier, Mined, MLPHead

    head = MLPHead(soft_labels="auto", linear_share=0)
    source = Mined(ignore=(), nominal="interval")
    model = GDLNNClassifier(source, head, structure=False, calibrate=False, decide=0.5)
    return _with_options(model, flat)


def flat_paper_classifier(**flat: Any) -> Any:
    """Return the paper's recipe, with options as for `first_classifier`."""
    from gdlnn.model import GDLNNClassifier

    return _with_options(GDLNNClassifier.paper(), flat)


def _with_options(model: Any, flat: Configuration) -> Any:
    for name, value in flat.items():
        if name in model.get_params(deep=False):
            model.set_params(**{name: value})
        else:
            part = "head" if name in model.head.get_params() else "vocabulary"
            model.set_params(**{f"{part}__{name}": value})
    return model


def _network(name: str, maker: str) -> Method:
    fixed = {"n_layers": 3, "dropout": 0.5, "epochs": 500, "patience": 100}
    home = "repro.baselines.gnn"
    return Method(name, name.upper(), home, maker, GNN_QUICK, GNN_SPACE, fixed, options=("device",))


def _kernel(name: str, maker: str) -> Method:
    space = {"n_iter": (1, 2, 3, 4, 5), "C": (0.1, 1.0, 10.0, 100.0)}
    quick = {"n_iter": 4, "C": 10.0}
    return Method(name, name.upper(), "repro.baselines.kernels", maker, quick, space, random=False)


def _gdlnn(name: str, title: str, maker: str, **more: Any) -> Method:
    own = {"space": {"learning_rate": RATES}, "options": ("device", "n_jobs", "progress"), **more}
    return Method(name, title, "repro.methods", maker, **own)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("majority", "Majority", "repro.baselines.base", "MajorityClassifier", random=False),
        _network("mlp", "PoolingMLPClassifier"),
        _network("gcn", "GCNClassifier"),
        _network("gin", "GINClassifier"),
        _network("gat", "GATClassifier"),
        _kernel("wl", "WLClassifier"),
        _kernel("wl-oa", "WLOAClassifier"),
        Method(
            "ecfp-rf",
            "ECFP4 + forest",
            "repro.baselines.base",
            "FingerprintForestClassifier",
            space={"n_bits": (1024, 2048, 4096), "n_trees": (100, 500)},
            options=("n_jobs",),
            domain="molecule",
        ),
        Method(
            "pooled-rf",
            "Pooled features + forest",
            "repro.baselines.base",
            "PooledForestClassifier",
            space={"n_trees": (100, 500)},
            options=("n_jobs",),
        ),
        Method(
            "pl4xgl",
            "PL4XGL",
            "repro.pl4xgl",
            "PL4XGLClassifier",
            quick={"epsilon": 0.1},
            space={"epsilon": EPSILONS},
            random=False,
            options=("n_jobs", "progress"),
            mining={"strategy": "sequential"},
        ),
        _gdlnn("gdlnn", "GDLNN", "default_classifier"),
        _gdlnn("gdlnn-linear", "GDLNN, linear head", "linear_classifier"),
        Method(
            "gdlnn-scorecard",
            "GDLNN, scorecard",
            "repro.methods",
            "scorecard_classifier",
            options=("n_jobs", "progress"),
        ),
        _gdlnn("gdlnn-v1", "GDLNN 0.1", "first_classifier", mining={}),
        _gdlnn(
            "gdlnn-paper",
            "GDLNN (paper's recipe)",
            "flat_paper_classifier",
            quick={"epsilon": 0.1, "k": 1.0, "learning_rate": 0.005},
            space={"epsilon": EPSILONS, "k": (0.01, 0.2, 0.4, 0.6, 0.8, 1.0), "learning_rate": RATES},
            mining={},
        ),
    )
}
"""All methods by name, in the order of the tables."""

BASE = "ablation-base"


def _variant(name: str, title: str, **changes: Any) -> Method:
    options = ("device", "n_jobs", "progress")
    return Method(name, title, "repro.variants", "ablated_classifier", changes, options=options)


VARIANTS: dict[str, Method] = {
    method.name: method
    for method in (
        _variant(BASE, "base: neighbourhoods and programs mined in bags"),
        _variant("ablation-neighbourhoods", "neighbourhoods only", sources=["neighbourhoods"]),
        _variant("ablation-mined", "mined programs only", sources=["mined"]),
        _variant("ablation-no-structure", "without degree and ring", structure=False),
        _variant("ablation-intervals", "intervals of nominal features, not values", nominal="interval"),
        _variant("ablation-no-bags", "mined from all graphs at once, not in bags", bags=None),
        _variant("ablation-not-pooled", "without pooled features", pooled=False),
        _variant("ablation-all-columns", "calibrated with columns that saw the labels", honest=False),
        _variant("ablation-not-calibrated", "not calibrated", calibrate=False),
        _variant("ablation-no-linear", "perceptrons without the linear model", linear_share=0),
        _variant("ablation-one-perceptron", "one perceptron", linear_share=0, ensemble_size=1),
        _variant("ablation-linear", "linear head", head="linear"),
        _variant("ablation-scorecard", "scorecard", head="scorecard"),
        _variant("ablation-forest", "random forest as the head", head="forest"),
    )
}
"""The default with one choice changed at a time; the first one is the base of comparison.

The base mines programs on datasets of any size. Below 1,000 training graphs it is the default; above, the
default is the variant with neighbourhoods only.
"""


def find_method(name: str) -> Method:
    """Return a method by name, the variants of the ablation included."""
    known = {**METHODS, **VARIANTS}
    if name not in known:
        raise GDLNNError(f"method: expected one of {', '.join(METHODS)}, got {name!r}")
    return known[name]


def row_title(row: str) -> str:
    """Return what a row of the tables is called: ``gin`` is GIN, ``gin:6`` is GIN (6 configurations)."""
    title, several = find_method(method_of(row)).title, row.partition(":")[2]
    if not several:
        return title
    start = f"{title[:-1]}, " if title.endswith(")") else f"{title} ("
    return f"{start}{several} configurations)"


# --- the explainers ---------------------------------------------------------------------------------------

N_FEATURES = (5, 10, 20, 50, 100, 200, 500, 1000)
"""How many programs LIME names, as in the paper: from 5 to 1000."""
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Sizes of explanations of graph networks, as shares of a graph's nodes."""


@dataclass(frozen=True)
class Explainer:
    """A model with a way to explain it.

    Attributes
    ----------
    name, title
        The name on the command line, and the one in tables and figures.
    model
        The method that is explained, a name in `METHODS`.
    way
        "programs": a technique over programs, swept over their number. "smallest": the smallest sufficient
        subgraph of programs, no sweep. "deciding": one program, no sweep. "network": nodes of a graph for a
        graph network, swept over their share.
    one_by_one
        Whether every graph is a separate cell, since one takes long.
    technique
        How programs are weighted.
    """

    name: str
    title: str
    model: str
    way: Literal["programs", "smallest", "deciding", "network"]
    one_by_one: bool = False
    technique: str = "lime"

    @property
    def method(self) -> Method:
        """The method that is explained."""
        return find_method(self.model)

    @property
    def settings(self) -> Sequence[float]:
        """The values of the sweep."""
        return {"programs": N_FEATURES, "network": SHARES}.get(self.way, (1,))


EXPLAINERS: dict[str, Explainer] = {
    explainer.name: explainer
    for explainer in (
        Explainer("gdlnn", "GDLNN", "gdlnn", "programs", technique="contribution"),
        Explainer(
            "gdlnn-smallest", "GDLNN, smallest sufficient", "gdlnn", "smallest", technique="contribution"
        ),
        Explainer("gdlnn-lime", "GDLNN + LIME", "gdlnn", "programs"),
        Explainer("gdlnn-shap", "GDLNN + SHAP", "gdlnn", "programs", technique="kernel_shap"),
        Explainer("gdlnn-v1", "GDLNN 0.1 + LIME", "gdlnn-v1", "programs"),
        Explainer("gdlnn-v1-smallest", "GDLNN 0.1, smallest sufficient", "gdlnn-v1", "smallest"),
        Explainer("gdlnn-paper", "GDLNN (paper's recipe) + LIME", "gdlnn-paper", "programs"),
        Explainer("pl4xgl", "PL4XGL", "pl4xgl", "deciding"),
        Explainer("subgraphx", "GIN + SubgraphX", "gin", "network", one_by_one=True),
        Explainer("gnnexplainer", "GIN + GNNExplainer", "gin", "network"),
        Explainer("gradients", "GIN + integrated gradients", "gin", "network"),
    )
}
"""All explainers by name, in the order of the tables."""
RIVAL = "subgraphx"
"""The explainer that GDLNN is compared with."""
