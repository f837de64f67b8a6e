"""Metrics: by hand, and beside PyTorch Geometric's own implementations."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gdlnn import Graph, Program
from gdlnn.errors import ExplanationError
from repro.metrics import (
    auc,
    characterization,
    fidelity,
    fidelity_minus,
    fidelity_plus,
    jaccard,
    jaccard_at_size,
    overlap,
    program_quality,
    sparsity,
    stability,
    unfaithfulness,
)


def test_the_papers_two_by_hand() -> None:
    assert sparsity([2, 0, 4], [4, 10, 4]) == pytest.approx((0.5 + 1.0 + 0.0) / 3)
    assert sparsity([0], [0]) == 1
    y, whole = [1, 1, 0, 0], [1, 0, 0, 1]
    assert fidelity(y, whole, whole) == 0
    # One right answer is lost, one wrong answer becomes right: the signs cancel.
    assert fidelity(y, whole, [0, 1, 0, 1]) == 0
    assert fidelity(y, whole, [0, 0, 1, 1]) == pytest.approx(0.5)
    assert fidelity(y, whole, [1, 1, 0, 0]) == pytest.approx(-0.5)


def test_ground_truth_by_hand() -> None:
    found = overlap(
        [[1, 1, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]],
        [[1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 1, 0], None],
    )
    assert found.n_graphs == 3
    assert found.precision == pytest.approx((1 + 0 + 1) / 3)
    assert found.recall == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert found.jaccard == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert found.inside == pytest.approx(2 / 3)  # an empty explanation is outside
    assert found.auc == pytest.approx((5 / 6 + 0.5 + 1) / 3)
    assert jaccard([1, 2], [2, 3]) == pytest.approx(1 / 3)
    assert jaccard([], []) == 1


def test_auc_is_scikit_learns() -> None:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    for _ in range(20):
        truth, scores = rng.random(12) < 0.4, rng.integers(4, size=12)
        if truth.any() and not truth.all():
            assert auc(scores, truth) == pytest.approx(roc_auc_score(truth, scores))
    assert np.isnan(auc([1, 2], [True, True]))


@pytest.fixture(scope="module")
def pyg() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch_geometric.explain.metric as metric
        from torch_geometric.explain.config import ExplanationType, ModelConfig
    return SimpleNamespace(metric=metric, types=ExplanationType, config=ModelConfig)


class Explainer:
    """Stands where PyG's Explainer stands, with the predictions of the whole, the part and the rest given."""

    def __init__(self, pyg: Any, kind: str, whole: Any, part: Any, rest: Any) -> None:
        self.explanation_type = pyg.types(kind)
        self.model_config = pyg.config("multiclass_classification", "graph", "probs")
        self.node_mask_type = None
        self.answers = {"whole": whole, "part": part, "rest": rest}

    def get_prediction(self, *_: Any, **__: Any) -> Any:
        return self.answers["whole"]

    def get_masked_prediction(self, _x: Any, _edges: Any, node_mask: Any, _edge_mask: Any) -> Any:
        return self.answers["part" if bool(node_mask.all()) else "rest"]

    def get_target(self, prediction: Any) -> Any:
        return prediction.argmax(dim=-1)


def random_answers(seed: int, n: int = 40) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    rows = [rng.dirichlet(np.ones(3), size=n) for _ in range(3)]
    return (*rows, rng.integers(3, size=n))


def explanation_for(y: Any, prediction: Any | None = None) -> Any:
    """Return a PyG Explanation whose mask is all ones, so that its complement is all zeros."""
    import torch
    from torch_geometric.explain import Explanation

    found = Explanation(
        x=torch.zeros(2, 1), edge_index=torch.zeros(2, 0, dtype=torch.long), node_mask=torch.ones(2, 1)
    )
    found.target = torch.as_tensor(y)
    found._model_args = []
    if prediction is not None:
        found.prediction = prediction
    return found


