"""Scores of predicted values with 95 % intervals, next to those of always predicting the training mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FloatArray = npt.NDArray[np.float64]
VALUE_NAMES = {"rmse": "RMSE", "mae": "MAE", "r2": "R²", "spearman": "Spearman", "inside": "in the interval"}
RESAMPLES = 1000


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
    truth, said = y[rows], predicted[rows]
    errors = said - truth
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = truth.var(axis=1)
        found = {
            "rmse": np.sqrt((errors**2).mean(axis=1)),
            "mae": np.abs(errors).mean(axis=1),
            "r2": 1 - (errors**2).mean(axis=1) / np.where(spread > 0, spread, np.nan),
            "spearman": _correlations(_ranks(truth), _ranks(said)),
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
    from scipy.stats import rankdata

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
    yield f"{title}{f', in {unit}' if unit else ''} (95 % interval; always the training mean):"
    for name, text in VALUE_NAMES.items():
        value, bounds = found["model"].get(name), found["model"]["intervals"].get(name)
        if value is None:
            continue
        between = f" ({bounds[0]:.3f} to {bounds[1]:.3f})" if bounds else ""
        mean = found["mean"].get(name)
        yield f"  {text:16}{value:.3f}{between}{'' if mean is None else f'; {mean:.3f}'}"
