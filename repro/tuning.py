"""tune(): choose ε, k and learning rate on a validation set as in the paper, mining once for each ε."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from gdlnn.errors import ModelError
from gdlnn.model.classifier import GDLNNClassifier
from gdlnn.model.inputs import as_labeled
from gdlnn.model.vocabulary import RunOptions
from repro.metrics import log_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn.graphs import GraphDataset
    from gdlnn.mining import ProgramSet

EPSILONS: tuple[float | str, ...] = (0.01, 0.1, 1, "1%")
FRACTIONS = (0.01, 0.2, 0.4, 0.6, 0.8, 1.0)
LEARNING_RATES = (0.01, 0.005, 0.0005)


@dataclass(frozen=True)
class TuneResult:
    """The result of `tune`: the best model, fitted, and one row for every combination, best first."""

    best_estimator: GDLNNClassifier
    best_params: dict[str, Any]
    best_score: float
    table: list[dict[str, Any]]


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['epsilon']!s:>8} {row['k']!s:>8} {row['learning_rate']:>8g} {row['n_programs']:>9} "
        f"{row['val_accuracy']:>9.4f} {row['val_loss']:>8.4f}"
    )


def tune(
    train: GraphDataset,
    val: GraphDataset,
    estimator: GDLNNClassifier | None = None,
    *,
    epsilons: Sequence[float | str] = EPSILONS,
    ks: Sequence[float] = FRACTIONS,
    learning_rates: Sequence[float] = LEARNING_RATES,
    report: Callable[[str], Any] | None = None,
) -> TuneResult:
    """Choose ε, k and the learning rate by accuracy on the validation set, then by its loss.

    All other parameters are those of the estimator, by default `GDLNNClassifier.paper()`; `report` is called
    with a line on every combination.
    """
    train, val = as_labeled(train, None, "tune: train"), as_labeled(val, None, "tune: val")
    if not len(val):
        raise ModelError("tune: val: expected at least one graph, got none")
    base: GDLNNClassifier = GDLNNClassifier.paper() if estimator is None else clone(estimator)
    base.set_params(verbose=False)
    rows: list[dict[str, Any]] = []
    sets: dict[float | str, ProgramSet] = {}
    for epsilon in epsilons:
        source: Any = clone(base.vocabulary)
        source.set_params(epsilon=epsilon)
        sets[epsilon] = source.search(
            train, RunOptions(base.random_state, base.n_jobs, False, base.checkpoint)
        )
        for k, rate in product(ks, learning_rates):
            parameters = {"epsilon": epsilon, "k": k, "learning_rate": rate}
            rows.append(_scored(_fitted(base, parameters, train, val, sets[epsilon]), parameters, val))
            if report is not None:
                report(_line(rows[-1]))
    table = sorted(rows, key=lambda row: (-row["val_accuracy"], row["val_loss"]))
    best = {name: table[0][name] for name in ("epsilon", "k", "learning_rate")}
    model = _fitted(base, best, train, val, sets[best["epsilon"]])
    by = f"accuracy on {len(val)} validation graphs out of {len(table)} combinations"
    model.choice_ = {**best, "by": by}
    return TuneResult(model, best, table[0]["val_accuracy"], table)


def _fitted(
    base: GDLNNClassifier,
    parameters: dict[str, Any],
    train: GraphDataset,
    val: GraphDataset,
    programs: ProgramSet,
) -> GDLNNClassifier:
    """Return a copy of the classifier with the parameters of one combination, fitted."""
    model: GDLNNClassifier = clone(base)
    rate = {"head__learning_rate": parameters["learning_rate"]}
    model.set_params(vocabulary__epsilon=parameters["epsilon"], vocabulary__k=parameters["k"], **rate)
    return model.fit(train, validation=val, programs=programs)


def _scored(model: GDLNNClassifier, parameters: dict[str, Any], val: GraphDataset) -> dict[str, Any]:
    probabilities = model.predict_proba(val)
    assert val.y is not None
    right = model.classes_[probabilities.argmax(axis=1)] == val.y
    return {
        **parameters,
        "n_programs": len(model.programs_),
        "val_accuracy": float(np.mean(right)),
        "val_loss": log_loss(val.y, probabilities, model.classes_),
    }
