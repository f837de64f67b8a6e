"""Scores with 95% intervals, of classes in the order in which to read them, and of predicted values.

Shares of graphs (accuracy, recall, precision) have Wilson's interval. All others have percentiles of a
bootstrap: the graphs are drawn with replacement, as many of each class as there are, `RESAMPLES` times from a
fixed seed. If the resamples agree, a perfect score has Wilson's interval for the smallest class, all of it
right, and any other score has none. Intervals reflect the choice of held-out graphs, not that of training
graphs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.stats import bootstrap, rankdata

from gdlnn.graphs.schema import label_codes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Z = 1.959963984540054  # of a 95% interval
RESAMPLES = 1000
SEED = 0
RARE = 0.3
"""A class with a smaller share of the training graphs is rare, and accuracy says little."""
METRICS = ("accuracy", "balanced_accuracy", "roc_auc", "mcc")
NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "ROC-AUC",
    "pr_auc": "PR-AUC",
    "mcc": "MCC",
}
VALUE_NAMES = {"rmse": "RMSE", "mae": "MAE", "r2": "R²", "spearman": "Spearman", "inside": "in the interval"}
ORDER = ("accuracy", "balanced_accuracy", "roc_auc", "pr_auc", "mcc")
ORDER_WITH_RARE = ("roc_auc", "pr_auc", "balanced_accuracy", "mcc", "accuracy")
Statistic = Callable[[FloatArray], FloatArray]
"""A score of each row of weights of graphs; NaN where it is undefined."""
_CELLS = 2_000_000
"""Number of graphs × resamples computed at a time."""


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share; unlike the usual one it is never empty at 0 and 1."""
    if not n:
        return 0.0, 1.0
    share, z2 = hits / n, Z * Z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def has_rare_class(counts: Sequence[tuple[Any, int]]) -> bool:
    """Say whether the rarest class has less than 30% of the training graphs, given labels and counts."""
    return min(count for _, count in counts) < RARE * sum(count for _, count in counts)


def order_of(counts: Sequence[tuple[Any, int]]) -> tuple[str, ...]:
    """Return the names of the scores in the order to read them, given labels and counts of training."""
    return ORDER_WITH_RARE if has_rare_class(counts) else ORDER


