"""Techniques: LIME beside the lime package, Shapley values beside their definition, gradients, exact ones."""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gdlnn.errors import ExplanationError
from gdlnn.explain import Background, Context, IntegratedGradients, KernelShap, Lime, LinearWeights
from gdlnn.explain.techniques import make_technique

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
        "background": Background.from_shares(rng.uniform(0.05, 0.95, size=k)),
        "n_features": 5,
        "seed": 7,
    }
    return Context(**{**settings, **more})


def lime_package(asked: Context, technique: Lime, row: int) -> tuple[list[tuple[int, float]], float]:
    """Give the lime package the very same samples, and return what it says."""
    from lime.lime_base import LimeBase

    around = technique.neighbourhood(asked)
    rows = np.vstack([asked.values[row], around.samples])
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
        asked.n_features,
        feature_selection="highest_weights",
    )
    return [(int(i), float(w)) for i, w in found], float(score)


@pytest.mark.parametrize("k", [1, 3, 12, 60])
@pytest.mark.parametrize("width", [None, 1.5])
def test_lime_is_what_the_lime_package_says_on_the_same_samples(k: int, width: float | None) -> None:
    asked, technique = context(k), Lime(n_samples=800, kernel_width=width)
    weights, quality, *_ = technique.attribute(asked)
    assert quality is not None
    for row in range(len(asked.values)):
        expected, score = lime_package(asked, technique, row)
        got = {int(i): float(weights[row, i]) for i in np.flatnonzero(weights[row])}
        assert got.keys() == {i for i, _ in expected}
        for i, weight in expected:
            assert got[i] == pytest.approx(weight, rel=1e-6, abs=1e-9)
        assert quality[row] == pytest.approx(score, abs=1e-9)


def test_lime_in_single_precision_chooses_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gdlnn.explain.lime._DOUBLE_LIMIT", 0)
    asked, technique = context(60), Lime(n_samples=800)
    rows = technique.neighbourhood(asked).rows
    assert rows is not None
    assert rows.dtype == np.float32
    weights = technique.attribute(asked).weights
    for row in range(len(asked.values)):
        expected, _ = lime_package(asked, technique, row)
        assert set(np.flatnonzero(weights[row])) == {i for i, _ in expected}


@pytest.mark.parametrize("rare", [False, True])
def test_lime_with_more_programs_than_samples(monkeypatch: pytest.MonkeyPatch, rare: bool) -> None:
    monkeypatch.setattr("gdlnn.explain.lime._DOUBLE_LIMIT", 0)
    shares = np.random.default_rng(0).beta(0.5, 3, 900) if rare else np.random.default_rng(0).beta(5, 1, 900)
    asked = Context(**{**vars(context(900)), "background": Background.from_shares(shares)})
    weights = Lime(n_samples=300).attribute(asked).weights
    assert np.isfinite(weights).all()
    assert ((weights != 0).sum(axis=1) == asked.n_features).all()


def test_lime_over_counts() -> None:
    rng = np.random.default_rng(1)
    table = rng.integers(4, size=(50, 6)).astype(float)
    asked = context(6, values=table[:4], targets=np.ones(4, dtype=int), n_features=3)
    asked = Context(**{**vars(asked), "background": Background.from_features(table)})
    technique = Lime(n_samples=500)
    weights = technique.attribute(asked).weights
    for row in range(4):
        expected, _ = lime_package(asked, technique, row)
        assert {i: pytest.approx(w) for i, w in expected} == {i: weights[row, i] for i, _ in expected}


def test_lime_draws_from_the_training_frequencies() -> None:
    shares = np.array([0.0, 0.1, 0.5, 1.0])
    drawn = Background.from_shares(shares).sample(20_000, np.random.default_rng(0))
    assert drawn.mean(axis=0) == pytest.approx(shares, abs=0.01)
    table = np.array([[0.0, 2.0], [0.0, 5.0], [1.0, 5.0], [0.0, 5.0]])
    background = Background.from_features(table)
    assert not background.is_binary
    assert background.means.tolist() == [0.25, 4.25]
    assert background.sample(5000, np.random.default_rng(0)).mean(axis=0) == pytest.approx(
        [0.25, 4.25], abs=0.05
    )


