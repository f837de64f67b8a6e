"""What `gdlnn train` does: labels, weights, duplicates, scores, cross-validation, a folder of models."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.cli import options as opt
from gdlnn.cli.app import counted, is_verbose, were
from gdlnn.datasets.resolve import file_kind, resolve_dataset
from gdlnn.datasets.tables import open_table
from gdlnn.errors import DatasetError, ModelError, WriteError
from gdlnn.gdl.text import shortened
from gdlnn.graphs import Schema
from gdlnn.io.atomic import atomic_write
from gdlnn.model import scorecard_text
from gdlnn.model.model_folder import MANIFEST, FolderEntry, write_manifest
from gdlnn.model.program_effects import strongest_programs
from gdlnn.model.scores import (
    METRICS,
    NAMES,
    classification_scores,
    majority_scores,
    score_intervals,
    score_lines,
)
from gdlnn.report.build import write_index

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from gdlnn.graphs import GraphDataset
    from gdlnn.model import GDLNNClassifier

    Fit = Callable[[dict[str, GraphDataset]], GDLNNClassifier]
    Say = Callable[[str], None]

SUMMARY = "summary.csv"
STRONGEST, STRONGEST_IN_FULL = 3, 10
"""How many of the strongest programs are printed, also with --verbose."""
LONGEST = 240
"""Maximum length of a program in words, in characters."""


# --- labels -----------------------------------------------------------------------------------------------


def label_columns(dataset: str, label: str | None, encoding: str) -> list[str]:
    """Return the columns that --label names; a comma may also be part of a column's name."""
    if label is None:
        return []
    path = Path(dataset)
    if "," not in label or (file_kind(path) == "table" and label in open_table(path, (), encoding).header):
        return [label]
    names = [name.strip() for name in label.split(",") if name.strip()]
    if len(set(names)) < len(names):
        raise DatasetError(f"--label: expected different columns, got {label!r}")
    return names


def labelled_sets(
    dataset: str,
    labels: Sequence[str],
    columns: Sequence[str],
    of_labels: Mapping[str, Any],
    reading: Mapping[str, Any],
) -> dict[str, GraphDataset]:
    """Return a labelled dataset for each label column; molecules are read once."""
    if len(labels) < 2:
        label = labels[0] if labels else None
        data = resolve_dataset(dataset, label=label, columns=columns, min_classes=2, **of_labels, **reading)
        if data.y is None:
            raise ModelError(f"{dataset} has no labels; name their column with --label")
        _check_columns(data, columns)
        return {label or "": data}
    whole = resolve_dataset(dataset, columns=[*labels, *columns], **reading)
    _check_columns(whole, [*labels, *columns])
    name = Path(dataset).name
    sets = {label: whole.with_labels(label, where=name, **of_labels) for label in labels}
    for label, data in sets.items():
        data.name = f"{whole.name}: {label}"
        data.columns = {column: data.columns[column] for column in columns}
    return sets


def _check_columns(data: GraphDataset, columns: Sequence[str]) -> None:
    for column in columns:
        if column not in data.columns:
            raise DatasetError(
                f"{data.name or 'dataset'}: expected a column {column!r}, found none;"
                "columns are read from tables and SDF files"
            )


def row_weights(data: GraphDataset, column: str) -> npt.NDArray[np.float64]:
    """Return the weights of rows."""
    found = []
    for row, cell in zip(data.file_rows.tolist(), data.columns[column], strict=True):
        try:
            weight = float(cell)
        except ValueError:
            weight = -1.0
        if not 0 <= weight < np.inf:
            raise DatasetError(
                f"{data.name}, row {row}, column {column!r}: expected a weight of at least 0, got {cell!r}"
            )
        found.append(weight)
    return np.array(found)


def report_duplicates(data: GraphDataset, duplicates: str, say: Say) -> GraphDataset:
    """Return the dataset without unwanted duplicates, and print how many have conflicting labels."""
    conflicting = data.duplicates().conflicting
    if conflicting and data.y is not None:
        say(
            f"{counted(len(conflicting), 'group')} of identical graphs with different labels, the first: "
            f"{opt.group_text(data, conflicting[0])} (--duplicates drop-conflicting drops them, "
            "`gdlnn datasets` lists them)"
        )
    unique = opt.without_duplicates(data, duplicates)
    if len(unique) < len(data):
        say(f"{len(data) - len(unique)} of {len(data)} graphs are dropped as duplicates")
    return unique


# --- training and scores ----------------------------------------------------------------------------------