def classification_scores(
    y: npt.ArrayLike,
    probabilities: npt.NDArray[np.float64],
    classes: npt.NDArray[Any],
    predicted: npt.NDArray[Any] | None = None,
) -> dict[str, Any]:
    """Return the number of graphs `n` and the `METRICS` of predictions.

    A metric that the true labels leave undefined is None: ROC-AUC where no class has graphs both in and
    outside it, MCC where all true labels are the same. MCC is 0, as in scikit-learn, where all predictions
    are the same.

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
    scores, *_ = _scores(np.asarray(y), probabilities, classes, predicted, None)
    return {name: scores[name] for name in ("n", *METRICS)}


def _scores(
    truth: npt.NDArray[Any],
    probabilities: FloatArray,
    classes: npt.NDArray[Any],
    predicted: npt.NDArray[Any] | None,
    rare: int | None,
) -> tuple[dict[str, Any], dict[str, Statistic], list[Any], IntArray, IntArray]:
    """Return the scores, functions that give them for weighted graphs, and the labels as numbers."""
    if predicted is None:
        predicted = classes[probabilities.argmax(axis=1)]
    labels = [*classes.tolist(), *(label for label in np.unique(truth).tolist() if label not in classes)]
    own, given = label_codes(truth, labels), label_codes(predicted, labels)
    statistics = _statistics(own, given, probabilities, rare)
    values = {name: float(of(np.ones((1, len(truth))))[0]) for name, of in statistics.items()}
    scores = {name: None if np.isnan(value) else value for name, value in values.items()}
    accuracy = float((predicted == truth).mean())
    return {"n": len(truth), "accuracy": accuracy, **scores}, statistics, labels, own, given


def score_intervals(
    y: npt.ArrayLike,
    probabilities: FloatArray,
    classes: npt.NDArray[Any],
    predicted: npt.NDArray[Any] | None = None,
    counts: Sequence[tuple[Any, int]] | None = None,
) -> dict[str, Any]:
    """Return scores with intervals as plain JSON values; None for what is undefined.

    Parameters
    ----------
    y, probabilities, classes, predicted
        As for `classification_scores`.
    counts
        The labels and how many training graphs have each; by default those of `y`. They say which class is
        the rarer of two, whose PR-AUC is given; of more classes it is the mean over all.

    Returns
    -------
    `n`, the scores in `NAMES`, their `intervals`, the `rare_class` of two, and for each of the `classes`
    `label`, `n`, `recall` and `precision` with their intervals.
    """
    truth = np.asarray(y)
    rare = _rarer_column(classes, truth, counts)
    found, statistics, labels, own, given = _scores(truth, probabilities, classes, predicted, rare)
    found["intervals"] = {
        "accuracy": list(wilson(int((own == given).sum()), len(truth))),
        **_intervals(own, statistics, found),
    }
    found["rare_class"] = None if rare is None else labels[rare]
    found["classes"] = [_of_class(label, own == i, given == i) for i, label in enumerate(labels)]
    return found


def _of_class(label: Any, own: npt.NDArray[np.bool_], predicted: npt.NDArray[np.bool_]) -> dict[str, Any]:
    hits, n, n_predicted = int((own & predicted).sum()), int(own.sum()), int(predicted.sum())
    return {
        "label": label,
        "n": n,
        "recall": hits / n if n else None,
        "recall_interval": list(wilson(hits, n)) if n else None,
        "precision": hits / n_predicted if n_predicted else None,
        "precision_interval": list(wilson(hits, n_predicted)) if n_predicted else None,
    }


def _rarer_column(
    classes: npt.NDArray[Any], truth: npt.NDArray[Any], counts: Sequence[tuple[Any, int]] | None
) -> int | None:
    """Return which of two classes is the rarer; None where there are more."""
    if len(classes) != 2:
        return None
    known = dict(counts) if counts is not None else {label: int((truth == label).sum()) for label in classes}
    first, second = (known.get(label, 0) for label in classes.tolist())
    return 0 if first < second else 1


def majority_scores(
    y: npt.ArrayLike, classes: npt.NDArray[Any], counts: Sequence[tuple[Any, int]]
) -> dict[str, Any]:
    """Return the scores of always predicting the most frequent training label, without intervals.

    `counts` has the labels and how many training graphs have each.
    """
    commonest = max(counts, key=lambda pair: pair[1])[0]
    truth = np.asarray(y)
    probabilities = np.zeros((len(truth), len(classes)))
    probabilities[:, label_codes([commonest], classes)] = 1.0
    found = classification_scores(truth, probabilities, classes)
    rare = _rarer_column(classes, truth, counts)
    shares = [float((truth == label).mean()) for label in classes]
    # Without any order among the graphs, precision is the share of the class throughout.
    found["pr_auc"] = shares[rare] if rare is not None else float(np.mean([s for s in shares if s]))
    return {"label": commonest, **found}


def score_lines(
    title: str,
    own: Mapping[str, Any],
    majority: Mapping[str, Any],
    counts: Sequence[tuple[Any, int]],
    class_name: Callable[[Any], str] = str,
) -> Iterator[str]:
    """Yield scores as lines of text: a table of scores next to the majority class, and one of the classes.

    Parameters
    ----------
    title
        What was scored.
    own, majority
        From `score_intervals` and `majority_scores`.
    counts
        The labels and how many training graphs have each: they decide what comes first.
    class_name
        Returns the name of a class.
    """
    width = max(26, len(title) + 2)
    between = f"{'95% interval':>18}"
    yield f"{title:{width}}{'model':>8}{between}{'majority':>12}"
    for name in order_of(counts):
        words = NAMES[name]
        if name == "pr_auc" and own["rare_class"] is not None:
            words += f" of {class_name(own['rare_class'])}"
        interval = _shown_interval(own["intervals"].get(name))
        yield f"{words:{width}}{_shown(own[name]):>8}{interval:>18}{_shown(majority[name]):>12}"
    names = [class_name(item["label"]) for item in own["classes"]]
    width = max(26, *(len(name) + 10 for name in names))
    yield f"{'class (graphs)':{width}}{'recall':>8}{between}{'precision':>12}{between}"
    for name, item in zip(names, own["classes"], strict=True):
        yield (
            f"{name + ' (' + str(item['n']) + ')':{width}}"
            f"{_shown(item['recall']):>8}{_shown_interval(item['recall_interval']):>18}"
            f"{_shown(item['precision']):>12}{_shown_interval(item['precision_interval']):>18}"
        )


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _shown_interval(bounds: Sequence[float] | None) -> str:
    return "–" if bounds is None else f"{bounds[0]:.3f} to {bounds[1]:.3f}"


# --- the bootstrap ------------------------------------------------------------------------------------------


def _intervals(
    codes: IntArray, statistics: Mapping[str, Statistic], found: Mapping[str, Any]
) -> dict[str, list[float] | None]:
    """Return the interval of each statistic; graphs are drawn within their classes."""
    known = [name for name in statistics if found[name] is not None]
    classes = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    smallest = min(len(rows) for rows in classes)
    drawn = [rows for rows in classes if len(rows) > 1]  # scipy draws from two or more
    alone = [rows[0] for rows in classes if len(rows) == 1]
    low = high = np.zeros(len(known))

    def all_statistics(*resampled: IntArray, axis: int) -> FloatArray:
        weights = _times_drawn(np.concatenate(resampled, axis=axis), len(codes))
        weights[:, alone] = 1
        return np.stack([statistics[name](weights) for name in known])

    if known and drawn:
        low, high = bootstrap(
            drawn,
            all_statistics,
            n_resamples=RESAMPLES,
            batch=max(1, _CELLS // len(codes)),
            vectorized=True,
            method="percentile",
            random_state=np.random.default_rng(SEED),
        ).confidence_interval  # of 95%
    bounds = dict(zip(known, zip(low.tolist(), high.tolist(), strict=True), strict=True))
    return {
        name: _interval(name, found[name], *bounds[name], smallest) if name in bounds else None
        for name in statistics
    }


def _times_drawn(rows: IntArray, n_graphs: int) -> FloatArray:
    """Return how often each graph occurs in each resample."""
    places = rows.astype(np.int64) + np.arange(len(rows))[:, None] * n_graphs
    counts = np.bincount(places.ravel(), minlength=len(rows) * n_graphs)
    return counts.reshape(len(rows), n_graphs).astype(np.float64)


def _interval(name: str, value: float, low: float, high: float, smallest: int) -> list[float] | None:
    """Return the interval of a score; resamples that agree say nothing of how certain it is."""
    if low < high:
        return [low, high]
    if not np.isclose(value, 1.0):
        return None
    low, high = wilson(smallest, smallest)
    return [2 * low - 1 if name == "mcc" else low, high]  # which goes down to -1, the others to 0


def _statistics(
    codes: IntArray, predicted_codes: IntArray, probabilities: FloatArray, rare: int | None
) -> dict[str, Statistic]:
    """Return functions from weights of graphs, one row per resample, to balanced accuracy, areas and MCC."""
    n_classes = max(int(codes.max()), int(predicted_codes.max()), probabilities.shape[1] - 1) + 1
    one_class = len(np.unique(codes)) < 2
    columns = range(probabilities.shape[1])
    curves = [_Curve(probabilities[:, column], codes == column) for column in columns]
    areas = [curve for curve in (curves[1:] if len(curves) == 2 else curves) if curve.is_defined]
    precise = [curves[rare]] if rare is not None else curves
    precise = [curve for curve in precise if curve.is_defined]

    def cells(weights: FloatArray) -> FloatArray:
        onehot = np.zeros((len(codes), n_classes * n_classes))
        onehot[np.arange(len(codes)), codes * n_classes + predicted_codes] = 1.0
        return (weights @ onehot).reshape(len(weights), n_classes, n_classes)

    def mean(of: list[_Curve], name: str, weights: FloatArray) -> FloatArray:
        values = [getattr(curve, name)(weights) for curve in of]
        return np.mean(values, axis=0) if values else np.full(len(weights), np.nan)

    return {
        "balanced_accuracy": lambda weights: _balanced_accuracy(cells(weights)),
        "roc_auc": lambda weights: mean(areas, "roc_auc", weights),
        "pr_auc": lambda weights: mean(precise, "pr_auc", weights),
        "mcc": lambda weights: mean([], "", weights) if one_class else _mcc(cells(weights)),
    }


def _balanced_accuracy(tables: FloatArray) -> FloatArray:
    """Return the mean recall of the classes that have graphs; tables are resamples × true × predicted."""
    totals = tables.sum(axis=2)
    recalls = np.diagonal(tables, axis1=1, axis2=2) / np.where(totals > 0, totals, np.nan)
    return np.asarray(np.nanmean(recalls, axis=1))


def _mcc(tables: FloatArray) -> FloatArray:
    """Return Matthews' correlation of confusion tables, as scikit-learn defines it for several classes."""
    true, predicted = tables.sum(axis=2), tables.sum(axis=1)
    right, n = np.trace(tables, axis1=1, axis2=2), tables.sum(axis=(1, 2))
    together = right * n - (true * predicted).sum(axis=1)
    spread = (n**2 - (predicted**2).sum(axis=1)) * (n**2 - (true**2).sum(axis=1))
    return np.asarray(np.where(spread > 0, together / np.sqrt(np.where(spread > 0, spread, 1.0)), 0.0))