def test_lime_is_the_same_alone_and_in_a_batch_and_again() -> None:
    asked = context(20, n=5)
    technique = Lime(n_samples=400)
    together = technique.attribute(asked).weights
    cache: dict[Any, Any] = {}
    for row in range(5):
        alone = Context(
            **{
                **vars(asked),
                "values": asked.values[row : row + 1],
                "targets": asked.targets[row : row + 1],
                "cache": cache,
            }
        )
        assert technique.attribute(alone).weights[0] == pytest.approx(together[row], rel=1e-9, abs=1e-12)
    assert len(cache) == 1
    assert np.array_equal(technique.attribute(asked).weights, together)
    other = Context(**{**vars(asked), "seed": 8, "cache": cache})
    assert not np.array_equal(technique.attribute(other).weights, together)
    assert len(cache) == 1  # of several seeds the last one is kept


def test_lime_over_present_programs_leaves_absent_ones_out() -> None:
    asked = context(30)
    weights = Lime(n_samples=400, present_only=True).attribute(asked).weights
    assert not weights[asked.values == 0].any()
    assert ((weights != 0).sum(axis=1) == np.minimum(5, asked.values.sum(axis=1))).all()


def test_contributions_are_shapley_values_of_the_fitted_linear_model() -> None:
    asked = context(6, n_features=6)
    plain = Lime(n_samples=400).attribute(asked)
    weighed = Lime(n_samples=400, contributions=True).attribute(asked)
    shares = asked.background.shares_of(asked.values)
    assert weighed.weights == pytest.approx(plain.weights * (1 - shares))
    assert weighed.quality == pytest.approx(plain.quality)
    # In a linear model, the expectation over samples of w · (equal − share of equal) is zero.
    drawn = asked.background.sample(50_000, np.random.default_rng(0))
    equal = (drawn == asked.values[0]).mean(axis=0)
    assert equal == pytest.approx(shares[0], abs=0.01)
    table = np.array([[0.0, 2.0], [0.0, 5.0], [1.0, 5.0], [0.0, 5.0]])
    counted = Background.from_features(table)
    assert counted.shares_of(np.array([[0.0, 5.0], [1.0, 2.0], [7.0, 2.0]])).tolist() == [
        [0.75, 0.75],
        [0.25, 0.25],
        [0.0, 0.25],
    ]


def test_rare_programs_that_are_absent_do_not_drown_those_that_match() -> None:
    """One program in three hundred matches; each would matter much if it were there."""
    k = 300
    rng = np.random.default_rng(0)
    effects = np.concatenate([[2.0], rng.normal(size=k - 1) * 4])

    def predict(rows: FloatArray, _row: int) -> FloatArray:
        chance = 1 / (1 + np.exp(-rows @ effects))
        return np.stack([1 - chance, chance], axis=1)

    shares = np.full(k, 0.02)
    values = np.zeros((1, k))
    values[0, 0] = 1
    asked = context(
        k, values=values, targets=np.array([1]), predict=predict, background=Background.from_shares(shares)
    )
    found = Lime(n_samples=3000).attribute(asked)
    assert found.weights[0, 0] == 0
    by_contribution = Lime(n_samples=3000, contributions=True).attribute(asked)
    assert np.abs(by_contribution.weights[0]).argmax() == 0


def test_a_model_that_says_the_same_everywhere() -> None:
    asked = context(8, predict=lambda rows, _row: np.full((len(rows), 2), 0.5))
    weights, quality, *_ = Lime(n_samples=100).attribute(asked)
    assert np.abs(weights).max() < 1e-12
    assert quality is not None
    assert (quality == 1).all()


def shapley(asked: Context, row: int) -> FloatArray:
    """Shapley values by their definition."""
    k = asked.values.shape[1]
    mean, target = asked.background.means, int(asked.targets[row])

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
    base = wide.predict(wide.background.means[None], 0)[0]
    assert weights.sum(axis=1) == pytest.approx(wide.target_probabilities() - base[wide.targets])


