"""A table with a rare class, made from BBBP: weights, thresholds and probabilities on graphs held out."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from gdlnn import GDLNNClassifier, GraphDataset, load_smiles

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif("GDLNN_DATA" not in os.environ, reason="needs the datasets"),
]
SHARE = 0.07


def imbalanced(seed: int) -> tuple[GraphDataset, GraphDataset, GraphDataset]:
    """Keep class 1, and as much of class 0 as makes 7 %; return a stratified split."""
    data = load_smiles(Path(os.environ["GDLNN_DATA"]) / "BBBP/BBBP.csv", label="p_np")
    y, rng = np.asarray(data.y), np.random.default_rng(seed)
    common = np.flatnonzero(y == 1)
    rare = rng.permutation(np.flatnonzero(y == 0))[: round(len(common) * SHARE / (1 - SHARE))]
    data = data.take(np.sort(np.concatenate([common, rare])))
    train, val, test = data.split("stratified", seed)
    return train, val, test


def scores(model: GDLNNClassifier, test: GraphDataset) -> tuple[float, float]:
    """Return the recall of the rare class and the balanced accuracy."""
    said, truth = model.predict(test), np.asarray(test.y)
    recalls = [float((said[truth == label] == label).mean()) for label in (0, 1)]
    return recalls[0], sum(recalls) / 2


def test_weights_and_thresholds_work_on_held_out_graphs() -> None:
    found: dict[str, list[tuple[float, float]]] = {}
    means = []
    for seed in range(11, 21):
        train, val, test = imbalanced(seed)
        for name, options in {
            "plain": {"decide": 0.5},
            "weighted": {"decide": 0.5, "class_weight": "balanced"},
            "auto": {},
        }.items():
            model = GDLNNClassifier(n_jobs=2, progress=False, **options)  # type: ignore[arg-type]
            model.fit(train, validation=val)
            found.setdefault(name, []).append(scores(model, test))
            if name == "plain":
                means.append(float(model.predict_proba(test)[:, 0].mean()))
    recall, balanced = ({k: float(np.mean([s[i] for s in v])) for k, v in found.items()} for i in (0, 1))
    assert recall["weighted"] >= 2 * recall["plain"]
    assert balanced["weighted"] > balanced["plain"]
    assert balanced["auto"] > balanced["plain"] + 0.1
    assert np.mean(means) == pytest.approx(SHARE, abs=0.025)  # probabilities keep the base rate
