"""Collect the contents of a report as plain JSON values, and write them as one HTML file.

Its layout is in the template, styles and scripts in `page/`.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from gdlnn.drawing import write_text
from gdlnn.drawing.charts import calibration_chart, learning_chart, pr_chart, roc_chart
from gdlnn.drawing.marks import signed
from gdlnn.drawing.pages import render
from gdlnn.errors import DatasetError
from gdlnn.explain import GlobalExplanation
from gdlnn.explain.contribution import contributions_and_means
from gdlnn.explain.counterfactual import changed_by_removal
from gdlnn.explain.explainer import DEFAULT_TECHNIQUE, Explainer, make_technique, with_smiles
from gdlnn.explain.explanation import plain
from gdlnn.explain.global_explanation import count_places
from gdlnn.explain.words import points
from gdlnn.graphs import GraphDataset, Schema
from gdlnn.model.model_folder import INDEX
from gdlnn.model.representation import ValueRepresentation
from gdlnn.model.scorecard import ScorecardHead, scorecard_constants, scorecard_rows
from gdlnn.model.scores import VALUE_NAMES
from gdlnn.report.cards import (
    counterfactual_card,
    enough_cards,
    graph_card,
    pattern_cards,
    program_rows,
)
from gdlnn.report.performance import checked_labels, performance
from gdlnn.report.summary import summary
from gdlnn.report.values import MOST_SHOWN, render_value_report, value_report_parts
from gdlnn.version import package_version

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from gdlnn.explain import Explanation
    from gdlnn.explain.explainer import Attributed
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.domain import DomainAnswer
    from gdlnn.model.model_folder import FolderEntry
    from gdlnn.model.representation import Representation

FORMAT = "gdlnn-report"
VERSION = 2
SURE = 3.0
"""Log odds by which a sure prediction lies beyond those at which its class is decided."""
MOST_REMOVED = 8  # nodes; what needs more to flip says little


@dataclass(frozen=True)
class ReportOptions:
    """What goes into a report.

    Attributes
    ----------
    technique, n_reasons, seed
        How graphs are explained, as for `explain`.
    max_graphs
        Most graphs in the gallery; the figures are always over all.
    max_counterfactuals
        For how many graphs to look for a counterfactual, wrong predictions first.
    """

    technique: str | None = None
    n_reasons: int = 4
    seed: int = 0
    max_graphs: int = 400
    max_counterfactuals: int = 24


def silent(text: str) -> None:
    """Print nothing."""


def build_report(
    model: Any,
    held_out: GraphDataset,
    options: ReportOptions | None = None,
    *,
    title: str = "",
    say: Callable[[str], None] = silent,
) -> dict[str, Any]:
    """Return everything a report shows of a model on held-out graphs, as plain JSON values.

    Parameters
    ----------
    model
        A fitted model.
    held_out
        Labeled graphs. Those that the model was trained on are left out and counted.
    options
        What goes in; see `ReportOptions`.
    title
        The headline; by default the name of the data.
    say
        Called with a line of text before each step.
    """
    options = options or ReportOptions()
    checked_labels(model, held_out, "report")
    say(f"predicting {len(held_out)} graphs")
    held_out, table, n_known = _only_unknown(held_out, model.represent(held_out))
    truth = np.asarray(held_out.y)
    schema = model.schema_ or held_out.schema or Schema()
    values = isinstance(table, ValueRepresentation)
    report = {
        "title": title or held_out.name or model.programs_.info.dataset or "GDLNN",
        "made_by": f"gdlnn {package_version()}",
        "molecules": schema.domain == "molecule",
        "data": _data(model, held_out, n_known),
        "model": _model(model),
    }
    most = min(len(table), options.max_graphs, MOST_SHOWN if values else len(table))
    shown = table.take(range(most))
    explainer = Explainer(model, None if values else make_technique(options.technique), options.seed)
    if isinstance(table, ValueRepresentation):
        say(f"explaining {len(shown)} graphs")
        explained = explainer.explain(shown, shown.codes, options.n_reasons)
        return report | value_report_parts(model, truth, table, with_smiles(explained, held_out.smiles))
    say("computing what programs add")
    known, adds = contributions_and_means(model, table, most)
    attributed = explainer.attributed(shown, shown.codes, known)
    say(f"explaining {len(shown)} graphs")
    if explainer.technique is None:
        explained = explainer.by_places(attributed, options.n_reasons)
    else:
        explained = explainer.explain(shown, shown.codes, options.n_reasons)
    explained = with_smiles(explained, held_out.smiles)
    cards = _gallery(explainer, attributed, truth.tolist(), explained, options.max_counterfactuals, say)
    say("drawing programs")
    rows = program_rows(model, truth, table.matches, adds)
    labels = _all_labels(model, truth)
    report |= {
        "format": FORMAT,
        "version": VERSION,
        "classes": [{"label": label, "name": schema.class_name(label)} for label in labels],
        "performance": performance(model, truth, table, labels),
        "learning_curve": getattr(model.head_, "history_", []),
        "explained_by": {
            "technique": options.technique or DEFAULT_TECHNIQUE,
            "n_reasons": options.n_reasons,
            "seed": options.seed,
        },
        "scorecard": _scorecard(model, rows),
        "programs": rows,
        "patterns": pattern_cards(rows, model),
        "global": _goes_by(model, explained, truth),
        "graphs": cards,
    }
    return {**report, "summary": summary(report)}


def _gallery(
    explainer: Explainer,
    attributed: Attributed,
    truth: Sequence[Any],
    explained: Sequence[Explanation],
    max_counterfactuals: int,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Return the cards of the graphs that are shown one by one, as plain values."""
    shown = attributed.representation
    say("looking for the smallest parts that are enough")
    enough = enough_cards(explainer.by_places(attributed, "smallest"))
    say("looking for counterfactuals")
    changes = _counterfactuals(explainer.model, attributed, truth, max_counterfactuals)
    say("drawing graphs")
    return [
        {
            "row": row,
            **graph_card(
                one,
                shown.probabilities[row],
                f"graph {row}",
                enough=enough[row],
                counterfactual=changes.get(row),
            ),
            "truth": truth[row],
            "right": bool(one.prediction == truth[row]),
            "domain": shown.domains[row].domain,
            "domain_reason": shown.domains[row].reason,
            "group": group_of(one, truth[row], shown.domains[row]),
        }
        for row, one in enumerate(explained)
    ]