def trained(data: GraphDataset, split: str, seed: int, cv: int | None, fit: Fit, say: Say) -> GDLNNClassifier:
    """Split, train and score a model, and print the results."""
    folds: dict[str, Any] = {}
    if cv is not None:
        folds = {"cv": cross_validated(data, cv, seed, fit, say)}
    parts = split_parts(data, "none" if cv is not None else split, seed)
    say(_parts_text(data, parts))
    model = fit(parts)
    choice = ", ".join(f"{name} = {value}" for name, value in model.choice_.items())
    say(f"{len(model.programs_)} programs; {choice}")
    model.metrics_ = {**folds, **_scores(model, parts, say)}
    card = isinstance(model.head, str) and model.head == "scorecard"
    for line in scorecard_text(model, parts.get("test")).splitlines() if card else _program_lines(model):
        say(line)
    return model


def _parts_text(data: GraphDataset, parts: dict[str, GraphDataset]) -> str:
    source = parts["train"].split_source or "all graphs"
    sizes = ", ".join(f"{name} {len(part)}" for name, part in parts.items())
    skipped = f"; {were(len(data.skipped), 'row')} skipped" if data.skipped else ""
    return f"{data.name or 'dataset'}: {len(data)} graphs, split {source}: {sizes}{skipped}"


def _scores(model: GDLNNClassifier, parts: dict[str, GraphDataset], say: Say) -> dict[str, Any]:
    """Return the scores on the validation and test sets; print them next to those of the commonest label.

    The scores on the validation set are printed with --verbose, or if there is no test set.
    """
    found: dict[str, Any] = {}
    schema = model.schema_ or Schema()
    for name in ("val", "test"):
        part = parts.get(name)
        if part is None or not len(part):
            continue
        assert part.y is not None
        answers = model.represent(part)
        twins = sum(map(bool, answers.in_training)) if name == "test" else 0
        overlap = f", {twins} of them also in the training set" if twins else ""
        counts = model.programs_.info.label_counts
        printed = say if is_verbose() or name == "test" or "test" not in parts else None
        values = (answers.probabilities, answers.labels, model.classes_)
        found[name] = score(
            f"{name}, {len(part)} graphs{overlap}", part.y, *values, counts, schema.class_name, printed
        )
    return found


def _program_lines(model: GDLNNClassifier) -> list[str]:
    schema = model.schema_ or Schema()
    directed = model.programs_.info.directed
    shown = strongest_programs(model, STRONGEST_IN_FULL if is_verbose() else STRONGEST)
    lines = ["The strongest programs:"]
    for place, (_, mined, label, strength) in enumerate(shown, start=1):
        words = mined.program.describe(model.schema_, directed=directed)
        lines.append(
            f"{place:3}. for {schema.class_name(label)} (log odds +{strength:.2f}, in {mined.n_matched} "
            f"training graphs): {shortened(words, LONGEST)}"
        )
    return lines


def split_parts(data: GraphDataset, split: str, seed: int) -> dict[str, GraphDataset]:
    """Return the non-empty parts out of train, val and test; with the split "none", only train."""
    if split == "none":
        data.provenance = {**data.provenance, "split": "none", "seed": seed}
        return {"train": data}
    parts = zip(("train", "val", "test"), data.split(split, seed), strict=True)
    return {name: part for name, part in parts if name == "train" or len(part)}


def score(
    title: str,
    y: npt.NDArray[Any],
    probabilities: npt.NDArray[np.float64],
    predicted: npt.NDArray[Any],
    classes: npt.NDArray[Any],
    counts: Sequence[tuple[Any, int]],
    class_name: Callable[[Any], str],
    say: Say | None,
) -> dict[str, Any]:
    """Return the scores and those of the commonest label; print them, with --verbose by class too."""
    own = score_intervals(y, probabilities, classes, predicted, counts)
    majority = majority_scores(y, classes, counts)
    lines = list(score_lines(title, own, majority, counts, class_name))
    if say is not None:
        for line in lines if is_verbose() else lines[: 1 + len(NAMES)]:
            say(line)
    return {"model": own, "majority": majority}


