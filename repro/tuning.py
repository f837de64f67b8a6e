"""tune(): choose ε, k and learning rate on a validation set as in the paper, mining once for each ε."""

from __future__ import annotations

import hashlib
import json
import logging
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from gdlnn.errors import ModelError
from gdlnn.graphs.identity import fingerprint
from gdlnn.graphs.schema import label_codes
from gdlnn.io.atomic import atomic_write
from gdlnn.io.folder_lock import claimed
from gdlnn.model.classifier import GDLNNClassifier
from gdlnn.model.head import MLPHead
from gdlnn.model.inputs import as_labelled
from gdlnn.model.vocabulary import Epsilon, Epsilons, Mined, RunOptions, listed_epsilons
from gdlnn.progress import stage, stage_done, stages
from gdlnn.version import package_version

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from gdlnn.graphs import GraphDataset
    from gdlnn.mining import ProgramSet

EPSILONS: tuple[Epsilon, ...] = (0.01, 0.1, 1, "1%")
FRACTIONS = (0.01, 0.2, 0.4, 0.6, 0.8, 1.0)
LEARNING_RATES = (0.01, 0.005, 0.0005)
HEADER = "tune.json"
# Results do not depend on threads or files.
_IRRELEVANT = ("n_jobs", "progress", "checkpoint", "device", "epsilon", "k", "learning_rate")
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TuneResult:
    """The result of `tune`.

    Attributes
    ----------
    best_estimator
        The model with the best parameters, fitted.
    best_params
        Its ε, k and learning rate.
    best_score
        Its accuracy on the validation set.
    table
        One row for every combination, best first: parameters, number of programs, accuracy and loss.
    """

    best_estimator: GDLNNClassifier
    best_params: dict[str, Any]
    best_score: float
    table: list[dict[str, Any]]

    def __str__(self) -> str:
        lines = [f"{'ε':>8} {'k':>8} {'rate':>8} {'programs':>9} {'accuracy':>9} {'loss':>8}"]
        lines += [
            f"{row['epsilon']!s:>8} {row['k']!s:>8} {row['learning_rate']:>8g} {row['n_programs']:>9} "
            f"{row['val_accuracy']:>9.4f} {row['val_loss']:>8.4f}"
            for row in self.table
        ]
        return "\n".join(lines)


def tune(
    train: GraphDataset,
    val: GraphDataset,
    estimator: GDLNNClassifier | None = None,
    *,
    epsilons: Epsilons = EPSILONS,
    ks: Sequence[float] = FRACTIONS,
    learning_rates: Sequence[float] = LEARNING_RATES,
    directory: str | os.PathLike[str] | None = None,
    programs: Sequence[ProgramSet] | None = None,
    progress: bool = True,
) -> TuneResult:
    """Choose ε, k and the learning rate by accuracy on the validation set, then by its loss.

    Parameters
    ----------
    train, val
        Labelled graphs to mine and train on, and labelled graphs to choose by.
    estimator
        Where all other parameters come from; by default `GDLNNClassifier.paper()`.
    epsilons, ks, learning_rates
        What to choose from; by default the paper's values.
    directory
        A folder for mining checkpoints and one file for each combination. The same
        call resumes from it.
    programs
        Programs already mined from `train`, one set for each of `epsilons`: nothing is mined.
    progress
        Show bars in terminals and notebooks.

    Returns
    -------
    The fitted model, its parameters and the table of all combinations.
    """
    train, val = as_labelled(train, None, "tune: train"), as_labelled(val, None, "tune: val")
    if not len(val):
        raise ModelError("tune: val: expected at least one graph, got none")
    base = _with_objects(GDLNNClassifier.paper() if estimator is None else estimator)
    base.set_params(progress=progress)
    distinct = listed_epsilons(epsilons, len(train))
    folder = None if directory is None else Path(directory)
    with nullcontext() if folder is None else claimed(folder, ["tune"]):
        return _tune(train, val, base, distinct, ks, learning_rates, folder, programs)


def _tune(
    train: GraphDataset,
    val: GraphDataset,
    base: GDLNNClassifier,
    distinct: list[Epsilon],
    ks: Sequence[float],
    learning_rates: Sequence[float],
    folder: Path | None,
    programs: Sequence[ProgramSet] | None,
) -> TuneResult:
    if folder is not None:
        _check_header(folder, _header(train, val, base))
    sets = _ProgramSets(train, base, folder, dict(zip(distinct, programs, strict=True)) if programs else {})
    cells = list(product(distinct, ks, learning_rates))
    rows = []
    with stages(wanted=base.progress), stage("tuning"):
        for number, (epsilon, k, rate) in enumerate(cells):
            stage_done(number, len(cells))
            with stage(f"ε = {epsilon}, k = {k}, learning rate {rate}"):
                parameters = {"epsilon": epsilon, "k": k, "learning_rate": rate}
                rows.append(_cell(base, parameters, train, val, sets, folder))
        table = sorted(rows, key=lambda row: (-row["val_accuracy"], row["val_loss"]))
        best = {name: table[0][name] for name in ("epsilon", "k", "learning_rate")}
        model = _changed(base, best)
        with stage("training the best again"):
            model.fit(train, validation=val, programs=sets[best["epsilon"]])
    model.choice_ = {
        **best,
        "by": f"accuracy on {len(val)} validation graphs out of {len(table)} combinations",
    }
    return TuneResult(model, best, table[0]["val_accuracy"], table)


