"""LIME beside the lime package, KernelSHAP beside the definition of Shapley values, techniques by name."""

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gdlnn.errors import ExplanationError
from gdlnn.explain import KernelShap, Lime
from gdlnn.explain.explainer import make_technique
from gdlnn.explain.lime_shap import Context

FloatArray = npt.NDArray[np.float64]


class Model:
    """A two-class model over k programs: a smooth function that is not linear."""

    def __init__(self, k: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.first = rng.normal(size=(k, 8))
        self.second = rng.normal(size=8)

    def __call__(self, rows: FloatArray, _row: int = 0) -> FloatArray:
        chance = 1 / (1 + np.exp(-np.tanh(rows @ self.first) @ self.second))
        return np.stack([1 - chance, chance], axis=1)


def context(k: int = 12, n: int = 6, seed: int = 0, **more: Any) -> Context:
    rng = np.random.default_rng(seed)
    values = (rng.random((n, k)) < 0.4).astype(float)
    settings: dict[str, Any] = {
        "values": values,
        "targets": rng.integers(2, size=n),
        "predict": Model(k, seed),
        "means": rng.uniform(0.05, 0.95, size=k),
        "n_reasons": 5,
        "seed": 7,
    }
    return Context(**{**settings, **more})


def lime_package(asked: Context, technique: Lime, row: int) -> tuple[list[tuple[int, float]], float]:
    """Give the lime package the very same samples, and return what it says."""
    from lime.lime_base import LimeBase

    rows = np.vstack([asked.values[row], technique.samples(asked)])
    same = (rows == asked.values[row]).astype(float)
    width = 0.75 * np.sqrt(same.shape[1]) if technique.kernel_width is None else technique.kernel_width

    def kernel(d: FloatArray) -> FloatArray:
        return np.asarray(np.sqrt(np.exp(-(d**2) / width**2)))

    distances = np.sqrt(((same - same[0]) ** 2).sum(axis=1))
    base = LimeBase(kernel, random_state=np.random.RandomState(0))
    _, found, score, _ = base.explain_instance_with_data(
        same,
        asked.predict(rows, row),
        distances,
        int(asked.targets[row]),
        asked.n_reasons,
        feature_selection="highest_weights",
    )
    return [(int(i), float(w)) for i, w in found], float(score)


@pytest.mark.parametrize("k", [1, 3, 12, 60])
@pytest.mark.parametrize("width", [None, 1.5])
def test_lime_is_what_the_lime_package_says_on_the_same_samples(k: int, width: float | None) -> None:
    asked, technique = context(k), Lime(n_samples=800, kernel_width=width)
    weights, quality, *_ = technique.attribute(asked)
    for row in range(len(asked.values)):
        expected, score = lime_package(asked, technique, row)
        got = {int(i): float(weights[row, i]) for i in np.flatnonzero(weights[row])}
        assert got.keys() == {i for i, _ in expected}
        for i, weight in expected:
            assert got[i] == pytest.approx(weight, rel=1e-6, abs=1e-9)
        assert quality[row] == pytest.approx(score, abs=1e-9)


def test_lime_draws_from_the_training_frequencies() -> None:
    shares = np.array([0.0, 0.1, 0.5, 1.0])
    drawn = Lime(n_samples=20_001).samples(context(4, means=shares))
    assert drawn.mean(axis=0) == pytest.approx(shares, abs=0.01)


def shapley(asked: Context, row: int) -> FloatArray:
    """Shapley values by their definition."""
    k = asked.values.shape[1]
    mean, target = asked.means, int(asked.targets[row])

    def worth(coalition: tuple[int, ...]) -> float:
        mixed = mean.copy()
        mixed[list(coalition)] = asked.values[row, list(coalition)]
        return float(asked.predict(mixed[None], row)[0, target])

    found = np.zeros(k)
    for j in range(k):
        others = [i for i in range(k) if i != j]
        for size in range(k):
            share = factorial(size) * factorial(k - size - 1) / factorial(k)
            for coalition in combinations(others, size):
                found[j] += share * (worth((*coalition, j)) - worth(coalition))
    return found


@pytest.mark.parametrize("k", [1, 2, 6])
def test_kernel_shap_is_exact_where_all_coalitions_fit(k: int) -> None:
    asked = context(k, n=3)
    weights = KernelShap().attribute(asked).weights
    for row in range(3):
        assert weights[row] == pytest.approx(shapley(asked, row), abs=1e-6)


def test_kernel_shap_from_a_sample_is_close_and_adds_up() -> None:
    asked = context(6, n=4)
    exact = KernelShap().attribute(asked).weights
    sampled = KernelShap(n_samples=40).attribute(asked).weights
    assert np.abs(sampled - exact).mean() < 0.1 * np.abs(exact).mean() + 0.01
    wide = context(40, n=3)
    weights = KernelShap(n_samples=500).attribute(wide).weights
    base = wide.predict(wide.means[None], 0)[0]
    assert weights.sum(axis=1) == pytest.approx(wide.target_probabilities() - base[wide.targets])


@pytest.mark.parametrize("wrong", ["lyme", 3, Lime, lambda asked: asked.values])
def test_other_techniques_are_refused(wrong: Any) -> None:
    with pytest.raises(
        ExplanationError, match="technique: expected one of contribution, lime, kernel_shap, or an object"
    ):
        make_technique(wrong)
