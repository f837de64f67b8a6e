"""How good a model is on held-out graphs: scores, curves, calibration, odds ratios. Plain values come out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from gdlnn.errors import DatasetError
from gdlnn.explain.explanation import plain
from gdlnn.model.domain import DomainName
from gdlnn.model.scores import Z, majority_scores, order_of, score_intervals, wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn.graphs import GraphDataset
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
N_BINS = 10
MOST_POINTS = 80
"""Points of a curve that are kept."""


def checked_labels(model: GDLNNClassifier, data: GraphDataset, what: str) -> npt.NDArray[Any]:
    """Return the labels of held-out graphs; at least one of them must be a class of the model."""
    if data.y is None:
        raise DatasetError(f"{what}: expected graphs with labels, got none; name the label's column")
    if not len(data):
        raise DatasetError(f"{what}: expected at least one graph, got an empty part")
    if not hasattr(model, "classes_"):
        return np.asarray(data.y)
    classes = model.classes_.tolist()
    found = np.unique(data.y).tolist()
    if not set(classes) & set(found):
        known, got = (", ".join(map(str, labels[:5])) for labels in (classes, found))
        hint = f"; name the one that means {classes[1]} with --positive" if len(classes) == 2 else ""
        raise DatasetError(f"{what}: expected the labels of the model ({known}), got others ({got}){hint}")
    return np.asarray(data.y)


def performance(
    model: GDLNNClassifier, truth: npt.NDArray[Any], table: Representation, labels: list[Any]
) -> dict[str, Any]:
    """Return the figures of a model on held-out graphs; `labels` are the classes of model and data."""
    from sklearn.metrics import confusion_matrix

    classes = [plain(label) for label in model.classes_]
    counts = model.programs_.info.label_counts

    def scored(labels: npt.NDArray[Any], some: Representation) -> dict[str, Any]:
        return score_intervals(labels, some.probabilities, model.classes_, some.labels, counts)

    right = np.asarray(table.labels == truth)
    most_probable = np.asarray(model.classes_[table.probabilities.argmax(axis=1)])
    own = scored(truth, table)
    majority = majority_scores(truth, model.classes_, counts)
    wanted = truth[:, None] == model.classes_[None]
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
        "domains": by_domain(truth, table, scored),
        "curves": curves(
            table.probabilities, classes, truth, own["rare_class"] if len(classes) == 2 else None
        ),
        "decision": model.choice_.get("decision"),
        "confusion": confusion_matrix(truth, table.labels, labels=labels).tolist(),
        "calibration": calibration(table.probabilities.max(axis=1), most_probable == truth),
        # as scikit-learn has it: of two classes, half of the sum over both
        "brier": float(((table.probabilities - wanted) ** 2).sum(axis=1).mean()) / (1 + (len(classes) == 2)),
    }


def by_domain(
    truth: npt.NDArray[Any], table: Representation, scored: Callable[[npt.NDArray[Any], Any], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the scores of the graphs that are like the training graphs, and of those that are not."""
    domains = np.array([str(where.domain) for where in table.domains])
    rows = {name: np.flatnonzero(domains == name) for name in get_args(DomainName)}
    return [
        {"domain": name, "scores": scored(truth[some], table.take(some.tolist()))}
        for name, some in rows.items()
        if len(some)
    ]


# --- statistics -------------------------------------------------------------------------------------------


class Counts(NamedTuple):
    """Matched graphs of a class and of all others, and how many of each there are."""

    own: int
    n_own: int
    others: int
    n_others: int

    @classmethod
    def of(cls, matched: BoolArray, own: BoolArray) -> Counts:
        """Count matched graphs and graphs of the class."""
        others = ~own
        return cls(*(int(found.sum()) for found in (matched & own, own, matched & others, others)))

    @property
    def matched(self) -> int:
        """Number of matched graphs."""
        return self.own + self.others

    def precision(self) -> dict[str, Any]:
        """Return the share of the class among matched graphs, with Wilson's interval; None without any."""
        if not self.matched:
            return {"precision": None, "precision_interval": None}
        interval = wilson(self.own, self.matched)
        return {"precision": self.own / self.matched, "precision_interval": list(interval)}

    def odds_ratio(self) -> tuple[float, float, float]:
        """Return how much the odds of a match rise in the class, and the 95% interval.

        Haldane and Anscombe's half is added to each of the four counts, so that a zero does no harm.
        """
        others = self.n_others - self.others
        cells = [count + 0.5 for count in (self.own, self.n_own - self.own, self.others, others)]
        logarithm = math.log(cells[0] * cells[3] / (cells[1] * cells[2]))
        reach = Z * math.sqrt(sum(1 / cell for cell in cells))
        return math.exp(logarithm), math.exp(logarithm - reach), math.exp(logarithm + reach)

    def odds(self) -> dict[str, Any]:
        """Return the odds ratio and its interval as plain JSON values."""
        ratio, *bounds = self.odds_ratio()
        return {"odds_ratio": ratio, "odds_interval": bounds}


def calibration(confidence: FloatArray, right: BoolArray) -> dict[str, Any]:
    """Return how often predictions are right by how probable they were said to be.

    `error` is the expected calibration error: the mean gap between both, weighted by the graphs.
    """
    at = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    bins, error = [], 0.0
    for number in range(N_BINS):
        inside = at == number
        n = int(inside.sum())
        if not n:
            continue
        predicted, share = float(confidence[inside].mean()), float(right[inside].mean())
        bins.append(
            {
                "probability": predicted,
                "right": share,
                "n": n,
                "interval": wilson(int(right[inside].sum()), n),
            }
        )
        error += n / len(at) * abs(predicted - share)
    return {"bins": bins, "error": error}


def curves(
    proba: FloatArray, classes: Sequence[Any], truth: npt.NDArray[Any], label: Any | None
) -> list[dict[str, Any]]:
    """Return ROC and precision–recall curves: of one class, or where `label` is None of each class.

    Classes of which all or none of the graphs are have no curve.
    """
    from sklearn.metrics import precision_recall_curve, roc_curve

    found = []
    for column, name in enumerate(classes):
        own = np.asarray(truth == name)
        if (label is not None and name != label) or not 0 < own.sum() < len(own):
            continue
        false, true, _ = roc_curve(own, proba[:, column], drop_intermediate=True)
        precision, recall, _ = precision_recall_curve(own, proba[:, column], drop_intermediate=True)
        found.append(
            {
                "label": name,
                "share": float(own.mean()),
                "roc": _thinned(false, true),
                "pr": _thinned(recall[::-1], precision[::-1]),
            }
        )
    return found


def _thinned(x: FloatArray, y: FloatArray) -> list[list[float]]:
    rows = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).round().astype(int))
    return [[round(float(a), 4), round(float(b), 4)] for a, b in zip(x[rows], y[rows], strict=True)]