def _with_objects(estimator: GDLNNClassifier) -> GDLNNClassifier:
    """Return a copy whose vocabulary and head are objects, so that their parameters can be set."""
    base: GDLNNClassifier = clone(estimator)
    base.vocabulary = clone(base.vocabulary) if isinstance(base.vocabulary, Mined) else Mined()
    if base.head == "mlp":
        base.head = MLPHead()
    return base


def _changed(base: GDLNNClassifier, parameters: dict[str, Any]) -> GDLNNClassifier:
    """Return a copy of the classifier with the parameters of one combination."""
    model: GDLNNClassifier = clone(base)
    assert isinstance(model.vocabulary, Mined)
    model.vocabulary.set_params(epsilon=parameters["epsilon"], k=parameters["k"])
    if isinstance(model.head, MLPHead):
        model.head.learning_rate = parameters["learning_rate"]
    return model


class _ProgramSets:
    """The programs of each ε, mined when they are first needed."""

    def __init__(
        self,
        train: GraphDataset,
        base: GDLNNClassifier,
        folder: Path | None,
        given: dict[Epsilon, ProgramSet],
    ) -> None:
        self._train, self._base, self._folder, self._sets = train, base, folder, given

    def __getitem__(self, epsilon: Epsilon) -> ProgramSet:
        if epsilon not in self._sets:
            source = clone(self._base.vocabulary).set_params(epsilon=epsilon)
            run = RunOptions(self._base.seed, self._base.n_jobs, self._base.progress, self._folder)
            self._sets[epsilon] = source.find(self._train, run)[0]
        return self._sets[epsilon]


def _cell(
    base: GDLNNClassifier,
    parameters: dict[str, Any],
    train: GraphDataset,
    val: GraphDataset,
    sets: _ProgramSets,
    folder: Path | None,
) -> dict[str, Any]:
    """Train and score one combination, or read its file from an earlier call."""
    name = "-".join(str(value).replace("%", "percent") for value in parameters.values())
    file = None if folder is None else folder / f"cell-{name}.json"
    before = None if file is None else _read_cell(file, parameters)
    if before is not None:
        return before
    model = _changed(base, parameters)
    model.fit(train, validation=val, programs=sets[parameters["epsilon"]])
    probabilities = model.predict_proba(val)
    assert val.y is not None
    right = model.classes_[probabilities.argmax(axis=1)] == val.y
    codes = label_codes(val.y, model.classes_)
    own = np.where(codes < 0, 0.0, probabilities[np.arange(len(val)), codes])
    row = {
        **parameters,
        "n_programs": len(model.programs_),
        "val_accuracy": float(right.mean()),
        "val_loss": float(-np.log(np.maximum(own, 1e-12)).mean()),
    }
    if file is not None:
        with atomic_write(file) as handle:
            handle.write(json.dumps(row).encode())
    return row


def _read_cell(file: Path, parameters: dict[str, Any]) -> dict[str, Any] | None:
    """Read a cell; a damaged file counts as absent, so that the combination is tried again."""
    try:
        row = json.loads(file.read_text(encoding="utf-8"))
        judged = {name: type(row[name]) for name in ("n_programs", "val_accuracy", "val_loss")}
        fine = judged == {"n_programs": int, "val_accuracy": float, "val_loss": float}
        return dict(row) if fine and all(row[name] == value for name, value in parameters.items()) else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _header(train: GraphDataset, val: GraphDataset, base: GDLNNClassifier) -> dict[str, Any]:
    """Return the settings that determine the result of a cell, besides its own parameters."""

    def digest(data: GraphDataset) -> str:
        labels = np.asarray(data.y)
        codes = np.unique(labels, return_inverse=True)[1].astype(np.int32)
        return fingerprint(data.graphs, codes) + hashlib.sha256(repr(labels.tolist()).encode()).hexdigest()

    parameters = {
        name: type(value).__name__ if name in ("vocabulary", "head") else value
        for name, value in base.get_params().items()
        if name.rpartition("__")[2] not in _IRRELEVANT
    }
    return {
        "gdlnn": package_version(),
        "train": digest(train),
        "val": digest(val),
        "parameters": {name: repr(value) for name, value in sorted(parameters.items())},
    }


def _check_header(folder: Path, header: dict[str, Any]) -> None:
    file = folder / HEADER
    if not file.is_file():
        with atomic_write(file) as handle:
            handle.write(json.dumps(header, indent=1).encode())
        return
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{HEADER}: not the file of an earlier call: {error}") from error
    if not isinstance(found, dict):
        raise ModelError(f"{HEADER}: not the file of an earlier call")
    for name, value in header.items():
        if found.get(name) != value:
            raise ModelError(
                f"tune: directory: it belongs to a call whose {name!r} is different; choose another folder"
            )
