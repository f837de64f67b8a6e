"""Collect the contents of a report as plain JSON values, and write them as one HTML file.

Its layout is in the template, styles and scripts in `page/`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from gdlnn.drawing import write_text
from gdlnn.drawing.charts import calibration_chart, learning_chart
from gdlnn.drawing.pages import render
from gdlnn.errors import DatasetError
from gdlnn.explain import GlobalExplanation, counterfactual, explain, explain_model
from gdlnn.explain.explainer import with_smiles
from gdlnn.explain.explanation import plain
from gdlnn.explain.techniques import make_technique
from gdlnn.graphs import GraphDataset, Schema
from gdlnn.model.domain import DomainName
from gdlnn.report.cards import counterfactual_card, enough_cards, graph_card, program_rows
from gdlnn.report.statistics import brier, calibration, confusion, learning_curve
from gdlnn.version import package_version

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from gdlnn.explain import Explanation
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.domain import DomainAnswer
    from gdlnn.model.representation import Representation

FORMAT = "gdlnn-report"
VERSION = 1
MOST_REMOVED = 8  # nodes; what needs more to flip says little


@dataclass(frozen=True)
class ReportOptions:
    """What goes into a report.

    Attributes
    ----------
    technique, n_features, seed
        How graphs are explained, as for `explain`.
    max_graphs
        Most graphs in the gallery; the figures are always over all.
    max_counterfactuals
        For how many graphs to look for a counterfactual, wrong predictions first.
    """

    technique: str | None = None
    n_features: int = 4
    seed: int = 0
    max_graphs: int = 400
    max_counterfactuals: int = 24


def silent(text: str) -> None:
    """Tell nobody."""


def build_report(
    model: GDLNNClassifier,
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
        Labelled graphs. Those that the model was trained on are left out and counted.
    options
        What goes in; see `ReportOptions`.
    title
        The headline; by default the name of the data.
    say
        Told what is being done, for whoever waits.
    """
    options = options or ReportOptions()
    _labels(held_out)
    say(f"predicting {len(held_out)} graphs")
    held_out, seen, n_seen = _only_unseen(held_out, model.represent(held_out))
    truth = _labels(held_out)
    proba = seen.probabilities
    shown = seen.take(range(min(len(seen), options.max_graphs)))
    say(f"explaining {len(shown)} graphs")
    explained: list[Explanation] = explain(
        model, shown, options.technique, options.n_features, seed=options.seed
    )
    say("looking for the programs that cover each class")
    overall = explain_model(model, seen, truth)
    schema = model.schema_ or held_out.schema or Schema()
    labels = _all_labels(model, truth)
    if held_out.smiles is not None:
        explained = with_smiles(explained, held_out.smiles[: len(explained)])
    say("looking for the smallest parts that are enough")
    smallest = explain(model, shown, options.technique, "smallest", seed=options.seed)
    say("looking for counterfactuals")
    changes = _counterfactuals(model, explained, truth, options.max_counterfactuals)
    say("drawing programs and graphs")
    cards = [
        {
            "row": row,
            **graph_card(e, proba[row], f"graph {row}", enough=enough, counterfactual=changes.get(row)),
            **_truth(e, truth[row], shown.domains[row]),
        }
        for row, (e, enough) in enumerate(zip(explained, enough_cards(model, smallest), strict=True))
    ]
    named = {item["index"] for card in cards for item in card["programs"]}
    named |= {index for card in cards for index in card["enough"]["programs"]}
    named |= {program.index for item in overall.classes.values() for program in item.programs}
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title or held_out.name or model.programs_.info.dataset or "GDLNN",
        "made_by": f"gdlnn {package_version()}",
        "classes": [{"label": label, "name": schema.class_name(label)} for label in labels],
        "data": _data(model, held_out, n_seen),
        "model": _model(model),
        "performance": _performance(model, truth, seen, labels),
        "learning_curve": learning_curve(model.history_),
        "explained_by": {
            "technique": make_technique(options.technique).name,
            "n_features": options.n_features,
            "seed": options.seed,
        },
        "programs": program_rows(model, truth, seen.matches, explained, named),
        "global": _global(overall),
        "graphs": cards,
    }


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
    write_text(target, render_report(report))
    return report


def render_report(report: dict[str, Any]) -> str:
    """Return the page of a report: one file, nothing fetched."""
    names = {item["label"]: item["name"] for item in report["classes"]}
    return render(
        "gdlnn.report/page.html",
        title=f"{report['title']} · GDLNN report",
        report=report,
        rows={row["index"]: row for row in report["programs"]},
        class_name=lambda label: names.get(label, str(label)),
        calibration_chart=Markup(calibration_chart(report["performance"]["calibration"])),
        learning_chart=Markup(learning_chart(report["learning_curve"])),
        json=embedded_json(report),
    )