@pytest.mark.parametrize("seed", range(5))
def test_fidelity_is_pygs(pyg: Any, seed: int) -> None:
    import torch

    whole, part, rest, y = random_answers(seed)
    labels = [p.argmax(axis=1) for p in (whole, part, rest)]
    tensors = [torch.from_numpy(p) for p in (whole, part, rest)]
    plus, minus = pyg.metric.fidelity(Explainer(pyg, "model", *tensors), explanation_for(labels[0]))
    assert fidelity_plus(labels[0], labels[2]) == pytest.approx(plus)
    assert fidelity_minus(labels[0], labels[1]) == pytest.approx(minus)
    expected = pyg.metric.characterization_score(torch.tensor(plus), torch.tensor(minus), 0.3, 0.7)
    assert characterization(plus, minus, 0.3, 0.7) == pytest.approx(float(expected))
    plus, minus = pyg.metric.fidelity(Explainer(pyg, "phenomenon", *tensors), explanation_for(y))
    assert fidelity_plus(labels[0], labels[2], y) == pytest.approx(plus)
    assert fidelity_minus(labels[0], labels[1], y) == pytest.approx(minus)


@pytest.mark.parametrize("seed", range(5))
def test_unfaithfulness_is_pygs(pyg: Any, seed: int) -> None:
    import torch

    whole, part, rest, y = random_answers(seed, n=8)
    each = []
    for i in range(8):
        p, q, r = (torch.from_numpy(rows[i : i + 1]) for rows in (whole, part, rest))
        explainer = Explainer(pyg, "model", p, q, r)
        each.append(pyg.metric.unfaithfulness(explainer, explanation_for(y[i : i + 1], p)))
    assert unfaithfulness(whole, part) == pytest.approx(np.mean(each))
    assert unfaithfulness(whole, whole) == pytest.approx(0)
    assert unfaithfulness([[1.0, 0.0]], [[0.0, 1.0]]) == 1


def test_characterization_at_the_ends() -> None:
    assert characterization(0, 0.2) == 0
    assert characterization(0.5, 1) == 0
    assert characterization(1, 0) == 1
    with pytest.raises(ExplanationError, match=r"expected weights that add up to 1, got 0\.5 and 0\.6"):
        characterization(0.5, 0.5, 0.5, 0.6)


def test_quality_of_programs_by_hand() -> None:
    graphs = [Graph([[float(v)] for v in values], []) for values in ([1, 2], [2], [3], [2, 3])]
    two = Program.parse("node x <[2, 2]>")
    nothing = Program.parse("node x <[9, 9]>")
    found = program_quality([two, nothing], [1, 0], graphs, [1, 1, 0, 0])
    assert found[0] == (1.0, 2 / 3, 3)
    assert (found[1].generality, found[1].n_matched) == (0.0, 0)
    assert np.isnan(found[1].precision)


def test_bad_input() -> None:
    with pytest.raises(
        ExplanationError, match=r"sparsity: expected one value per graph .*, got 1 of sizes, 2 of"
    ):
        sparsity([1], [1, 2])
    with pytest.raises(ExplanationError, match="fidelity: expected at least one graph, got none"):
        fidelity([], [], [])
    with pytest.raises(ExplanationError, match="overlap: graph 0: expected a mask of 2 values, got 1"):
        overlap([[True]], [[True, False]])
    with pytest.raises(ExplanationError, match="overlap: no graph has a ground truth"):
        overlap([[True]], [None])
    with pytest.raises(ExplanationError, match="stability: expected two runs or more"):
        stability([[]])


def test_jaccard_at_the_size_of_the_truth_counts_ties_by_their_share() -> None:
    truth = [True, True, False, False]
    assert jaccard_at_size([4, 3, 2, 1], truth) == 1.0
    assert jaccard_at_size([4, 1, 3, 2], truth) == pytest.approx(1 / 3)
    assert jaccard_at_size([1, 2, 3, 4], truth) == 0.0
    # Two places for four equal nodes: on average one of the two is hit.
    assert jaccard_at_size([0, 0, 0, 0], truth) == pytest.approx(1 / 3)
    assert jaccard_at_size([1, 0, 0, 0], truth) == pytest.approx((4 / 3) / (4 - 4 / 3))
    assert np.isnan(jaccard_at_size([1, 2], [False, False]))
    found = overlap([[True, False, False, False]], [truth], [[3, 2, 1, 0]])
    assert (found.jaccard, found.jaccard_at_size) == (0.5, 1.0)
