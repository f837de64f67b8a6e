"""How good predictions are: accuracy, balanced accuracy, area under the ROC curve, Matthews correlation."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gdlnn.graphs.schema import label_codes

METRICS = ("accuracy", "balanced_accuracy", "roc_auc", "mcc")


def score_predictions(
    truth: npt.NDArray[Any],
    predicted: npt.NDArray[Any],
    proba: npt.NDArray[np.float64],
    classes: npt.NDArray[Any],
) -> dict[str, float | None]:
    """Return the metrics of predictions; one that is not defined on these labels is None.

    Parameters
    ----------
    truth, predicted
        Labels as they are and as they were predicted.
    proba, classes
        Probabilities, and the label of each of their columns. With two classes the area is that of the
        second one, with more the mean over every class against the rest.
    """
    from sklearn.metrics import balanced_accuracy_score, matthews_corrcoef

    right = truth == predicted
    # A label that is predicted but not among the true ones is a mistake like any other.
    known = np.isin(predicted, truth)
    recall = [float(right[truth == label].mean()) for label in np.unique(truth)]
    balanced = balanced_accuracy_score(truth, predicted) if bool(known.all()) else float(np.mean(recall))
    return {
        "accuracy": float(right.mean()),
        "balanced_accuracy": float(balanced),
        "roc_auc": _area(truth, proba, classes),
        "mcc": float(matthews_corrcoef(truth, predicted)),
    }


def _area(truth: npt.NDArray[Any], proba: npt.NDArray[np.float64], classes: npt.NDArray[Any]) -> float | None:
    from sklearn.metrics import roc_auc_score

    columns = range(1, 2) if len(classes) == 2 else range(len(classes))
    areas = []
    for column in columns:
        own = truth == classes[column]
        if 0 < own.sum() < len(own):
            areas.append(float(roc_auc_score(own, proba[:, column])))
    return float(np.mean(areas)) if areas else None


def validation_loss(
    truth: npt.NDArray[Any], proba: npt.NDArray[np.float64], classes: npt.NDArray[Any]
) -> float:
    """Return the mean negative log probability of the true labels; one that was not trained on has none."""
    codes = label_codes(truth, classes)
    own = np.where(codes < 0, 0.0, proba[np.arange(len(codes)), codes])
    return float(-np.log(np.maximum(own, 1e-12)).mean())