def write_report(
    model: GDLNNClassifier,
    held_out: GraphDataset,
    path: str | os.PathLike[str],
    options: ReportOptions | None = None,
    *,
    title: str = "",
    say: Callable[[str], None] = silent,
) -> dict[str, Any]:
    """Write the report of a model on held-out graphs into one HTML file; return what it says.

    Parameters are those of `build_report`; the file appears when it is complete, folders are made.
    """
    report = build_report(model, held_out, options, title=title, say=say)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    drawn = render_report if hasattr(model, "classes_") else render_value_report
    write_text(target, drawn(report))
    return report


def render_report(report: dict[str, Any]) -> str:
    """Return the page of a report: one file, nothing fetched."""
    names = {item["label"]: item["name"] for item in report["classes"]}

    def class_name(label: Any) -> str:
        return str(names.get(label, label))

    found = report["performance"]
    return render(
        "gdlnn.report/page.html",
        title=f"{report['title']} · GDLNN report",
        report=report,
        rows={row["index"]: row for row in report["programs"]},
        graphs="molecules" if report["molecules"] else "graphs",
        class_name=class_name,
        signed=signed,
        points=points,
        charts={
            "roc": Markup(roc_chart(found["curves"], class_name)),
            "pr": Markup(pr_chart(found["curves"], class_name)),
            "calibration": Markup(calibration_chart(found["calibration"])),
            "learning": Markup(learning_chart(report["learning_curve"])),
        },
        json=embedded_json(report),
    )


def embedded_json(report: dict[str, Any]) -> Markup:
    """Return the JSON escaped for a page: no text in it can close the element or open another."""
    text = json.dumps(report, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))


# --- parts ------------------------------------------------------------------------------------------------


def _only_unknown(held_out: GraphDataset, found: Representation) -> tuple[GraphDataset, Representation, int]:
    """Leave out graphs that the model was trained on; also return how many."""
    rows = [row for row, is_known in enumerate(found.in_training) if not is_known]
    n_known = len(found) - len(rows)
    if not rows:
        raise DatasetError(
            f"report: expected graphs that the model was not trained on, got {n_known} that it was; "
            "report on the test set or on other data"
        )
    return (held_out.take(rows), found.take(rows), n_known) if n_known else (held_out, found, 0)


def _all_labels(model: GDLNNClassifier, truth: npt.NDArray[Any]) -> list[Any]:
    known = [plain(label) for label in model.classes_]
    return known + [label for label in np.unique(truth).tolist() if label not in known]


def group_of(explanation: Explanation, truth: Any, where: DomainAnswer) -> str:
    """Return the group of a graph in the gallery: outside, unsure, or sure and right or wrong.

    A prediction is sure if its odds are at least three times those at which the class is decided.
    """
    if where.domain == "outside":
        return "outside"
    threshold = explanation.threshold if explanation.target == explanation.prediction else 0.5
    chance = explanation.probability
    if chance * (1 - threshold) < SURE * threshold * (1 - chance):
        return "unsure"
    return "right" if explanation.prediction == plain(truth) else "wrong"