class _Curve:
    """One class against the rest, sorted by its probability: areas under its curves for weights of graphs."""

    def __init__(self, probability: FloatArray, own: npt.NDArray[np.bool_]) -> None:
        self.is_defined = bool(own.any() and not own.all())
        self._order = np.argsort(-probability, kind="stable")
        ranked = probability[self._order]
        # Graphs of the same probability come all at once.
        self._starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
        self._own = own[self._order].astype(np.float64)

    def _counts(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how many graphs of the class and of the rest come with each probability, falling."""
        ranked = weights[:, self._order]
        hits = np.add.reduceat(ranked * self._own, self._starts, axis=1)
        return hits, np.add.reduceat(ranked, self._starts, axis=1) - hits

    def roc_auc(self, weights: FloatArray) -> FloatArray:
        """Return the chance that a graph of the class has the larger probability, ties counting half."""
        hits, others = self._counts(weights)
        below = others.sum(axis=1, keepdims=True) - np.cumsum(others, axis=1) + others / 2
        return np.asarray((hits * below).sum(axis=1) / (hits.sum(axis=1) * others.sum(axis=1)))

    def pr_auc(self, weights: FloatArray) -> FloatArray:
        """Return the average precision: that at each probability, weighted by the recall it adds."""
        hits, others = self._counts(weights)
        found = np.cumsum(hits, axis=1)
        precision = found / np.maximum(found + np.cumsum(others, axis=1), 1.0)
        return np.asarray((hits * precision).sum(axis=1) / hits.sum(axis=1))


# --- predicted values ---------------------------------------------------------------------------------------


def value_scores(y: FloatArray, predicted: FloatArray, intervals: FloatArray | None = None) -> dict[str, Any]:
    """Return scores with intervals by bootstrap; None where a score is not defined.

    Parameters
    ----------
    y, predicted
        Measured and predicted values.
    intervals
        The bounds of the intervals of the predictions, for the share of values inside.
    """
    rng = np.random.default_rng(0)
    rows = np.vstack([np.arange(len(y)), rng.integers(0, len(y), (RESAMPLES, len(y)))])
    truth, answers = y[rows], predicted[rows]
    errors = answers - truth
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = truth.var(axis=1)
        found = {
            "rmse": np.sqrt((errors**2).mean(axis=1)),
            "mae": np.abs(errors).mean(axis=1),
            "r2": 1 - (errors**2).mean(axis=1) / np.where(spread > 0, spread, np.nan),
            "spearman": _correlations(_ranks(truth), _ranks(answers)),
        }
        if intervals is not None:
            within = (intervals[:, 0] <= y) & (y <= intervals[:, 1])
            found["inside"] = within[rows].mean(axis=1)
    scores: dict[str, Any] = {"n": len(y), "intervals": {}}
    for name, values in found.items():
        known = np.isfinite(values[0])
        scores[name] = float(values[0]) if known else None
        drawn = values[1:][np.isfinite(values[1:])]
        bounds = np.quantile(drawn, (0.025, 0.975)).tolist() if known and len(drawn) and len(y) > 1 else None
        scores["intervals"][name] = bounds
    return scores


def _ranks(values: FloatArray) -> FloatArray:
    return np.asarray(rankdata(values, axis=1))


def _correlations(a: FloatArray, b: FloatArray) -> FloatArray:
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return np.asarray((a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1)))


def value_report(
    y: npt.NDArray[Any], predicted: FloatArray, training: FloatArray, intervals: FloatArray | None = None
) -> dict[str, Any]:
    """Return the scores of a model, and those of always predicting the mean of the training values."""
    truth = np.asarray(y, dtype=np.float64)
    mean = value_scores(truth, np.full(len(truth), training.mean()))
    return {"model": value_scores(truth, predicted, intervals), "mean": mean}


def value_score_lines(title: str, found: Mapping[str, Any], unit: str) -> Iterator[str]:
    """Give the scores of `value_report` as lines of text."""
    yield f"{title}{f', in {unit}' if unit else ''} (95% interval; always the training mean):"
    for name, text in VALUE_NAMES.items():
        value, bounds = found["model"].get(name), found["model"]["intervals"].get(name)
        if value is None:
            continue
        between = f" ({bounds[0]:.3f} to {bounds[1]:.3f})" if bounds else ""
        mean = found["mean"].get(name)
        yield f"  {text:16}{value:.3f}{between}{'' if mean is None else f'; {mean:.3f}'}"