def test_kernel_shap_agrees_with_captum() -> None:
    import torch
    from captum.attr import KernelShap as Captum

    asked = context(6, n=2)
    ours = KernelShap().attribute(asked).weights

    def forward(x: Any) -> Any:
        return torch.from_numpy(asked.predict(x.numpy().astype(float), 0))

    with torch.random.fork_rng():
        torch.manual_seed(0)
        for row in range(2):
            theirs = Captum(forward).attribute(
                torch.from_numpy(asked.values[row : row + 1]),
                baselines=torch.from_numpy(asked.background.means[None]),
                target=int(asked.targets[row]),
                n_samples=300,
            )
            assert theirs.numpy()[0] == pytest.approx(ours[row], abs=0.05)


def test_integrated_gradients_add_up() -> None:
    import torch

    model = Model(10)
    first, second = torch.tensor(model.first).float(), torch.tensor(model.second).float()

    def log_probabilities(x: Any) -> Any:
        chance = torch.sigmoid(torch.tanh(x @ first) @ second)
        return torch.log(torch.stack([1 - chance, chance], dim=1))

    asked = context(10, predict=model, network=lambda _row: log_probabilities)
    weights = IntegratedGradients().attribute(asked).weights
    base = model(asked.background.means[None])[0]
    assert weights.sum(axis=1) == pytest.approx(asked.target_probabilities() - base[asked.targets], abs=1e-3)
    per_graph = Context(**{**vars(asked), "shared": False})
    assert IntegratedGradients().attribute(per_graph).weights == pytest.approx(weights, abs=1e-6)


def test_linear_weights_are_exact_shapley_values_of_the_score() -> None:
    table = np.random.default_rng(0).normal(size=(2, 5))
    asked = context(5, n=3, linear=table, predict=lambda rows, _row: rows @ table.T)
    weights = LinearWeights().attribute(asked).weights
    for row in range(3):
        assert weights[row] == pytest.approx(shapley(asked, row))


def test_any_callable() -> None:
    def first_program(asked: Context) -> FloatArray:
        weights = np.zeros_like(asked.values)
        weights[:, 0] = 1
        return weights

    technique = make_technique(first_program)
    assert technique.name == "first_program"
    assert technique.attribute(context()).weights[:, 0].all()
    lime = Lime()
    assert make_technique(lime) is lime


def test_bad_techniques() -> None:
    with pytest.raises(
        ExplanationError, match=r"technique: expected one of contribution, .*, or a callable, got 'lyme'"
    ):
        make_technique("lyme")
    with pytest.raises(ExplanationError, match=r"technique: expected one of .*, got a int"):
        make_technique(3)  # type: ignore[arg-type]
    with pytest.raises(
        ExplanationError, match=r"expected weights of shape \(6, 12\), graphs × programs, got \(2,\)"
    ):
        make_technique(lambda _asked: np.zeros(2)).attribute(context())
    with pytest.raises(ExplanationError, match="expected finite weights, got NaN"):
        make_technique(lambda asked: asked.values * np.nan).attribute(context())
    with pytest.raises(ExplanationError, match="the head is not linear"):
        LinearWeights().attribute(context())
    with pytest.raises(ExplanationError, match="the head has no gradients"):
        IntegratedGradients().attribute(context())
    for make in (
        lambda: Lime(n_samples=1),
        lambda: KernelShap(n_samples=1),
        lambda: IntegratedGradients(n_steps=0),
    ):
        with pytest.raises(ExplanationError, match=r"expected at least \d, got"):
            make()
    with pytest.raises(ExplanationError, match="kernel_width: expected a positive number, got 0"):
        Lime(kernel_width=0)


@pytest.mark.parametrize("technique", [Lime(n_samples=50), KernelShap(n_samples=50)])
def test_no_programs_and_no_graphs(technique: Any) -> None:
    assert technique.attribute(context(0, n=2)).weights.shape == (2, 0)
    assert technique.attribute(context(4, n=0)).weights.shape == (0, 4)