def _scorecard(model: GDLNNClassifier, rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the whole of a model whose head is a scorecard: its rows, and the constants of the classes."""
    if not isinstance(model.head_, ScorecardHead):
        return None
    n_matched = {row["index"]: row["n_matched"] for row in rows}
    listed = [
        {
            "index": row.column,
            "label": plain(row.label),
            "adds": row.contribution,
            "n_matched": n_matched.get(row.column),
        }
        for row in scorecard_rows(model)
        if row.contribution
    ]
    return {"rows": listed, "constant": scorecard_constants(model), "points": bool(model.head_.points)}


def _data(model: GDLNNClassifier, held_out: GraphDataset, n_known: int) -> dict[str, Any]:
    info = model.programs_.info
    if not hasattr(model, "classes_"):
        shown = {"graphs": len(held_out), "left_out": n_known, "split": held_out.split_source}
        return {"training": {"graphs": info.n_graphs}, "held_out": shown}
    twins = held_out.duplicates()
    labels, counts = np.unique(np.asarray(held_out.y), return_counts=True)
    return {
        "training": {
            "name": info.dataset,
            "graphs": info.n_graphs,
            "classes": [[plain(label), count] for label, count in info.label_counts],
            "fingerprint": info.fingerprint,
        },
        "held_out": {
            **held_out.describe(),
            "classes": [list(pair) for pair in zip(labels.tolist(), counts.tolist(), strict=True)],
            "split": held_out.split_source or "all graphs that were given",
            "left_out": n_known,
            "duplicates": twins.n_extra,
            "conflicting": len(twins.conflicting),
        },
        "directed": info.directed,
    }


def _model(model: GDLNNClassifier) -> dict[str, Any]:
    left_out = ("checkpoint", "device", "progress", "n_jobs")
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in left_out}
    found = {"parameters": parameters, "n_programs": len(model.programs_), "choice": model.choice_}
    values: dict[str, Any] = json.loads(json.dumps(found, default=_jsonable))
    command = model.training_.provenance.get("command", ())
    return values | {"commands": _commands(command) if command else []}


def _commands(train: Sequence[str]) -> list[str]:
    """Return the command lines that make the model and its report again."""
    return [
        shlex.join([*train, "-o", "model.gdlnn"]),
        shlex.join(["gdlnn", "report", "model.gdlnn", train[2], "-o", "report.html"]),
    ]


def _jsonable(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def _goes_by(
    model: GDLNNClassifier, explained: Sequence[Explanation], truth: npt.NDArray[Any]
) -> list[dict[str, Any]]:
    """Return the places that speak for each class in the graphs that are shown."""
    classes = count_places(explained, truth[: len(explained)], model.classes_.tolist())
    found: list[dict[str, Any]] = GlobalExplanation(classes, len(explained), True, model.schema_).to_json()[
        "classes"
    ]
    return found


def _counterfactuals(
    model: GDLNNClassifier, attributed: Attributed, truth: Sequence[Any], most: int
) -> dict[int, dict[str, Any]]:
    """Look for counterfactuals by row, first of what was predicted wrongly, then from the first graph on."""
    shown = attributed.representation
    predicted = shown.labels.tolist()
    rows = sorted(range(len(shown)), key=lambda row: (predicted[row] == truth[row], row))
    changes = {
        row: changed_by_removal(model, shown.take([row]), attributed.scored[row], MOST_REMOVED)
        for row in rows[:most]
    }
    return {row: counterfactual_card(found) for row, found in changes.items()}


# --- the index of a folder of models ----------------------------------------------------------------------


def write_index(folder: Path, entries: Sequence[FolderEntry], title: str = "") -> Path:
    """Write the index into a folder; models and reports that are in the folder get a link."""
    rows = [
        {
            "label": entry.label,
            "file": entry.file,
            "report": entry.report if (folder / entry.report).is_file() else "",
            "is_here": (folder / entry.file).is_file(),
            "classes": "",  # of a regressor
            **entry.summary,
        }
        for entry in entries
    ]
    scores = {"balanced_accuracy": "Balanced accuracy", "roc_auc": "ROC-AUC", "accuracy": "Accuracy"}
    if rows and "rmse" in rows[0]:
        scores = {name: VALUE_NAMES[name] for name in ("rmse", "mae", "r2", "spearman")}
    page = render(
        "gdlnn.report/index.html",
        scores=scores,
        title=f"{title or folder.resolve().name} · GDLNN models",
        name=title or folder.resolve().name,
        rows=rows,
        shown=lambda value: "–" if value is None or value == "" else f"{value:.3f}",
        made_by=f"gdlnn {package_version()}",
    )
    path = folder / INDEX
    write_text(path, page)
    return path
