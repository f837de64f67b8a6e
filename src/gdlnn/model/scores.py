"""How good predictions are: accuracy and its companions, beside what guessing the commonest label gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from gdlnn.graphs import GraphDataset


def classification_scores(
    y: npt.ArrayLike, probabilities: npt.NDArray[np.float64], classes: npt.NDArray[Any]
) -> dict[str, float | None]:
    """Return accuracy, balanced accuracy, ROC-AUC and Matthews' correlation; None where one is not defined.

    Parameters
    ----------
    y
        The true labels.
    probabilities
        The probabilities of the classes, one row per graph.
    classes
        The labels of the columns.
    """
    from sklearn.metrics import matthews_corrcoef

    truth = np.asarray(y)
    predicted = classes[probabilities.argmax(axis=1)]
    recalls = [float((predicted[truth == label] == label).mean()) for label in np.unique(truth)]
    return {
        "n": len(truth),
        "accuracy": float((predicted == truth).mean()),
        "balanced_accuracy": float(np.mean(recalls)),
        "roc_auc": _roc_auc(truth, probabilities, classes),
        "mcc": float(matthews_corrcoef(truth, predicted)) if len(np.unique(truth)) > 1 else None,
    }


def _roc_auc(
    truth: npt.NDArray[Any], probabilities: npt.NDArray[np.float64], classes: npt.NDArray[Any]
) -> float | None:
    """Return the area under the curve, for several classes the mean of one against the rest."""
    from sklearn.metrics import roc_auc_score

    areas = []
    columns = range(len(classes)) if len(classes) > 2 else [1]
    for column in columns:
        own = truth == classes[column]
        if own.any() and not own.all():
            areas.append(float(roc_auc_score(own, probabilities[:, column])))
    return float(np.mean(areas)) if areas else None


def majority_scores(train: GraphDataset, part: GraphDataset) -> dict[str, float | None]:
    """Return the scores of always predicting the commonest training label."""
    assert train.y is not None
    assert part.y is not None
    classes, counts = np.unique(train.y, return_counts=True)
    probabilities = np.zeros((len(part), len(classes)))
    probabilities[:, counts.argmax()] = 1.0
    return classification_scores(part.y, probabilities, classes)
