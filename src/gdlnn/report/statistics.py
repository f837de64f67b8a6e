"""Figures of a report: odds ratios, calibration, confusion. Arrays in, plain values out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.graphs.schema import label_codes
from gdlnn.model.scores import Z, wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

FloatArray = npt.NDArray[np.float64]
N_BINS = 10


def odds_ratio(own: int, n_own: int, others: int, n_others: int) -> tuple[float, float, float]:
    """Return how much the odds of a match rise in a class, and the 95 % interval.

    Parameters
    ----------
    own, n_own
        Matched graphs of the class, and all of it.
    others, n_others
        The same of all other classes.

    Notes
    -----
    Haldane and Anscombe's half is added to each of the four counts, so that a zero does no harm.
    """
    cells = [count + 0.5 for count in (own, n_own - own, others, n_others - others)]
    logarithm = math.log(cells[0] * cells[3] / (cells[1] * cells[2]))
    reach = Z * math.sqrt(sum(1 / cell for cell in cells))
    return math.exp(logarithm), math.exp(logarithm - reach), math.exp(logarithm + reach)


def confusion(truth: Sequence[Any], predicted: Sequence[Any], labels: Sequence[Any]) -> list[list[int]]:
    """Return how many graphs of each class (rows) were predicted as each (columns)."""
    table = np.zeros((len(labels), len(labels)), dtype=int)
    np.add.at(table, (label_codes(truth, labels, known=True), label_codes(predicted, labels, known=True)), 1)
    counts: list[list[int]] = table.tolist()
    return counts


def calibration(confidence: FloatArray, right: npt.NDArray[np.bool_]) -> dict[str, Any]:
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
        said, share = float(confidence[inside].mean()), float(right[inside].mean())
        bins.append(
            {"probability": said, "right": share, "n": n, "interval": wilson(int(right[inside].sum()), n)}
        )
        error += n / len(at) * abs(said - share)
    return {"bins": bins, "error": error}


def brier(proba: FloatArray, classes: Sequence[Any], truth: Sequence[Any]) -> float:
    """Return the mean squared distance between probabilities and what was true: 0 at best, 2 at worst."""
    wanted = np.array([[label == true for label in classes] for true in truth], dtype=np.float64)
    return float(((proba - wanted) ** 2).sum(axis=1).mean())


def learning_curve(history: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean over the members of a head for every epoch that at least one of them ran."""
    by_epoch: dict[int, list[dict[str, Any]]] = {}
    for row in history:
        by_epoch.setdefault(int(row["epoch"]), []).append(row)
    curve = []
    for epoch, rows in sorted(by_epoch.items()):
        point: dict[str, Any] = {"epoch": epoch}
        for name in ("loss", "val_loss", "val_accuracy"):
            values = [float(row[name]) for row in rows if row.get(name) is not None]
            if values:
                point[name] = float(np.mean(values))
        curve.append(point)
    return curve


MOST_POINTS = 80
"""Points of a curve that are kept."""


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
