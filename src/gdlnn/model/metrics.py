"""Scores of predictions: accuracy, balanced accuracy, ROC-AUC, Matthews correlation (MCC), log loss.

A metric that the true labels leave undefined is None: ROC-AUC where no class has graphs both in and outside
it, MCC where all true labels are the same. MCC is 0, as in scikit-learn, where all predictions are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gdlnn.graphs.schema import label_codes

METRICS = ("accuracy", "balanced_accuracy", "roc_auc", "mcc")


def classification_scores(
    y: npt.ArrayLike,
    probabilities: npt.NDArray[np.float64],
    classes: npt.NDArray[Any],
    predicted: npt.NDArray[Any] | None = None,
) -> dict[str, float | None]:
    """Return the number of graphs `n` and the `METRICS` of predictions; None for an undefined metric.

    Parameters
    ----------
    y
        The true labels.
    probabilities
        The probabilities of the classes, one row per graph.
    classes
        The label of each column of `probabilities`.
    predicted
        The predicted labels; by default the most probable ones.
    """
    from sklearn.metrics import matthews_corrcoef

    truth = np.asarray(y)
    if predicted is None:
        predicted = classes[probabilities.argmax(axis=1)]
    labels = np.unique(truth)
    recalls = [float((predicted[truth == label] == label).mean()) for label in labels]
    return {
        "n": len(truth),
        "accuracy": float((predicted == truth).mean()),
        "balanced_accuracy": float(np.mean(recalls)),
        "roc_auc": _roc_auc(truth, probabilities, classes),
        "mcc": float(matthews_corrcoef(truth, predicted)) if len(labels) > 1 else None,
    }


def _roc_auc(
    truth: npt.NDArray[Any], probabilities: npt.NDArray[np.float64], classes: npt.NDArray[Any]
) -> float | None:
    """Return the area for the second of two classes; of more, the mean of each class against the rest."""
    from sklearn.metrics import roc_auc_score

    areas = []
    for column in [1] if len(classes) == 2 else range(len(classes)):
        own = truth == classes[column]
        if own.any() and not own.all():
            areas.append(float(roc_auc_score(own, probabilities[:, column])))
    return float(np.mean(areas)) if areas else None


def log_loss(y: npt.NDArray[Any], probabilities: npt.NDArray[np.float64], classes: npt.NDArray[Any]) -> float:
    """Return the mean negative log probability of the true labels; a label not trained on has none."""
    codes = label_codes(y, classes)
    own = np.where(codes < 0, 0.0, probabilities[np.arange(len(codes)), codes])
    return float(-np.log(np.maximum(own, 1e-12)).mean())
