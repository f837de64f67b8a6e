"""tune(): one mining run for each ε and a choice by validation alone; the command that saves the model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdlnn import GDLNNClassifier, GraphDataset, load_model, make_ba_2motifs
from gdlnn.mining import mine
from gdlnn.model import vocabulary
from repro import tuning
from repro.__main__ import main
from repro.tuning import tune

GRID: dict[str, Any] = {"epsilons": (0.1, 1, "4.1667%"), "ks": (0.2, 1.0), "learning_rates": (0.01, 0.0005)}


@pytest.fixture(scope="module")
def parts() -> tuple[GraphDataset, GraphDataset]:
    data = make_ba_2motifs(36, random_state=2)
    return data[:24], data[24:]


def base() -> GDLNNClassifier:
    return GDLNNClassifier.paper(epochs=8, hidden=(8,))


def test_every_combination_once_and_one_mining_run_for_each_epsilon(
    parts: tuple[GraphDataset, GraphDataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    epsilons: list[Any] = []
    lines: list[str] = []

    def counted(data: GraphDataset, **options: Any) -> Any:
        epsilons.append(options["epsilon"])
        return mine(data, **options)

    monkeypatch.setattr(vocabulary, "mine", counted)
    train, val = parts
    found = tune(train, val, base(), report=lines.append, **GRID)
    assert epsilons == [0.1, 1, "4.1667%"]
    assert len(found.table) == len(lines) == 12
    ordered = [(-row["val_accuracy"], row["val_loss"]) for row in found.table]
    assert ordered == sorted(ordered)
    assert found.best_params == {k: found.table[0][k] for k in ("epsilon", "k", "learning_rate")}
    assert found.best_estimator.score(val) == found.best_score == found.table[0]["val_accuracy"]
    assert "12 combinations" in found.best_estimator.choice_["by"]


def test_the_command_saves_the_tuned_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    short: dict[str, Any] = {"epsilons": (0.1,), "ks": (0.5,), "learning_rates": (0.01, 0.0005)}
    monkeypatch.setattr(
        "repro.paper.tune", lambda train, val, base, report: tune(train, val, base, report=report, **short)
    )
    file = tmp_path / "model.gdlnn"
    with pytest.raises(SystemExit) as ended:
        main(["paper", "synthetic:ba-2motifs:40:1", "-o", str(file), "--split", "random", "--jobs", "1"])
    assert ended.value.code == 0
    assert "model.gdlnn: written" in capsys.readouterr().out
    data = make_ba_2motifs(40, random_state=1)
    train, val, test = data.split("random", 0)
    expected = tune(train, val, **short).best_estimator
    np.testing.assert_array_equal(load_model(file).predict_proba(test), expected.predict_proba(test))
    assert tuning.FRACTIONS == (0.01, 0.2, 0.4, 0.6, 0.8, 1.0)