def cross_validated(data: GraphDataset, k: int, seed: int, fit: Fit, say: Say) -> dict[str, Any]:
    """Train a model for each fold, and return the scores of all rows, each predicted out of fold.

    Folds are stratified, with identical graphs in one fold. The deviation is over the scores of the folds.
    """
    assert data.y is not None
    classes, sizes = np.unique(data.y, return_counts=True)
    probabilities = np.zeros((len(data), len(classes)))
    predicted = np.empty(len(data), dtype=classes.dtype)
    own = []
    for number, (train, test) in enumerate(data.folds(k, seed, twins_together=True), start=1):
        if is_verbose():
            say(f"fold {number} of {k}: {len(train)} training graphs, {len(test)} test graphs")
        model = fit({"train": train})
        rows = np.isin(data.indices, test.indices)
        found = model.represent(test)
        probabilities[np.ix_(rows, np.searchsorted(classes, model.classes_))] = found.probabilities
        predicted[rows] = found.labels
        assert test.y is not None
        own.append(classification_scores(test.y, found.probabilities, model.classes_, found.labels))
    counts = list(zip(classes.tolist(), sizes.tolist(), strict=True))
    name = data.schema.class_name if data.schema is not None else str
    title = f"{k} folds, {len(data)} graphs"
    scores = score(title, data.y, probabilities, predicted, classes, counts, name, say)
    deviation = {name: _deviation([one[name] for one in own]) for name in METRICS}
    return {"folds": k, **scores, "deviation": deviation}


def _deviation(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.std(known, ddof=1)) if len(known) > 1 else None


# --- several labels ---------------------------------------------------------------------------------------


def check_folder(folder: Path) -> None:
    """Refuse an output for several models that is a file or a folder with other files."""
    if folder.suffix == ".gdlnn" or (folder.exists() and not folder.is_dir()):
        raise WriteError(f"{folder.name}: expected a folder to write, since there are several labels")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise WriteError(
            f"{folder.name}: expected an empty folder or one of models, got one with other files"
        )
    opt.check_output(folder / MANIFEST)


def train_several(
    sets: Mapping[str, GraphDataset],
    folder: Path,
    run: Callable[[GraphDataset, Path, Path | None], GDLNNClassifier],
    checkpoint: Path | None,
    say: Say,
    *,
    as_json: bool,
) -> None:
    """Train a model for each label column into a folder, with one summary table and one index."""
    folder.mkdir(parents=True, exist_ok=True)
    names = file_names(list(sets))
    entries = []
    for label, data in sets.items():
        file = f"{names[label]}.gdlnn"
        finished = None if checkpoint is None else checkpoint / names[label]
        model = run(data, folder / file, finished)
        entries.append(FolderEntry(label, file, _summary(data, model)))
    _write_summary(folder / SUMMARY, entries)
    write_manifest(folder, entries)
    write_index(folder, entries)
    say(f"\n{folder.name}: {len(entries)} models, {SUMMARY} and index.html")
    if as_json:
        opt.print_json(
            {
                "folder": str(folder),
                "models": [{"label": e.label, "file": e.file, **e.summary} for e in entries],
            }
        )
    else:
        _print_summary(entries, say)


def file_names(labels: Sequence[str]) -> dict[str, str]:
    """Return a safe file name for each label."""
    names: dict[str, str] = {}
    for label in labels:
        safe = re.sub(r"[^\w.-]+", "_", label, flags=re.ASCII).strip("._") or "label"
        taken = {name.lower() for name in names.values()}
        number = 2
        name = safe
        while name.lower() in taken or name.lower() in ("index", "summary", "models"):
            name, number = f"{safe}_{number}", number + 1
        names[label] = name
    return names


def _summary(data: GraphDataset, model: GDLNNClassifier) -> dict[str, Any]:
    missing = sum(row.reason.startswith("no label") for row in data.skipped)
    labels, counts = np.unique(np.asarray(data.y), return_counts=True)
    part = next((name for name in ("cv", "test", "val") if name in model.metrics_), "")
    scores = model.metrics_[part]["model"] if part else {}
    return {
        "graphs": len(data),
        "without_label": missing,
        "classes": ", ".join(f"{label}: {count}" for label, count in zip(labels, counts, strict=True)),
        "programs": len(model.programs_),
        "scored_on": part,
        **{name: scores.get(name) for name in METRICS},
    }


def _write_summary(path: Path, entries: Sequence[Any]) -> None:
    text = io.StringIO()
    rows = [{"label": entry.label, **entry.summary, "model": entry.file} for entry in entries]
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())


def _print_summary(entries: Sequence[Any], say: Say) -> None:
    width = max(len(entry.label) for entry in entries)
    say(f"{'label':{width}}{'graphs':>8}{'balanced':>10}{'ROC-AUC':>9}")
    for entry in entries:
        values = [entry.summary[name] for name in ("balanced_accuracy", "roc_auc")]
        shown = ["–" if value is None else f"{value:.3f}" for value in values]
        say(f"{entry.label:{width}}{entry.summary['graphs']:>8}{shown[0]:>10}{shown[1]:>9}")
