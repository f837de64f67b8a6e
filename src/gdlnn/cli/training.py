"""What `gdlnn train` does: labels, weights, duplicates, scores, cross-validation, a folder of models."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gdlnn.cli import options as opt
from gdlnn.cli.app import counted, echo, is_verbose, were
from gdlnn.datasets.resolve import file_kind, resolve_dataset
from gdlnn.datasets.tables import open_table
from gdlnn.errors import DatasetError, ModelError, WriteError
from gdlnn.gdl.text import shortened
from gdlnn.graphs import GraphDataset, Schema
from gdlnn.graphs.molecules import charges_predict_label
from gdlnn.io.atomic import atomic_write
from gdlnn.io.frames import table_text
from gdlnn.model import scorecard_text
from gdlnn.model.model_folder import (
    INDEX,
    MANIFEST,
    SUMMARY,
    FolderEntry,
    foreign_file,
    replaced_folder,
    write_manifest,
)
from gdlnn.model.program_effects import group_contributions, strongest_programs
from gdlnn.model.scores import (
    METRICS,
    NAMES,
    VALUE_NAMES,
    classification_scores,
    majority_scores,
    score_intervals,
    score_lines,
    value_report,
    value_score_lines,
)
from gdlnn.progress import progress_bar
from gdlnn.report.build import write_index

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from gdlnn.model import GDLNNClassifier

    Fit = Callable[[dict[str, GraphDataset]], GDLNNClassifier]
    Say = Callable[[str], None]

STRONGEST, STRONGEST_IN_FULL = 3, 10
"""How many of the strongest programs are printed, also with --verbose."""
MOST_ROWS = 10
"""How many skipped rows are named."""
LONGEST = 240
"""Maximum length of a program in words, in characters."""


# --- labels -----------------------------------------------------------------------------------------------


class LabeledTable(NamedTuple):
    """The rows of a table that have a label in one column; of several columns, also the whole table."""

    data: GraphDataset
    whole: GraphDataset | None = None


def label_columns(dataset: str, labels: Sequence[str], encoding: str) -> list[str]:
    """Return the columns that --label names; a comma may also be part of a column's name."""
    path = Path(dataset)
    names = list(labels)
    if len(names) == 1 and "," in names[0]:
        if file_kind(path) == "table" and names[0] in open_table(path, (), encoding).header:
            return names
        names = [name.strip() for name in names[0].split(",") if name.strip()]
    if len(set(names)) < len(names):
        raise DatasetError(f"--label: expected different columns, got {', '.join(names)}")
    return names


def labeled_tables(
    dataset: str,
    labels: Sequence[str],
    columns: Sequence[str],
    of_labels: Mapping[str, Any],
    reading: Mapping[str, Any],
) -> dict[str, LabeledTable]:
    """Return the labeled rows for each label column; molecules are read once."""
    if len(labels) < 2:
        label = labels[0] if labels else None
        data = resolve_dataset(dataset, label=label, columns=columns, min_classes=2, **of_labels, **reading)
        if data.y is None:
            raise ModelError(f"{dataset} has no labels; name their column with --label")
        _check_columns(data, columns)
        return {label or "": LabeledTable(data)}
    whole = resolve_dataset(dataset, columns=[*labels, *columns], **reading)
    _check_columns(whole, [*labels, *columns])
    tables = {}
    for label in labels:
        data = whole.with_labels(label, where=Path(dataset).name, **of_labels)
        data.name = f"{whole.name}: {label}"
        data.columns = {column: data.columns[column] for column in columns}
        data.provenance = {**data.provenance, "labels": list(labels)}
        tables[label] = LabeledTable(data, whole)
    return tables


def with_class_names(data: GraphDataset, classes: str | None) -> GraphDataset:
    """Return the dataset with the names of --classes for its classes."""
    if classes is None:
        return data
    labels = {str(label): label for label in np.unique(np.asarray(data.y)).tolist()}
    names: dict[Any, str] = {}
    for item in classes.split(","):
        label, is_pair, name = (part.strip() for part in item.partition("="))
        if not is_pair or not name or label not in labels:
            raise DatasetError(f"--classes: expected LABEL=NAME for {', '.join(labels)}, got {item!r}")
        names[labels[label]] = name
    shown = {names.get(label, word) for word, label in labels.items()}
    if len(shown) < len(labels) or data.schema is None:
        raise DatasetError(f"--classes: expected different names, got {classes!r}")
    return data.with_schema(replace(data.schema, classes=names))


