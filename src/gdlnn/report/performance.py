"""How good a model is on held-out graphs: scores, curves, calibration, confusion, scores by domain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt

from gdlnn.explain.explanation import plain
from gdlnn.model.domain import DomainName
from gdlnn.report.statistics import brier, calibration, confusion, curves

if TYPE_CHECKING:
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation


def performance(
    model: GDLNNClassifier, truth: npt.NDArray[Any], seen: Representation, labels: list[Any]
) -> dict[str, Any]:
    """Return the figures of a model on held-out graphs; `labels` are the classes of model and data."""
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
        "curves": curves(
            seen.probabilities, classes, truth, own["rare_class"] if len(classes) == 2 else None
        ),
        "decision": model.choice_.get("decision"),
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