def embedded_json(report: dict[str, Any]) -> Markup:
    """Return the JSON as it may stand inside a page: no text in it can end the element or open another."""
    text = json.dumps(report, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Jinja's `tojson` also escapes apostrophes, of which the diagrams have very many.
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


# --- parts ------------------------------------------------------------------------------------------------


def _labels(held_out: GraphDataset) -> npt.NDArray[Any]:
    if held_out.y is None:
        raise DatasetError("report: expected labelled graphs, got none with a label; name the label's column")
    if not len(held_out):
        raise DatasetError("report: expected at least one graph, got an empty part")
    return np.asarray(held_out.y)


def _only_unseen(
    held_out: GraphDataset, found: Representation
) -> tuple[GraphDataset, Representation, int | None]:
    """Leave out graphs that the model was trained on; also say how many, None where it does not know."""
    if found.trained_on is None:
        return held_out, found, None
    rows = [row for row, seen in enumerate(found.seen) if not seen]
    n_seen = len(found) - len(rows)
    if not rows:
        raise DatasetError(
            f"report: expected graphs that the model was not trained on, got {n_seen} that it was; "
            "report on the test part or on other data"
        )
    return (held_out.take(rows), found.take(rows), n_seen) if n_seen else (held_out, found, 0)


def _all_labels(model: GDLNNClassifier, truth: npt.NDArray[Any]) -> list[Any]:
    known = [plain(label) for label in model.classes_]
    return known + [label for label in np.unique(truth).tolist() if label not in known]


def _data(model: GDLNNClassifier, held_out: GraphDataset, n_seen: int | None) -> dict[str, Any]:
    info = model.programs_.info
    return {
        "training": {
            "name": info.dataset,
            "graphs": info.n_graphs,
            "classes": [[plain(label), count] for label, count in info.label_counts],
            "fingerprint": info.fingerprint,
        },
        "held_out": {
            **held_out.describe().to_json(),
            "classes": [
                [plain(label), int((held_out.y == label).sum())]
                for label in np.unique(np.asarray(held_out.y))
            ],
            "split": held_out.split_source or "all graphs that were given",
            "left_out": n_seen,
        },
        "directed": info.directed,
        "skipped_rows": len(held_out.skipped),
    }


def _model(model: GDLNNClassifier) -> dict[str, Any]:
    parameters = {
        name: _jsonable(value)
        for name, value in model.get_params(deep=False).items()
        if name not in ("checkpoint", "device", "progress", "n_jobs")
    }
    return {"parameters": parameters, "n_programs": len(model.programs_), "choice": _jsonable(model.choice_)}


def _jsonable(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    return str(value)


def _performance(
    model: GDLNNClassifier, truth: npt.NDArray[Any], seen: Representation, labels: list[Any]
) -> dict[str, Any]:
    from gdlnn.model.scores import majority_scores, order_of, score_intervals, wilson

    classes = [plain(label) for label in model.classes_]
    counts = model.programs_.info.label_counts
    right = np.asarray(seen.labels == truth)
    most_probable = np.asarray(model.classes_[seen.probabilities.argmax(axis=1)])
    own = score_intervals(truth, seen.probabilities, model.classes_, seen.labels, counts)
    majority = majority_scores(truth, model.classes_, counts)
    n_majority = int((truth == majority["label"]).sum())
    return {
        "n": len(truth),
        "n_right": int(right.sum()),
        "accuracy": own["accuracy"],
        "accuracy_interval": own["intervals"]["accuracy"],
        "scores": own,
        "order": list(order_of(counts)),
        "majority": {
            **majority,
            "label": plain(majority["label"]),
            "interval": wilson(n_majority, len(truth)),
        },
        "domains": _by_domain(model, truth, seen),
        "confusion": confusion(truth.tolist(), seen.labels.tolist(), labels),
        "calibration": calibration(seen.probabilities.max(axis=1), most_probable == truth),
        "brier": brier(seen.probabilities, classes, truth.tolist()),
    }


def _by_domain(model: GDLNNClassifier, truth: npt.NDArray[Any], seen: Representation) -> list[dict[str, Any]]:
    """Return the scores of the graphs that are like the training graphs, and of those that are not."""
    from gdlnn.model.scores import score_intervals

    domains = np.array([str(where.domain) for where in seen.domains])
    found = []
    for name in get_args(DomainName):
        rows = np.flatnonzero(domains == name)
        if len(rows):
            some = seen.take(rows.tolist())
            counts = model.programs_.info.label_counts
            scores = score_intervals(truth[rows], some.probabilities, model.classes_, some.labels, counts)
            found.append({"domain": name, "scores": scores})
    return found


def _global(overall: GlobalExplanation) -> list[dict[str, Any]]:
    """Return the programs that cover each class; the table of programs has their words and diagrams."""
    found: list[dict[str, Any]] = overall.to_json()["classes"]
    for item in found:
        for program in item["programs"]:
            del program["program"], program["words"]
            program["examples"] = [example["row"] for example in program["examples"]]
    return found


def _truth(explanation: Explanation, truth: Any, where: DomainAnswer) -> dict[str, Any]:
    return {
        "truth": plain(truth),
        "right": bool(explanation.prediction == plain(truth)),
        "domain": where.domain,
        "domain_reason": where.reason,
    }


def _counterfactuals(
    model: GDLNNClassifier, explained: Sequence[Explanation], truth: npt.NDArray[Any], most: int
) -> dict[int, dict[str, Any]]:
    """Look for counterfactuals by row, first of what was predicted wrongly, then from the first graph on."""
    rows = sorted(
        range(len(explained)), key=lambda row: (explained[row].prediction == plain(truth[row]), row)
    )
    return {
        row: counterfactual_card(counterfactual(model, explained[row].graph, max_nodes=MOST_REMOVED))
        for row in rows[:most]
    }
