"""The methods of the study: how each is made, its documented configuration, and its space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from gdlnn.errors import GDLNNError
from gdlnn.evaluation.programs import MiningSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Grid = Literal["quick", "paper"]
GRIDS: tuple[Grid, ...] = get_args(Grid)
Configuration = dict[str, Any]
Programs = Callable[[Configuration, int], list[MiningSpec]]

GNN_SPACE: Mapping[str, Sequence[Any]] = {
    "pooling": ("max", "mean"),
    "learning_rate": (0.01, 0.005, 0.0005),
    "hidden": (20, 32, 64, 128),
    "weight_decay": (0.0, 1e-3, 5e-4, 5e-5),
}
"""The paper's space for graph networks; 3 layers, dropout 0.5, 500 epochs and patience 100 are fixed."""
GNN_QUICK: Configuration = {"pooling": "mean", "learning_rate": 0.005, "hidden": 64, "weight_decay": 5e-5}
EPSILONS = (0.1, 0.01, 1, "1%")
"""The union of the values in the paper's text and in its table."""


@dataclass(frozen=True)
class Method:
    """A method of the study.

    Attributes
    ----------
    name, title
        The word on the command line, and the row of the table.
    home, class_name
        Where its estimator is, loaded when it is first made.
    quick
        The documented configuration of the grid ``quick``.
    space
        The values of the grid ``paper``, by parameter.
    fixed
        Parameters that no grid changes.
    random
        Whether seeds change the result; where not, one run on a split says all.
    options
        Which of ``device`` and ``n_jobs`` the estimator takes, beside ``seed``.
    programs
        Which programs a configuration needs with so many training graphs; None for a method without any.
    """

    name: str
    title: str
    home: str
    class_name: str
    quick: Configuration = field(default_factory=dict)
    space: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    fixed: Configuration = field(default_factory=dict)
    random: bool = True
    options: tuple[str, ...] = ()
    programs: Programs | None = None

    def make(self, configuration: Configuration, seed: int, device: str, n_jobs: int) -> Any:
        """Return an estimator that is not fitted yet."""
        import importlib

        made = getattr(importlib.import_module(self.home), self.class_name)
        given = {"device": device, "n_jobs": n_jobs, "progress": False}
        options = {name: given[name] for name in self.options}
        return made(**{**self.fixed, **configuration, **options, "seed": seed})

    def configurations(self, grid: Grid, limit: int | None = None) -> list[Configuration]:
        """Return the configurations of a grid; of a larger space `limit` are drawn, always the same ones."""
        if grid == "quick" or not self.space:
            return [dict(self.quick)]
        names = list(self.space)
        full = [dict(zip(names, values, strict=True)) for values in product(*self.space.values())]
        if limit is None or limit >= len(full):
            return full
        rng = np.random.default_rng(2024)
        return [full[i] for i in np.sort(rng.permutation(len(full))[:limit])]


def flat_classifier(**flat: Any) -> Any:
    """Return the default classifier, with options of search, head and classifier side by side.

    The files of results name configurations in this way.
    """
    from gdlnn.model import GDLNNClassifier, Mined, MLPHead

    return _with_options(GDLNNClassifier(Mined(), MLPHead()), flat)


def flat_paper_classifier(**flat: Any) -> Any:
    """Return the paper's recipe, with options as for `flat_classifier`."""
    from gdlnn.model import GDLNNClassifier

    return _with_options(GDLNNClassifier.paper(), flat)


def _with_options(model: Any, flat: dict[str, Any]) -> Any:
    for name, value in flat.items():
        if name == "members":
            model.head.ensemble_size = value
        elif name == "log_counts":
            model.activation = f"log_{model.activation}" if value else model.activation
        elif name in model.get_params(deep=False):
            model.set_params(**{name: value})
        else:
            part = "head" if name in model.head.get_params() else "vocabulary"
            model.set_params(**{f"{part}__{name}": value})
    return model


def mining_specs(**changes: Any) -> Programs:
    """Return what says which programs a configuration needs."""

    def specs(configuration: Configuration, n_train: int) -> list[MiningSpec]:
        from gdlnn.model.vocabulary import listed_epsilons

        several = listed_epsilons(configuration.get("epsilon", "auto"), n_train)
        return [replace(MiningSpec(value), **changes) for value in several]

    return specs


def _network(name: str, class_name: str) -> Method:
    return Method(
        name,
        name.upper(),
        "gdlnn.baselines.gnn",
        class_name,
        quick=GNN_QUICK,
        space=GNN_SPACE,
        fixed={"n_layers": 3, "dropout": 0.5, "epochs": 500, "patience": 100},
        options=("device",),
    )


def _kernel(name: str, class_name: str) -> Method:
    return Method(
        name,
        name.upper(),
        "gdlnn.baselines.kernels",
        class_name,
        quick={"n_iter": 4, "C": 10.0},
        space={"n_iter": (1, 2, 3, 4, 5), "C": (0.1, 1.0, 10.0, 100.0)},
        random=False,
    )


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("majority", "Majority", "gdlnn.baselines.majority", "MajorityClassifier", random=False),
        _network("mlp", "PoolingMLPClassifier"),
        _network("gcn", "GCNClassifier"),
        _network("gin", "GINClassifier"),
        _network("gat", "GATClassifier"),
        _kernel("wl", "WLClassifier"),
        _kernel("wl-oa", "WLOAClassifier"),
        Method(
            "ecfp-rf",
            "ECFP4 + forest",
            "gdlnn.baselines.fingerprints",
            "FingerprintForestClassifier",
            space={"n_bits": (1024, 2048, 4096), "n_trees": (100, 500)},
            options=("n_jobs",),
        ),
        Method(
            "pl4xgl",
            "PL4XGL",
            "gdlnn.model.pl4xgl",
            "PL4XGLClassifier",
            quick={"epsilon": 0.1},
            space={"epsilon": EPSILONS},
            random=False,
            options=("n_jobs", "progress"),
            programs=mining_specs(strategy="sequential"),
        ),
        Method(
            "gdlnn",
            "GDLNN",
            "gdlnn.evaluation.methods",
            "flat_classifier",
            space={"learning_rate": (0.01, 0.005, 0.0005)},
            options=("device", "n_jobs", "progress"),
            programs=mining_specs(),
        ),
        Method(
            "gdlnn-paper",
            "GDLNN (paper's recipe)",
            "gdlnn.evaluation.methods",
            "flat_paper_classifier",
            quick={"epsilon": 0.1, "k": 1.0, "learning_rate": 0.005},
            space={
                "epsilon": EPSILONS,
                "k": (0.01, 0.2, 0.4, 0.6, 0.8, 1.0),
                "learning_rate": (0.01, 0.005, 0.0005),
            },
            options=("device", "n_jobs", "progress"),
            programs=mining_specs(),
        ),
    )
}
"""All methods by name, in the order of the tables."""


def find_method(name: str) -> Method:
    """Return a method by its name, those of the ablation included."""
    from gdlnn.evaluation.ablation import VARIANTS

    known = {**METHODS, **VARIANTS}
    if name not in known:
        raise GDLNNError(f"method: expected one of {', '.join(METHODS)}, got {name!r}")
    return known[name]