def warn_of_labels(data: GraphDataset) -> None:
    """Print a warning if a class has one graph, or if a model could learn how its molecules are written."""
    labels, counts = np.unique(np.asarray(data.y), return_counts=True)
    if (counts == 1).any():
        named = ", ".join(map(str, labels[counts == 1][:MOST_ROWS]))
        echo(f"warning: {data.name}: only one graph has the class {named}; is it a typing error?", err=True)
    if data.reading is not None and (warning := charges_predict_label(data)) is not None:
        echo(f"warning: {data.name}: {warning}", err=True)


def _check_columns(data: GraphDataset, columns: Sequence[str]) -> None:
    for column in columns:
        if column not in data.columns:
            raise DatasetError(
                f"{data.name or 'dataset'}: expected a column {column!r}, found none; "
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
        groups = counted(len(conflicting), "group")
        mended = "mean averages them" if data.y.dtype.kind == "f" else "drop-conflicting drops them"
        say(
            f"{data.name}: {groups} of identical graphs with different labels, the first: "
            f"{opt.group_text(data, conflicting[0])} (--duplicates {mended}, `gdlnn datasets` lists them)"
        )
    unique = opt.without_duplicates(data, duplicates)
    if len(unique) < len(data):
        say(f"{data.name}: {len(data) - len(unique)} of {len(data)} graphs are dropped as duplicates")
    return unique


# --- training and scores ----------------------------------------------------------------------------------


def trained(
    table: LabeledTable, split: str, seed: int, cv: int | None, fit: Fit, say: Say
) -> GDLNNClassifier:
    """Split, train and score a model, and print the results."""
    data = table.data
    if cv is not None or split == "none":
        data.provenance = {**data.provenance, "split": "none", "seed": seed}
        parts = {"train": data}
    else:
        found = opt.split_parts(data, split, seed, table.whole)
        parts = {name: part for name, part in found.items() if name == "train" or len(part)}
    say(_parts_text(data, parts))
    model = fit(parts)
    notes = [name for name in model.choice_ if is_verbose() or name in ("quantities", "decision")]
    if notes:
        say("; ".join(f"{name}: {model.choice_[name]}" for name in notes))
    answers = {name: model.represent(part) for name, part in parts.items() if name != "train"}
    model.metrics_ = _held_out_scores(model, parts, answers, say)
    if cv is not None:
        model.metrics_ = {"cv": cross_validated(model, data, cv, seed, fit, say)}
    if not hasattr(model, "classes_"):
        lines = _contribution_lines(model)
    else:
        _report_never_predicted(model, answers or {"train": model.represent(parts["train"])}, say)
        card = isinstance(model.head, str) and model.head == "scorecard"
        lines = scorecard_text(model, parts.get("test")).splitlines() if card else _program_lines(model)
    for line in lines:
        say(line)
    return model


def _parts_text(data: GraphDataset, parts: dict[str, GraphDataset]) -> str:
    source = parts["train"].split_source or "all graphs"
    sizes = ", ".join(f"{name} {len(part)}" for name, part in parts.items())
    skipped = f"; {were(len(data.skipped), 'row')} skipped" if data.skipped else ""
    if data.skipped and data.y is not None and data.y.dtype.kind == "f":
        named = [f"{row.row} ({row.reason})" for row in data.skipped[:MOST_ROWS]]
        skipped += f": {', '.join(named)}{' …' if len(data.skipped) > MOST_ROWS else ''}"
    return f"{data.name or 'dataset'}: {len(data)} graphs, split {source}: {sizes}{skipped}"


def _held_out_scores(
    model: Any, parts: dict[str, GraphDataset], answers: dict[str, Any], say: Say
) -> dict[str, Any]:
    """Return the scores on the validation and test sets, and print them.

    Those on the validation set are printed with --verbose, or if there is no test set.
    """
    found: dict[str, Any] = {}
    for name, answer in answers.items():
        twins = sum(map(bool, answer.in_training)) if name == "test" else 0
        overlap = f", {twins} of them also in the training set" if twins else ""
        printed = say if is_verbose() or name == "test" or "test" not in parts else None
        title = f"{name}, {len(parts[name])} graphs{overlap}"
        found[name] = _score(model, title, np.asarray(parts[name].y), answer, printed)
    return found


def _score(model: Any, title: str, y: npt.NDArray[Any], answers: Any, say: Say | None) -> dict[str, Any]:
    """Return the scores, and those of always giving the commonest label or the mean; print them.

    Scores of each class are printed with --verbose only.
    """
    if hasattr(model, "classes_"):
        counts, classes = model.programs_.info.label_counts, model.classes_
        own = score_intervals(y, answers.probabilities, classes, answers.labels, counts)
        found = {"model": own, "majority": majority_scores(y, classes, counts)}
        name = (model.schema_ or Schema()).class_name
        lines = list(score_lines(title, own, found["majority"], counts, name))
        lines = lines if is_verbose() else lines[: 1 + len(NAMES)]
    else:
        found = value_report(y, answers.labels, model.training_.labels, answers.intervals)
        lines = list(value_score_lines(title, found, model.unit))
    if say is not None:
        for line in lines:
            say(line)
    return found


def cross_validated(model: Any, data: GraphDataset, k: int, seed: int, fit: Fit, say: Say) -> dict[str, Any]:
    """Train a model like that of all graphs for each fold; return scores of rows predicted out of fold.

    Folds are stratified, with identical graphs in one fold. The deviation is over the scores of the folds.
    """
    y, classes = np.asarray(data.y), getattr(model, "classes_", None)
    answers = SimpleNamespace(
        labels=np.empty_like(y),
        intervals=np.zeros((len(y), 2)),
        probabilities=np.zeros((len(y), 0 if classes is None else len(classes))),
    )
    own = []
    for number, (train, test) in enumerate(data.folds(k, seed), start=1):
        if is_verbose():
            say(f"fold {number} of {k}: {len(train)} training graphs, {len(test)} test graphs")
        of_fold: Any = fit({"train": train})
        rows, found = np.isin(data.indices, test.indices), of_fold.represent(test)
        answers.labels[rows] = found.labels
        if classes is None:
            answers.intervals[rows] = found.intervals
            own.append({"rmse": float(np.sqrt(np.mean((found.labels - y[rows]) ** 2)))})
        else:
            columns = np.searchsorted(classes, of_fold.classes_)
            answers.probabilities[np.ix_(rows, columns)] = found.probabilities
            scores = classification_scores(y[rows], found.probabilities, of_fold.classes_, found.labels)
            own.append({name: scores[name] for name in METRICS})
    scores = _score(model, f"{k} folds, {len(y)} graphs", y, answers, say)
    return {
        "folds": k,
        **scores,
        "deviation": {name: _deviation([one[name] for one in own]) for name in own[0]},
    }


def _deviation(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.std(known, ddof=1)) if len(known) > 1 else None


def _contribution_lines(model: Any) -> list[str]:
    """Return what programs add: the whole table of a scorecard, of others the strongest."""
    whole = model.head == "scorecard"
    rows = group_contributions(model, None if whole else STRONGEST_IN_FULL if is_verbose() else STRONGEST)
    lines = [f"{len(rows)} programs, and what each of their places adds:"]
    if not whole:
        lines = [f"The strongest of {len(model.programs_)} programs, and what one place of each adds:"]
    for row in rows:
        adds = f"{row.adds:+.2f} {model.unit}".rstrip()
        lines.append(f"{adds}, in {row.n_graphs} training graphs: {shortened(row.words, LONGEST)}")
    return [*lines, *([f"constant: {model.head_.intercept_:+.2f}"] if whole else [])]


def _report_never_predicted(model: GDLNNClassifier, answers: dict[str, Any], say: Say) -> None:
    """Say if the rarer of two classes is predicted for none of the held-out, or else training graphs."""
    predicted = np.concatenate([answer.labels for answer in answers.values()])
    rare = min(model.classes_.tolist(), key=dict(model.programs_.info.label_counts).__getitem__)
    if len(model.classes_) == 2 and rare not in predicted:
        say(
            f"{(model.schema_ or Schema()).class_name(rare)} is predicted for none of the "
            f"{len(predicted)} {'training' if 'train' in answers else 'held-out'} graphs; --threshold "
            "balanced-accuracy, or a probability such as --threshold 0.2, predicts the rarer class more often"
        )


def _program_lines(model: GDLNNClassifier) -> list[str]:
    schema = model.schema_ or Schema()
    directed = model.programs_.info.directed
    shown = strongest_programs(model, STRONGEST_IN_FULL if is_verbose() else STRONGEST)
    lines = [f"The strongest of {len(model.programs_)} programs, and the points that one place of each adds:"]
    for _, mined, label, strength in shown:
        words = mined.program.describe(model.schema_, directed=directed)
        lines.append(
            f"{100 * strength:+.1f} for {schema.class_name(label)}, in {mined.n_matched} "
            f"training graphs: {shortened(words, LONGEST)}"
        )
    return lines


# --- several labels ---------------------------------------------------------------------------------------


def check_folder(folder: Path) -> None:
    """Refuse an output for several models that is a file or a folder with other files."""
    if folder.suffix == ".gdlnn" or (folder.exists() and not folder.is_dir()):
        raise WriteError(f"{folder.name}: expected a folder to write, since there are several labels")
    if folder.is_dir() and (name := foreign_file(folder)) is not None:
        raise WriteError(
            f"{folder.name}: expected an empty folder or one of models, got one with other files: {name}"
        )
    opt.check_output(folder.resolve().parent / MANIFEST if folder.exists() else folder)


def train_several(
    tables: Mapping[str, LabeledTable],
    folder: Path,
    run: Callable[[LabeledTable, Path, Path | None], GDLNNClassifier],
    checkpoint: Path | None,
    say: Say,
    *,
    quiet: bool,
) -> None:
    """Train a model for each label column into a folder, with one summary table and one index."""
    names = file_names(list(tables))
    entries = []
    bar = progress_bar("labels", len(tables), wanted=not quiet)
    with replaced_folder(folder) as new, bar as update:
        for label, table in tables.items():
            update(text=label)
            file = f"{names[label]}.gdlnn"
            finished = None if checkpoint is None else checkpoint / names[label]
            model = run(table, new / file, finished)
            entries.append(FolderEntry(label, file, _summary(table.data, model)))
            update(advance=1)
        rows = [{"label": entry.label, **entry.summary, "model": entry.file} for entry in entries]
        with atomic_write(new / SUMMARY) as written:
            written.write(table_text([list(rows[0]), *(row.values() for row in rows)]).encode())
        write_index(new, entries, folder.resolve().name)
        write_manifest(new, entries)
    say(f"\n{folder.name}: {len(entries)} models, {SUMMARY} and {INDEX}")
    _print_summary(entries, say)


def file_names(labels: Sequence[str]) -> dict[str, str]:
    """Return a safe file name for each label."""
    names: dict[str, str] = {}
    for label in labels:
        safe = re.sub(r"[^\w.-]+", "_", label, flags=re.ASCII).strip("._")[:100] or "label"
        taken = {name.lower() for name in names.values()}
        number = 2
        name = safe
        while name.lower() in taken or name.lower() in ("index", "summary", "models"):
            name, number = f"{safe}_{number}", number + 1
        names[label] = name
    return names


def _summary(data: GraphDataset, model: Any) -> dict[str, Any]:
    part = next((name for name in ("cv", "test", "val") if name in model.metrics_), "")
    scores = model.metrics_[part]["model"] if part else {}
    found: dict[str, Any] = {"graphs": len(data)}
    found["without_label"] = sum(row.reason.startswith("no label") for row in data.skipped)
    if hasattr(model, "classes_"):
        labels, counts = np.unique(np.asarray(data.y), return_counts=True)
        found["classes"] = ", ".join(f"{one}: {n}" for one, n in zip(labels, counts, strict=True))
    found |= {"programs": len(model.programs_), "scored_on": part}
    names = METRICS if hasattr(model, "classes_") else VALUE_NAMES
    return found | {name: scores.get(name) for name in names}


def _print_summary(entries: Sequence[Any], say: Say) -> None:
    width = max(len(entry.label) for entry in entries)
    names = {"balanced_accuracy": "balanced", "roc_auc": "ROC-AUC"}
    if "rmse" in entries[0].summary:
        names = {"rmse": "RMSE", "r2": "R²"}
    say(f"{'label':{width}}{'graphs':>8}" + "".join(f"{text:>10}" for text in names.values()))
    for entry in entries:
        values = [entry.summary[name] for name in names]
        shown = ["–" if value is None else f"{value:.3f}" for value in values]
        say(f"{entry.label:{width}}{entry.summary['graphs']:>8}{shown[0]:>10}{shown[1]:>10}")
